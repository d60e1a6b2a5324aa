"""A film archive: film.py FILE RATE answers each GET with the file; its socket has SO_MAX_PACING_RATE (option 47) RATE, in bytes/s."""
import socket, sys, tornado.ioloop, tornado.web
film, rate = open(sys.argv[1], "rb").read(), int(sys.argv[2])
class Film(tornado.web.RequestHandler):
    async def get(self):
        self.request.connection.stream.socket.setsockopt(socket.SOL_SOCKET, 47, rate)
        self.set_header("Content-Length", str(len(film)))
        for at in range(0, len(film), 131072):
            self.write(film[at:at + 131072])
            await self.flush()
tornado.web.Application([("/.*", Film)]).listen(8000)
tornado.ioloop.IOLoop.current().start()

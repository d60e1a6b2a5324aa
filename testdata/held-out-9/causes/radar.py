"""A weather radar: radar.py FILE answers each GET with the file."""
import sys, tornado.ioloop, tornado.web
picture = open(sys.argv[1], "rb").read()
class Radar(tornado.web.RequestHandler):
    def get(self): self.write(picture)
tornado.web.Application([("/.*", Radar)]).listen(8000)
tornado.ioloop.IOLoop.current().start()

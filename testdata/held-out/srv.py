"""A REST server over HTTP/1.1: /get/N/THINK_MS answers N bytes in one write after a think time, /two/N/THINK_MS in two writes (headers, body),
POST /post/N/THINK_MS reads the body first; /push/N/EVERY_MS/COUNT writes N bytes, COUNT times, at a steady rate."""
import http.server, socket, sys, time

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def answer(self):
        parts = self.path.split("/")
        size, think = int(parts[2]), float(parts[3]) / 1000
        if parts[1] == "push":
            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            count = int(parts[4])
            self.connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (size * count))
            start = time.monotonic()
            for n in range(count):
                self.connection.sendall(b"p" * size)
                time.sleep(max(0, start + (n + 1) * think - time.monotonic()))
            return
        if think: time.sleep(think)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % size
        if parts[1] == "two":
            self.connection.sendall(head)
            self.connection.sendall(b"x" * size)
        else:
            self.connection.sendall(head + b"x" * size)
    def do_GET(self): self.answer()
    def do_POST(self):
        left = int(self.headers["Content-Length"])
        while left: left -= len(self.rfile.read(min(left, 65536)))
        self.answer()

server = http.server.ThreadingHTTPServer(("", 8000), Handler)
server.serve_forever()

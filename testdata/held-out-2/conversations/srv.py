"""An HTTP/1.1 server for a long poll and a slow reader: GET /wait/N/HOLD_MS answers N bytes after HOLD_MS; PUT /slow/BYTES_PER_S reads its body no faster than that."""
import http.server, time

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def reply(self, body):
        self.connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    def do_GET(self):
        _, _, size, hold = self.path.split("/")
        time.sleep(float(hold) / 1000)
        self.reply(b"e" * int(size))
    def do_PUT(self):
        rate, left, total, start = float(self.path.split("/")[2]), int(self.headers["Content-Length"]), 0, time.monotonic()
        while left:
            piece = len(self.rfile.read1(min(left, 12000)))
            if not piece: return
            left -= piece; total += piece
            time.sleep(max(0, start + total / rate - time.monotonic()))
        self.reply(b"stored\n")

http.server.ThreadingHTTPServer(("", 8000), Handler).serve_forever()

# A small REST service with the standard library's HTTP server: it writes the header, then the body.
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import sys

class Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = b"{" + b"r" * (int(sys.argv[1]) - 2) + b"}"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass

ThreadingHTTPServer(("", 8000), Service).serve_forever()

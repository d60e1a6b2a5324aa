#!/usr/bin/python3
"""backend.py: answers /slow/MS on 127.0.0.1:9001 after MS milliseconds (behind nginx)"""
import http.server, time
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(int(self.path.split('?')[0].split('/')[2]) / 1000)
        b = b'{"a":1}' * 300
        self.send_response(200)
        self.send_header('Content-Length', str(len(b)))
        self.end_headers()
        self.wfile.write(b)
    def log_message(self, *a):
        pass
http.server.ThreadingHTTPServer(('127.0.0.1', 9001), H).serve_forever()

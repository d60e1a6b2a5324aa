"""Servers on port 8000: serve.py KIND …
pop SIZE [apart]    a mailbox: RETR answers SIZE bytes in one write; "apart": the status line in a write of its own, with Nagle's algorithm
rpc                 XML-RPC over HTTP/1.1: store(document)
manager             objects for other processes (multiprocessing): value(size)
blocks              a block device: 12 bytes ask for a block (offset, length)
records SIZE        takes records and confirms each with 8 bytes
form                POSTs of HTTP/1.1, a short answer to each
tape PART PAUSE_MS  takes what comes in parts, with a pause after each
backend THINK_MS    (on the socket "backend", for a proxy) GET …/SIZE answers after THINK_MS; ends with its parent"""
import os, select, socket, socketserver, struct, sys, threading, time
kind, more = sys.argv[1], sys.argv[2:]

class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        try: globals()[kind](self.request, self.rfile)
        except ConnectionError: pass
class Server(socketserver.ThreadingTCPServer): allow_reuse_address = daemon_threads = True

def quick(sock): sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

def pop(sock, file):
    size = int(more[0]); text = (b"t" * 70 + b"\r\n") * (size // 72) + b".\r\n"; apart = more[1:] == ["apart"]
    if not apart: quick(sock)
    sock.sendall(b"+OK ready\r\n")
    while line := file.readline():
        if line[:4] == b"RETR":
            head = b"+OK %d octets\r\n" % len(text)
            if apart: sock.sendall(head); sock.sendall(text)
            else: sock.sendall(head + text)
        else: sock.sendall(b"+OK\r\n")
        if line[:4] == b"QUIT": return

def blocks(sock, file):
    quick(sock)
    while len(ask := file.read(12)) == 12: sock.sendall(b"b" * struct.unpack("!QI", ask)[1])

def records(sock, file):
    quick(sock); n = 0
    while len(file.read(int(more[0]))) == int(more[0]): sock.sendall(struct.pack("!Q", n)); n += 1

def form(sock, file):
    quick(sock)
    while file.readline():
        size = 0
        while (line := file.readline()) != b"\r\n":
            if line.lower().startswith(b"content-length:"): size = int(line.split()[1])
        file.read(size); sock.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

def tape(sock, _):
    part, pause = int(more[0]), float(more[1]) / 1000
    while True:
        left = part
        while left:
            piece = len(sock.recv(min(left, 65536)))
            if not piece: return
            left -= piece
        time.sleep(pause)

def backend():
    parent, think = os.getppid(), float(more[0]) / 1000
    listener = socket.socket(socket.AF_UNIX); listener.bind("backend"); listener.listen(16)
    while os.getppid() == parent:
        if not select.select([listener], [], [], 0.5)[0]: continue
        sock, _ = listener.accept(); file = sock.makefile("rb"); size = int(file.readline().split()[1].split(b"?")[0].split(b"/")[-1])
        while file.readline() not in (b"\r\n", b""): pass
        time.sleep(think)
        sock.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"w" * size); file.close(); sock.close()

def rpc():
    from xmlrpc.server import SimpleXMLRPCRequestHandler, SimpleXMLRPCServer
    class Keep(SimpleXMLRPCRequestHandler): protocol_version = "HTTP/1.1"
    server = SimpleXMLRPCServer(("", 8000), Keep, logRequests=False)
    server.register_function(lambda document: len(document), "store"); server.serve_forever()

class Table:
    def value(self, size): return b"m" * size
def manager():
    from multiprocessing.managers import BaseManager
    BaseManager.register("table", callable=Table); BaseManager(("", 8000), b"secret").get_server().serve_forever()

if kind in ("backend", "rpc", "manager"): globals()[kind]()
else: Server(("", 8000), Handler).serve_forever()

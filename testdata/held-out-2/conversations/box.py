"""Small line servers on port 8000: box.py kv [COMMIT_MS] | parts | mail | queue COUNT SIZE PREFETCH | log.
kv:    "get NAME SIZE" answers a value, "set NAME SIZE" and the value are stored after COMMIT_MS; one write for each answer
parts: "read N" answers a status line, a description and N bytes in three writes, with Nagle's algorithm
mail:  an SMTP server
queue: sends messages to a consumer, at most PREFETCH of them not confirmed
log:   takes records and delays its ACKs as long as it may (TCP_QUICKACK 0)"""
import select, socket, socketserver, sys, time
kind, more = sys.argv[1], [int(x) for x in sys.argv[2:]]

class Handler(socketserver.StreamRequestHandler):
    def handle(self): globals()[kind](self.request, self.rfile)

def quick(sock): sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

def kv(sock, file):
    quick(sock); commit = (more or [0])[0] / 1000
    while line := file.readline():
        what, name, size = line.split(); size = int(size)
        if what == b"get": sock.sendall(b"VALUE %s %d\r\n" % (name, size) + b"v" * size + b"\r\nEND\r\n")
        else:
            file.read(size + 2); time.sleep(commit); sock.sendall(b"STORED\r\n")

def parts(sock, file):
    while line := file.readline():
        size = int(line.split()[1])
        sock.sendall(b"+ok\r\n"); sock.sendall(b"size %d, type text\r\n" % size); sock.sendall(b"r" * size)

def mail(sock, file):
    quick(sock); sock.sendall(b"220 box ESMTP\r\n")
    while line := file.readline():
        word = line[:4].upper()
        if word == b"DATA":
            sock.sendall(b"354 go on\r\n")
            while file.readline() != b".\r\n": pass
        sock.sendall(b"221 bye\r\n" if word == b"QUIT" else b"250 ok\r\n")
        if word == b"QUIT": return

def queue(sock, file):
    quick(sock); count, size, prefetch = more; file.readline(); sent = confirmed = 0
    while confirmed < count:
        while sent < count and sent - confirmed < prefetch: sock.sendall(b"MSG %08d\n" % sent + b"m" * (size - 13)); sent += 1
        confirmed = int(file.readline().split()[1]) + 1

def log(sock, _):
    while True:
        ready = select.select([sock], [], [], 0.004)[0]
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
        if ready and not sock.recv(65536): return

class Server(socketserver.ThreadingTCPServer): allow_reuse_address = daemon_threads = True
Server(("", 8000), Handler).serve_forever()

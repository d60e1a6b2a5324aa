"""Clients, on one connection each: client.py KIND COUNT …
pop COUNT [delete]          fetches COUNT messages, and marks each as deleted
rpc COUNT SIZE              COUNT documents by XML-RPC
manager COUNT SIZE          COUNT values from another process's object
blocks COUNT SIZE AHEAD     reads COUNT blocks, AHEAD of them asked for at any time
records COUNT SIZE AHEAD    sends COUNT records, at most AHEAD of them not confirmed
form COUNT SIZE             COUNT POSTs, head and body in two writes, with Nagle's algorithm
player COUNT PERIOD_MS PATH a part of a film each PERIOD_MS
answers COUNT PATH…         COUNT times these paths, one after the other
dialog COUNT SIZE           a program that talks with a filter through ssh: a line, its answer, the next line"""
import http.client, os, socket, struct, subprocess, sys, time
kind, count, more = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
server = os.environ["PIPEFILL_SERVER"]
def connect(quick=True):
    sock = socket.create_connection((server, 8000))
    if quick: sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock, sock.makefile("rb")

def pop():
    import poplib
    box = poplib.POP3(server, 8000); box.user("a"); box.pass_("b"); total = 0
    for n in range(count):
        total += box.retr(n + 1)[2]
        if more: box.dele(n + 1)
    box.quit(); return total
def rpc():
    import xmlrpc.client
    proxy = xmlrpc.client.ServerProxy(f"http://{server}:8000"); return sum(proxy.store("d" * int(more[0])) for _ in range(count))
def manager():
    from multiprocessing.managers import BaseManager
    class Far(BaseManager):   # the other process knows its own address only as 0.0.0.0
        def _create(self, *a, **k):
            token, exposed = super()._create(*a, **k); token.address = self._address; return token, exposed
    Far.register("table"); m = Far((server, 8000), b"secret"); m.connect(); table = m.table()
    return sum(len(table.value(int(more[0]))) for _ in range(count))
def blocks():
    size, ahead = int(more[0]), int(more[1]); sock, file = connect(); asked = total = 0
    while total < count * size:
        while asked < count and asked * size - total < ahead * size: sock.sendall(struct.pack("!QI", asked * size, size)); asked += 1
        total += len(file.read(size))
    return total
def records():
    size, ahead = int(more[0]), int(more[1]); sock, file = connect(); sent = confirmed = 0
    while confirmed < count:
        while sent < count and sent - confirmed < ahead: sock.sendall(b"r" * size); sent += 1
        file.read(8); confirmed += 1
    return confirmed
def form():
    size = int(more[0]); sock, file = connect(quick=False)
    for _ in range(count):
        sock.sendall(b"POST /form HTTP/1.1\r\nHost: server\r\nContent-Length: %d\r\n\r\n" % size); sock.sendall(b"f" * size)
        assert file.readline().startswith(b"HTTP/1.1 204"); file.readline()
    return count
def get(c, path): c.request("GET", path); r = c.getresponse(); assert r.status == 200, r.status; return len(r.read())
def player():
    c = http.client.HTTPConnection(server, 8000); total, start = 0, time.monotonic()
    for n in range(count):
        total += get(c, more[1])
        if n + 1 < count: time.sleep(max(0, start + (n + 1) * float(more[0]) / 1000 - time.monotonic()))
    return total
def answers():
    c = http.client.HTTPConnection(server, 8000); return sum(get(c, path) for _ in range(count) for path in more)
def dialog():
    ssh = subprocess.Popen(["ssh", "-F", "sshd/client", f"root@{server}", f"sed -u s/^/{'o' * int(more[0])}/"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0); total = 0
    out = os.fdopen(os.dup(ssh.stdout.fileno()), "rb")
    for n in range(count):
        ssh.stdin.write(b"line %d\n" % n); total += len(out.readline())
    ssh.stdin.close(); ssh.wait(); return total

print(kind, globals()[kind]())

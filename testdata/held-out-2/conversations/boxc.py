"""Clients of box.py and srv.py, on one connection each:
boxc.py get COUNT SIZE EACH   EACH gets in one write, then their answers
boxc.py set COUNT SIZE        a command and its value in one write
boxc.py set2 COUNT SIZE       a command and its value in two writes, with Nagle's algorithm
boxc.py read COUNT SIZE       for box.py parts
boxc.py mail COUNT SIZE       sends mails: sender, recipient, DATA, text
boxc.py consume COUNT SIZE    takes messages, and confirms each
boxc.py log COUNT SIZE        writes a record as soon as TCP has the ACK of the one before
boxc.py poll COUNT SIZE HOLD_MS"""
import fcntl, os, socket, struct, sys, termios, time
kind, count, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sock = socket.create_connection((os.environ["PIPEFILL_SERVER"], 8000)); file = sock.makefile("rb")
if kind not in ("set2",): sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

def expect(start):
    line = file.readline()
    if not line.startswith(start): sys.exit(f"unexpected answer {line!r}")
    return line
def get(n):
    each = int(sys.argv[4])
    sock.sendall(b"".join(b"get k%d %d\r\n" % (n * each + i, size) for i in range(each)))
    for _ in range(each): file.read(int(expect(b"VALUE").split()[2]) + 2); expect(b"END")
def set(n): sock.sendall(b"set k%d %d\r\n" % (n, size) + b"v" * size + b"\r\n"); expect(b"STORED")
def set2(n): sock.sendall(b"set k%d %d\r\n" % (n, size)); sock.sendall(b"v" * size + b"\r\n"); expect(b"STORED")
def read(n): sock.sendall(b"read %d\r\n" % size); expect(b"+ok"); expect(b"size"); file.read(size)
def mail(n):
    if not n: expect(b"220"); sock.sendall(b"EHLO client\r\n"); expect(b"250")
    for command, answer in ((b"MAIL FROM:<a%d@example.org>" % n, b"250"), (b"RCPT TO:<b@example.org>", b"250"), (b"DATA", b"354"), ((b"t" * 70 + b"\r\n") * (size // 72) + b".", b"250")):
        sock.sendall(command + b"\r\n"); expect(answer)
def consume(n):
    if not n: sock.sendall(b"consume\n")
    expect(b"MSG"); file.read(size - 13); sock.sendall(b"OK %d\n" % n)
def log(n):
    sock.sendall(b"l" * size)
    while struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, b"\0" * 4))[0]: time.sleep(0.0005)
def poll(n):
    sock.sendall(b"GET /wait/%d/%s HTTP/1.1\r\nHost: server\r\n\r\n" % (size, sys.argv[4].encode())); expect(b"HTTP/1.1 200")
    while file.readline() != b"\r\n": pass
    file.read(size)

for n in range(count): globals()[kind](n)
print(kind, count)

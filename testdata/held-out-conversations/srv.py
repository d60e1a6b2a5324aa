#!/usr/bin/python3
"""srv.py PORT [nodelay=1] [rcvbuf=N] [lowat=N] [read=BYTES every=MS]
A line is a request: get SIZE THINK_MS HOW [padding] | put SIZE THINK_MS | sink
HOW: plain | ww:HEAD (two writes) | lock (one full segment, then wait until it is acknowledged) | chunk:BYTES:MS"""
import sys, socket, threading, time, fcntl, termios, struct, select
SEG = 1448
o = dict(a.split('=') for a in sys.argv[2:])

def lockstep(c, size):
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(size // SEG):
        c.sendall(b'l' * SEG)
        while struct.unpack('i', fcntl.ioctl(c.fileno(), termios.TIOCOUTQ, b'\0' * 4))[0]:
            time.sleep(0.0007)

def answer(c, size, how):
    if how == 'plain':
        c.sendall(b'p' * size)
    elif how.startswith('ww:'):
        h = int(how[3:])
        c.sendall(b'h' * h)
        c.sendall(b'b' * (size - h))
    elif how == 'lock':
        lockstep(c, size)
    elif how.startswith('chunk:'):
        n, ms = map(int, how[6:].split(':'))
        t = time.monotonic()
        sent = 0
        while sent < size:
            c.sendall(b'c' * n)
            sent += n
            t += ms / 1000
            time.sleep(max(0, t - time.monotonic()))

def serve(c):
    if 'nodelay' in o:
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    buf = b''
    while True:
        while b'\n' not in buf:
            d = c.recv(65536)
            if not d:
                c.close()
                return
            buf += d
        line, buf = buf.split(b'\n', 1)
        w = line.decode().split()
        if w[0] == 'get':
            time.sleep(int(w[2]) / 1000)
            answer(c, int(w[1]), w[3])
        elif w[0] == 'put':
            n = int(w[1]) - len(buf)
            buf = b''
            while n > 0:
                d = c.recv(min(n, 262144))
                if not d:
                    return
                n -= len(d)
            time.sleep(int(w[2]) / 1000)
            c.sendall(b'ok\n')
        elif w[0] == 'sink':
            if 'lowat' in o:
                c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, int(o['lowat']))
                p = select.poll()
                p.register(c, select.POLLIN)
            while True:
                if 'lowat' in o:
                    p.poll()
                if 'every' in o:
                    time.sleep(int(o['every']) / 1000)
                if not c.recv(int(o.get('read', 262144))):
                    c.close()
                    return

if __name__ == '__main__':
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if 'rcvbuf' in o:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(o['rcvbuf']))
    s.bind(('0.0.0.0', int(sys.argv[1])))
    s.listen(16)
    while True:
        c, _ = s.accept()
        threading.Thread(target=serve, args=(c,), daemon=True).start()

#!/usr/bin/python3
"""cli.py HOST PORT MODE k=v...
rest: n size think(ms, here between an answer and the next request) server(ms) how | outstanding: n size total
put: n size think server | ww: n head body think (two writes, then the answer) | up: seconds (bulk) | lock: size
slow: size read every(ms) | lowat: size lowat (how=lock at the server)"""
import sys, socket, time, select
host, port, mode = sys.argv[1], int(sys.argv[2]), sys.argv[3]
o = dict(a.split('=') for a in sys.argv[4:])
g = lambda k, d=0: int(o.get(k, d))
s = socket.socket()
if 'rcvbuf' in o:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, g('rcvbuf'))
if 'nodelay' in o:
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
s.connect((host, port))

def take(n):
    while n > 0:
        d = s.recv(min(n, 262144))
        if not d:
            sys.exit('cli: closed early')
        n -= len(d)

def req(size, server, how):
    line = 'get %d %d %s ' % (size, server, how)
    return (line.ljust(g('req', 120) - 1, 'x') + '\n').encode()

if mode == 'rest':
    for i in range(g('n')):
        if i:
            time.sleep(g('think') / 1000)
        s.sendall(req(g('size'), g('server'), o.get('how', 'plain')))
        take(g('size'))
elif mode == 'outstanding':
    n, size, total = g('n'), g('size'), g('total')
    s.sendall(req(size, 0, 'plain') * n)
    for i in range(total):
        take(size)
        if i + n < total:
            s.sendall(req(size, 0, 'plain'))
elif mode == 'put':
    for i in range(g('n')):
        if i:
            time.sleep(g('think') / 1000)
        s.sendall(b'put %d %d\n' % (g('size'), g('server')) + b'u' * g('size'))
        take(3)
elif mode == 'ww':
    for i in range(g('n')):
        if i:
            time.sleep(g('think') / 1000)
        s.sendall((('put %d 0 ' % g('body')).ljust(g('head') - 1, 'x') + '\n').encode())
        s.sendall(b'b' * g('body'))
        take(3)
elif mode == 'up':
    s.sendall(b'sink\n')
    t = time.monotonic()
    while time.monotonic() - t < float(o['seconds']):
        s.sendall(b'u' * 65536)
elif mode == 'lock':
    import fcntl, termios, struct
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s.sendall(b'sink\n')
    time.sleep(0.3)
    for _ in range(g('size') // 1448):
        s.sendall(b'l' * 1448)
        while struct.unpack('i', fcntl.ioctl(s.fileno(), termios.TIOCOUTQ, b'\0' * 4))[0]:
            time.sleep(0.0007)
elif mode == 'slow':
    s.sendall(req(g('size'), 0, 'plain'))
    n = g('size')
    while n > 0:
        time.sleep(g('every') / 1000)
        d = s.recv(min(n, g('read')))
        if not d:
            break
        n -= len(d)
elif mode == 'lowat':
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, g('lowat'))
    s.sendall(req(g('size'), 0, 'lock'))
    p = select.poll()
    p.register(s, select.POLLIN)
    n = g('size')
    while n > 0:
        if n < g('lowat'):
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
        p.poll()
        d = s.recv(262144)
        if not d:
            break
        n -= len(d)
s.close()

#!/usr/bin/python3
"""sshdrive.py MODE N MS REMOTE -- SSH...: turns: N times a line, then wait for the answer's marker, then MS of pause; typing: a key each MS"""
import sys, subprocess, time
mode, n, ms, remote = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
p = subprocess.Popen(sys.argv[6:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
if mode == 'turns':
    p.stdin.write(b'echo READY@\n')
    while b'@' not in p.stdout.read(65536):
        pass
    for i in range(n):
        if i and ms:
            time.sleep(ms / 1000)
        p.stdin.write(remote.encode() + b'\n')
        got = b''
        while b'@' not in got:
            d = p.stdout.read(65536)
            if not d:
                sys.exit('sshdrive: closed early')
            got += d
    p.stdin.write(b'exit\n')
else:
    time.sleep(1.0)
    for i in range(n):
        time.sleep(ms / 1000)
        p.stdin.write(b'abcdefghij'[i % 10:i % 10 + 1])
    time.sleep(0.3)
    p.stdin.write(b'\n\x04')
p.stdin.close()
p.stdout.read()
p.wait()

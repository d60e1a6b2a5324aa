"""Transfers over one connection: what the programs of the reports do with their sockets.

transfer.py serve [RCVBUF]                         reads to the end; sets SO_RCVBUF after the handshake, as pgjdbc and Kafka do
transfer.py send BYTES [SNDBUF [CONTROL]]          writes 16 KiB at a time, waits until all of it is read
transfer.py send_for SECONDS [SNDBUF [CONTROL]]    the same for so long
transfer.py serve_messages BYTES                   answers each message of so many bytes with one byte
transfer.py send_messages BYTES COUNT PAUSE        messages with a pause after each answer, seconds
"""

import os
import socket
import sys
import time

PORT = 9000
WRITE = 16_384


def accepted():
    server = socket.create_server(("0.0.0.0", PORT))
    return server.accept()[0]


def serve(rcvbuf=None):
    client = accepted()
    if rcvbuf:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(rcvbuf))
    while client.recv(1 << 20):
        pass


def connected(sndbuf=0, control=None):
    server = socket.socket()
    if int(sndbuf):
        server.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, int(sndbuf))
    if control:
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    server.connect((os.environ["PIPEFILL_SERVER"], PORT))
    return server


def send(size, sndbuf=0, control=None):
    server = connected(sndbuf, control)
    left = int(size)
    while left > 0:
        left -= server.send(b"x" * min(left, WRITE))
    server.shutdown(socket.SHUT_WR)
    server.recv(1)


def send_for(seconds, sndbuf=0, control=None):
    server = connected(sndbuf, control)
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        server.send(b"x" * WRITE)


def serve_messages(size):
    client = accepted()
    read = 0
    while data := client.recv(1 << 20):
        read += len(data)
        while read >= int(size):
            read -= int(size)
            client.sendall(b"k")


def send_messages(size, count, pause):
    server = connected()
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(int(count)):
        server.sendall(b"x" * int(size))
        server.recv(1)
        time.sleep(float(pause))


globals()[sys.argv[1]](*sys.argv[2:])

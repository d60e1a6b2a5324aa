"""Sends BYTES to the first that connects, with SO_MAX_PACING_RATE or SO_SNDBUF set before: pace.py BYTES pace|sndbuf VALUE"""
import socket, sys
left, kind, value = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
listener = socket.create_server(("", 8000))
listener.setsockopt(socket.SOL_SOCKET, 47 if kind == "pace" else socket.SO_SNDBUF, value)
to, _ = listener.accept()
if kind == "pace": to.setsockopt(socket.SOL_SOCKET, 47, value)
while left: left -= to.send(b"z" * min(left, 65536))
to.close()

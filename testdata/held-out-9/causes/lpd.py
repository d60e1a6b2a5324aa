"""A printer by RFC 1179: lpd.py FILE listens on port 515, and writes what is to be printed to FILE."""
import socket, sys
door = socket.create_server(("0.0.0.0", 515))
with open(sys.argv[1], "wb") as paper:
    while True:
        client, _ = door.accept()
        with client, client.makefile("rb") as come:
            come.readline(); client.sendall(b"\0")          # the queue's name
            while order := come.readline():
                left = int(order[1:].split()[0]); client.sendall(b"\0")
                while left:
                    part = come.read(min(left, 65536)); left -= len(part)
                    if not part: break
                    if order[:1] == b"\3": paper.write(part)
                come.read(1); client.sendall(b"\0")

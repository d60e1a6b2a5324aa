"""A vault: vault.py BYTES FILE takes one connection, sets SO_RCVBUF on it only then, and writes what comes to FILE."""
import socket, sys
door = socket.create_server(("0.0.0.0", 8000))
guest, _ = door.accept()
guest.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(sys.argv[1]))
with open(sys.argv[2], "wb") as shelf:
    while part := guest.recv(262144): shelf.write(part)

"""A warehouse: keeper.py FILE takes one connection, writes what comes to FILE, and gives credit for each 16 KiB that it has put away."""
import socket, sys
door = socket.create_server(("0.0.0.0", 8000))
van, _ = door.accept()
van.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
owed = 0
with open(sys.argv[1], "wb") as store:
    while part := van.recv(65536):
        store.write(part); owed += len(part)
        while owed >= 16384: van.sendall(b"16384\n"); owed -= 16384

"""Records of SIZE bytes, each written when TCP has the ACK of the one before (SIOCOUTQ): records.py COUNT SIZE [listen].
Without "listen" it connects to the server; with it, it waits on port 8000 for the reader, which speaks first, and ends with its connection."""
import fcntl, os, socket, struct, sys, termios, time
count, size = int(sys.argv[1]), int(sys.argv[2])
if sys.argv[3:] == ["listen"]:
    listener = socket.create_server(("", 8000)); sock, _ = listener.accept(); sock.recv(100)
else: sock = socket.create_connection((os.environ["PIPEFILL_SERVER"], 8000))
sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for n in range(count):
    sock.sendall(b"r" * size)
    while struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, b"\0" * 4))[0]: time.sleep(0.0004)
sock.close(); print("sent", count)

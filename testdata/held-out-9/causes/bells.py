"""Change ringing by wire: bells.py COUNT BYTES sends a change, and the next one when the socket's queue is empty (SIOCOUTQ), that is when the last one is acknowledged."""
import fcntl, socket, struct, sys, termios, time
count, size = int(sys.argv[1]), int(sys.argv[2])
door = socket.create_server(("0.0.0.0", 8000))
tower, _ = door.accept()
tower.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for change in range(count):
    tower.sendall(b"b" * size)
    while struct.unpack("i", fcntl.ioctl(tower, termios.TIOCOUTQ, b"\0" * 4))[0]: time.sleep(0.001)
tower.close()

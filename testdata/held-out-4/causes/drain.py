"""A driver that hands over one record after the other, as to a printer: drain.py HOST COUNT BYTES writes a record to HOST:8000, waits until the kernel says that it is acknowledged (SIOCOUTQ), and so on."""
import array, fcntl, socket, sys, termios, time
s = socket.create_connection((sys.argv[1], 8000))
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
left = array.array("i", [0])
for _ in range(int(sys.argv[2])):
    s.sendall(b"d" * int(sys.argv[3]))
    while True:
        fcntl.ioctl(s, termios.TIOCOUTQ, left)
        if not left[0]: break
        time.sleep(0.001)

"""A camera that pushes pictures by ZeroMQ: camera.py take FILE; camera.py send HOST FILE COUNT EVERY"""
import sys, time, zmq
context = zmq.Context()
if sys.argv[1] == "take":
    taken = context.socket(zmq.PULL); taken.bind("tcp://0.0.0.0:8000")
    with open(sys.argv[2], "wb") as to:
        while True: to.write(taken.recv())
host, picture, count, every = sys.argv[2], open(sys.argv[3], "rb").read(), int(sys.argv[4]), float(sys.argv[5])
sent = context.socket(zmq.PUSH); sent.connect(f"tcp://{host}:8000"); time.sleep(1)
for i in range(count):
    if i: time.sleep(every)
    sent.send(picture)
sent.close(linger=5000); context.term()

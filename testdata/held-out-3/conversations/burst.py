"""Takes standard input in bursts, as a program that works on one part at a time: burst.py BYTES PAUSE_MS"""
import sys, time
part, pause, total = int(sys.argv[1]), float(sys.argv[2]) / 1000, 0
while piece := sys.stdin.buffer.read(part):
    total += len(piece)
    time.sleep(pause)
print("took", total)

"""Reads standard input at no more than BYTES_PER_S, in small pieces, and says how much there was."""
import os, sys, time
rate, total, start = float(sys.argv[1]), 0, time.monotonic()
while True:
    piece = os.read(0, 16384)
    if not piece: break
    total += len(piece)
    time.sleep(max(0, start + total / rate - time.monotonic()))
print("read", total)

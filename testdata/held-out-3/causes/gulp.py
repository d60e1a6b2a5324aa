"""Reads standard input in gulps: gulp.py BYTES SECONDS reads BYTES, then reads nothing for SECONDS, and so on; says how much there was."""
import os, sys, time
gulp, rest, total = int(sys.argv[1]), float(sys.argv[2]), 0
while True:
    left = gulp
    while left:
        piece = os.read(0, min(left, 65536))
        if not piece:
            print("read", total)
            sys.exit()
        left -= len(piece); total += len(piece)
    time.sleep(rest)

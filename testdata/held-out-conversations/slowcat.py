#!/usr/bin/python3
"""slowcat.py BYTES MS: reads at most BYTES from stdin each MS"""
import sys, os, time
n, ms = int(sys.argv[1]), int(sys.argv[2])
while True:
    time.sleep(ms / 1000)
    if not os.read(0, n):
        break

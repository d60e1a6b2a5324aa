#!/usr/bin/python3
"""slowsql.py N MS TEXT: writes the line TEXT N times, MS apart"""
import sys, time
for i in range(int(sys.argv[1])):
    if i:
        time.sleep(int(sys.argv[2]) / 1000)
    sys.stdout.write(sys.argv[3] + '\n')
    sys.stdout.flush()

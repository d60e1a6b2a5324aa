"""Makes files f0, f1, … in FOLDER: files.py FOLDER COUNT SIZE. They hold random bytes."""
import os, sys
folder, count, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.makedirs(folder, exist_ok=True)
for n in range(count):
    with open(f"{folder}/f{n}", "wb") as file: file.write(os.urandom(size))

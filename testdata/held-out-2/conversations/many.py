"""Makes COUNT files of SIZE random bytes in files/."""
import os, sys
for n in range(int(sys.argv[1])):
    with open(f"files/f{n}", "wb") as file: file.write(os.urandom(int(sys.argv[2])))

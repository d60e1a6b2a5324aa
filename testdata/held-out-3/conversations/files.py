"""files.py DIRECTORY COUNT SIZE: files of random bytes f0, f1, …; files.py site COUNT SIZE: a web site, index.html with a link to each of COUNT pages of SIZE bytes."""
import os, sys
where, count, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.makedirs(where, exist_ok=True)
if where == "site":
    open("site/index.html", "w").write("<html>" + "".join(f'<a href="p{n}.html">{n}</a>\n' for n in range(count)))
    for n in range(count): open(f"site/p{n}.html", "w").write("<html><p>" + "word " * ((size - 9) // 5))
else:
    for n in range(count): open(f"{where}/f{n}", "wb").write(os.urandom(size))

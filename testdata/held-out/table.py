#!/usr/bin/env python3
"""Writes the table of a set: table.py FILE.toml OUT CORRECTIONS.toml. Counts both ways: as answered before the run, and with the answers that were wrong by arithmetic put right."""
import json, sys, tomllib
from grade import grade, said, top
cases = tomllib.load(open(sys.argv[1], "rb"))["case"]; fix = tomllib.load(open(sys.argv[3], "rb"))
n = {k: dict(right=0, unknown=0, wrong=0) for k in ("s", "r", "s2", "r2")}
rows, notes = [], []
for c in cases:
    d = f"{sys.argv[2]}/{c['name']}"; near, far = (json.load(open(f"{d}/{e}.json")) for e in ("near", "far"))
    s, r = (near, far) if c["direction"] == "up" else (far, near)
    a = top(s); b = next((x for x in r["flows"] if x["src"] == a["src"] and x["dst"] == a["dst"]), None)
    f = fix.get(c["name"][:2], {}); ok = c["answer"]; ok2 = f.get("answer", ok)
    g = [grade(a, ok), grade(b, ok), grade(a, ok2), grade(b, ok2)]
    for k, v in zip(("s", "r", "s2", "r2"), g): n[k][v] += 1
    cell = lambda f, one, two: f"`{said(f)}` {one}" + (f" ({two})" if two != one else "")
    cause = lambda names: " or ".join(f"`{x}`" for x in names)
    rows.append(f"| {c['name']} | {cause(ok)} | {cell(a, g[0], g[2])} | {cell(b, g[1], g[3])} | {(cause(f['answer']) + ': ' if 'answer' in f else '') + f['why'] if f else ''} |")
say = lambda k: f"{n[k]['right']} / {n[k]['unknown']} / {n[k]['wrong']}"
print("| | near the sender | near the receiver |\n| --- | --: | --: |")
print(f"| right / unknown / wrong, by the answers before the run | {say('s')} | {say('r')} |\n| the same, with answers put right | {say('s2')} | {say('r2')} |\n")
print("| case | answer | found near the sender | found near the receiver | the answer was wrong by arithmetic |\n| --- | --- | --- | --- | --- |\n" + "\n".join(rows))

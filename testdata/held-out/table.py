#!/usr/bin/env python3
"""Writes the table of a set: table.py FILE.toml OUT CORRECTIONS.toml. It counts both ways: by the answers before the run, and with those that were wrong by arithmetic put right."""
import json, sys, tomllib
from grade import grade, said, sockets, top
VIEWS = ("near the sender", "near the receiver", "sockets of exec")
cases = tomllib.load(open(sys.argv[1], "rb"))["case"]; fix = tomllib.load(open(sys.argv[3], "rb"))
before, after, rows = [dict(right=0, unknown=0, wrong=0) for _ in VIEWS], [dict(right=0, unknown=0, wrong=0) for _ in VIEWS], []
cause = lambda names: " or ".join(f"`{x}`" for x in names)
for c in cases:
    d = f"{sys.argv[2]}/{c['name']}"; near, far = (json.load(open(f"{d}/{e}.json")) for e in ("near", "far"))
    s, r = (near, far) if c["direction"] == "up" else (far, near)
    a = top(s); b = next((x for x in r["flows"] if x["src"] == a["src"] and x["dst"] == a["dst"]), None)
    f = fix.get(c["name"][:2], {}); active = c.get("active", False); ok = c["answer"]
    answers = [ok, c.get("answer_near_receiver", ok), c.get("answer_sockets", ok)]
    fixed = f.get("answer"); right = [fixed or answers[0], f.get("answer_near_receiver", fixed or answers[1]), fixed or answers[2]]
    cells = []
    for view, flow in enumerate((a, b, sockets(d, a))):
        one, two = grade(flow, answers[view], active), grade(flow, right[view], active)
        before[view][one] += 1; after[view][two] += 1
        cells.append(f"`{said(flow, active)}` {one}" + (f" ({two})" if two != one else ""))
    also = "".join(f"; {view}: {cause(x)}" for view, x in zip(VIEWS[1:], answers[1:]) if x != ok)
    note = "; ".join(f"{view}{cause(f[key])}" for view, key in (("", "answer"), ("near the receiver ", "answer_near_receiver")) if key in f)
    rows.append(f"| {c['name']} | {cause(ok)}{' (active time)' if active else ''}{also} | {' | '.join(cells)} | {(note + ': ' if note else '') + f['why'] if f else ''} |")
say = lambda x: f"{x['right']} / {x['unknown']} / {x['wrong']}"
print(f"| right / unknown / wrong | {' | '.join(VIEWS)} |\n| --- | --: | --: | --: |")
print(f"| by the answers before the run | {' | '.join(map(say, before))} |\n| with answers put right | {' | '.join(map(say, after))} |\n")
print(f"| case | answer | {' | '.join(VIEWS)} | where the answer was wrong by arithmetic |\n| --- | --- | --- | --- | --- | --- |\n" + "\n".join(rows))

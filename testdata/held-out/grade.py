#!/usr/bin/env python3
"""Grades a set: grade.py FILE.toml OUT. Flow: the one with most payload in the capture near its sender."""
import json, sys, tomllib
def top(f):
    return max(f["flows"], key=lambda x: x["bytes"])
def said(f): return f"{f['limited_by']}/{f['cause']}" if f["cause"] else f"{f['limited_by']}"
def grade(f, ok):
    if f is None: return "absent"
    if said(f) in ok: return "right"
    if f["limited_by"] in (None, "unknown") or (f["cause"] is None and f["limited_by"] in [o.split("/")[0] for o in ok]): return "unknown"
    return "wrong"
if __name__ == "__main__":
    n = {"s": {}, "r": {}}
    for c in tomllib.load(open(sys.argv[1], "rb"))["case"]:
        d = f"{sys.argv[2]}/{c['name']}"
        try: near, far = (json.load(open(f"{d}/{e}.json")) for e in ("near", "far"))
        except Exception as e: print(c["name"], "no result", e); continue
        s, r = (near, far) if c["direction"] == "up" else (far, near)
        a = top(s); b = next((x for x in r["flows"] if x["src"] == a["src"] and x["dst"] == a["dst"]), None)
        up = a["src"].startswith("10.77.0.1:")
        ok = c["answer"]; okr = c.get("answer_near_receiver", ok)
        gs, gr = grade(a, ok), grade(b, okr)
        n["s"][gs] = n["s"].get(gs, 0) + 1; n["r"][gr] = n["r"].get(gr, 0) + 1
        err = open(d + "/stderr").read()
        inv = "INVALID " if '"invalid": [' in err and '"invalid": []' not in err else ""
        print(f"{c['name']:24} {'DIRECTION! ' if up != (c['direction']=='up') else ''}{inv}{' | '.join(ok):34} s:{gs} {said(a)} r:{gr} {said(b)} {a['bytes']} B span {a['span_us']/1e6:.2f}")
        if "-v" in sys.argv and (gs != "right" or gr != "right"):
            for w, f in (("sender", a), ("receiver", b)):
                print("    ", w, f["verdict"], [(t["limited_by"], t["cause"], round(t["share"], 2)) for t in f["time"]], f["rule"], f["margin"], f["retransmits"])
    print(n)

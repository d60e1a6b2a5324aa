#!/usr/bin/env python3
"""Grades a set: grade.py FILE.toml OUT. Flow: the one with most payload in the capture near its sender."""
import json, sys, tomllib
def top(f):
    return max(f["flows"], key=lambda x: x["bytes"])
def said(f, active=False):
    if f is None: return "absent"
    by, cause = (f["active_limited_by"], f["active_cause"]) if active else (f["limited_by"], f["cause"])
    return f"{by}/{cause}" if cause else f"{by}"
def grade(f, ok, active=False):
    text = said(f, active)
    if text in ok: return "right"
    if text in ("None", "unknown", "absent") or text in [o.split("/")[0] for o in ok]: return "unknown"
    return "wrong"
def sockets(directory, flow):
    """What exec said of the same connection."""
    text = open(directory + "/stderr").read()
    start = text.find("\n{\n") + 1
    ports = {flow["src"], flow["dst"]}
    return max((x for x in json.JSONDecoder().raw_decode(text[start:])[0]["connections"] if {x["local"], x["remote"]} == ports), key=lambda x: x["span_us"] or 0, default=None)
if __name__ == "__main__":
    n = {"s": {}, "r": {}, "e": {}}
    for c in tomllib.load(open(sys.argv[1], "rb"))["case"]:
        d = f"{sys.argv[2]}/{c['name']}"
        try: near, far = (json.load(open(f"{d}/{e}.json")) for e in ("near", "far"))
        except Exception as e: print(c["name"], "no result", e); continue
        s, r = (near, far) if c["direction"] == "up" else (far, near)
        a = top(s); b = next((x for x in r["flows"] if x["src"] == a["src"] and x["dst"] == a["dst"]), None)
        up = a["src"].startswith("10.77.0.1:")
        ok = c["answer"]; okr = c.get("answer_near_receiver", ok)
        act = c.get("active", False); gs, gr = grade(a, ok, act), grade(b, okr, act); x = sockets(d, a); ge = grade(x, c.get("answer_sockets", ok), act); n["e"][ge] = n["e"].get(ge, 0) + 1
        n["s"][gs] = n["s"].get(gs, 0) + 1; n["r"][gr] = n["r"].get(gr, 0) + 1
        err = open(d + "/stderr").read()
        inv = "INVALID " if '"invalid": [' in err and '"invalid": []' not in err else ""
        print(f"{c['name']:24} {'DIRECTION! ' if up != (c['direction']=='up') else ''}{inv}{' | '.join(ok):34} s:{gs} {said(a, act)} r:{gr} {said(b, act)} e:{ge} {said(x, act)} {a['bytes']} B span {(a['span_us'] or 0)/1e6:.2f}")
        if "-v" in sys.argv and (gs != "right" or gr != "right" or ge != "right"):
            for w, f in (("sender", a), ("receiver", b), ("sockets", x)):
                if f is None: continue
                print("    ", w, f["verdict"], [(t["limited_by"], t["cause"], round(t["share"], 2)) for t in f["time"] or []], f.get("rule"), f.get("margin"), f["retransmits"])
    print(n)

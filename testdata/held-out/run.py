#!/usr/bin/env python3
"""Runs cases once through exec and pcap: run.py FILE.toml OUT [NAME…]. What each says is in OUT/NAME: exec.json, near.json, far.json, rec/."""
import json, os, shutil, subprocess, sys, time, tomllib
KIT = os.path.dirname(os.path.abspath(sys.argv[1])); B = os.environ.get("PIPEFILL", "pipefill")
cases = tomllib.load(open(sys.argv[1], "rb"))["case"]; OUT = os.path.abspath(sys.argv[2])
for c in cases:
    if sys.argv[3:] and not any(c["name"].startswith(n) for n in sys.argv[3:]): continue
    d = f"{OUT}/{c['name']}"
    if os.path.exists(d): print(c["name"], "exists"); continue
    w = d + "/work"; os.makedirs(w); env = dict(os.environ, KIT=KIT)
    r = subprocess.run(["sh", "-c", f"sh $KIT/prepare.sh '{c.get('base','')}' && {{ {c.get('prepare') or 'true'}; }}"], cwd=w, env=env, capture_output=True, text=True)
    if r.returncode: print(c["name"], "prepare:", r.stderr[-300:]); continue
    a = time.time()
    with open(d + "/stdout", "w") as so, open(d + "/stderr", "w") as se:
        r = subprocess.run(["timeout", "60", B, "exec", *c["path"], "--capture", "--json", "--out", d + "/rec", "--server", c["server"], "--", "sh", "-c", c["client"]],
                           cwd=w, env=env, stdout=so, stderr=se, stdin=subprocess.DEVNULL, start_new_session=True)
    took = time.time() - a
    for end in ("near", "far"):
        with open(f"{d}/{end}.json", "w") as f:
            p = subprocess.run([B, "pcap", f"{d}/rec/{end}.pcapng", "--json"], stdout=f, stderr=subprocess.PIPE, text=True)
        if p.returncode: print(c["name"], end, p.stderr[-300:])
    print(c["name"], "exit", r.returncode, f"{took:.1f} s, all {time.time() - a:.1f} s", flush=True)
    shutil.rmtree(w, ignore_errors=True)

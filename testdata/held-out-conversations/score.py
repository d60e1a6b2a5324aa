#!/usr/bin/python3
"""score.py BINARY OUTDIR [ID...]: BINARY pcap FILE --json of each near.pcapng and far.pcapng, against set.json (SET=FILE: another set).

right: (limited_by, cause) is in accept (cause null there: limited_by alone counts); holder-only: limited_by is right, the cause is not;
unknown: limited_by is null or "unknown"; wrong: another holder; missing: no capture, no JSON, or no such flow in it.
Written without knowledge of the JSON's fields: flows() finds every object with "limited_by" and reads its end points, direction and bytes from it
and from what encloses it. VERBOSE=1 shows the flows found. If all is missing, adapt ends() and size()."""
import json, os, re, subprocess, sys
DIR = os.path.dirname(os.path.abspath(__file__))
PAIRS = [('src', 'dst'), ('source', 'destination'), ('from', 'to'), ('sender', 'receiver'), ('sport', 'dport'), ('src_port', 'dst_port'),
         ('source_port', 'destination_port'), ('from_port', 'to_port'), ('sender_port', 'receiver_port'), ('source_port', 'dest_port'), ('local', 'remote')]
NAMES = ('flow', 'name', 'id', 'label', 'connection', 'stream', 'key', 'title', 'tuple')
CLIENT, SERVER = '10.77.0.1', '10.77.0.2'

def port_of(v):
    if isinstance(v, bool):
        return None
    if isinstance(v, int):
        return v
    if isinstance(v, str):
        m = re.search(r'[:.](\d+)$', v) if re.search(r':\d+$', v) else None
        return int(m.group(1)) if m else int(v) if v.isdigit() else None
    if isinstance(v, dict):
        return port_of(v.get('port'))
    if isinstance(v, list) and len(v) == 2:
        return port_of(v[1])
    return None

def ends(chain):
    """(source port, destination port) of a flow: the object itself first, then what encloses it"""
    for d in chain:
        for a, b in PAIRS:
            if a in d and b in d:
                p, q = port_of(d[a]), port_of(d[b])
                if p and q:
                    return p, q
        for k in NAMES:
            if isinstance(d.get(k), str):
                m = re.search(r'[\]\d]:(\d+)\s*(?:->|→|=>|>|to)\s*\S+[\]\d]:(\d+)', d[k])
                if m:
                    return int(m.group(1)), int(m.group(2))
    c = s = None
    for d in chain:
        c = c or port_of(d.get('client')) or port_of(d.get('client_port'))
        s = s or port_of(d.get('server')) or port_of(d.get('server_port'))
    for d in chain:
        for k in ('direction', 'dir', 'side', '_key'):
            v = str(d.get(k, '')).lower()
            if re.search(r'to.?client|server.*(->|→|to).*client|^down|^from.?server|reverse|s2c|^server$', v):
                return s or -1, c or -1
            if re.search(r'to.?server|client.*(->|→|to).*server|^up|^from.?client|forward|c2s|^client$', v):
                return c or -1, s or -1
    return None, None

def size(chain):
    for d in chain[:2]:
        for k in ('payload_bytes', 'bytes', 'data_bytes', 'payload', 'delivered_bytes', 'bytes_acked', 'acked_bytes', 'unique_bytes', 'goodput_bytes', 'len', 'length'):
            if isinstance(d.get(k), (int, float)) and not isinstance(d.get(k), bool):
                return d[k]
        n = [v for k, v in d.items() if 'bytes' in k and isinstance(v, (int, float)) and not isinstance(v, bool)]
        if n:
            return max(n)
    return 0

def flows(x, chain=(), key=''):
    if isinstance(x, dict):
        here = (dict(x, _key=key),) + chain
        if 'limited_by' in x:
            yield here
        for k, v in x.items():
            yield from flows(v, here, k)
    elif isinstance(x, list):
        for v in x:
            yield from flows(v, chain, key)

def parse(text):
    try:
        return json.loads(text)
    except ValueError:
        out = []
        for line in text.splitlines():
            try:
                out.append(json.loads(line))
            except ValueError:
                pass
        return out

def judge(e, binary, path):
    if not os.path.exists(path):
        return 'missing', 'no capture'
    try:
        r = subprocess.run([binary, 'pcap', path, '--json'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    except subprocess.TimeoutExpired:
        return 'missing', 'timeout'
    best = None
    for c in flows(parse(r.stdout.decode(errors='replace'))):
        p, q = ends(c)
        if os.environ.get('VERBOSE'):
            print('   ', p, q, size(c), c[0]['limited_by'], c[0].get('cause'), 'depth', len(c))
        if (p if e['direction'] == 'to_client' else q) != e['port']:
            continue
        if best is None or size(c) > size(best):  # the outermost of equals: a flow before its spans
            best = c
    if best is None:
        return 'missing', 'no such flow (exit %d) %s' % (r.returncode, r.stderr.decode(errors='replace').strip()[-100:])
    lb, cause = best[0].get('limited_by'), best[0].get('cause')
    found = '%s/%s' % (lb, cause)
    if lb in (None, 'unknown'):
        return 'unknown', found
    if any(a == lb and (b is None or b == cause) for a, b in e['accept']):
        return 'right', found
    if any(a == lb for a, b in e['accept']):
        return 'holder-only', found
    return 'wrong', found

def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    binary, out, only = sys.argv[1], sys.argv[2], sys.argv[3:]
    total = {f: {} for f in ('near', 'far')}
    for e in json.load(open(os.path.join(DIR, os.environ.get('SET', 'set.json')))):
        if only and e['id'] not in only:
            continue
        want = ' or '.join('%s/%s' % (a, b or '*') for a, b in e['accept'])
        for f in total:
            verdict, found = judge(e, binary, '%s/%s/%s.pcapng' % (out, e['id'], f))
            total[f][verdict] = total[f].get(verdict, 0) + 1
            print('%-4s %-4s %-18s %-24s %s' % (e['id'], f, want, found, verdict), flush=True)
    for f, t in total.items():
        print('%-4s: right %d, holder-only %d, unknown %d, wrong %d, missing %d of %d' % (
            (f,) + tuple(t.get(k, 0) for k in ('right', 'holder-only', 'unknown', 'wrong', 'missing')) + (sum(t.values()),)))

main()

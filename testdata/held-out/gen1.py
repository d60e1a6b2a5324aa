#!/usr/bin/env python3
"""Draws 40 conversations and writes the answers by arithmetic: gen1.py >conversations.toml"""
import math, random
SEED = 20261126
R = random.Random(SEED)
MSS = 1448
RTTS = [2, 5, 10, 20, 30, 50, 80, 120, 200]
RATES = [2, 4, 8, 10, 20, 30, 50]
out = []

def eff(rate):  # payload bytes/s of a link that counts IP + 14
    return rate * 1e6 / 8 * MSS / 1514

def path(loss=False, rates=RATES, rtts=RTTS, cc=None, chance=0.15):
    p = dict(rtt=R.choice(rtts), rate=R.choice(rates), queue=R.choice(["1bdp", "1bdp", "2bdp", "100p", "0.5bdp"]),
             cc=cc or R.choice(["cubic", "cubic", "cubic", "bbr", "bbr", "reno"]))
    p["loss"] = R.choice([0.5, 1, 2]) if loss else (R.choice([0.1, 0.2]) if R.random() < chance else 0)
    return p

def args(p):
    a = ["--rtt", f"{p['rtt']}ms", "--rate", f"{p['rate']}mbit", "--reverse-rate", f"{p['rate']}mbit", "--queue", p["queue"],
         "--set", f"host.congestion_control={p['cc']}"]
    if p["loss"]: a += ["--loss", f"{p['loss']}%"]
    return a

def transfer(S, cw, rtt, rate):
    """Seconds after the first byte of an answer of S bytes arrives: in rounds of slow start, and at the link's rate; the cwnd after."""
    left, rounds, link = S, 0, 0.0
    while True:
        flight = cw * MSS
        if left <= flight:
            link += min(left, S) / eff(rate) if left / eff(rate) > 0 else 0
            break
        if flight / eff(rate) >= rtt:   # the pipe is full from here on
            link += left / eff(rate)
            break
        left -= flight; rounds += 1; cw *= 2
    return rounds * rtt, link, cw

def conversation(p, N, S, think=0.0, sleep=0.0, per=1, up=False, setup=0, first_cw=10):
    """Shares of the ledger of the larger direction: N turns of S bytes, think time of the answering side, sleep of the asking side."""
    rtt, rate = p["rtt"] / 1e3, p["rate"]
    h = dict.fromkeys(["app/turns", "app/response", "app/request", "cwnd/startup", "cwnd/idle_restart", "path/full", "cwnd/timeout"], 0.0)
    h["app/turns"] += setup * rtt
    cw, ceiling, first = first_cw, first_cw, True
    for n in range(N):
        gap = rtt + think + sleep
        restart = not first and p["cc"] != "bbr" and gap > rtt + 0.2
        start = max(10, cw // 2 ** int((gap) / (rtt + 0.2))) if restart else cw
        ss, link, new = transfer(S, start, rtt, rate)
        cw = max(new, cw) if not restart else max(new, start)
        h["app/turns"] += rtt * per
        h["app/response"] += sleep if up else think
        h["app/request"] += think if up else sleep
        h["cwnd/idle_restart" if restart else "cwnd/startup"] += ss
        h["path/full" if link > rtt else "app/turns"] += link   # less than a round trip's worth of link belongs to the turn
        first = False
    # a lost small segment waits for a probe: 2 srtt + 200 ms
    h["cwnd/timeout"] += N * per * 2 * p["loss"] / 100 * (2 * rtt + 0.2)
    return h

def pick(h):
    order = sorted(h.items(), key=lambda kv: -kv[1])
    total = sum(h.values())
    (a, x), (b, y) = order[:2]
    answers = [a] + ([b] if y > 0.8 * x else [])
    text = ", ".join(f"{k} {v:.2f} s ({100 * v / total:.0f} %)" for k, v in order if v > 0.02 * total)
    return answers, text, total

def bulk(p, seconds, up=False):
    """The holder of a transfer without an end of its own: by rate, loss, queue and congestion control."""
    rtt, rate = p["rtt"] / 1e3, p["rate"]
    bdp = eff(rate) * rtt / MSS
    if p["loss"] and p["cc"] != "bbr":
        w = 1.22 / math.sqrt(p["loss"] / 100)
        if p["cc"] == "cubic": w = max(w, 1.05 * (rtt ** 3 / (p["loss"] / 100) ** 3) ** 0.25)
        share = w / bdp
        t = f"window {w:.0f} segments by the loss law, BDP {bdp:.0f}: {100 * share:.0f} % of the link"
        if share < 0.8: return ["cwnd/random_loss"], t
        if share > 1.3: return ["path/full"], t
        return ["path/full", "cwnd/random_loss"], t
    if p["cc"] == "bbr":
        return ["path/full"], f"BBR keeps 1 to 2 BDP ({bdp:.0f} segments) in flight and does not answer to loss below 20 %"
    q = {"1bdp": max(bdp, 100), "2bdp": max(2 * bdp, 100), "0.5bdp": max(bdp / 2, 100)}.get(p["queue"]) or float(p["queue"][:-1])
    beta = 0.7 if p["cc"] == "cubic" else 0.5
    after = beta * (bdp + q) / bdp
    t = f"BDP {bdp:.0f} segments, queue {q:.0f}: after a cut {100 * after:.0f} % of the BDP"
    if after < 0.8: return ["cwnd/queue_loss", "cwnd/growth"], t
    # HyStart ends slow start at half of a BDP where ACKs come closer than 2 ms, else at a full pipe
    if p["cc"] == "cubic" and 2 * MSS / eff(rate) < 0.002:
        fill = min((bdp / 2 / 0.4) ** (1 / 3), bdp / 2 * rtt / 0.53)
        t += f"; HyStart may end at half of it, then {fill:.1f} s to fill of {seconds:.0f} s"
        if fill > 0.7 * seconds: return ["cwnd/hystart_exit"], t
        if fill > 0.3 * seconds: return ["path/full", "cwnd/hystart_exit"], t
    return ["path/full"], t

NGINX = ("echo 'user root; worker_processes 1; pid nginx.pid; daemon off; error_log stderr crit; events {} http { access_log off; client_body_temp_path .; "
         "proxy_temp_path .; fastcgi_temp_path .; uwsgi_temp_path .; scgi_temp_path .; keepalive_requests 100000; "
         "server { listen 8000; root .; LIMIT } }' >nginx.conf; head -c SIZE /dev/urandom >file")
MARIA = ("exec /usr/sbin/mariadbd --no-defaults --user=root --datadir=$PWD/data --socket=$PWD/socket --port=8000 '--bind-address=*' --skip-grant-tables "
         "--skip-networking=0 --innodb-log-file-size=4M 2>/dev/null")
SQL = "mariadb --no-defaults -A -N -D mysql -h {server} -P 8000"
REDIS = "exec redis-server --port 8000 --protected-mode no --save '' --dir $PWD >/dev/null"
REST = "exec /usr/bin/python3 srv.py"
SSHD = "exec /usr/sbin/sshd -D -e -f $PWD/sshd/server 2>/dev/null"
SMBD = "exec /usr/sbin/smbd -F --no-process-group -s smb.conf -l $PWD/smb >/dev/null 2>&1"
SMB = "smbclient -N -I {server} -p 8000 //server/files"

def case(family, p, server, client, direction, answer, why, prepare="", base="", far=None):
    out.append(dict(name=f"{len(out) + 1:02d}-{family}", path=args(p), base=base, prepare=prepare, server=server, client=client, direction=direction,
                    answer=answer, arithmetic=why, **({"answer_near_receiver": far} if far else {})))

def count(per_turn, lo=4, hi=7):
    return max(12, int(R.uniform(lo, hi) / per_turn))

# 1 MariaDB: many small queries, some with think time in the server
for _ in range(3):
    p = path(); S = R.choice([20, 200, 1000, 5000]); think = R.choice([0, 0, 0.02, 0.06, 0.15])
    N = min(3000, count(p["rtt"] / 1e3 + think + S / eff(p["rate"])))
    h = conversation(p, N, S + 80, think=think, setup=4)
    a, w, _t = pick(h)
    q = f"select sleep({think}), repeat(\"x\", {S});" if think else f"select repeat(\"x\", {S});"
    case("mariadb-queries", p, MARIA, f"for i in $(seq {N}); do echo '{q}'; done | {SQL} >rows", "down", a,
         f"{N} queries, {S} B each, think {think * 1e3:.0f} ms: {w}", base="mariadb")
# 2 MariaDB: a cursor (HANDLER) that fetches batches
for _ in range(2):
    p = path(); rows = R.choice([20, 100, 400]); S = rows * 212
    N = min(count(p["rtt"] / 1e3 + S / eff(p["rate"])), 20000 * 4 // rows)
    h = conversation(p, N, S, setup=5); a, w, _t = pick(h)
    case("mariadb-cursor", p, MARIA, f"{{ echo 'handler t open;'; for i in $(seq {N}); do echo 'handler t read next limit {rows};'; done; }} | {SQL} >rows",
         "down", a, f"{N} fetches of {rows} rows of 212 B: {w}", base="mariadb")
# 3 MariaDB: one large result
p = path(chance=0); sec = R.uniform(5, 8); rows = int(eff(p["rate"]) * sec / 1010)
a, w = bulk(p, sec)
case("mariadb-large", p, MARIA, f"{SQL} -q -e 'select seq, repeat(\"x\", 1000) from seq_1_to_{rows}' >rows", "down", a, f"{rows} rows of 1010 B in one answer: {w}", base="mariadb")
# 4 MariaDB: a client that streams and reads slowly
p = path(rates=[20, 30, 50], chance=0); share = R.choice([0.1, 0.2, 0.4]); L = int(eff(p["rate"]) * share); rows = int(L * R.uniform(5, 7) / 1010)
win = 64 * 1024 / (p["rtt"] / 1e3)
case("mariadb-slow-reader", p, MARIA, f"{SQL} -q -e 'select seq, repeat(\"x\", 1000) from seq_1_to_{rows}' | /usr/bin/python3 slowcat.py {L}", "down", ["receiver"],
     f"reads {L * 8 / 1e6:.1f} Mbit/s of {p['rate']}; the first window alone allows {win * 8 / 1e6:.0f} Mbit/s", base="mariadb")
# 5 redis-benchmark, one connection
p = path(); P = R.choice([1, 8, 32]); D = R.choice([100, 800, 3000]); S = P * (D + 45)
N = min(count(p["rtt"] / 1e3 + S / eff(p["rate"])), 4000)
h = conversation(p, N, S, up=True); a, w, _t = pick(h)
case("redis-set", p, REDIS, f"redis-benchmark -h {{server}} -p 8000 -c 1 -P {P} -d {D} -n {N * P} -t set -q", "up", a, f"{N} batches of {P} SETs of {D} B, {S} B each: {w}")
p = path(); D = R.choice([10, 100, 1000]); S = 100 * (D + 3 + len(str(D)))
N = min(count(p["rtt"] / 1e3 + S / eff(p["rate"]), 2.5, 5), 3000)
h = conversation(p, N, S); a, w, _t = pick(h)
case("redis-lrange", p, REDIS, f"redis-benchmark -h {{server}} -p 8000 -c 1 -d {D} -n {N} -t lrange_100 -q", "down", a, f"{N} LRANGEs of 100 elements, {S} B each: {w}")
# 6 redis-cli with an interval
for _ in range(2):
    p = path(); V = R.choice([50, 2000, 30000]); I = R.choice([0.05, 0.1, 0.25, 0.5])
    N = count(p["rtt"] / 1e3 + I)
    h = conversation(p, N, V, sleep=I); a, w, _t = pick(h)
    case("redis-paced", p, REDIS, f"head -c {V} /dev/zero | tr '\\0' x | redis-cli -h {{server}} -p 8000 -x set key; redis-cli -h {{server}} -p 8000 -r {N} -i {I} get key >got", "down", a,
         f"{N} GETs of {V} B, {I * 1e3:.0f} ms of sleep after each: {w}")
# 7 smbclient: many small files, one large
p = path(); S = R.choice([500, 5000, 20000]); N = min(60, count(5 * p["rtt"] / 1e3 + S / eff(p["rate"])))
h = conversation(p, N, S, per=4, setup=9); a, w, _t = pick(h)
case("smb-mget", p, SMBD, f"mkdir got; {SMB} -c 'lcd got; prompt off; mget *' 2>/dev/null", "down", a, f"{N} files of {S} B, at least four requests each (create, read, query, close), nine to set up: {w}",
     prepare=f"for i in $(seq {N}); do head -c {S} /dev/urandom >files/f$i; done", base="smb")
p = path(chance=0.3); sec = R.uniform(4, 7); S = int(eff(p["rate"]) * sec); a, w = bulk(p, sec)
case("smb-put", p, SMBD, f"{SMB} -c 'put file copy' 2>/dev/null", "up", a, f"one file of {S / 1e6:.1f} MB, writes of up to 8 MB: {w}; setup 10 turns = {10 * p['rtt'] / 1e3:.2f} s",
     prepare=f"head -c {S} /dev/urandom >file", base="smb")
# 8 ssh typing
for _ in range(2):
    p = path(rtts=[5, 10, 20, 30, 50, 80, 120]); I = R.choice([0.1, 0.2, 0.35]); O = R.choice([200, 600]); N = int(R.uniform(6, 9) / I)
    h = dict.fromkeys(["app/request", "app/turns"], 0.0)
    h["app/turns"] = N * p["rtt"] / 1e3 + 10 * p["rtt"] / 1e3; h["app/request"] = N * (I - p["rtt"] / 1e3); h["app/response"] = 0.4
    a, w, _t = pick(h)
    case("ssh-typing", p, SSHD, f"for i in $(seq {N}); do echo $i; sleep {I}; done | ssh -F sshd/client root@{{server}} \"sed -u 's/^/$(printf %0{O}d 0)/'\" >got", "down", a,
         f"{N} lines, one each {I * 1e3:.0f} ms, {O} B of echo each: {w}", base="ssh")
# 9 sftp with few requests, scp
for _ in range(3):
    p = path(rtts=[10, 20, 30, 50, 80, 120, 200], rates=[10, 20, 30, 50], chance=0); q = R.choice([1, 1, 3, 7, 15]); B = R.choice([8192, 16384, 32768])
    W = (q + 1) * B; byw = W / (p["rtt"] / 1e3 + B / eff(p["rate"])); sec = R.uniform(4, 7); S = int(min(byw, eff(p["rate"])) * sec)
    share = byw / eff(p["rate"])
    if share < 0.85: a = ["app/window", "app/turns"] if q == 1 else ["app/window"]
    elif share > 1.15: a, _w = bulk(p, sec)
    else: a = ["app/window", "path/full"]
    case("sftp-get", p, SSHD, f"sftp -q -F sshd/client -R {q} -B {B} root@{{server}}:$PWD/file copy", "down", a,
         f"{q + 1} requests of {B} B outstanding = {W} B each {p['rtt']} ms: {byw * 8 / 1e6:.1f} of {eff(p['rate']) * 8 / 1e6:.1f} Mbit/s ({100 * share:.0f} %); setup 10 turns {10 * p['rtt'] / 1e3:.1f} s of {sec + 10 * p['rtt'] / 1e3:.1f} s",
         prepare=f"head -c {S} /dev/urandom >file", base="ssh")
p = path(chance=0.4); sec = R.uniform(5, 8); S = int(eff(p["rate"]) * sec); a, w = bulk(p, sec)
case("scp-put", p, SSHD, "scp -O -q -F sshd/client file root@{server}:$PWD/copy", "up", a, f"{S / 1e6:.1f} MB: {w}; setup 10 turns {10 * p['rtt'] / 1e3:.1f} s; ssh's window 2 MiB allows {2097152 * 8 / 1e3 / p['rtt']:.0f} Mbit/s",
     prepare=f"head -c {S} /dev/urandom >file", base="ssh")
# 10 nginx and curl: many files on one connection
for _ in range(3):
    p = path(chance=0); S = R.choice([300, 3000, 15000, 60000, 200000]); N = count(p["rtt"] / 1e3 + S / eff(p["rate"]), 4, 7)
    N = min(N, 2500); h = conversation(p, N, S + 250); a, w, _t = pick(h)
    case("http-many", p, "exec /usr/sbin/nginx -p $PWD -c nginx.conf 2>/dev/null", f"curl -s -o got 'http://{{server}}:8000/file?[1-{N}]'", "down", a, f"{N} files of {S} B on one connection: {w}",
         prepare=NGINX.replace("SIZE", str(S)).replace("LIMIT", ""))
# 11 a REST client with pauses, think time, or both
for _ in range(3):
    p = path(chance=0); S = R.choice([400, 8000, 100000, 400000]); think = R.choice([0, 0.01, 0.05, 0.12]); sleep = R.choice([0, 0.03, 0.1, 0.3, 0.7])
    N = count(p["rtt"] / 1e3 + think + sleep + S / eff(p["rate"]), 5, 9); h = conversation(p, N, S, think, sleep); a, w, _t = pick(h)
    case("rest-get", p, REST, f"/usr/bin/python3 cli.py {N} {sleep * 1e3:.0f} /get/{S}/{think * 1e3:.0f}", "down", a, f"{N} answers of {S} B, think {think * 1e3:.0f} ms, sleep {sleep * 1e3:.0f} ms: {w}", base="rest")
# a REST client that uploads
p = path(); S = R.choice([3000, 50000, 200000]); think = R.choice([0, 0.05]); sleep = R.choice([0, 0.05, 0.3])
if S > 15000: p["loss"] = 0
N = count(p["rtt"] / 1e3 + think + sleep + S / eff(p["rate"]), 5, 9); h = conversation(p, N, S, think, sleep, up=True); a, w, _t = pick(h)
case("rest-post", p, REST, f"/usr/bin/python3 cli.py {N} {sleep * 1e3:.0f} /post/100/{think * 1e3:.0f} {S}", "up", a, f"{N} POSTs of {S} B, think {think * 1e3:.0f} ms (for the upload a request's wait), sleep {sleep * 1e3:.0f} ms (a response's): {w}", base="rest")
# 12 one file by HTTP: short or long
p = path(rtts=[50, 80, 120, 200], rates=[20, 30, 50], cc="cubic", chance=0); S = R.choice([150000, 300000, 600000])
h = conversation(p, 1, S); a, w, _t = pick(h)
case("http-one", p, "exec /usr/sbin/nginx -p $PWD -c nginx.conf 2>/dev/null", "curl -s -o got http://{server}:8000/file", "down", a, f"one file of {S} B: {w}", prepare=NGINX.replace("SIZE", str(S)).replace("LIMIT", ""))
# 13 rsync: many files, one file
for many in (True, True, False):
    p = path(chance=0.3, rates=RATES[:5] if many else RATES); sec = R.uniform(5, 8); F = R.choice([2000, 6000]); N = int(eff(p["rate"]) * sec / F) if many else 1
    S = N * F if many else int(eff(p["rate"]) * sec); a, w = bulk(p, sec)
    up = R.random() < 0.5
    case("rsync-many" if many else "rsync-one", p, "exec rsync --daemon --no-detach --config rsyncd.conf",
         ("rsync -aW files/ rsync://{server}:8000/got/" if up else "mkdir copy; rsync -aW rsync://{server}:8000/files/ copy/"), "up" if up else "down", a, f"{N} files, {S / 1e6:.1f} MB without a wait between files: {w}; setup about 6 turns {6 * p['rtt'] / 1e3:.2f} s",
         prepare=(f"/usr/bin/python3 many.py {N} {F}" if many else f"head -c {S} /dev/urandom >files/file"), base="rsync")
# 14 nghttp with a window of its own
for _ in range(2):
    p = path(rtts=[10, 20, 30, 50, 80, 120], rates=[10, 20, 30, 50], chance=0); b = R.choice([13, 14, 15, 16, 17]); W = 2 ** b - 1; byw = W / (p["rtt"] / 1e3); share = byw / eff(p["rate"]); sec = R.uniform(5, 7)
    S = int(min(byw, eff(p["rate"])) * sec)
    if share < 0.85: a = ["app/window", "app/turns"]
    elif share > 1.4: a, _w = bulk(p, sec)
    else: a = ["app/window", "path/full"]
    case("nghttp", p, "exec nghttpd --no-tls -d $PWD 8000", f"nghttp -n -w {b} -W {b} http://{{server}}:8000/file", "down", a, f"{W} B each {p['rtt']} ms = {byw * 8 / 1e6:.1f} of {eff(p['rate']) * 8 / 1e6:.1f} Mbit/s ({100 * share:.0f} %)", prepare=f"head -c {S} /dev/urandom >file")
# 15 a server that writes headers and body apart, with Nagle's algorithm
p = path(rtts=[2, 5, 10, 20, 30], chance=0, rates=[10, 20, 50]); S = R.choice([100, 400, 900]); N = count(2 * p["rtt"] / 1e3 + 0.04)
case("rest-two-writes", p, REST, f"/usr/bin/python3 cli.py {N} 0 /two/{S}/0", "down", ["app/nagle"], f"{N} answers in two writes: the second, {S} B, waits for the ACK of the first, {p['rtt']} ms + up to 40 ms, beside {p['rtt']} ms of turn", base="rest")
# 16 push: a server that writes at a steady rate
for _ in range(2):
    p = path(); I = R.choice([0.02, 0.1, 0.3, 0.8]); S = min(R.choice([200, 3000, 12000, 40000]), int(eff(p["rate"]) * I * 0.5)); N = int(R.uniform(6, 9) / I)
    rounds = transfer(S, 10, p["rtt"] / 1e3, p["rate"])[0] if I > p["rtt"] / 1e3 + 0.2 and p["cc"] != "bbr" else 0
    a = ["app/rate"] if rounds < 0.35 * I else (["app/rate", "cwnd/idle_restart"] if rounds < 0.6 * I else ["cwnd/idle_restart"])
    case("push", p, REST, f"/usr/bin/python3 cli.py 1 0 /push/{S}/{I * 1e3:.0f}/{N}", "down", a, f"{S} B each {I * 1e3:.0f} ms = {S * 8 / I / 1e6:.2f} of {p['rate']} Mbit/s, unasked; {rounds * 1e3:.0f} ms of slow start in each", base="rest")
# 17 slow readers, and a server with a rate of its own
p = path(rates=[10, 20, 50], chance=0); L = int(eff(p["rate"]) * R.choice([0.1, 0.25, 0.5])); S = int(L * R.uniform(6, 9))
case("curl-limit-rate", p, "exec /usr/sbin/nginx -p $PWD -c nginx.conf 2>/dev/null", f"curl -s -o got --limit-rate {L} http://{{server}}:8000/file", "down", ["receiver"], f"curl reads {L * 8 / 1e6:.1f} of {p['rate']} Mbit/s for {S / L:.1f} s", prepare=NGINX.replace("SIZE", str(S)).replace("LIMIT", ""))
# 18 bulk: over loss, over a small queue
for _ in range(2):
    p = path(loss=True, rtts=[10, 20, 30, 50, 80, 120], rates=[20, 30, 50]); up = R.random() < 0.5; a, w = bulk(p, 8)
    case("iperf3-loss", p, "exec iperf3 -s -p 8000 >/dev/null", f"iperf3 -c {{server}} -p 8000 -t 8 {'' if up else '-R'} >out", "up" if up else "down", a, w)
for _ in range(2):
    p = path(rtts=[20, 30, 50, 80], rates=[20, 30, 50], cc=R.choice(["cubic", "reno"]), chance=0); p["queue"] = R.choice(["5p", "8p", "15p"]); up = R.random() < 0.5; a, w = bulk(p, 8)
    case("iperf3-small-queue", p, "exec iperf3 -s -p 8000 >/dev/null", f"iperf3 -c {{server}} -p 8000 -t 8 {'' if up else '-R'} >out", "up" if up else "down", a, w)

if __name__ == "__main__":
    import json
    print("# 40 conversations with real programs, drawn at random (seed %d), with the answers by arithmetic before the first run.\n"
          "# `answer`: limited_by/cause of the flow with most bytes; a second one where the definitions allow both. `direction`: of its payload, \"down\" is from\n"
          "# the server (far.pcapng is near the sender), \"up\" from the command (near.pcapng is). `base` and `prepare` make the folder (prepare.sh).\n" % SEED)
    for c in out:
        print("[[case]]")
        for k, v in c.items():
            if v != "": print(f"{k} = {json.dumps(v)}")
        print()

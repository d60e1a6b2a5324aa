#!/usr/bin/env python3
"""Draws 40 causes and writes the answers by arithmetic: gen2.py >causes.toml"""
import json, math, random
SEED = 20261127
R = random.Random(SEED)
MSS = 1448
out = []

def eff(rate): return rate * 1e6 / 8 * MSS / 1514
def path(rtts, rates, cc=None, queue=None, loss=0):
    return dict(rtt=R.choice(rtts), rate=R.choice(rates), cc=cc or R.choice(["bbr", "reno"]), queue=queue or R.choice(["1bdp", "2bdp"]), loss=loss)
def args(p, *more):
    a = ["--rtt", f"{p['rtt']}ms"] + (["--rate", f"{p['rate']}mbit", "--reverse-rate", f"{p['rate']}mbit", "--queue", p["queue"]] if p["rate"] else [])
    return a + ["--set", f"host.congestion_control={p['cc']}"] + (["--loss", f"{p['loss']}%"] if p["loss"] else []) + list(more)
def bdp(p): return eff(p["rate"]) * p["rtt"] / 1e3
def law(p, loss): return 1.22 / math.sqrt(loss / 100) * MSS
def mbit(x): return f"{x * 8 / 1e6:.1f} Mbit/s"

def case(family, p, server, client, direction, answer, why, prepare="", base="", more=(), far=None, sockets=None):
    out.append(dict(name=f"{len(out) + 1:02d}-{family}", path=args(p, *more), base=base, prepare=prepare, server=server, client=client, direction=direction, answer=answer,
                    arithmetic=why, **({"answer_near_receiver": far} if far else {}), **({"answer_sockets": sockets} if sockets else {})))

def nginx(size, listen="", more=""):
    return ("echo 'user root; worker_processes 1; pid nginx.pid; daemon off; error_log stderr crit; events {} http { access_log off; client_body_temp_path .; "
            "proxy_temp_path .; fastcgi_temp_path .; uwsgi_temp_path .; scgi_temp_path .; keepalive_requests 100000; "
            f"server {{ listen 8000{listen}; root .; {more} }} }}' >nginx.conf; " + (f"head -c {size} /dev/urandom >file" if size else "true"))
NG = "exec /usr/sbin/nginx -p $PWD -c nginx.conf 2>/dev/null"
CURL = "curl -s -o got http://{server}:8000/file"
SINK = "exec socat -u TCP-LISTEN:8000,fork OPEN:got,creat"
REST = "exec /usr/bin/python3 srv.py"
SSHD = "exec /usr/sbin/sshd -D -e -f $PWD/sshd/server 2>/dev/null"
IPERF = "exec iperf3 -s -p 8000 >/dev/null"
REDIS = "exec redis-server --port 8000 --protected-mode no --save '' --dir $PWD >/dev/null"
MARIA = ("exec /usr/sbin/mariadbd --no-defaults --user=root --datadir=$PWD/data --socket=$PWD/socket --port=8000 '--bind-address=*' --skip-grant-tables "
         "--skip-networking=0 --innodb-log-file-size=4M 2>/dev/null")
def iperf(up, more="", t=8): return f"iperf3 -c {{server}} -p 8000 -t {t} {'' if up else '-R '}{more}>out"

# sndbuf/program: SO_SNDBUF of nginx and socat; the kernel doubles it and counts its own overhead: between half of it and all
for where in ("nginx", "nginx", "socat"):
    S = R.choice([16, 32, 64]) * 1024; p = path([50, 80, 120], [30, 50])
    most = 2 * S / (p["rtt"] / 1e3); size = int(0.8 * most * R.uniform(4, 6))
    why = f"SO_SNDBUF {S} B, at most {2 * S} B outstanding each {p['rtt']} ms = {mbit(most)} of {p['rate']}; packets alone cannot tell a send buffer from a window of the application"
    both = ["sndbuf/program", "app/window"]
    if where == "nginx": case("sndbuf-nginx", p, NG, CURL, "down", both, why, nginx(size, f" sndbuf={S}"), sockets=["sndbuf/program"])
    else: case("sndbuf-socat", p, SINK, f"socat -u FILE:file TCP:{{server}}:8000,sndbuf={S}", "up", both, why, f"head -c {size} /dev/urandom >file", sockets=["sndbuf/program"])
# rwnd/program: SO_RCVBUF of socat at either end
for up in (True, False, True):
    S = R.choice([16, 32, 64]) * 1024; p = path([50, 80, 120], [30, 50]); most = 2 * S / (p["rtt"] / 1e3); size = int(0.6 * most * R.uniform(4, 6))
    why = f"SO_RCVBUF {S} B, a window of at most {2 * S} B each {p['rtt']} ms = {mbit(most)} of {p['rate']}"
    if up: case("rcvbuf-server", p, f"exec socat -u TCP-LISTEN:8000,fork,rcvbuf={S} OPEN:got,creat", "socat -u FILE:file TCP:{server}:8000", "up", ["rwnd/program"], why, f"head -c {size} /dev/urandom >file")
    else: case("rcvbuf-client", p, "exec socat -u OPEN:file TCP-LISTEN:8000", f"socat -u TCP:{{server}}:8000,rcvbuf={S} OPEN:got,creat", "down", ["rwnd/program"], why, f"head -c {size} /dev/urandom >file")
# rwnd/unscaled: one end has no window scaling
for _ in range(2):
    p = path([50, 80, 120, 200], [30, 50]); most = 65535 / (p["rtt"] / 1e3); size = int(most * R.uniform(5, 7))
    case("unscaled", p, "echo 0 >/proc/sys/net/ipv4/tcp_window_scaling; " + NG, CURL, "down", ["rwnd/unscaled"], f"65,535 B each {p['rtt']} ms = {mbit(most)} of {p['rate']}", nginx(size))
# rwnd/maximum: tcp_rmem[2]
for _ in range(2):
    M = R.choice([96, 192]) * 1024; p = path([80, 120, 200], [50], queue="1bdp"); most = M / (p["rtt"] / 1e3); size = int(0.8 * most * R.uniform(6, 8))
    case("rmem-maximum", p, NG, CURL, "down", ["rwnd/maximum"], f"tcp_rmem[2] {M} B each {p['rtt']} ms = at most {mbit(most)} of {p['rate']}", nginx(size), more=["--set", f"host.tcp_rmem=4096 {64 * 1024} {M}"])
# cwnd/idle_restart: pauses longer than the RTO between large answers. Linux halves the window once for each RTO (tcp_cwnd_restart), so the pause itself is always
# longer than the slow start after it: it is the answer of the active time
for push in (False, True, False):
    p = path([120, 150, 200], [50], cc="reno", queue="1bdp"); S = R.choice([500000, 800000]); rtt = p["rtt"] / 1e3; rto = rtt + 0.2
    rounds = math.ceil(math.log2(S / (10 * MSS) + 1)) - 1; pause = rto * R.uniform(5.1, 6)
    n = max(4, int(11 / (rounds * rtt + pause)))
    why = f"{n} times {S} B; {pause:.2f} s of pause are {pause / rto:.1f} RTO, the window of {10 * 2 ** rounds} segments falls to 10: then {rounds} further rounds = {rounds * rtt:.2f} s of slow start, beside {0 if push else rtt:.2f} s of turn"
    if push: case("idle-push", p, REST, f"/usr/bin/python3 cli.py 1 0 /push/{S}/{(rounds * rtt + pause) * 1e3:.0f}/{n}", "down", ["cwnd/idle_restart"], why, base="rest")
    else: case("idle-get", p, REST, f"/usr/bin/python3 cli.py {n} {pause * 1e3:.0f} /get/{S}/0", "down", ["cwnd/idle_restart"], why, base="rest")
    out[-1]["active"] = True
# cwnd/ecn
for _ in range(2):
    m = R.choice([0.5, 1, 2]); p = path([30, 50, 80], [50], cc="reno"); up = R.random() < 0.5; w = law(p, m)
    case("ecn", p, IPERF, iperf(up), "up" if up else "down", ["cwnd/ecn"], f"{m} % of marks: {w / 1e3:.0f} kB each {p['rtt']} ms = {mbit(w / p['rtt'] * 1e3)} of {p['rate']}, no losses", more=["--mark", f"{m}%"])
# cwnd/timeout: one small request outstanding, and it or its answer is lost
for _ in range(2):
    l = R.choice([4, 6, 8]); p = path([2, 5, 10], [20], loss=l); rtt = p["rtt"] / 1e3; per = rtt + 2 * l / 100 * (rtt + 0.21); n = int(7 / per)
    case("timeout", p, REDIS, f"redis-benchmark -h {{server}} -p 8000 -c 1 -d 200 -n {n} -t set -q", "up", ["cwnd/timeout"],
         f"{n} SETs: {p['rtt']} ms of turn each, and {2 * l} % of them wait {rtt * 1e3 + 205:.0f} ms for the timer: {n * rtt:.1f} s beside {n * (per - rtt):.1f} s")
# cwnd/random_loss
for tool in ("curl", "iperf3"):
    l = R.choice([0.3, 1, 2]); p = path([30, 50, 80], [30, 50], cc="reno", loss=l); w = law(p, l); size = int(w / p["rtt"] * 1e3 * 7)
    why = f"{l} % lost: {w / 1e3:.0f} kB each {p['rtt']} ms = {mbit(w / p['rtt'] * 1e3)} of {p['rate']}"
    if tool == "curl": case("loss-curl", p, NG, CURL, "down", ["cwnd/random_loss"], why, nginx(size))
    else: case("loss-iperf3", p, IPERF, iperf(True), "up", ["cwnd/random_loss"], why)
# cwnd/queue_loss
for _ in range(2):
    p = path([30, 50, 80], [20, 30], cc="reno", queue=R.choice(["4p", "6p", "10p"])); up = R.random() < 0.5; q = int(p["queue"][:-1])
    case("queue-loss", p, IPERF, iperf(up), "up" if up else "down", ["cwnd/queue_loss", "cwnd/growth"], f"BDP {bdp(p) / MSS:.0f} segments, queue {q}: after a drop {50 * (1 + q * MSS / bdp(p)):.0f} % of the BDP, then one segment a round trip")
# path/full
p = path([20, 30, 50], [10, 20], cc="bbr", queue="2bdp"); size = int(eff(p["rate"]) * R.uniform(5, 7))
case("full-scp", p, SSHD, "scp -O -q -F sshd/client root@{server}:$PWD/file copy", "down", ["path/full"], f"BBR, a queue of 2 BDP: {size / 1e6:.1f} MB at {mbit(eff(p['rate']))}; setup 10 turns {p['rtt'] / 100:.1f} s and ssh's own second", f"head -c {size} /dev/urandom >file", base="ssh")
p = path([20, 30, 50], [10, 20], cc="reno", queue="2bdp"); size = int(eff(p["rate"]) * R.uniform(5, 7))
case("full-icmp", p, NG, CURL, "down", ["path/full"], f"Reno, a queue of 2 BDP: after a drop 150 % of the BDP; the inner link's ICMP is heard in one round trip", nginx(size), more=["--inner-mtu", "1400"])
# path/mtu: small answers pass, large ones never
for t in ("rest", "maria"):
    p = path([20, 30, 50, 80], [20, 50])
    if t == "rest": case("mtu-rest", p, REST, "timeout 8 /usr/bin/python3 cli2.py", "down", ["path/mtu"], "eight answers of 700 B arrive, a turn each, 60 kB in segments of 1500 B never: timers of 0.2 s + rtt, doubled each time, 5 s and more", far=["app/turns"], base="rest")
    else: case("mtu-mariadb", p, MARIA, "{ for i in $(seq 10); do echo 'select repeat(\"x\", 200);'; done; echo 'select repeat(\"x\", 200000);'; } | timeout 8 mariadb --no-defaults -A -N -D mysql -h {server} -P 8000 >rows", "down", ["path/mtu"],
              "ten answers of 200 B arrive, 200 kB in segments of 1500 B never: 7 s of timeouts", far=["app/turns"], base="mariadb")
    out[-1]["path"] += ["--inner-mtu", "1400", "--pmtud", "black-hole"]
# path/silence
for _ in range(2):
    p = path([20, 50, 80], [10, 20], queue="2bdp"); at, hold = R.uniform(1, 2), R.uniform(3.5, 5); size = int(eff(p["rate"]) * R.uniform(2.5, 3)); rto = p["rtt"] / 1e3 * 2 + 0.2
    back, step = rto, rto
    while back < hold: step *= 2; back += step
    rest = size / eff(p["rate"])
    case("silence", p, NG, CURL, "down", ["path/silence"], f"{rest:.1f} s of data; nothing passes for {hold:.1f} s, the next timer after that is at {back:.1f} s: {back:.1f} s of silence", nginx(size), more=["--change", f"{at:.1f}s,for={hold:.1f}s,loss=100%"])
# path/shared
for _ in range(2):
    n = R.choice([2, 3, 4]); p = path([10, 20, 40], [20, 30], cc="bbr", queue="1bdp"); up = R.random() < 0.5
    case("shared", p, IPERF, iperf(up, f"-P {n} "), "up" if up else "down", ["path/shared", "path/full"], f"{n} flows share {p['rate']} Mbit/s, each has about {100 / n:.0f} %; the sum fills the link")
# cwnd/policer
for _ in range(3):
    r, b = R.choice([5, 10, 20]), R.choice([16, 32, 64]); p = dict(rtt=R.choice([20, 30, 50, 80]), rate=0, cc="reno", queue="", loss=0); up = R.random() < 0.5; size = int(eff(r) * 6)
    why = f"a bucket of {b} KiB at {r} Mbit/s, no queue: drops at a constant rate, BDP {eff(r) * p['rtt'] / 1e3 / 1024:.0f} KiB"
    if up: case("policer-iperf3", p, IPERF, iperf(True), "up", ["cwnd/policer"], why, more=["--policer", f"{r}mbit:{b}KiB"])
    else: case("policer-curl", p, NG, CURL, "down", ["cwnd/policer"], why, nginx(size), more=["--policer", f"{r}mbit:{b}KiB"])
# cpu/quota: nginx compresses in a cgroup that has 10 % of a CPU
p = path([5, 10], [50]); size = 6_000_000
case("cpu-quota", p, "mkdir -p /sys/fs/cgroup/cpu/held-out; echo 10000 >/sys/fs/cgroup/cpu/held-out/cpu.cfs_quota_us; echo $$ >/sys/fs/cgroup/cpu/held-out/cgroup.procs; " + NG,
     "curl -s -m 12 -H 'Accept-Encoding: gzip' -o got http://{server}:8000/file.txt", "down", ["app/rate"], "10 ms of CPU each 100 ms: gzip makes some 5 Mbit/s at most of 50; packets show a sender that offers less (in its ledger A spoke last and speaks next), sockets with the process the quota",
     nginx(0, more="gzip on; gzip_comp_level 9; gzip_types text/plain; types { text/plain txt; }") + f"; head -c {size // 2} /dev/urandom | od -An -tx1 >file.txt", sockets=["cpu/quota"])
# app
sleep = R.choice([0.2, 0.4]); S = R.choice([500, 8000]); p = path([10, 20, 40], [20, 50]); n = int(7 / (sleep + p["rtt"] / 1e3))
case("app-request", p, REST, f"/usr/bin/python3 cli.py {n} {sleep * 1e3:.0f} /get/{S}/0", "down", ["app/request"], f"{n} times {sleep * 1e3:.0f} ms of the client's sleep beside {p['rtt']} ms of turn", base="rest")
think = R.choice([0.1, 0.2]); S = R.choice([500, 8000]); p = path([10, 20, 40], [20, 50]); n = int(7 / (think + p["rtt"] / 1e3))
case("app-response", p, REST, f"/usr/bin/python3 cli.py {n} 0 /get/{S}/{think * 1e3:.0f}", "down", ["app/response"], f"{n} times {think * 1e3:.0f} ms of think time beside {p['rtt']} ms of turn", base="rest")
q, B = R.choice([3, 5, 7]), 16384; p = path([80, 120], [50], cc="reno"); W = (q + 1) * B; size = int(W / p["rtt"] * 1e3 * 7)
case("app-window-sftp", p, SSHD, f"sftp -q -F sshd/client -R {q} -B {B} root@{{server}}:$PWD/file copy", "down", ["app/window"], f"{q} or {q + 1} requests of {B} B outstanding, at most {W} B each {p['rtt']} ms = {mbit(W / p['rtt'] * 1e3)} of 50", f"head -c {size} /dev/urandom >file", base="ssh")
b = R.choice([15, 16]); p = path([40, 60], [50], cc="bbr"); W = 2 ** b - 1; size = int(W / p["rtt"] * 1e3 * 6)
case("app-window-nghttp", p, "exec nghttpd --no-tls -d $PWD 8000", f"nghttp -n -w {b} -W {b} http://{{server}}:8000/file", "down", ["app/window", "app/turns"], f"{W} B each {p['rtt']} ms = {mbit(W / p['rtt'] * 1e3)} of 50; sent at once it is a turn for each batch", f"head -c {size} /dev/urandom >file")
p = path([5, 10, 20], [20]); n = int(7 / (2 * p["rtt"] / 1e3 + 0.04)); S = R.choice([200, 800])
case("app-nagle", p, REST, f"/usr/bin/python3 cli.py {n} 0 /two/{S}/0", "down", ["app/nagle"], f"{n} answers in two writes: {p['rtt']} ms + 40 ms of the delayed ACK beside {p['rtt']} ms of turn", base="rest")
L = R.choice([100, 200, 400]); p = path([10, 30, 60], [20, 50]); size = L * 1024 * 7
case("app-rate", p, NG, CURL, "down", ["app/rate"], f"nginx's limit_rate {L} kB/s = {mbit(L * 1024)} of {p['rate']}", nginx(size, more=f"limit_rate {L}k;"))
p = path([20, 40], [20, 50]); L = int(eff(p["rate"]) * R.choice([0.15, 0.3])); size = L * 8
case("receiver", p, "exec socat -u OPEN:file TCP-LISTEN:8000", f"socat -u TCP:{{server}}:8000 - | /usr/bin/python3 slowcat.py {L}", "down", ["receiver"], f"reads {mbit(L)} of {p['rate']}", f"head -c {size} /dev/urandom >file", base="rest")

print("# 40 causes with real programs, drawn at random (seed %d), with the answers by arithmetic before the first run.\n"
      "# As in conversations.toml; `active`: the answer is active_limited_by/active_cause; `answer_near_receiver` where the receiver's packets can only show that, `answer_sockets` where sockets show more than packets.\n" % SEED)
for c in out:
    print("[[case]]")
    for k, v in c.items():
        if v != "": print(f"{k} = {json.dumps(v)}")
    print()

#!/usr/bin/env python3
"""Draws 40 causes and writes the answers by arithmetic: gen.py >causes.toml"""
import json, math, random
SEED = 20261202
R = random.Random(SEED)
MSS = 1448
out = []

def eff(rate): return rate * 1e6 / 8 * MSS / 1514
def path(rtts, rates, cc=None, queue=None, loss=0):
    return dict(rtt=R.choice(rtts), rate=R.choice(rates), cc=cc or R.choice(["bbr", "reno"]), queue=queue or R.choice(["1bdp", "1.5bdp", "2bdp"]), loss=loss)
def args(p, *more):
    a = ["--rtt", f"{p['rtt']}ms"] + (["--rate", f"{p['rate']}mbit", "--reverse-rate", f"{p['rate']}mbit", "--queue", p["queue"]] if p["rate"] else [])
    return a + ["--set", f"host.congestion_control={p['cc']}"] + (["--loss", f"{p['loss']}%"] if p["loss"] else []) + list(more)
def bdp(p): return eff(p["rate"]) * p["rtt"] / 1e3
def law(percent): return 1.22 / math.sqrt(percent / 100) * MSS
def mbit(x): return f"{x * 8 / 1e6:.1f} Mbit/s"
def random_file(size, name="file"): return f"head -c {int(size)} /dev/urandom >{name}"

def case(name, p, server, client, direction, answer, why, prepare="", base="", more=(), far=None, sockets=None, active=False):
    out.append(dict(name=f"{len(out) + 1:02d}-{name}", path=args(p, *more), base=base, prepare=prepare, server=server, client=client, direction=direction, answer=answer,
                    arithmetic=why, **({"answer_near_receiver": far} if far else {}), **({"answer_sockets": sockets} if sockets else {}), **({"active": True} if active else {})))

def nginx(listen="", more=""):
    return ("echo 'user root; worker_processes 1; pid nginx.pid; daemon off; error_log stderr crit; events {} http { access_log off; client_body_temp_path .; client_max_body_size 0; "
            "proxy_temp_path .; fastcgi_temp_path .; uwsgi_temp_path .; scgi_temp_path .; keepalive_requests 100000; "
            f"server {{ listen 8000{listen}; root .; dav_methods PUT; {more} }} }}' >nginx.conf")
NG = "exec /usr/sbin/nginx -p $PWD -c nginx.conf 2>/dev/null"
WGET = "wget -q -t 1 -O got http://{server}:8000/file"
PUT = "curl -s -H Expect: -T file -o answer http://{server}:8000/got"
SINK = "exec socat -u TCP-LISTEN:8000,fork OPEN:got,creat"
SSHD = "exec /usr/sbin/sshd -D -e -f $PWD/sshd/server 2>/dev/null"
SSHUP = "ssh -F sshd/client root@{server} \"cat >$PWD/got\" <file"
IPERF = "exec iperf3 -s -p 8000 >/dev/null"
REDIS = "exec redis-server --port 8000 --protected-mode no --save '' --dir $PWD >/dev/null"
MARIA = ("exec /usr/sbin/mariadbd --no-defaults --user=root --datadir=$PWD/data --socket=$PWD/socket --port=8000 '--bind-address=*' --skip-grant-tables "
         "--skip-networking=0 --innodb-log-file-size=4M 2>/dev/null")
MYSQL = "mariadb --no-defaults -A -N -D mysql -h {server} -P 8000"
SMBD = "exec /usr/sbin/smbd -F --no-process-group -s smb.conf -l $PWD/smb >/dev/null 2>&1"
SMBGET = "smbclient -N -I {server} -p 8000 //server/files -c 'get file got' 2>/dev/null"
RSYNCD = "exec rsync --daemon --no-detach --config rsyncd.conf"
GITD = "exec $(git --exec-path)/git-daemon --reuseaddr --port=8000 --base-path=$PWD --export-all 2>/dev/null"
CLONE = "git clone -q git://{server}:8000/repo copy"
PY = "/usr/bin/python3"
def repo(size): return f"cd repo; git config core.compression 0; {random_file(size)}; git add file; git -c user.name=a -c user.email=a@b commit -q -m file; cd .."
BOTH = "; packets alone cannot tell a send buffer from a window of the application"

# sndbuf/program: the kernel doubles SO_SNDBUF and counts its own overhead; a last write can overfill it: between 0.75 and 1.5 of the doubled value
def sndbuf(S):
    while True:
        p = path([60, 70, 90, 110, 140], [25, 35, 45])
        if 1.5 * 2 * S < 0.6 * bdp(p): break
    return p, 2 * S / p["rtt"] * 1e3, f"SO_SNDBUF {S} B, about {2 * S} B outstanding (at most 1.5 of it) each {p['rtt']} ms = {mbit(2 * S / p['rtt'] * 1e3)} of {p['rate']}, {200 * S / bdp(p):.0f} % of the BDP" + BOTH
S = R.choice([20, 28, 36]) * 1024; p, v, why = sndbuf(S)
case("sndbuf-rsync", p, RSYNCD, f"rsync -W --sockopts=SO_SNDBUF={S} file rsync://{{server}}:8000/got/", "up", ["sndbuf/program", "app/window"], why + "; the daemon's setup is 5 turns", random_file(v * 6), base="rsync", sockets=["sndbuf/program"])
S = R.choice([40, 48, 56]) * 1024; p, v, why = sndbuf(S)
case("sndbuf-python", p, f"exec {PY} pace.py {int(v * 6)} sndbuf {S}", "socat -u TCP:{server}:8000 OPEN:got,creat", "down", ["sndbuf/program", "app/window"], why, base="rest", sockets=["sndbuf/program"])
# sndbuf/maximum: tcp_wmem[2]
def wmem():
    while True:
        M = R.choice([64, 80, 112]) * 1024; p = path([60, 90, 110, 140], [40, 45, 60])
        if 1.3 * M < 0.6 * bdp(p): break
    return p, M / p["rtt"] * 1e3, f"tcp_wmem[2] {M} B (0.8 to 1.3 of it outstanding) each {p['rtt']} ms = {mbit(M / p['rtt'] * 1e3)} of {p['rate']}, {100 * M / bdp(p):.0f} % of the BDP" + BOTH, ["--set", f"host.tcp_wmem=4096 16384 {M}"]
p, v, why, more = wmem()
case("wmem-wget", p, NG, WGET, "down", ["sndbuf/maximum", "app/window"], why, nginx() + "; " + random_file(v * 6), more=more, sockets=["sndbuf/maximum"])
p, v, why, more = wmem()
case("wmem-ssh", p, SSHD, SSHUP, "up", ["sndbuf/maximum", "app/window"], why + f"; ssh's channel has 2 MiB; setup 10 turns {p['rtt'] / 100:.1f} s", random_file(v * 7), base="ssh", more=more, sockets=["sndbuf/maximum"])
# rwnd/program: S to 1.3 S of the doubled buffer is window
def rcvbuf(*sizes):
    while True:
        S = R.choice(sizes) * 1024; p = path([60, 70, 90, 110, 140], [25, 35, 45])
        if 2 * S < 0.6 * bdp(p): break
    return S, p, 1.2 * S / p["rtt"] * 1e3, f"SO_RCVBUF {S} B, a window of {S} to {2 * S} B each {p['rtt']} ms = about {mbit(1.2 * S / p['rtt'] * 1e3)} of {p['rate']}, at most {200 * S / bdp(p):.0f} % of the BDP"
S, p, v, why = rcvbuf(72, 88)
case("rcvbuf-iperf3", p, IPERF, f"iperf3 -c {{server}} -p 8000 -t 7 -R -w {S} >out", "down", ["rwnd/program"], why + "; -w sets SO_SNDBUF too, but of its doubled value nearly all is payload, of the receive buffer some 60 %: the window is less", sockets=["rwnd/program"])
S, p, v, why = rcvbuf(28, 40)
case("rcvbuf-nginx-put", p, NG, PUT, "up", ["rwnd/program"], why, nginx(f" rcvbuf={S}") + "; " + random_file(v * 6))
S, p, v, why = rcvbuf(20, 24)
case("rcvbuf-rsync", p, RSYNCD, f"rsync -W --sockopts=SO_RCVBUF={S} rsync://{{server}}:8000/files/file got/", "down", ["rwnd/program"], why + "; the daemon's setup is 5 turns", random_file(v * 7, "files/file"), base="rsync")
# rwnd/maximum: tcp_rmem[2]
def rmem():
    while True:
        M = R.choice([144, 224, 288]) * 1024; p = path([90, 110, 140, 170], [40, 45, 60])
        if M < 0.6 * bdp(p): break
    return p, 0.6 * M / p["rtt"] * 1e3, f"tcp_rmem[2] {M} B, of which 50 to 100 % are window, each {p['rtt']} ms = at most {mbit(M / p['rtt'] * 1e3)} of {p['rate']}", ["--set", f"host.tcp_rmem=4096 {48 * 1024} {M}"]
p, v, why, more = rmem()
case("rmem-scp", p, SSHD, "scp -q -F sshd/client file root@{server}:$PWD/copy", "up", ["rwnd/maximum"], why + f"; sftp has 2 MiB of requests outstanding; setup 12 turns {p['rtt'] * .012:.1f} s", random_file(v * 8), base="ssh", more=more)
p, v, why, more = rmem()
case("rmem-mariadb", p, MARIA, f"{MYSQL} -q -e 'select seq, repeat(\"m\", 1500) from seq_1_to_{int(v * 7 / 1510)}' >rows", "down", ["rwnd/maximum"], why + "; one answer", base="mariadb", more=more)
# rwnd/unscaled: the client's end, the server's end
p = path([60, 70, 90], [35, 45, 60]); v = 65535 / p["rtt"] * 1e3
case("unscaled-wget", p, NG, "echo 0 >/proc/sys/net/ipv4/tcp_window_scaling; " + WGET, "down", ["rwnd/unscaled"], f"65,535 B each {p['rtt']} ms = {mbit(v)} of {p['rate']}; the client's SYN has no scale", nginx() + "; " + random_file(v * 6))
p = path([45, 110, 140], [45, 60]); v = 65535 / p["rtt"] * 1e3
case("unscaled-iperf3", p, "echo 0 >/proc/sys/net/ipv4/tcp_window_scaling; " + IPERF, "iperf3 -c {server} -p 8000 -t 7 >out", "up", ["rwnd/unscaled"], f"65,535 B each {p['rtt']} ms = {mbit(v)} of {p['rate']}; the server's SYN-ACK has no scale")
# rwnd/autotuning: the sender's route has an initial window of 2,200 segments, so that only the receiver's window grows
p = path([700, 800, 900], [60], cc="reno", queue="1bdp"); size = 3_000_000
case("autotuning-socat", p, SINK, "ip -4 route show | while read r; do ip route change $r initcwnd 2200; done; socat -u -b 65536 FILE:file TCP:{server}:8000", "up", ["rwnd/autotuning"],
     f"cwnd 2,200 segments from the start (ip route … initcwnd), {size} B: the window is 64 KB, and after a first round trip to measure it grows by two segments for each that arrives, so at most threefold each {p['rtt']} ms: 64, 64, 190, 570 kB, the rest: 3 to 5 rounds = {3 * p['rtt'] / 1e3:.1f} to {5 * p['rtt'] / 1e3:.1f} s beside {size / eff(60):.1f} s of the link; no request before it", random_file(size))
# cwnd/idle_restart
def rounds(S): return math.ceil(math.log2(S / (10 * MSS) + 1)) - 1
p = path([75, 85, 95], [60], cc="reno", queue="1.5bdp"); S = R.choice([650000, 750000]); rtt = p["rtt"] / 1e3; r = rounds(S); pause = (rtt + .2) * R.uniform(7.2, 7.8); n = 5
why = f"{n} values of {S} B, before each but the first {pause:.2f} s of pause = {pause / (rtt + .2):.1f} RTO, the window of some 530 segments is halved six times, to 10: {(n - 1) * r} rounds after pauses = {(n - 1) * r * rtt:.1f} s, {r} in the first = {r * rtt:.1f} s, {n} turns = {n * rtt:.1f} s of the active time"
case("idle-redis", p, REDIS, f"head -c {S} /dev/zero | tr '\\0' r | redis-cli -h {{server}} -p 8000 -x set key >out; redis-cli -h {{server}} -p 8000 -r {n} -i {pause:.2f} get key >got", "down", ["cwnd/idle_restart"], why, active=True)
p = path([75, 85, 95], [60], cc="reno", queue="1.5bdp"); S = R.choice([650000, 750000]); rtt = p["rtt"] / 1e3; r = rounds(S); pause = (rtt + .2) * R.uniform(7.2, 7.8)
why = f"{n} answers of {S} B, before each but the first {pause:.2f} s of pause = {pause / (rtt + .2):.1f} RTO, the window of some 530 segments is halved six times, to 10: {(n - 1) * r} rounds after pauses = {(n - 1) * r * rtt:.1f} s, {r} in the first = {r * rtt:.1f} s, {n} turns = {n * rtt:.1f} s of the active time"
case("idle-mariadb", p, MARIA, f"{{ sleep 0.3; for i in 1 2 3 4 5; do echo 'select repeat(\"m\", {S});'; [ $i = 5 ] || sleep {pause + (r + 1) * rtt + .15:.2f}; done; }} | {MYSQL} >rows", "down", ["cwnd/idle_restart"], why, base="mariadb", active=True)
# cwnd/ecn
m = R.choice([0.4, 0.8, 1.5]); p = path([45, 60, 70], [25, 40], cc="reno"); v = law(m) / p["rtt"] * 1e3
case("ecn-git", p, GITD, CLONE, "down", ["cwnd/ecn"], f"{m} % of marks: {law(m) / 1e3:.0f} kB each {p['rtt']} ms = {mbit(v)} of {p['rate']}, no losses; one pack, 4 turns before it", repo(v * 6.5), base="git", more=["--mark", f"{m}%"])
m = R.choice([0.4, 0.8, 1.5]); p = path([45, 60, 70], [25, 40], cc="reno"); v = law(m) / p["rtt"] * 1e3
case("ecn-put", p, NG, PUT, "up", ["cwnd/ecn"], f"{m} % of marks: {law(m) / 1e3:.0f} kB each {p['rtt']} ms = {mbit(v)} of {p['rate']}, no losses", nginx() + "; " + random_file(v * 6.5), more=["--mark", f"{m}%"])
# cwnd/timeout: one segment outstanding, and it or its answer is lost
for tool in ("mariadb", "redis-cli"):
    l = R.choice([5, 6, 7]); p = path([3, 4, 7], [15], loss=l); rtt = p["rtt"] / 1e3; per = rtt + 2 * l / 100 * (rtt + 0.206); n = int(7 / per)
    value = "v=$(printf %0400d 7); "
    why = f"{n} requests of 400 B, one segment each: {p['rtt']} ms of turn each = {n * rtt:.1f} s, and {2 * l} % of them wait {rtt * 2e3 + 200:.0f} ms for the timer = {n * (per - rtt):.1f} s; near the receiver a lost request looks like a client that thinks, half of the waiting"
    if tool == "mariadb": case("timeout-mariadb", p, MARIA, value + f"for i in $(seq {n}); do echo \"do length('$v');\"; done | {MYSQL} >rows", "up", ["cwnd/timeout"], why, base="mariadb", far=["cwnd/timeout", "app/response"])
    else: case("timeout-redis", p, REDIS, value + f"redis-cli -h {{server}} -p 8000 -r {n} set key $v >out", "up", ["cwnd/timeout"], why, far=["cwnd/timeout", "app/response"])
# cwnd/random_loss
for tool in ("smb", "ssh"):
    l = R.choice([0.4, 0.7, 1.4]); p = path([35, 45, 60, 70], [25, 35, 45], cc="reno", loss=l); v = law(l) / p["rtt"] * 1e3
    why = f"{l} % lost: {law(l) / 1e3:.0f} kB each {p['rtt']} ms = {mbit(v)} of {p['rate']}"
    if tool == "smb": case("loss-smb", p, SMBD, SMBGET, "down", ["cwnd/random_loss"], why + "; 10 turns of setup, reads of up to 8 MB", random_file(v * 7, "files/file"), base="smb")
    else: case("loss-ssh", p, SSHD, SSHUP, "up", ["cwnd/random_loss"], why + "; 10 turns of setup", random_file(v * 7), base="ssh")
# cwnd/queue_loss: slow start overflows a few frames of queue far below the BDP; growth by a segment a round trip does not reach it again
for tool in ("rsync", "put"):
    p = path([90, 110, 140], [35, 40], cc="reno", queue=R.choice(["5p", "7p", "9p"])); b = bdp(p) / MSS; v = eff(p["rate"]) * 0.3
    why = f"BDP {b:.0f} segments, queue {p['queue'][:-1]} and a bucket of 21: slow start overflows it, half of at most the BDP is left, then one segment each {p['rtt']} ms, {8 / p['rtt'] * 1e3:.0f} in 8 s"
    if tool == "rsync": case("queue-rsync", p, RSYNCD, "timeout 9 rsync -W rsync://{server}:8000/files/file got/", "down", ["cwnd/queue_loss", "cwnd/growth"], why, random_file(eff(p["rate"]) * 8, "files/file"), base="rsync")
    else: case("queue-put", p, NG, PUT.replace("-s", "-s -m 8"), "up", ["cwnd/queue_loss", "cwnd/growth"], why, nginx() + "; " + random_file(eff(p["rate"]) * 8))
# cwnd/growth: 4 % of loss in the beginning, then none
p = path([60, 70], [45, 60], cc="reno", queue="1bdp"); b = bdp(p) / MSS
case("growth", p, NG, "curl -s -m 9 -o got http://{server}:8000/file", "down", ["cwnd/growth"], f"until 2.3 s 4 % are lost (6 segments by the law), after that nothing: one segment more each {p['rtt']} ms, 6 to {6 + 6.5 / p['rtt'] * 1e3:.0f} of a BDP of {b:.0f} in 6.5 of the 9 s", nginx() + "; " + random_file(eff(p["rate"]) * 4),
     more=["--change", "0.1s,for=2.2s,loss=4%"])
# cwnd/startup
p = path([500, 600], [40, 60], cc="reno", queue="1bdp"); S = R.choice([700000, 800000]); r = rounds(S)
case("startup-wget", p, NG, WGET, "down", ["cwnd/startup"], f"{S} B = {S / MSS:.0f} segments: {r} rounds after the first flight of 10 = {r * p['rtt'] / 1e3:.1f} s, beside a turn of {p['rtt']} ms and {S / eff(p['rate']):.2f} s of the link", nginx() + "; " + random_file(S))
p = path([600, 700], [40, 60], cc="reno", queue="1bdp"); S = R.choice([500000, 1200000]); r = rounds(S)
case("startup-socat", p, SINK, "socat -u -b 65536 FILE:file TCP:{server}:8000", "up", ["cwnd/startup"], f"{S} B = {S / MSS:.0f} segments, unasked: {r} rounds after the first flight of 10 = {r * p['rtt'] / 1e3:.1f} s, beside {S / eff(p['rate']):.2f} s of the link", random_file(S))
# cwnd/policer
for tool in ("wget", "rsync"):
    while True:
        r, b = R.choice([8, 12, 15]), R.choice([24, 40, 48]); p = dict(rtt=R.choice([35, 45, 60, 70]), rate=0, cc="reno", queue="", loss=0)
        if 0.5 < b * 1024 / (eff(r) * p["rtt"] / 1e3) < 0.95: break
    why = f"a bucket of {b} KiB at {r} Mbit/s, no queue: drops at a constant rate, BDP {eff(r) * p['rtt'] / 1e3 / 1024:.0f} KiB; the file or 9 s"
    if tool == "wget": case("policer-wget", p, NG, "timeout 9 " + WGET, "down", ["cwnd/policer"], why, nginx() + "; " + random_file(eff(r) * 7), more=["--policer", f"{r}mbit:{b}KiB"])
    else: case("policer-rsync", p, RSYNCD, "timeout 9 rsync -W file rsync://{server}:8000/got/", "up", ["cwnd/policer"], why, random_file(eff(r) * 7), base="rsync", more=["--policer", f"{r}mbit:{b}KiB"])
# path/full
p = path([25, 35, 45], [12, 15, 18], cc="bbr", queue="2bdp"); size = eff(p["rate"]) * R.uniform(5, 7)
case("full-git", p, GITD, CLONE, "down", ["path/full"], f"BBR, a queue of 2 BDP ({bdp(p) / MSS:.0f} segments each): one pack of {size / 1e6:.1f} MB at {mbit(eff(p['rate']))}, 4 turns before it", repo(size), base="git")
p = path([25, 35, 45], [12, 15, 18], cc="reno", queue="2bdp"); size = eff(p["rate"]) * R.uniform(6, 7)
case("full-ssh", p, SSHD, SSHUP, "up", ["path/full"], f"Reno, a queue of 2 BDP ({bdp(p) / MSS:.0f} segments each): after a drop 150 % of the BDP; setup 10 turns {p['rtt'] / 100:.1f} s and ssh's own part of a second", random_file(size), base="ssh")
# path/mtu
p = path([25, 35, 45, 60], [25, 40], cc="reno"); big = R.choice([40000, 90000])
case("mtu-curl", p, NG, f"curl -s -m 8 -o 'g#1' 'http://{{server}}:8000/small?[1-7]' http://{{server}}:8000/file", "down", ["path/mtu"], f"seven answers of 700 B arrive, a turn each, {big} B in segments of 1500 B never: timers of 0.2 s + rtt, doubled each time, 5 s and more",
     nginx() + "; " + random_file(700, "small") + "; " + random_file(big), more=["--inner-mtu", "1400", "--pmtud", "black-hole"], far=["app/turns"])
p = path([25, 35, 45, 60], [25, 40], cc="bbr"); big = R.choice([40000, 90000])
case("mtu-mariadb-up", p, MARIA, f"{{ for i in $(seq 9); do echo \"do length('$(printf %0600d 1)');\"; done; echo \"do length('$(printf %0{big}d 1)');\"; }} | timeout 8 {MYSQL} >rows", "up", ["path/mtu"],
     f"nine queries of 600 B arrive, a turn each, one of {big} B in segments of 1500 B never: timers of 0.2 s + rtt, doubled each time, 5 s and more", base="mariadb", more=["--inner-mtu", "1400", "--pmtud", "black-hole"], far=["app/turns"])
# path/silence: for a while, for ever
p = path([25, 35, 45], [8, 12, 15], cc="reno", queue="2bdp"); at, hold = R.uniform(1.3, 1.6), R.uniform(4.3, 5); size = eff(p["rate"]) * 2
case("silence-rsync", p, RSYNCD, "rsync -W file rsync://{server}:8000/got/", "up", ["path/silence"], f"2.0 s of data; nothing passes for {hold:.1f} s and until the next timer, which doubles: {hold:.1f} to {2 * hold:.1f} s of silence, at least {100 * hold / (hold + 2.4):.0f} % with 0.4 s of slow start after it",
     random_file(size), base="rsync", more=["--change", f"{at:.1f}s,for={hold:.1f}s,loss=100%"])
p = path([25, 35, 45], [8, 12, 15], cc="bbr", queue="2bdp")
case("silence-ever", p, NG, "timeout 12 " + WGET, "down", ["path/silence"], "1.5 to 2 s of data, from 2.2 s on nothing passes: bytes sent again after 0.3, 0.9, 2, 4 and 8 s extend the span, 4 to 8 s of silence; near the receiver the span ends with the last payload that arrived, BBR had filled the link",
     nginx() + "; " + random_file(eff(p["rate"]) * 12), more=["--change", "2.2s,for=30s,loss=100%"], far=["path/full"], sockets=["path/silence"])
# path/shared
n = R.choice([2, 3]); p = path([25, 35], [18, 25], cc="bbr", queue="1bdp")
case("shared-curl", p, NG, f"for i in $(seq {n}); do curl -s -m 7 -o got$i http://{{server}}:8000/file & done; wait", "down", ["path/shared", "path/full"], f"{n} curl at once for 7 s share {p['rate']} Mbit/s, each about {100 / n:.0f} %; the sum fills the link (BBR)", nginx() + "; " + random_file(eff(p["rate"]) * 8))
# cpu/quota: the rsync daemon compresses in a cgroup that has 8 % of a CPU
p = path([4, 7], [45])
case("cpu-rsync", p, "mkdir -p /sys/fs/cgroup/cpu/held-out-b; echo 8000 >/sys/fs/cgroup/cpu/held-out-b/cpu.cfs_quota_us; echo $$ >/sys/fs/cgroup/cpu/held-out-b/cgroup.procs; " + RSYNCD,
     "timeout 12 rsync -W --zc=zlib --zl=9 rsync://{server}:8000/files/file got/", "down", ["app/rate"], "8 ms of CPU each 100 ms: zlib at level 9 makes 2.7 MB in some 9 s, 2.4 Mbit/s of 45; 92 of 100 ms the daemon is throttled. Packets show a sender that offers less (A spoke last and speaks next), sockets with the process the quota",
     "head -c 2000000 /dev/urandom | od -An -tx1 >files/file", base="rsync", sockets=["cpu/quota"])
# pacing/program: packets show a steady rate, which a program may also have offered
r = R.choice([3, 5, 7]); p = path([25, 45, 70], [25, 40], cc="reno"); v = r * 125000
case("pacing-python", p, f"exec {PY} pace.py {v * 7} pace {v}", "socat -u TCP:{server}:8000 OPEN:got,creat", "down", ["pacing/program", "app/rate"], f"SO_MAX_PACING_RATE {r} Mbit/s of {p['rate']} for 7 s, the program always has more to send", base="rest", sockets=["pacing/program"])
r = R.choice([4, 6, 9]); p = path([25, 45, 70], [25, 40], cc="reno")
case("pacing-iperf3", p, IPERF, f"iperf3 -c {{server}} -p 8000 -t 7 --fq-rate {r}M >out", "up", ["pacing/program", "app/rate"], f"SO_MAX_PACING_RATE {r} Mbit/s of {p['rate']} for 7 s, the program always has more to send", sockets=["pacing/program"])
# controls
L = R.choice([250, 400]); p = path([25, 45], [25, 40])
case("receiver-wget", p, NG, WGET.replace("-q", f"-q --limit-rate={L}k"), "down", ["receiver"], f"wget reads {L} KiB/s = {mbit(L * 1024)} of {p['rate']} for 7 s; the first 100 to 200 kB fill its buffer", nginx() + "; " + random_file(L * 1024 * 7))
p = path([45, 70, 90], [40], cc="bbr"); v = 65535 / p["rtt"] * 1e3
case("window-nghttp-upload", p, "exec nghttpd --no-tls -d $PWD 8000", "nghttp -n -d file -H ':method: PUT' http://{server}:8000/other", "up", ["app/window", "app/turns"], f"nghttpd gives a stream 65,535 B, each {p['rtt']} ms = {mbit(v)} of 40; sent at once it is a turn for each batch", random_file(v * 6) + "; echo >other")
p = path([25, 35], [15, 25]); t = R.choice([0.3, 0.35]); n = int(7 / (t + .05 + p["rtt"] / 1e3))
case("request-blpop", p, REDIS, f"redis-cli -h {{server}} -p 8000 -r {n} blpop queue {t} >out", "up", ["app/request"], f"{n} BLPOPs of 36 B wait {t * 1e3:.0f} to {t * 1e3 + 100:.0f} ms in the server, which answers 5 B: for the larger direction, the client's, nobody asks; beside {p['rtt']} ms of turn")

print("# 40 causes with real programs, drawn at random (seed %d), with the answers by arithmetic before the first run.\n"
      "# `answer`: limited_by/cause of the flow with most bytes; `active`: of active_limited_by/active_cause; `answer_near_receiver` where the receiver's packets can only show that, `answer_sockets` where sockets show more than packets.\n" % SEED)
for c in out:
    print("[[case]]")
    for k, v in c.items():
        if v != "": print(f"{k} = {json.dumps(v)}")
    print()

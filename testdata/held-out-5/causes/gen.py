#!/usr/bin/env python3
"""Draws 40 causes and writes the answers by arithmetic: gen.py >SET.toml"""
import json, math, random
SEED = 31337
R = random.Random(SEED)
MSS = 1448
out = []

def eff(rate): return rate * 1e6 / 8 * MSS / 1514   # payload bytes/s of a link that counts IP + 14
def path(rtts, rates, cc=None, queue=None, loss=0, reverse=None):
    rate = R.choice(rates)
    return dict(rtt=R.choice(rtts), rate=rate, reverse=reverse or rate, cc=cc or R.choice(["bbr", "reno"]), queue=queue or R.choice(["1.2bdp", "1.8bdp", "2.2bdp", "2.5bdp"]), loss=loss)
def args(p, more):
    a = ["--rtt", f"{p['rtt']}ms"] + (["--rate", f"{p['rate']}mbit", "--reverse-rate", f"{p['reverse']}mbit", "--queue", p["queue"]] if p["rate"] else [])
    return a + ["--set", f"host.congestion_control={p['cc']}"] + (["--loss", f"{p['loss']}%"] if p["loss"] else []) + list(more)
def bdp(p): return eff(p["rate"]) * p["rtt"] / 1e3
def law(percent): return 1.22 / math.sqrt(percent / 100) * MSS
def mbit(x): return f"{x * 8 / 1e6:.1f} Mbit/s"
def data(size, name="file"): return f"head -c {int(size)} /dev/urandom >{name}"
def text(size, width, name="file"): return f"head -c {int(size * 3 / 4)} /dev/urandom | base64 -w {width} >{name}"
def hexes(size, name): return f"head -c {int(size) // 3} /dev/urandom | od -An -v -tx1 >{name}"
def rounds(size):
    """Flights after the first one of 10 segments, in slow start that doubles."""
    return math.ceil(math.log2(size / (10 * MSS) + 1)) - 1
def quota(ms, name): return f"mkdir -p /sys/fs/cgroup/cpu/{name}; echo {ms}000 >/sys/fs/cgroup/cpu/{name}/cpu.cfs_quota_us; echo $$ >/sys/fs/cgroup/cpu/{name}/cgroup.procs; "

def case(name, p, server, client, direction, answer, why, prepare="", base="", more=(), far=None, sockets=None, active=False):
    out.append(dict(name=f"{len(out) + 1:02d}-{name}", path=args(p, more), base=base, prepare=prepare, server=server, client=client, direction=direction, answer=answer,
                    arithmetic=why, **({"answer_near_receiver": far} if far else {}), **({"answer_sockets": sockets} if sockets else {}), **({"active": True} if active else {})))

NG = "exec /usr/sbin/nginx -p $PWD -c nginx.conf 2>/dev/null"
BEHIND = "/usr/sbin/nginx -p $PWD -c nginx.conf 2>/dev/null & "          # nginx on its UNIX socket only
NOPORT = "sed -i 's/listen 8000; //' nginx.conf; "
SSHD = "exec /usr/sbin/sshd -D -e -f $PWD/sshd/server 2>/dev/null"
PGBIN = "/usr/lib/postgresql/15/bin/"
PG = (f"setpriv --reuid=postgres --regid=postgres --clear-groups {PGBIN}postgres -D $PWD/pg -p 8000 -c 'listen_addresses={{to}}' -c unix_socket_directories={{dir}} "
      "-c fsync=off -c shared_buffers=16MB -c max_connections=20 -c autovacuum=off -c jit=off 2>/dev/null")
READY = f"until {PGBIN}pg_isready -q -h {{server}} -p 8000; do sleep 0.1; done; "
PSQL = f"{PGBIN}psql -X -q -A -t -h {{server}} -p 8000 -U postgres postgres "
MARIA = ("exec /usr/sbin/mariadbd --no-defaults --user=root --datadir=$PWD/data --socket=$PWD/socket --port=8000 '--bind-address=*' --skip-grant-tables "
         "--skip-networking=0 --innodb-log-file-size=4M 2>/dev/null")
REDIS = "exec redis-server --port 8000 --unixsocket sock --protected-mode no --save '' >/dev/null"
REDISBIG = "(sleep 0.6; redis-cli -s sock -x set big <file) >/dev/null 2>&1 & " + REDIS
RSYNCD = "exec rsync --daemon --no-detach --config rsyncd.conf"
GITD = "exec $(git --exec-path)/git-daemon --reuseaddr --port=8000 --base-path=$PWD --export-all --enable=receive-pack 2>/dev/null"
COMMIT = "; git -C tree add .; git -C tree -c user.name=a -c user.email=a@example.org commit -q -m all"
CLONE = "git clone -q git://{server}:8000/tree copy"
PUSH = "git -C tree push -q git://{server}:8000/copy.git main"
TLSSINK = "exec socat -u -b 65536 OPENSSL-LISTEN:8000,cert=cert.pem,key=key.pem,verify=0,reuseaddr OPEN:got,creat"
TLSTAR = "tar -cf - file | socat -u -b 65536 - OPENSSL:{server}:8000,verify=0"
RAWSFTP = "exec socat -b 65536 TCP-LISTEN:8000,reuseaddr,nodelay EXEC:/usr/lib/openssh/sftp-server"
BOTH = "; packets alone cannot tell a send buffer from a window of the application"

# sndbuf/program: the kernel doubles SO_SNDBUF and counts its own overhead, a last write can overfill it: 0.75 to 1.5 of the doubled value
def sndbuf(*sizes):
    while True:
        S = R.choice(sizes) * 1024; p = path([79, 97, 119, 137], [29, 39, 49])
        if 1.5 * 2 * S < 0.5 * bdp(p): break
    return S, p, 2 * S / p["rtt"] * 1e3, f"SO_SNDBUF {S} B, about {2 * S} B outstanding (at most 1.5 of it) each {p['rtt']} ms = {mbit(2 * S / p['rtt'] * 1e3)} of {p['rate']}, {200 * S / bdp(p):.0f} % of the BDP" + BOTH
S, p, v, why = sndbuf(18, 34, 46)
case("sndbuf-lwp-put", p, NG, f"perl put.pl {{server}} file {S}", "up", ["sndbuf/program", "app/window"], why + "; one PUT by LWP, whose socket options are set before connect()", data(v * 6), base="web", sockets=["sndbuf/program"])
S, p, v, why = sndbuf(24, 30, 44)
case("sndbuf-tls-front", p, BEHIND + f"exec socat -b 65536 OPENSSL-LISTEN:8000,cert=cert.pem,key=key.pem,verify=0,reuseaddr,fork,sndbuf={S} UNIX-CONNECT:web", "curl -s -k --http1.1 -o got https://{server}:8000/file", "down", ["sndbuf/program", "app/window"],
     why + "; nginx on a UNIX socket behind a socat that has TLS and the option; 2 turns before the answer", NOPORT + data(v * 3, "www/file"), base="web tls", sockets=["sndbuf/program"])
# sndbuf/maximum: tcp_wmem[2]
def wmem():
    while True:
        M = R.choice([76, 92, 124, 156]) * 1024; p = path([67, 87, 109, 139], [39, 49, 59])
        if 1.3 * M < 0.5 * bdp(p): break
    return p, M / p["rtt"] * 1e3, f"tcp_wmem[2] {M} B (0.5 to 1.3 of it outstanding) each {p['rtt']} ms = {mbit(M / p['rtt'] * 1e3)} of {p['rate']}, {100 * M / bdp(p):.0f} % of the BDP" + BOTH, ["--set", f"host.tcp_wmem=4096 16384 {M}"]
p, v, why, more = wmem()
case("wmem-git-clone", p, GITD, CLONE, "down", ["sndbuf/maximum", "app/window"], why + "; one pack in pieces of 64 KiB, 4 turns before it", data(v * 3.5, "tree/data") + COMMIT, base="git", more=more, sockets=["sndbuf/maximum"])
p, v, why, more = wmem()
case("wmem-mariadb-import", p, "(until mariadb-admin --no-defaults -S socket ping; do sleep 0.1; done; mariadb --no-defaults -D mysql -S socket -e 'create table records (v varchar(1300)) engine=aria charset=latin1') >/dev/null 2>&1 & " + MARIA,
     "sleep 2.5; mariadb-import --no-defaults --local -h {server} -P 8000 -u root mysql records.txt >out", "up", ["sndbuf/maximum", "app/window"], why + "; LOAD DATA LOCAL, the file in pieces of 16 KiB and more that nobody answers, some 6 turns before it",
     text(v * 3.3, 1200, "records.txt"), base="mariadb", more=more, sockets=["sndbuf/maximum"])
# rwnd/program: S to 2 S of window
def rcvbuf(*sizes):
    while True:
        S = R.choice(sizes) * 1024; p = path([63, 76, 91, 121, 143], [29, 39, 49, 53])
        if 2 * S < 0.5 * bdp(p): break
    return S, p, 1.2 * S / p["rtt"] * 1e3, f"SO_RCVBUF {S} B, a window of {S} to {2 * S} B each {p['rtt']} ms = about {mbit(1.2 * S / p['rtt'] * 1e3)} of {p['rate']}, at most {200 * S / bdp(p):.0f} % of the BDP"
S, p, v, why = rcvbuf(30, 44, 58)
case("rcvbuf-git-inetd", p, f"exec socat -b 65536 TCP-LISTEN:8000,reuseaddr,fork,rcvbuf={S} \"EXEC:git daemon --inetd --base-path=$PWD --export-all --enable=receive-pack\" 2>/dev/null", PUSH, "up", ["rwnd/program"],
     why + "; git daemon --inetd behind a socat that sets it on its listening socket; one pack, 3 turns of setup", data(v * 6, "tree/data") + COMMIT, base="git")
S, p, v, why = rcvbuf(26, 36, 52)
case("rcvbuf-preload-redis", p, REDISBIG, f"sleep 1.6; OPT=1:8:{S} LD_PRELOAD=$PWD/opt.so redis-cli -h {{server}} -p 8000 get big >got", "down", ["rwnd/program"], why + "; a preloaded library sets it on redis-cli's socket before connect(); one GET, 1 turn", data(v * 6.5), base="preload")
# rwnd/maximum: tcp_rmem[2]
while True:
    M = R.choice([152, 200, 248]) * 1024; p = path([83, 97, 113, 131], [41, 49, 61])
    if M < 0.5 * bdp(p): break
case("rmem-lwp-mirror", p, NG, "lwp-mirror http://{server}:8000/file got", "down", ["rwnd/maximum"], f"tcp_rmem[2] {M} B, of which 50 to 100 % are window, each {p['rtt']} ms = at most {mbit(M / p['rtt'] * 1e3)} of {p['rate']}, at most {100 * M / bdp(p):.0f} % of the BDP; one answer after one turn",
     data(M / p["rtt"] * 1e3 * 0.75 * 5, "www/file"), base="web", more=["--set", f"host.tcp_rmem=4096 {60 * 1024} {M}"])
# rwnd/unscaled
p = path([67, 78, 89], [29, 41, 53]); v = 65535 / p["rtt"] * 1e3
case("unscaled-sftp-get", p, SSHD, "echo 0 >/proc/sys/net/ipv4/tcp_window_scaling; sftp -q -F sshd/client root@{server}:$PWD/file copy >out", "down", ["rwnd/unscaled"],
     f"65,535 B each {p['rtt']} ms = {mbit(v)} of {p['rate']}, {100 * 65535 / bdp(p):.0f} % of the BDP; the client's SYN has no scale; sftp asks for up to 64 times 32 KiB at once; setup 14 turns {p['rtt'] * .014:.1f} s", data(v * 6.5), base="ssh")
# rwnd/autotuning: a sender whose window is large from its first flight; a small tcp_rmem[1]
p = path([540, 590, 680], [61, 69], cc="reno", queue="1.2bdp"); S = 2900000
case("autotuning-redis-set", p, REDIS, "ip -4 route show | while read r; do ip route change $r initcwnd 2300; done; redis-cli -h {server} -p 8000 -x set key <file >out", "up", ["rwnd/autotuning"],
     f"the client's cwnd is 2,300 segments from the start (ip route … initcwnd), {S} B in one SET: the window is 64 KB and grows only with what was read in a round trip (65, 80, 228, 683 kB over a plain delay of 590 ms on this kernel, the rest in the fifth flight), at least 4 rounds = {4 * p['rtt'] / 1e3:.1f} s on the window, beside {S / eff(p['rate']):.1f} s of the link; nobody answers before the end", data(S))
p = path([510, 560, 620], [71, 79], cc="reno", queue="1.2bdp"); S = R.choice([1500000, 1700000])
case("autotuning-node-get", p, "ip -4 route show | while read r; do ip route change $r initcwnd 1400; done; cd www; exec /usr/bin/python3 -m http.server 8000 >/dev/null 2>&1", "node get.js {server} /file", "down", ["rwnd/autotuning"],
     f"the server's cwnd is 1,400 segments from the start (ip route … initcwnd), the client's tcp_rmem[1] is 49,152 B: a window of some 24 kB, which grows only with what was read in a round trip; (23, 29, 84, 119, 353 kB over a plain delay on this kernel), {S} B need 4 rounds or more on the window = {4 * p['rtt'] / 1e3:.1f} s, beside one turn of {p['rtt']} ms and at most {S / eff(p['rate']):.2f} s of the link",
     data(S, "www/file"), base="web", more=["--set", "host.tcp_rmem=4096 49152 6291456"])
# cwnd/idle_restart, of the active time (Linux halves the window once for each RTO of idle time)
def idle(sizes, rtts, more=0):
    p = path(rtts, [51, 59], cc="reno", queue="2.2bdp"); S = R.choice(sizes); rtt = p["rtt"] / 1e3; r = rounds(S); top = S / MSS + 10
    halvings = math.ceil(math.log2(top / 10)); pause = (rtt + .2) * (halvings + more + R.uniform(1, 1.4))
    return p, S, rtt, r, pause, f"pauses of {pause:.2f} s = {pause / (rtt + .2):.1f} RTO, the window of some {top:.0f} segments is halved {halvings} times, to 10"
p, S, rtt, r, pause, words = idle([530000, 590000, 610000], [72, 84, 95]); n = 5; every = pause + (r + 1.5) * rtt
case("idle-inetd-cat", p, f"exec systemd-socket-activate -l 8000 --inetd -a sh -c 'for i in $(seq {n}); do cat file; [ $i = {n} ] || sleep {every:.2f}; done' 2>/dev/null", "socat -u TCP:{server}:8000 OPEN:got,creat", "down", ["cwnd/idle_restart"],
     f"{n} times {S} B that nobody asked for, {words}: {(n - 1) * r} rounds after pauses = {(n - 1) * r * rtt:.1f} s, {r} in the first = {r * rtt:.1f} s, the last flight of each at most {n * .3 * rtt:.1f} s", data(S), active=True)
p, S, rtt, r, pause, words = idle([390000, 410000, 450000], [104, 113, 126]); n = 5; every = pause + (r + 1.5) * rtt
case("idle-tcl-push", p, "exec systemd-socket-activate -l 8000 --inetd -a sh -c 'cat >got' 2>/dev/null", f"tclsh push.tcl {{server}} file {n} {every * 1e3:.0f}", "up", ["cwnd/idle_restart"],
     f"{n} times {S} B that nobody answers, {words}: {(n - 1) * r} rounds after pauses = {(n - 1) * r * rtt:.1f} s, {r} in the first = {r * rtt:.1f} s, the last flight of each at most {n * .3 * rtt:.1f} s", data(S), active=True)
# cwnd/ecn
m = R.choice([0.6, 1.0, 1.3]); p = path([41, 53, 57], [29, 39], cc="reno", queue="2.2bdp"); v = law(m) / p["rtt"] * 1e3
case("ecn-psql-copy-in", p, "exec " + PG.format(to="*", dir=""), READY + PSQL + "-c 'create table c (v text)' -c '\\copy c from file'", "up", ["cwnd/ecn"], f"{m} % of marks: {law(m) / 1e3:.0f} kB each {p['rtt']} ms = {mbit(v)} of {p['rate']}, no losses; one COPY in, some 5 turns before it", text(v * 6.5, 900), base="pg", more=["--mark", f"{m}%"])
# cwnd/timeout: one segment outstanding, and it or its answer is lost
def alone(losses, rtts, turns=1):
    l = R.choice(losses); p = path(rtts, [15, 29], loss=l); rtt = p["rtt"] / 1e3; per = rtt + 2 * l / 100 * (rtt + 0.206); n = int(5.5 / per / turns)
    return p, n, f"{p['rtt']} ms of turn each = {n * turns * rtt:.1f} s, and {2 * l:g} % of them wait {rtt * 1e3 + 206:.0f} ms for the timer = {n * turns * (per - rtt):.1f} s; near the receiver a lost request looks like a client that thinks, half of the waiting"
p, n, words = alone([4.4, 5.4], [2, 3])
case("timeout-gawk", p, "exec systemd-socket-activate -l 8000 --inetd -a sed -u 's/.*/done/' 2>/dev/null", f"timeout 15 gawk -f lines.awk -v host={{server}} -v count={n} -v bytes=620; true", "up", ["cwnd/timeout"],
     f"{n} requests of 621 B and an answer of 5 B, one segment each: " + words, far=["cwnd/timeout", "app/response"])
p, n, words = alone([4.6, 5.2], [6])
case("timeout-perl-dbi", p, MARIA, f"timeout 15 perl statements.pl {{server}} {n} 860; true", "up", ["cwnd/timeout"], f"{n} statements of 877 B (`do length(…)`), an answer of 11 B, one segment each: " + words, base="mariadb", far=["cwnd/timeout", "app/response"])
# cwnd/random_loss
l = R.choice([0.5, 0.7, 0.9]); p = path([33, 39, 51], [29, 39], cc="reno", queue="2.2bdp", loss=l); v = law(l) / p["rtt"] * 1e3
case("loss-rsyncd", p, RSYNCD, "rsync -W rsync://{server}:8000/files/file copy", "down", ["cwnd/random_loss"], f"{l} % lost: {law(l) / 1e3:.0f} kB each {p['rtt']} ms = {mbit(v)} of {p['rate']}, {100 * law(l) / bdp(p):.0f} % of the BDP; one file, 5 turns before it", data(v * 6.5, "files/file"), base="rsync")
l = R.choice([x for x in (0.5, 0.7, 0.9) if x != l]); p = path([x for x in (33, 39, 51) if x != p["rtt"]], [29, 39], cc="reno", queue="1.8bdp", loss=l); v = law(l) / p["rtt"] * 1e3
case("loss-tar-tls", p, TLSSINK, TLSTAR, "up", ["cwnd/random_loss"], f"{l} % lost: {law(l) / 1e3:.0f} kB each {p['rtt']} ms = {mbit(v)} of {p['rate']}, {100 * law(l) / bdp(p):.0f} % of the BDP; a tar over TLS that nobody answers, 1 turn of setup", data(v * 6.5), base="tls")
# cwnd/queue_loss: several teeth; one large drop
p = path([37, 41, 46], [29, 31], cc="reno", queue=R.choice(["3p", "4p", "6p"])); q = int(p["queue"][:-1]); b = bdp(p) / MSS; low = (b + q + 6) / 2
case("queue-nghttp", p, "exec nghttpd --no-tls -d $PWD 8000", "timeout 9 nghttp -n -w 25 -W 25 http://{server}:8000/file; true", "down", ["cwnd/queue_loss", "cwnd/growth"],
     f"BDP {b:.0f} segments, queue {q}: Reno falls to {low:.0f} at most, {b - low:.0f} round trips of {p['rtt']} ms = {(b - low) * p['rtt'] / 1e3:.1f} s below the BDP, then some {q + 6} above it (the bucket is emptied first): {100 * (b - low) / (b - low + q + 6):.0f} % of each tooth; one file, windows of 32 MiB, 9 s", data(eff(p["rate"]) * 9))
p = path([99, 107, 122], [39, 49], cc="reno", queue=R.choice(["6p", "10p"])); b = bdp(p) / MSS
case("queue-openssl-up", p, "sleep 30 2>/dev/null | exec openssl s_server -quiet -accept 8000 -cert cert.pem -key key.pem -naccept 1 >got 2>/dev/null", "timeout 8 openssl s_client -quiet -no_ign_eof -nocommands -connect {server}:8000 2>/dev/null <file; true", "up", ["cwnd/queue_loss", "cwnd/growth"],
     f"BDP {b:.0f} segments, queue {p['queue'][:-1]} and a bucket of 21: slow start overflows it below {b / 2 + 30:.0f} segments, half of at most the BDP is left, then one segment each {p['rtt']} ms, {7.5 / p['rtt'] * 1e3:.0f} in 7.5 s; over TLS", data(eff(p["rate"]) * 8), base="tls")
# cwnd/growth: losses at the beginning, then none
p = path([43, 49, 55], [61, 66], cc="reno", queue="2.2bdp"); b = bdp(p) / MSS; t = R.choice([1.9, 2.1]); l = R.choice([4.5, 5.5]); n = (10 - t - .3) / p["rtt"] * 1e3
case("growth-git-clone", p, GITD, f"timeout 10 {CLONE}; true", "down", ["cwnd/growth"], f"{l} % lost until {t + .1:.1f} s leave a window of some {law(l) / MSS:.0f} segments; then no loss, one segment more each {p['rtt']} ms, {n:.0f} in the rest of the 10 s, of a BDP of {b:.0f}: never full, {100 * (10 - t - .3) / 10:.0f} % of the time",
     data((6 + n / 2) * n * MSS * 1.35, "tree/data") + COMMIT, base="git", more=["--change", f"0.1s,for={t}s,loss={l}%"])
# cwnd/startup
p = path([555, 605, 655], [41, 49, 59], cc="reno", queue="2.2bdp"); S = R.choice([960000, 1050000, 1180000]); r = rounds(S)
case("startup-wget-put", p, NG, "wget -q -t 1 --method=PUT --body-file=file http://{server}:8000/got", "up", ["cwnd/startup"], f"{S} B = {S / MSS:.0f} segments: {r} rounds after the first flight of 10 = {r * p['rtt'] / 1e3:.1f} s, no turn before them, {S / eff(p['rate']):.2f} s of the link; tcp_rmem[1] is 2 MiB, so that the receiver's window is never the smaller one", data(S), base="web", more=["--set", "host.tcp_rmem=4096 2097152 6291456"])
# cwnd/policer
while True:
    r, b = R.choice([7, 11, 16]), R.choice([28, 38, 52, 68]); p = dict(rtt=R.choice([42, 52, 62, 74]), rate=0, cc="reno", queue="", loss=0)
    if 0.5 < b * 1024 / (eff(r) * p["rtt"] / 1e3) < 0.85: break
case("policer-sftp-get", p, SSHD, "timeout 11 sftp -q -F sshd/client root@{server}:$PWD/file copy >out; true", "down", ["cwnd/policer"],
     f"a bucket of {b} KiB at {r} Mbit/s, no queue: drops at a constant rate, BDP {eff(r) * p['rtt'] / 1e3 / 1024:.0f} KiB; sftp asks for up to 2 MiB at once; setup 14 turns {p['rtt'] * .014:.1f} s", data(eff(r) * 6), base="ssh", more=["--policer", f"{r}mbit:{b}KiB"])
# path/full: BBR with pip; Reno with SFTP's messages over TCP alone
p = path([23, 29, 38], [11, 14], cc="bbr", queue="2.2bdp"); S = int(eff(p["rate"]) * 6.5)
case("full-pip", p, NG, "/usr/bin/pip3 download -q --no-deps --no-index --no-cache-dir --disable-pip-version-check --trusted-host {server} -f http://{server}:8000/index.html -d got big >out 2>&1", "down", ["path/full"],
     f"BBR, a queue of 2.2 BDP ({bdp(p) / MSS:.0f} segments each): a wheel of {S / 1e6:.1f} MB at {mbit(eff(p['rate']))} = {S / eff(p['rate']):.1f} s, on the connection of the index or its own, at most 2 turns before it",
     f"python3 -c 'import os, zipfile; z = zipfile.ZipFile(\"www/big-1.0-py3-none-any.whl\", \"w\"); z.writestr(\"big/data\", os.urandom({S})); [z.writestr(\"big-1.0.dist-info/\" + n, t) for n, t in ((\"METADATA\", \"Metadata-Version: 2.1\\nName: big\\nVersion: 1.0\\n\"), (\"WHEEL\", \"Wheel-Version: 1.0\\nGenerator: a\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n\"), (\"RECORD\", \"\"))]; z.close()'; "
     "echo '<!DOCTYPE html><html><body><a href=\"big-1.0-py3-none-any.whl\">big</a></body></html>' >www/index.html", base="web")
p = path([31, 37, 44], [11, 14], cc="reno", queue="2.5bdp", reverse=8)
case("full-sftp-raw", p, RAWSFTP, f"echo get $PWD/file copy >batch; sftp -q -D \"$PWD/raw {{server}}\" -b batch >out", "down", ["path/full"],
     f"Reno, a queue of 2.5 BDP ({bdp(p) / MSS:.0f} segments each): after a drop 175 % of the BDP; {eff(p['rate']) * 6.5 / 1e6:.1f} MB by an sftp-server without ssh, sftp asks for up to 2 MiB at once ({2 ** 21 / bdp(p):.0f} BDP), after some 5 turns and 6 rounds of more and more requests = {11 * p['rtt'] / 1e3:.1f} s", data(eff(p["rate"]) * 6.5), base="sftp")
# path/mtu
BLACK = ["--inner-mtu", "1400", "--pmtud", "black-hole"]
p = path([33, 47, 58], [21, 37]); big = R.choice([70000, 110000])
case("mtu-rsync-up", p, RSYNCD, "timeout -s KILL 9 rsync -W file rsync://{server}:8000/files/got; true", "up", ["path/mtu"],
     f"the greeting, the module's name, the arguments and the list of one file pass, 5 turns = {5 * p['rtt'] / 1e3:.2f} s, {big} B in segments of 1500 B never: timers of 0.2 s + rtt, doubled each time, the last copy at 3 to 7 s of the 9 s", data(big), base="rsync", more=BLACK, far=["app/turns", "path/mtu"])
p = path([33, 47, 58], [21, 37]); big = R.choice([80000, 130000])
case("mtu-git-clone", p, GITD, f"timeout 9 {CLONE}; true", "down", ["path/mtu"],
     f"the advertisement, the refs and the first line of the answer to the fetch arrive, 4 turns = {4 * p['rtt'] / 1e3:.2f} s, the pack of {big} B in segments of 1500 B never: timers of 0.2 s + rtt, doubled each time, the last copy at 3 to 7 s of the 9 s", data(big, "tree/data") + COMMIT, base="git", more=BLACK, far=["app/turns", "path/mtu"])
# path/silence
p = path([21, 25, 28], [9, 11], cc="reno", queue="1.8bdp"); at, hold = R.uniform(1.2, 1.4), R.uniform(4.8, 5.0); D = 1.8
case("silence-nghttp", p, "exec nghttpd --no-tls -d $PWD 8000", "nghttp -n -w 24 -W 24 http://{server}:8000/file", "down", ["path/silence"], f"{D} s of data; nothing passes for {hold:.1f} s and until the next timer, which doubles (0.24 to 0.3 s: the 5th copy after 7.4 to 9.3 s): {hold:.1f} to 9.3 s of silence, at least {100 * hold / (hold + D + .4):.0f} %",
     data(eff(p["rate"]) * D), more=["--change", f"{at:.1f}s,for={hold:.1f}s,loss=100%"])
# path/shared
n = R.choice([4, 6]); p = path([14, 18, 22], [27, 31], cc="bbr", queue="1.8bdp")
case("shared-redis-gets", p, REDISBIG, f"sleep 1.6; for i in $(seq {n}); do timeout 10 redis-cli -h {{server}} -p 8000 get big >got$i & done; wait", "down", ["path/shared", "path/full"], f"{n} redis-cli at once for some 7 s share {p['rate']} Mbit/s, each about {100 / n:.0f} %; the sum fills the link (BBR)", data(eff(p["rate"]) * 7 / n))
# cpu/quota: PostgreSQL that compresses a backup, git that compresses a pack
p = path([3, 7], [49], queue="150p")
case("cpu-basebackup-gzip", p, quota(8, "held-out-6b-server") + "exec " + PG.format(to="*", dir=""), READY + f"timeout 10 {PGBIN}pg_basebackup -h {{server}} -p 8000 -U postgres -D - -F t -X none -c fast --no-manifest -Z server-gzip:6 >backup 2>/dev/null; true", "down", ["app/rate"],
     "15 ms of CPU each 100 ms for the server, which compresses 22 MB to some 3 MB (some 1 s with a whole CPU, 6 s or more so): 0.5 MB/s = 4 Mbit/s of 49, 50 kB each 0.1 s = 9 ms of the link; 85 of 100 ms it is throttled. Packets show a sender that offers less, sockets with the process the quota", base="pg", sockets=["cpu/quota"])
p = path([3, 7], [49], queue="150p")
case("cpu-git-push", p, GITD, quota(10, "held-out-6b-client") + f"timeout 15 {PUSH}; true", "up", ["app/rate"],
     "10 ms of CPU each 100 ms for git, whose pack-objects compresses 6 MB of digits (level 9) to 2.7 MB as it writes them to the socket: some 0.6 s with a whole CPU, 6 s so = 3.6 Mbit/s of 49, 45 kB each 0.1 s = 8 ms of the link; 90 of 100 ms it is throttled. Packets show a sender that offers less, sockets with the process the quota",
     "git -C tree config core.looseCompression 0; git -C tree config pack.compression 9; git -C tree config pack.window 0; git -C tree config pack.threads 1; for i in $(seq 60); do head -c 33333 /dev/urandom | od -An -v -tx1 >tree/f$i; done" + COMMIT, base="git", sockets=["cpu/quota"])
# pacing/program
r = R.choice([3, 8]); p = path([19, 37, 53], [29, 39], cc="reno"); v = r * 125000; n = int(v * 6.5 / 1310)
case("pacing-psql-front", p, PG.format(to="", dir="$PWD/pg") + f" & exec socat -b 65536 TCP-LISTEN:8000,reuseaddr,fork,setsockopt-int=1:47:{v} UNIX-CONNECT:pg/.s.PGSQL.8000 2>/dev/null",
     READY + PSQL + f"-c \"copy (select i, repeat('p', 1300) from generate_series(100001, {100000 + n}) i) to stdout\" >rows", "down", ["pacing/program", "app/rate"],
     f"a socat before PostgreSQL's UNIX socket sets SO_MAX_PACING_RATE (option 47) to {r} Mbit/s of {p['rate']}: {n} rows of 1,308 B = {n * 1308 / 1e6:.1f} MB in 6.5 s, PostgreSQL always has more to send; 3 turns of setup", base="pg", sockets=["pacing/program"])
r = R.choice([2, 3, 7]); p = path([26, 34, 47], [29, 39], cc="reno"); v = r * 125000
case("pacing-preload-curl", p, NG, f"OPT=1:47:{v} LD_PRELOAD=$PWD/opt.so curl -s -H Expect: -T file http://{{server}}:8000/got", "up", ["pacing/program", "app/rate"],
     f"a preloaded library sets SO_MAX_PACING_RATE (option 47) to {r} Mbit/s of {p['rate']} on curl's socket: {v * 6.5 / 1e6:.1f} MB in 6.5 s, curl always has more to send", data(v * 6.5), base="web preload", sockets=["pacing/program"])
# app
p = path([61, 73, 89], [39, 49], queue="2.2bdp"); k, B = R.choice([(5, 16384), (7, 16384), (6, 12288)]); W = (k + 1) * (B + 25); v = W / p["rtt"] * 1e3
case("window-sftp-raw", p, RAWSFTP, f"echo put file $PWD/got >batch; sftp -q -R {k} -B {B} -D \"$PWD/raw {{server}}\" -b batch >out", "up", ["app/window"],
     f"an sftp-server without ssh, {k + 1} writes of {B} B at once (-R {k}), each answer of 28 B releases one: {W} B each {p['rtt']} ms = {mbit(v)} of {p['rate']}, {100 * W / bdp(p):.0f} % of the BDP; never 0 outstanding; TCP_NODELAY at both ends; 4 turns and 3 or 4 rounds of slow start first", data(v * 6), base="sftp")
p = path([43, 53, 66], [29, 39]); k = R.choice([36, 44, 56]); ms = k * 512 / eff(p["rate"]) * 1e3; n = int(6.5 / (p["rtt"] / 1e3 + ms / 1e3))
case("turns-tar-rmt", p, "exec systemd-socket-activate -l 8000 --inetd -a /usr/sbin/rmt-tar 2>/dev/null", f"tar -b {k} --rsh-command=$PWD/rsh --rmt-command=rmt -cf {{server}}:$PWD/tape file", "up", ["app/turns"],
     f"GNU tar to a remote tape (rmt): {n} records of {k * 512} B, each answered by `A{k * 512}` before the next: {p['rtt']} ms and at most {ms:.0f} of the link (less where its bucket is full) each: {100 * p['rtt'] / (p['rtt'] + ms):.0f} %; the path would take {bdp(p) / 512 / k:.1f} of them in a round trip; the first two need 2 or 3 rounds; TCP_NODELAY is set",
     data(n * k * 512 - 3000) + "; printf '#!/bin/sh\\nexec socat -b 65536 - TCP:$1:8000,nodelay\\n' >rsh; chmod +x rsh")
s = R.choice([180, 260, 390]); p = path([9, 12, 16], [15, 29]); n = int(7 / (2 * p["rtt"] / 1e3 + 0.041))
case("nagle-tcl-lines", p, "exec systemd-socket-activate -l 8000 --inetd -a gawk 'NR % 3 == 0 { print \"done\"; fflush() }' 2>/dev/null", f"tclsh lines.tcl {{server}} {n} {s}", "up", ["app/nagle"],
     f"{n} requests of three lines of {s} B, one write each, and one answer of 5 B: the second and the third line wait for the ACK of the first, {p['rtt']} ms + 40 ms, beside {p['rtt']} ms of turn: {100 * (p['rtt'] + 40) / (2 * p['rtt'] + 40):.0f} %")
s = R.choice([640, 900, 1200]); p = path([13, 19, 25], [15, 29]); n = int(7 / (p["rtt"] / 1e3 + 0.041))
case("delayed-ack-poll", p, f"exec perl hand.pl {n} {s}", "perl poll.pl {server} 0.5", "down", ["app/delayed_ack"],
     f"{n} records of {s} B, the next when the last is acknowledged (SIOCOUTQ); the collector reads twice a second, so that reading seldom sends an ACK: after the first 16 it is delayed by 40 ms: {p['rtt']} + 40 ms each, TCP_NODELAY is set")
k = R.choice([2400, 3200]); p = path([15, 17, 21], [15, 29]); S = k * 125 * 7
case("rate-scp-limit", p, SSHD, f"scp -O -q -l {k} -F sshd/client file root@{{server}}:$PWD/copy", "up", ["app/rate"], f"scp -l {k}: {mbit(k * 125)} of {p['rate']}, 16 KiB or a little more and a pause of {16384 / k / .125:.0f} ms, {S / 1e6:.1f} MB in 7 s, all of it arrives; setup 14 turns {p['rtt'] * .014:.1f} s; after each 96 KiB the server adjusts the channel's window by some 50 B, and one pause in 6 is a response by the definition", data(S), base="ssh")
think = R.choice([0.16, 0.21]); s = R.choice([1000, 3600]); p = path([14, 21, 26], [15, 29]); n = int(7 / (think + p["rtt"] / 1e3))
case("response-nginx-echo", p, NG, f"curl -s -o got 'http://{{server}}:8000/slow?[1-{n}]'", "down", ["app/response"], f"{n} answers of {s} B, {think * 1e3:.0f} ms of think time each (nginx's echo_sleep) beside {p['rtt']} ms of turn: {100 * think * 1e3 / (think * 1e3 + p['rtt']):.0f} %",
     f"echo 'location /slow {{ echo_sleep {think}; echo_duplicate {s // 20} eeeeeeeee-eeeeeeeee-; }}' >more.conf", base="web")
pause = R.choice([0.26, 0.38]); s = R.choice([2500, 6000]); p = path([14, 21, 26], [15, 29]); n = int(7 / (pause + p["rtt"] / 1e3))
case("request-lwp", p, NG, f"perl ask.pl {{server}} {n} {pause}", "down", ["app/request"], f"{n} pages of {s} B on one connection, LWP rests {pause * 1e3:.0f} ms after each, beside {p['rtt']} ms of turn: {100 * pause * 1e3 / (pause * 1e3 + p['rtt']):.0f} %", data(s, "www/page"), base="web")
p = path([27, 33, 41], [31, 37]); S = R.choice([2100000, 2500000]); stop = R.choice([5, 6])
case("receiver-redis-asleep", p, f"(sleep 1; redis-cli -s sock debug sleep {stop}) >/dev/null 2>&1 & " + REDIS.replace(" >/dev/null", " --enable-debug-command local >/dev/null"), "sleep 1.4; redis-cli -h {server} -p 8000 -x set key <file >out", "up", ["receiver"],
     f"Redis computes for {stop} s (`debug sleep`, as a slow script would) from 1 s on, the SET begins at 1.4 s or up to a second later: tcp_rmem[2] is 224 KiB, full after {300000 / eff(p['rate']) + 4 * p['rtt'] / 1e3:.1f} s or sooner, then the window is 0 for {stop - 2:.1f} s or more, and the rest of {S / 1e6:.1f} MB takes {S / eff(p['rate']):.1f} s and more at the end: at least {100 * (stop - 2) / (stop - 2 + S / eff(p['rate']) + 14 * p['rtt'] / 1e3):.0f} %", data(S), more=["--set", f"host.tcp_rmem=4096 131072 {224 * 1024}"])

print("# 40 causes with real programs, drawn at random (seed %d), with the answers by arithmetic before the first run.\n"
      "# `answer`: limited_by/cause of the flow with most bytes; `active`: of active_limited_by/active_cause; `answer_near_receiver` where the receiver's packets can only show that, `answer_sockets` where sockets show more than packets.\n" % SEED)
for c in out:
    print("[[case]]")
    for k, v in c.items():
        if v != "": print(f"{k} = {json.dumps(v, ensure_ascii=False)}")
    print()

#!/usr/bin/env python3
"""Draws 40 causes and writes the answers by arithmetic: gen.py >causes.toml"""
import json, math, random
SEED = 20261212
R = random.Random(SEED)
MSS = 1448
out = []

def eff(rate): return rate * 1e6 / 8 * MSS / 1514   # payload bytes/s of a link that counts IP + 14
def path(rtts, rates, cc=None, queue=None, loss=0, reverse=None):
    rate = R.choice(rates)
    return dict(rtt=R.choice(rtts), rate=rate, reverse=reverse or rate, cc=cc or R.choice(["bbr", "reno"]), queue=queue or R.choice(["1bdp", "1.5bdp", "2bdp"]), loss=loss)
def args(p, more):
    a = ["--rtt", f"{p['rtt']}ms"] + (["--rate", f"{p['rate']}mbit", "--reverse-rate", f"{p['reverse']}mbit", "--queue", p["queue"]] if p["rate"] else [])
    return a + ["--set", f"host.congestion_control={p['cc']}"] + (["--loss", f"{p['loss']}%"] if p["loss"] else []) + list(more)
def bdp(p): return eff(p["rate"]) * p["rtt"] / 1e3
def law(percent): return 1.22 / math.sqrt(percent / 100) * MSS
def mbit(x): return f"{x * 8 / 1e6:.1f} Mbit/s"
def data(size, name="file"): return f"head -c {int(size)} /dev/urandom >{name}"
def rounds(size):
    """Flights after the first one of 10 segments, in slow start that doubles."""
    return math.ceil(math.log2(size / (10 * MSS) + 1)) - 1

def case(name, p, server, client, direction, answer, why, prepare="", base="", more=(), far=None, sockets=None, active=False):
    out.append(dict(name=f"{len(out) + 1:02d}-{name}", path=args(p, more), base=base, prepare=prepare, server=server, client=client, direction=direction, answer=answer,
                    arithmetic=why, **({"answer_near_receiver": far} if far else {}), **({"answer_sockets": sockets} if sockets else {}), **({"active": True} if active else {})))

NG = "exec /usr/sbin/nginx -p $PWD -c nginx.conf 2>/dev/null"
WGET = "wget -q -t 1 -O got http://{server}:8000/file"
SSHD = "exec /usr/sbin/sshd -D -e -f $PWD/sshd/server 2>/dev/null"
def proxy(tool, option, rest): return f"{tool} -q -F sshd/client -o 'ProxyCommand=socat - TCP:{{server}}:8000,{option}' {rest}"
PG = ("exec setpriv --reuid=postgres --regid=postgres --clear-groups /usr/lib/postgresql/15/bin/postgres -D $PWD/pg -p 8000 -c 'listen_addresses=*' -c unix_socket_directories= "
      "-c fsync=off -c shared_buffers=16MB -c max_connections=10 -c autovacuum=off -c jit=off 2>/dev/null")
BIN = "/usr/lib/postgresql/15/bin/"
READY = f"until {BIN}pg_isready -q -h {{server}} -p 8000; do sleep 0.1; done; "
PSQL = f"{BIN}psql -X -q -A -t -h {{server}} -p 8000 -U postgres postgres"
def redis(before="", options=""):
    return (f"({before}) >/dev/null 2>&1 & " if before else "") + f"exec redis-server --port 8000 --unixsocket sock --protected-mode no --save '' {options}>/dev/null"
CLI = "redis-cli -h {server} -p 8000"
SET = CLI + " -x set key <file >out"
MARIA = ("exec /usr/sbin/mariadbd --no-defaults --user=root --datadir=$PWD/data --socket=$PWD/socket --port=8000 '--bind-address=*' --skip-grant-tables "
         "--skip-networking=0 --innodb-log-file-size=4M 2>/dev/null")
def dump(size): return f"mariadb-dump --no-defaults -h {{server}} -P 8000 --skip-lock-tables --no-create-info --compact --where 'seq <= {int(size / 207)}' mysql t >rows"
def query(size, width=2400): return f"-q -e 'select repeat(\"d\", {width}) from seq_1_to_{int(size / (width + 7))}' >rows"
MYSQL = "mariadb --no-defaults -A -N -D mysql -h {server} -P 8000 "
SMBD = "exec /usr/sbin/smbd -F --no-process-group -s smb.conf -l $PWD/smb >/dev/null 2>&1"
SMB = "smbclient -N -I {server} -p 8000 //server/files -c "
RSYNCD = "exec rsync --daemon --no-detach --config rsyncd.conf"
RUP = "rsync -W file rsync://{server}:8000/got/"
GITD = "exec $(git --exec-path)/git-daemon --reuseaddr --port=8000 --base-path=$PWD --export-all --enable=receive-pack 2>/dev/null"
PUSH = "git -C tree push -q git://{server}:8000/copy.git main"
def repo(size): return data(size, "tree/data") + "; git -C tree add .; git -C tree -c user.name=a -c user.email=a@example.org commit -q -m all"
UPLINK = "socat -u -b 65536 FILE:file TCP:{server}:8000"
SINK = "exec socat -u TCP-LISTEN:8000,fork OPEN:got,creat"
BOTH = "; packets alone cannot tell a send buffer from a window of the application"

# sndbuf/program: the kernel doubles SO_SNDBUF and counts its own overhead, a last write can overfill it: 0.75 to 1.5 of the doubled value
def sndbuf(*sizes):
    while True:
        S = R.choice(sizes) * 1024; p = path([65, 85, 105, 125, 155], [22, 28, 38, 48])
        if 1.5 * 2 * S < 0.55 * bdp(p): break
    return S, p, 2 * S / p["rtt"] * 1e3, f"SO_SNDBUF {S} B, about {2 * S} B outstanding (at most 1.5 of it) each {p['rtt']} ms = {mbit(2 * S / p['rtt'] * 1e3)} of {p['rate']}, {200 * S / bdp(p):.0f} % of the BDP" + BOTH
S, p, v, why = sndbuf(30, 44, 60)
case("sndbuf-smbd", p, SMBD, SMB + "'get file got' 2>/dev/null", "down", ["sndbuf/program", "app/window"], why + "; smbd's `socket options`, one SMB2 READ, 9 turns of setup", data(v * 6, "files/file") + f"; echo 'socket options = TCP_NODELAY SO_SNDBUF={S}' >more.conf", base="smb", sockets=["sndbuf/program"])
S, p, v, why = sndbuf(24, 34, 52)
case("sndbuf-scp-proxy", p, SSHD, proxy("scp", f"sndbuf={S}", "file root@server:$PWD/copy"), "up", ["sndbuf/program", "app/window"], why + f"; the socket is a socat's (ProxyCommand), scp keeps 2 MiB of requests outstanding; setup 12 turns {p['rtt'] * .012:.1f} s", data(v * 8), base="ssh", sockets=["sndbuf/program"])
# sndbuf/maximum: tcp_wmem[2]
def wmem():
    while True:
        M = R.choice([56, 72, 96, 128]) * 1024; p = path([55, 75, 95, 120, 150], [35, 42, 55])
        if 1.3 * M < 0.55 * bdp(p): break
    return p, M / p["rtt"] * 1e3, f"tcp_wmem[2] {M} B (0.8 to 1.3 of it outstanding) each {p['rtt']} ms = {mbit(M / p['rtt'] * 1e3)} of {p['rate']}, {100 * M / bdp(p):.0f} % of the BDP" + BOTH, ["--set", f"host.tcp_wmem=4096 16384 {M}"]
p, v, why, more = wmem()
case("wmem-mariadb-dump", p, MARIA, dump(v * 6), "down", ["sndbuf/maximum", "app/window"], why + "; mariadb-dump: some 15 queries of a turn each, then one answer", base="mariadb", more=more, sockets=["sndbuf/maximum"])
p, v, why, more = wmem()
case("wmem-redis-set", p, redis(), SET, "up", ["sndbuf/maximum", "app/window"], why + "; one SET, no request before it", data(v * 6), more=more, sockets=["sndbuf/maximum"])
# rwnd/program: S to 2 S of window
def rcvbuf(*sizes):
    while True:
        S = R.choice(sizes) * 1024; p = path([55, 75, 85, 105, 125, 155], [22, 28, 38, 48])
        if 2 * S < 0.55 * bdp(p): break
    return S, p, 1.2 * S / p["rtt"] * 1e3, f"SO_RCVBUF {S} B, a window of {S} to {2 * S} B each {p['rtt']} ms = about {mbit(1.2 * S / p['rtt'] * 1e3)} of {p['rate']}, at most {200 * S / bdp(p):.0f} % of the BDP"
S, p, v, why = rcvbuf(44, 56, 68)
case("rcvbuf-smbd-put", p, SMBD, SMB + "'put file got' 2>/dev/null", "up", ["rwnd/program"], why + "; smbd's `socket options`, set on the listening socket too; one SMB2 WRITE, 8 turns of setup", data(v * 7) + f"; echo 'socket options = TCP_NODELAY SO_RCVBUF={S}' >more.conf", base="smb")
S, p, v, why = rcvbuf(26, 34, 48)
case("rcvbuf-mariadb-socat", p, MARIA, f"socat UNIX-LISTEN:link TCP:{{server}}:8000,rcvbuf={S} & until [ -S link ]; do sleep 0.05; done; mariadb --no-defaults -A -N -D mysql -S link " + query(v * 7), "down", ["rwnd/program"],
     why + "; the socket is a socat's, behind a UNIX socket; one answer after three or four turns", base="mariadb")
# rwnd/maximum: tcp_rmem[2]
def rmem(share=0.55):
    while True:
        M = R.choice([128, 176, 256, 320]) * 1024; p = path([85, 105, 130, 160, 180], [42, 48, 55])
        if M < share * bdp(p): break
    return p, 0.6 * M / p["rtt"] * 1e3, f"tcp_rmem[2] {M} B, of which 50 to 100 % are window, each {p['rtt']} ms = at most {mbit(M / p['rtt'] * 1e3)} of {p['rate']}", ["--set", f"host.tcp_rmem=4096 {56 * 1024} {M}"]
p, v, why, more = rmem()
case("rmem-psql-copy", p, PG, READY + f"{PSQL} -c \"copy (select i, repeat('c', 1100) from generate_series(1, {int(v * 7 / 1106)}) i) to stdout\" >rows", "down", ["rwnd/maximum"], why + "; one answer after three turns", base="pg", more=more)
p, v, why, more = rmem()
case("rmem-rsync-up", p, RSYNCD, RUP, "up", ["rwnd/maximum"], why + "; the daemon's setup is 5 turns", data(v * 8), base="rsync", more=more)
# rwnd/unscaled: the server's end, the client's end
p = path([50, 65, 85, 125], [32, 42, 52]); v = 65535 / p["rtt"] * 1e3
case("unscaled-redis-set", p, "echo 0 >/proc/sys/net/ipv4/tcp_window_scaling; " + redis(), SET, "up", ["rwnd/unscaled"], f"65,535 B each {p['rtt']} ms = {mbit(v)} of {p['rate']}, {100 * 65535 / bdp(p):.0f} % of the BDP; the server's SYN-ACK has no scale", data(v * 6.5))
p = path([50, 65, 85, 125], [32, 42, 52]); v = 65535 / p["rtt"] * 1e3
case("unscaled-rsync-down", p, RSYNCD, "echo 0 >/proc/sys/net/ipv4/tcp_window_scaling; rsync -W rsync://{server}:8000/files/file copy", "down", ["rwnd/unscaled"], f"65,535 B each {p['rtt']} ms = {mbit(v)} of {p['rate']}, {100 * 65535 / bdp(p):.0f} % of the BDP; the client's SYN has no scale", data(v * 6.5, "files/file"), base="rsync")
# cwnd/idle_restart, of the active time (Linux halves the window once for each RTO of idle time)
def idle(sizes, rtts, more=0):
    p = path(rtts, [50, 55], cc="reno", queue="2bdp"); S = R.choice(sizes); rtt = p["rtt"] / 1e3; r = rounds(S); top = S / MSS + 10
    halvings = math.ceil(math.log2(top / 10)); pause = (rtt + .2) * (halvings + more + R.uniform(1, 1.4))
    return p, S, rtt, r, pause, f"pauses of {pause:.2f} s = {pause / (rtt + .2):.1f} RTO, the window of some {top:.0f} segments is halved {halvings} times, to 10"
p, S, rtt, r, pause, text = idle([350000, 400000], [105, 115, 125]); n = 5; every = pause + (r + 1.5) * rtt
case("idle-subscribe", p, redis(f"sleep 2; for i in $(seq {n}); do redis-cli -s sock -x publish news <file; sleep {every:.2f}; done"), f"timeout {2 + n * every - pause + 1.5:.1f} {CLI} subscribe news >got; true", "down", ["cwnd/idle_restart"],
     f"{n} messages of {S} B that the server pushes, {text}: {(n - 1) * r} rounds after pauses = {(n - 1) * r * rtt:.1f} s, {r} in the first = {r * rtt:.1f} s, a turn of {rtt:.2f} s to subscribe, the last flight of each {n * .5 * rtt:.1f} s at most", data(S), active=True)
p, S, rtt, r, pause, text = idle([350000, 400000], [95, 105, 115]); n = 5; every = pause + (r + 1.5) * rtt
case("idle-curl-stream", p, NG, f"for i in $(seq {n}); do cat file; [ $i = {n} ] || sleep {every:.2f}; done | curl -s -H Expect: -T - http://{{server}}:8000/got", "up", ["cwnd/idle_restart"],
     f"an upload in chunks as the data come: {n} times {S} B, {text}: {(n - 1) * r} rounds after pauses = {(n - 1) * r * rtt:.1f} s, {r} in the first = {r * rtt:.1f} s, no turn", data(S), base="nginx", active=True)
p, S, rtt, r, pause, text = idle([620000, 680000], [60, 70], 1); n = 6
case("idle-psql", p, PG, READY + f"for i in $(seq {n}); do echo \"select repeat('p', {S});\"; [ $i = {n} ] || sleep {pause + (r + 1.5) * rtt:.2f}; done | {PSQL} >rows", "down", ["cwnd/idle_restart"],
     f"{n} answers of {S} B, before each but the first {text}: {(n - 1) * r} rounds after pauses = {(n - 1) * r * rtt:.1f} s, {r} in the first = {r * rtt:.1f} s, {n + 3} turns = {(n + 3) * rtt:.1f} s", base="pg", active=True)
# cwnd/ecn
m = R.choice([0.6, 0.9, 1.2]); p = path([40, 55, 65], [28, 38, 48], cc="reno", queue="2bdp"); v = law(m) / p["rtt"] * 1e3
case("ecn-nghttp", p, "exec nghttpd --no-tls -d $PWD 8000", "nghttp -n -w 24 -W 24 http://{server}:8000/file", "down", ["cwnd/ecn"], f"{m} % of marks: {law(m) / 1e3:.0f} kB each {p['rtt']} ms = {mbit(v)} of {p['rate']}, no losses; the stream's window is 16 MiB", data(v * 6.5), more=["--mark", f"{m}%"])
m = R.choice([x for x in (0.6, 0.9, 1.2) if x != m]); p = path([x for x in (40, 55, 65) if x != p["rtt"]], [28, 38, 48], cc="reno", queue="2bdp"); v = law(m) / p["rtt"] * 1e3
case("ecn-smb-put", p, SMBD, SMB + "'put file got' 2>/dev/null", "up", ["cwnd/ecn"], f"{m} % of marks: {law(m) / 1e3:.0f} kB each {p['rtt']} ms = {mbit(v)} of {p['rate']}, no losses; one SMB2 WRITE, 8 turns of setup", data(v * 7), base="smb", more=["--mark", f"{m}%"])
# cwnd/timeout: one segment outstanding, and it or its answer is lost
def lossy():
    l = R.choice([5, 6.5, 7.5]); p = path([2, 3, 5], [12, 24], loss=l); rtt = p["rtt"] / 1e3; per = rtt + 2 * l / 100 * (rtt + 0.206); n = int(7 / per)
    return p, n, f"one segment each: {p['rtt']} ms of turn each = {n * rtt:.1f} s, and {2 * l:g} % of them wait {rtt * 2e3 + 200:.0f} ms for the timer = {n * (per - rtt):.1f} s; near the receiver a lost request looks like a client that thinks, half of the waiting"
p, n, text = lossy()
case("timeout-pgbench", p, PG, READY + f"{BIN}pgbench -n -c 1 -h {{server}} -p 8000 -U postgres -t {n} -f script postgres >out 2>&1", "up", ["cwnd/timeout"], f"{n} queries of 420 B, " + text, prepare="v=$(printf %0400d 7); echo \"select length('$v');\" >script", base="pg", far=["cwnd/timeout", "app/response"])
p, n, text = lossy()
case("timeout-curl-post", p, NG, f"curl -s -m 13 --data-binary @body -o got 'http://{{server}}:8000/in?[1-{n}]'", "up", ["cwnd/timeout"], f"{n} POSTs of 700 B and their headers, an answer of 120 B, " + text, data(700, "body"), base="nginx", far=["cwnd/timeout", "app/response"])
# cwnd/random_loss
l = R.choice([0.5, 0.9, 1.3]); p = path([32, 42, 58], [28, 38], cc="reno", queue="2bdp", loss=l); v = law(l) / p["rtt"] * 1e3
case("loss-mariadb", p, MARIA, MYSQL + query(v * 6.5), "down", ["cwnd/random_loss"], f"{l} % lost: {law(l) / 1e3:.0f} kB each {p['rtt']} ms = {mbit(v)} of {p['rate']}; one answer after three turns", base="mariadb")
l = R.choice([x for x in (0.5, 0.9, 1.3) if x != l]); p = path([x for x in (32, 42, 58) if x != p["rtt"]], [28, 38], cc="reno", queue="2bdp", loss=l); v = law(l) / p["rtt"] * 1e3
case("loss-redis-set", p, redis(), SET, "up", ["cwnd/random_loss"], f"{l} % lost: {law(l) / 1e3:.0f} kB each {p['rtt']} ms = {mbit(v)} of {p['rate']}; one SET", data(v * 6.5))
# cwnd/queue_loss: many saw teeth; one large drop
p = path([24, 28, 32], [17, 22], cc="reno", queue=R.choice(["3p", "4p"])); q = int(p["queue"][:-1]); b = bdp(p) / MSS; low = (b + q) / 2
case("queue-psql-teeth", p, PG, READY + f"timeout 9 {PSQL} -c \"copy (select i, repeat('q', 900) from generate_series(1, {int(eff(p['rate']) * 6 / 906)}) i) to stdout\" >rows", "down", ["cwnd/queue_loss", "cwnd/growth"],
     f"BDP {b:.0f} segments, queue {q}: Reno falls to {low:.0f} at most, {b - low:.0f} round trips of {p['rtt']} ms = {(b - low) * p['rtt'] / 1e3:.2f} s below the BDP, then {q} with a queue: {100 * (b - low) / (b - low + q):.0f} % of each tooth; the rows or 9 s", base="pg")
p = path([85, 105, 125], [38, 46], cc="reno", queue=R.choice(["6p", "8p", "10p"])); b = bdp(p) / MSS
case("queue-socat", p, SINK, "timeout 8 " + UPLINK, "up", ["cwnd/queue_loss", "cwnd/growth"], f"BDP {b:.0f} segments, queue {p['queue'][:-1]} and a bucket of 21: slow start overflows it below {b / 2 + 30:.0f} segments, half of at most the BDP is left, then one segment each {p['rtt']} ms, {8 / p['rtt'] * 1e3:.0f} in 8 s", data(eff(p["rate"]) * 9))
# cwnd/growth
l, until = R.choice([3.5, 4.5]), 2.4; p = path([52, 58, 66], [52, 58], cc="reno", queue="2bdp"); b = bdp(p) / MSS
case("growth-rsync", p, RSYNCD, "timeout 10 " + RUP, "up", ["cwnd/growth"], f"until {until + .1:.1f} s {l} % are lost ({law(l) / MSS:.0f} segments by the law), after that nothing: one segment more each {p['rtt']} ms, to {law(l) / MSS + 7.2 / p['rtt'] * 1e3:.0f} of a BDP of {b:.0f} in 7.2 of the 10 s; the daemon's setup is 5 turns",
     data(eff(p["rate"]) * 4), base="rsync", more=["--change", f"0.1s,for={until}s,loss={l}%"])
# cwnd/startup
p = path([400, 450, 520], [44, 52], cc="reno", queue="2bdp"); S = R.choice([950000, 1100000]); r = rounds(S)
case("startup-nghttp", p, "exec nghttpd --no-tls -d $PWD 8000", "nghttp -n -w 25 -W 25 http://{server}:8000/file", "down", ["cwnd/startup"], f"{S} B = {S / MSS:.0f} segments: {r} rounds after the first flight of 10 = {r * p['rtt'] / 1e3:.1f} s, beside a turn of {p['rtt']} ms and {S / eff(p['rate']):.2f} s of the link; the stream's window is 32 MiB", data(S))
p = path([560, 620, 680], [44, 52], cc="reno", queue="2bdp"); S = R.choice([600000, 850000]); r = rounds(S)
case("startup-redis-set", p, redis(), SET, "up", ["cwnd/startup"], f"one SET of {S} B = {S / MSS:.0f} segments, unasked: {r} rounds after the first flight of 10 = {r * p['rtt'] / 1e3:.1f} s, beside {S / eff(p['rate']):.2f} s of the link", data(S))
# cwnd/policer
def policer(*rates):
    while True:
        r, b = R.choice(rates), R.choice([20, 28, 36, 56]); p = dict(rtt=R.choice([40, 55, 65, 75]), rate=0, cc="reno", queue="", loss=0)
        if 0.45 < b * 1024 / (eff(r) * p["rtt"] / 1e3) < 0.9: break
    return r, p, f"a bucket of {b} KiB at {r} Mbit/s, no queue: drops at a constant rate, BDP {eff(r) * p['rtt'] / 1e3 / 1024:.0f} KiB; all of it or 9 s", ["--policer", f"{r}mbit:{b}KiB"]
r, p, why, more = policer(7, 9)
case("policer-psql-copy-in", p, PG, READY + f"timeout 9 {PSQL} -c 'create table c (v text)' -c '\\copy c from file'", "up", ["cwnd/policer"], why, f"head -c {int(eff(r) * 6 / 2.04)} /dev/urandom | od -An -v -tx1 -w200 | tr -d ' ' >file", base="pg", more=more)
r, p, why, more = policer(11, 14, 18)
case("policer-mariadb", p, MARIA, "timeout 9 " + MYSQL + query(eff(r) * 6), "down", ["cwnd/policer"], why, base="mariadb", more=more)
# path/full: BBR through losses; Reno on a path that is slower one way
l = R.choice([0.6, 0.8]); p = path([28, 38], [13, 16, 19], cc="bbr", queue="2bdp", loss=l)
case("full-bbr-loss", p, NG, WGET, "down", ["path/full"], f"BBR does not mind {l} % of loss: {eff(p['rate']) * 6 / 1e6:.1f} MB at up to {mbit(eff(p['rate']) * (1 - l / 100))}, a startup of some 8 turns = {8 * p['rtt'] / 1e3:.1f} s", data(eff(p["rate"]) * 6), base="nginx")
p = path([28, 32, 42], [11, 14, 17], cc="reno", queue="2bdp", reverse=9)
case("full-git-push", p, GITD, PUSH, "up", ["path/full"], f"Reno, a queue of 2 BDP ({bdp(p) / MSS:.0f} segments each): after a drop 150 % of the BDP; ACKs need at most {eff(p['rate']) / MSS / 2 * 66 * 8 * 2 / 1e6:.1f} of the 9 Mbit/s back; one pack, 4 turns before it", repo(eff(p["rate"]) * 6.5), base="git")
# path/mtu
BLACK = ["--inner-mtu", "1400", "--pmtud", "black-hole"]
p = path([26, 34, 44], [22, 34]); big = R.choice([70000, 120000]); g = R.choice([9, 11])
case("mtu-redis", p, redis(f"sleep 0.6; head -c 650 /dev/zero | tr '\\0' s | redis-cli -s sock -x set small; redis-cli -s sock -x set big <file"), f"sleep 1.6; {{ for i in $(seq {g}); do echo 'get small'; done; echo 'get big'; }} | timeout 8 {CLI} >got; true", "down", ["path/mtu"],
     f"{g} values of 650 B arrive, a turn each = {g * p['rtt'] / 1e3:.1f} s, {big} B in segments of 1500 B never: timers of 0.2 s + rtt, doubled each time, 4 s and more of the 8 s", data(big), more=BLACK, far=["app/turns"])
p = path([26, 34, 44], [22, 34]); big = R.choice([70000, 120000]); g = R.choice([7, 9])
case("mtu-psql-up", p, PG, READY + f"{{ for i in $(seq {g}); do echo \"select length('$(printf %0640d 1)');\"; done; echo \"select length('$(printf %0{big}d 1)');\"; }} | timeout 8 {PSQL} >rows; true", "up", ["path/mtu"],
     f"{g} queries of 670 B arrive, a turn each = {(g + 3) * p['rtt'] / 1e3:.1f} s with the login, one of {big} B in segments of 1500 B never: timers of 0.2 s + rtt, doubled each time, 4 s and more of the 8 s", base="pg", more=BLACK, far=["app/turns"])
# path/silence
p = path([22, 32, 42], [9, 11, 14], cc="reno", queue="1.5bdp"); at, hold = R.uniform(1.6, 1.8), R.uniform(4.6, 5.2); D = 2.1
case("silence-git-clone", p, GITD, "git clone -q git://{server}:8000/tree copy", "down", ["path/silence"], f"one pack of {D} s after 4 turns; nothing passes for {hold:.1f} s and until the next timer, which doubles: {hold:.1f} to {2 * hold:.1f} s of silence, at least {100 * hold / (hold + D + .6):.0f} % with turns and 0.4 s of slow start after it", repo(eff(p["rate"]) * D), base="git",
     more=["--change", f"{at:.1f}s,for={hold:.1f}s,loss=100%"])
p = path([22, 32, 42], [9, 11, 14], cc="reno", queue="1.5bdp"); at, hold = R.uniform(2.0, 2.2), R.uniform(4.9, 5.4); D = 2
case("silence-scp", p, SSHD, "scp -q -F sshd/client file root@{server}:$PWD/copy", "up", ["path/silence"], f"{D} s of data after 12 turns and ssh's part of a second; nothing passes for {hold:.1f} s and until the next timer, which doubles: {hold:.1f} to {2 * hold:.1f} s of silence, at least {100 * hold / (hold + D + 1.2):.0f} % with setup and slow start",
     data(eff(p["rate"]) * D), base="ssh", more=["--change", f"{at:.1f}s,for={hold:.1f}s,loss=100%"])
# path/shared
n = R.choice([3, 4]); p = path([18, 22, 32], [22, 28], cc="bbr", queue="2bdp")
case("shared-rsync", p, RSYNCD, f"for i in $(seq {n}); do timeout 8 {RUP}f$i & done; wait", "up", ["path/shared", "path/full"], f"{n} rsyncs at once for 7 to 8 s share {p['rate']} Mbit/s, each about {100 / n:.0f} %; the sum fills the link (BBR)", data(eff(p["rate"]) * 7.5 / n), base="rsync")
# cpu/quota: one PostgreSQL, one rsync client
def quota(ms, name): return f"mkdir -p /sys/fs/cgroup/cpu/{name}; echo {ms}000 >/sys/fs/cgroup/cpu/{name}/cpu.cfs_quota_us; echo $$ >/sys/fs/cgroup/cpu/{name}/cgroup.procs; "
p = path([3, 5, 6], [42]); QUOTA_ROWS = 10000
case("cpu-psql", p, quota(10, "held-out-c-server") + PG, READY + f"timeout 14 {PSQL} -c \"copy (select i, (select max(md5((i * j)::text)) from generate_series(1, 60) j), repeat('c', 160) from generate_series(1, {QUOTA_ROWS}) i) to stdout\" >rows; true", "down", ["app/rate"],
     f"10 ms of CPU each 100 ms: {QUOTA_ROWS} rows of 200 B and 60 MD5 each need 0.6 to 0.8 s of it, 2.0 MB in 6 to 8 s = 2.3 Mbit/s of 42; 90 of 100 ms the backend is throttled. Packets show a sender that offers less (A spoke last and speaks next), sockets with the process the quota", base="pg", sockets=["cpu/quota"])
p = path([3, 5, 6], [42], queue="120p"); QUOTA_BYTES = 2000000
case("cpu-rsync-up", p, RSYNCD, quota(8, "held-out-c-client") + "timeout 14 rsync -W --zc=zstd --zl=9 file rsync://{server}:8000/got/; true", "up", ["app/rate"],
     "8 ms of CPU each 100 ms for the client: zstd at level 9 makes 2.65 MB in 5 to 8 s = 3.5 Mbit/s of 42, 57 kB each 0.1 to 0.2 s = 11 ms of the link; 92 of 100 ms it is throttled. Packets show a sender that offers less, sockets with the process the quota", f"head -c {QUOTA_BYTES} /dev/urandom | od -An -v -tx1 >file", base="rsync", sockets=["cpu/quota"])
# pacing/program
r = R.choice([4, 6, 8]); p = path([18, 32, 58], [22, 34], cc="reno"); v = r * 125000
case("pacing-socat", p, f"exec socat -u -b 65536 OPEN:file TCP-LISTEN:8000,setsockopt-int=1:47:{v}", "socat -u TCP:{server}:8000 OPEN:got,creat", "down", ["pacing/program", "app/rate"], f"SO_MAX_PACING_RATE (option 47) {r} Mbit/s of {p['rate']} for 7 s, the program always has more to send", data(v * 7), sockets=["pacing/program"])
r = R.choice([3, 5, 7]); p = path([18, 32, 42], [22, 34], cc="reno"); v = r * 125000
case("pacing-scp-proxy", p, SSHD, proxy("scp", f"setsockopt-int=1:47:{v}", "file root@server:$PWD/copy"), "up", ["pacing/program", "app/rate"], f"SO_MAX_PACING_RATE {r} Mbit/s of {p['rate']} for 7 s on the socat of the ProxyCommand, scp always has more to send; setup 12 turns {p['rtt'] * .012:.1f} s", data(v * 7), base="ssh", sockets=["pacing/program"])
# controls
p = path([18, 28, 38], [42, 52]); g = R.choice([300000, 400000]); rest = R.choice([0.9, 1.1]); n = int(7 / rest)
case("receiver-gulps", p, f"socat -u TCP-LISTEN:8000,rcvbuf=131072 - | exec /usr/bin/python3 gulp.py {g} {rest} >out", "socat -t 20 -b 65536 - TCP:{server}:8000 <file", "up", ["receiver"], f"the server reads {g} B, then nothing for {rest} s, {n} times: {mbit(g / rest)} of {p['rate']}; {131072} to {2 * 131072} B fit in its buffer (SO_RCVBUF) and fill it in {2 * 131072 / eff(p['rate']) + p['rtt'] / 1e3:.2f} s, then the window is 0; a gulp takes {g / 131072 * p['rtt'] / 1e3:.2f} s at most", data(g * (n + 1)))
p = path([17, 23, 27], [18, 26]); keys = int(6.5 / p["rtt"] * 1e3) * 10
case("turns-scan", p, redis(f"sleep 0.6; redis-cli -s sock debug populate {keys} entry", "--enable-debug-command local "), f"sleep 2; {CLI} --scan >got", "down", ["app/turns"], f"{keys} keys, some ten in each answer of 200 B to a SCAN: {keys // 10} turns of {p['rtt']} ms = {keys / 10 * p['rtt'] / 1e3:.1f} s")
p = path([23, 33, 48], [18, 26]); w, t = R.choice([(3000, .06), (2500, .07), (3500, .08)]); n = int(7 / t)
case("rate-psql", p, PG, READY + f"{PSQL} -c \"copy (select i, repeat('t', {w}), pg_sleep({t}) from generate_series(1, {n}) i) to stdout\" >rows", "down", ["app/rate"], f"{n} rows of {w} B, one each {t * 1e3:.0f} ms, sent in blocks of 8 KiB: {mbit(w / t)} of {p['rate']}; nobody asks again, all of it arrives", base="pg")

print("# 40 causes with real programs, drawn at random (seed %d), with the answers by arithmetic before the first run.\n"
      "# `answer`: limited_by/cause of the flow with most bytes; `active`: of active_limited_by/active_cause; `answer_near_receiver` where the receiver's packets can only show that, `answer_sockets` where sockets show more than packets.\n" % SEED)
for c in out:
    print("[[case]]")
    for k, v in c.items():
        if v != "": print(f"{k} = {json.dumps(v)}")
    print()

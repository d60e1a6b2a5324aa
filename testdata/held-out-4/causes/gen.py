#!/usr/bin/env python3
"""Draws 40 causes and writes the answers by arithmetic: gen.py >SET.toml"""
import json, math, random
SEED = 9027
R = random.Random(SEED)
MSS = 1448
out = []

def eff(rate): return rate * 1e6 / 8 * MSS / 1514   # payload bytes/s of a link that counts IP + 14
def path(rtts, rates, cc=None, queue=None, loss=0, reverse=None):
    rate = R.choice(rates)
    return dict(rtt=R.choice(rtts), rate=rate, reverse=reverse or rate, cc=cc or R.choice(["bbr", "reno"]), queue=queue or R.choice(["1bdp", "1.5bdp", "2bdp", "3bdp"]), loss=loss)
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
PYWEB = "cd www; exec /usr/bin/python3 -m http.server 8000 >/dev/null 2>&1"
SSHD = "exec /usr/sbin/sshd -D -e -f $PWD/sshd/server 2>/dev/null"
LIBSSH = "curl -s -k -u root: --key sshd/key --pubkey sshd/key.pub "
PG = ("exec setpriv --reuid=postgres --regid=postgres --clear-groups /usr/lib/postgresql/15/bin/postgres -D $PWD/pg -p 8000 -c 'listen_addresses=*' -c unix_socket_directories= "
      "-c fsync=off -c shared_buffers=16MB -c max_connections=10 -c autovacuum=off -c jit=off 2>/dev/null")
BIN = "/usr/lib/postgresql/15/bin/"
READY = f"until {BIN}pg_isready -q -h {{server}} -p 8000; do sleep 0.1; done; "
BACKUP = f"{BIN}pg_basebackup -h {{server}} -p 8000 -U postgres -D - -F t -X none -c fast >backup 2>/dev/null"
MARIA = ("exec /usr/sbin/mariadbd --no-defaults --user=root --datadir=$PWD/data --socket=$PWD/socket --port=8000 '--bind-address=*' --skip-grant-tables "
         "--skip-networking=0 --innodb-log-file-size=4M {more}2>/dev/null")
BINLOG = "mariadb-binlog --no-defaults --read-from-remote-server -h {server} -P 8000 -u root "
LOCAL = "mariadb --no-defaults -A -N -D mysql -S socket"
REDIS = "exec redis-server --port 8000 --unixsocket sock --protected-mode no --save '' --repl-diskless-sync-delay 0 >/dev/null"
REPLICA = ("(sleep 0.6; redis-cli -s sock -x set big <file) >/dev/null 2>&1 & " + REDIS,
           "mkdir replica; sleep 1.2; redis-server --port 0 --unixsocket $PWD/rsock --dir $PWD/replica --save '' --repl-diskless-load swapdb --replicaof {server} 8000 >/dev/null & sleep 1.6; for i in $(seq 100); do redis-cli -s rsock info replication | grep -q master_link_status:up && break; sleep 0.1; done; kill $!; wait")
SMBD = "exec /usr/sbin/smbd -F --no-process-group -s smb.conf -l $PWD/smb >/dev/null 2>&1"
SMB = "smbclient -N -I {server} -p 8000 //server/files "
RSYNCD = "exec rsync --daemon --no-detach --config rsyncd.conf"
GITD = "exec $(git --exec-path)/git-daemon --reuseaddr --port=8000 --base-path=$PWD --export-all 2>/dev/null"
COMMIT = "; git -C tree add .; git -C tree -c user.name=a -c user.email=a@example.org commit -q -m all"
SINK = "exec socat -u TCP-LISTEN:8000,fork OPEN:got,creat"
TLSIN = "sleep 30 2>/dev/null | exec openssl s_server -quiet -accept 8000 -cert cert.pem -key key.pem -naccept 1 >got 2>/dev/null"
TLSOUT = "openssl s_client -quiet -no_ign_eof -nocommands -connect {server}:8000 2>/dev/null"
def sink(size): return f"exec systemd-socket-activate -l 8000 --inetd -a sh -c 'head -c {int(size)} >got; echo done' 2>/dev/null"
BASH = "exec bash -c 'exec 3<>/dev/tcp/{server}/8000; cat file >&3; read -r answer <&3'"
BOTH = "; packets alone cannot tell a send buffer from a window of the application"

# sndbuf/program: the kernel doubles SO_SNDBUF and counts its own overhead, a last write can overfill it: 0.75 to 1.5 of the doubled value
def sndbuf(*sizes):
    while True:
        S = R.choice(sizes) * 1024; p = path([72, 92, 112, 132, 148], [24, 31, 36, 44])
        if 1.5 * 2 * S < 0.5 * bdp(p): break
    return S, p, 2 * S / p["rtt"] * 1e3, f"SO_SNDBUF {S} B, about {2 * S} B outstanding (at most 1.5 of it) each {p['rtt']} ms = {mbit(2 * S / p['rtt'] * 1e3)} of {p['rate']}, {200 * S / bdp(p):.0f} % of the BDP" + BOTH
S, p, v, why = sndbuf(26, 38, 50)
case("sndbuf-smbclient-put", p, SMBD, SMB + f"-O 'TCP_NODELAY SO_SNDBUF={S}' -c 'put file got' 2>/dev/null", "up", ["sndbuf/program", "app/window"], why + "; smbclient's own socket options, one SMB2 WRITE, 8 turns of setup", data(v * 6), base="smb", sockets=["sndbuf/program"])
S, p, v, why = sndbuf(22, 42, 56)
case("sndbuf-rsyncd", p, RSYNCD, "rsync -W rsync://{server}:8000/files/file copy", "down", ["sndbuf/program", "app/window"], why + "; the daemon's `socket options`; 5 turns of setup", data(v * 5, "files/file") + f"; sed -i '1i socket options = SO_SNDBUF={S}' rsyncd.conf", base="rsync", sockets=["sndbuf/program"])
# sndbuf/maximum: tcp_wmem[2]
def wmem():
    while True:
        M = R.choice([64, 84, 108, 144]) * 1024; p = path([62, 82, 102, 134], [33, 46, 57])
        if 1.3 * M < 0.5 * bdp(p): break
    return p, M / p["rtt"] * 1e3, f"tcp_wmem[2] {M} B (0.5 to 1.3 of it outstanding) each {p['rtt']} ms = {mbit(M / p['rtt'] * 1e3)} of {p['rate']}, {100 * M / bdp(p):.0f} % of the BDP" + BOTH, ["--set", f"host.tcp_wmem=4096 16384 {M}"]
p, v, why, more = wmem()
case("wmem-replica", p, *REPLICA, "down", ["sndbuf/maximum", "app/window"], why + "; a Redis replica's first synchronisation, written in pieces of 16 KiB, 5 turns before it", data(v * 5.5), more=more, sockets=["sndbuf/maximum"])
p, v, why, more = wmem()
case("wmem-openssl", p, TLSIN, TLSOUT + " <file", "up", ["sndbuf/maximum", "app/window"], why + "; one stream over TLS, 1 turn of setup", data(v * 4), base="tls", more=more, sockets=["sndbuf/maximum"])
# rwnd/program: S to 2 S of window
def rcvbuf(*sizes):
    while True:
        S = R.choice(sizes) * 1024; p = path([62, 78, 92, 118, 136], [24, 33, 44, 52])
        if 2 * S < 0.5 * bdp(p): break
    return S, p, 1.2 * S / p["rtt"] * 1e3, f"SO_RCVBUF {S} B, a window of {S} to {2 * S} B each {p['rtt']} ms = about {mbit(1.2 * S / p['rtt'] * 1e3)} of {p['rate']}, at most {200 * S / bdp(p):.0f} % of the BDP"
S, p, v, why = rcvbuf(32, 46, 62)
case("rcvbuf-smbclient-get", p, SMBD, SMB + f"-O 'TCP_NODELAY SO_RCVBUF={S}' -c 'get file got' 2>/dev/null", "down", ["rwnd/program", "rwnd/maximum"], why + "; smbclient's own socket options, one SMB2 READ, 8 turns of setup. smbclient sets them on a connected socket: the window's scale fits tcp_rmem, packets alone cannot tell SO_RCVBUF from tcp_rmem[2]", data(v * 7, "files/file"), base="smb", sockets=["rwnd/program"])
S, p, v, why = rcvbuf(28, 40, 54)
case("rcvbuf-git-proxy", p, GITD, "git -c core.gitProxy=$PWD/proxy clone -q git://{server}:8000/tree copy", "down", ["rwnd/program"], why + "; git's core.gitProxy is a socat with that option; one pack, 4 turns of setup",
     f"printf '#!/bin/sh\\nexec socat - TCP:$1:$2,rcvbuf={S}\\n' >proxy; chmod +x proxy; " + data(v * 7, "tree/data") + COMMIT, base="git")
# rwnd/maximum: tcp_rmem[2]
while True:
    M = R.choice([144, 208, 288]) * 1024; p = path([88, 108, 128, 152], [36, 46, 57])
    if M < 0.5 * bdp(p): break
case("rmem-basebackup", p, PG, READY + "timeout 8 " + BACKUP + "; true", "down", ["rwnd/maximum"], f"tcp_rmem[2] {M} B, of which 50 to 100 % are window, each {p['rtt']} ms = at most {mbit(M / p['rtt'] * 1e3)} of {p['rate']}; pg_basebackup, some 23 MB, stopped after 8 s; 7 turns of setup",
     base="pg", more=["--set", f"host.tcp_rmem=4096 {72 * 1024} {M}"])
# rwnd/unscaled
p = path([58, 74, 96], [31, 43, 54]); v = 65535 / p["rtt"] * 1e3
case("unscaled-curl-scp", p, SSHD, "echo 0 >/proc/sys/net/ipv4/tcp_window_scaling; " + LIBSSH + "-T file scp://{server}:8000$PWD/got", "up", ["rwnd/unscaled"],
     f"65,535 B each {p['rtt']} ms = {mbit(v)} of {p['rate']}, {100 * 65535 / bdp(p):.0f} % of the BDP; the client's SYN has no scale, so the server's window has none either; libssh2 keeps much more than that in flight (sshd's channel: 2 MiB); setup 14 turns {p['rtt'] * .014:.1f} s", data(v * 6.5), base="ssh")
# rwnd/autotuning: a small tcp_rmem[1]; a sender whose window is large from its first flight
p = path([520, 580, 640], [28, 37], cc="reno", queue="1bdp"); S = R.choice([130000, 150000])
case("autotuning-default", p, sink(S), BASH, "up", ["rwnd/autotuning"], f"tcp_rmem[1] is 16,384 B: a window of 7 kB, half of the first flight of 10 segments, and it grows only with what was read: {S} B need 7 or 8 flights of 7 to 60 kB, {p['rtt']} ms each; the congestion window alone would need {rounds(S) + 1}; the link {S / eff(p['rate']):.2f} s",
     data(S), more=["--set", "host.tcp_rmem=4096 16384 6291456"])
p = path([560, 610, 660], [64, 72], cc="reno", queue="1bdp"); S = 3300000
case("autotuning-initcwnd", p, "ip -4 route show | while read r; do ip route change $r initcwnd 2500; done; " + NG, "lwp-download http://{server}:8000/file got >/dev/null", "down", ["rwnd/autotuning"],
     f"the server's cwnd is 2,500 segments from the start (ip route … initcwnd), {S} B: the window is 64 KB, then measured 64, 80, 160, 200, 560 kB, the rest: 5 rounds = {5 * p['rtt'] / 1e3:.1f} s on the window, beside one turn of {p['rtt']} ms and {S / eff(p['rate']):.1f} s of the link", data(S, "www/file"), base="web")
# cwnd/idle_restart, of the active time (Linux halves the window once for each RTO of idle time)
def idle(sizes, rtts, more=0):
    p = path(rtts, [48, 56], cc="reno", queue="2bdp"); S = R.choice(sizes); rtt = p["rtt"] / 1e3; r = rounds(S); top = S / MSS + 10
    halvings = math.ceil(math.log2(top / 10)); pause = (rtt + .2) * (halvings + more + R.uniform(1, 1.4))
    return p, S, rtt, r, pause, f"pauses of {pause:.2f} s = {pause / (rtt + .2):.1f} RTO, the window of some {top:.0f} segments is halved {halvings} times, to 10"
p, S, rtt, r, pause, text = idle([560000, 600000], [54, 60, 66]); n = 5; every = math.ceil((pause + (r + 2) * rtt) * 10) / 10
case("idle-prometheus", p, NG, f"sed s/SERVER/{{server}}/ prometheus.txt >prometheus.yml; timeout {5 + (n + 1) * every - 0.5:.1f} prometheus --config.file=prometheus.yml --storage.tsdb.path=tsdb --web.listen-address=:9191 --log.level=error >log 2>&1; true", "down", ["cwnd/idle_restart"],
     f"Prometheus scrapes {S} B each {every:.1f} s, {n} or {n + 1} times, on one connection (the first after 5 s and a part of the interval); before each but the first {text}: at least {(n - 1) * r} rounds after pauses = {(n - 1) * r * rtt:.1f} s, {r} in the first = {r * rtt:.1f} s, {n} turns = {n * rtt:.1f} s",
     f"seq 100000 | awk '{{ l = \"some_counter_total{{name=\\\"\" $1 \"\\\",place=\\\"somewhere-far-away-in-a-cellar\\\"}} \" $1; s += length(l) + 1; if (s > {S}) exit; print l }}' >www/metrics; "
     f"printf 'global: {{ scrape_interval: {int(every * 1000)}ms, scrape_timeout: 2s }}\\nscrape_configs: [ {{ job_name: a, static_configs: [ {{ targets: [ \"SERVER:8000\" ] }} ] }} ]\\n' >prometheus.txt", base="web", active=True)
p, S, rtt, r, pause, text = idle([420000, 440000], [88, 98, 108]); n = 5; every = pause + (r + 1.5) * rtt
case("idle-openssl", p, TLSIN, f"for i in $(seq {n}); do cat file; [ $i = {n} ] || sleep {every:.2f}; done | " + TLSOUT, "up", ["cwnd/idle_restart"],
     f"a stream over TLS in bursts: {n} times {S} B, {text}: {(n - 1) * r} rounds after pauses = {(n - 1) * r * rtt:.1f} s, {r} in the first = {r * rtt:.1f} s, 1 turn = {rtt:.2f} s, the last flight of each at most {n * .3 * rtt:.1f} s", data(S), base="tls", active=True)
# cwnd/ecn
m = R.choice([0.7, 1.1, 1.7]); p = path([34, 48, 62], [23, 33, 43], cc="reno", queue="2bdp"); v = law(m) / p["rtt"] * 1e3
case("ecn-http-server", p, PYWEB, "curl -s -o got http://{server}:8000/file", "down", ["cwnd/ecn"], f"{m} % of marks: {law(m) / 1e3:.0f} kB each {p['rtt']} ms = {mbit(v)} of {p['rate']}, no losses; one answer", data(v * 6.5, "www/file"), base="web", more=["--mark", f"{m}%"])
# cwnd/timeout: one segment outstanding, and it or its answer is lost
l = R.choice([4.5, 5.5, 7]); p = path([4, 6, 8], [14, 26], loss=l); rtt = p["rtt"] / 1e3; per = rtt + 2 * l / 100 * (rtt + 0.206); n = int(7 / per)
case("timeout-h2load-post", p, "exec nghttpd --no-tls -d $PWD 8000", f"timeout 14 h2load -n {n} -c 1 -m 1 -d body http://{{server}}:8000/file >out; true", "up", ["cwnd/timeout"],
     f"{n} POSTs of 900 B, an answer of less than 100 B, one segment each: {p['rtt']} ms of turn each = {n * rtt:.1f} s, and {2 * l:g} % of them wait {rtt * 1e3 + 206:.0f} ms for the timer = {n * (per - rtt):.1f} s; near the receiver a lost request looks like a client that thinks, half of the waiting",
     data(900, "body") + "; echo >file", far=["cwnd/timeout", "app/response"])
l = R.choice([5, 6, 7.2]); p = path([3, 4, 5], [14, 26], loss=l); rtt = p["rtt"] / 1e3; per = rtt + 2 * l / 100 * (rtt + 0.206); turns = 4; n = int(7 / per / turns)
case("timeout-sftp-puts", p, SSHD, f"for i in $(seq {n}); do echo \"put small got/f$i\"; done >batch; timeout 15 sftp -q -F sshd/client -b batch root@{{server}}:$PWD >out; true", "up", ["cwnd/timeout"],
     f"{n} files of 700 B, some {turns} turns for each (attributes, open, write, close), one segment each way: {n * turns * rtt:.1f} s of turns, and {2 * l:g} % of them wait {rtt * 1e3 + 206:.0f} ms for the timer = {n * turns * (per - rtt):.1f} s; near the receiver a lost request looks like a client that thinks, half of the waiting",
     data(700, "small") + "; mkdir got", base="ssh", far=["cwnd/timeout", "app/response"])
# cwnd/random_loss
l = R.choice([0.6, 0.8, 1.2]); p = path([36, 44, 54], [26, 34], cc="reno", queue="2bdp", loss=l); v = law(l) / p["rtt"] * 1e3
case("loss-openssl-www", p, "exec openssl s_server -quiet -WWW -accept 8000 -cert cert.pem -key key.pem 2>/dev/null", "curl -s -k --http1.0 -o got https://{server}:8000/file; true", "down", ["cwnd/random_loss"],
     f"{l} % lost: {law(l) / 1e3:.0f} kB each {p['rtt']} ms = {mbit(v)} of {p['rate']}; one answer over TLS, 2 turns before it", data(v * 6.5), base="tls")
l = R.choice([x for x in (0.6, 0.8, 1.2) if x != l]); p = path([x for x in (36, 44, 54) if x != p["rtt"]], [26, 34], cc="reno", queue="2bdp", loss=l); v = law(l) / p["rtt"] * 1e3
case("loss-migrate", p, REDIS, "redis-server --port 0 --unixsocket $PWD/lsock --save '' >/dev/null & sleep 0.6; redis-cli -s lsock -x set big <file >out; redis-cli -s lsock migrate {server} 8000 big 0 20000 >>out; kill $!; wait", "up", ["cwnd/random_loss"],
     f"{l} % lost: {law(l) / 1e3:.0f} kB each {p['rtt']} ms = {mbit(v)} of {p['rate']}; redis MIGRATE, one RESTORE that nobody asked for", data(v * 6.5))
# cwnd/queue_loss: several teeth; one large drop
p = path([36, 40, 44], [27, 32], cc="reno", queue=R.choice(["3p", "5p"])); q = int(p["queue"][:-1]); b = bdp(p) / MSS; low = (b + q + 6) / 2
case("queue-basebackup", p, PG, READY + "timeout 9 " + BACKUP + "; true", "down", ["cwnd/queue_loss", "cwnd/growth"],
     f"BDP {b:.0f} segments, queue {q}: Reno falls to {low:.0f} at most, {b - low:.0f} round trips of {p['rtt']} ms = {(b - low) * p['rtt'] / 1e3:.1f} s below the BDP, then some {q + 6} above it (the bucket is emptied first): {100 * (b - low) / (b - low + q + 6):.0f} % of each tooth; pg_basebackup, 23 MB or 9 s", base="pg")
p = path([78, 94, 116], [34, 42], cc="reno", queue=R.choice(["5p", "7p", "9p"])); b = bdp(p) / MSS
case("queue-bash", p, sink(eff(p["rate"]) * 9), "timeout 8 " + BASH[5:] + "; true", "up", ["cwnd/queue_loss", "cwnd/growth"],
     f"BDP {b:.0f} segments, queue {p['queue'][:-1]} and a bucket of 21: slow start overflows it below {b / 2 + 30:.0f} segments, half of at most the BDP is left, then one segment each {p['rtt']} ms, {7.5 / p['rtt'] * 1e3:.0f} in 7.5 s", data(eff(p["rate"]) * 9))
# cwnd/growth: no loss at all; the route's ssthresh, which the first connection brings into the kernel's metrics
p = path([64, 70, 82], [56, 68], cc="reno", queue="2bdp"); b = bdp(p) / MSS; t = R.choice([16, 24]); n = 7.5 / p["rtt"] * 1e3
case("growth-ssthresh", p, f"echo 0 >/proc/sys/net/ipv4/tcp_no_ssthresh_metrics_save; echo 0 >/proc/sys/net/ipv4/tcp_no_metrics_save; ip -4 route show | while read r; do ip route change $r ssthresh {t}; done; " + PYWEB,
     "curl -s -o got http://{server}:8000/small; sleep 0.3; curl -s -m 8 -o got http://{server}:8000/file; true", "down", ["cwnd/growth"],
     f"ssthresh is {t} segments (ip route … ssthresh; the metrics of a first, small connection carry it to the second): from there one segment more each {p['rtt']} ms, {t} to {t + n:.0f} of a BDP of {b:.0f} in 7.5 of the 8 s, no loss", data(3000, "www/small") + "; " + data((t + n / 2) * n * MSS * 1.4, "www/file"), base="web")
# cwnd/startup
p = path([540, 580, 630], [38, 47], cc="reno", queue="2bdp"); S = R.choice([800000, 880000]); r = rounds(S)
case("startup-http-server", p, PYWEB, "lwp-download http://{server}:8000/file got >/dev/null", "down", ["cwnd/startup"], f"{S} B = {S / MSS:.0f} segments: {r} rounds after the first flight of 10 = {r * p['rtt'] / 1e3:.1f} s, beside a turn of {p['rtt']} ms and {S / eff(p['rate']):.2f} s of the link; tcp_rmem[1] is 2 MiB, so that the receiver's window is never the smaller one", data(S, "www/file"), base="web", more=["--set", "host.tcp_rmem=4096 2097152 6291456"])
# cwnd/policer
while True:
    r, b = R.choice([8, 10, 13]), R.choice([24, 32, 44, 60]); p = dict(rtt=R.choice([38, 46, 58, 70]), rate=0, cc="reno", queue="", loss=0)
    if 0.45 < b * 1024 / (eff(r) * p["rtt"] / 1e3) < 0.9: break
case("policer-git-ssh", p, SSHD, "GIT_SSH_COMMAND=\"ssh -F $PWD/sshd/client\" timeout 11 git -C tree push -q ssh://root@{server}$PWD/copy.git main; true", "up", ["cwnd/policer"],
     f"a bucket of {b} KiB at {r} Mbit/s, no queue: drops at a constant rate, BDP {eff(r) * p['rtt'] / 1e3 / 1024:.0f} KiB; one pack or 11 s, setup 14 turns {p['rtt'] * .014:.1f} s", data(eff(r) * 5.5, "tree/data") + COMMIT, base="ssh git", more=["--policer", f"{r}mbit:{b}KiB"])
# path/full: BBR with a binary log; Reno through an SSH tunnel
p = path([24, 34, 46], [12, 15, 18], cc="bbr", queue="2bdp"); n = int(eff(p["rate"]) * 6.5 / 100100)
case("full-binlog", p, f"(until mariadb-admin --no-defaults -S socket ping; do sleep 0.1; done; {{ echo 'create table b (v longblob) engine=aria;'; for i in $(seq {n}); do echo 'insert into b values (repeat(random_bytes(1000), 100));'; done; }} | {LOCAL}) >/dev/null 2>&1 & " + MARIA.format(more="--log-bin=$PWD/data/log --binlog-format=row --server-id=1 "),
     f"sleep 4; " + BINLOG + "--raw -r $PWD/ --to-last-log log.000001 2>/dev/null", "down", ["path/full"], f"BBR, a queue of 2 BDP ({bdp(p) / MSS:.0f} segments each): a binary log of {n * .1:.1f} MB at {mbit(eff(p['rate']))} = {n * 100100 / eff(p['rate']):.1f} s, some 8 turns before it", base="mariadb")
p = path([26, 34, 42], [13, 16, 19], cc="reno", queue="3bdp", reverse=7)
case("full-ssh-tunnel", p, f"socat -u UNIX-LISTEN:deep,fork OPEN:got,creat >/dev/null 2>&1 & {SSHD}", "ssh -F sshd/client -N -L $PWD/tunnel:$PWD/deep root@{server} & until [ -S tunnel ]; do sleep 0.1; done; socat -u -b 65536 FILE:file UNIX-CONNECT:tunnel; sleep 0.5; kill $!; wait", "up", ["path/full"],
     f"Reno, a queue of 3 BDP ({bdp(p) / MSS:.0f} segments each): after a drop 200 % of the BDP; {eff(p['rate']) * 6.5 / 1e6:.1f} MB through a forwarded socket (OpenSSH's channel: 2 MiB, {2 ** 21 / bdp(p):.0f} BDP); ACKs need at most {eff(p['rate']) / MSS / 2 * 66 * 8 * 2 / 1e6:.1f} of the 7 Mbit/s back; setup 10 turns {p['rtt'] * .01:.1f} s", data(eff(p["rate"]) * 6.5), base="ssh")
# path/mtu
BLACK = ["--inner-mtu", "1400", "--pmtud", "black-hole"]
p = path([28, 38, 52], [18, 32])
case("mtu-ssh-hello", p, SSHD, "timeout 9 ssh -F sshd/client root@{server} true; true", "up", ["path/mtu"],
     "the classic of ssh: the banner of 40 B is acknowledged, the client's KEXINIT of more than 1,448 B begins with a segment of 1,500 B that never arrives: timers of 0.2 s + rtt, doubled each time, the last copy at 3 to 7 s of the 9 s; the server's smaller KEXINIT passes. Near the receiver there are two segments in 0.1 s, a hole before the second, and nothing more: too short, or what an event says", base="ssh", more=BLACK, far=["None", "path/mtu", "app/turns"])
p = path([28, 38, 52], [18, 32]); big = R.choice([90000, 160000]); g = R.choice([3, 4])
case("mtu-smb-get", p, SMBD, f"timeout 9 {SMB} -c '{'; '.join(['get small got'] * g)}; get file got' >/dev/null 2>&1; true", "down", ["path/mtu"],
     f"the session's setup and {g} files of 600 B arrive, some {8 + 4 * g} turns = {(8 + 4 * g) * p['rtt'] / 1e3:.1f} s, {big} B in segments of 1500 B never: timers of 0.2 s + rtt, doubled each time, 4 s and more of the 9 s", data(600, "files/small") + "; " + data(big, "files/file"), base="smb", more=BLACK, far=["app/turns"])
# path/silence
p = path([24, 27, 30], [10, 12], cc="reno", queue="1.5bdp"); at, hold = R.uniform(1.5, 1.6), R.uniform(4.3, 4.5); D = 1.5
case("silence-curl-scp", p, SSHD, LIBSSH + "-T file scp://{server}:8000$PWD/got", "up", ["path/silence"], f"{D} s of data after 14 turns = {p['rtt'] * .014:.1f} s and ssh's part of a second; nothing passes for {hold:.1f} s and until the next timer, which doubles (0.26 to 0.3 s: 3.9 to 4.5 s, 8 to 9.3 s): {hold:.1f} to 9.3 s of silence, at least {100 * hold / (hold + D + 1.2):.0f} % with setup and slow start",
     data(eff(p["rate"]) * D), base="ssh", more=["--change", f"{at:.1f}s,for={hold:.1f}s,loss=100%"])
# path/shared
n = R.choice([3, 5]); p = path([16, 20, 24], [21, 26], cc="bbr", queue="1.5bdp")
case("shared-h2load", p, "exec nghttpd --no-tls -d $PWD 8000", f"timeout 10 h2load -n {n} -c {n} -m 1 http://{{server}}:8000/file >out; true", "down", ["path/shared", "path/full"], f"{n} connections at once for some 7 s share {p['rate']} Mbit/s, each about {100 / n:.0f} %; the sum fills the link (BBR)", data(eff(p["rate"]) * 7 / n))
# cpu/quota: sshd that compresses, a MariaDB client that compresses; cpu/busy: rsync with a high level
def quota(ms, name): return f"mkdir -p /sys/fs/cgroup/cpu/{name}; echo {ms}000 >/sys/fs/cgroup/cpu/{name}/cpu.cfs_quota_us; echo $$ >/sys/fs/cgroup/cpu/{name}/cgroup.procs; "
def hexes(size, name): return f"head -c {int(size) // 3} /dev/urandom | od -An -v -tx1 >{name}"
p = path([4, 6], [46], queue="150p")
case("cpu-ssh-compress", p, quota(10, "held-out-5b-server") + SSHD, "timeout 15 ssh -C -F sshd/client root@{server} cat $PWD/file >copy; true", "down", ["app/rate", "app/response"],
     "10 ms of CPU each 100 ms for sshd and its cat: zlib (10 MB/s in, 4.4 MB/s out with a whole CPU) makes 6.0 MB to 2.7 MB in some 7 s = 3 Mbit/s of 46, 40 kB each 0.1 s = 8 ms of the link; 90 of 100 ms it is throttled. Packets show a sender that offers less; after each 96 KiB of plain text the client adjusts the channel's window by some 50 B, and where that comes when nothing is outstanding, the gap after it is a response by the definition. Sockets with the process show the quota", hexes(5.9e6, "file"), base="ssh", sockets=["cpu/quota"])
p = path([4, 6], [46], queue="150p")
case("cpu-mariadb-compress", p, MARIA.format(more="--max-heap-table-size=256M "), quota(10, "held-out-5b-client") + "timeout 15 mariadb --no-defaults -C -A -N -D mysql -h {server} -P 8000 --local-infile=1 -e \"create table l (v varchar(60)) engine=aria charset=latin1; load data local infile 'file' into table l\" >out; true", "up", ["app/rate"],
     "10 ms of CPU each 100 ms for the client, which compresses its protocol (-C): zlib makes 13 MB of lines to 6.3 MB in some 7 s = 7 Mbit/s of 46, some 90 kB each 0.1 s = 17 ms of the link; 90 of 100 ms it is throttled. Packets show a sender that offers less, sockets with the process the quota", hexes(12.7e6, "file"), base="mariadb", sockets=["cpu/quota"])
p = path([4, 6], [58], queue="150p")
case("cpu-rsync-level", p, RSYNCD, "timeout 13 rsync -W --zc=zstd --zl=19 rsync://{server}:8000/files/file copy; true", "down", ["app/rate"],
     "zstd at level 19 keeps one thread of the daemon busy (at most 1.3 MB/s in, 0.55 MB/s out with a whole CPU): 4.5 MB become 1.9 MB in 3.5 s or more = at most 4.3 Mbit/s of 58, in pieces of some 54 kB each 0.1 s or more that the link takes in 8 ms. Packets show a sender that offers less, sockets with the process a thread that computes all the time, or waits for a CPU where the machine has other work", hexes(4.4e6, "files/file"), base="rsync", sockets=["cpu/busy", "cpu/waiting"])
# pacing/program
r = R.choice([4, 6, 7]); p = path([16, 36, 56], [28, 38], cc="reno"); v = r * 125000
case("pacing-git-proxy", p, GITD.replace("--export-all", "--export-all --enable=receive-pack"), "git -C tree -c core.gitProxy=$PWD/proxy push -q git://{server}:8000/copy.git main; true", "up", ["pacing/program", "app/rate"],
     f"git's core.gitProxy is a socat that sets SO_MAX_PACING_RATE (option 47) to {r} Mbit/s of {p['rate']}: {v * 7 / 1e6:.1f} MB in 7 s, git always has more to send; 4 turns of setup", f"printf '#!/bin/sh\\nexec socat -t 10 -b 65536 - TCP:$1:$2,setsockopt-int=1:47:{v}\\n' >proxy; chmod +x proxy; " + data(v * 7, "tree/data") + COMMIT, base="git", sockets=["pacing/program"])
# app
p = path([56, 64, 76], [34, 42], cc="bbr", queue="2bdp"); v = 65535 / p["rtt"] * 1e3
case("window-node-h2", p, "exec node h2.js serve file", "sleep 0.7; node h2.js get {server}", "down", ["app/window", "app/turns"], f"Node's HTTP/2 client gives 65,535 B, each {p['rtt']} ms = {mbit(v)} of {p['rate']}, {100 * 65535 / bdp(p):.0f} % of the BDP; sent at once it is a turn for each batch; 4 rounds of slow start first", data(v * 6.5))
p = path([60, 72, 86], [34, 42], cc="bbr", queue="2bdp"); v = 65535 / (p["rtt"] / 1e3 + 0.004)
case("turns-curl-sftp", p, SSHD, LIBSSH + "-T file sftp://{server}:8000$PWD/got", "up", ["app/turns", "app/window"], f"libssh2 sends 64 KiB in three SFTP writes and waits for the three answers: {p['rtt']} ms for each = {mbit(v)} of {p['rate']}, {100 * 65535 / bdp(p):.0f} % of the BDP; the same number of bytes each round trip is a window too; setup 14 turns {p['rtt'] * .014:.1f} s", data(v * 5.5), base="ssh")
s = R.choice([230, 340]); p = path([8, 11, 14], [17, 25]); n = int(7 / (2 * p["rtt"] / 1e3 + 0.041))
case("nagle-bash", p, "exec systemd-socket-activate -l 8000 --inetd -a sed -u 'N;s/.*/done/' 2>/dev/null", f"exec bash -c 'v=$(printf %0{s}d 0); exec 3<>/dev/tcp/{{server}}/8000; for i in $(seq {n}); do echo $v >&3; echo $v >&3; read -r answer <&3; done'", "up", ["app/nagle"],
     f"{n} requests of two lines of {s} B, one write each, and one answer of 5 B: the second line waits for the ACK of the first, {p['rtt']} ms + 40 ms, beside {p['rtt']} ms of turn: {100 * (p['rtt'] + 40) / (2 * p['rtt'] + 40):.0f} %")
s = R.choice([700, 1100, 1300]); p = path([10, 16, 22], [17, 25]); n = int(7 / (p["rtt"] / 1e3 + 0.041))
case("delayed-ack-drain", p, "exec socat -u TCP-LISTEN:8000,rcvlowat=200000 OPEN:got,creat", f"/usr/bin/python3 drain.py {{server}} {n} {s}", "up", ["app/delayed_ack"],
     f"{n} records of {s} B, the next when the last is acknowledged; the receiver sleeps until 200,000 B are there (SO_RCVLOWAT), so that reading never sends an ACK: after the first 16 it is delayed by 40 ms: {p['rtt']} + 40 ms each, TCP_NODELAY is set")
p = path([11, 14, 18], [17, 25]); t, w = R.choice([(0.07, 2400), (0.09, 3200)]); n = int(7 / t)
case("rate-binlog", p, f"(until mariadb-admin --no-defaults -S socket ping; do sleep 0.1; done; {{ echo 'create table b (v longblob) engine=aria;'; for i in $(seq {n + 60}); do echo 'insert into b values (repeat(random_bytes({w // 4}), 4)); do sleep({t});'; done; }} | {LOCAL}) >/dev/null 2>&1 & " + MARIA.format(more="--log-bin=$PWD/data/log --binlog-format=row --server-id=1 "),
     "sleep 3.5; timeout 8 " + BINLOG + "--raw -r $PWD/ --stop-never --stop-never-slave-server-id=7 log.000001 2>/dev/null; true", "down", ["app/rate"], f"a replication stream: a row of {w // 4 * 4} B each {t * 1e3:.0f} ms = {mbit(w / t)} of {p['rate']}, all of it arrives; what was there before (3 s of it, {3 / t * w / 1e3:.0f} kB) takes {rounds(3 / t * w) + 1} round trips", base="mariadb")
think = R.choice([130, 170]); s = R.choice([600, 2600]); p = path([12, 18, 24], [17, 25]); n = int(7 / (think / 1e3 + p["rtt"] / 1e3))
case("response-h2load", p, f"exec node serve.js {think} {s}", f"sleep 0.7; h2load --h1 -n {n} -c 1 -m 1 http://{{server}}:8000/ >out", "down", ["app/response"], f"{n} answers, {think} ms of think time each beside {p['rtt']} ms of turn: {100 * think / (think + p['rtt']):.0f} %")
pause = R.choice([0.2, 0.3]); s = R.choice([900, 4200]); p = path([12, 18, 24], [17, 25])
case("request-psql-watch", p, PG, READY + f"echo \"select repeat('w', {s}) \\\\watch {pause}\" | timeout 8 {BIN}psql -X -q -A -t -h {{server}} -p 8000 -U postgres postgres >rows; true", "down", ["app/request"], f"psql asks again after {pause * 1e3:.0f} ms, for 8 s, beside {p['rtt']} ms of turn: {100 * pause * 1e3 / (pause * 1e3 + p['rtt']):.0f} %", base="pg")
p = path([24, 36, 44], [34, 42]); L = R.choice([180, 260, 420])
case("receiver-pv", p, NG, f"curl -s http://{{server}}:8000/file | pv -q -L {L}k >got", "down", ["receiver"], f"pv passes {L} KiB/s = {mbit(L * 1024)} of {p['rate']} on, for 7 s, then curl's pipe is full and it reads no more; tcp_rmem[2] is 384 KiB: at most 400 kB fill pipe and buffer in 0.3 s, then the window is 0", data(L * 1024 * 7 + 300000, "www/file"), base="web", more=["--set", f"host.tcp_rmem=4096 131072 {384 * 1024}"])

print("# 40 causes with real programs, drawn at random (seed %d), with the answers by arithmetic before the first run.\n"
      "# `answer`: limited_by/cause of the flow with most bytes; `active`: of active_limited_by/active_cause; `answer_near_receiver` where the receiver's packets can only show that, `answer_sockets` where sockets show more than packets.\n" % SEED)
for c in out:
    print("[[case]]")
    for k, v in c.items():
        if v != "": print(f"{k} = {json.dumps(v, ensure_ascii=False)}")
    print()

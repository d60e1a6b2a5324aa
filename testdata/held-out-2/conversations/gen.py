#!/usr/bin/env python3
"""Draws 40 conversations and writes the answers by arithmetic: gen.py >conversations.toml"""
import json, math, random
SEED = 20261201
R = random.Random(SEED)
MSS, IW = 1448, 10
out = []

def eff(rate): return rate * 1e6 / 8 * MSS / 1514   # payload bytes/s of a link that counts IP + 14
def mbit(x): return f"{x * 8 / 1e6:.1f} Mbit/s"
def path(rtts, rates, cc=None, queue=None, loss=0): return dict(rtt=R.choice(rtts), rate=R.choice(rates), cc=cc or R.choice(["reno", "reno", "bbr"]), queue=queue or R.choice(["1bdp", "1.5bdp", "120p"]), loss=loss)
def args(p):
    return ["--rtt", f"{p['rtt']}ms", "--rate", f"{p['rate']}mbit", "--reverse-rate", f"{p['rate']}mbit", "--queue", p["queue"],
            "--set", f"host.congestion_control={p['cc']}"] + (["--loss", f"{p['loss']}%"] if p["loss"] else [])
def bdp(p): return eff(p["rate"]) * p["rtt"] / 1e3 / MSS
def law(p): return 1.22 / math.sqrt(p["loss"] / 100) * MSS

def case(family, p, server, client, direction, answer, why, prepare="", base=""):
    out.append(dict(name=f"{len(out) + 1:02d}-{family}", path=args(p), base=base, prepare=prepare, server=server, client=client, direction=direction, answer=answer, arithmetic=why))

def shares(least=0.62, **s):
    """The answer and its text from seconds of each holder; the first must have at least 62 %."""
    s = {k.replace("_", "/", 1): v for k, v in s.items()}
    total = sum(s.values()); order = sorted(s.items(), key=lambda kv: -kv[1])
    assert order[0][1] >= least * total, (order, out[-1:])
    return [order[0][0]], ", ".join(f"{k} {v:.2f} s ({100 * v / total:.0f} %)" for k, v in order if v > 0.01 * total)

def turns(p, per, size, seconds=(5, 7)):
    """How many operations of `per` turns with `size` bytes of payload fill the time; an answer of less than a first window and a round trip of link belongs to its turn."""
    rtt = p["rtt"] / 1e3; link = size / eff(p["rate"])
    assert size <= IW * MSS and link < 0.35 * rtt, (p, size)
    return max(12, int(R.uniform(*seconds) / (per * rtt + link))), rtt, link

PG = ("exec setpriv --reuid=postgres --regid=postgres --clear-groups /usr/lib/postgresql/15/bin/postgres -D $PWD/pg -p 8000 -c 'listen_addresses=*' -c unix_socket_directories= "
      "-c fsync=off -c shared_buffers=16MB -c max_connections=10 -c autovacuum=off -c jit=off 2>/dev/null")
BIN = "/usr/lib/postgresql/15/bin/"
READY = f"until {BIN}pg_isready -q -h {{server}} -p 8000; do sleep 0.1; done; "
PSQL = f"{BIN}psql -X -q -A -t -h {{server}} -p 8000 -U postgres postgres"
BENCH = f"{BIN}pgbench -n -c 1 -h {{server}} -p 8000 -U postgres"
REDIS = "exec redis-server --port 8000 --unixsocket sock --protected-mode no --save '' >/dev/null"
NG = "exec /usr/sbin/nginx -p $PWD -c nginx.conf 2>/dev/null"
SSHD = "exec /usr/sbin/sshd -D -e -f $PWD/sshd/server 2>/dev/null"
SMBD = "exec /usr/sbin/smbd -F --no-process-group -s smb.conf -l $PWD/smb >/dev/null 2>&1"
SMB = "smbclient -N -I {server} -p 8000 //server/files"
RSYNC = "exec rsync --daemon --no-detach --config rsyncd.conf"
BOX = "exec /usr/bin/python3 box.py "
BOXC = "/usr/bin/python3 boxc.py "
X = "$(head -c {n} /dev/zero | tr '\\0' x)"
def random_file(size, name="file"): return f"head -c {size} /dev/urandom >{name}"
SSH = "-F sshd/client"

# --- app/turns -----------------------------------------------------------------------------------------------------------------
# PostgreSQL: a cursor that psql fetches in batches
p = path([28, 45, 75], [18, 28, 36], cc="reno"); k = R.choice([20, 30, 40]); w = R.choice([120, 180, 240]); n, rtt, link = turns(p, 1, k * (w + 20))
a, t = shares(app_turns=(n + 6) * (rtt + link), app_response=n * 0.001)
case("pg-fetch", p, PG, READY + f"{PSQL} -v FETCH_COUNT={k} -c \"select i, repeat('x', {w}) from generate_series(1, {n * k}) i\" >rows", "down", a, f"{n} FETCHes of {k} rows of {w + 20} B, six turns more to begin and end: {t}", base="pg")
# PostgreSQL: transactions of four statements (pgbench)
p = path([9, 17, 33], [14, 22]); w = R.choice([90, 300, 650]); n, rtt, link = turns(p, 4, 2 * w + 150)
a, t = shares(app_turns=n * (4 * rtt + link), app_response=n * 0.0008)
case("pgbench-transaction", p, PG, READY + f"{BENCH} -t {n} -f script postgres >out 2>&1", "down", a, f"{n} transactions of four statements (begin, two selects of {w} B, commit), a turn each: {t}",
     prepare=f"printf \"begin;\\nselect repeat('a', {w});\\nselect repeat('b', {w});\\ncommit;\\n\" >script", base="pg")
# redis-cli reads commands from a file
p = path([38, 65, 95], [16, 26], cc="reno"); S = R.choice([1800, 3200, 5200]); n, rtt, link = turns(p, 1, S)
a, t = shares(app_turns=n * (rtt + link))
case("redis-script", p, REDIS, f"echo \"set key {X.format(n=6000)}\" | redis-cli -h {{server}} -p 8000 >/dev/null; for i in $(seq {n}); do echo 'getrange key 0 {S - 1}'; done | redis-cli -h {{server}} -p 8000 >got", "down", a,
     f"{n} GETRANGEs of {S} B, one after the other: {t}")
# smbclient mput
p = path([33, 48, 70], [12, 24, 40]); S = R.choice([2500, 4000, 9000]); n, rtt, link = turns(p, 3.5, S)
a, t = shares(app_turns=(3.5 * n + 9) * rtt + n * link, app_request=4 * n * 0.002)
case("smb-mput", p, SMBD, f"{SMB} -c 'lcd up; prompt off; mput *' 2>/dev/null", "up", a, f"{n} files of {S} B up, three to four requests each, nine to set up, 2 ms of smbd each: {t}", prepare=f"/usr/bin/python3 many.py {n} {S}; mv files up.new; rmdir up; mv up.new up; mkdir files", base="smb")
# sftp: a batch of small uploads
p = path([42, 58, 85], [10, 20, 32]); S = R.choice([1500, 4000, 8000]); n, rtt, link = turns(p, 3, S)
a, t = shares(app_turns=(3 * n + 10) * rtt + n * link, app_request=0.4)
case("sftp-mput", p, SSHD, f"sftp -q {SSH} -b batch root@{{server}} >/dev/null", "up", a, f"{n} files of {S} B up: open, write, close; ten turns and 0.4 s of processors to set up: {t}",
     prepare=f"/usr/bin/python3 many.py {n} {S}; echo \"put files/* $PWD/got/\" >batch", base="ssh")
# scp -r (by SFTP): many small downloads
p = path([22, 36, 52], [10, 20, 32]); S = R.choice([3000, 6000]); n, rtt, link = turns(p, 4, S)
a, t = shares(app_turns=(4 * n + 12) * rtt + n * link, app_response=0.4)
case("scp-tree", p, SSHD, f"scp -q -r {SSH} root@{{server}}:$PWD/files copy", "down", a, f"{n} files of {S} B down: stat, open, read, close; twelve turns and 0.4 s of processors to set up: {t}", prepare=f"/usr/bin/python3 many.py {n} {S}", base="ssh")
# git clone from a dumb HTTP server: one GET for each loose object
p = path([24, 40, 60], [15, 25, 45], cc="reno"); S = R.choice([900, 2200, 4500]); n, rtt, link = turns(p, 1, S + 300)
a, t = shares(app_turns=(n + 8) * (rtt + link), app_request=n * 0.001)
case("git-dumb-http", p, NG, "git -c http.maxRequests=1 clone -q http://{server}:8000/files/.git copy", "down", a, f"{n} objects of {S} B, a GET each, and eight more: {t}",
     prepare=f"rmdir files; mkdir files; /usr/bin/python3 many.py {n} {S}; git -C files init -q -b main; git -C files add .; git -C files -c user.name=a -c user.email=a@example.org commit -q -m all; git -C files update-server-info", base="nginx")
# wget: a list of addresses on one connection
p = path([55, 68, 130], [9, 18, 30], cc="reno"); S = R.choice([2000, 5000, 11000]); n, rtt, link = turns(p, 1, S + 250)
a, t = shares(app_turns=n * (rtt + link))
case("wget-list", p, NG, f"for i in $(seq {n}); do echo \"http://{{server}}:8000/file?$i\"; done | wget -q -i - -O got", "down", a, f"{n} files of {S} B on one connection: {t}", prepare=random_file(S), base="nginx")
# curl: many PUTs on one connection
p = path([32, 47, 64], [12, 24, 40], cc="reno"); S = R.choice([2500, 5000, 9000]); n, rtt, link = turns(p, 1, S + 150)
a, t = shares(app_turns=n * (rtt + link), app_request=n * 0.001)
case("curl-puts", p, NG, f"curl -s -T 'files/f[0-{n - 1}]' http://{{server}}:8000/up/ >out", "up", a, f"{n} PUTs of {S} B on one connection, head and body without a wait between: {t}", prepare=f"rmdir files; mkdir files; /usr/bin/python3 many.py {n} {S}", base="nginx")
# HTTP/2: one request at a time
p = path([26, 72, 105], [14, 21, 35]); S = R.choice([1200, 4000, 6500]); n, rtt, link = turns(p, 1, S)
a, t = shares(app_turns=n * (rtt + link))
case("h2load-serial", p, "exec nghttpd --no-tls -d $PWD 8000", f"h2load -n {n} -c 1 -m 1 http://{{server}}:8000/file >out", "down", a, f"{n} requests of HTTP/2, one at a time, {S} B each: {t}", prepare=random_file(S))
# a mail client
p = path([23, 41, 88], [16, 21, 26]); S = R.choice([2000, 5000, 9000]); n, rtt, link = turns(p, 4, S)
a, t = shares(app_turns=(4 * n + 2) * rtt + n * link)
case("smtp", p, BOX + "mail", BOXC + f"mail {n} {S}", "up", a, f"{n} mails of {S} B, four turns each (sender, recipient, DATA, text): {t}")
# a cache client that asks for several values at once
p = path([13, 21, 34], [11, 19, 31], cc="reno"); each = R.choice([3, 4]); S = R.choice([400, 700]); n, rtt, link = turns(p, 1, each * (S + 30))
a, t = shares(app_turns=n * (rtt + link))
case("cache-gets", p, BOX + "kv", BOXC + f"get {n} {S} {each}", "down", a, f"{n} times {each} gets in one write, {S} B each: {t}")

# --- app/request, app/response -------------------------------------------------------------------------------------------------
p = path([16, 32, 44], [10, 30]); pause = R.choice([160, 220, 310]); w = R.choice([300, 700, 4000]); n = int(R.uniform(5.5, 7.5) / (pause + p["rtt"]) * 1e3)
a, t = shares(app_request=n * pause / 1e3, app_turns=n * p["rtt"] / 1e3, app_response=n * 0.001)
case("pgbench-pause", p, PG, READY + f"{BENCH} -t {n} -f script postgres >out 2>&1", "down", a, f"{n} selects of {w} B, {pause} ms of sleep of the client after each: {t}", prepare=f"printf \"select repeat('a', {w});\\n\\\\\\\\sleep {pause} ms\\n\" >script", base="pg")
p = path([18, 27, 46], [13, 23]); per = R.choice([3, 4]); S = R.choice([800, 6000]); n = int(R.uniform(6, 7.5) * per); rtt = p["rtt"] / 1e3
a, t = shares(app_request=n * (1 / per - rtt), app_turns=n * rtt)
case("curl-rate", p, NG, f"curl -s --rate {per}/s -o got 'http://{{server}}:8000/file?[1-{n}]'", "down", a, f"{n} files of {S} B, begun {1e3 / per:.0f} ms apart: {t}", prepare=random_file(S), base="nginx")
p = path([22, 31, 39], [12, 33]); commit = R.choice([95, 130, 180]); S = R.choice([1100, 3000, 7000]); n = int(R.uniform(5.5, 7.5) / (commit + p["rtt"]) * 1e3)
a, t = shares(app_request=n * commit / 1e3, app_turns=n * p["rtt"] / 1e3)
case("cache-commit", p, BOX + f"kv {commit}", BOXC + f"set {n} {S}", "up", a, f"{n} values of {S} B up, the server commits {commit} ms before it answers; for the upload nothing is owed meanwhile: {t}")

p = path([23, 37, 56], [11, 27]); think = R.choice([0.14, 0.17, 0.24]); w = R.choice([400, 2600]); n = int(R.uniform(5.5, 7.5) / (think + p["rtt"] / 1e3))
a, t = shares(app_response=n * think, app_turns=n * p["rtt"] / 1e3)
case("pg-think", p, PG, READY + f"for i in $(seq {n}); do echo \"select repeat('x', {w}) from pg_sleep({think});\"; done | {PSQL} >rows", "down", a, f"{n} selects of {w} B that take {think * 1e3:.0f} ms: {t}", base="pg")
p = path([25, 34, 43], [15, 29]); every = R.choice([0.19, 0.23, 0.28]); w = R.choice([500, 900]); n = int(R.uniform(5.5, 7) / every); rtt = p["rtt"] / 1e3
a, t = shares(app_response=n * (every - rtt), app_turns=n * rtt)
case("redis-queue", p, f"x={X.format(n=w)}; (sleep 1; for i in $(seq {n}); do redis-cli -s sock rpush jobs $x; sleep {every}; done) >/dev/null 2>&1 & " + REDIS, f"for i in $(seq {n}); do echo 'blpop jobs 0'; done | redis-cli -h {{server}} -p 8000 >got", "down", a,
     f"{n} BLPOPs, a producer beside the server has one job of {w} B each {every * 1e3:.0f} ms: {t}")
p = path([29, 49, 66], [8, 17]); hold = R.choice([210, 280, 350]); S = R.choice([700, 1500, 5000]); n = int(R.uniform(5.5, 7.5) / (hold + p["rtt"]) * 1e3)
a, t = shares(app_response=n * hold / 1e3, app_turns=n * p["rtt"] / 1e3)
case("long-poll", p, "exec /usr/bin/python3 srv.py", BOXC + f"poll {n} {S} {hold}", "down", a, f"{n} polls, each held for {hold} ms, {S} B: {t}")

# --- app/window ----------------------------------------------------------------------------------------------------------------
p = path([80, 90, 105], [35, 42], cc="reno", queue="1bdp"); q, B = R.choice([5, 6]), 16384; W = q * B; by = W / (p["rtt"] / 1e3); sec = 6.0; size = int(by * sec); assert by < 0.35 * eff(p["rate"])
a, t = shares(app_window=sec - 2 * p["rtt"] / 1e3, app_turns=11 * p["rtt"] / 1e3, cwnd_startup=3 * p["rtt"] / 1e3, app_request=0.3)
case("sftp-put-few", p, SSHD, f"sftp -q {SSH} -R {q} -B {B} -b batch root@{{server}} >/dev/null", "up", a, f"{q} writes of {B} B outstanding = {W} B each {p['rtt']} ms = {mbit(by)} of {p['rate']}; the statuses are small and come while others are out: {t}",
     prepare=random_file(size) + '; echo "put file $PWD/copy" >batch', base="ssh")
p = path([65, 78, 92], [20, 24], cc="reno", queue="1bdp"); W = 65535; by = W / (p["rtt"] / 1e3); sec = R.uniform(5, 6.5); size = int(by * sec); assert by < 0.45 * eff(p["rate"])
a, t = shares(app_window=sec, cwnd_startup=3 * p["rtt"] / 1e3)
case("nghttp-upload", p, "exec nghttpd --no-tls -d $PWD 8000", "nghttp -n -d file http://{server}:8000/ >out", "up", a, f"HTTP/2's first window of {W} B, given again in halves, each {p['rtt']} ms = {mbit(by)} of {p['rate']}; the halves take {32768 / eff(p['rate']) * 1e3:.0f} ms of link each and stay apart: {t}", prepare=random_file(size))
p = path([100, 115, 125], [12, 14], cc="reno", queue="1bdp"); C, S = R.choice([14, 16]), R.choice([4300, 4700]); W = C * S; by = W / (p["rtt"] / 1e3); sec = R.uniform(5.5, 7); n = int(by * sec / S); assert by < 0.5 * eff(p["rate"])
a, t = shares(app_window=sec, cwnd_startup=3 * p["rtt"] / 1e3)
case("queue-prefetch", p, BOX + f"queue {n} {S} {C}", BOXC + f"consume {n} {S}", "down", a, f"{C} messages of {S} B not confirmed = {W} B each {p['rtt']} ms = {mbit(by)} of {p['rate']}; each confirmation of some 8 B gives one more: {t}")

# --- app/nagle, app/delayed_ack ------------------------------------------------------------------------------------------------
p = path([8, 12, 16], [10, 18], cc="reno"); rtt = p["rtt"] / 1e3; S = R.choice([250, 600, 1100]); n = int(R.uniform(5, 6.5) / (2 * rtt + 0.043))
a, t = shares(app_nagle=n * (rtt + 0.043), app_turns=n * rtt)
case("cache-set-nagle", p, BOX + "kv", BOXC + f"set2 {n} {S}", "up", a, f"{n} commands and values in two writes without TCP_NODELAY: the value, {S} B, waits for the ACK of the command, a round trip and 43 ms (measured on loopback): {t}")
p = path([7, 11, 14], [9, 20]); rtt = p["rtt"] / 1e3; S = R.choice([200, 500, 900]); n = int(R.uniform(5, 6.5) / (2 * rtt + 0.043))
a, t = shares(app_nagle=n * (rtt + 0.043), app_turns=n * rtt)
case("parts-nagle", p, BOX + "parts", BOXC + f"read {n} {S}", "down", a, f"{n} answers in three writes without TCP_NODELAY: the second and the third, {S} B, wait for the ACK of the first, a round trip and 43 ms: {t}")
p = path([10, 15, 20], [10, 24], cc="reno"); rtt = p["rtt"] / 1e3; n = int(R.uniform(5, 6.5) / (rtt + 0.043))
case("log-delayed-ack", p, BOX + "log", BOXC + f"log {n} 1448", "up", ["app/delayed_ack"], f"{n} records of one full segment, written when TCP's queue is empty (SIOCOUTQ), to a reader with TCP_QUICKACK 0: each ACK comes {p['rtt']} + 43 ms after its record (on loopback: 43 ms), {n * (rtt + 0.043):.1f} s; nothing else is waited for")

# --- app/rate ------------------------------------------------------------------------------------------------------------------
p = path([26, 35, 42], [7, 19]); every = R.choice([0.13, 0.16, 0.2]); w = R.choice([900, 1900, 3000]); n = int(R.uniform(5, 6.5) / every)
case("redis-subscribe", p, f"x={X.format(n=w)}; (sleep 1.5; for i in $(seq {n}); do redis-cli -s sock publish news $x; sleep {every}; done) >/dev/null 2>&1 & " + REDIS, f"timeout {int(n * (every + 0.01) + 3.5)} redis-cli -h {{server}} -p 8000 subscribe news >got; true", "down", ["app/rate"],
     f"{n} messages of {w} B, one each {every * 1e3:.0f} ms and what redis-cli takes, unasked: {mbit(w / every)} of {p['rate']}, the request's turn is {p['rtt']} ms")
p = path([24, 30, 38], [6, 13]); every = R.choice([0.15, 0.18]); w = R.choice([3000, 4000]); n = int(R.uniform(6.5, 7.5) / every)
a, t = shares(app_rate=n * every, app_turns=10 * p["rtt"] / 1e3, app_response=0.4)
case("ssh-telemetry", p, SSHD, f"for i in $(seq {n}); do head -c {w} /dev/urandom; sleep {every}; done | ssh {SSH} root@{{server}} \"cat >$PWD/got/log\"", "up", a, f"{n} records of {w} B, one each {every * 1e3:.0f} ms = {mbit(w / every)} of {p['rate']}: {t}", base="ssh")
p = path([12, 18, 23], [17, 28]); L = R.choice([180, 240, 320]); size = int(L * 1024 * R.uniform(6, 7.5))
a, t = shares(app_rate=size / 1024 / L, app_turns=6 * p["rtt"] / 1e3)
case("rsync-bwlimit", p, RSYNC, f"rsync -aW --bwlimit={L} file rsync://{{server}}:8000/got/", "up", a, f"rsync's own limit of {L} KiB/s = {mbit(L * 1024)} of {p['rate']}, sleeps of 100 ms and more: {t}", prepare=random_file(size), base="rsync")

# --- receiver ------------------------------------------------------------------------------------------------------------------
p = path([17, 29, 38], [22, 34], cc="reno"); L = int(eff(p["rate"]) * R.choice([0.08, 0.12])); rows = int(L * R.uniform(6, 7.5) / 515)
case("pg-copy-slow", p, PG, READY + f"{PSQL} -c \"copy (select i, repeat('x', 500) from generate_series(1, {rows}) i) to stdout\" | /usr/bin/python3 slowcat.py {L}", "down", ["receiver"],
     f"{rows * 515 / 1e6:.1f} MB, read at {mbit(L)} of {p['rate']}; the first window of 64 KiB alone allows {mbit(65536 / p['rtt'] * 1e3)}", base="pg")
p = path([15, 25, 33], [18, 26]); L = R.choice([170, 220, 290]); size = int(L * 1024 * R.uniform(6, 7.5))
case("wget-limit", p, NG, f"wget -q --limit-rate={L}k -O got http://{{server}}:8000/file", "down", ["receiver"], f"wget reads {mbit(L * 1024)} of {p['rate']} for {size / L / 1024:.1f} s; 64 KiB of first window allow {mbit(65536 / p['rtt'] * 1e3)}", prepare=random_file(size), base="nginx")
p = path([14, 26, 36], [16, 32]); L = R.choice([210000, 280000, 360000]); size = int(L * R.uniform(6, 7.5))
case("curl-slow-server", p, "exec /usr/bin/python3 srv.py", f"curl -s -H Expect: -T file http://{{server}}:8000/slow/{L} >out", "up", ["receiver"], f"the server reads {mbit(L)} of {p['rate']} for {size / L:.1f} s; 64 KiB of first window allow {mbit(65536 / p['rtt'] * 1e3)}", prepare=random_file(size))

# --- bulk: path/full, cwnd/startup, cwnd/random_loss, cwnd/queue_loss ----------------------------------------------------------
p = path([35, 50, 65], [9, 14], cc="bbr", queue="2bdp", loss=0.4); sec = R.uniform(5.5, 7); rows = int(eff(p["rate"]) * sec / 906)
case("pg-copy-out", p, PG, READY + f"{PSQL} -c \"copy (select i, repeat('x', 900) from generate_series(1, {rows}) i) to stdout\" >rows", "down", ["path/full"],
     f"{rows * 906 / 1e6:.1f} MB in one answer: BBR keeps 1 to 2 BDP ({bdp(p):.0f} segments) in flight and does not answer to 0.4 % of loss: {sec:.1f} s of link, about five turns ({5 * p['rtt']} ms) before", base="pg")
p = path([30, 40, 55], [7, 9], cc="reno", queue="80p"); sec = R.uniform(5.5, 7); w = 800; n = int(eff(p["rate"]) * sec / (w + 12))
case("redis-pipe", p, REDIS, "redis-cli -h {server} -p 8000 --pipe <commands >out", "up", ["path/full"], f"{n} SETs of {w} B in one stream: Reno, BDP {bdp(p):.0f} segments, queue 80: after a cut {50 * (bdp(p) + 80) / bdp(p):.0f} % of the BDP, so never empty; {sec:.1f} s of link",
     prepare=f"seq {n} | sed \"s/.*/set k& {X.format(n=w)}/\" >commands")
assert 0.5 * (bdp(p) + 80) > 1.2 * bdp(p)
p = path([48, 62, 70], [6, 8], cc="bbr", queue="2bdp"); sec = R.uniform(6, 7); F = R.choice([12000, 16000]); n = int(eff(p["rate"]) * sec / (F + 900))
a, t = shares(path_full=sec, app_turns=10 * p["rtt"] / 1e3, app_response=0.4)
case("tar-over-ssh", p, SSHD, f"mkdir copy; ssh {SSH} root@{{server}} \"tar -C $PWD -cf - files\" | tar -xf - -C copy", "down", a, f"{n} files of {F} B in one stream, {n * (F + 900) / 1e6:.1f} MB: BBR, BDP {bdp(p):.0f} segments, a queue of two, ssh's window 2 MiB is far above: {t}",
     prepare=f"/usr/bin/python3 many.py {n} {F}", base="ssh")

def flights(size):
    k, w, left = 1, IW * MSS, size
    while left > w: left -= w; w *= 2; k += 1
    return k, left / w
for up in (True, False):
    p = path([500, 530, 560] if up else [440, 470, 520], [55, 60], cc="reno", queue="1bdp"); size = R.randrange(1250000, 1550000); k, last = flights(size); rtt = p["rtt"] / 1e3
    assert k == 7 and 0.3 < last < 0.75 and size < eff(p["rate"]) * rtt * 0.7
    why = f"{size} B are {k} flights from ten segments on, doubled each {p['rtt']} ms, the last {size / eff(p['rate']) * 1e3:.0f} ms of link or less; BDP {bdp(p):.0f} segments, the largest flight 640"
    if up:
        case("curl-put-far", p, NG, "curl -s -H Expect: -T file http://{server}:8000/up/file", "up", ["cwnd/startup"], f"{why}: cwnd/startup {(k - 1) * rtt:.1f} s of {(k - 1) * rtt + 0.1:.1f} s, the client speaks first", prepare=random_file(size), base="nginx")
    else:
        a, t = shares(cwnd_startup=(k - 1) * rtt, app_turns=rtt)
        case("redis-big-value", p, f"(sleep 0.5; redis-cli -s sock -x set big <file) >/dev/null 2>&1 & " + REDIS, "sleep 2; redis-cli -h {server} -p 8000 get big >got", "down", a, f"{why}: {t}", prepare=f"head -c {size} /dev/zero | tr '\\0' x >file")

p = path([31, 37, 43], [38, 44], cc="reno", queue="150p", loss=R.choice([0.8, 1.0])); W = law(p); by = W / (p["rtt"] / 1e3); sec = R.uniform(5, 6.5); rows = int(by * sec / 201); assert by < 0.25 * eff(p["rate"])
case("pg-copy-in", p, PG, READY + f"{PSQL} -c 'create table t (v text)' -c '\\copy t from file'", "up", ["cwnd/random_loss"], f"{rows * 201 / 1e6:.1f} MB up, {p['loss']} % lost: {W / 1e3:.0f} kB each {p['rtt']} ms = {mbit(by)} of {p['rate']}",
     prepare=f"base64 -w 200 /dev/urandom | head -n {rows} >file", base="pg")
p = path([41, 46, 57], [28, 36], cc="reno", queue="150p", loss=R.choice([0.6, 0.7])); W = law(p); by = W / (p["rtt"] / 1e3); sec = R.uniform(6, 7); size = int(by * sec); assert by < 0.3 * eff(p["rate"])
a, t = shares(cwnd_random__loss=sec, app_turns=12 * p["rtt"] / 1e3)
case("smb-get-loss", p, SMBD, f"{SMB} -c 'get file copy' 2>/dev/null", "down", ["cwnd/random_loss"], f"{size / 1e6:.1f} MB, {p['loss']} % lost: {W / 1e3:.0f} kB each {p['rtt']} ms = {mbit(by)} of {p['rate']}; reads are asked for ahead: {t.replace('__', '_')}", prepare=random_file(size, "files/file"), base="smb")
p = path([27, 36, 49], [30, 45], cc="reno", queue="150p", loss=R.choice([0.9, 1.2])); W = law(p); by = W / (p["rtt"] / 1e3); sec = R.uniform(5.5, 6.5); size = int(by * sec); assert by < 0.3 * eff(p["rate"])
case("git-push-loss", p, "exec git daemon --reuseaddr --port=8000 --base-path=$PWD --export-all --enable=receive-pack $PWD 2>/dev/null", "git -C files push -q git://{server}:8000/copy.git main", "up", ["cwnd/random_loss"],
     f"a pack of {size / 1e6:.1f} MB up, {p['loss']} % lost: {W / 1e3:.0f} kB each {p['rtt']} ms = {mbit(by)} of {p['rate']}; one or two turns before, one after",
     prepare=f"mkdir files; {random_file(size, 'files/data')}; git -C files init -q -b main; git -C files add .; git -C files -c user.name=a -c user.email=a@example.org commit -q -m all; git init -q --bare copy.git")
for up in (True, False):
    p = path([52, 61, 74], [24, 27], cc="reno", queue=R.choice(["5p", "7p"])); q = int(p["queue"][:-1]); size = int(0.55 * eff(p["rate"]) * 6)
    why = f"{size / 1e6:.1f} MB: BDP {bdp(p):.0f} segments, queue {q} and a bucket of 22: slow start ends far below, after a drop at most {50 * (1 + q / bdp(p)):.0f} % of the BDP, then one segment a round trip"
    if up: case("curl-put-small-queue", p, NG, "curl -s -H Expect: -T file http://{server}:8000/up/file", "up", ["cwnd/queue_loss", "cwnd/growth"], why, prepare=random_file(size), base="nginx")
    else: case("rsync-small-queue", p, RSYNC, "rsync -aW rsync://{server}:8000/files/file copy", "down", ["cwnd/queue_loss", "cwnd/growth"], why + f"; six turns {6 * p['rtt']} ms before", prepare=random_file(size, "files/file"), base="rsync")

assert len(out) == 40, len(out)
print(f"# 40 conversations with real programs, drawn at random (seed {SEED}), with the answers by arithmetic before the first run.\n"
      "# `answer`: limited_by/cause of the flow with most bytes; a second one where the definitions allow both. `direction`: of its payload, \"down\" is from\n"
      "# the server (far.pcapng is near the sender), \"up\" from the command (near.pcapng is). `base` and `prepare` make the folder (prepare.sh).\n")
for c in out:
    print("[[case]]")
    for k, v in c.items():
        if v != "": print(f"{k} = {json.dumps(v)}")
    print()

#!/usr/bin/env python3
"""Draws 40 conversations and writes the answers by arithmetic: gen.py >conversations.toml"""
import json, math, random
SEED = 6411
R = random.Random(SEED)
MSS, IW = 1448, 10
ACK = 0.0435   # the delayed ACK of Linux, with what the program adds (measured on loopback)
out = []

def eff(rate): return rate * 1e6 / 8 * MSS / 1514   # payload bytes/s of a link that counts IP + 14
def mbit(x): return f"{x * 8 / 1e6:.1f} Mbit/s"
def path(rtts, rates, cc=None, queue=None, loss=0, back=None):
    return dict(rtt=R.choice(rtts), rate=R.choice(rates), cc=cc or R.choice(["reno", "bbr"]), queue=queue or R.choice(["150p", "160p", "170p"]), loss=loss, back=back)
def args(p):
    return ["--rtt", f"{p['rtt']}ms", "--rate", f"{p['rate']}mbit", "--reverse-rate", f"{p['back'] or p['rate']}mbit", "--queue", p["queue"],
            "--set", f"host.congestion_control={p['cc']}"] + (["--loss", f"{p['loss']}%"] if p["loss"] else [])
def bdp(p): return eff(p["rate"]) * p["rtt"] / 1e3 / MSS   # segments
def flights(size, window=IW):
    """Flights of slow start for `size` bytes, and what the last one has of its window."""
    k, left = 1, math.ceil(size / MSS)
    while left > window: left -= window; window *= 2; k += 1
    return k, left / window
def case(family, p, server, client, direction, answer, why, prepare="", base=""):
    out.append(dict(name=f"{len(out) + 1:02d}-{family}", path=args(p), base=base, prepare=prepare, server=server, client=client, direction=direction, answer=answer, arithmetic=why))
def shares(least=0.65, **s):
    """The answer and its text from the seconds of each holder."""
    s = {k.replace("_", "/", 1).replace("__", "_"): v for k, v in s.items()}
    total = sum(s.values()); order = sorted(s.items(), key=lambda kv: -kv[1])
    assert order[0][1] >= least * total, (order, [out[-1]["name"]] if out else "")
    assert 3 <= total <= 9.5, (total, out[-1]["name"])
    return [order[0][0]], ", ".join(f"{k} {v:.2f} s ({100 * v / total:.0f} %)" for k, v in order if v > 0.01 * total)
def count(p, turns, size, busy=0.0, lo=5, hi=6.5):
    """How many operations of `turns` turns, with `size` bytes in one flight and `busy` seconds of a program, fill the time."""
    rtt, link = p["rtt"] / 1e3, size / eff(p["rate"])
    assert size <= IW * MSS and link < 0.4 * rtt, (p, size)
    return max(10, int(R.uniform(lo, hi) / (turns * rtt + link + busy))), rtt, link

BIN = "/usr/lib/postgresql/15/bin/"
AS = "setpriv --reuid=postgres --regid=postgres --clear-groups "
def pg(sockets="", more=""):
    return (f"exec {AS}{BIN}postgres -D $PWD/pg -p 8000 -c 'listen_addresses=*' -c unix_socket_directories={sockets}{more} -c fsync=off -c shared_buffers=16MB -c max_connections=10 "
            "-c autovacuum=off -c jit=off 2>/dev/null")
READY = f"until {BIN}pg_isready -q -h {{server}} -p 8000; do sleep 0.1; done; "
PSQL = f"{BIN}psql -X -q -A -t -h {{server}} -p 8000 -U postgres postgres"
MARIA = ("exec /usr/sbin/mariadbd --no-defaults --user=root --datadir=$PWD/data --socket=$PWD/socket --port=8000 '--bind-address=*' --skip-grant-tables "
         "--skip-networking=0 --innodb-log-file-size=4M")
REDIS = "exec redis-server --port 8000 --unixsocket sock --protected-mode no --save '' --enable-debug-command local --dir $PWD >/dev/null"
CLI = "redis-cli -h {server} -p 8000"
NG = "exec /usr/sbin/nginx -p $PWD -c nginx.conf 2>/dev/null"
H2 = "exec nghttpd --no-tls -d $PWD 8000"
SSHD = "exec /usr/sbin/sshd -D -e -f $PWD/sshd/server 2>/dev/null"
SSH = "-F sshd/client"
MUX, MUX_END = f"ssh -M -S $PWD/ctl -f -N {SSH}", f"ssh -S $PWD/ctl -O exit {SSH} root@{{server}} 2>/dev/null"
SMBD = "exec /usr/sbin/smbd -F --no-process-group -s smb.conf -l $PWD/smb >/dev/null 2>&1"
SMB = "smbclient -N -I {server} -p 8000 //server/files"
PY = "/usr/bin/python3 "
def random_file(size, name="file"): return f"head -c {int(size)} /dev/urandom >{name}"
COMMAND = 172000   # what redis-cli asks for first where its input is no terminal: COMMAND DOCS

# --- app/turns -----------------------------------------------------------------------------------------------------------------
p = path([33, 41, 54], [14, 22, 29]); K, w = R.choice([4, 6]), R.choice([500, 900, 1500]); S = K * (w + 75); n, rtt, link = count(p, 1, S)
a, t = shares(app_turns=(n + 3) * (rtt + link), app_response=n * 0.0006)
selects = " ".join([f"\"select repeat('p', {w});\""] * K)
case("pgbench-pipeline", p, pg(), READY + f"{BIN}pgbench -n -M extended -c 1 -t {n} -h {{server}} -p 8000 -U postgres -f script postgres >out 2>&1", "down", a,
     f"{n} pipelines of {K} selects of {w} B, asked for in one write and answered in one, three turns to begin: {t}", prepare=f"printf '%s\\n' '\\startpipeline' {selects} '\\endpipeline' >script", base="pg")
p = path([29, 36, 44], [34, 46], cc="reno", queue="1.7bdp"); rtt = p["rtt"] / 1e3; n = int((R.uniform(5.2, 6.2) / rtt - 65) / 2)
a, t = shares(app_turns=(65 + 2 * n) * rtt, app_response=0.04, cwnd_startup=4 * rtt, path_full=690000 / eff(p["rate"]))
case("pg-dump-tables", p, pg(), READY + f"{BIN}pg_dump -h {{server}} -p 8000 -U postgres postgres >dump", "down", a,
     f"pg_dump asks some 65 times for the catalogue (690 kB) and twice for each of {n} tables of 40 rows (counted on loopback): {t}",
     prepare=f"{{ for i in $(seq {n}); do echo \"create table t$i (i int, v text)\"; echo \"insert into t$i select g, repeat('d', 90) from generate_series(1, 40) g\"; done; }} | {AS}{BIN}postgres --single -D $PWD/pg postgres >/dev/null 2>&1", base="pg")
p = path([28, 35, 46], [9, 17, 31]); w = R.choice([60, 90, 140]); rtt = p["rtt"] / 1e3; n = int(R.uniform(5.2, 6.2) / rtt / 3); keys = int(n * 10.6)
a, t = shares(app_turns=(3 * n + 2) * rtt)
case("redis-bigkeys", p, f"(sleep 0.6; redis-cli -s sock debug populate {keys} $(printf %0{w}d 0)) >/dev/null 2>&1 & " + REDIS, f"sleep 2; {CLI} --bigkeys >out", "up", a,
     f"{keys} keys of {w + 5} B, ten or a few more in each SCAN, and for each of these batches a write of TYPEs and one of STRLENs, which have more bytes than the answers: {n} times three turns: {t}")
p = path([48, 61, 72], [13, 21, 33], cc="reno"); n, rtt, link = count(p, 1, 10700, busy=0.001, lo=4.6, hi=5.4)
a, t = shares(app_turns=(n + 19) * rtt + n * link, app_response=0.2 + n * 0.001, app_request=0.1)
case("sftp-ls", p, SSHD, f"echo \"ls -n $PWD/many\" | sftp -q {SSH} -b - root@{{server}} >list", "down", a,
     f"a directory of {n * 100} files, 100 names (10.7 kB) in each answer to READDIR; some 19 turns and 0.3 s of processors to begin and end: {t}", prepare=f"mkdir many; (cd many; seq {n * 100} | sed s/^/f/ | xargs touch)", base="ssh")
p = path([38, 49, 63], [24, 35], cc="reno"); S = R.choice([2400, 4100, 7600]); n, rtt, link = count(p, 1, S + 80, busy=0.0005, lo=4.6, hi=5.6)
a, t = shares(app_turns=(n + 14) * rtt + n * link, app_response=0.15, app_request=0.15, cwnd_startup=4 * rtt, path_full=COMMAND / eff(p["rate"]))
case("redis-over-ssh", p, "timeout 30 redis-server --port 0 --unixsocket $PWD/far --save '' >/dev/null 2>&1 & " + SSHD,
     f"{MUX} -L $PWD/link:$PWD/far root@{{server}}; head -c {S} /dev/zero | tr '\\0' v | redis-cli -s link -x set key >out; for i in $(seq {n}); do echo 'get key'; done | redis-cli -s link >values; {MUX_END}", "down", a,
     f"{n} GETs of {S} B through a forwarded socket of ssh, one after the other; redis-cli first asks for its commands ({COMMAND // 1000} kB); ssh's 14 turns and 0.3 s of processors: {t}", base="ssh")
p = path([27, 39, 52], [18, 26, 38]); b = R.choice([6000, 9500, 13000]); n, rtt, link = count(p, 1, b + 90, busy=0.0003)
a, t = shares(app_turns=(n + 13) * rtt + n * link)
case("smbget-blocks", p, SMBD, f"smbget -a -q -n -b {b} -o got smb://{{server}}:8000/files/file", "down", a, f"smbget reads a file of {n * b} B by {b} B, one read at a time: {n} turns, and 13 to begin: {t}", prepare=random_file(n * b, "files/file"), base="smb")
p = path([22, 31, 42], [11, 19, 28], cc="reno"); S = R.choice([2500, 5200, 8800]); n, rtt, link = count(p, 4, S + 600, busy=0.002)
a, t = shares(app_turns=(4 * n + 12) * rtt + n * link, app_response=n * 0.001, app_request=n * 0.001)
case("smb-tar", p, SMBD, f"{SMB} -c 'tar c got.tar' >out 2>&1", "down", a, f"smbclient makes an archive of {n} files of {S} B, four turns each (open, ask, read, close; counted on loopback) and 12 to begin: {t}", prepare=f"{PY}files.py files {n} {S}", base="smb")
p = path([34, 43, 58], [12, 23, 36]); S = R.choice([3100, 6300, 11800]); n, rtt, link = count(p, 1, S + 200, busy=0.0015)
a, t = shares(app_turns=n * (rtt + link), app_request=n * 0.0008, app_response=n * 0.0008)
case("node-documents", p, "exec node serve.js documents", f"node client.js documents {n} {S}", "up", a, f"{n} POSTs of {S} B by Node's agent on one connection, head and body in one write: {t}")
p = path([31, 47, 64], [5, 9, 16], cc="reno"); n, rtt, link = count(p, 1, 240)
a, t = shares(app_turns=n * rtt, app_request=n * 0.0003)
case("wget-spider", p, NG, f"for i in $(seq {n}); do echo \"http://{{server}}:8000/file?$i\"; done | wget -q --spider -i -", "down", a, f"{n} HEADs on one connection, heads of 240 B and nothing else: {t}", prepare=random_file(5000), base="nginx")

# --- app/request ---------------------------------------------------------------------------------------------------------------
p = path([21, 33, 45], [8, 17], cc="reno"); I = R.choice([0.28, 0.36, 0.44]); w = R.choice([700, 1900, 4200]); rtt = p["rtt"] / 1e3; T = R.choice([6.5, 7.5]); n = int(T / (I + rtt))
a, t = shares(app_request=(n - 1) * I, app_turns=(n + 3) * rtt)
case("psql-watch", p, pg(), READY + f"printf '%s\\n' \"select repeat('w', {w}) \\\\watch {I}\" | timeout {T} {PSQL} >out; true", "down", a, f"psql's \\watch asks for {w} B each {I * 1e3:.0f} ms after the answer before, for {T} s: {t}", base="pg")
p = path([16, 24, 32], [10, 18, 27], cc="reno"); rtt = p["rtt"] / 1e3; n = R.choice([7, 8])
a, t = shares(app_request=n - 1.0, app_turns=(n + 3) * rtt, cwnd_idle__restart=n * rtt, app_response=n * 0.003)
case("mariadb-status", p, MARIA + " 2>/dev/null", f"mariadb-admin --no-defaults -h {{server}} -P 8000 --sleep=1 --count={n} extended-status >out", "down", a,
     f"{n} reports of 16.3 kB (two flights after the pause), a second of sleep of the client after each: {t}", base="mariadb")
p = path([18, 27, 38], [15, 24]); I = R.choice([450, 550]); rtt = p["rtt"] / 1e3; n = int(6.6 / I * 1e3)
a, t = shares(app_request=n * (I / 1e3 - rtt - 0.015), app_turns=n * rtt, app_response=n * 0.015)
case("prometheus", p, "exec prometheus-node-exporter --web.listen-address=:8000 >/dev/null 2>&1",
     f"printf 'global: {{scrape_interval: {I}ms, scrape_timeout: 400ms}}\\nscrape_configs: [{{job_name: a, static_configs: [{{targets: [\"{{server}}:8000\"]}}]}}]\\n' >prom.yml; "
     "timeout 12.2 prometheus --config.file=prom.yml --storage.tsdb.path=db --web.listen-address=:9999 >log 2>&1; true", "down", a,
     f"Prometheus asks a node exporter each {I} ms, about {n} times (from some 5 s after its start), answers of 9 kB after some 10 ms: {t}")
p = path([23, 37, 51], [11, 26]); W = R.choice([0.34, 0.42]); S = R.choice([1400, 5600, 12000]); rtt = p["rtt"] / 1e3; n = int(R.uniform(6, 7) / (W + rtt))
a, t = shares(app_request=(n - 1) * W, app_turns=n * rtt)
case("wget-random-wait", p, NG, f"for i in $(seq {n}); do echo \"http://{{server}}:8000/file?$i\"; done | wget -q --wait={W} --random-wait -i - -O got", "down", a,
     f"{n} files of {S} B on one connection, wget waits {W * 500:.0f} to {W * 1500:.0f} ms before each but the first, {W * 1e3:.0f} on average: {t}", prepare=random_file(S), base="nginx")
p = path([19, 26, 34], [12, 20, 30], cc="reno"); S = R.choice([2300, 3900, 6500]); think = R.choice([0.17, 0.23]); rtt = p["rtt"] / 1e3; n = int(R.uniform(6, 7) / (think + rtt))
a, t = shares(app_request=n * think, app_turns=(n + 3) * rtt)
case("pg-literals", p, pg(), READY + f"v=$(head -c {S} /dev/zero | tr '\\0' q); for i in $(seq {n}); do echo \"select length('$v') from pg_sleep({think});\"; done | {PSQL} >rows", "up", a,
     f"{n} queries with {S} B of text up, the server works {think * 1e3:.0f} ms on each; for the upload nothing is owed meanwhile: {t}", base="pg")

# --- app/response --------------------------------------------------------------------------------------------------------------
p = path([18, 25, 33], [9, 16, 25]); pause = R.choice([0.25, 0.32]); S = R.choice([2800, 5400]); rtt = p["rtt"] / 1e3; n = int(R.uniform(5.8, 6.6) / (pause + 0.02 + 2 * rtt))
a, t = shares(app_response=n * (pause + 0.01) + 0.15, app_turns=(2 * n + 10) * rtt, app_request=n * 0.008 + 0.15)
case("ssh-mux-jobs", p, SSHD, f"{MUX} root@{{server}}; for i in $(seq {n}); do ssh -S $PWD/ctl {SSH} root@{{server}} 'sleep {pause}; head -c {S} /dev/zero'; done >out; {MUX_END}", "down", a,
     f"{n} commands over one connection (ControlMaster), two turns each (open, exec); each works {pause * 1e3:.0f} ms and its shell needs some 10 ms to start: {t}", base="ssh")
p = path([9, 14, 19], [20, 32], cc="reno"); S = R.choice([1500, 3300, 6100]); rtt = p["rtt"] / 1e3; n = int(R.uniform(6, 6.8) / (0.2 + 2 * rtt))
a, t = shares(app_response=n * 0.2, app_turns=(2 * n + 3) * rtt, cwnd_startup=4 * rtt, path_full=COMMAND / eff(p["rate"]))
case("redis-wait", p, REDIS, f"head -c {S} /dev/zero | tr '\\0' v | {CLI} -x set key >out; for i in $(seq {n}); do echo 'wait 1 150'; echo 'get key'; done | {CLI} >got", "down", a,
     f"{n} times WAIT for a replica that does not exist (150 ms, until Redis' next tick: 200 ms, measured on loopback) and GET of {S} B; first {COMMAND // 1000} kB of commands: {t}")
p = path([2, 3], [7, 12], cc="reno"); rtt = p["rtt"] / 1e3; T = R.choice([6, 7]); n = int(T / (0.0101 + rtt))
a, t = shares(app_response=n * 0.0101, app_turns=n * rtt)
case("redis-latency", p, REDIS, f"{CLI} --latency -i {T} >out", "up", a, f"some {n} PINGs (14 B, the PONGs have 7 B), 10 ms of sleep of the client after each answer: the client was the last to be spoken to, so that for its direction this is waiting for a response: {t}")
p = path([29, 42, 57], [10, 19]); think = R.choice([160, 190, 220]); S = R.choice([3700, 8200]); rtt = p["rtt"] / 1e3; n = int(R.uniform(6, 6.8) / (think / 1e3 + 0.0015 + rtt))
a, t = shares(app_response=n * (think / 1e3 + 0.0015), app_turns=(n + 1) * rtt)
case("h2load-think", p, f"exec node serve.js think {think} {S}", f"h2load -n {n} -c 1 -m 1 http://{{server}}:8000/x >out", "down", a, f"{n} requests of HTTP/2, one at a time, {S} B each, Node answers after {think} ms: {t}")
p = path([17, 28, 37], [22, 34], cc="reno"); think = R.choice([0.62, 0.74]); S = R.choice([22000, 27000]); rtt = p["rtt"] / 1e3; n = int(R.uniform(6, 6.6) / (think + 2 * rtt)); k, _ = flights(S); assert k == 2
a, t = shares(app_response=n * think, app_turns=(n + 3) * rtt, cwnd_idle__restart=n * rtt, path_full=n * S / eff(p["rate"]))
case("pg-reports", p, pg(), READY + f"for i in $(seq {n}); do echo \"select repeat('r', {S}) from pg_sleep({think});\"; done | {PSQL} >rows", "down", a,
     f"{n} reports of {S} B (two flights after an idle time of more than an RTO), {think * 1e3:.0f} ms of work each: {t}", base="pg")

# --- app/window ----------------------------------------------------------------------------------------------------------------
def window(p, W, startup, turns=1, most=0.45, lo=5.5, hi=6.5, **more):
    rtt = p["rtt"] / 1e3; by = W / (rtt + 0.003); assert by < most * eff(p["rate"]) and W > 50000, (p, by)
    sec = R.uniform(lo, hi); a, t = shares(app_window=sec, cwnd_startup=startup * rtt, app_turns=turns * rtt, **more)
    rest = (W - 32768) / eff(p["rate"])   # the bucket lets 32 KiB pass at once after the pause; what is left keeps the parts of a flight apart
    assert rest > 0.008, (p, rest)
    return by, by * sec, a, f"= {W} B each {p['rtt']} ms = {mbit(by)} of {p['rate']}, a flight has {W / eff(p['rate']) * 1e3:.0f} ms of link, {rest * 1e3:.0f} of them beyond the bucket of 32 KiB, so that its parts stay apart and it never falls to 0", t
p = path([87, 101, 116], [19, 25], cc="reno", queue="1.5bdp"); by, size, a, why, t = window(p, 65535, 3)
case("node-http2", p, H2, "node client.js http2 /file", "down", a, f"Node's windows of HTTP/2 (65535 B, given again in halves by 26 B) {why}: {t}", prepare=random_file(size))
p = path([94, 107, 119], [14, 17], cc="reno", queue="1.5bdp"); W = R.choice([52000, 58000]); by, size, a, why, t = window(p, W, 2, turns=0)
case("nghttpx-upload", p, "timeout 30 /usr/sbin/nginx -p $PWD -c nginx.conf >/dev/null 2>&1 & "
     f"exec nghttpx --frontend='*,8000;no-tls' --backend=unix:$PWD/back --workers=1 --frontend-http2-window-size={W} --frontend-http2-connection-window-size={W} --conf=/dev/null 2>/dev/null",
     "sleep 0.5; curl -s --http2-prior-knowledge -T file http://{server}:8000/up/file >out", "up", a, f"nghttpx gives a window of HTTP/2 of {W} B, in halves, and passes all on to an nginx beside it {why}: {t}",
     prepare=f"{random_file(size)}; sed -i \"s#listen 8000#listen unix:$PWD/back#\" nginx.conf", base="nginx")
p = path([91, 103, 122], [15, 18], cc="reno", queue="1.5bdp"); by, size, a, why, t = window(p, 65535, 3)
case("h2load-shared-window", p, H2, "h2load -n 4 -c 1 -m 4 -w 16 -W 16 http://{server}:8000/file >out", "down", a, f"four files of {int(size / 4)} B at once in one connection's window of HTTP/2 {why}: {t}", prepare=random_file(size / 4))
p = path([96, 108, 117], [13, 16], cc="reno", queue="1.5bdp"); S = R.choice([19600, 21300]); by, size, a, why, t = window(p, 3 * (S + 36), 3); n = int(size / S)
case("h2load-three", p, H2, f"h2load -n {n} -c 1 -m 3 http://{{server}}:8000/file >out", "down", a, f"{n} files of {S} B, three asked for at any time {why}; each that ends asks for the next by some 20 B: {t}", prepare=random_file(S))
p = path([98, 113, 124], [47, 54], cc="reno", queue="1bdp"); by, size, a, why, t = window(p, 4 * 65616, 5, turns=11, lo=5, hi=5.6, app_response=0.1)
case("smb-credits", p, SMBD, f"{SMB} -c 'get file got' 2>/dev/null", "down", a, f"smbd gives four credits and reads of 65536 B {why}; each answer asks for the next, 11 turns to begin: {t}",
     prepare=f"{random_file(size, 'files/file')}; sed -i 's/^smb2 max read.*/&\\nsmb2 max credits = 4/' smb.conf", base="smb")

# --- app/nagle -----------------------------------------------------------------------------------------------------------------
p = path([7, 10, 12], [13, 21]); S = R.choice([430, 860, 1250]); rtt = p["rtt"] / 1e3; n = int(R.uniform(5, 6) / (2 * rtt + ACK + 0.001))
a, t = shares(app_nagle=n * (rtt + ACK), app_turns=n * rtt, app_response=n * 0.001)
case("python-http", p, f"exec {PY}-m http.server --bind 0.0.0.0 --protocol HTTP/1.1 8000 >/dev/null 2>&1", f"curl -s -o got 'http://{{server}}:8000/file?[1-{n}]'", "down", a,
     f"{n} files of {S} B from Python's own HTTP server: head and body in two writes without TCP_NODELAY, the body waits for the ACK of the head, a round trip and 43 ms: {t}", prepare=random_file(S))
p = path([6, 11, 17], [8, 15], cc="reno"); S = R.choice([180, 520, 1100]); rtt = p["rtt"] / 1e3; n = int(R.uniform(5, 6) / (2 * rtt + ACK))
a, t = shares(app_nagle=n * (rtt + ACK), app_turns=n * rtt)
case("tcl-redis-set", p, REDIS, f"tclsh set.tcl {n} {S} >out", "up", a, f"{n} SETs of a Tcl program that flushes after the command and after the value ({S} B), without TCP_NODELAY: the value waits for the ACK of the command, a round trip and 43 ms: {t}")
p = path([9, 13, 18], [10, 23]); S = R.choice([300, 750, 1150]); rtt = p["rtt"] / 1e3; n = int(R.uniform(5, 6) / (2 * rtt + ACK))
a, t = shares(app_nagle=n * (rtt + ACK), app_turns=n * rtt)
case("node-apart", p, f"exec node serve.js apart {S}", f"node client.js lines {n} {S}", "down", a, f"{n} answers of a Node server in two writes (no setNoDelay), the second of {S} B: it waits for the ACK of the first, a round trip and 43 ms: {t}")

# --- app/delayed_ack -----------------------------------------------------------------------------------------------------------
p = path([11, 15, 21], [9, 18], cc="reno"); rtt = p["rtt"] / 1e3; n = int(R.uniform(5.5, 6.3) / (rtt + ACK))
a, t = shares(app_delayed__ack=(n - 22) * (rtt + ACK), app_rate=22 * rtt)
case("records-lowat", p, "exec socat -u TCP-LISTEN:8000,rcvlowat=120000 OPEN:got,creat", f"{PY}records.py {n} 1448", "up", a,
     f"{n} records of one full segment, each written when TCP has the ACK of the one before (SIOCOUTQ), to a socat that reads by 120000 B (SO_RCVLOWAT): after some 22 quick ACKs each comes {p['rtt']} + 43 ms after its record (loopback: 43 ms): {t}")
p = path([8, 14, 19], [12, 26], cc="reno"); rtt = p["rtt"] / 1e3; n = int(R.uniform(5.5, 6.3) / (rtt + ACK))
a, t = shares(app_delayed__ack=(n - 22) * (rtt + ACK), app_rate=22 * rtt, app_turns=rtt)
case("records-down", p, f"exec {PY}records.py {n} 1448 listen", "sleep 0.5; echo go | socat -t 60 - TCP:{server}:8000,rcvlowat=150000 >got", "down", a,
     f"the same from the server, {n} records after one line of the client: after some 22 quick ACKs each comes {p['rtt']} + 43 ms after its record: {t}")

# --- app/rate ------------------------------------------------------------------------------------------------------------------
p = path([9, 13, 17], [27, 36], cc="reno"); L = R.choice([250, 290, 330]); T = R.choice([6.5, 7.5]); burst = L * 1024 / 8; rtt = p["rtt"] / 1e3; link = burst / eff(p["rate"])
a, t = shares(app_rate=T - 0.1, app_turns=5 * rtt)
case("pg-basebackup-max-rate", p, pg(), READY + f"timeout {T} {BIN}pg_basebackup -h {{server}} -p 8000 -U postgres -D - -Ft -X none -c fast --max-rate={L}k >copy 2>/dev/null; true", "down", a,
     f"the server's own limit of {L} KiB/s = {mbit(L * 1024)} of {p['rate']}, by {burst / 1e3:.0f} kB each 125 ms, unasked; of 125 ms {1e3 * (rtt + link):.0f} are the round trip and the link of it: {t}", base="pg")
p = path([22, 30, 41], [6, 14]); w = R.choice([1200, 2700, 4800]); n = R.choice([30, 33]); rtt = p["rtt"] / 1e3
a, t = shares(app_rate=n * 0.2, app_turns=3 * rtt)
case("pg-logical-stream", p, f"(sleep 2; for i in $(seq {n}); do {BIN}psql -X -q -h $PWD/pg -p 8000 -U postgres postgres -c \"select pg_logical_emit_message(false, 'a', repeat('l', {w}))\"; sleep 0.15; done) >/dev/null 2>&1 & " + pg("$PWD/pg", " -c wal_level=logical"),
     READY + f"{PSQL} -c \"select pg_create_logical_replication_slot('s', 'test_decoding')\" >out; timeout 10 {BIN}pg_recvlogical -h {{server}} -p 8000 -U postgres -d postgres -S s --start -f got; true", "down", a,
     f"{n} messages of {w} B of logical decoding, one each 150 ms and what a psql beside the server takes (180 to 230 ms in all), unasked: {mbit(w / 0.2)} of {p['rate']}: {t}", base="pg")
p = path([12, 20, 28], [15, 29]); L = R.choice([110, 130, 170]); rtt = p["rtt"] / 1e3; size = L * 1024 * R.uniform(6, 7); burst = L * 102.4
a, t = shares(app_rate=size / L / 1024)
case("pv-socat", p, "exec socat -u TCP-LISTEN:8000 OPEN:got,creat", f"pv -q -L {L}k file | socat -t 60 - TCP:{{server}}:8000", "up", a,
     f"pv lets {L} KiB/s = {mbit(L * 1024)} of {p['rate']} pass, {burst / 1e3:.0f} kB each 90 ms (measured on loopback), in one flight of {p['rtt']} ms: {t}", prepare=random_file(size))
p = path([36, 48, 66], [4, 7, 11], cc="reno"); w = R.choice([600, 2100, 5500]); I = R.choice([110, 150, 190]); rtt = p["rtt"] / 1e3; n = int(R.uniform(6, 7) * 1e3 / I)
a, t = shares(app_rate=(n - 1) * I / 1e3, app_turns=rtt, app_response=I / 1e3)
case("node-events", p, f"exec node serve.js events {w} {I}", f"curl -s -N http://{{server}}:8000/{n} >got", "down", a, f"{n} server-sent events of {w} B, one each {I} ms, unasked: {mbit(w / I * 1e3)} of {p['rate']}: {t}")

# --- receiver ------------------------------------------------------------------------------------------------------------------
p = path([7, 11, 14], [23, 34], cc="reno", queue=R.choice(["46p", "54p"])); L = R.choice([210, 260, 300]); sec = R.uniform(7, 8); size = L * 1024 * sec + 400000
case("curl-into-pv", p, NG, f"curl -s http://{{server}}:8000/file | pv -q -B 16384 -L {L}k >got", "down", ["receiver"],
     f"pv takes {L} KiB/s = {mbit(L * 1024)} of {p['rate']}, {L * 0.1024:.0f} kB each 90 ms: a part passes in {L * 102.4 / eff(p['rate']) * 1e3:.0f} ms of link and a round trip, then the window is closed ({100 * (1 - (L * 102.4 / eff(p['rate']) + p['rtt'] / 1e3) / 0.09):.0f} % of the time); "
     f"some 200 to 600 kB of buffers fill in the first 0.3 s, the rest comes as it is read: {sec - 0.7:.1f} to {sec + 0.7:.1f} s", prepare=random_file(size), base="nginx")
p = path([8, 12, 15], [20, 28], cc="reno", queue=R.choice(["46p", "54p"])); L = R.choice([190, 230, 280]); sec = R.uniform(7, 8); size = L * 1024 * sec + 400000
case("socat-into-pv", p, f"socat -u TCP-LISTEN:8000 - | pv -q -B 16384 -L {L}k >copy", "socat -t 60 - TCP:{server}:8000 <file", "up", ["receiver"],
     f"the server's pv takes {L} KiB/s = {mbit(L * 1024)} of {p['rate']}, {L * 0.1024:.0f} kB each 90 ms: a part passes in {L * 102.4 / eff(p['rate']) * 1e3:.0f} ms of link and a round trip, then the window is closed ({100 * (1 - (L * 102.4 / eff(p['rate']) + p['rtt'] / 1e3) / 0.09):.0f} % of the time); "
     f"some 200 to 600 kB of buffers fill in the first 0.3 s, the rest comes as it is read: {sec - 0.7:.1f} to {sec + 0.7:.1f} s", prepare=random_file(size))
p = path([16, 22, 29], [17, 24], cc="reno"); pause = R.choice([4.2, 4.8]); bulk = R.uniform(1.0, 1.3); size = bulk * eff(p["rate"]) + 200000; rtt = p["rtt"] / 1e3
a, t = shares(receiver=pause - 0.15, path_full=bulk + 200000 / eff(p["rate"]), cwnd_startup=3 * rtt, app_turns=rtt)
case("curl-stopped-reader", p, NG, f"curl -s http://{{server}}:8000/file | (sleep {pause}; cat >got)", "down", ["receiver"],
     f"the program behind curl reads nothing for {pause} s, then as fast as it comes; 64 KiB of pipe and some 100 to 400 kB of buffer fill in the first 0.15 s, {bulk:.1f} s of link after the pause: {t}", prepare=random_file(size), base="nginx")

# --- bulk ----------------------------------------------------------------------------------------------------------------------
BASE = 23640000   # a new cluster of PostgreSQL 15, as a tar
p = path([34, 40, 46], [30, 33], cc="reno", queue="2bdp", back=R.choice([6, 9])); sec = BASE / eff(p["rate"]); rtt = p["rtt"] / 1e3
a, t = shares(path_full=sec, app_turns=6 * rtt, cwnd_startup=4 * rtt, app_response=0.1)
case("pg-basebackup", p, pg(), READY + f"{BIN}pg_basebackup -h {{server}} -p 8000 -U postgres -D - -Ft -X none -c fast >copy 2>/dev/null", "down", a,
     f"a base backup of {BASE / 1e6:.1f} MB in one stream: Reno, a queue of 2 BDP ({bdp(p):.0f} segments each), after a drop 150 % of the BDP; its ACKs need at most {p['rate'] * 80 / 1514 / 2:.1f} of the {p['back']} Mbit/s back: {t}", base="pg")
p = path([33, 40, 47], [35, 43], cc="reno", queue="140p", loss=R.choice([0.6, 0.8])); W = 1.22 / math.sqrt(p["loss"] / 100) * MSS; rtt = p["rtt"] / 1e3; by = W / rtt; assert by < 0.2 * eff(p["rate"])
sec = R.uniform(5.6, 6.4); rows = int(by * sec / 1010); a, t = shares(cwnd_random__loss=sec, app_turns=6 * rtt)
case("mariadb-binlog-loss", p, "(until mariadb-admin --no-defaults -S socket ping; do sleep 0.1; done; mariadb --no-defaults -S socket -D mysql -e 'create table b (v longblob) engine=aria'; "
     f"mariadb --no-defaults -S socket -D mysql -e 'insert into b select repeat(\"b\", 1000) from seq_1_to_{rows}') >/dev/null 2>&1 & " + MARIA + " --log-bin=$PWD/data/log --server-id=1 --binlog-format=row 2>/dev/null",
     "sleep 3; mariadb-binlog --no-defaults -h {server} -P 8000 -R --raw --result-file=got- log.000001", "down", a,
     f"a binary log of {rows} rows of 1 kB, {rows * 1010 / 1e6:.1f} MB in one stream, {p['loss']} % lost: {W / 1e3:.0f} kB each {p['rtt']} ms = {mbit(by)} of {p['rate']}: {t}", base="mariadb")
p = path([515, 535, 555], [61, 67], cc="reno", queue="1bdp"); size = R.randrange(1130000, 1390000); k, last = flights(size); rtt = p["rtt"] / 1e3; assert k == 7 and 0.2 < last < 0.6 and bdp(p) > 1300
a, t = shares(cwnd_startup=(k - 1) * rtt, app_turns=rtt, path_full=0.05)
case("lwp-download-far", p, NG, "lwp-download http://{server}:8000/file got >out", "down", a, f"{size} B: {k} flights from ten segments on, doubled each {p['rtt']} ms; BDP {bdp(p):.0f} segments, the largest flight 640: {t}", prepare=random_file(size), base="nginx")
p = path([67, 76, 84], [29, 34], cc="reno", queue=R.choice(["6p", "8p", "9p"])); rounds = int(R.uniform(5.5, 6.2) / (p["rtt"] / 1e3)); assert 45 + rounds < bdp(p), (p, rounds, bdp(p))
size = (20 * rounds + rounds * rounds / 2) * MSS
case("git-archive-small-queue", p, "exec $(git --exec-path)/git-daemon --reuseaddr --port=8000 --base-path=$PWD --export-all --enable=upload-archive 2>/dev/null", "git archive --remote=git://{server}:8000/tree main >got.tar", "down",
     ["cwnd/queue_loss", "cwnd/growth"], f"an archive of {size / 1e6:.1f} MB in one stream: BDP {bdp(p):.0f} segments, queue {p['queue'][:-1]} and a bucket of 22: slow start overflows it at some 40 to 80 segments, half of that is left, then one segment more each {p['rtt']} ms, "
     f"{rounds} in {rounds * p['rtt'] / 1e3:.1f} s: from 20 to {20 + rounds}, always below the BDP; one turn before",
     prepare=f"mkdir tree; {random_file(size, 'tree/data')}; git -C tree init -q -b main; git -C tree add .; git -C tree -c user.name=a -c user.email=a@example.org commit -q -m all")

print(f"# {len(out)} conversations with real programs, drawn at random (seed {SEED}), with the answers by arithmetic before the first run.\n"
      "# `answer`: limited_by/cause of the flow with most bytes; a second one where the definitions allow both. `direction`: of its payload, \"down\" is from\n"
      "# the server (far.pcapng is near the sender), \"up\" from the command (near.pcapng is). `base` and `prepare` make the folder (prepare.sh).\n")
for c in out:
    print("[[case]]")
    for k, v in c.items():
        if v != "": print(f"{k} = {json.dumps(v)}")
    print()

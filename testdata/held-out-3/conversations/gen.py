#!/usr/bin/env python3
"""Draws 40 conversations and writes the answers by arithmetic: gen.py >conversations.toml"""
import json, math, random
SEED = 20261211
R = random.Random(SEED)
MSS, IW = 1448, 10
out = []

def eff(rate): return rate * 1e6 / 8 * MSS / 1514   # payload bytes/s of a link that counts IP + 14
def mbit(x): return f"{x * 8 / 1e6:.1f} Mbit/s"
def path(rtts, rates, cc=None, queue=None, loss=0):
    return dict(rtt=R.choice(rtts), rate=R.choice(rates), cc=cc or R.choice(["reno", "bbr"]), queue=queue or R.choice(["1.2bdp", "1.8bdp", "110p", "140p"]), loss=loss)
def args(p):
    return ["--rtt", f"{p['rtt']}ms", "--rate", f"{p['rate']}mbit", "--reverse-rate", f"{p['rate']}mbit", "--queue", p["queue"],
            "--set", f"host.congestion_control={p['cc']}"] + (["--loss", f"{p['loss']}%"] if p["loss"] else [])
def bdp(p): return eff(p["rate"]) * p["rtt"] / 1e3 / MSS   # segments
def law(p): return 1.22 / math.sqrt(p["loss"] / 100) * MSS
def flights(size, window=IW):
    """Flights of slow start for `size` bytes, the window after them, and what the last one has of its window."""
    k, left = 1, math.ceil(size / MSS)
    while left > window: left -= window; window *= 2; k += 1
    return k, window + left, left / window
def case(family, p, server, client, direction, answer, why, prepare="", base=""):
    out.append(dict(name=f"{len(out) + 1:02d}-{family}", path=args(p), base=base, prepare=prepare, server=server, client=client, direction=direction, answer=answer, arithmetic=why))
def shares(least=0.65, **s):
    """The answer and its text from the seconds of each holder."""
    s = {k.replace("_", "/", 1).replace("__", "_"): v for k, v in s.items()}
    total = sum(s.values()); order = sorted(s.items(), key=lambda kv: -kv[1])
    assert order[0][1] >= least * total, (order, out[-1:])
    return [order[0][0]], ", ".join(f"{k} {v:.2f} s ({100 * v / total:.0f} %)" for k, v in order if v > 0.01 * total)
def count(p, turns, size, busy=0.0, lo=5, hi=6.5):
    """How many operations of `turns` turns, with `size` bytes in one flight and `busy` seconds of a program, fill the time."""
    rtt, link = p["rtt"] / 1e3, size / eff(p["rate"])
    assert size <= IW * MSS and link < 0.4 * rtt, (p, size)
    return max(10, int(R.uniform(lo, hi) / (turns * rtt + link + busy))), rtt, link

BIN = "/usr/lib/postgresql/15/bin/"
AS = "setpriv --reuid=postgres --regid=postgres --clear-groups "
PG = (f"exec {AS}{BIN}postgres -D $PWD/pg -p 8000 -c 'listen_addresses=*' -c unix_socket_directories= -c fsync=off -c shared_buffers=16MB -c max_connections=10 "
      "-c autovacuum=off -c jit=off 2>/dev/null")
READY = f"until {BIN}pg_isready -q -h {{server}} -p 8000; do sleep 0.1; done; "
PSQL = f"{BIN}psql -X -q -A -t -h {{server}} -p 8000 -U postgres postgres"
def pg_before(sql): return f"echo \"{sql}\" | {AS}{BIN}postgres --single -D $PWD/pg postgres >/dev/null"
MARIA = ("exec /usr/sbin/mariadbd --no-defaults --user=root --datadir=$PWD/data --socket=$PWD/socket --port=8000 '--bind-address=*' --skip-grant-tables "
         "--skip-networking=0 --innodb-log-file-size=4M --max-heap-table-size=64M 2>/dev/null")
SQL = "mariadb --no-defaults -A -N -D mysql -h {server} -P 8000"
DUMP = "mariadb-dump --no-defaults -h {server} -P 8000 --skip-lock-tables --no-tablespaces"
REDIS = "exec redis-server --port 8000 --unixsocket sock --protected-mode no --save '' --enable-debug-command local --repl-diskless-sync-delay 0 --dir $PWD >/dev/null"
def redis_with(what): return f"(sleep 0.6; {what}) >/dev/null 2>&1 & " + REDIS
NG = "exec /usr/sbin/nginx -p $PWD -c nginx.conf 2>/dev/null"
SSHD = "exec /usr/sbin/sshd -D -e -f $PWD/sshd/server 2>/dev/null"
SSH = "-F sshd/client"
SMBD = "exec /usr/sbin/smbd -F --no-process-group -s smb.conf -l $PWD/smb >/dev/null 2>&1"
SMB = "smbclient -N -I {server} -p 8000 //server/files"
PY = "/usr/bin/python3 "
SERVE, CLIENT = f"exec {PY}serve.py ", PY + "client.py "
def random_file(size, name="file"): return f"head -c {int(size)} /dev/urandom >{name}"

# --- app/turns -----------------------------------------------------------------------------------------------------------------
p = path([21, 39, 53], [15, 22, 34], cc="reno"); n, rtt, link = count(p, 1, 8212)
a, t = shares(app_turns=(n + 7) * (rtt + link), app_response=n * 0.0005)
case("pg-large-object-out", p, PG, READY + f"{PSQL} -c '\\lo_export 5000 got'", "down", a, f"psql reads a large object of {n * 8192} B by lo_read of 8192 B, a turn each: {n}, and seven turns more: {t}",
     prepare=pg_before(f"select lo_from_bytea(5000, string_agg(decode(md5(i::text), 'hex'), '' order by i)) from generate_series(1, {n * 512}) i"), base="pg")
p = path([27, 44, 62], [17, 26, 38], cc="reno"); n, rtt, link = count(p, 1, 8224)
a, t = shares(app_turns=(n + 6) * (rtt + link), app_request=n * 0.0006)
case("pg-large-object-in", p, PG, READY + f"{PSQL} -c '\\lo_import file'", "up", a, f"psql writes a large object of {n * 8192} B by lo_write of 8192 B, a turn each: {n}, and six turns more: {t}", prepare=random_file(n * 8192), base="pg")
p = path([29, 51, 74], [13, 19, 28]); S = R.choice([1300, 2100, 3300]); n, rtt, link = count(p, 1, S)
a, t = shares(app_turns=(n + 5) * (rtt + link), app_request=n * 0.0006)
case("mariadb-inserts", p, MARIA, f"v=$(head -c {S} /dev/zero | tr '\\0' x); {{ echo 'create table s (v varchar(4000)) engine=memory charset=latin1;'; for i in $(seq {n}); do echo \"insert into s values ('$v');\"; done; }} | {SQL} >rows",
     "up", a, f"{n} INSERTs of {S} B, one after the other, five turns to begin: {t}", base="mariadb")
TABLE = 12   # statements of mariadb-dump for each table (counted on loopback)
p = path([19, 26, 34], [16, 23, 37], cc="reno"); rows, w = R.choice([10, 14, 18]), R.choice([150, 210]); n, rtt, link = count(p, TABLE, rows * (w + 8) + 2500)
a, t = shares(app_turns=(n * TABLE + 8) * rtt + n * link, app_response=n * 0.012)
case("mariadb-dump-tables", p, MARIA, f"{DUMP} d >dump", "down", a, f"{n} tables of {rows} rows of {w} B, {TABLE} statements each (show, set, select), eight more: {t}",
     prepare=f"{{ echo 'create database d;'; for i in $(seq {n}); do echo \"create table d.t$i (i int, v varchar(250)) engine=aria;\"; echo \"insert into d.t$i select seq, repeat('y', {w}) from mysql.t where seq <= {rows};\"; done; }} | "
             "/usr/sbin/mariadbd --no-defaults --user=root --datadir=$PWD/data --bootstrap --innodb-log-file-size=4M >/dev/null 2>&1", base="mariadb")
p = path([24, 36, 57], [12, 18, 33]); w = R.choice([70, 110, 160]); n, rtt, link = count(p, 1, 11 * (w + 14))
a, t = shares(app_turns=n * (rtt + link))
case("redis-scan", p, redis_with(f"redis-cli -s sock debug populate {n * 11} $(printf %0{w}d 0)"), "sleep 2; redis-cli -h {server} -p 8000 --scan >keys", "down", a,
     f"{n * 11} keys of {w + 5} B, ten or a few more for each SCAN, about {n} turns: {t}")
p = path([33, 45, 59], [17, 24, 36], cc="reno"); S = R.choice([2700, 6400, 10500]); n, rtt, link = count(p, 1, S + 270)
a, t = shares(app_turns=(n + 1) * (rtt + link), app_response=0.01 + n * 0.0003)
case("https-many", p, NG, f"curl -s -k -o got 'https://{{server}}:8000/file?[1-{n}]'", "down", a, f"{n} files of {S} B on one TLS connection, one turn of handshake: {t}", prepare=random_file(S), base="https")
p = path([31, 43, 67], [11, 21, 32]); S = R.choice([900, 1700, 2600]); n, rtt, link = count(p, 1, S + 60, busy=0.002)
a, t = shares(app_turns=(n + 10) * rtt + n * link, app_request=n * 0.001 + 0.2, app_response=n * 0.001 + 0.2)
case("ssh-dialog", p, SSHD, CLIENT + f"dialog {n} {S}", "down", a, f"{n} lines and answers of {S} B through ssh, each after the one before; ten turns and 0.4 s of processors to set up: {t}", base="ssh")
WALK = 4   # requests of smbclient for each directory (counted on loopback)
p = path([23, 32, 47], [14, 27, 39], cc="reno"); files = R.choice([9, 14, 20]); n, rtt, link = count(p, WALK, files * 130)
a, t = shares(app_turns=(n * WALK + 10) * rtt + n * link, app_response=n * 0.006)
case("smb-walk", p, SMBD, f"{SMB} -c 'recurse on; ls' >list 2>/dev/null", "down", a, f"{n} directories of {files} files, {WALK} requests each (open, list, list again, close), ten to set up: {t}",
     prepare=f"for d in $(seq {n}); do {PY}files.py files/directory-$d {files} 100; done", base="smb")
p = path([28, 37, 54], [13, 22, 31]); S = R.choice([1500, 2900, 4400]); n, rtt, link = count(p, 2, S)
a, t = shares(app_turns=(2 * n + 4) * rtt + n * link)
case("pop3-mailbox", p, SERVE + f"pop {S}", CLIENT + f"pop {n} delete", "down", a, f"{n} mails of {S} B: RETR and DELE, two turns each, four more: {t}")
p = path([22, 35, 49], [15, 25, 41], cc="reno"); S = R.choice([2200, 4800, 7600]); n, rtt, link = count(p, 1, S + 400, busy=0.0015)
a, t = shares(app_turns=n * (rtt + link), app_request=n * 0.001, app_response=n * 0.0005)
case("xmlrpc-documents", p, SERVE + "rpc", CLIENT + f"rpc {n} {S}", "up", a, f"{n} calls with a document of {S} B on one connection, small answers: {t}")
p = path([26, 41, 63], [13, 20, 29], cc="reno"); S = R.choice([1900, 3700, 5600]); n, rtt, link = count(p, 1, S)
a, t = shares(app_turns=(n + 5) * (rtt + link), app_response=n * 0.0004)
case("manager-values", p, SERVE + "manager", CLIENT + f"manager {n} {S}", "down", a, f"{n} calls of a method of another process's object, {S} B each, five turns of greeting: {t}")
p = path([34, 48, 71], [16, 28, 43], cc="reno"); S = R.choice([1600, 4200, 8800]); n, rtt, link = count(p, 1, S + 250)
a, t = shares(app_turns=(n + 2) * (rtt + link), app_request=n * 0.001)
case("wget-mirror", p, NG, "wget -q -r http://{server}:8000/site/index.html", "down", a, f"a site of {n} pages of {S} B, one after the other on one connection: {t}", prepare=f"{PY}files.py site {n} {S}", base="nginx")

# --- app/request, app/response -------------------------------------------------------------------------------------------------
p = path([19, 28, 34], [12, 24]); per = R.choice([4, 5]); w = R.choice([600, 1100, 2300]); n = int(R.uniform(6, 7) * per); rtt = p["rtt"] / 1e3
a, t = shares(app_request=n * (1 / per - rtt - 0.001), app_turns=(n + 4) * rtt, app_response=n * 0.001)
case("pgbench-rate", p, PG, READY + f"{BIN}pgbench -n -c 1 -R {per} -t {n} -h {{server}} -p 8000 -U postgres -f script postgres >out 2>&1", "down", a, f"{n} selects of {w} B, begun at random, {per} a second on average: {t}",
     prepare=f"echo \"select repeat('r', {w});\" >script", base="pg")
p = path([9, 13, 17], [18, 35]); pause = R.choice([0.3, 0.38, 0.45]); S = R.choice([4000, 9000]); n = int(R.uniform(6, 7.5) / (pause + 4 * p["rtt"] / 1e3))
a, t = shares(app_request=n * pause, app_turns=(3.5 * n + 9) * p["rtt"] / 1e3, app_response=n * 0.006)
case("smb-get-pauses", p, SMBD, f"for i in $(seq 0 {n - 1}); do echo \"get f$i got\"; echo '!sleep {pause}'; done | {SMB} >out 2>&1", "down", a, f"{n} files of {S} B, three to four turns each, and {pause * 1e3:.0f} ms of sleep of the client after each: {t}",
     prepare=f"{PY}files.py files {n} {S}", base="smb")
p = path([18, 25, 31], [25, 35], cc="reno"); S = R.choice([70000, 95000]); period = R.choice([750, 880]); n = int(R.uniform(6.5, 7.5) * 1e3 / period); rtt = p["rtt"] / 1e3; k = flights(S)[0]
get = k * rtt + S / eff(p["rate"])
a, t = shares(app_request=(n - 1) * (period / 1e3 - get), app_turns=n * rtt, cwnd_idle__restart=n * (k - 1) * rtt, path_full=n * S / eff(p["rate"]))
case("player", p, NG, CLIENT + f"player {n} {period} /file", "down", a, f"{n} parts of {S} B, one asked for each {period} ms; {k} flights and {S / eff(p['rate']) * 1e3:.0f} ms of link each: {t}", prepare=random_file(S), base="nginx")

p = path([24, 32, 41], [14, 27]); per = R.choice([4, 5]); S = R.choice([700, 2400, 5200]); n = int(R.uniform(6, 7) * per); rtt = p["rtt"] / 1e3
a, t = shares(app_response=n * (1 / per - rtt), app_turns=n * rtt)
case("nginx-limit-req", p, NG, f"curl -s -o got 'http://{{server}}:8000/slow/file?[1-{n}]'", "down", a, f"{n} files of {S} B; nginx delays each request until {1e3 / per:.0f} ms after the one before (limit_req): {t}",
     prepare=f"sed -i s/rate=5r/rate={per}r/ nginx.conf; {random_file(S)}", base="nginx")
p = path([20, 29, 36], [11, 30]); think = R.choice([120, 165, 210]); S = R.choice([1200, 3600, 6800]); n = int(R.uniform(6, 7) * 1e3 / (think + p["rtt"]))
a, t = shares(app_response=n * (think + 1) / 1e3, app_turns=n * p["rtt"] / 1e3)
case("proxy-backend", p, f"{PY}serve.py backend {think} & " + NG, f"sleep 1; curl -s -o got 'http://{{server}}:8000/work/{S}?[1-{n}]'", "down", a, f"{n} answers of {S} B of nginx, whose backend beside it works {think} ms for each: {t}", base="nginx")
p = path([12, 16, 21], [13, 22]); pause = R.choice([0.32, 0.4, 0.5]); S = R.choice([3000, 7000]); rtt = p["rtt"] / 1e3; n = int(R.uniform(6, 7) / (pause + 3.5 * rtt))
a, t = shares(app_response=n * pause + 0.2, app_turns=(3.5 * n + 10) * rtt, app_request=0.2)
case("sftp-put-pauses", p, SSHD, f"sftp -q {SSH} -b batch root@{{server}} >/dev/null", "up", a, f"{n} files of {S} B up, three to four turns each, and {pause * 1e3:.0f} ms of sleep of the client after the server's last answer; 0.4 s of processors to set up: {t}",
     prepare=f"{PY}files.py files {n} {S}; for i in $(seq 0 {n - 1}); do echo \"put files/f$i $PWD/got/\"; echo '!sleep {pause}'; done >batch", base="ssh")

# --- app/window ----------------------------------------------------------------------------------------------------------------
def window(p, W, most=0.3):
    by = W / (p["rtt"] / 1e3 + 0.003); assert by < most * eff(p["rate"]) and W < 62000; return by
p = path([84, 97, 112], [18, 26], cc="reno", queue="1.5bdp"); K, S = R.choice([5, 6]), R.choice([6700, 8600]); by = window(p, K * S); sec = R.uniform(5.5, 6.5); n = int(by * sec / S)
a, t = shares(app_window=sec, cwnd_startup=2 * p["rtt"] / 1e3, app_turns=p["rtt"] / 1e3)
case("block-reads", p, SERVE + "blocks", CLIENT + f"blocks {n} {S} {K}", "down", a, f"{K} blocks of {S} B asked for at any time = {K * S} B each {p['rtt']} ms = {mbit(by)} of {p['rate']}; a flight has {K * S / eff(p['rate']) * 1e3:.0f} ms of link, "
     f"and each block asks for the next by 12 B, so that it never falls to 0: {t}")
p = path([76, 88, 104], [17, 23], cc="reno", queue="1.5bdp"); K, S = R.choice([6, 7]), R.choice([5300, 6900]); by = window(p, K * S); sec = R.uniform(5.5, 6.5); n = int(by * sec / S)
a, t = shares(app_window=sec, cwnd_startup=2 * p["rtt"] / 1e3)
case("records-in-flight", p, SERVE + f"records {S}", CLIENT + f"records {n} {S} {K}", "up", a, f"{K} records of {S} B not confirmed = {K * S} B each {p['rtt']} ms = {mbit(by)} of {p['rate']}; a flight has {K * S / eff(p['rate']) * 1e3:.0f} ms of link, each confirmation of 8 B gives one more: {t}")
p = path([72, 86, 93], [24, 33], cc="reno", queue="1.5bdp"); K, S = R.choice([4, 5]), R.choice([9216, 11264]); by = window(p, K * S); sec = R.uniform(6, 7); size = int(by * sec)
a, t = shares(app_window=sec - 3 * p["rtt"] / 1e3, app_turns=12 * p["rtt"] / 1e3, cwnd_startup=3 * p["rtt"] / 1e3, app_response=0.3)
case("scp-few-requests", p, SSHD, f"scp -q {SSH} -X nrequests={K} -X buffer={S} root@{{server}}:$PWD/file copy", "down", a, f"{K} (or for a moment {K + 1}) reads of {S} B outstanding = {K * S} B each {p['rtt']} ms = {mbit(by)} of {p['rate']}; twelve turns to set up: {t}", prepare=random_file(size), base="ssh")

# --- app/nagle -----------------------------------------------------------------------------------------------------------------
p = path([6, 9, 13], [11, 19]); rtt = p["rtt"] / 1e3; S = R.choice([360, 720, 1080]); n = int(R.uniform(5, 6) / (2 * rtt + 0.042))
a, t = shares(app_nagle=n * (rtt + 0.042), app_turns=(n + 4) * rtt)
case("pop3-nagle", p, SERVE + f"pop {S} apart", CLIENT + f"pop {n}", "down", a, f"{n} mails, status line and text ({S} B) in two writes without TCP_NODELAY: the text waits for the ACK of the line, a round trip and 42 ms (of the delayed ACK), beside a turn: {t}")
p = path([5, 8, 15], [9, 17], cc="reno"); rtt = p["rtt"] / 1e3; S = R.choice([280, 640, 980]); n = int(R.uniform(5, 6) / (2 * rtt + 0.042))
a, t = shares(app_nagle=n * (rtt + 0.042), app_turns=n * rtt)
case("form-nagle", p, SERVE + "form", CLIENT + f"form {n} {S}", "up", a, f"{n} POSTs, head and body ({S} B) in two writes without TCP_NODELAY: the body waits for the ACK of the head, a round trip and 42 ms, beside a turn: {t}")

# --- app/rate ------------------------------------------------------------------------------------------------------------------
p = path([14, 18, 22], [11, 16]); every = R.choice([0.09, 0.11]); S = R.choice([8000, 11000]); v = int(S * 8 / every)
a, t = shares(app_rate=6.5, app_turns=2 * p["rtt"] / 1e3)
case("iperf3-bitrate", p, "exec iperf3 -s -p 8000 >/dev/null", f"iperf3 -c {{server}} -p 8000 -t 7 -R -N -l {S} -b {v} >out", "down", a, f"iperf3 writes {S} B each {every * 1e3:.0f} ms = {v / 1e6:.2f} Mbit/s of {p['rate']}, in one flight; of {every * 1e3:.0f} ms {p['rtt']} are a round trip of it: {t}")
p = path([11, 15, 19], [26, 37]); L = R.choice([90, 120, 150]); size = int(L * 1024 * R.uniform(6, 7))
bursts, burst = size / 1024 / L / 0.427, L * 1024 * 0.427; k = flights(burst)[0]
a, t = shares(app_rate=size / 1024 / L - bursts * k * p["rtt"] / 1e3, cwnd_startup=bursts * (k - 1) * p["rtt"] / 1e3, app_turns=bursts * p["rtt"] / 1e3)
case("curl-put-limit", p, NG, f"curl -s -H Expect: --limit-rate {L}k -T file http://{{server}}:8000/up/file", "up", a, f"curl's own limit of {L} KiB/s = {mbit(L * 1024)} of {p['rate']} for {size / 1024 / L:.1f} s, by {burst / 1e3:.0f} kB and a wait until 0.427 s have passed (measured on loopback), {k} flights each: {t}", prepare=random_file(size), base="nginx")
p = path([16, 20, 27], [7, 15]); every = R.choice([0.13, 0.17, 0.21]); w = R.choice([1200, 2600, 5000]); n = int(R.uniform(6, 7) / every)
a, t = shares(app_rate=n * (every + 0.002), app_turns=10 * p["rtt"] / 1e3, app_response=0.2, app_request=0.2)
case("ssh-monitor", p, SSHD, f"ssh {SSH} root@{{server}} 'for i in $(seq {n}); do head -c {w} /dev/zero; sleep {every}; done' >lines", "down", a, f"a far loop prints {w} B each {every * 1e3:.0f} ms, unasked: {mbit(w / every)} of {p['rate']}; ten turns and 0.4 s of processors to set up: {t}", base="ssh")

# --- receiver ------------------------------------------------------------------------------------------------------------------
p = path([13, 19, 24], [21, 31], cc="reno"); part, pause = R.choice([60000, 76000]), R.choice([230, 270]); n = int(R.uniform(9, 10) * 1e3 / pause); size = part * n
case("wget-into-bursts", p, NG, f"wget -q -O - http://{{server}}:8000/file | {PY}burst.py {part} {pause}", "down", ["receiver"],
     f"wget writes to a program that takes {part} B and works {pause} ms, {n} times: {mbit(part / pause * 1e3)} of {p['rate']}; a part passes in {part / eff(p['rate']) * 1e3:.0f} ms and some round trips, then the window is closed ({100 * (1 - (part / eff(p['rate']) + 1.5 * p['rtt'] / 1e3) / (pause / 1e3)):.0f} % of the time); the buffers fill in the first second", prepare=random_file(size), base="nginx")
p = path([12, 17, 26], [19, 29], cc="reno"); part, pause = R.choice([34000, 47000]), R.choice([150, 190]); n = int(R.uniform(9, 10) * 1e3 / pause); size = part * n
case("tar-to-tape", p, SERVE + f"tape {part} {pause}", "tar -cf - file | socat -t 60 - TCP:{server}:8000", "up", ["receiver"],
     f"the server takes {part} B and stops for {pause} ms, {n} times: {mbit(part / pause * 1e3)} of {p['rate']}; a part passes in {part / eff(p['rate']) * 1e3:.0f} ms and some round trips, then the window is closed ({100 * (1 - (part / eff(p['rate']) + 1.5 * p['rtt'] / 1e3) / (pause / 1e3)):.0f} % of the time); the buffers fill in the first second", prepare=random_file(size))

# --- path/full -----------------------------------------------------------------------------------------------------------------
p = path([22, 33, 42], [6, 8, 10], cc="reno", queue=R.choice(["70p", "90p"])); q = int(p["queue"][:-1]); sec = R.uniform(5.5, 6.5); rows = int(eff(p["rate"]) * sec / 401); assert 0.5 * (bdp(p) + q) > 1.2 * bdp(p)
case("mariadb-load", p, MARIA, f"{SQL} --local-infile=1 -e 'create table l (v varchar(400)) engine=aria charset=latin1; load data local infile \"file\" into table l' >out", "up", ["path/full"],
     f"{rows * 401 / 1e6:.1f} MB in one stream: Reno, BDP {bdp(p):.0f} segments, queue {q}: after a drop {50 * (bdp(p) + q) / bdp(p):.0f} % of the BDP, so never empty; {sec:.1f} s of link, six turns ({6 * p['rtt']} ms) before",
     prepare=f"base64 -w 400 /dev/urandom | head -n {rows} >file", base="mariadb")
p = path([36, 47, 58], [7, 11, 13], cc="bbr", queue="2bdp"); F = R.choice([9000, 21000]); sec = R.uniform(5.5, 6.5); n = int(eff(p["rate"]) * sec / (F + 60))
a, t = shares(path_full=sec, app_turns=13 * p["rtt"] / 1e3, app_response=0.4)
case("rsync-over-ssh", p, SSHD, f"mkdir copy; rsync -aW -e 'ssh {SSH}' root@{{server}}:$PWD/files/ copy/", "down", a, f"{n} files of {F} B, {n * F / 1e6:.1f} MB without a wait between files, through ssh: BBR, BDP {bdp(p):.0f} segments, a queue of two: {t}",
     prepare=f"rmdir files; {PY}files.py files {n} {F}", base="ssh")
p = path([31, 44, 56], [9, 12, 16], cc="reno", queue="2bdp"); sec = R.uniform(6, 7); size = eff(p["rate"]) * sec * 0.985
n = R.choice([4, 5]); each = int(size / n)
a, t = shares(path_full=sec, app_turns=(n + 1) * p["rtt"] / 1e3, cwnd_startup=3 * p["rtt"] / 1e3)
case("https-large-files", p, NG, f"curl -s -k -o got 'https://{{server}}:8000/file?[1-{n}]'", "down", a, f"{n} files of {each / 1e6:.2f} MB on one TLS connection, a turn each: Reno, a queue of 2 BDP ({bdp(p):.0f} segments each), after a drop 150 % of the BDP: {t}", prepare=random_file(each), base="https")
p = path([24, 38, 52], [11, 14, 17], cc="bbr", queue="2bdp", loss=R.choice([0.2, 0.3])); sec = R.uniform(5.5, 6.5); size = eff(p["rate"]) * sec
case("redis-rdb", p, redis_with("redis-cli -s sock -x set big <file"), "sleep 2.5; redis-cli -h {server} -p 8000 --rdb got >out 2>&1", "down", ["path/full"],
     f"a replica's copy of {size / 1e6:.1f} MB in one stream: BBR keeps 1 to 2 BDP ({bdp(p):.0f} segments) in flight and does not answer to {p['loss']} % of loss: {sec:.1f} s of link; three turns and some 0.2 s of the server (it forks) before the first byte", prepare=random_file(size))

# --- cwnd/startup --------------------------------------------------------------------------------------------------------------
p = path([430, 445, 460], [62, 68], cc="reno", queue="1bdp"); size = R.randrange(1150000, 1400000); k, _, last = flights(size); rtt = p["rtt"] / 1e3; assert k == 7 and 0.2 < last < 0.6 and bdp(p) > 1300
a, t = shares(cwnd_startup=(k - 1) * rtt, app_turns=rtt, path_full=0.05)
case("nghttp-far", p, "exec nghttpd --no-tls -d $PWD 8000", "nghttp -n -w 25 -W 25 http://{server}:8000/file", "down", a, f"{size} B by HTTP/2, its windows are 32 MiB: {k} flights from ten segments on, doubled each {p['rtt']} ms; BDP {bdp(p):.0f} segments, the largest flight 640: {t}", prepare=random_file(size))
p = path([580, 610, 635], [57, 64], cc="reno", queue="1bdp"); size = R.randrange(1150000, 1400000); k, _, last = flights(size); rtt = p["rtt"] / 1e3; assert k == 7 and 0.2 < last < 0.6 and bdp(p) > 1300
case("redis-set-far", p, REDIS, "redis-cli -h {server} -p 8000 -x set big <file >out", "up", ["cwnd/startup"], f"{size} B up: {k} flights from ten segments on, doubled each {p['rtt']} ms = {(k - 1) * rtt:.1f} s beside {size / eff(p['rate']):.2f} s of link or less, the client speaks first; BDP {bdp(p):.0f} segments, the largest flight 640",
     prepare=f"head -c {size} /dev/zero | tr '\\0' v >file")
p = path([480, 495, 515], [59, 66], cc="reno", queue="1bdp"); s1, s2 = R.randrange(85000, 98000), R.randrange(820000, 980000); rtt = p["rtt"] / 1e3
k1, w1, l1 = flights(s1); k2, _, l2 = flights(s2, w1); assert k1 == 3 and k2 == 4 and 0.1 < l2 < 0.8, (k1, k2, l2)
a, t = shares(cwnd_startup=(k1 + k2 - 2) * rtt, app_turns=2 * rtt, path_full=0.05)
case("two-answers-far", p, NG, CLIENT + "answers 1 /small /file", "down", a, f"{s1} B and then {s2} B: {k1} flights from ten segments on, and {k2} from {w1}, doubled each {p['rtt']} ms, one of each is the turn's; BDP {bdp(p):.0f} segments: {t}",
     prepare=f"{random_file(s1, 'small')}; {random_file(s2)}", base="nginx")

# --- cwnd/random_loss ----------------------------------------------------------------------------------------------------------
def lossy(p, lo=5.5, hi=6.5, most=0.3):
    W = law(p); by = W / (p["rtt"] / 1e3); sec = R.uniform(lo, hi); assert by < most * eff(p["rate"]), (by, p)
    return sec, by * sec, f"{p['loss']} % lost: {W / 1e3:.0f} kB each {p['rtt']} ms = {mbit(by)} of {p['rate']}"
p = path([34, 42, 53], [27, 37], cc="reno", queue="130p", loss=R.choice([0.5, 0.9])); sec, size, why = lossy(p); rows = int(size / 206)
case("mariadb-dump-loss", p, MARIA, f"{DUMP} -q --where='seq <= {rows}' mysql t >dump", "down", ["cwnd/random_loss"], f"a dump of {rows} rows, {size / 1e6:.1f} MB, {why}; twenty turns ({20 * p['rtt'] / 1e3:.1f} s) before", base="mariadb")
p = path([28, 39, 46], [33, 42], cc="reno", queue="130p", loss=R.choice([0.7, 1.1])); sec, size, why = lossy(p); n = R.choice([6, 8]); each = int(size / n)
a, t = shares(cwnd_random__loss=sec, app_turns=n * p["rtt"] / 1e3, cwnd_timeout=n * 0.03)
case("curl-puts-loss", p, NG, f"curl -s -H Expect: -T 'files/f[0-{n - 1}]' http://{{server}}:8000/up/ >out", "up", a, f"{n} files of {each} B on one connection, a turn each, {why}: {t}", prepare=f"rmdir files; {PY}files.py files {n} {each}", base="nginx")
p = path([32, 40, 51], [29, 41], cc="reno", queue="130p", loss=R.choice([0.6, 1.0])); sec, size, why = lossy(p, 6.5, 7)
a, t = shares(cwnd_random__loss=sec, app_turns=12 * p["rtt"] / 1e3, app_response=0.4)
case("sftp-get-loss", p, SSHD, f"sftp -q {SSH} root@{{server}}:$PWD/file copy", "down", a, f"{size / 1e6:.1f} MB, 64 reads of 32 KiB outstanding, {why}; {t}", prepare=random_file(size), base="ssh")

# --- cwnd/queue_loss -----------------------------------------------------------------------------------------------------------
def small(rtts, rates, queues):
    p = path(rtts, rates, cc="reno", queue=R.choice(queues)); rounds = int(R.uniform(5.5, 6.2) / (p["rtt"] / 1e3)); q = int(p["queue"][:-1]); assert 45 + rounds < bdp(p) and bdp(p) > 130, (p, rounds, bdp(p))
    size = (20 * rounds + rounds * rounds / 2) * MSS
    return p, rounds, size, (f"{size / 1e6:.1f} MB: BDP {bdp(p):.0f} segments, queue {q} and a bucket of 22: slow start overflows it at some 40 to 80 segments, half of that is left, then one segment more each {p['rtt']} ms, "
                             f"{rounds} in {rounds * p['rtt'] / 1e3:.1f} s: from 20 to {20 + rounds}, always below the BDP")
p, rounds, size, why = small([64, 73, 82], [27, 32], ["4p", "6p", "8p"])
case("pg-copy-small-queue", p, PG, READY + f"{PSQL} -c \"copy (select i, repeat('q', 700) from generate_series(1, {int(size / 706)}) i) to stdout\" >rows", "down", ["cwnd/queue_loss", "cwnd/growth"], why + f"; five turns ({5 * p['rtt']} ms) before", base="pg")
p, rounds, size, why = small([69, 78, 86], [26, 31], ["5p", "7p", "9p"])
case("tar-over-ssh-small-queue", p, SSHD, f"tar -cf - file | ssh {SSH} root@{{server}} \"cat >$PWD/got/file.tar\"", "up", ["cwnd/queue_loss", "cwnd/growth"], why + f"; ten turns ({p['rtt'] / 100:.1f} s) and 0.4 s of processors before", prepare=random_file(size), base="ssh")

assert len(out) == 40, len(out)
print(f"# 40 conversations with real programs, drawn at random (seed {SEED}), with the answers by arithmetic before the first run.\n"
      "# `answer`: limited_by/cause of the flow with most bytes; a second one where the definitions allow both. `direction`: of its payload, \"down\" is from\n"
      "# the server (far.pcapng is near the sender), \"up\" from the command (near.pcapng is). `base` and `prepare` make the folder (prepare.sh).\n")
for c in out:
    print("[[case]]")
    for k, v in c.items():
        if v != "": print(f"{k} = {json.dumps(v)}")
    print()

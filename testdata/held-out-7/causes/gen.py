#!/usr/bin/env python3
"""Draws 40 causes and writes the answers by arithmetic: gen.py >SET.toml"""
import json, math, random
SEED = 71130
R = random.Random(SEED)
MSS = 1448
out = []

def eff(rate): return rate * 1e6 / 8 * MSS / 1514   # payload bytes/s of a link that counts IP + 14
class Path:
    """A path from the client's side: `up` and `down` Mbit/s; `way` is the direction of the data."""
    def __init__(self, way, rtts, ups, downs, cc=None, queue=None, loss=0, jitter=0):
        self.way, self.rtt, self.up, self.down = way, R.choice(rtts), R.choice(ups), R.choice(downs)
        self.cc, self.queue, self.loss, self.jitter = cc or R.choice(["bbr", "reno"]), queue or R.choice(["1.4bdp", "1.8bdp", "2.2bdp", "2.6bdp", "350p"]), loss, jitter
        self.rate = self.up if way == "up" else self.down
        self.bytes = eff(self.rate)
        self.bdp = self.bytes * self.rtt / 1e3
    def args(self, more):
        return (["--rtt", f"{self.rtt}ms"] + (["--rate", f"{self.up}mbit", "--reverse-rate", f"{self.down}mbit"] if self.up else []) + (["--queue", self.queue] if self.queue != "none" else [])
                + (["--jitter", f"{self.jitter}ms"] if self.jitter else []) + (["--loss", f"{self.loss}%"] if self.loss else []) + ["--set", f"host.congestion_control={'reno' if self.cc == 'cubic' else self.cc}"] + list(more))
def law(percent): return 1.22 / math.sqrt(percent / 100) * MSS
def mbit(x): return f"{x * 8 / 1e6:.1f} Mbit/s"
def data(size, name="file"): return f"head -c {int(size)} /dev/urandom >{name}"
def rounds(size):
    """Flights after the first one of 10 segments, in slow start that doubles."""
    return math.ceil(math.log2(size / (10 * MSS) + 1)) - 1
def quota(ms, name): return f"mkdir -p /sys/fs/cgroup/cpu/{name}; echo {ms}000 >/sys/fs/cgroup/cpu/{name}/cpu.cfs_quota_us; echo $$ >/sys/fs/cgroup/cpu/{name}/cgroup.procs; "
def rmem(first, last=6291456): return ["--set", f"host.tcp_rmem=4096 {first} {last}"]
def wait(command): return f"until {command} >/dev/null 2>&1; do sleep 0.2; done; "

def case(name, p, server, client, answer, why, prepare="", base="", more=(), far=None, sockets=None, active=False):
    out.append(dict(name=f"{len(out) + 1:02d}-{name}", path=p.args(more), base=base, prepare=prepare, server=server, client=client, direction=p.way, answer=answer,
                    arithmetic=why, **({"answer_near_receiver": far} if far else {}), **({"answer_sockets": sockets} if sockets else {}), **({"active": True} if active else {})))

CUBIC = "ip -4 route show | while read r; do ip route change $r congctl cubic; done; "   # CUBIC is not in this machine's list for namespaces, a route may name it
def initcwnd(n): return f"ip -4 route show | while read r; do ip route change $r initcwnd {n}; done; "
NGINX = "exec /usr/sbin/nginx -p $PWD -c nginx.conf 2>/dev/null"
APACHE = "exec /usr/sbin/apache2 -f $PWD/apache.conf -DFOREGROUND 2>/dev/null"
LIGHTTPD = "exec /usr/sbin/lighttpd -D -f lighttpd.conf 2>/dev/null"
CADDY = "exec env HOME=$PWD XDG_CONFIG_HOME=$PWD XDG_DATA_HOME=$PWD caddy file-server --listen :8000 --root files >/dev/null 2>&1"
RCLONE = "exec env HOME=$PWD rclone --config none serve webdav --addr :8000 files >/dev/null 2>&1"
DAV = "env HOME=$PWD rclone --config none --webdav-url http://{server}:8000 copyto "
FTP = "exec /usr/bin/python3 -m pyftpdlib -p 8000 -r 8100-8199 -w -d ftp >/dev/null 2>&1"
SSHD = "exec /usr/sbin/sshd -D -e -f $PWD/sshd/server 2>/dev/null"
SMBD = "exec /usr/sbin/smbd -F --no-process-group -s smb.conf -l $PWD/smb >/dev/null 2>&1"
NCAT = "exec ncat -l -p 8000 --recv-only --no-shutdown >got"
PGBIN = "/usr/lib/postgresql/15/bin/"
PG = (f"exec setpriv --reuid=postgres --regid=postgres --clear-groups {PGBIN}postgres -D $PWD/pg -p 8000 -c 'listen_addresses=*' -c unix_socket_directories= "
      "-c fsync=off -c shared_buffers=16MB -c max_connections=20 -c autovacuum=off -c jit=off 2>/dev/null")
MARIA = ("exec /usr/sbin/mariadbd --no-defaults --user=root --datadir=$PWD/data --socket=$PWD/socket --port=8000 '--bind-address=*' --skip-grant-tables "
         "--skip-networking=0 --innodb-log-file-size=4M 2>/dev/null")
READY = wait("mariadb-admin --no-defaults -h {server} -P 8000 -u root ping")
BOTH = "; packets alone cannot tell a send buffer from a window of the application"

# sndbuf/program: the kernel doubles SO_SNDBUF and counts its own overhead, a last write can overfill it: 0.6 to 1.5 of the doubled value
def sndbuf(sizes, *path):
    while True:
        S = R.choice(sizes) * 1024; p = Path(*path)
        if 3 * S < 0.5 * p.bdp: break
    return S, p, 2 * S / p.rtt * 1e3, f"SO_SNDBUF {S} B, about {2 * S} B outstanding (0.6 to 1.5 of it) each {p.rtt} ms = {mbit(2 * S / p.rtt * 1e3)} of {p.rate}, {200 * S / p.bdp:.0f} % of the BDP" + BOTH
S, p, v, why = sndbuf([30, 36, 44], "down", [92, 104, 126], [25, 40], [60, 85, 110])
case("sndbuf-apache-wget", p, APACHE, "wget -q -O got http://{server}:8000/file", ["sndbuf/program", "app/window"], why + "; Apache's SendBufferSize, one answer after one turn, 2 or 3 rounds of slow start", f"echo SendBufferSize {S} >more.conf; " + data(v * 5.5, "www/file"), base="apache", sockets=["sndbuf/program"])
S, p, v, why = sndbuf([24, 28, 40], "up", [142, 158, 171], [45, 60, 75], [30, 90])
case("sndbuf-lftp-put", p, FTP, "sleep 0.7; lftp -c 'set ftp:ssl-allow no; set net:socket-buffer %d; open ftp://{server}:8000; put file'" % S, ["sndbuf/program", "app/window"], why + "; lftp's net:socket-buffer on FTP's data connection, pyftpdlib reads at once", "mkdir ftp; " + data(v * 5.5), sockets=["sndbuf/program"])
# sndbuf/maximum: tcp_wmem[2]
def wmem(sizes, *path):
    while True:
        M = R.choice(sizes) * 1024; p = Path(*path)
        if 1.3 * M < 0.5 * p.bdp: break
    return p, M / p.rtt * 1e3, f"tcp_wmem[2] {M} B (0.5 to 1.3 of it outstanding) each {p.rtt} ms = {mbit(M / p.rtt * 1e3)} of {p.rate}, {100 * M / p.bdp:.0f} % of the BDP" + BOTH, ["--set", f"host.tcp_wmem=4096 16384 {M}"]
p, v, why, more = wmem([112, 144, 192], "down", [138, 162, 214], [15], [55, 75, 120])
case("wmem-caddy-axel", p, CADDY, "sleep 0.8; axel -q -n 1 -o got http://{server}:8000/file", ["sndbuf/maximum", "app/window"], why + "; Caddy's file server, axel gets it over one connection, 3 rounds of slow start", "mkdir files; " + data(v * 5, "files/file"), more=more, sockets=["sndbuf/maximum"])
p, v, why, more = wmem([64, 88, 108], "up", [74, 88, 96], [70, 90], [20, 45])
case("wmem-rclone-put", p, RCLONE, "sleep 0.5; " + DAV + "file :webdav:got >/dev/null 2>&1", ["sndbuf/maximum", "app/window"],
     why + "; one PUT of WebDAV and some 2 turns, 3 rounds of slow start", "mkdir files; " + data(v * 5), more=more, sockets=["sndbuf/maximum"])
# rwnd/program: S to 2 S of window
def rcvbuf(sizes, *path):
    while True:
        S = R.choice(sizes) * 1024; p = Path(*path)
        if 2 * S < 0.5 * p.bdp: break
    return S, p, 1.2 * S / p.rtt * 1e3, f"SO_RCVBUF {S} B, a window of {S} to {2 * S} B each {p.rtt} ms = about {mbit(1.2 * S / p.rtt * 1e3)} of {p.rate}, at most {200 * S / p.bdp:.0f} % of the BDP"
S, p, v, why = rcvbuf([34, 42, 52], "up", [82, 97, 112], [45, 65], [35, 55])
case("rcvbuf-apache-put", p, APACHE, "curl -s -H Expect: -T file -o out http://{server}:8000/got", ["rwnd/program"], why + "; Apache's ReceiveBufferSize, set before listen(); one PUT (mod_dav)", f"echo ReceiveBufferSize {S} >more.conf; " + data(v * 5.5), base="apache")
S, p, v, why = rcvbuf([29, 45, 57], "down", [116, 132, 151], [20, 40], [60, 80])
case("rcvbuf-java-client", p, LIGHTTPD, f"java -Xshare:auto -XX:TieredStopAtLevel=1 -Djdk.httpclient.receiveBufferSize={S} Fetch http://{{server}}:8000/file got >out", ["rwnd/program"], why + "; a property of the JDK's HTTP client, set before connect(); one answer after one turn", data(v * 5.5, "www/file"), base="lighttpd java")
# rwnd/rmem_max: the program asks for 16 MiB, net.core.rmem_max is 4 MiB (doubled, two thirds of it are window)
p = Path("up", [318, 334], [240], [60], cc="reno", queue="1.2bdp"); W = 5569152; S = 88000000
case("rmem-max-nginx-put", p, NGINX, initcwnd(48) + "curl -s -H Expect: -T file http://{server}:8000/got", ["rwnd/rmem_max", "rwnd/program", "rwnd/maximum"],
     f"nginx, tuned for a long fat path, asks for SO_RCVBUF 16 MiB on its listening socket, net.core.rmem_max (4 MiB here) allows twice 4 MiB, tcp_rmem[2] would have been 32 MiB: a window of some {W / 1e6:.1f} MB each {p.rtt} ms = {mbit(W / p.rtt * 1e3)} of {mbit(p.bytes)}, {100 * W / p.bdp:.0f} % of the BDP; "
     f"{S} B: 6 or 7 rounds of slow start (from 48 segments, ip route … initcwnd) = {6.5 * p.rtt / 1e3:.1f} s, the rest in {(S - 2 * W) / W * p.rtt / 1e3:.1f} s; packets show a constant window, not who set it",
     f"sed -i 's/listen 8000/listen 8000 rcvbuf=16m/' nginx.conf; head -c {S} /dev/zero >file", base="nginx", more=["--set", "host.tcp_wmem=4096 16384 33554432"], sockets=["rwnd/rmem_max"])
# rwnd/maximum: tcp_rmem[2]
while True:
    M = R.choice([124, 156, 188]) * 1024; p = Path("down", [127, 143, 159], [30], [50, 65])
    if M < 0.5 * p.bdp: break
v = M / p.rtt * 1e3 * 0.75; n = int(v * 5.5 / 214)
case("rmem-mariadb-dump", p, MARIA, READY + f"mariadb-dump --no-defaults -h {{server}} -P 8000 -u root --skip-lock-tables '--where=seq<={n}' mysql t >dump", ["rwnd/maximum"],
     f"tcp_rmem[2] {M} B, of which 50 to 100 % are window, each {p.rtt} ms = at most {mbit(M / p.rtt * 1e3)} of {p.rate}, at most {100 * M / p.bdp:.0f} % of the BDP; mariadb-dump reads {n} rows of some 214 B as they come, some 22 turns before = {22 * p.rtt / 1e3:.1f} s", base="mariadb", more=rmem(61440, M))
# rwnd/autotuning: a sender whose window is large from its first flight, a receiver whose buffer begins small
p = Path("down", [246, 258, 274], [25], [90, 110], cc="reno", queue="2.2bdp"); S = R.choice([520000, 560000])
case("autotuning-lighttpd", p, initcwnd(420) + LIGHTTPD, "wget -q -O got http://{server}:8000/file", ["rwnd/autotuning"],
     f"the server's cwnd is 420 segments from the start (ip route … initcwnd, as CDNs do), the client's tcp_rmem[1] is 8,192 B: a window of some 3 kB, which grows only with what was read in a round trip: {S} B need 7 flights or more of {p.rtt} ms = {7 * p.rtt / 1e3:.1f} s, beside one turn and {S / p.bytes:.2f} s of the link; the congestion window alone would need one",
     data(S, "www/file"), base="lighttpd", more=rmem(8192))
p = Path("up", [212, 226, 238], [95, 115], [40], cc="reno", queue="2.6bdp"); S = R.choice([610000, 660000])
case("autotuning-ncat-up", p, NCAT, initcwnd(500) + "ncat {server} 8000 <file", ["rwnd/autotuning"],
     f"the client's cwnd is 500 segments from the start (ip route … initcwnd), the server's tcp_rmem[1] is 10,240 B: a window of some 4 kB, which grows only with what was read in a round trip: {S} B need 7 flights or more of {p.rtt} ms = {7 * p.rtt / 1e3:.1f} s, beside {S / p.bytes:.2f} s of the link; the congestion window alone would need one; nobody answers",
     data(S), more=rmem(10240))
# cwnd/idle_restart, of the active time (Linux halves the window once for each RTO of idle time)
def idle(way, sizes, rtts, ups, downs):
    p = Path(way, rtts, ups, downs, cc="reno", queue="2.2bdp"); S = R.choice(sizes); rtt = p.rtt / 1e3; r = rounds(S); top = S / MSS + 10
    halvings = math.ceil(math.log2(top / 10)); pause = (rtt + .2) * (halvings + R.uniform(1.2, 1.6))
    return p, S, rtt, r, pause, f"pauses of {pause:.2f} s = {pause / (rtt + .2):.1f} RTO, the window of some {top:.0f} segments is halved {halvings} times, to 10"
def bursts(n, r, rtt): return f"{(n - 1) * r} rounds after pauses = {(n - 1) * r * rtt:.1f} s, {r} in the first = {r * rtt:.1f} s, the last flight of each at most {n * .3 * rtt:.1f} s"
p, S, rtt, r, pause, words = idle("down", [390000, 415000], [98, 106], [30], [150, 180]); n = 5; every = pause + (r + 1.2) * rtt
case("idle-redis-subscribe", p, f"(sleep 1.8; for i in $(seq {n}); do redis-cli -s sock -x publish news <file; sleep {every:.2f}; done) >/dev/null 2>&1 & exec redis-server --port 8000 --unixsocket sock --protected-mode no --save '' >/dev/null",
     f"sleep 1; timeout {1.3 + (n - 1) * (every + .05) + 2:.1f} redis-cli -h {{server}} -p 8000 subscribe news >got; true", ["cwnd/idle_restart"], f"Redis publishes {n} messages of {S} B, nobody asks for them, {words}: {bursts(n, r, rtt)}; one turn (SUBSCRIBE) before", data(S), more=rmem(1048576), active=True)
p, S, rtt, r, pause, words = idle("up", [370000, 420000], [86, 94], [120, 160], [35]); n = 5; every = pause + (r + 1.2) * rtt
case("idle-curl-chunked", p, NGINX, f"for i in $(seq {n}); do cat file; [ $i = {n} ] || sleep {every:.2f}; done | curl -s -H Expect: -T - http://{{server}}:8000/got", ["cwnd/idle_restart"],
     f"curl sends its standard input as one chunked PUT: {n} pictures of {S} B that nobody answers, {words}: {bursts(n, r, rtt)}; one answer at the end", data(S), base="nginx", more=rmem(1048576), active=True)
# cwnd/ecn: an AQM that marks
p = Path("down", [46, 53, 58], [30], [17, 22], cc="reno", queue="500p"); b = p.bdp / MSS
case("ecn-pyftpdlib-get", p, FTP, "sleep 0.7; timeout 9 wget -q -O got ftp://{server}:8000/file; true", ["cwnd/ecn", "cwnd/growth"],
     f"fq_codel marks when 0.4 ms have stood for 12 ms, and drops nothing: Reno falls from the BDP of {b:.0f} segments and the bucket's 21 at most to a half, {b - (b + 25) / 2:.0f} round trips or more of {p.rtt} ms = {(b - (b + 25) / 2) * p.rtt / 1e3:.1f} s below the BDP, 2 or 3 above it; FTP's data connection",
     "mkdir ftp; " + data(p.bytes * 9, "ftp/file"), more=["--aqm", "fq_codel target=400us interval=12ms", "--ecn"])
# cwnd/timeout: one segment outstanding, and it or its answer is lost
def lossy(p, n=6.0):
    rtt = p.rtt / 1e3; per = rtt + 2 * p.loss / 100 * (rtt + 0.2); n = int(n / per)
    return n, f"{p.rtt} ms of turn each = {n * rtt:.1f} s, and {2 * p.loss:g} % of them wait {rtt * 1e3 + 200:.0f} ms for the timer = {n * (per - rtt):.1f} s"
p = Path("up", [5, 7], [20, 35], [10, 50], loss=R.choice([4.8, 5.6])); n, words = lossy(p)
case("timeout-redis-benchmark", p, "exec redis-server --port 8000 --protected-mode no --save '' >/dev/null", f"sleep 0.7; timeout 16 redis-benchmark -h {{server}} -p 8000 -c 1 -n {n} -t set -d 580 -q >out; true", ["cwnd/timeout"],
     f"{n} SETs of 580 B over one connection, the next after the answer, one segment each: {words}; near the receiver a lost request looks like a client that thinks, half of the waiting", far=["cwnd/timeout", "app/response"])
p = Path("down", [6, 10], [9, 30], [12, 45], loss=R.choice([5.1, 5.8])); n, words = lossy(p, 6.5)
case("timeout-pgbench", p, PG, wait(PGBIN + "pg_isready -q -h {server} -p 8000") + f"echo \"select repeat('b', 760);\" >script; timeout 16 {PGBIN}pgbench -n -c 1 -t {n} -f script -h {{server}} -p 8000 -U postgres postgres >out 2>&1; true", ["cwnd/timeout"],
     f"pgbench, one client, {n} statements with answers of some 830 B, one segment each: {words}; near the receiver a lost answer looks like a server that thinks, half of the waiting", base="pg", far=["cwnd/timeout", "app/response"])
# cwnd/random_loss
p = Path("down", [47, 59], [15], [40, 55], cc="reno", queue="1.8bdp", loss=R.choice([0.6, 0.8])); v = law(p.loss) / p.rtt * 1e3
case("loss-php-curl", p, "exec php -S 0.0.0.0:8000 -t www >/dev/null 2>&1", "sleep 0.5; curl -s -o got http://{server}:8000/file", ["cwnd/random_loss"],
     f"{p.loss} % lost: {law(p.loss) / 1e3:.0f} kB each {p.rtt} ms = {mbit(v)} of {p.rate}, {100 * law(p.loss) / p.bdp:.0f} % of the BDP; PHP's own web server, one answer", "mkdir www; " + data(v * 6.5, "www/file"))
p = Path("up", [38, 49], [36, 50], [60], cc="cubic", queue="2.6bdp", loss=R.choice([0.7, 1.0])); v = law(p.loss) / p.rtt * 1e3
case("loss-smbclient-put", p, SMBD, CUBIC + "smbclient -N -I {server} -p 8000 //server/files -c 'put file got' 2>/dev/null", ["cwnd/random_loss"],
     f"{p.loss} % lost: {law(p.loss) / 1e3:.0f} kB each {p.rtt} ms = {mbit(v)} of {p.rate}, {100 * law(p.loss) / p.bdp:.0f} % of the BDP (CUBIC, in its Reno-friendly region: a window of {law(p.loss) / MSS:.0f} segments); SMB2 WRITEs of 1 MiB or more, several at once, setup some 8 turns = {p.rtt * .008:.1f} s", data(v * 6.5), base="smb")
# cwnd/queue_loss: teeth
def teeth(p):
    q = int(p.queue[:-1]); b = p.bdp / MSS; low = (b + q + 6) / 2
    return f"BDP {b:.0f} segments, queue {q}: Reno falls to {low:.0f} at most, {b - low:.0f} round trips of {p.rtt} ms = {(b - low) * p.rtt / 1e3:.1f} s below the BDP, then some {q + 6} above it (the bucket is emptied first): {100 * (b - low) / (b - low + q + 6):.0f} % of each tooth"
p = Path("down", [41, 48], [8], [22, 27], cc="reno", queue=R.choice(["4p", "6p"]))
case("queue-busybox-wget", p, "exec busybox httpd -f -p 8000 -h www", "timeout 9 busybox wget -q -O got http://{server}:8000/file; true", ["cwnd/queue_loss", "cwnd/growth"], teeth(p) + "; one answer after one turn", "mkdir www; " + data(p.bytes * 9, "www/file"))
p = Path("up", [35, 39], [25, 29], [50], cc="reno", queue=R.choice(["5p", "6p"]))
case("queue-scp-up", p, SSHD, "timeout 10 scp -q -F sshd/client file root@{server}:$PWD/copy; true", ["cwnd/queue_loss", "cwnd/growth"], teeth(p) + f"; scp keeps 64 requests of 32 KiB outstanding, ssh's window is 2 MiB: {2 ** 21 / p.bdp:.0f} BDP each; setup 16 turns {p.rtt * .016:.1f} s", data(p.bytes * 9), base="ssh")
# cwnd/growth: a path that becomes eight times as long
p = Path("down", [11, 12], [30], [58, 64], cc="reno", queue="40p"); T = 1.6; far = R.choice([92, 98]); b = p.bdp / MSS; n = (9 - T) / far * 1e3
case("growth-longer-path", p, CADDY, "sleep 0.8; curl -s -m 9 -o got http://{server}:8000/file; true", ["cwnd/growth"],
     f"the path has {p.rtt} ms for {T} s and {far} ms from then on (a detour over another continent): a window of at most {b + 46:.0f} segments at {T} s, one segment more each {far} ms, {n:.0f} in the rest of 9 s, of a BDP of {b * far / p.rtt:.0f} then: never full, no loss any more, {100 * (9 - T) / 9:.0f} % of the time",
     "mkdir files; " + data(eff(p.down) * 6, "files/file"), more=["--change", f"{T}s,rtt={far}ms"])
# cwnd/startup
p = Path("down", [276, 283, 301], [40], [160, 180], cc="reno", queue="2.6bdp"); S = R.choice([3050000, 3300000]); r = rounds(S)
case("startup-lighttpd-curl", p, LIGHTTPD, "curl -s -o got http://{server}:8000/file", ["cwnd/startup"], f"{S} B = {S / MSS:.0f} segments: one turn, {r} rounds after the first flight of 10 = {r * p.rtt / 1e3:.1f} s, {S / p.bytes:.2f} s of the link; tcp_rmem[1] is 6 MiB, so that the receiver's window is never the smaller one",
     data(S, "www/file"), base="lighttpd", more=rmem(6291456, 12582912))
# cwnd/policer
while True:
    rate, bucket = R.choice([5, 7]), R.choice([24, 28, 34, 40]); p = Path("up", [54, 62, 71], [0], [0], cc="reno", queue="none")
    if 0.66 < bucket * 1024 / (eff(rate) * p.rtt / 1e3) < 0.85: break
case("policer-curl-ftp", p, FTP, "sleep 0.7; curl -s -m 10 -T file ftp://{server}:8000/; true", ["cwnd/policer"],
     f"a bucket of {bucket} KiB at {rate} Mbit/s, no queue: drops what exceeds it, {mbit(eff(rate))} at most, BDP {eff(rate) * p.rtt / 1e3 / 1024:.0f} KiB; FTP's data connection, no turn on it", "mkdir ftp; " + data(eff(rate) * 5.5), more=["--policer", f"{rate}mbit:{bucket}KiB"])
# path/full: a slow line up, a deep queue down
p = Path("up", [37, 44], [1.6, 2], [16], cc="reno", queue="55p"); S = int(p.bytes * 7)
case("full-smtp-adsl", p, "exec /usr/bin/python3 -m aiosmtpd -n -l 0.0.0.0:8000 -c aiosmtpd.handlers.Sink >/dev/null 2>&1", "sleep 0.9; curl -s smtp://{server}:8000/here --mail-from me@here --mail-rcpt you@there -T mail", ["path/full"],
     f"a line of {p.up} Mbit/s up with a queue of 55 frames = {55 * 1514 * 8 / p.up / 1e3:.0f} ms, BDP {p.bdp / MSS:.0f} segments: never empty after a drop; a mail of {S} B by SMTP, {S / p.bytes:.1f} s of the link and some 6 turns of {p.rtt} ms",
     f"{{ printf 'From: me@here\\nSubject: scans\\n\\n'; head -c {int(S * 0.731)} /dev/urandom | base64; }} | sed 's/$/\\r/' >mail")
p = Path("down", [28, 34], [5], [9, 12], cc="reno", queue="3bdp"); S = int(p.bytes * 6.5)
case("full-rclone-get", p, RCLONE, "sleep 1; " + DAV + ":webdav:file got >/dev/null 2>&1", ["path/full"],
     f"Reno and a queue of 3 BDP ({p.bdp / MSS:.0f} segments each): after a drop 200 % of the BDP; {S} B by WebDAV, {mbit(p.bytes)} for 6.5 s, some 2 turns", "mkdir files; " + data(S, "files/file"))
# path/shared
n = 3; p = Path("down", [24, 29], [9], [18, 22], cc="reno", queue="2.6bdp"); S = int(p.bytes * 7)
case("shared-xargs-wget", p, APACHE, "ls www | xargs -P 4 -I + wget -q -O got+ http://{server}:8000/+", ["path/shared", "path/full"],
     f"four files at once, each over its own connection: 7 s share {p.down} Mbit/s, the queue of 2.6 BDP is never empty; f1 has 10 % more bytes than the others, its last {7 * .1 / 4.1:.1f} s are alone at most", f"{data(S * 1.1 / 4.1, 'www/f1')}; for i in 2 3 4; do {data(S / 4.1, 'www/f$i')}; done", base="apache")
# path/mtu
p = Path("up", [34, 42], [20, 28], [55], queue="2.2bdp"); n = 12; big = R.choice([66000, 92000]); mtu = R.choice([1412, 1440])
case("mtu-curl-puts", p, LIGHTTPD, "timeout 9 curl -s -o 'out#1' -T '{%s}' http://{server}:8000/; true" % ",".join([f"a{i:02d}" for i in range(n)] + ["z"]), ["path/mtu"],
     f"a tunnel of {mtu} B that nobody tells of: {n} PUTs of 620 B pass on one connection, two turns each (curl waits for 100 Continue) = {2 * n * p.rtt / 1e3:.2f} s, one of {big} B in segments of 1500 B never: timers of 0.2 s + rtt, doubled each time, the last copy at 4 to 8.5 s of the 9 s",
     f"for i in $(seq -w 0 {n - 1}); do {data(620, 'a$i')}; done; {data(big, 'z')}", base="lighttpd", more=["--inner-mtu", str(mtu), "--pmtud", "black-hole"], far=["app/turns"])
p = Path("down", [36, 45], [15], [30, 48], queue="1.8bdp"); n = 10; big = R.choice([58000, 88000]); mtu = R.choice([1454, 1476])
case("mtu-mariadb-select", p, MARIA, READY + f"{{ for i in $(seq {n}); do echo \"select repeat('a', 420);\"; done; echo \"select repeat('z', {big});\"; }} >script; timeout 9 mariadb --no-defaults -A -N -D mysql -h {{server}} -P 8000 -u root <script >rows; true", ["path/mtu"],
     f"a tunnel of {mtu} B that nobody tells of: {n} answers of 420 B pass, some {n + 5} turns = {(n + 5) * p.rtt / 1e3:.1f} s, one of {big} B in segments of 1500 B never: timers of 0.2 s + rtt, doubled each time, the last copy at 4 to 8.5 s of the 9 s",
     base="mariadb", more=["--inner-mtu", str(mtu), "--pmtud", "black-hole"], far=["app/turns"])
# path/silence: the client's firewall forgets the connection
p = Path("down", [26, 32], [9], [14, 17], cc="bbr", queue="2.2bdp"); at = R.choice([1.4, 1.8])
case("silence-firewall", p, LIGHTTPD, f"(sleep {at}; nft 'table ip wall {{ chain in {{ type filter hook input priority 0; policy drop; }}; }}') & curl -s -m 12 -o got http://{{server}}:8000/file; true", ["path/silence"],
     f"the client's firewall drops all that comes in after {at} s or less: data arrive, no ACK leaves; copies after 0.2 s + rtt, doubled each time: the last of them 6 s or more after the last ACK: at least {100 * 6 / (6 + at):.0f} %", data(p.bytes * 4, "www/file"), base="lighttpd")
# cpu/quota
ms, S = 6, 6000000
p = Path("down", [7, 9], [12], [60, 75], queue="350p")
case("cpu-nginx-gzip", p, quota(ms, "seventh-server") + NGINX, "curl -s -m 13 -H 'Accept-Encoding: gzip' -o got http://{server}:8000/file; true", ["app/rate"],
     f"{ms} ms of CPU each 100 ms for nginx, which compresses {S} B of hexadecimal digits (gzip, level 9): some 0.4 s with a whole CPU, 6 s so = some 4.5 Mbit/s of {p.down}, 57 kB each 0.1 s = 8 ms of the link; {100 - ms} of 100 ms it is throttled. Packets show a sender that offers less, sockets with the process the quota",
     f"echo 'gzip on; gzip_types *; gzip_comp_level 9; gzip_proxied any;' >more.conf; head -c {S // 2} /dev/urandom | od -An -v -tx1 | tr -d ' \\n' >www/file", base="nginx", sockets=["cpu/quota"])
ms, n, work = 9, 8000, 45
p = Path("up", [6, 9], [40, 55], [40], queue="350p")
case("cpu-php-journal", p, NCAT, quota(ms, "seventh-client") + f"timeout 14 php -d opcache.enable_cli=0 sign.php {{server}} {n} {work}; true", ["app/rate"],
     f"{ms} ms of CPU each 100 ms for PHP, which derives a key by {work} rounds of PBKDF2 for each of {n} records of some 120 B: some 0.6 s with a whole CPU, 6 s so = 1.2 Mbit/s of {p.up}, 15 kB each 0.1 s = 3 ms of the link; {100 - ms} of 100 ms it is throttled. Packets show a sender that offers less, sockets with the process the quota", sockets=["cpu/quota"])
# pacing/program
rate = R.choice([3, 5]); p = Path("up", [31, 52], [24, 30], [40], cc="reno", queue="1.8bdp")
case("pacing-iperf3-fq-rate", p, "exec iperf3 -s -1 -p 8000 >/dev/null", f"iperf3 -c {{server}} -p 8000 -t 6 --fq-rate {rate}M >out", ["pacing/program", "app/rate"],
     f"iperf3's --fq-rate sets SO_MAX_PACING_RATE to {rate} Mbit/s of {p.up} and writes blocks of 128 KiB as fast as the socket takes them: it always has more to send", sockets=["pacing/program"])
rate = R.choice([2, 4]); p = Path("down", [58, 74], [10], [20, 26], cc="cubic", queue="2.2bdp"); v = rate * 125000
case("pacing-ruby-radio", p, CUBIC + f"exec ruby radio.rb {int(v * 6.5)} {v}", "sleep 0.6; curl -s -o got http://{server}:8000/programme", ["pacing/program", "app/rate"],
     f"a radio's archive in Ruby sets SO_MAX_PACING_RATE (option 47) to {rate} Mbit/s of {p.down}: one programme of {v * 6.5 / 1e6:.1f} MB in 6.5 s after one turn, it always has more to send", sockets=["pacing/program"])
# app
n = R.choice([3, 4]); p = Path("up", [56, 63], [50, 60], [30], cc="reno", queue="2.2bdp"); w = n * (32768 + 28); v = w / p.rtt * 1e3; S = int(v * 6 // 32768 * 32768)
case("window-nbdcopy", p, f"exec nbdkit -f -p 8000 memory {S}", f"nbdcopy --connections=1 --requests={n} --request-size=32768 file nbd://{{server}}:8000", ["app/window"],
     f"nbdcopy writes a disk of {S} B with {n} requests of 32 KiB at once, each released by an answer of 16 B: {w} B each {p.rtt} ms = {mbit(v)} of {p.up}, {100 * w / p.bdp:.0f} % of the BDP; some 6 turns before, 3 rounds of slow start", data(S))
p = Path("down", [64, 81], [20], [45, 70], cc="reno", queue="1.8bdp"); v = 65535 / p.rtt * 1e3; S = int(v * 6)
case("window-h2load-nginx", p, NGINX, "h2load -n 1 -c 1 -m 1 -w 16 -W 16 http://{server}:8000/file >out", ["app/window"],
     f"HTTP/2 with windows of 65,535 B (the default of RFC 9113), renewed by WINDOW_UPDATEs of 13 B when a half is used: 65,535 B each {p.rtt} ms = {mbit(v)} of {p.down}, {100 * 65535 / p.bdp:.0f} % of the BDP; one turn, 2 or 3 rounds of slow start", "sed -i 's/listen 8000/listen 8000 http2/' nginx.conf; " + data(S, "www/file"), base="nginx")
p = Path("up", [39, 46], [18, 26], [30], queue="2.2bdp"); size = R.choice([4300, 6100]); n = int(6.5 / (p.rtt + 1.5) * 1e3)
case("turns-memccp", p, "exec memcached -u root -l 0.0.0.0 -p 8000 -U 0 -m 64", "memccp --servers={server}:8000 files/*", ["app/turns"],
     f"memccp stores {n} files of {size} B in memcached, one after the other: a turn of {p.rtt} ms each, beside {size / p.bytes * 1e3:.1f} ms of the link at most (its bucket is full)", f"mkdir files; for i in $(seq -w 100 {99 + n}); do {data(size, 'files/f$i')}; done")
size = R.choice([260, 480, 640]); p = Path("up", [10, 13], [14, 20], [30], queue="2.2bdp"); n = int(6.5 / (2 * p.rtt / 1e3 + 0.041))
case("nagle-wget-post", p, NGINX, f"for i in $(seq {n}); do echo http://{{server}}:8000/form$i; done >list; wget -q -O got --post-file=body -i list", ["app/nagle"],
     f"{n} POSTs of GNU Wget on one connection, which writes the header and then the body of {size} B, without TCP_NODELAY; nginx reads the body before it passes the request on and answers: the body waits for the ACK of the header, {p.rtt} ms + 40 ms, beside {p.rtt} ms of turn: {100 * (p.rtt + 40) / (2 * p.rtt + 40):.0f} %",
     f"echo \"server {{ listen unix:$PWD/back; location / {{ return 204; }} }}\" >more.conf; sed -i \"s#root www#location / {{ proxy_pass http://unix:$PWD/back; }} root www#\" nginx.conf; {data(size, 'body')}", base="nginx")
size = R.choice([600, 900, 1200]); p = Path("up", [18, 24], [22, 30], [40], queue="1.8bdp"); n = int(6.5 / (p.rtt / 1e3 + 0.04))
case("delayed-ack-sensor", p, "exec perl collect.pl got", f"./sensor {{server}} {n} {size}", ["app/delayed_ack"],
     f"a sensor sends {n} records of {size} B, the next when it is told that the last one is acknowledged (SO_TIMESTAMPING, TX_ACK); the collector reads once in a second, so that reading sends one ACK in 16: after the first 16 it is delayed by 40 ms: {p.rtt} + 40 ms each, TCP_NODELAY is set", base="sensor")
think = R.choice([0.14, 0.17]); p = Path("down", [16, 23], [7], [22], queue="2.2bdp"); n = int(6.5 / (think + p.rtt / 1e3))
case("response-nbdkit-delay", p, f"exec nbdkit -f -p 8000 --filter=delay memory {n * 4096} rdelay={int(think * 1e3)}ms", "nbdcopy --synchronous --connections=1 --request-size=4096 --no-extents nbd://{server}:8000 null:", ["app/response"],
     f"{n} reads of 4 KiB, one after the other, of a slow disk that takes {think * 1e3:.0f} ms for each, beside {p.rtt} ms of turn: {100 * think * 1e3 / (think * 1e3 + p.rtt):.0f} %")
rate = R.choice([140, 190]); p = Path("up", [15, 21], [14, 18], [40], queue="2.2bdp", jitter=1)
case("rate-rsync-bwlimit", p, "exec rsync --daemon --no-detach --config rsyncd.conf", f"rsync -W --bwlimit={rate} file rsync://{{server}}:8000/got/", ["app/rate"],
     f"rsync with --bwlimit={rate} (KiB/s): it writes and sleeps when it is 0.1 s ahead or more: {mbit(rate * 1024)} of {p.up}, {rate * 102.4 / 1e3:.0f} kB = {rate * 102.4 / p.bytes * 1e3:.0f} ms of the link and {p.rtt} ms of delay of 0.1 s; some 6 turns before", data(rate * 1024 * 6.5), base="rsync")
p = Path("up", [33, 40], [20, 26], [15], queue="2.2bdp"); stop = R.choice([5.8, 6.6]); S = int(p.bytes * 1.3)
case("receiver-tape", p, f"ncat -l -p 8000 --recv-only --no-shutdown | {{ head -c 262144 >got; sleep {stop}; cat >>got; }}", "ncat {server} 8000 <file", ["receiver"],
     f"a robot changes the tape for {stop} s after 256 KiB, nobody reads: tcp_rmem[2] is 192 KiB and a pipe 64 KiB, full after {(262144 + 196608) / p.bytes + .2:.1f} s, then the window is 0; {S} B need {S / p.bytes:.1f} s of the link or some more for that window: at least {100 * (stop - .3) / (stop + 1.7):.0f} %", data(S), more=rmem(98304, 196608))

print("# 40 causes with real programs, drawn at random (seed %d), with the answers by arithmetic before the first run.\n"
      "# `answer`: limited_by/cause of the flow with most bytes; `active`: of active_limited_by/active_cause; `answer_near_receiver` where the receiver's packets can only show that, `answer_sockets` where sockets show more than packets.\n" % SEED)
for c in out:
    print("[[case]]")
    for k, v in c.items():
        if v != "": print(f"{k} = {json.dumps(v, ensure_ascii=False)}")
    print()

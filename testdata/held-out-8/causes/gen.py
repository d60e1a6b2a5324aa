#!/usr/bin/env python3
"""Draws 40 causes and writes the answers by arithmetic: gen.py >SET.toml"""
import json, math, random
SEED = 80861
R = random.Random(SEED)
MSS = 1448
out = []

def eff(rate, frame=1514): return rate * 1e6 / 8 * MSS / frame   # payload bytes/s of a link that counts IP + 14
class Path:
    """A path from the client's side: `up` and `down` Mbit/s; `way` is the direction of the data. Loss is of that direction alone."""
    def __init__(self, way, rtts, ups, downs, cc=None, queue=None, loss=0, jitter=0, frame=1514):
        self.way, self.rtt, self.up, self.down = way, R.choice(rtts), R.choice(ups), R.choice(downs)
        self.cc, self.queue, self.loss, self.jitter = cc or R.choice(["bbr", "reno"]), queue or R.choice(["1.5bdp", "1.9bdp", "2.3bdp", "2.7bdp", "320p"]), loss, jitter
        self.rate = self.up if way == "up" else self.down
        self.bytes = eff(self.rate, frame)
        self.bdp = self.bytes * self.rtt / 1e3
    def args(self, more):
        return (["--rtt", f"{self.rtt}ms"] + (["--rate", f"{self.up}mbit", "--reverse-rate", f"{self.down}mbit"] if self.up else []) + (["--queue", self.queue] if self.queue != "none" else [])
                + (["--jitter", f"{self.jitter}ms"] if self.jitter else []) + (["--set", f"path.{'' if self.way == 'up' else 'reverse_'}loss={self.loss}%"] if self.loss else [])
                + ["--set", f"host.congestion_control={'reno' if self.cc == 'cubic' else self.cc}"] + list(more))
def law(percent): return 1.22 / math.sqrt(percent / 100) * MSS
def mbit(x): return f"{x * 8 / 1e6:.1f} Mbit/s"
def data(size, name="file"): return f"head -c {int(size)} /dev/urandom >{name}"
def rounds(size):
    """Flights after the first one of 10 segments, in slow start that doubles."""
    return math.ceil(math.log2(size / (10 * MSS) + 1)) - 1
def quota(ms, name): return f"mkdir -p /sys/fs/cgroup/cpu/{name}; echo {ms}000 >/sys/fs/cgroup/cpu/{name}/cpu.cfs_quota_us; echo $$ >/sys/fs/cgroup/cpu/{name}/cgroup.procs; "
def rmem(first, last=6291456): return ["--set", f"host.tcp_rmem=4096 {first} {last}"]

def case(name, p, server, client, answer, why, prepare="", base="", more=(), far=None, sockets=None, active=False):
    out.append(dict(name=f"{len(out) + 1:02d}-{name}", path=p.args(more), base=base, prepare=prepare, server=server, client=client, direction=p.way, answer=answer,
                    arithmetic=why, **({"answer_near_receiver": far} if far else {}), **({"answer_sockets": sockets} if sockets else {}), **({"active": True} if active else {})))

CUBIC = "ip -4 route show | while read r; do ip route change $r congctl cubic; done; "   # CUBIC is not in this machine's list for namespaces, a route may name it
def initcwnd(n): return f"ip -4 route show | while read r; do ip route change $r initcwnd {n}; done; "
STORESCP = "TCP_BUFFER_LENGTH=1500000 exec storescp -od got 8000 >/dev/null 2>&1"
STUNNEL = "cat more.conf base.conf to.conf >stunnel.conf; exec stunnel stunnel.conf 2>/dev/null"
WEBFS = "exec webfsd -F -4 -p 8000 -r www >/dev/null 2>&1"
MINI = "exec mini_httpd -D -p 8000 -d www -u root -i pid >/dev/null 2>&1"
H2O = "exec h2o -c h2o.conf >/dev/null 2>&1"
SVN = "exec svnserve -d --foreground --listen-host 0.0.0.0 --listen-port 8000 -r repo"
HG = "exec hg serve -R repo -a 0.0.0.0 -p 8000 --config web.allow-push='*' --config web.push_ssl=no >/dev/null 2>&1"
SYSLOG = "exec /usr/sbin/syslog-ng -F --no-caps -f syslog.conf -R state -p pid -c control >/dev/null 2>&1"
PROFTPD = "exec /usr/sbin/proftpd -n -q -c $PWD/proftpd.conf >/dev/null 2>&1"
UNBOUND = "exec /usr/sbin/unbound -d -p -c unbound.conf >/dev/null 2>&1"
NAMED = "exec /usr/sbin/named -g -n 1 -c named.conf 2>/dev/null"
MBUFFER = "exec mbuffer -q -I 8000 -o /dev/null 2>/dev/null"
BOTH = "; packets alone cannot tell a send buffer from a window of the application"

# sndbuf/program: the kernel doubles SO_SNDBUF and counts its own overhead, a last write can overfill it: 0.6 to 1.5 of the doubled value
def sndbuf(sizes, *path):
    while True:
        S = R.choice(sizes) * 1024; p = Path(*path)
        if 3 * S < 0.5 * p.bdp: break
    return S, p, 2 * S / p.rtt * 1e3, f"SO_SNDBUF {S} B, about {2 * S} B outstanding (0.6 to 1.5 of it) each {p.rtt} ms = {mbit(2 * S / p.rtt * 1e3)} of {p.rate}, {200 * S / p.bdp:.0f} % of the BDP" + BOTH
S, p, v, why = sndbuf([27, 33, 41], "up", [98, 113, 129], [40, 55, 85], [25, 60]); rows = int(v * 5.5 / 1000)
case("sndbuf-storescu", p, STORESCP, f"sleep 0.5; TCP_BUFFER_LENGTH={S} storescu {{server}} 8000 image.dcm", ["sndbuf/program", "app/window"], why + f"; DCMTK's TCP_BUFFER_LENGTH at the sender, one mammogram of {rows} x 1000 B in one C-STORE after 2 turns",
     f"mkdir got; {data(rows * 1000, 'pixels')}; sh $KIT/image.sh {rows} 1000", sockets=["sndbuf/program"])
S, p, v, why = sndbuf([26, 32, 43], "down", [104, 122, 147], [20, 35], [55, 80, 105])
case("sndbuf-stunnel-wget", p, "webfsd -F -4 -i 127.0.0.1 -p 8080 -r www >/dev/null 2>&1 & " + STUNNEL, "sleep 1; wget -q --no-check-certificate -O got https://{server}:8000/file", ["sndbuf/program", "app/window"],
     why + "; stunnel's option socket = l:SO_SNDBUF before a web server, one answer after 3 turns (TLS), 2 or 3 rounds of slow start", f"echo socket = l:SO_SNDBUF={S} >more.conf; printf 'connect = 127.0.0.1:8080\\n' >to.conf; " + data(v * 5.5, "www/file"), base="web stunnel", sockets=["sndbuf/program"])
# sndbuf/maximum: tcp_wmem[2]
def wmem(sizes, *path):
    while True:
        M = R.choice(sizes) * 1024; p = Path(*path)
        if 1.3 * M < 0.5 * p.bdp: break
    return p, M / p.rtt * 1e3, f"tcp_wmem[2] {M} B (0.5 to 1.3 of it outstanding) each {p.rtt} ms = {mbit(M / p.rtt * 1e3)} of {p.rate}, {100 * M / p.bdp:.0f} % of the BDP" + BOTH, ["--set", f"host.tcp_wmem=4096 16384 {M}"]
p, v, why, more = wmem([92, 124, 156], "down", [112, 134, 156], [20], [65, 80, 95])
case("wmem-svn-export", p, SVN, "sleep 0.3; svn export -q --config-dir conf svn://{server}:8000/file got", ["sndbuf/maximum", "app/window"], why + f"; svnserve sends one file in one report, some 6 turns before = {6 * p.rtt / 1e3:.1f} s", data(v * 5) + "; svnmucc --config-dir conf -m one -U file://$PWD/repo put file file >out", base="svn", more=more, sockets=["sndbuf/maximum"])
p, v, why, more = wmem([72, 96, 116], "up", [82, 91, 103], [60, 75], [25, 50])
case("wmem-hg-push", p, HG, "sleep 1.5; hg -R tree push -q http://{server}:8000/", ["sndbuf/maximum", "app/window"], why + f"; Mercurial sends one bundle in one POST, in writes of 128 KiB, which the kernel takes whole when a third of the buffer is free (up to 1.9 of it outstanding), some 4 turns before and 3 after = {7 * p.rtt / 1e3:.1f} s", "hg init repo; " + data(v * 6, "tree/file") + "; hg -R tree commit -q -A -u nobody -m one", base="hg", more=more, sockets=["sndbuf/maximum"])
# rwnd/program: S to 2 S of window
def rcvbuf(sizes, *path):
    while True:
        S = R.choice(sizes) * 1024; p = Path(*path)
        if 2 * S < 0.5 * p.bdp: break
    return S, p, 1.2 * S / p.rtt * 1e3, f"SO_RCVBUF {S} B, a window of {S} to {2 * S} B each {p.rtt} ms = about {mbit(1.2 * S / p.rtt * 1e3)} of {p.rate}, at most {200 * S / p.bdp:.0f} % of the BDP"
S, p, v, why = rcvbuf([31, 39, 47], "up", [88, 102, 118], [40, 60], [30, 50]); n = int(v * 5.5 / 1200)
case("rcvbuf-syslog-ng", p, SYSLOG, f"sleep 1; loggen --inet --stream --size 1200 --number {n} --rate 100000 --interval 30 {{server}} 8000 >out 2>&1; sleep 1", ["rwnd/program"],
     why + f"; syslog-ng's so-rcvbuf(), set before listen(); loggen sends {n} messages of 1200 B, 100,000 in a second if it could, and nobody answers", f"sed -i 's/port(8000)/port(8000) so-rcvbuf({S})/' syslog.conf", base="syslog")
S, p, v, why = rcvbuf([30, 44, 54], "down", [109, 127, 141], [25, 45], [50, 75])
case("rcvbuf-ncftpget", p, PROFTPD, f"sleep 0.7; ncftpget -V -F -Z -B {S} -u guest -p guest -P 8000 {{server}} . file >out 2>&1", ["rwnd/program"], why + "; ncftpget's option -B, set before connect(); FTP's data connection, no turn on it", data(v * 5.5, "ftp/file"), base="proftpd")
# rwnd/rmem_max: the program asks for 16 MiB, net.core.rmem_max is 4 MiB (doubled, two thirds of it are window)
p = Path("up", [304, 322], [230], [50], cc="reno", queue="1.3bdp"); W = 5569152; S = 84000000
case("rmem-max-syslog-ng", p, SYSLOG, initcwnd(52) + "sleep 1; nc -N {server} 8000 <lines", ["rwnd/rmem_max", "rwnd/program", "rwnd/maximum"],
     f"syslog-ng, tuned for a long fat path, asks for so-rcvbuf(16777216) before listen(), net.core.rmem_max (4 MiB here) allows twice 4 MiB, tcp_rmem[2] would have been 32 MiB: a window of some {W / 1e6:.1f} MB each {p.rtt} ms = {mbit(W / p.rtt * 1e3)} of {mbit(p.bytes)}, {100 * W / p.bdp:.0f} % of the BDP; "
     f"an archive of {S // 8000} lines of 8 kB, {S} B: 6 or 7 rounds of slow start (from 52 segments, ip route … initcwnd) = {6.5 * p.rtt / 1e3:.1f} s, the rest in {(S - 2 * W) / W * p.rtt / 1e3:.1f} s; packets show a constant window, not who set it",
     f"sed -i 's/port(8000)/port(8000) so-rcvbuf(16777216)/' syslog.conf; yes $(printf %07999d 1) | head -c {S} >lines", base="syslog", more=["--set", "host.tcp_wmem=4096 16384 33554432"], sockets=["rwnd/rmem_max"])
# rwnd/maximum: tcp_rmem[2]
while True:
    M = R.choice([116, 148, 180]) * 1024; p = Path("down", [118, 137, 151], [25], [45, 60])
    if M < 0.5 * p.bdp: break
v = M / p.rtt * 1e3 * 0.75; n = int(v * 5.5 / 216)
case("rmem-named-axfr", p, NAMED, "sleep 1.5; dig @{server} -p 8000 +noall +answer +time=30 +tries=1 example. axfr >copy", ["rwnd/maximum"],
     f"tcp_rmem[2] {M} B, of which 50 to 100 % are window, each {p.rtt} ms = at most {mbit(M / p.rtt * 1e3)} of {p.rate}, at most {100 * M / p.bdp:.0f} % of the BDP; BIND transfers a zone of {n} TXT records of some 216 B after one turn, dig reads them as they come",
     f"head -c {n * 144} /dev/urandom | base64 -w 192 | awk '{{ printf \"r%06d 60 TXT \\\"%s\\\"\\n\", NR, $0 }}' >>zone", base="named", more=rmem(57344, M))
# rwnd/autotuning: a sender whose window is large from its first flight, a receiver whose buffer begins small
p = Path("down", [462, 488, 514], [20], [95, 115], cc="reno", queue="2.3bdp"); S = R.choice([500000, 545000])
case("autotuning-mini-httpd", p, initcwnd(440) + MINI, "sleep 0.3; wget2 -q -O got http://{server}:8000/file", ["rwnd/autotuning"],
     f"the server's cwnd is 440 segments from the start (ip route … initcwnd, as CDNs do), the client's tcp_rmem[1] is 8,192 B: a window of some 3 kB, which grows only with what was read in a round trip: {S} B need 7 flights or more of {p.rtt} ms = {7 * p.rtt / 1e3:.1f} s, beside one turn and {S / p.bytes:.2f} s of the link; the congestion window alone would need one",
     data(S, "www/file"), base="web", more=rmem(8192))
p = Path("up", [441, 467, 493], [90, 120], [35], cc="reno", queue="2.7bdp"); n = R.choice([620, 660]); S = n * 1060
case("autotuning-logger", p, SYSLOG, initcwnd(520) + "sleep 1; logger --tcp --server {server} --port 8000 --size 4096 --tag archive --file lines; sleep 5", ["rwnd/autotuning"],
     f"the client's cwnd is 520 segments from the start (ip route … initcwnd), the server's tcp_rmem[1] is 9,216 B: a window of some 4 kB, which grows only with what was read in a round trip: {n} lines of some 1060 B = {S} B need 7 flights or more of {p.rtt} ms = {7 * p.rtt / 1e3:.1f} s, beside {S / p.bytes:.2f} s of the link; the congestion window alone would need one; nobody answers",
     f"head -c {n * 750} /dev/urandom | base64 -w 1000 >lines", base="syslog", more=rmem(9216))
# cwnd/idle_restart, of the active time (Linux halves the window once for each RTO of idle time)
def idle(way, sizes, rtts, ups, downs):
    p = Path(way, rtts, ups, downs, cc="reno", queue="2.3bdp"); S = R.choice(sizes); rtt = p.rtt / 1e3; r = rounds(S); top = S / MSS + 10
    halvings = math.ceil(math.log2(top / 10)); pause = (rtt + .2) * (halvings + R.uniform(1.2, 1.6))
    return p, S, rtt, r, pause, f"pauses of {pause:.2f} s = {pause / (rtt + .2):.1f} RTO, the window of some {top:.0f} segments is halved {halvings} times, to 10"
def bursts(n, r, rtt): return f"{(n - 1) * r} rounds after pauses = {(n - 1) * r * rtt:.1f} s, {r} in the first = {r * rtt:.1f} s, the last flight of each at most {n * .3 * rtt:.1f} s"
p, S, rtt, r, pause, words = idle("down", [380000, 410000], [92, 101], [25], [140, 170]); n = 5; every = pause + (r + 1.2) * rtt
case("idle-nats", p, f"(sleep 2.2; {{ for i in $(seq {n}); do printf 'PUB news {S}\\r\\n'; cat file; printf '\\r\\n'; sleep {every:.2f}; done; }} | nc -q 1 127.0.0.1 8000) >/dev/null 2>&1 & exec nats-server -a 0.0.0.0 -p 8000 >/dev/null 2>&1",
     f"sleep 1; {{ printf 'CONNECT {{\"verbose\":false}}\\r\\nSUB news 1\\r\\n'; sleep {1.3 + (n - 1) * (every + .05) + 2:.1f}; }} | nc -q 0 {{server}} 8000 >got; true", ["cwnd/idle_restart"], f"NATS publishes {n} messages of {S} B, nobody asks for them, {words}: {bursts(n, r, rtt)}; one turn (SUB) before", data(S), more=rmem(1048576), active=True)
p, S, rtt, r, pause, words = idle("up", [365000, 405000], [89, 97], [110, 150], [30]); n = 5; every = pause + (r + 1.2) * rtt
case("idle-zeromq", p, "exec /usr/bin/python3 camera.py take got", f"sleep 1; /usr/bin/python3 camera.py send {{server}} file {n} {every:.2f}; sleep 1.5", ["cwnd/idle_restart"],
     f"a camera pushes {n} pictures of {S} B by ZeroMQ (PUSH to PULL), which nobody answers, {words}: {bursts(n, r, rtt)}; some 3 turns of the greeting before", data(S), base="python", more=rmem(1048576), active=True)
# cwnd/ecn: an AQM that marks
p = Path("up", [48, 55, 61], [19, 24], [35], cc="reno", queue="450p"); b = p.bdp / MSS
case("ecn-red-ncftpput", p, PROFTPD, "sleep 0.7; timeout 10 ncftpput -V -F -Z -u guest -p guest -P 8000 {server} . file >out 2>&1; true", ["cwnd/ecn", "cwnd/growth"],
     f"RED marks from an average of one frame on, each packet at ten, and drops nothing: at the latest where a queue stands, above the BDP of {b:.0f} segments, and before that where a part of the flight comes at once and is more than the bucket's 21: Reno falls to {(b + 25) / 2:.0f} segments or fewer each time, {b - (b + 25) / 2:.0f} round trips or more of {p.rtt} ms = {(b - (b + 25) / 2) * p.rtt / 1e3:.1f} s below the BDP, some 10 above it at most; FTP's data connection",
     data(p.bytes * 10), base="proftpd", more=["--aqm", "red min=1514B max=15140B probability=20%", "--ecn"])
# cwnd/timeout: one segment outstanding, and it is lost
def lossy(p, n=6.0):
    rtt = p.rtt / 1e3; q = p.loss / 100; wait = q * (rtt + 0.2) + q * q * 2 * (rtt + 0.2); n = int(n / (rtt + wait))
    return n, f"{p.rtt} ms of turn each = {n * rtt:.1f} s, and {p.loss:g} % of them wait {rtt * 1e3 + 200:.0f} ms for the timer, or twice as long again = {n * wait:.1f} s"
p = Path("down", [5, 8], [15, 25], [10, 40], loss=R.choice([9.5, 11]), queue="250p"); n, words = lossy(p)
case("timeout-dnsperf", p, UNBOUND, f"sleep 0.7; timeout 16 dnsperf -s {{server}} -p 8000 -m tcp -c 1 -T 1 -q 1 -t 15 -n 1 -d list >out; true", ["cwnd/timeout"],
     f"dnsperf asks unbound {n} times over one TCP connection, the next after the answer of some 750 B in one segment; only answers are lost: {words} (once in a while dnsperf itself waits for 0.1 s); near the receiver a lost answer looks like a server that thinks", f"yes 'host.example. TXT' | head -{n} >list", base="unbound", far=["cwnd/timeout", "app/response"])
p = Path("up", [7, 9], [12, 30], [15, 45], loss=R.choice([10, 11.5]), queue="250p"); n, words = lossy(p, 6.5)
case("timeout-beanstalk", p, "exec beanstalkd -l 0.0.0.0 -p 8000", f"sleep 0.4; timeout 16 lua5.4 put.lua {{server}} {n} 640; true", ["cwnd/timeout"],
     f"a program in Lua puts {n} jobs of 640 B into beanstalkd's queue, the next after the answer, one segment each; only its segments are lost: {words}; near the receiver a lost job looks like a client that thinks", base="lua", far=["cwnd/timeout", "app/response"])
# cwnd/random_loss
p = Path("down", [45, 57], [20], [45, 65], cc="reno", queue="1.9bdp", loss=R.choice([0.8, 1.0])); v = law(p.loss) / p.rtt * 1e3
case("loss-hg-clone", p, HG, "sleep 1.5; hg clone -q -U --stream http://{server}:8000/ copy", ["cwnd/random_loss"],
     f"{p.loss} % lost: {law(p.loss) / 1e3:.0f} kB each {p.rtt} ms = {mbit(v)} of {p.rate}, {100 * law(p.loss) / p.bdp:.0f} % of the BDP; Mercurial's stream clone, one answer, some 5 turns before = {5 * p.rtt / 1e3:.1f} s", data(v * 10, "tree/file") + "; hg -R tree commit -q -A -u nobody -m one; mv tree repo", base="hg")
p = Path("up", [36, 47], [30, 45], [55], cc="cubic", queue="2.7bdp", loss=R.choice([0.8, 1.1])); v = law(p.loss) / p.rtt * 1e3
case("loss-gnutls-cli", p, STUNNEL, CUBIC + "sleep 0.7; gnutls-cli --insecure -p 8000 {server} <file >out 2>&1; true", ["cwnd/random_loss"],
     f"{p.loss} % lost: {law(p.loss) / 1e3:.0f} kB each {p.rtt} ms = {mbit(v)} of {p.rate}, {100 * law(p.loss) / p.bdp:.0f} % of the BDP (CUBIC, in its Reno-friendly region: a window of {law(p.loss) / MSS:.0f} segments); gnutls-cli sends its standard input to stunnel after 2 turns, and nobody answers",
     "printf 'exec = /bin/sh\\nexecArgs = sh -c cat>got\\n' >to.conf; " + data(v * 10), base="stunnel")
# cwnd/queue_loss: teeth
def teeth(p):
    q = int(p.queue[:-1]); b = p.bdp / MSS; low = (b + q + 6) / 2
    return f"BDP {b:.0f} segments, queue {q}: Reno falls to {low:.0f} at most, {b - low:.0f} round trips of {p.rtt} ms = {(b - low) * p.rtt / 1e3:.1f} s below the BDP, then some {q + 6} above it (the bucket is emptied first): {100 * (b - low) / (b - low + q + 6):.0f} % of each tooth"
p = Path("down", [39, 46], [10], [21, 26], cc="reno", queue=R.choice(["4p", "5p"]))
case("queue-webfs-wget2", p, WEBFS, "sleep 0.3; timeout 9 wget2 -q -O got http://{server}:8000/file; true", ["cwnd/queue_loss", "cwnd/growth"], teeth(p) + "; one answer after one turn", data(p.bytes * 9, "www/file"), base="web")
p = Path("up", [37, 43], [23, 28], [45], cc="reno", queue=R.choice(["4p", "6p"]))
case("queue-nuttcp", p, "exec nuttcp -1 -P8000 >/dev/null 2>&1", "sleep 0.4; nuttcp -t -P8000 -p8001 -T8 {server} >out", ["cwnd/queue_loss", "cwnd/growth"], teeth(p) + "; nuttcp's data connection, 8 s of blocks of 64 KiB", "true")
# cwnd/growth: a line fails, and a long fat one takes over
p = Path("up", [19, 22], [9, 11], [40], cc="reno", queue="90p"); T = 1.7; far, fat = R.choice([96, 108]), R.choice([75, 90]); b = p.bdp / MSS; n = (9 - T) / far * 1e3
case("growth-fail-over", p, PROFTPD, "sleep 0.7; timeout 9 ncftpput -V -F -Z -u guest -p guest -P 8000 {server} . file >out 2>&1; true", ["cwnd/growth"],
     f"a line of {p.up} Mbit/s and {p.rtt} ms for {T} s, then a link of {fat} Mbit/s and {far} ms in its place: a window of at most {b + 90 + 21:.0f} segments at {T} s, one segment more each {far} ms, {n:.0f} in the rest of 9 s, of a BDP of {eff(fat) * far / 1e3 / MSS:.0f} then: never full, no loss any more, {100 * (9 - T) / 9:.0f} % of the time",
     data(eff(p.up) * 30), base="proftpd", more=["--change", f"{T}s,rtt={far}ms,rate={fat}mbit"])
# cwnd/startup
p = Path("down", [596, 618, 634], [30], [150, 170], cc="reno", queue="2.7bdp"); S = R.choice([2900000, 3200000]); r = rounds(S)
case("startup-twisted", p, "exec twist3 web --path www --listen tcp:8000 >/dev/null 2>&1", "sleep 1.5; curl -s -o got http://{server}:8000/file", ["cwnd/startup"], f"{S} B = {S / MSS:.0f} segments by satellite: one turn, {r} rounds after the first flight of 10 = {r * p.rtt / 1e3:.1f} s, {S / p.bytes:.2f} s of the link; tcp_rmem[1] is 6 MiB, so that the receiver's window is never the smaller one",
     data(S, "www/file"), base="web", more=rmem(6291456, 12582912))
# cwnd/policer
while True:
    rate, bucket = R.choice([6, 8]), R.choice([26, 30, 36, 44]); p = Path("down", [51, 58, 67], [0], [0], cc="reno", queue="none")
    if 0.66 < bucket * 1024 / (eff(rate) * p.rtt / 1e3) < 0.85: break
bdp = eff(rate) * p.rtt / 1e3; bucket = round(1.05 * bdp / 1024)   # a bucket of one BDP, so that Reno's half is not below the rate
case("policer-apt-helper", p, H2O, "sleep 0.3; timeout 10 /usr/lib/apt/apt-helper -q download-file http://{server}:8000/file $PWD/got >out 2>&1; true", ["cwnd/policer"],
     f"a bucket of {bucket} KiB at {rate} Mbit/s, no queue: drops what exceeds it, {mbit(eff(rate))} at most, BDP {bdp / 1024:.0f} KiB: Reno is cut at {(bdp / 1024 + bucket):.0f} KiB to {(bdp / 1024 + bucket) / 2:.0f} at latest, all of the rate; apt's method http gets one file, one answer after one turn", data(eff(rate) * 7, "www/file"), base="h2o", more=["--policer", f"{rate}mbit:{bucket}KiB"])
# path/full: a line of ATM cells up, a deep queue down
p = Path("up", [31, 39], [1.5, 1.9], [14], cc="reno", queue="48p", frame=1696); rows = int(p.bytes * 7 / 1000)
case("full-dcmsend-adsl", p, STORESCP, "sleep 0.5; TCP_BUFFER_LENGTH=1500000 dcmsend {server} 8000 image.dcm >out 2>&1", ["path/full"],
     f"an ADSL line of {p.up} Mbit/s up (PPPoA: 32 cells = 1696 B for a full segment), a queue of 48 frames = {48 * 1696 * 8 / p.up / 1e3:.0f} ms, BDP {p.bdp / MSS:.0f} segments: never empty after a drop; an image of {rows * 1000} B by DICOM, {rows * 1000 / p.bytes:.1f} s of the line, 2 turns of {p.rtt} ms before, and send and receive buffers of 1.5 MB",
     f"mkdir got; {data(rows * 1000, 'pixels')}; sh $KIT/image.sh {rows} 1000", more=["--set", "path.rate_layer=pppoa-vcmux"])
p = Path("down", [26, 33], [6], [10, 13], cc="cubic", queue="3bdp"); S = int(p.bytes * 6.5)
case("full-git-http", p, CUBIC + "exec /usr/sbin/lighttpd -D -f lighttpd.conf 2>/dev/null", "sleep 0.4; git clone -q http://{server}:8000/git/repo copy", ["path/full"],
     f"CUBIC and a queue of 3 BDP ({p.bdp / MSS:.0f} segments each): after a drop 0.7 of 4 BDP = 280 % of the BDP; git's http-backend behind lighttpd sends a pack of {S} B, {mbit(p.bytes)} for 6.5 s, 3 turns before and some 0.5 s until the pack is made", data(S, "repo/file") + "; git -C repo add file; git -C repo commit -q -m one", base="git")
# path/shared
p = Path("up", [21, 27], [16, 20], [30], cc="reno", queue="2.7bdp"); S = int(p.bytes * 7)
case("shared-lftp-mirror", p, PROFTPD, "sleep 0.7; lftp -c 'set ftp:ssl-allow no; set ftp:use-mdtm no; open -u guest,guest -p 8000 {server}; mirror -R --parallel=4 files .' >out 2>&1", ["path/shared", "path/full"],
     f"four files at once, each over its own data connection: 7 s share {p.up} Mbit/s, the queue of 2.7 BDP is never empty; f1 has 10 % more bytes than the others, and begins some 0.6 s before them: at least 85 % of its time is shared", f"mkdir files; {data(S * 1.1 / 4.1, 'files/f1')}; for i in 2 3 4; do {data(S / 4.1, 'files/f$i')}; done", base="proftpd")
# path/mtu
p = Path("up", [33, 43], [22, 30], [50], queue="2.3bdp"); n = 12; big = R.choice([64000, 88000]); mtu = R.choice([1408, 1444])
case("mtu-ldapadd", p, "exec /usr/sbin/slapd -d 0 -h ldap://0.0.0.0:8000 -f slapd.conf 2>/dev/null", "sleep 0.8; timeout 10 ldapadd -x -H ldap://{server}:8000 -D cn=admin,dc=example -w secret -f people.ldif >out 2>&1; true", ["path/mtu"],
     f"a tunnel of {mtu} B that nobody tells of: {n + 1} entries of at most some 600 B pass, one turn each and one for the bind = {(n + 2) * p.rtt / 1e3:.2f} s, one with a photograph of {big} B in segments of 1500 B never: timers of 0.2 s + rtt, doubled each time, the last copy at 4 to 8.5 s of the 10 s",
     f"sh $KIT/people.sh {n} {big} >people.ldif", base="slapd", more=["--inner-mtu", str(mtu), "--pmtud", "black-hole"], far=["app/turns"])
p = Path("down", [35, 44], [12], [28, 44], queue="1.9bdp"); n = 12; big = R.choice([180, 220]); mtu = R.choice([1456, 1472])
case("mtu-kdig", p, UNBOUND, f"sleep 0.7; timeout 10 kdig @{{server}} -p 8000 +tcp +keepopen +retry=0 +time=15 {' '.join(f's{i}.example. TXT' for i in range(1, n + 1))} big.example. TXT >out 2>&1; true", ["path/mtu"],
     f"a tunnel of {mtu} B that nobody tells of: {n} answers of some 420 B pass over one TCP connection, {n} turns = {n * p.rtt / 1e3:.1f} s, one of some {big * 256} B in segments of 1500 B never: timers of 0.2 s + rtt, doubled each time, the last copy at 4 to 8.5 s of the 10 s",
     f"{{ for i in $(seq {n}); do echo \" local-data: 's$i.example. TXT \\\"$(printf %0180d 1)\\\" \\\"$(printf %0180d 2)\\\"'\"; done; printf \" local-data: 'big.example. TXT\"; for i in $(seq {big}); do printf ' \"%0255d\"' $i; done; echo \"'\"; }} >>unbound.conf", base="unbound", more=["--inner-mtu", str(mtu), "--pmtud", "black-hole"], far=["app/turns"])
# path/silence: the server loses its address
p = Path("up", [27, 34], [10], [20, 25], cc="reno", queue="2.3bdp"); at = R.choice([2.2, 2.5])
case("silence-address-lost", p, f"(sleep {at}; ip -4 address flush scope global) & " + SVN, "sleep 0.3; timeout 13 svn import -q --config-dir conf -m one file svn://{server}:8000/file; true", ["path/silence"],
     f"the server's host loses its address after {at} s (a lease that ran out): data arrive for nobody, no ACK leaves; copies after 0.2 s + rtt, doubled each time: the last of them 6 s or more after the last ACK: at least {100 * 6 / (6 + at - .5):.0f} %; svn sends one file in one commit, some 8 turns before", data(p.bytes * 5), base="svn")
# cpu/quota
ms, S = 6, 6000000
p = Path("down", [8, 11], [15], [50, 70], queue="320p")
case("cpu-apache-deflate", p, quota(ms, "eighth-server") + "exec /usr/sbin/apache2 -f $PWD/apache.conf -DFOREGROUND 2>/dev/null", "sleep 1.5; curl -s -m 13 -H 'Accept-Encoding: gzip' -o got http://{server}:8000/file; true", ["app/rate"],
     f"{ms} ms of CPU each 100 ms for Apache, whose mod_deflate compresses {S} B of hexadecimal digits (level 9): some 0.4 s with a whole CPU, 6 s so = some 4.5 Mbit/s of {p.down}, 57 kB each 0.1 s = 8 ms of the link; {100 - ms} of 100 ms it is throttled. Packets show a sender that offers less, sockets with the process the quota",
     f"head -c {S // 2} /dev/urandom | od -An -v -tx1 | tr -d ' \\n' >www/file", base="apache", sockets=["cpu/quota"])
# pacing/program
rate = R.choice([300, 420]); p = Path("down", [54, 71], [12], [22, 28], cc="reno", queue="2.3bdp"); v = rate * 1000
case("pacing-varnish", p, "webfsd -F -4 -i 127.0.0.1 -p 8080 -r www >/dev/null 2>&1 & exec /usr/sbin/varnishd -F -n $PWD/varnish -j none -a 0.0.0.0:8000 -f $PWD/pace.vcl -s malloc,64m >/dev/null 2>&1", "sleep 4; curl -s -o got http://{server}:8000/file", ["pacing/program", "app/rate"],
     f"Varnish, tcp.set_socket_pace({rate}) of its vmod tcp: SO_MAX_PACING_RATE {rate} kB/s = {mbit(v)} (or 1024 times {rate} B) of {p.down}: one object of {v * 6.5 / 1e6:.1f} MB in 6.5 s after one turn, it always has more to send", f"sed -i s/RATE/{rate}/ pace.vcl; " + data(v * 6.5, "www/file"), base="web varnish", sockets=["pacing/program"])
rate = R.choice([3, 4]); p = Path("up", [33, 49], [21, 27], [35], cc="cubic", queue="1.9bdp"); v = rate * 125000
case("pacing-go-offsite", p, MBUFFER, CUBIC + f"sleep 0.4; ./offsite {{server}} file {v}; sleep 3", ["pacing/program", "app/rate"],
     f"a copy for another site, in Go, sets SO_MAX_PACING_RATE (option 47) to {rate} Mbit/s of {p.up} before connect() and sends one file of {v * 6.5 / 1e6:.1f} MB as fast as the socket takes it, to mbuffer, which reads at once: it always has more to send", data(v * 6.5), base="go-offsite", sockets=["pacing/program"])
# app
n = R.choice([3, 4]); size = R.choice([16384, 24576]); p = Path("down", [57, 66], [15], [40, 55], cc="reno", queue="2.3bdp"); w = n * (size + 16); v = w / p.rtt * 1e3; count = int(v * 6 / size)
case("window-qemu-img", p, "exec nbd-server -d 0.0.0.0:8000 $PWD/disk -r >/dev/null 2>&1", f"sleep 0.4; qemu-img bench -f raw -c {count} -d {n} -s {size} nbd://{{server}}:8000 >out", ["app/window"],
     f"qemu-img bench reads a disk of {count} pieces of {size} B with {n} requests at once, the next when one is answered: {w} B each {p.rtt} ms = {mbit(v)} of {p.down}, {100 * w / p.bdp:.0f} % of the BDP; some 7 turns before, 2 or 3 rounds of slow start; tcp_wmem[1] is 512 KiB, so that the send buffer is never the smaller one", data(count * size, "disk"), more=["--set", "host.tcp_wmem=4096 524288 4194304"])
w = R.choice([98304, 131072]); p = Path("up", [62, 75], [45, 60], [25], cc="reno", queue="1.9bdp"); v = w / p.rtt * 1e3; S = int(v * 6)
case("window-curl-h2-put", p, f"exec ./inbox {w}", "sleep 0.4; curl -s --http2-prior-knowledge -T file http://{server}:8000/got", ["app/window"],
     f"a server in Go takes one PUT by HTTP/2 with a stream's window of {w} B, renewed by WINDOW_UPDATEs of 13 B as it reads: {w} B each {p.rtt} ms = {mbit(v)} of {p.up}, {100 * w / p.bdp:.0f} % of the BDP; 2 turns, 3 rounds of slow start", data(S), base="go-inbox")
p = Path("down", [38, 47], [8], [20, 35], queue="2.3bdp"); size = R.choice([210, 340]); n = int(6.5 / (p.rtt + 1) * 1e3)
case("turns-snmpwalk", p, "exec env SNMP_PERSISTENT_DIR=$PWD/snmp /usr/sbin/snmpd -f -Lo -C -c snmpd.conf -p pid tcp:0.0.0.0:8000 >/dev/null 2>&1", "sleep 0.8; snmpwalk -v 2c -c public -m '' -On -t 20 -r 0 tcp:{server}:8000 .1.3.6.1.4.1.8072.9999.9999.7 >out", ["app/turns"],
     f"snmpwalk over TCP asks for {n} variables of {size} B, one after the other: a turn of {p.rtt} ms each, beside {(size + 60) / p.bytes * 1e3:.2f} ms of the link", f"for i in $(seq {n}); do echo \"override .1.3.6.1.4.1.8072.9999.9999.7.$i octet_str \\\"$(printf %0{size}d $i)\\\"\"; done >>snmpd.conf", base="snmpd")
size = R.choice([310, 450, 590]); p = Path("up", [9, 12], [16, 22], [28], queue="2.3bdp"); n = int(6.5 / (2 * p.rtt / 1e3 + 0.041))
case("nagle-http-tiny", p, "exec /usr/bin/gunicorn --chdir . -b 0.0.0.0:8000 -w 1 -k gthread --threads 2 --keep-alive 60 form:app >/dev/null 2>&1", f"sleep 1.5; perl forms.pl {{server}} {n} {size}", ["app/nagle"],
     f"{n} POSTs of Perl's HTTP::Tiny on one connection, which writes the header and then the body of {size} B, without TCP_NODELAY; a form in Gunicorn reads the body before it answers: the body waits for the ACK of the header, {p.rtt} ms + 40 ms, beside {p.rtt} ms of turn: {100 * (p.rtt + 40) / (2 * p.rtt + 40):.0f} %", base="perl python")
size = R.choice([500, 800, 1100]); p = Path("up", [17, 23], [20, 28], [35], queue="1.9bdp"); n = int(6.5 / (p.rtt / 1e3 + 0.04))
case("delayed-ack-logbook", p, "exec tclsh shore.tcl got", f"sleep 0.4; ./logbook {{server}} {n} {size}", ["app/delayed_ack"],
     f"a ship's logbook in Go sends {n} entries of {size} B, the next when its socket's queue is empty (SIOCOUTQ, asked each millisecond), that is when the last one is acknowledged; the shore, in Tcl, reads once in 0.9 s, so that reading sends one ACK in 15: after the first 16 it is delayed by 40 ms: {p.rtt} + 40 ms each, TCP_NODELAY is set", base="tcl go-logbook")
think = R.choice([0.15, 0.18]); p = Path("down", [17, 24], [8], [24], queue="2.3bdp"); n = int(6.5 / (think + p.rtt / 1e3))
case("response-haproxy-lua", p, "exec /usr/sbin/haproxy -f haproxy.conf >/dev/null 2>&1", f"sleep 0.5; ab -q -k -c 1 -n {n} http://{{server}}:8000/report >out", ["app/response"],
     f"{n} requests of ab on one connection, one after the other, to a service in HAProxy's Lua that takes {think * 1e3:.0f} ms for each answer of 2800 B, beside {p.rtt} ms of turn: {100 * think * 1e3 / (think * 1e3 + p.rtt):.0f} %", f"sed -i s/THINK/{int(think * 1e3)}/ report.lua", base="haproxy")
rate = R.choice([150, 200]); p = Path("up", [14, 19], [13, 17], [35], queue="2.3bdp", jitter=1)
case("rate-mbuffer", p, "exec nc -d -l 8000 >got", f"sleep 0.4; mbuffer -q -s 16k -m 512k -r {rate}k -i file -O {{server}}:8000 2>/dev/null", ["app/rate"],
     f"mbuffer with -r {rate}k (KiB/s): it reads blocks of 16 KiB and sleeps when it is ahead: {mbit(rate * 1024)} of {p.up}, a block each {16384 / rate / 1.024:.0f} ms = {16384 / p.bytes * 1e3:.0f} ms of the link and {p.rtt} ms of delay; nobody answers", data(rate * 1024 * 6.5))
p = Path("up", [31, 41], [18, 24], [12], queue="2.3bdp"); stop = R.choice([5.7, 6.4]); S = int(p.bytes * 1.4)
case("receiver-p910nd", p, f"{{ head -c 229376 >got; sleep {stop}; cat >>got; }} <printer & exec p910nd -d -f printer -i 0.0.0.0 0 >/dev/null 2>&1", "sleep 0.4; nc -N {server} 9100 <job", ["receiver"],
     f"a printer is out of paper for {stop} s after 224 KiB, and p910nd, which feeds it, does not read: tcp_rmem[2] is 192 KiB, a pipe 64 KiB, full after {(229376 + 65536 + 8192 + 196608) / p.bytes + .2:.1f} s at most, then the window is 0; {S} B need {S / p.bytes:.1f} s of the link or some more for that window: at least {100 * (stop - .3) / (stop + 1.8):.0f} %", "mkdir -p /var/lock/p910nd; mkfifo printer; " + data(S, "job"), more=rmem(98304, 196608))
per = R.choice([3, 4]); p = Path("down", [14, 18], [9], [16, 24], queue="2.3bdp"); n = int(6.5 * per)
case("request-curl-rate", p, H2O, f"sleep 0.3; curl -s --rate {per}/s -o 'got#1' 'http://{{server}}:8000/page[1-{n}]'", ["app/request"],
     f"curl --rate {per}/s asks for {n} pages of 5300 B on one connection, one each {1000 / per:.0f} ms: {p.rtt} ms of turn, {5300 / p.bytes * 1e3:.1f} ms of the link, the rest nobody asks: {100 * (1000 / per - p.rtt - 5300 / p.bytes * 1e3 - 1) / (1000 / per):.0f} %", f"for i in $(seq {n}); do {data(5300, 'www/page$i')}; done", base="h2o")

print("# 40 causes with real programs, drawn at random (seed %d), with the answers by arithmetic before the first run.\n"
      "# `answer`: limited_by/cause of the flow with most bytes; `active`: of active_limited_by/active_cause; `answer_near_receiver` where the receiver's packets can only show that, `answer_sockets` where sockets show more than packets.\n" % SEED)
for c in out:
    print("[[case]]")
    for k, v in c.items():
        if v != "": print(f"{k} = {json.dumps(v, ensure_ascii=False)}")
    print()

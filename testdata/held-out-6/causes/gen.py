#!/usr/bin/env python3
"""Draws 40 causes and writes the answers by arithmetic: gen.py >SET.toml"""
import json, math, random
SEED = 60617
R = random.Random(SEED)
MSS = 1448
out = []

def eff(rate): return rate * 1e6 / 8 * MSS / 1514   # payload bytes/s of a link that counts IP + 14
class Path:
    """A path from the client's side: `up` and `down` Mbit/s; `way` is the direction of the data."""
    def __init__(self, way, rtts, ups, downs=None, cc=None, queue=None, loss=0, jitter=0):
        self.way, self.rtt, self.up = way, R.choice(rtts), R.choice(ups)
        self.down = R.choice(downs) if downs else self.up
        self.cc, self.queue, self.loss, self.jitter = cc or R.choice(["bbr", "reno"]), queue or R.choice(["1.3bdp", "1.6bdp", "2bdp", "2.4bdp", "300p"]), loss, jitter
        self.rate = self.up if way == "up" else self.down
        self.bytes = eff(self.rate)
        self.bdp = self.bytes * self.rtt / 1e3
    def args(self, more):
        return (["--rtt", f"{self.rtt}ms"] + (["--rate", f"{self.up}mbit", "--reverse-rate", f"{self.down}mbit"] if self.up else []) + (["--queue", self.queue] if self.queue != "none" else [])
                + (["--jitter", f"{self.jitter}ms"] if self.jitter else []) + (["--loss", f"{self.loss}%"] if self.loss else []) + ["--set", f"host.congestion_control={'reno' if self.cc == 'cubic' else self.cc}"] + list(more))
def law(percent): return 1.22 / math.sqrt(percent / 100) * MSS
def mbit(x): return f"{x * 8 / 1e6:.1f} Mbit/s"
def data(size, name="file"): return f"head -c {int(size)} /dev/urandom >{name}"
def line(size, name="file"): return f"head -c {int(size * 3 / 4)} /dev/urandom | base64 -w 0 >{name}"
def rounds(size):
    """Flights after the first one of 10 segments, in slow start that doubles."""
    return math.ceil(math.log2(size / (10 * MSS) + 1)) - 1
def quota(ms, name): return f"mkdir -p /sys/fs/cgroup/cpu/{name}; echo {ms}000 >/sys/fs/cgroup/cpu/{name}/cpu.cfs_quota_us; echo $$ >/sys/fs/cgroup/cpu/{name}/cgroup.procs; "
def rmem(first, last=6291456): return ["--set", f"host.tcp_rmem=4096 {first} {last}"]

def case(name, p, server, client, answer, why, prepare="", base="", more=(), far=None, sockets=None, active=False):
    out.append(dict(name=f"{len(out) + 1:02d}-{name}", path=p.args(more), base=base, prepare=prepare, server=server, client=client, direction=p.way, answer=answer,
                    arithmetic=why, **({"answer_near_receiver": far} if far else {}), **({"answer_sockets": sockets} if sockets else {}), **({"active": True} if active else {})))

CUBIC = "ip -4 route show | while read r; do ip route change $r congctl cubic; done; "   # CUBIC is not in this machine's list for namespaces, a route may name it
NG = "exec /usr/sbin/nginx -p $PWD -c nginx.conf 2>/dev/null"
SSHD = "exec /usr/sbin/sshd -D -e -f $PWD/sshd/server 2>/dev/null"
FTPD = "exec /usr/sbin/vsftpd $PWD/vsftpd.conf"
MQTT = "exec /usr/sbin/mosquitto -c mqtt.conf >/dev/null 2>&1"
NC = "exec nc -d -l 8000 >got"
PGBIN = "/usr/lib/postgresql/15/bin/"
PG = (f"exec setpriv --reuid=postgres --regid=postgres --clear-groups {PGBIN}postgres -D $PWD/pg -p 8000 -c 'listen_addresses=*' -c unix_socket_directories= "
      "-c fsync=off -c shared_buffers=16MB -c max_connections=20 -c autovacuum=off -c jit=off 2>/dev/null")
READY = f"until {PGBIN}pg_isready -q -h {{server}} -p 8000; do sleep 0.1; done; "
MARIA = ("exec /usr/sbin/mariadbd --no-defaults --user=root --datadir=$PWD/data --socket=$PWD/socket --port=8000 '--bind-address=*' --skip-grant-tables "
         "--skip-networking=0 --innodb-log-file-size=4M 2>/dev/null")
BOTH = "; packets alone cannot tell a send buffer from a window of the application"

# sndbuf/program: the kernel doubles SO_SNDBUF and counts its own overhead, a last write can overfill it: 0.6 to 1.5 of the doubled value
def sndbuf(sizes, *path):
    while True:
        S = R.choice(sizes) * 1024; p = Path(*path)
        if 1.5 * 2 * S < 0.5 * p.bdp: break
    return S, p, 2 * S / p.rtt * 1e3, f"SO_SNDBUF {S} B, about {2 * S} B outstanding (0.6 to 1.5 of it) each {p.rtt} ms = {mbit(2 * S / p.rtt * 1e3)} of {p.rate}, {200 * S / p.bdp:.0f} % of the BDP" + BOTH
S, p, v, why = sndbuf([34, 42, 50], "up", [152, 176, 212], [60, 80, 110], [100])
case("sndbuf-nc-tar", p, NC, f"tar -cf - files | nc -N -O {S} {{server}} 8000", ["sndbuf/program", "app/window"], why + "; a tar through OpenBSD's netcat with -O, nobody answers",
     "mkdir files; " + "; ".join(data(v * 1.1, f"files/f{i}") for i in range(5)), sockets=["sndbuf/program"])
S, p, v, why = sndbuf([28, 36, 44], "down", [88, 104, 118], [20], [45, 70]); n = 5; p.cc = "reno"   # BBR would pace what is in the buffer
case("sndbuf-haproxy-album", p, "/usr/sbin/nginx -p $PWD -c nginx.conf 2>/dev/null & until [ -S sock ]; do sleep 0.05; done; exec /usr/sbin/haproxy -f haproxy.conf >/dev/null 2>&1", f"curl -s -o 'got#1' 'http://{{server}}:8000/photo?[1-{n}]'", ["sndbuf/program", "app/window"],
     why + f"; HAProxy's tune.sndbuf.client before nginx on a UNIX socket; {n} photos of {int(v * 1.1)} B one after the other on one connection: 1.1 s on the buffer and a turn of {p.rtt} ms for each, 2 or 3 rounds of slow start in the first",
     f"sed -i \"s#listen 8000#listen unix:$PWD/sock#\" nginx.conf; sed -i 's/INCLUDE/tune.sndbuf.client {S}/' haproxy.conf; " + data(v * 1.1, "www/photo"), base="web haproxy", sockets=["sndbuf/program"])
# sndbuf/maximum: tcp_wmem[2]
def wmem(sizes, *path):
    while True:
        M = R.choice(sizes) * 1024; p = Path(*path)
        if 1.3 * M < 0.5 * p.bdp: break
    return p, M / p.rtt * 1e3, f"tcp_wmem[2] {M} B (0.5 to 1.3 of it outstanding) each {p.rtt} ms = {mbit(M / p.rtt * 1e3)} of {p.rate}, {100 * M / p.bdp:.0f} % of the BDP" + BOTH, ["--set", f"host.tcp_wmem=4096 16384 {M}"]
p, v, why, more = wmem([104, 136, 168], "down", [184, 206, 232], [10], [50, 90]); p.cc = "reno"
n = 4
case("wmem-h2load-pages", p, "exec nghttpd --no-tls -d $PWD 8000", f"h2load -n {n} -c 1 -m 1 http://{{server}}:8000/file >out", ["sndbuf/maximum", "app/window"],
     why + f"; {n} answers of {int(v * 0.9)} B one after the other on one connection of HTTP/2 with windows of 1 GiB, 0.9 to 1.8 s and a turn of {p.rtt} ms each, 3 rounds of slow start in the first", data(v * 0.9), more=more, sockets=["sndbuf/maximum"])
p, v, why, more = wmem([72, 84, 100], "up", [66, 78, 84], [80, 100, 130]); n = 3
case("wmem-node-agent", p, NG, f"node agent.js {{server}} file {n}", ["sndbuf/maximum", "app/window"], why + f"; {n} uploads by HTTP PUT on one connection, pieces of 64 KiB, a turn after each of the first", data(v * 1.6), base="web", more=more, sockets=["sndbuf/maximum"])
# rwnd/program: S to 2 S of window
def rcvbuf(sizes, *path):
    while True:
        S = R.choice(sizes) * 1024; p = Path(*path)
        if 2 * S < 0.5 * p.bdp: break
    return S, p, 1.2 * S / p.rtt * 1e3, f"SO_RCVBUF {S} B, a window of {S} to {2 * S} B each {p.rtt} ms = about {mbit(1.2 * S / p.rtt * 1e3)} of {p.rate}, at most {200 * S / p.bdp:.0f} % of the BDP"
S, p, v, why = rcvbuf([38, 48, 62], "down", [108, 126, 138], [30], [70, 95])
case("rcvbuf-aria2", p, NG, f"aria2c -q --no-conf -x 1 -s 1 --file-allocation=none --socket-recv-buffer-size={S} -o got http://{{server}}:8000/file", ["rwnd/program"], why + "; aria2's option, set before connect(); one answer after one turn", data(v * 5.5, "www/file"), base="web")
S, p, v, why = rcvbuf([26, 32, 40], "up", [58, 64, 73], [25, 35], [100])
case("rcvbuf-haproxy-redis", p, "redis-server --port 0 --unixsocket $PWD/sock --save '' >/dev/null & until [ -S sock ]; do sleep 0.05; done; exec /usr/sbin/haproxy -f haproxy.conf >/dev/null 2>&1", "redis-cli -h {server} -p 8000 -x set key <file >out", ["rwnd/program", "rwnd/maximum"],
     why + "; HAProxy's tune.rcvbuf.client, before Redis on a UNIX socket; one SET. It is set on an accepted connection: the window's scale fits tcp_rmem, packets alone cannot tell SO_RCVBUF from tcp_rmem[2]", data(v * 6) + f"; sed -i 's/INCLUDE/tune.rcvbuf.client {S}/' haproxy.conf", base="haproxy", sockets=["rwnd/program"])
# rwnd/rmem_max: the program asks for 16 MiB, net.core.rmem_max is 4 MiB (doubled, two thirds of it are window)
p = Path("down", [290, 298], [20], [200], cc="reno", queue="1.5bdp"); W = 5569152; S = 95000000
case("rmem-max-lftp", p, "ip -4 route show | while read r; do ip route change $r initcwnd 44; done; " + NG, "lftp -c 'set net:socket-buffer 16777216; get http://{server}:8000/file -o got'", ["rwnd/rmem_max", "rwnd/program", "rwnd/maximum"],
     f"lftp, tuned for a long fat path, asks for SO_RCVBUF 16 MiB, net.core.rmem_max (4 MiB here) allows twice 4 MiB, tcp_rmem[2] would have been 32 MiB: a window of some {W / 1e6:.1f} MB each {p.rtt} ms = {mbit(W / p.rtt * 1e3)} of {mbit(p.bytes)}, {100 * W / p.bdp:.0f} % of the BDP; {S} B: one turn, 6 rounds of slow start (from 44 segments, ip route … initcwnd) = {6 * p.rtt / 1e3:.1f} s, the rest in {(S - 2.5 * W) / W * p.rtt / 1e3:.1f} s; packets show a constant window, not who set it", f"head -c {S} /dev/zero >www/file", base="web",
     more=["--set", "host.tcp_wmem=4096 16384 33554432"], sockets=["rwnd/rmem_max"])
# rwnd/maximum: tcp_rmem[2]
while True:
    M = R.choice([140, 176, 212]) * 1024; p = Path("up", [134, 148, 166], [60, 75], [40])
    if M < 0.5 * p.bdp: break
case("rmem-java-put", p, NG, "java -Xshare:auto -XX:TieredStopAtLevel=1 Send {server} file >out", ["rwnd/maximum"], f"tcp_rmem[2] {M} B, of which 50 to 100 % are window, each {p.rtt} ms = at most {mbit(M / p.rtt * 1e3)} of {p.rate}, at most {100 * M / p.bdp:.0f} % of the BDP; one PUT by Java's HttpURLConnection",
     data(M / p.rtt * 1e3 * 0.75 * 5), base="web java", more=rmem(56 * 1024, M))
# rwnd/unscaled: the server is the old one
p = Path("up", [57, 69, 81], [40, 55], [15]); v = 65535 / p.rtt * 1e3
case("unscaled-smb-put", p, "echo 0 >/proc/sys/net/ipv4/tcp_window_scaling; exec /usr/sbin/smbd -F --no-process-group -s smb.conf -l $PWD/smb >/dev/null 2>&1", "smbclient -N -I {server} -p 8000 //server/files -c 'put file got' 2>/dev/null", ["rwnd/unscaled"],
     f"a file server whose SYN,ACK has no scale: 65,535 B each {p.rtt} ms = {mbit(v)} of {p.rate}, {100 * 65535 / p.bdp:.0f} % of the BDP; SMB2 WRITEs of up to 8 MiB; setup some 8 turns {p.rtt * .008:.1f} s", data(v * 6), base="smb")
# rwnd/autotuning: a sender whose window is large from its first flight, a receiver whose buffer begins small
p = Path("down", [270, 285, 298], [20], [60, 80], cc="reno", queue="2bdp"); S = R.choice([330000, 360000])
case("autotuning-cdn", p, "ip -4 route show | while read r; do ip route change $r initcwnd 200; done; " + NG, "curl -s -o got http://{server}:8000/file", ["rwnd/autotuning"],
     f"the server's cwnd is 200 segments from the start (ip route … initcwnd, as CDNs do), the client's tcp_rmem[1] is 8,192 B: a window of some 3 kB, which grows only with what was read in a round trip: {S} B need 7 flights or more of {p.rtt} ms = {7 * p.rtt / 1e3:.1f} s, beside one turn and {S / p.bytes:.2f} s of the link; the congestion window alone would need one",
     data(S, "www/file"), base="web", more=rmem(8192))
# cwnd/idle_restart, of the active time (Linux halves the window once for each RTO of idle time)
def idle(way, sizes, rtts, ups, downs=None):
    p = Path(way, rtts, ups, downs, cc="reno", queue="2bdp"); S = R.choice(sizes); rtt = p.rtt / 1e3; r = rounds(S); top = S / MSS + 10
    halvings = math.ceil(math.log2(top / 10)); pause = (rtt + .2) * (halvings + R.uniform(1.2, 1.6))
    return p, S, rtt, r, pause, f"pauses of {pause:.2f} s = {pause / (rtt + .2):.1f} RTO, the window of some {top:.0f} segments is halved {halvings} times, to 10"
def bursts(n, r, rtt): return f"{(n - 1) * r} rounds after pauses = {(n - 1) * r * rtt:.1f} s, {r} in the first = {r * rtt:.1f} s, the last flight of each at most {n * .3 * rtt:.1f} s"
p, S, rtt, r, pause, words = idle("down", [400000, 425000], [84, 93], [30], [140, 200]); n = 5; every = pause + (r + 1.2) * rtt
case("idle-websocket-push", p, f"exec node ws.js serve push file {n} {every * 1e3:.0f}", "sleep 0.5; node ws.js take {server} >out", ["cwnd/idle_restart"], f"a WebSocket pushes {n} snapshots of {S} B, which nobody asks for, {words}: {bursts(n, r, rtt)}; one turn", data(S), more=rmem(1048576), active=True)
p, S, rtt, r, pause, words = idle("up", [380000, 430000], [108, 117], [80, 100], [25]); n = 5; every = pause + (r + 1.2) * rtt
case("idle-mqtt-camera", p, MQTT, f"for i in $(seq {n}); do cat line; echo; [ $i = {n} ] && sleep 1.2 || sleep {every:.2f}; done | mosquitto_pub -h {{server}} -p 8000 -t camera -l", ["cwnd/idle_restart"],
     f"MQTT, QoS 0: {n} pictures of {S} B that nobody answers, {words}: {bursts(n, r, rtt)}; one turn before (CONNECT), and 2 B at the end (DISCONNECT) after the rest of 1.2 s", line(S, "line"), base="mqtt", more=rmem(1048576), active=True)
# cwnd/ecn: an AQM that marks
p = Path("up", [48, 54, 62], [18, 21], [60], cc="reno", queue="400p"); b = p.bdp / MSS
case("ecn-codel-tar-ssh", p, SSHD, "tar -cf - file | timeout 9 ssh -F sshd/client root@{server} \"cat >$PWD/got\"; true", ["cwnd/ecn", "cwnd/growth"],
     f"CoDel marks when 0.5 ms have stood for 15 ms, and drops nothing (400 places): Reno falls from the BDP of {b:.0f} segments and the bucket's 21 at most to a half, {b - (b + 25) / 2:.0f} round trips or more of {p.rtt} ms = {(b - (b + 25) / 2) * p.rtt / 1e3:.1f} s below the BDP, 2 or 3 above it; setup 14 turns {p.rtt * .014:.1f} s, ssh's window is 2 MiB",
     data(p.bytes * 8), base="ssh", more=["--aqm", "codel target=500us interval=15ms", "--ecn"])
# cwnd/timeout: one segment outstanding, and it or its answer is lost
p = Path("up", [8, 9], [15, 40], [8, 60], loss=R.choice([5.2, 6.1])); rtt = p.rtt / 1e3; per = rtt + 2 * p.loss / 100 * (rtt + 0.2); n = int(6 / per)
case("timeout-websocket", p, "exec node ws.js serve answer 24", f"sleep 0.5; timeout 16 node ws.js ask {{server}} {n} 480; true", ["cwnd/timeout"],
     f"{n} messages of 488 B and answers of 26 B over a WebSocket, one segment each: {p.rtt} ms of turn each = {n * rtt:.1f} s, and {2 * p.loss:g} % of them wait {rtt * 1e3 + 200:.0f} ms for the timer = {n * (per - rtt):.1f} s; near the receiver a lost request looks like a client that thinks, half of the waiting", far=["cwnd/timeout", "app/response"])
# … a path that is gone for 0.1 s three times a second: all that is outstanding is lost with it, and its probe
p = Path("down", [11, 13], [12], [30, 40], cc="reno", queue="2bdp"); every = R.choice([0.37, 0.39]); n = 15; first = 0.25; rtt = p.rtt / 1e3
case("timeout-flapping", p, NG, f"curl -s -m {first + n * every + .1:.1f} -o got http://{{server}}:8000/file; true", ["cwnd/timeout"],
     f"nothing passes for 0.1 s each {every} s, {n} times: all that is outstanding is lost and the probe after it (2 rtt) too, the retransmission timer, which the probe starts again, helps {4 * rtt * 1e3 + 200:.0f} ms after the last ACK or a little later = {100 * (4 * rtt + .2) / every:.0f} % of each period, the rest is slow start from one segment; near the receiver no hole shows, and a server that pauses looks the same",
     data(p.bytes * 3, "www/file"), base="web", more=[x for i in range(n) for x in ("--change", f"{first + i * every:.2f}s,for=0.1s,loss=100%")], far=["cwnd/timeout", "app/rate"])
# cwnd/random_loss
p = Path("down", [56, 64], [10], [45, 60], cc="cubic", queue="2bdp", loss=R.choice([0.7, 0.9])); v = law(p.loss) / p.rtt * 1e3
case("loss-lftp-cubic", p, CUBIC + FTPD, "lftp -c 'set ftp:ssl-allow no; open ftp://{server}:8000; get file -o copy'", ["cwnd/random_loss"],
     f"{p.loss} % lost: {law(p.loss) / 1e3:.0f} kB each {p.rtt} ms = {mbit(v)} of {p.rate}, {100 * law(p.loss) / p.bdp:.0f} % of the BDP (CUBIC, in its Reno-friendly region: a window of {law(p.loss) / MSS:.0f} segments); FTP's data connection", data(v * 6.5, "ftp/file"), base="ftp")
p = Path("up", [44, 52], [22, 28], [90], cc="reno", queue="2.4bdp", loss=R.choice([0.4, 0.5])); v = law(p.loss) / p.rtt * 1e3
case("loss-rsync-ssh", p, SSHD, "rsync -W -e 'ssh -F sshd/client' file root@{server}:$PWD/copy", ["cwnd/random_loss"],
     f"{p.loss} % lost: {law(p.loss) / 1e3:.0f} kB each {p.rtt} ms = {mbit(v)} of {p.rate}, {100 * law(p.loss) / p.bdp:.0f} % of the BDP; rsync over ssh, some 18 turns of setup = {p.rtt * .018:.1f} s", data(v * 7), base="ssh")
# cwnd/queue_loss: teeth
def teeth(p):
    q = int(p.queue[:-1]); b = p.bdp / MSS; low = (b + q + 6) / 2
    return f"BDP {b:.0f} segments, queue {q}: Reno falls to {low:.0f} at most, {b - low:.0f} round trips of {p.rtt} ms = {(b - low) * p.rtt / 1e3:.1f} s below the BDP, then some {q + 6} above it (the bucket is emptied first): {100 * (b - low) / (b - low + q + 6):.0f} % of each tooth"
p = Path("down", [38, 43], [6], [26, 30], cc="reno", queue=R.choice(["4p", "5p"]))
case("queue-ssh-cat", p, SSHD, "timeout 9 ssh -F sshd/client root@{server} cat $PWD/file >copy; true", ["cwnd/queue_loss", "cwnd/growth"], teeth(p) + f"; ssh's window of 2 MiB is {2 ** 21 / p.bdp:.0f} BDP; setup 14 turns {p.rtt * .014:.1f} s", data(p.bytes * 9), base="ssh")
p = Path("down", [45, 51], [9, 12], [24, 28], cc="reno", queue=R.choice(["5p", "6p"]))
case("queue-two-way", p, "exec socat -b 65536 TCP-LISTEN:8000,reuseaddr 'EXEC:sh duplex.sh' 2>/dev/null", "timeout 8 nc -N {server} 8000 <up >got; true", ["cwnd/queue_loss", "cwnd/growth"],
     f"both ways at once over one connection, {p.down} Mbit/s down and {p.up} up, the more bytes down. " + teeth(p) + "; ACKs wait behind the data of the other way and come in bursts, so that drops come earlier, and the share below the BDP is larger", data(p.bytes * 8, "down") + "; " + data(eff(p.up) * 8, "up"))
# cwnd/growth: a path that becomes ten times as fast
p = Path("up", [86, 94], [11, 13], [60], cc="reno", queue="1.2bdp"); T = 1.7; b = p.bdp / MSS; n = (8.6 - T) / p.rtt * 1e3
case("growth-faster-path", p, NC, "timeout 9 nc -N {server} 8000 <file; true", ["cwnd/growth"],
     f"the path has {p.up} Mbit/s for {T} s and {10 * p.up} from then on (a handover): a window of at most {2.2 * b + 21:.0f} segments at {T} s, one segment more each {p.rtt} ms, {n:.0f} in the rest of 9 s, of a BDP of {10 * b:.0f} then: never full, no loss any more, {100 * (8.9 - T) / 8.9:.0f} % of the time",
     data(eff(p.up) * 9 * 4), more=["--change", f"{T}s,rate={10 * p.up}mbit"])
# cwnd/startup
p = Path("up", [288, 294, 299], [150, 190], [40], cc="reno", queue="2bdp"); S = R.choice([3200000, 3350000]); r = rounds(S)
case("startup-ftp-stor", p, FTPD, "curl -s -T file ftp://{server}:8000/in/", ["cwnd/startup"], f"{S} B = {S / MSS:.0f} segments on FTP's data connection: {r} rounds after the first flight of 10 = {r * p.rtt / 1e3:.1f} s, no turn on it, {S / p.bytes:.2f} s of the link; tcp_rmem[1] is 6 MiB, so that the receiver's window is never the smaller one",
     data(S), base="ftp", more=rmem(6291456, 12582912))
# cwnd/policer
while True:
    rate, bucket = R.choice([4, 6]), R.choice([20, 26, 30, 36]); p = Path("up", [58, 66, 78], [0], cc="reno", queue="none")
    if 0.66 < bucket * 1024 / (eff(rate) * p.rtt / 1e3) < 0.85: break
case("policer-mqtt-firmware", p, MQTT, "timeout 10 mosquitto_pub -h {server} -p 8000 -t firmware -f file; true", ["cwnd/policer"],
     f"a bucket of {bucket} KiB at {rate} Mbit/s, no queue: drops what exceeds it, {mbit(eff(rate))} at most, BDP {eff(rate) * p.rtt / 1e3 / 1024:.0f} KiB; one message of MQTT, QoS 0, after one turn", data(eff(rate) * 5.5), base="mqtt", more=["--policer", f"{rate}mbit:{bucket}KiB"])
# path/full: a slow line up, a deep queue down
p = Path("up", [33, 41], [2.4, 3], [20], cc="reno", queue="60p"); n = 5; S = int(p.bytes * 6.5 / n)
case("full-sftp-adsl", p, SSHD, "echo put -r files copy >batch; sftp -q -F sshd/client -b batch root@{server}:$PWD >out", ["path/full"],
     f"a line of {p.up} Mbit/s up with a queue of 60 frames = {60 * 1514 * 8 / p.up / 1e3:.0f} ms, BDP {p.bdp / MSS:.0f} segments: never empty after a drop; {n} files of {S} B by sftp, {S / p.bytes:.1f} s of the link and some 4 turns of {p.rtt} ms each; setup 14 turns {p.rtt * .014:.1f} s",
     "mkdir files; " + "; ".join(data(S, f"files/f{i}") for i in range(n)), base="ssh")
p = Path("down", [26, 32], [4], [9, 11], cc="cubic", queue="4bdp"); n = 6; S = int(p.bytes * 6.5 / n)
case("full-h2load-streams", p, CUBIC + "exec nghttpd --no-tls -d $PWD 8000", f"h2load -n {n} -c 1 -m {n} http://{{server}}:8000/file >out", ["path/full"],
     f"CUBIC and a queue of 4 BDP ({p.bdp / MSS:.0f} segments each): after a drop 350 % of the BDP; {n} streams of {S} B at once on one connection of HTTP/2, windows of 1 GiB, {mbit(p.bytes)} for 6.5 s, one turn", data(S))
# path/shared
n = 4; p = Path("down", [22, 27], [8], [20, 24], cc="bbr", queue="1.6bdp"); S = int(p.bytes * 7)
case("shared-aria2-split", p, NG, f"aria2c -q --no-conf -x {n} -s {n} -k 1M --file-allocation=none -o got http://{{server}}:8000/file", ["path/shared", "path/full"], f"aria2 gets one file in {n} parts at once: 7 s share {p.down} Mbit/s, each a fifth to a half of it (the first begins a little earlier, one that ends may be replaced); the sum fills the link (BBR)", data(S, "www/file"), base="web")
# path/mtu
p = Path("up", [32, 39], [24, 33], [70], queue="2bdp"); n = 14; big = R.choice([70000, 95000])
case("mtu-websocket-up", p, "exec node ws.js serve answer 30", f"sleep 0.5; timeout 9 node ws.js ask {{server}} {n} 350 {big}; true", ["path/mtu"],
     f"a tunnel of 1,420 B that nobody tells of: the upgrade and {n} messages of 358 B pass, {n + 1} turns = {(n + 1) * p.rtt / 1e3:.2f} s, a message of {big} B in segments of 1500 B never: timers of 0.2 s + rtt, doubled each time, the last copy at 4 to 8.5 s of the 9 s",
     more=["--inner-mtu", "1420", "--pmtud", "black-hole"], far=["app/turns"])
p = Path("down", [47, 55], [12], [40, 50], queue="2bdp"); n = 9; big = R.choice([60000, 85000])
case("mtu-lftp-mirror", p, NG, "timeout 9 lftp -c 'set mirror:parallel-transfer-count 1; set http:use-propfind no; mirror http://{server}:8000/ copy'; true", ["path/mtu"],
     f"PPPoE, 1,492 B, and its ICMP is filtered: {n} files of 700 B arrive on the connection of the large one, {n + 2} turns = {(n + 2) * p.rtt / 1e3:.1f} s (the index has its own), a file of {big} B in segments of 1500 B never: timers of 0.2 s + rtt, doubled each time, the last copy at 4 to 8.5 s of the 9 s",
     f"echo 'autoindex on;' >more.conf; for i in $(seq {n}); do {data(700, 'www/a$i')}; done; {data(big, 'www/z')}", base="web", more=["--inner-mtu", "1492", "--pmtud", "black-hole"], far=["app/turns"])
# path/silence: the server loses its route back
p = Path("up", [24, 29], [10, 12], [30], cc="bbr", queue="2bdp"); at = R.choice([1.6, 1.9])
case("silence-route-lost", p, f"(sleep {at}; ip route replace blackhole 10.77.0.1/32) & " + NC, "timeout 12 nc -N {server} 8000 <file; true", ["path/silence"],
     f"the server has no route back after {at} s or less: data arrive, no ACK comes; copies after 0.2 s + rtt, doubled each time: the last of them 6 s or more after the last ACK: at least {100 * 6 / (6 + at):.0f} %", data(p.bytes * 4))
# cpu/quota
p = Path("up", [8, 10], [45], [45], queue="300p")
case("cpu-gawk-report", p, NC, quota(10, "held-out-7-client") + "timeout 12 gawk -f report.awk -v host={server} -v count=20000 -v work=240; true", ["app/rate"],
     "10 ms of CPU each 100 ms for gawk, which computes 20,000 lines of 88 B as it writes them: some 0.5 s with a whole CPU, 5 s so = 2.8 Mbit/s of 45, 35 kB each 0.1 s = 7 ms of the link; 90 of 100 ms it is throttled. Packets show a sender that offers less, sockets with the process the quota", sockets=["cpu/quota"])
p = Path("down", [8, 12], [10], [38], queue="300p")
case("cpu-perl-digests", p, quota(12, "held-out-7-server") + "exec perl sums.pl 18000 36", "curl -s -m 12 -o got http://{server}:8000/; true", ["app/rate"],
     "12 ms of CPU each 100 ms for a Perl server that computes 36 SHA-256 for each of 18,000 lines of some 106 B: some 0.7 s with a whole CPU, 6 s so = 2.6 Mbit/s of 38, 32 kB each 0.1 s = 7 ms of the link; 88 of 100 ms it is throttled. Packets show a sender that offers less, sockets with the process the quota", sockets=["cpu/quota"])
# pacing/program
rate = R.choice([4, 6]); p = Path("down", [36, 46], [15], [50, 70], cc="reno", queue="2bdp"); v = rate * 125000; n = 5; S = int(v * 1.3)
case("pacing-video-segments", p, f"exec perl segments.pl {S} {v}", f"curl -s -o 'got#1' 'http://{{server}}:8000/segment?[1-{n}]'", ["pacing/program", "app/rate"],
     f"a video server sets SO_MAX_PACING_RATE (option 47) to {rate} Mbit/s of {p.down}: {n} segments of {S} B, asked for one after the other on one connection, 1.3 s and a turn of {p.rtt} ms each, the server always has more to send of a segment", sockets=["pacing/program"])
rate = R.choice([2, 3]); p = Path("up", [66, 82], [14, 18], [50], cc="cubic", queue="2bdp"); v = rate * 125000
case("pacing-seed", p, NC, CUBIC + f"./seed {{server}} file {v}", ["pacing/program", "app/rate"], f"a client with an upload limit sets SO_MAX_PACING_RATE (option 47) to {rate} Mbit/s of {p.up} and sends by sendfile(): {v * 6.5 / 1e6:.1f} MB in 6.5 s, it always has more to send", data(v * 6.5), base="seed", sockets=["pacing/program"])
# app
p = Path("down", [68, 77], [25], [35, 50], cc="reno", queue="2bdp"); v = 24576 / p.rtt * 1e3
case("window-dbclient", p, SSHD, "dbclient -y -y -q -p 8000 -i key.db root@{server} cat $PWD/file >copy", ["app/window", "app/turns"],
     f"Dropbear's client gives a channel's window of 24,576 B and renews it when it has read a packet of SSH, which carries all of it: 24,576 B each {p.rtt} ms = {mbit(v)} of {p.down}, {100 * 24576 / p.bdp:.0f} % of the BDP; setup some 12 turns {p.rtt * .012:.1f} s", "dropbearconvert openssh dropbear sshd/key key.db 2>/dev/null; " + data(v * 6), base="ssh")
p = Path("down", [42, 49], [6], [20, 26], queue="2bdp"); k = 40; row = 201; ms = k * (row + 11) / p.bytes * 1e3; n = int(6.5 / (p.rtt + 1.5) * 1e3)
case("turns-psql-cursor", p, PG, READY + f"{PGBIN}psql -X -q -A -t -h {{server}} -p 8000 -U postgres -v FETCH_COUNT={k} postgres -c \"select repeat('c', {row}) from generate_series(1, {k * n})\" >rows", ["app/turns"],
     f"psql with FETCH_COUNT {k}: a cursor, {n} batches of {k} rows = {k * (row + 11)} B, {p.rtt} ms of turn each, beside at most {ms:.0f} ms of the link (its bucket is full) and some 1 ms of PostgreSQL", base="pg")
size = R.choice([220, 400, 700]); p = Path("down", [9, 14], [12], [30], queue="2bdp"); n = int(6.5 / (2 * p.rtt / 1e3 + 0.041))
case("nagle-python-rest", p, f"exec /usr/bin/python3 rest.py {size}", f"curl -s -o got 'http://{{server}}:8000/item?[1-{n}]'", ["app/nagle"],
     f"{n} answers of Python's http.server, which writes the header and then the body of {size} B: the body waits for the ACK of the header, {p.rtt} ms + 40 ms, beside {p.rtt} ms of turn: {100 * (p.rtt + 40) / (2 * p.rtt + 40):.0f} %")
size = R.choice([800, 1100, 1300]); p = Path("up", [16, 22], [18, 25], [50], queue="2bdp"); n = int(6.5 / (p.rtt / 1e3 + 0.041))
case("delayed-ack-spooler", p, "exec systemd-socket-activate -l 8000 --inetd -a sh -c 'sleep 9; cat >got' 2>/dev/null", f"./spool {{server}} {n} {size}", ["app/delayed_ack"],
     f"{n} labels of {size} B, the next when the last is acknowledged (TCP_INFO); the printer reads after 9 s, so that reading never sends an ACK: after the first 16 it is delayed by 40 ms: {p.rtt} + 40 ms each, TCP_NODELAY is set; tcp_rmem[1] is 1 MiB, so that {n * size} B fit", base="spool", more=rmem(1048576))
size = R.choice([4200, 5600]); p = Path("down", [17, 23], [5], [12, 16], queue="2bdp", jitter=1); n = 175
case("rate-websocket-video", p, f"exec node ws.js serve frames {n} {size} 40", "sleep 0.5; node ws.js take {server} >out", ["app/rate"],
     f"25 pictures of {size} B a second over a WebSocket that nobody answers: {mbit(size * 25)} of {p.down}, each {size / p.bytes * 1e3:.0f} ms of the link and {p.rtt} ms of delay of 40 ms at most; one turn")
think = R.choice([0.15, 0.19]); p = Path("down", [19, 24], [8], [25], queue="2bdp"); size = R.choice([1900, 4100]); n = int(6.5 / (think + p.rtt / 1e3))
case("response-mariadb-sleep", p, MARIA, f"yes \"select sleep({think}), repeat('r', {size});\" | head -{n} | mariadb --no-defaults -A -N -D mysql -h {{server}} -P 8000 -u root >rows", ["app/response"],
     f"{n} statements that sleep {think * 1e3:.0f} ms in the server, answers of {size} B, beside {p.rtt} ms of turn: {100 * think * 1e3 / (think * 1e3 + p.rtt):.0f} %", base="mariadb")
pause = R.choice([0.24, 0.33]); size = R.choice([2000, 5200]); p = Path("down", [13, 18], [9], [30], queue="2bdp", jitter=1); n = int(6.5 / (pause + p.rtt / 1e3 + .01))
case("request-gawk-redis", p, "(sleep 0.6; redis-cli -s sock -x set page <file) >/dev/null 2>&1 & exec redis-server --port 8000 --unixsocket sock --protected-mode no --save '' >/dev/null", f"sleep 1.4; gawk -f watch.awk -v host={{server}} -v count={n} -v rest={pause} >out", ["app/request"],
     f"a dashboard asks Redis {n} times for a page of {size} B and rests {pause * 1e3:.0f} ms after each, beside {p.rtt} ms of turn: {100 * pause * 1e3 / (pause * 1e3 + p.rtt):.0f} %", line(size))
p = Path("down", [31, 38], [10], [22, 28], queue="2bdp"); stop = R.choice([5.4, 6.2]); S = int(p.bytes * 1.3)
case("receiver-stopped-curl", p, NG, f"curl -s -o got http://{{server}}:8000/file & sleep 0.6; kill -STOP $!; sleep {stop}; kill -CONT $!; wait", ["receiver"],
     f"the user stops curl (SIGSTOP, as Ctrl-Z would) for {stop} s after 0.6 s: tcp_rmem[2] is 256 KiB, full after {262144 / p.bytes + .1:.1f} s, then the window is 0; {S} B need {S / p.bytes:.1f} s of the link or some more for that window: at least {100 * (stop - .3) / (stop + 1.7):.0f} %", data(S, "www/file"), base="web", more=rmem(131072, 262144))

print("# 40 causes with real programs, drawn at random (seed %d), with the answers by arithmetic before the first run.\n"
      "# `answer`: limited_by/cause of the flow with most bytes; `active`: of active_limited_by/active_cause; `answer_near_receiver` where the receiver's packets can only show that, `answer_sockets` where sockets show more than packets.\n" % SEED)
for c in out:
    print("[[case]]")
    for k, v in c.items():
        if v != "": print(f"{k} = {json.dumps(v, ensure_ascii=False)}")
    print()

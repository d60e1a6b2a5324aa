#!/usr/bin/env python3
"""Draws the forty causes of the tenth set and derives their answers: gen.py >causes.toml"""
import json, math, random

SEED = 61037
draw = random.Random(SEED).choice
MSS = 1448                      # payload of a full segment with timestamps
cases = []


def goodput(mbit):
    """Payload in bytes/s of a link that counts IP + 14 B."""
    return mbit * 1e6 / 8 * MSS / 1514


class Path:
    """What exec is told of the path. `way` is the direction of the data, rates are in Mbit/s, times in ms."""

    def __init__(self, way, rtt, up=None, down=None, cc=None, queue="2.2bdp", more=()):
        self.way, self.rtt, self.up, self.down, self.cc, self.queue, self.more = way, rtt, up, down, cc or draw(["reno", "bbr"]), queue, list(more)
        self.rate = up if way == "up" else down
        if self.rate:
            self.bytes = goodput(self.rate)
            self.bdp = self.bytes * rtt / 1e3
            self.segments = self.bdp / MSS

    def options(self):
        rates = ["--rate", f"{self.up}mbit", "--reverse-rate", f"{self.down}mbit"] if self.up else []
        queue = ["--queue", self.queue] if self.queue else []
        return ["--rtt", f"{self.rtt}ms", *rates, *queue, "--set", f"host.congestion_control={self.cc}", *self.more]


def show(bytes_per_s):
    return f"{bytes_per_s * 8 / 1e6:.1f} Mbit/s"


def law(percent):
    """Bytes in a round trip by Reno's law."""
    return 1.22 / math.sqrt(percent / 100) * MSS


def rounds(size, first=10):
    """Round trips of slow start after the first flight, if each flight is twice the one before."""
    return math.ceil(math.log2(size / (first * MSS) + 1)) - 1


def noise(size, name="file"):
    return f"head -c {int(size)} /dev/urandom >{name}"


def add(name, path, server, client, answer, why, words="", prepare="", receiver=None, sockets=None, active=False):
    case = dict(name=f"{len(cases) + 1:02d}-{name}", path=path.options())
    for key, value in (("base", words), ("prepare", prepare)):
        if value:
            case[key] = value
    case.update(server=server, client=client, direction=path.way, answer=answer, arithmetic=why)
    for key, value in (("answer_near_receiver", receiver), ("answer_sockets", sockets), ("active", active)):
        if value:
            case[key] = value
    cases.append(case)


def rmem(first, last=6291456):
    return ["--set", f"host.tcp_rmem=4096 {first} {last}"]


def wmem(first, last=4194304):
    return ["--set", f"host.tcp_wmem=4096 {first} {last}"]


def on_routes(what):
    return f"ip -4 route show | xargs -I @ sh -c 'ip route change @ {what}'; "


CUBIC = on_routes("congctl cubic")     # the list of congestion controls for namespaces has no CUBIC, a route may name it
LIGHTTPD = "exec /usr/sbin/lighttpd -D -f lighttpd.conf 2>/dev/null"
NGINX = "exec /usr/sbin/nginx -e stderr -p $PWD -c $PWD/nginx.conf 2>/dev/null"
VSFTPD = "exec /usr/sbin/vsftpd $PWD/vsftpd.conf"
REDIS = "redis-server --port 8000 --bind 0.0.0.0 --protected-mode no --save '' --appendonly no --dir $PWD >/dev/null 2>&1"
GITD = "exec git daemon --reuseaddr --export-all --enable=receive-pack --base-path=$PWD --listen=0.0.0.0 --port=8000 2>/dev/null"
SINK = "exec nc.openbsd -d -l 0.0.0.0 8000 >got"    # ncat --recv-only would end its half of the connection at once
EITHER = "; no packet tells a send buffer from a window of the application"

# 1 sndbuf/program. The kernel doubles SO_SNDBUF and counts its own overhead in it: some 0.8 of the double is payload on the way.
S, p = draw([32, 38, 44]) * 1024, Path("up", draw([96, 111, 128]), draw([45, 58, 70]), 30)
v = .8 * 2 * S / p.rtt * 1e3
add("sndbuf-rsync", p, "exec rsync --daemon --no-detach --config=rsyncd.conf", f"sleep 0.5; rsync --sockopts=SO_SNDBUF={S} file rsync://{{server}}:8000/vault/", ["sndbuf/program", "app/window"],
    f"rsync puts a file on an rsync daemon with --sockopts=SO_SNDBUF={S}: twice that, {2 * S} B, some 0.8 of it payload, each {p.rtt} ms = {show(v)} of {p.rate}, {100 * 2 * S / p.bdp:.0f} % of the BDP{EITHER}; {v * 5.8 / 1e6:.1f} MB, some 8 turns before and after = {8 * p.rtt / 1e3:.1f} s",
    "rsyncd", noise(v * 5.8), sockets=["sndbuf/program"])

# 2 sndbuf/maximum
M, rtt = draw([88, 104, 128]) * 1024, draw([71, 83, 97])
p = Path("down", rtt, 18, draw([60, 75, 90]), more=wmem(16384, M))
p.cc = "reno"                   # BBR would pace what each write adds; and a program that writes much at once, or with sendfile(), is hardly held by this buffer
v = .54 * M / rtt * 1e3
add("wmem-nc", p, "exec nc.openbsd -N -l 0.0.0.0 8000 <file", "sleep 0.4; socat -u -b 65536 TCP:{server}:8000 OPEN:got,creat", ["sndbuf/maximum", "app/window"],
    f"tcp_wmem[2] is {M} B, some 0.54 of it payload, each {rtt} ms = {show(v)} of {p.rate}, {100 * M / p.bdp:.0f} % of the BDP{EITHER}; nc writes a file of {v * 5.6 / 1e6:.1f} MB in pieces of 16 KiB, socat reads at once", prepare=noise(v * 5.6), sockets=["sndbuf/maximum"])

# 3 rwnd/program, set before connect()
S, p = draw([25, 29, 33]) * 1024, Path("down", draw([88, 103, 119]), 20, draw([42, 57, 74]))
v = 1.2 * S / p.rtt * 1e3
add("rcvbuf-tnftp", p, VSFTPD, f"sleep 0.6; tnftp -V -a -x {S} -o got ftp://{{server}}:8000/file >out 2>&1", ["rwnd/program"],
    f"tnftp -x {S} sets SO_RCVBUF before it connects, for the data connection as well: a window of {S} to {2 * S} B each {p.rtt} ms = about {show(v)} of {p.rate}, at most {200 * S / p.bdp:.0f} % of the BDP; vsftpd sends one file, no turn on that connection", "vsftpd", noise(v * 5.6, "ftp/file"))

# 4 rwnd/maximum
M, rtt = draw([120, 144, 168]) * 1024, draw([86, 101, 117])
p = Path("up", rtt, draw([48, 64]), 32, more=rmem(57344, M))
v = .64 * M / rtt * 1e3
add("rmem-git-push", p, GITD, "sleep 0.4; git -C tree push -q git://{server}:8000/repo HEAD:refs/heads/main 2>out", ["rwnd/maximum"],
    f"tcp_rmem[2] is {M} B, some 64 % of which are window, each {rtt} ms = {show(v)} of {p.rate}, {100 * M / p.bdp:.0f} % of the BDP; git pushes a pack of {v * 5.6 / 1e6:.1f} MB to git daemon, in one piece, 2 turns before and 1 after", "git", noise(v * 5.6, "tree/file") + "; sh commit.sh")

# 5 rwnd/rmem_max: asked for 16 MiB, got net.core.rmem_max (4 MiB here) doubled, two thirds of which are window
W, size = 5569152, 104_000_000
p = Path("down", draw([208, 216]), 50, draw([300, 310]), cc="reno", queue="1.4bdp", more=wmem(16384, 33554432))
r = math.log2(W / 60 / MSS)
add("rmem-max-aria2", p, on_routes("initcwnd 60") + LIGHTTPD, "sleep 0.6; aria2c -q -x 1 -s 1 --file-allocation=none --socket-recv-buffer-size=16M -o got http://{server}:8000/file >out 2>&1", ["rwnd/rmem_max", "rwnd/program", "rwnd/maximum"],
    f"aria2 asks for a receive buffer of 16 MiB before it connects, net.core.rmem_max allows 4 MiB, which the kernel doubles, where tcp_rmem[2] would have been 32 MiB: a window of some {W / 1e6:.1f} MB each {p.rtt} ms = {show(W / p.rtt * 1e3)} of {show(p.bytes)}, {100 * W / p.bdp:.0f} % of the BDP; {size / 1e6:.0f} MB: "
    f"a turn, {r:.1f} rounds of slow start from 60 segments (ip route … initcwnd) = {r * p.rtt / 1e3:.1f} s, the rest in {(size - 2 * W) / W * p.rtt / 1e3:.1f} s; packets show a constant window, not who set it", "lighttpd", noise(size, "www/file"), sockets=["rwnd/rmem_max"])

# 6 rwnd/unscaled
p = Path("up", draw([51, 62, 71]), draw([32, 44]), 20)
v = 65535 / p.rtt * 1e3
lines = int(v * 5.6 / 901)
add("unscaled-msmtp", p, "echo 0 >/proc/sys/net/ipv4/tcp_window_scaling; exec /usr/bin/python3 -m aiosmtpd -n -l 0.0.0.0:8000 -c aiosmtpd.handlers.Sink -s 99000000 2>/dev/null",
    "sleep 1; msmtp --host={server} --port=8000 --tls=off --auth=off --from=me@here.example you@there.example <mail", ["rwnd/unscaled"],
    f"the mail server's host has no window scaling: 65,535 B each {p.rtt} ms = {show(v)} of {p.rate}, {100 * 65535 / p.bdp:.0f} % of the BDP; msmtp sends one mail of {v * 5.6 / 1e6:.1f} MB in lines of 900 B to aiosmtpd, some 6 turns before", prepare=f"{{ printf 'Subject: scans\\n\\n'; head -c {lines * 675} /dev/urandom | base64 -w 900; }} >mail")

# 7 rwnd/clamped
C, p = draw([40000, 48000, 56000]), Path("up", draw([67, 79, 92]), draw([46, 63]), 24)
v = C / p.rtt * 1e3
add("clamped-gate", p, f"exec ruby gate.rb {C} got", "sleep 0.8; socat -u -b 65536 FILE:file TCP:{server}:8000; sleep 1", ["rwnd/clamped", "rwnd/program", "rwnd/maximum"],
    f"a server in Ruby has SO_RCVBUF 1 MiB, so that no autotuning moves its window, and sets TCP_WINDOW_CLAMP {C} after each read: {C} B each {p.rtt} ms = {show(v)} of {p.rate}, {100 * C / p.bdp:.0f} % of the BDP, where the buffer alone would allow {2 ** 20 / p.bdp:.1f} BDP or more; packets show a constant window, not what holds it; socat sends, nobody answers",
    "gate.rb", noise(v * 5.6), sockets=["rwnd/clamped"])

# 8 rwnd/autotuning
p = Path("up", draw([238, 246, 250]), draw([180, 210]), 40, cc="reno", more=rmem(6144, 33554432) + wmem(4194304, 33554432))
size = draw([3900000, 4100000])
add("autotuning-curl-put", p, NGINX, on_routes("initcwnd 2900") + "sleep 0.5; curl -s -H Expect: -T file http://{server}:8000/got", ["rwnd/autotuning"],
    f"the client's congestion window is 2900 segments from the start (ip route … initcwnd), the server's tcp_rmem[1] is 6,144 B: a window of some 3 kB, which grows only with what was read in a round trip: at 1.3 to 4 times each, {size} B need 10 to 13 flights of {p.rtt} ms = {10 * p.rtt / 1e3:.1f} to {13 * p.rtt / 1e3:.1f} s, "
    f"beside {size / p.bytes:.2f} s of the link; the congestion window alone would need one flight; nginx takes the PUT", "nginx", noise(size))

# 9 receiver: reads a little all the time
p, kib = Path("down", draw([22, 31]), 12, draw([20, 28]), more=rmem(98304, 163840)), draw([140, 170])
size = kib * 1024 * 6.5 + 120000
add("receiver-wget", p, LIGHTTPD, f"sleep 0.5; wget -q --limit-rate={kib}k -O got http://{{server}}:8000/file", ["receiver"],
    f"wget --limit-rate={kib}k reads 8 KiB each {8 / kib * 1e3:.0f} ms and sleeps between: tcp_rmem[2] is 160 KiB, which the link of {p.rate} Mbit/s ({show(p.bytes)}) fills in {163840 / p.bytes:.2f} s and some round trips; then the window is 0, or the few kB that were just read, for the rest of {size / kib / 1024:.1f} s", "lighttpd", noise(size, "www/file"))

# 10 receiver: rests between large parts
p, nap, part = Path("up", draw([26, 34]), draw([21, 27]), 16, more=rmem(98304, 163840)), draw([0.6, 0.7]), 160000
count = int(7 / nap)
fill = 163840 / p.bytes + 4 * p.rtt / 1e3
add("receiver-node", p, f"exec node scanner.js {part} {int(nap * 1000)} >/dev/null", "sleep 0.7; nc.openbsd -N {server} 8000 <file", ["receiver"],
    f"a virus scanner in Node reads {part} B or somewhat more, and then nothing for {nap} s, some {count} times: tcp_rmem[2] is 160 KiB, full after {fill:.2f} s at most, window updates included; then the window is 0, or less than a segment: at least {100 * (nap - fill) / (nap + .05):.0f} % of each {nap} s",
    "scanner.js", noise(part * count))

# 11 cwnd/idle_restart, of the active time: the window is halved once for each RTO of idle time
size, p, n = draw([440000, 460000]), Path("up", draw([109, 118]), draw([130, 165]), 25, cc="reno", more=rmem(1048576)), 5
r, rto = rounds(size), p.rtt / 1e3 + .2
halvings = math.ceil(math.log2((size / MSS + 10) / 10))
pause = (halvings + 1.5) * rto + r * p.rtt / 1e3
add("idle-busybox-nc", p, SINK, f"sleep 0.5; for i in $(seq {n}); do cat file; sleep {pause:.1f}; done | busybox nc {{server}} 8000", ["cwnd/idle_restart"],
    f"a camera puts {n} pictures of {size} B into one connection, {pause:.1f} s apart; each is on its way for {(r + 1) * p.rtt / 1e3:.1f} s, and the rest is idle: {(pause - (r + 1) * p.rtt / 1e3) / rto:.1f} RTO, in which the window of some {size / MSS + 10:.0f} segments is halved {halvings} times, to 10; "
    f"active are {r + 1} flights of the first = {(r + 1) * p.rtt / 1e3:.2f} s and {(n - 1) * (r + 1)} after pauses = {(n - 1) * (r + 1) * p.rtt / 1e3:.2f} s; nobody answers", prepare=noise(size), active=True)

# 12 cwnd/ecn
mark, p = draw([0.6, 0.7]), Path("down", draw([37, 45, 53]), 28, draw([46, 58]), cc="reno")
p.more = ["--mark", f"{mark}%"]
v = law(mark) / p.rtt * 1e3
add("ecn-s-server", p, "exec openssl s_server -accept 8000 -cert cert.pem -key key.pem -WWW -quiet >/dev/null 2>&1", "sleep 0.5; curl -s -k -o got https://{server}:8000/file", ["cwnd/ecn"],
    f"{mark} % of the frames come with a CE mark, none is lost: Reno's law says {law(mark) / 1e3:.0f} kB each {p.rtt} ms = {show(v)} of {p.rate}, {100 * law(mark) / p.bdp:.0f} % of the BDP; after slow start, which with the rounds in which its window comes down is much faster for some 0.8 s; openssl s_server -WWW sends one file of {v * 12 / 1e6:.1f} MB after 3 turns", "tls", noise(v * 12))

# 13 cwnd/timeout: one segment on the way, and it is lost
loss, p, size = draw([9.5, 11]), Path("up", draw([5, 8]), draw([16, 24]), 12, queue="220p"), draw([620, 810])
p.more = ["--set", f"path.loss={loss}%"]
q, rtt = loss / 100, p.rtt / 1e3
wait = q * (rtt + .2) + q * q * 2 * (rtt + .2)
n = int(6.4 / (rtt + wait))
add("timeout-memcached", p, "exec memcached -u nobody -l 0.0.0.0 -p 8000 -U 0", f"sleep 0.5; timeout 18 php scores.php {{server}} {n} {size}; true", ["cwnd/timeout"],
    f"a program in PHP puts {n} scores of {size} B into memcached, the next after the answer, one segment each; only what it sends is lost: {n} turns of {p.rtt} ms = {n * rtt:.1f} s, {loss} % of them wait {1e3 * rtt + 200:.0f} ms for the timer, or twice as long again = {n * wait:.1f} s; near the receiver a lost score looks like a client that thinks",
    "scores.php", receiver=["cwnd/timeout", "app/response"])

# 14, 15 cwnd/random_loss
loss, p = draw([0.5, 0.6]), Path("down", draw([55, 64]), 26, draw([48, 66]), cc="reno")
p.more = ["--set", f"path.reverse_loss={loss}%"]
v = law(loss) / p.rtt * 1e3
add("loss-busybox-wget", p, LIGHTTPD, "sleep 0.5; busybox wget -q -O got http://{server}:8000/file", ["cwnd/random_loss"],
    f"{loss} % are lost: Reno's law says {law(loss) / 1e3:.0f} kB each {p.rtt} ms = {show(v)} of {p.rate}, {100 * law(loss) / p.bdp:.0f} % of the BDP; one answer of {v * 8 / 1e6:.1f} MB with some {v * 8 / MSS * loss / 100:.0f} losses", "lighttpd", noise(v * 8, "www/file"))
loss, p = draw([0.9, 1.1]), Path("up", draw([32, 39]), draw([42, 52]), 40, cc="reno")
p.more = ["--set", f"path.loss={loss}%"]
v = law(loss) / p.rtt * 1e3
add("loss-nginx-put", p, NGINX, CUBIC + "sleep 0.5; curl -s -H Expect: -T file http://{server}:8000/got", ["cwnd/random_loss"],
    f"{loss} % are lost: {law(loss) / 1e3:.0f} kB each {p.rtt} ms = {show(v)} of {p.rate}, {100 * law(loss) / p.bdp:.0f} % of the BDP (CUBIC, in its Reno-friendly region); curl puts one file of {v * 8 / 1e6:.1f} MB with some {v * 8 / MSS * loss / 100:.0f} losses by WebDAV", "nginx", noise(v * 8))

# 16 cwnd/startup
size, p = draw([7400000, 8100000]), Path("down", draw([232, 244]), 60, draw([450, 500]), cc="reno", more=rmem(12582912, 33554432) + wmem(16384, 33554432))
r = rounds(size)
add("startup-webrick", p, "exec ruby -run -e httpd www --port=8000 --bind-address=0.0.0.0 >/dev/null 2>&1", "sleep 1; php -r 'copy(\"http://{server}:8000/file\", \"got\");'", ["cwnd/startup"],
    f"{size} B = {size / MSS:.0f} segments: a turn of {p.rtt} ms, {r} rounds after the first flight of 10 = {r * p.rtt / 1e3:.1f} s, {size / p.bytes:.2f} s of the link of {p.rate} Mbit/s; tcp_rmem[1] is 12 MiB, so that the receiver's window is never the smaller one; WEBrick sends, PHP's copy() reads at once", "www", noise(size, "www/file"))

# 17 cwnd/ack_path: a narrow way back
back, p = draw([0.05, 0.06]), Path("down", draw([34, 42]), 1, draw([36, 44]), cc="reno", queue="2500p", more=["--set", "path.burst=1600B", "--set", "path.reverse_queue=2500p", "--set", "host.gro=false"] + rmem(4194304, 33554432) + wmem(16384, 33554432))
p.up = back
acks = back * 1e6 / 8 / 66
size = int(3.6 * acks * MSS * 5)
add("ack-path-uplink", p, LIGHTTPD, "sleep 0.5; curl -s -o got http://{server}:8000/file", ["cwnd/ack_path"],
    f"a satellite downlink with a modem of {back * 1000:.0f} kbit/s for the way up: {acks:.0f} ACKs of 66 B each second; each tells of one or two segments, 1.8 in the mean, and lets twice as many go in slow start: some {3.6 * acks:.0f} segments a second = {show(3.6 * acks * MSS)} of {p.rate}, and the ACKs queue longer and longer (nothing is lost: queues of 2500; tcp_rmem[1] is 4 MiB, so that the receiver's window is never the smaller one); "
    f"{size} B in some 5 s after one turn; the path of the data is never full, and the congestion window would be open long since", "lighttpd", noise(size, "www/file"), receiver=["cwnd/ack_path", "cwnd/startup"])

# 18 cwnd/hystart_exit: the path becomes longer in the middle of CUBIC's slow start
p = Path("up", draw([94, 100]), draw([190, 215]), 45, cc="reno", queue="1.5bdp", more=rmem(4194304, 33554432))
longer, at = p.rtt + 28, 0.52
p.more += ["--change", f"{at}s,rtt={longer}ms"]
add("hystart-handover", p, "exec socat -u -b 65536 TCP-LISTEN:8000,reuseaddr OPEN:/dev/null", CUBIC + "sleep 0.5; timeout 5.6 socat -u -b 65536 FILE:file TCP:{server}:8000; sleep 0.5", ["cwnd/hystart_exit", "cwnd/growth"],
    f"in CUBIC's slow start, {at} s after the first packet, a handover makes the path 28 ms longer, more than the {p.rtt // 8} ms ({p.rtt} / 8) by which HyStart takes a queue for granted: it leaves slow start at 80 to 650 segments, without a loss, and no queue stands: {p.rate} Mbit/s × {longer} ms = {goodput(p.rate) * longer / 1e3 / MSS:.0f} segments of BDP; "
    f"then CUBIC, which knows of no loss, adds 5 % each round trip: 30 MB are over in some 4 s, at a window of 1000 to 1600: never full", prepare=noise(30e6), sockets=["cwnd/hystart_exit"])

# 19 cwnd/reordering: hosts that cannot tell it from loss: no DSACK, no timestamps
share, p = draw([0.8, 1.0]), Path("up", draw([46, 54]), draw([38, 48]), 30, cc="reno")
p.more = ["--set", f"path.reorder={share}%"]
v = law(share) / p.rtt * 1e3
add("reordering-redis", p, "echo 0 >/proc/sys/net/ipv4/tcp_dsack; exec " + REDIS, "echo 0 >/proc/sys/net/ipv4/tcp_timestamps; sleep 0.6; redis-cli -h {server} -p 8000 -x set scan <file >out", ["cwnd/reordering"],
    f"{share} % of the segments overtake all that are on the way, by up to half a round trip, more than RACK's quarter; nothing is lost. The server's host has no DSACK, the client's no timestamps, so that no cut is taken back: Reno's law says {law(share) / 1e3:.0f} kB each {p.rtt} ms = {show(v)} of {p.rate}, {100 * law(share) / p.bdp:.0f} % of the BDP; "
    f"after slow start, which is much faster for some 0.8 s; near the sender each copy is acknowledged sooner than a round trip, near the receiver each comes twice; redis-cli -x sets one value of {v * 11 / 1e6:.1f} MB", prepare=noise(v * 11))

# 20 cwnd/queue_loss
q = draw([4, 5])
p = Path("down", draw([41, 45]), 16, draw([22, 27]), cc="reno", queue=f"{q}p")
low = (p.segments + q + 6) / 2
add("queue-iperf3", p, "exec iperf3 -s -1 -p 8000 >/dev/null 2>&1", "sleep 0.5; iperf3 -R -c {server} -p 8000 -t 8 >out", ["cwnd/queue_loss", "cwnd/growth"],
    f"BDP {p.segments:.0f} segments, queue {q}: Reno falls to {low:.0f} at most, {p.segments - low:.0f} round trips of {p.rtt} ms = {(p.segments - low) * p.rtt / 1e3:.1f} s below the BDP, then some {q + 6} above it: {100 * (p.segments - low) / (p.segments - low + q + 6):.0f} % of each tooth; iperf3 -R, 8 s")

# 21 cwnd/growth: the line fails, and a long fat one takes over
p, at = Path("down", draw([18, 23]), 12, draw([8, 10]), cc="reno", queue="80p"), 1.8
far, fat = draw([99, 112]), draw([80, 95])
p.more = ["--change", f"{at}s,rtt={far}ms,reverse_rate={fat}mbit"]
more = (9 - at) / far * 1e3
add("growth-python-httpd", p, "exec /usr/bin/python3 -m http.server -d www 8000 2>/dev/null", "sleep 0.7; timeout 9 busybox wget -q -O got http://{server}:8000/file; true", ["cwnd/growth"],
    f"a line of {p.down} Mbit/s and {p.rtt} ms for {at} s, then a link of {fat} Mbit/s and {far} ms in its place: a window of at most {p.segments + 80 + 21:.0f} segments at {at} s, one segment more each {far} ms, {more:.0f} in the rest of 9 s, of a BDP of {goodput(fat) * far / 1e3 / MSS:.0f} then: never full, no loss any more, {100 * (9 - at) / 9:.0f} % of the time", "www", noise(goodput(p.down) * 30, "www/file"))

# 22 cwnd/policer
rate, p = draw([8, 10]), Path("up", draw([46, 52, 60]), cc="reno", queue=None)
bdp = goodput(rate) * p.rtt / 1e3
bucket = round(bdp * 1.05 / 1024)
p.more = ["--policer", f"{rate}mbit:{bucket}KiB"]
add("policer-lftp", p, VSFTPD, "sleep 0.6; timeout 10 lftp -c 'set ftp:ssl-allow no; set ftp:use-mdtm no; open ftp://{server}:8000; cd in; put file' >out 2>&1; true", ["cwnd/policer"],
    f"a bucket of {bucket} KiB at {rate} Mbit/s, no queue: what exceeds it is dropped, {show(goodput(rate))} at most; BDP {bdp / 1024:.0f} KiB: Reno is cut at {bdp / 1024 + bucket:.0f} KiB at the latest, to {(bdp / 1024 + bucket) / 2:.0f}; bursts have it cut sooner: some 80 % of the rate = {show(.8 * goodput(rate))}; lftp puts one file on vsftpd, a data connection without turns", "vsftpd", noise(goodput(rate) * 6))

# 23 path/full: Reno, and a way back that loses ACKs
p, loss = Path("up", draw([28, 36]), draw([1.8, 2.4]), 14, cc="reno", queue="40p"), draw([14, 18])
p.more = ["--set", f"path.reverse_loss={loss}%"]
add("full-lossy-acks", p, SINK, "sleep 0.5; nc.openbsd -N {server} 8000 <file", ["path/full"],
    f"{loss} % of the ACKs are lost, which the next one makes good; the line of {p.up} Mbit/s has a queue of 40 frames = {40 * 1514 * 8 / p.up / 1e3:.0f} ms, BDP {p.segments:.0f} segments: after a drop Reno has half of {p.segments + 40:.0f} or more on the way, {(p.segments + 40) / 2 / p.segments:.1f} BDP, so that the queue is never empty; {p.bytes * 7 / 1e6:.1f} MB in 7 s, nobody answers", prepare=noise(p.bytes * 7))

# 24 path/full: CUBIC and CoDel
p = Path("down", draw([2, 3, 4]), 16, draw([26, 34, 40]), cc="reno", queue=None, more=["--aqm", "codel", "--set", "path.reverse_aqm=codel"])
stand = goodput(p.down) * .005 / MSS
add("full-codel", p, CUBIC + LIGHTTPD, "sleep 0.5; curl -s -o got http://{server}:8000/file", ["path/full"],
    f"a home router with CoDel: it drops when frames have waited for 5 ms or more for 100 ms, without marks: CUBIC has the BDP of {p.segments:.0f} segments and {stand:.0f} in the queue, or more, on the way then, and 0.7 of it = {.7 * (p.segments + stand):.0f} after it, {.7 * (p.segments + stand) / p.segments:.1f} BDP: the queue is never empty; one file, {p.bytes * 6.5 / 1e6:.1f} MB in 6.5 s = {show(p.bytes)}", "lighttpd", noise(p.bytes * 6.5, "www/file"))

# 25 path/full: BBR alone
p = Path("down", draw([27, 35]), 12, draw([13, 17]), cc="bbr", queue="2.2bdp")
add("full-bbr-git-clone", p, GITD, "sleep 0.4; git clone -q git://{server}:8000/repo copy 2>out", ["path/full", "pacing/bbr"],
    f"BBR alone on a line of {p.down} Mbit/s with a queue of 2.2 BDP: after 6 to 8 round trips of startup = {8 * p.rtt / 1e3:.1f} s its estimate is the line's rate, {show(p.bytes)}, all of which arrives for {6.5:.1f} s: its estimate lifted, nothing would come sooner; git daemon sends one pack of {p.bytes * 6.5 / 1e6:.1f} MB after 3 turns", "git", noise(p.bytes * 6.5, "tree/file") + "; sh commit.sh; git clone -q --bare tree filled; rm -r repo; mv filled repo")

# 26 path/full: the path becomes narrower
p, at, narrow = Path("up", draw([36, 44]), draw([26, 32]), 18, cc="reno", queue="170p"), 2.2, draw([4, 5])
p.more = ["--change", f"{at}s,rate={narrow}mbit"]
left = 5
add("full-narrower-curl", p, VSFTPD, "sleep 0.6; curl -s -T file ftp://{server}:8000/in/", ["path/full"],
    f"{p.up} Mbit/s, and {narrow} from {at} s on (a cell's edge), with a queue of 170 frames: BDP {p.segments:.0f} segments, then {goodput(narrow) * p.rtt / 1e3 / MSS:.0f}: after a drop Reno has half of {p.segments + 170:.0f} and then of {goodput(narrow) * p.rtt / 1e3 / MSS + 170:.0f} on the way, never fewer than the BDP; {p.bytes * 1.7 / 1e6:.1f} MB before and {goodput(narrow) * left / 1e6:.1f} MB in {left} s after", "vsftpd", noise(p.bytes * 1.7 + goodput(narrow) * left))

# 27 path/shared: four parts of one file at once, with BBR
p = Path("down", draw([29, 38]), 14, draw([19, 25]), cc="bbr", queue="2.4bdp")
add("shared-axel", p, NGINX, "sleep 0.5; axel -q -n 4 -o got http://{server}:8000/file", ["path/shared", "path/full"],
    f"axel gets four quarters of one file over four connections, {p.bytes * 7 / 1e6:.1f} MB in 7 s = {show(p.bytes)} for all: each has a quarter of the line; four estimates of BBR, each the most of some round trips, are together more than the rate, so that one to two BDP ({p.segments:.0f} frames each) stand in the queue of 2.4; from one connection alone the link is full", "nginx", noise(p.bytes * 7, "www/file"))

# 28 path/mtu
mtu, p, n = draw([1400, 1420, 1454]), Path("up", draw([31, 42]), draw([20, 28]), 38), 20
p.more = ["--inner-mtu", str(mtu), "--pmtud", "black-hole"]
add("mtu-nginx-put", p, NGINX, f"sleep 0.5; timeout 11 curl -s -T 'part[10-{10 + n}]' http://{{server}}:8000/ >out; true", ["path/mtu"],
    f"a tunnel of {mtu} B that nobody tells of: curl puts {n} files of 640 B, one after the other over one connection, two turns each (Expect: 100-continue) = {2 * n * p.rtt / 1e3:.2f} s, and one of 60,000 B, whose segments of 1500 B never arrive: timers of 0.2 s + rtt, doubled each time, the last copy at 8.5 to 10 s of the 11 s",
    "nginx", f"for i in $(seq 10 {9 + n}); do head -c 640 /dev/urandom >part$i; done; head -c 60000 /dev/urandom >part{10 + n}", receiver=["app/turns"])

# 29 path/silence: a tunnel without reception
p, at, gap = Path("down", draw([33, 41]), 9, draw([7, 9]), cc="reno", queue="2.2bdp"), draw([2.3, 2.5]), 6
p.more = ["--change", f"{at}s,for={gap}s,loss=100%"]
add("silence-aria2", p, LIGHTTPD, "sleep 0.5; aria2c -q -x 1 -s 1 --file-allocation=none -o got http://{server}:8000/file >out 2>&1", ["path/silence"],
    f"a train in a tunnel: from {at} s on nothing passes for {gap} s, either way. Copies 0.25 to 0.35 s after the last ACK (the round trip has a queue in it), twice as long after that and so on: the last that is lost goes at 3.75 to 5.3 s, the next at 7.75 to 10.9 s is answered: at least {7.75:.2f} s = 30 timers, beside {p.down} Mbit/s for 3.3 s: {100 * 7.75 / (7.75 + 3.3):.0f} % or more; near the receiver nothing comes, and nothing is owed",
    "lighttpd", noise(p.bytes * 3.3, "www/file"), receiver=["path/silence", "app/rate"])

# 30 app/turns: NBD, one read at a time
p = Path("down", draw([25, 33]), 11, draw([44, 60]))
p.cc = "reno"                   # BBR would pace each piece
n = int(6.2 / ((p.rtt + 1) / 1e3 + 16400 / p.bytes))
add("turns-nbdcopy", p, "exec nbdkit -f -r -i 0.0.0.0 -p 8000 file file", "sleep 0.5; nbdcopy --connections=1 --requests=1 --request-size=16384 nbd://{server}:8000 got", ["app/turns"],
    f"nbdcopy reads a disk of {n} pieces of 16 KiB from nbdkit, the next when it has the last: a turn of {p.rtt} ms each, beside {16400 / p.bytes * 1e3:.1f} ms of the link: {100 * p.rtt / (p.rtt + 1 + 16400 / p.bytes * 1e3):.0f} %; some 10 turns before, the first piece or two need another flight", prepare=noise(n * 16384))

# 31 app/turns: Redis, one SET at a time
p, size = Path("up", draw([34, 44]), draw([6, 8]), 10), draw([2200, 2500])
p.cc = "reno"
n = int(6.5 / ((p.rtt + .4) / 1e3 + (size + 160) * 8e-6 / p.up))
add("turns-redis", p, "exec " + REDIS, "sleep 0.6; redis-cli -h {server} -p 8000 <orders >out", ["app/turns"],
    f"redis-cli reads {n} commands from a file, each sets {size} B, and sends the next when it has the answer to the last: a turn of {p.rtt} ms each, beside {(size + 160) * 8 / p.up / 1e3:.1f} ms of the link; {n * (size + 34) / 1e6:.2f} MB, more than the list of commands that the client gets first (0.17 MB)", prepare=f"for i in $(seq {n}); do printf 'SET order%d %0{size}d\\n' $i $i; done >orders")

# 32 app/window: SFTP
many, part = draw([3, 4]), 16384
p = Path("down", draw([74, 91]), 15, draw([46, 58]), cc="reno", more=wmem(524288))
W = many * (part + 13)
v = W / p.rtt * 1e3
add("window-sftp", p, "exec socat -b 65536 TCP-LISTEN:8000,nodelay,reuseaddr EXEC:/usr/lib/openssh/sftp-server", f"sleep 0.5; echo 'get file got' >batch; sftp -q -R {many} -B {part} -b batch -D 'socat -b 65536 - TCP:{{server}}:8000,nodelay' >out 2>&1", ["app/window"],
    f"sftp -R {many} -B {part}, without SSH about it: {many} reads of 16 KiB are always asked for, the next when one is answered: {W} B each {p.rtt} ms = {show(v)} of {p.rate}, {100 * W / p.bdp:.0f} % of the BDP; some 5 turns before, one read more with each answer at first; tcp_wmem[1] is 512 KiB, so that the send buffer is never the smaller one", prepare=noise(v * 5.8))

# 33 app/nagle
p, size = Path("up", draw([7, 10]), draw([14, 20]), 25), draw([260, 340, 480])
n = int(6.5 / (2 * p.rtt / 1e3 + .041))
add("nagle-gawk", p, "exec ruby desk.rb", f"sleep 0.7; gawk -v host={{server}} -v count={n} -v size={size} -f orders.awk", ["app/nagle"],
    f"{n} orders by gawk's /inet: a head in one write, the note of {size} B in the next, without TCP_NODELAY, and an answer for both: the note waits for the ACK of the head, {p.rtt} ms + 40 ms, beside {p.rtt} ms of turn: {100 * (p.rtt + 40) / (2 * p.rtt + 40):.0f} %", "orders.awk desk.rb")

# 34 app/delayed_ack
p, size = Path("up", draw([14, 19]), draw([19, 26]), 22), draw([620, 940])
n = int(6.5 / (p.rtt / 1e3 + .041))
add("delayed-ack-buoy", p, "exec ruby quay.rb", f"sleep 0.7; ./buoy {{server}} {n} {size}", ["app/delayed_ack"],
    f"a buoy in C sends {n} readings of {size} B, the next when its socket's queue is empty (SIOCOUTQ, asked each millisecond), that is when the last one is acknowledged; the quay, in Ruby, reads once in 0.85 s, so that reading sends one ACK in 14: after the first 16 it is delayed by 40 ms: {p.rtt} + 40 ms each, TCP_NODELAY is set", "c:buoy quay.rb")

# 35 app/rate: a server's limit
p, kib = Path("down", draw([17, 24]), 10, draw([28, 36])), draw([150, 190])
v = kib * 1024
add("rate-nginx-limit", p, NGINX, "sleep 0.5; curl -s -o got http://{server}:8000/file", ["app/rate"],
    f"nginx with limit_rate {kib}k: it writes what a second allows, {v} B, and sleeps for the rest of it, in one piece or some: {show(v)} of {p.rate}; a second's bytes are {v / p.bytes * 1e3:.0f} ms of the link, in at most {rounds(v) + 1} flights of {p.rtt} ms = {(rounds(v) + 1) * p.rtt} ms: {100 - (v / p.bytes * 100 + (rounds(v) + 1) * p.rtt / 10):.0f} % or more of the time all that was offered has arrived; one answer of {v * 6.6 / 1e6:.1f} MB", "nginx",
    f"sed -i 's/dav_methods/limit_rate {kib}k; dav_methods/' nginx.conf; " + noise(v * 6.6, "www/file"))

# 36 app/response: a slow disk
p, think = Path("down", draw([16, 23]), 10, draw([20, 30])), draw([130, 150])
n = int(6.4 / ((think + p.rtt + 3) / 1e3))
add("response-nbdkit", p, f"exec nbdkit -f -r -i 0.0.0.0 -p 8000 --filter=delay file file rdelay={think}ms", "sleep 0.5; nbdcopy --connections=1 --requests=1 --request-size=8192 nbd://{server}:8000 got", ["app/response"],
    f"a disk on tape: nbdkit's filter delay holds each read for {think} ms; nbdcopy reads {n} pieces of 8 KiB, the next when it has the last, beside {p.rtt} ms of turn and {8200 / p.bytes * 1e3:.1f} ms of the link: {100 * think / (think + p.rtt + 3):.0f} %; some 10 turns before", prepare=noise(n * 8192))

# 37 app/request
p, rest, size = Path("down", draw([12, 18]), 8, draw([13, 20])), draw([0.29, 0.36]), draw([5200, 6400])
n = int(6.8 / rest)
add("request-redis-watch", p, f"{REDIS.replace(' >', ' --daemonize no >')} & sleep 0.3; redis-cli -p 8000 -x set page <page >/dev/null; wait", f"sleep 1; redis-cli -h {{server}} -p 8000 -r {n} -i {rest} get page >got", ["app/request"],
    f"redis-cli -i {rest} looks at a value of {size} B {n} times over one connection, {rest} s after it had the last one: {p.rtt} ms of turn, {size / p.bytes * 1e3:.1f} ms of the link, for the rest nobody asks: {100 * rest / (rest + (p.rtt + 4) / 1e3):.0f} %", prepare=noise(size, "page"))

# 38 pacing/program
rate, p = draw([3, 4]), Path("up", draw([43, 58]), draw([19, 25]), 16, cc="reno")
add("pacing-iperf3", p, "exec iperf3 -s -1 -p 8000 >/dev/null 2>&1", f"sleep 0.5; iperf3 -c {{server}} -p 8000 --fq-rate {rate}M -t 7 >out", ["pacing/program", "app/rate"],
    f"iperf3 --fq-rate {rate}M sets SO_MAX_PACING_RATE to {rate} Mbit/s of {p.rate}, headers not counted: 7 s, it always has more to send; a segment each {MSS * 8 / rate / 1e3:.1f} ms, both windows open", sockets=["pacing/program"])

# 39 cpu/quota
ms, size = 8, 10_400_000
p = Path("up", draw([6, 9]), draw([50, 64]), 30, queue="300p", cc="reno")
add("cpu-quota-gzip", p, SINK, f"g=/sys/fs/cgroup/cpu/tenth-client; mkdir -p $g; echo {ms}000 >$g/cpu.cfs_quota_us; echo $$ >$g/cgroup.procs; sleep 0.5; bash -c 'exec timeout 14 gzip -9 -c file >/dev/tcp/{{server}}/8000'; sleep 0.4", ["app/rate"],
    f"{ms} ms of CPU each 100 ms for gzip -9, which packs {size} B of hexadecimal digits straight into the connection: some 0.5 s with a whole CPU, 6 s so; it writes a half of that, {size * .58 * 8 / 6 / 1e6:.1f} Mbit/s of {p.rate}, in portions of 100 to 256 kB = {100e3 / p.bytes * 1e3:.0f} to {256e3 / p.bytes * 1e3:.0f} ms of the link; {100 - ms} of 100 ms it is throttled. Packets show a sender that offers less, sockets with the process the quota",
    prepare=f"head -c {size // 2} /dev/urandom | od -An -v -tx1 | tr -d ' \\n' >file", sockets=["cpu/quota"])

# 40 cpu/waiting
rows, work = 20000, 160
p = Path("down", draw([2, 3]), 20, draw([34, 48]), queue="300p", cc="reno")
add("cpu-waiting-gawk", p, f"timeout 20 taskset -c 1 nice -n 6 sh -c 'while :; do :; done' & exec socat TCP-LISTEN:8000,reuseaddr,nodelay EXEC:'taskset -c 1 nice -n 17 gawk -v rows={rows} -v work={work} -f ledger.awk',nofork", "sleep 0.8; timeout 14 ncat --recv-only {server} 8000 >got; true", ["app/rate"],
    f"a report by gawk, of {rows} rows of 120 B, some 0.025 ms of CPU each = 0.5 s, at nice 17, on a CPU where another program computes at nice 6 without a rest: weights 23 and 272, 8 % of the CPU for the report = 6.4 s, {rows * 120 * 8 / 6.4 / 1e6:.1f} Mbit/s of {p.rate}, where no third program wants that CPU; 4,096 B for each ms of work, and then 10 ms or more of waiting. Packets show a sender that offers less, sockets with the process that it waits for a CPU",
    "ledger.awk", sockets=["cpu/waiting"])

print(f"# Forty causes with real programs, drawn at random (seed {SEED}), with the answers by arithmetic before any verdict.\n"
      "# `answer`: limited_by/cause of the flow with most bytes; `active`: of active_limited_by/active_cause; `answer_near_receiver` where the receiver's packets can only show that, `answer_sockets` where sockets show more than packets.\n")
for case in cases:
    print("[[case]]")
    for key, value in case.items():
        print(f"{key} = {json.dumps(value, ensure_ascii=False)}")
    print()

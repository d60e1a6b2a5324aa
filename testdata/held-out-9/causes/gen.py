#!/usr/bin/env python3
"""Draws the forty causes of the ninth set and derives their answers: gen.py >causes.toml"""
import json, math, random

SEED = 92417
draw = random.Random(SEED).choice
MSS = 1448                      # payload of a full segment with timestamps
cases = []


class Path:
    """What exec is told of the path, and what follows from it. `way` is the direction of the data, rates are in Mbit/s, times in ms; a link counts IP + 14 B."""

    def __init__(self, way, rtt, up=None, down=None, cc="reno", queue="2.4bdp", more=()):
        self.way, self.rtt, self.up, self.down, self.cc, self.queue, self.more = way, rtt, up, down, cc, queue, list(more)
        self.rate = up if way == "up" else down
        if self.rate:
            self.bytes = goodput(self.rate)
            self.bdp = self.bytes * rtt / 1e3
            self.segments = self.bdp / MSS

    def options(self):
        rates = ["--rate", f"{self.up}mbit", "--reverse-rate", f"{self.down}mbit"] if self.up else []
        queue = ["--queue", self.queue] if self.queue else []
        return ["--rtt", f"{self.rtt}ms", *rates, *queue, "--set", f"host.congestion_control={self.cc}", *self.more]


def goodput(mbit):
    return mbit * 1e6 / 8 * MSS / 1514


def show(bytes_per_s):
    return f"{bytes_per_s * 8 / 1e6:.1f} Mbit/s"


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


def throttled(ms, name):
    return f"g=/sys/fs/cgroup/cpu/{name}; mkdir -p $g; echo {ms}000 >$g/cpu.cfs_quota_us; echo $$ >$g/cgroup.procs; "


TAKE = "exec tcpserver -RHl0 0 8000 sh -c 'cat >got' 2>/dev/null"
GIVE = "exec tcpserver -RHl0 0 8000 cat file 2>/dev/null"
WEBORF = "exec weborf -i 0.0.0.0 -p 8000 -b $PWD/www >/dev/null 2>&1"
MICRO = "exec tcpserver -RHl0 0 8000 micro-httpd $PWD/www 2>/dev/null"
SINK = "exec smtp-sink -u nobody 0.0.0.0:8000 10 2>/dev/null"
EITHER = "; no packet tells a send buffer from a window of the application"

# 1 sndbuf/program. The kernel doubles SO_SNDBUF and counts its own overhead in it: 0.6 to 1.5 of the double is payload on the way.
S, p = draw([35, 38, 46]) * 1024, Path("down", draw([86, 101, 127]), 30, draw([58, 72, 90]), cc=draw(["bbr", "reno"]), queue="1.7bdp")
v = 2 * S / p.rtt * 1e3
add("sndbuf-hitch", p, "weborf -i 127.0.0.1 -p 8080 -b $PWD/www >/dev/null 2>&1 & exec hitch --config=hitch.conf 2>/dev/null", "sleep 1; curl -s -k -o got https://{server}:8000/file", ["sndbuf/program", "app/window"],
    f"hitch, a TLS proxy before a web server, has send-bufsize = {S}: twice that, {2 * S} B (0.6 to 1.5 of it payload), each {p.rtt} ms = {show(v)} of {p.rate}, {100 * 2 * S / p.bdp:.0f} % of the BDP{EITHER}; 3 turns before, one answer of {v * 5.6 / 1e6:.1f} MB",
    "www hitch", f"echo 'send-bufsize = {S}' >>hitch.conf; " + noise(v * 5.6, "www/file"), sockets=["sndbuf/program"])

# 2 sndbuf/maximum
M, rtt = draw([76, 100, 132]) * 1024, draw([68, 77, 94])
p = Path("up", rtt, draw([52, 64, 80]), 28, cc=draw(["bbr", "reno"]), queue="1.7bdp", more=wmem(16384, M))
v = M / rtt * 1e3
add("wmem-smtp-source", p, SINK, "sleep 0.4; smtp-source -m 1 -l %d -f me@here -t you@there inet:{server}:8000" % (v * 5), ["sndbuf/maximum", "app/window"],
    f"tcp_wmem[2] is {M} B (0.5 to 1.3 of it payload), each {rtt} ms = {show(v)} of {p.rate}, {100 * M / p.bdp:.0f} % of the BDP{EITHER}; Postfix's smtp-source sends one mail of {v * 5 / 1e6:.1f} MB after 5 turns, smtp-sink reads it at once", sockets=["sndbuf/maximum"])

# 3 rwnd/program, set before connect()
S, p = draw([24, 27, 30]) * 1024, Path("down", draw([93, 107, 134]), 24, draw([48, 66, 82]), cc=draw(["bbr", "reno"]))
v = 1.2 * S / p.rtt * 1e3
add("rcvbuf-squid", p, WEBORF, "squid -N -f squid.conf & s=$!; sleep 2.5; wget -q -O got -e http_proxy=http://127.0.0.1:3128/ http://{server}:8000/file; kill $s; wait", ["rwnd/program"],
    f"Squid stands at the client's end, and its tcp_recv_bufsize is {S}: a window of {S} to {2 * S} B each {p.rtt} ms = about {show(v)} of {p.rate}, at most {200 * S / p.bdp:.0f} % of the BDP; wget takes what Squid hands on at once", "www squid",
    f"echo 'tcp_recv_bufsize {S} bytes' >>squid.conf; " + noise(v * 5.6, "www/file"))

# 4 rwnd/program, set on the connection when it stands: the window's scale is that of tcp_rmem
S, p = draw([70, 78, 90]) * 1024, Path("up", draw([148, 163, 179]), draw([55, 75]), 33, cc=draw(["bbr", "reno"]))
v = 1.2 * S / p.rtt * 1e3
add("rcvbuf-vault-zsh", p, f"exec /usr/bin/python3 vault.py {S} got", "sleep 0.6; zsh -f send.zsh {server} <file", ["rwnd/program", "rwnd/maximum"],
    f"a server in Python sets SO_RCVBUF {S} after accept(): the scale of the window was given away before and is that of tcp_rmem, the window stays at {S} to {2 * S} B each {p.rtt} ms = about {show(v)} of {p.rate}, at most {200 * S / p.bdp:.0f} % of the BDP: packets cannot tell it from a tcp_rmem[2] of that size; zsh (ztcp) sends, nobody answers",
    "vault.py send.zsh", noise(v * 5.6), sockets=["rwnd/program"])

# 5 rwnd/rmem_max: asked for 16 MiB, got net.core.rmem_max (4 MiB here) doubled, two thirds of which are window
rtt, W, size = draw([196, 204]), 5569152, 118_000_000
p = Path("up", rtt, draw([320, 330]), 60, queue="1.4bdp", more=wmem(16384, 33554432))
add("rmem-max-iperf2", p, "exec iperf -s -p 8000 -w 16M >/dev/null 2>&1", on_routes("initcwnd 56") + f"sleep 0.5; iperf -c {{server}} -p 8000 -n {size} >out", ["rwnd/rmem_max", "rwnd/program", "rwnd/maximum"],
    f"iperf 2's server asks for -w 16M before listen(), net.core.rmem_max allows 4 MiB, which the kernel doubles, where tcp_rmem[2] would have been 32 MiB: a window of some {W / 1e6:.1f} MB each {rtt} ms = {show(W / rtt * 1e3)} of {show(p.bytes)}, {100 * W / p.bdp:.0f} % of the BDP; {size / 1e6:.0f} MB: "
    f"{math.log2(W / 56 / MSS):.1f} rounds of slow start from 56 segments (ip route … initcwnd) = {math.log2(W / 56 / MSS) * rtt / 1e3:.1f} s, the rest in {(size - 2 * W) / W * rtt / 1e3:.1f} s; packets show a constant window, not who set it", sockets=["rwnd/rmem_max"])

# 6 rwnd/maximum
M, rtt = draw([108, 132, 164]) * 1024, draw([83, 96, 109])
p = Path("up", rtt, draw([42, 56]), 36, cc=draw(["bbr", "reno"]), more=rmem(57344, M))
v = .75 * M / rtt * 1e3
add("rmem-skopeo", p, "exec docker-registry serve registry.yml >/dev/null 2>&1", "sleep 0.8; skopeo --insecure-policy copy -q --dest-tls-verify=false dir:image docker://{server}:8000/image:1 >out 2>&1", ["rwnd/maximum"],
    f"tcp_rmem[2] is {M} B, 50 to 100 % of which are window, each {rtt} ms = at most {show(M / rtt * 1e3)} of {p.rate}, {100 * M / p.bdp:.0f} % of the BDP; skopeo pushes an image with a layer of {v * 5.4 / 1e6:.1f} MB to a registry, in one PATCH, and some 8 turns = {8 * rtt / 1e3:.1f} s before and after", "image.sh registry", f"sh image.sh {int(v * 5.4)}")

# 7 rwnd/unscaled
p = Path("down", draw([47, 58, 66]), 22, draw([34, 46]), cc=draw(["bbr", "reno"]))
v = 65535 / p.rtt * 1e3
add("unscaled-w3m", p, MICRO, "echo 0 >/proc/sys/net/ipv4/tcp_window_scaling; sleep 0.5; w3m -dump_source http://{server}:8000/file >got", ["rwnd/unscaled"],
    f"the client's host has no window scaling: 65,535 B each {p.rtt} ms = {show(v)} of {p.rate}, {100 * 65535 / p.bdp:.0f} % of the BDP; one answer of {v * 5.6 / 1e6:.1f} MB after one turn", "www", noise(v * 5.6, "www/file"))

# 8 rwnd/clamped
C, p = draw([44000, 52000, 60000]), Path("down", draw([63, 74, 88]), 18, draw([44, 60]), cc=draw(["bbr", "reno"]))
v = C / p.rtt * 1e3
add("clamped-gauge", p, WEBORF, f"sleep 0.5; perl gauge.pl {{server}} /file {C} got", ["rwnd/clamped", "rwnd/program", "rwnd/maximum"],
    f"a client in Perl has SO_RCVBUF 1 MiB, so that no autotuning moves its window, and sets TCP_WINDOW_CLAMP {C} after each read (the kernel forgets it when it learns what segments cost): {C} B each {p.rtt} ms = {show(v)} of {p.rate}, {100 * C / p.bdp:.0f} % of the BDP, where the buffer alone would allow {2 ** 20 / p.bdp:.1f} BDP or more; packets show a constant window, not what holds it",
    "www gauge.pl", noise(v * 5.6, "www/file"), sockets=["rwnd/clamped"])

# 9 rwnd/autotuning
p = Path("down", draw([188, 197]), 40, draw([190, 220]), queue="2.4bdp", more=rmem(6144, 33554432) + wmem(4194304, 33554432))
size = draw([3300000, 3700000])
add("autotuning-lynx", p, on_routes("initcwnd 2900") + WEBORF, "sleep 0.5; lynx -source http://{server}:8000/file >got", ["rwnd/autotuning"],
    f"the server's congestion window is 2900 segments from the start (ip route … initcwnd), the client's tcp_rmem[1] is 6,144 B: a window of some 3 kB, which grows only with what was read in a round trip: at twice to four times each, {size} B need 6 to 10 flights of {p.rtt} ms = {6 * p.rtt / 1e3:.1f} to {10 * p.rtt / 1e3:.1f} s, "
    f"beside one turn and {size / p.bytes:.2f} s of the link; the congestion window alone would need one flight", "www", noise(size, "www/file"))

# 10 receiver
p, nap, part = Path("down", draw([24, 36]), 11, draw([19, 25]), cc=draw(["bbr", "reno"]), more=rmem(98304, 163840)), draw([0.55, 0.65]), 147456
count = int(7 / nap)
fill = 163840 / p.bytes + p.rtt / 1e3
add("receiver-dd", p, GIVE, f"sleep 0.5; exec bash -c 'exec 3<>/dev/tcp/{{server}}/8000; for i in $(seq {count}); do dd bs={part} count=1 iflag=fullblock <&3 2>/dev/null; sleep {nap}; done >got; cat <&3 >>got'", ["receiver"],
    f"a player takes {part} B, and sleeps for {nap} s, {count} times: tcp_rmem[2] is 160 KiB, which the link of {p.rate} Mbit/s fills in {fill:.2f} s at most, window updates included; then the window is 0, or less than a segment, until the player reads again: at least {100 * (nap - fill) / (nap + .05):.0f} % of each {nap} s",
    prepare=noise(part * count))

# 11 cwnd/idle_restart, of the active time: the window is halved once for each RTO of idle time
size, p, n = draw([430000, 470000]), Path("down", draw([113, 124]), 20, draw([125, 160]), more=rmem(1048576)), 5
r, rto = rounds(size), p.rtt / 1e3 + .2
halvings = math.ceil(math.log2((size / MSS + 10) / 10))
pause = (halvings + 1.4) * rto
add("idle-radar", p, "exec /usr/bin/python3 radar.py file 2>/dev/null", f"sleep 1.2; ./poll {{server}} {n} {int(pause * 1000)}", ["cwnd/idle_restart"],
    f"a client in Go looks at a picture of {size} B {n} times over one connection, {pause:.1f} s after it had the last one = {pause / rto:.1f} RTO, in which the window of some {size / MSS + 10:.0f} segments is halved {halvings} times, to 10; active are {n} turns = {n * p.rtt / 1e3:.2f} s, {r} rounds of the first = {r * p.rtt / 1e3:.2f} s, "
    f"and {(n - 1) * r} rounds after pauses = {(n - 1) * r * p.rtt / 1e3:.2f} s, each last flight a part of one", "radar.py go:poll", noise(size), active=True)

# 12 cwnd/ecn
def law(percent):
    return 1.22 / math.sqrt(percent / 100) * MSS
mark, p = draw([0.6, 0.8]), Path("up", draw([34, 42, 51]), draw([43, 54]), 32)
p.more = ["--mark", f"{mark}%"]
v = law(mark) / p.rtt * 1e3
add("ecn-netcat", p, TAKE, "sleep 0.5; nc.traditional -q 4 {server} 8000 <file", ["cwnd/ecn"],
    f"{mark} % of the frames come with a CE mark, none is lost: Reno's law says {law(mark) / 1e3:.0f} kB each {p.rtt} ms = {show(v)} of {p.rate}, {100 * law(mark) / p.bdp:.0f} % of the BDP", prepare=noise(v * 8))

# 13 cwnd/timeout: one segment on the way, and it is lost
loss, p, size = draw([9, 10.5]), Path("down", draw([6, 9]), 14, draw([11, 26]), cc=draw(["bbr", "reno"]), queue="240p"), draw([760, 980])
p.more = ["--set", f"path.reverse_loss={loss}%"]
q, rtt = loss / 100, p.rtt / 1e3
wait = q * (rtt + .2) + q * q * 2 * (rtt + .2)
n = int(6.2 / (rtt + wait))
add("timeout-tariff", p, f"exec ./tariff {size}", f"sleep 0.5; timeout 18 tclsh tariff.tcl {{server}} {n}; true", ["cwnd/timeout"],
    f"a client in Tcl asks a server in Go for {n} tariffs, the next after the answer of {size} B, one segment; only answers are lost: {n} turns of {p.rtt} ms = {n * rtt:.1f} s, {loss} % of them wait {1e3 * rtt + 200:.0f} ms for the timer, or twice as long again = {n * wait:.1f} s; near the receiver a lost answer looks like a server that thinks",
    "tariff.tcl go:tariff", receiver=["cwnd/timeout", "app/response"])

# 14, 15 cwnd/random_loss
loss, p = draw([0.5, 0.7]), Path("down", draw([53, 62]), 24, draw([52, 70]), queue="2.1bdp")
p.more = ["--set", f"path.reverse_loss={loss}%"]
v = law(loss) / p.rtt * 1e3
add("loss-tcpclient", p, GIVE, "sleep 0.5; tcpclient -RHl0 {server} 8000 sh -c 'cat <&6 >got'", ["cwnd/random_loss"],
    f"{loss} % are lost: {law(loss) / 1e3:.0f} kB each {p.rtt} ms = {show(v)} of {p.rate}, {100 * law(loss) / p.bdp:.0f} % of the BDP; the server sends as soon as the connection stands", prepare=noise(v * 9))
loss, p = draw([0.9, 1.2]), Path("up", draw([29, 35]), draw([38, 48]), 50, queue="2.1bdp")
p.more = ["--set", f"path.loss={loss}%"]
v = law(loss) / p.rtt * 1e3
add("loss-rlpr", p, "exec /usr/bin/python3 lpd.py got", on_routes("congctl cubic") + "sleep 0.5; rlpr -N -h -H {server} -P lp file", ["cwnd/random_loss"],
    f"{loss} % are lost: {law(loss) / 1e3:.0f} kB each {p.rtt} ms = {show(v)} of {p.rate}, {100 * law(loss) / p.bdp:.0f} % of the BDP (CUBIC, in its Reno-friendly region); rlpr prints one file on a printer of RFC 1179, 2 turns before and 2 after it", "lpd.py", noise(v * 10))

# 16 cwnd/queue_loss
q = draw([4, 5])
p = Path("up", draw([40, 44]), draw([21, 26]), 35, queue=f"{q}p")
low = (p.segments + q + 6) / 2
add("queue-qperf", p, "exec qperf -lp 8000 >/dev/null 2>&1", "sleep 0.5; qperf {server} -lp 8000 -ip 8001 -t 8 -m 64k tcp_bw >out", ["cwnd/queue_loss", "cwnd/growth"],
    f"BDP {p.segments:.0f} segments, queue {q}: Reno falls to {low:.0f} at most, {p.segments - low:.0f} round trips of {p.rtt} ms = {(p.segments - low) * p.rtt / 1e3:.1f} s below the BDP, then some {q + 6} above it: {100 * (p.segments - low) / (p.segments - low + q + 6):.0f} % of each tooth; qperf's data connection, 8 s of 64 KiB each")

# 17 cwnd/growth: a short congestion early on
p = Path("down", draw([105, 118]), 30, draw([85, 105]), queue="60p")
at, slow = 0.7, 3
p.more = ["--change", f"{at}s,for=0.7s,rate={slow}mbit"]
add("growth-after-congestion", p, GIVE, "sleep 0.5; timeout 9.5 tcpclient -RHl0 {server} 8000 sh -c 'cat <&6 >got'; true", ["cwnd/growth"],
    f"{at} s after its first packet the path has {slow} Mbit/s for 0.7 s, and loses a part of a flight; the window was at most {10 * 2 ** 7} segments in slow start, half of what was out when it lost is some 320 or fewer, or, where copies are lost too, still less; then it grows by one segment each {p.rtt} ms, 60 to 70 in the rest of 9.5 s: below the BDP of {p.segments:.0f} all the time, no loss any more, at least 75 % of it",
    prepare=noise(p.bytes * 4))

# 18 cwnd/startup
size, p = draw([5600000, 6400000]), Path("up", draw([186, 198]), draw([250, 290]), 45, more=rmem(8388608, 33554432) + wmem(16384, 33554432))
r = rounds(size)
add("startup-tar-zsh", p, TAKE, "sleep 0.8; tar -cf - file | zsh -f send.zsh {server}", ["cwnd/startup"],
    f"{size} B = {size / MSS:.0f} segments: {r} rounds after the first flight of 10 = {r * p.rtt / 1e3:.1f} s, {size / p.bytes:.2f} s of the link; tcp_rmem[1] is 8 MiB, so that the receiver's window is never the smaller one; nobody answers", "send.zsh", noise(size))

# 19 cwnd/hystart_exit: the path becomes longer in the middle of CUBIC's slow start
p = Path("down", draw([92, 98]), 40, draw([200, 220]), queue="1.5bdp")
longer, at = p.rtt + 26, 0.5
p.more = ["--change", f"{at}s,rtt={longer}ms"]
add("hystart-detour", p, on_routes("congctl cubic") + GIVE, "sleep 0.5; timeout 5.6 tcpclient -RHl0 {server} 8000 sh -c 'cat <&6 >got'; true", ["cwnd/hystart_exit", "cwnd/growth"],
    f"in CUBIC's slow start, {at} s after the first packet, the path becomes 26 ms longer (a detour), more than the {p.rtt // 8} ms ({p.rtt} / 8) by which HyStart takes a queue for granted: it leaves slow start at 80 to 200 segments, without a loss, and no queue stands at all: {p.rate} Mbit/s × {longer} ms = {goodput(p.rate) * longer / 1e3 / MSS:.0f} segments of BDP; "
    f"then CUBIC without a loss raises its window by 5 % each round trip at most, {1.05 ** (4.9 / longer * 1e3):.1f} times in 4.9 s: never full", prepare=noise(p.bytes * 3), sockets=["cwnd/hystart_exit"])

# 20 cwnd/reordering: hosts that cannot tell it from loss: no DSACK, no timestamps
share, p = draw([0.8, 1.1]), Path("up", draw([44, 52]), draw([36, 46]), 28, queue="2.4bdp")
p.more = ["--set", f"path.reorder={share}%"]
v = law(share) / p.rtt * 1e3
add("reordering-mojo", p, "echo 0 >/proc/sys/net/ipv4/tcp_dsack; exec perl -Mojo -e 'a(\"/*file\" => {text => \"taken\"})->start(\"daemon\", \"-l\", \"http://0.0.0.0:8000\")' >/dev/null 2>&1",
    "echo 0 >/proc/sys/net/ipv4/tcp_timestamps; sleep 0.5; mojo get -M PUT http://{server}:8000/file <file >out", ["cwnd/reordering"],
    f"{share} % of the segments overtake all that are on the way, by up to half a round trip, more than RACK's quarter; nothing is lost. The server's host has no DSACK, the client's no timestamps, so that no cut is taken back: Reno's law says {law(share) / 1e3:.0f} kB each {p.rtt} ms = {show(v)} of {p.rate}, {100 * law(share) / p.bdp:.0f} % of the BDP; "
    "near the sender each copy is acknowledged sooner than a round trip, near the receiver each comes twice; one PUT by Mojolicious", prepare=noise(v * 6))

# 21 cwnd/ack_path: a narrow way back
back, p = draw([0.05, 0.06]), Path("up", draw([31, 38]), draw([38, 46]), 1, queue="2500p", more=["--set", "path.reverse_burst=1600B"] + rmem(4194304, 33554432) + wmem(16384, 33554432))
p.down = back
acks = back * 1e6 / 8 / 66
size = int(4 * acks * MSS * 5)
add("ack-path-netwrite", p, "exec netread -q 8000 >got 2>/dev/null", "sleep 0.5; netwrite -q {server} 8000 <file 2>/dev/null", ["cwnd/ack_path"],
    f"the way back has {back * 1000:.0f} kbit/s: {acks:.0f} ACKs of 66 B each second; each tells of two segments or somewhat more and lets twice as many go in slow start: {4 * acks:.0f} segments a second = {show(4 * acks * MSS)} of {p.rate}, and the ACKs queue longer and longer (nothing is lost: a queue of 2500; tcp_rmem[1] is 4 MiB, so that the receiver's window is never the smaller one); "
    f"{size} B by netrw's netwrite in some 5 s; the path forward is never full, and the congestion window would be open long since", prepare=noise(size), receiver=["cwnd/ack_path", "cwnd/startup"])

# 22 cwnd/policer
rate, p = draw([9, 11]), Path("down", draw([43, 49, 57]), queue=None)
bdp = goodput(rate) * p.rtt / 1e3
bucket = round(bdp * 1.04 / 1024)
p.more = ["--policer", f"{rate}mbit:{bucket}KiB"]
add("policer-elinks", p, MICRO, "sleep 0.5; timeout 10 elinks -no-home -source http://{server}:8000/file >got; true", ["cwnd/policer"],
    f"a bucket of {bucket} KiB at {rate} Mbit/s, no queue: what exceeds it is dropped, {show(goodput(rate))} at most; BDP {bdp / 1024:.0f} KiB: Reno is cut at {bdp / 1024 + bucket:.0f} KiB at the latest, to {(bdp / 1024 + bucket) / 2:.0f}, all of the rate; elinks gets one file after one turn", "www", noise(goodput(rate) * 7, "www/file"))

# 23 path/full
p = Path("up", draw([23, 29]), draw([1.4, 1.8]), 12, queue="44p")
size = int(p.bytes * 7 * .73)
add("full-sendemail", p, SINK, "sleep 0.5; sendemail -q -f me@here -t you@there -u scans -m scans -a file -s {server}:8000 -o tls=no timeout=0", ["path/full"],
    f"a line of {p.up} Mbit/s up with a queue of 44 frames = {44 * 1514 * 8 / p.up / 1e3:.0f} ms, BDP {p.segments:.0f} segments: after a drop Reno has half of {p.segments + 44:.0f} or more on the way, never fewer than the BDP; a mail with an attachment of {size} B, in base64 {size * 1.37 / p.bytes:.1f} s of the line, 5 turns before", prepare=noise(size))

# 24 path/shared: beside datagrams
p = Path("down", draw([27, 33]), 16, draw([11, 13]), queue="2.7bdp")
left = goodput(p.down) * (1 - 3 / p.down)
add("shared-with-video", p, WEBORF.replace("exec ", "iperf -s -u -p 9000 >/dev/null 2>&1 & exec "), "iperf -u -R -c {server} -p 9000 -b 3M -l 1200 -t 9 >out 2>&1 & sleep 1.2; curl -s -o got http://{server}:8000/file; kill $!; wait", ["path/shared", "path/full"],
    f"a video of 3 Mbit/s in datagrams of 1200 B has a quarter of the link of {p.down} Mbit/s all the time, Reno the rest, {show(left)}, for 6.5 s: the queue of 2.7 BDP ({2.7 * p.segments:.0f} frames) is never empty, after a drop more than 1.8 BDP are on the way; from the connection alone the link is full", "www", noise(left * 6.5, "www/file"))

# 25 path/mtu
mtu, p, n = draw([1396, 1432, 1464]), Path("up", draw([37, 46]), draw([18, 26]), 42, cc=draw(["bbr", "reno"])), 14
p.more = ["--inner-mtu", str(mtu), "--pmtud", "black-hole"]
add("mtu-gearman", p, "gearmand -L 0.0.0.0 -p 8000 -l gearman.log & sleep 0.5; gearman -w -h 127.0.0.1 -p 8000 -f sum -- wc -c & wait", "sleep 1.3; timeout 10 gearman -h {server} -p 8000 -f sum -n <jobs >out; true", ["path/mtu"],
    f"a tunnel of {mtu} B that nobody tells of: {n} jobs of 700 B pass, one after the other, a turn each = {n * p.rtt / 1e3:.2f} s, one of 7,500 B in segments of 1500 B never: timers of 0.2 s + rtt, doubled each time, the last copy at 4 to 8.5 s of the 10 s",
    prepare=f"{{ for i in $(seq {n}); do printf '%0700d\\n' $i; done; printf '%07500d\\n' 1; }} >jobs", receiver=["app/turns"])

# 26 path/silence: the server's firewall lets nothing out for a while
p, at, gap = Path("up", draw([21, 28]), draw([7, 9]), 19, queue="2.1bdp"), draw([1.9, 2.2]), 5.3
add("silence-nft", p, f"(sleep {at}; nft 'table ip wall {{ chain out {{ type filter hook output priority 0; policy drop; }}; }}'; sleep {gap}; nft delete table ip wall) & " + TAKE, "sleep 0.4; tcpclient -RHl0 {server} 8000 sh -c 'cat file >&7'; sleep 1.5", ["path/silence"],
    f"a firewall at the server lets nothing out from {at} s on, for {gap} s: data come, no ACK leaves; copies 0.25 s after the last ACK, 0.5 s after that and so on: at 0.25, 0.75, 1.75, 3.75 and 7.75 s, the last one is answered: {7.75:.2f} s = 30 timers, beside {p.up} Mbit/s for 3.4 s: {100 * 7.5 / (7.5 + 3.4):.0f} %", prepare=noise(p.bytes * 3.4))

# 27 pacing/program
rate, p = draw([350, 460]) * 1000, Path("down", draw([39, 61]), 15, draw([18, 26]))
add("pacing-tornado", p, f"exec /usr/bin/python3 film.py file {rate} 2>/dev/null", "sleep 1.2; wget -q -O got http://{server}:8000/film", ["pacing/program", "app/rate"],
    f"a film archive in Tornado sets SO_MAX_PACING_RATE to {rate} B/s = {show(rate)} of {p.rate}: a film of {rate * 6.5 / 1e6:.1f} MB in 6.5 s after one turn, in writes of 128 KiB, it always has more to send", "film.py", noise(rate * 6.5), sockets=["pacing/program"])

# 28 pacing/bbr
p, at, wide = Path("up", draw([186, 197]), draw([3, 4]), 35, cc="bbr", queue="0.8bdp", more=rmem(4194304, 33554432) + wmem(16384, 33554432)), 2.2, draw([230, 260])
p.more += ["--change", f"{at}s,rate={wide}mbit"]
add("bbr-wider-path", p, "exec nc.traditional -l -p 8000 >got", "sleep 0.4; timeout 6 nc.traditional -q 1 {server} 8000 <file; true", ["pacing/bbr", "pacing/program", "app/rate"],
    f"{at} s after the first packet, when BBR has left its startup, the path becomes {wide} Mbit/s wide: BBR goes on at its estimate until its cycle of 8 round trips = {8 * p.rtt / 1e3:.1f} s comes to the phase that asks for more, and then raises it by a quarter each round trip: from {p.up} Mbit/s 1.25^{3.6e3 / p.rtt:.0f} = {1.25 ** (3.6e3 / p.rtt):.0f} times at most in the 3.6 s that are left: "
    f"{p.up * 1.25 ** (3.6e3 / p.rtt):.0f} Mbit/s, never full; no queue, room in both windows, no loss but for what the startup lost before, {100 * 3.6 / 5.8:.0f} % of the time; packets show a rate, not who chose it", prepare=noise(60e6), sockets=["pacing/bbr"])

# 29 cpu/quota
ms, rows, work = 9, 22000, 2200
p = Path("down", draw([7, 10]), 22, draw([36, 52]), queue="300p")
add("cpu-sieve", p, throttled(ms, "ninth-server") + f"exec tcpserver -RHl0 0 8000 lua5.4 sieve.lua {rows} {work} 2>/dev/null", "sleep 0.8; tcpclient -RHl0 {server} 8000 sh -c 'timeout 14 cat <&6 >got'; true", ["app/rate"],
    f"{ms} ms of CPU each 100 ms for a program in Lua that computes {work} steps for each of {rows} rows of 120 B: some 0.025 ms each = 0.55 s with a whole CPU, 6 s so = 3.5 Mbit/s of {p.down}, 44 kB each 0.1 s = {44e3 / p.bytes * 1e3:.0f} ms of the link; {100 - ms} of 100 ms it is throttled. Packets show a sender that offers less, sockets with the process the quota", "sieve.lua", sockets=["cpu/quota"])

# 30 cpu/busy
p = Path("up", draw([8, 12]), draw([55, 70]), 40, queue="300p")
size = 5_000_000
add("cpu-xz", p, TAKE, "sleep 0.5; zsh -f pack.zsh {server}", ["app/rate"],
    f"xz -9, one thread, packs {size} B of hexadecimal digits straight into the connection: some 0.4 to 1 MB/s of them, which become a half: 1.6 to 4 Mbit/s of {p.up}, in portions of some 60 kB = {60e3 / p.bytes * 1e3:.0f} ms of the link, for each of which it computes 0.06 to 0.16 s; it never waits for the socket. Packets show a sender that offers less, sockets with the process a thread that is always busy, or, where others want its CPU, waiting",
    "pack.zsh", f"head -c {size // 2} /dev/urandom | od -An -v -tx1 | tr -d ' \\n' >file", sockets=["cpu/busy", "cpu/waiting"])

# 31 app/request
p, rest, page = Path("down", draw([13, 17]), 10, draw([14, 21])), draw([0.27, 0.34]), 6100
n = int(6.8 / rest)
add("request-pages", p, WEBORF, f"sleep 0.5; lua5.4 pages.lua {{server}} /page {n} {rest}", ["app/request"],
    f"a program in Lua gets a page of {page} B {n} times over one connection, {rest} s after it had the last one: {p.rtt} ms of turn, {page / p.bytes * 1e3:.1f} ms of the link, for the rest nobody asks: {100 * rest / (rest + (p.rtt + 4) / 1e3):.0f} %", "www pages.lua", noise(page, "www/page"))

# 32 app/response
p, think = Path("down", draw([15, 22]), 9, draw([18, 27]), cc=draw(["bbr", "reno"])), draw([0.13, 0.16])
add("response-waitress", p, f"THINK={think} exec waitress-serve --listen=0.0.0.0:8000 slow:app >/dev/null 2>&1", "sleep 1.3; wrk -t 1 -c 1 -d 6s http://{server}:8000/report >out", ["app/response"],
    f"wrk asks on one connection, the next after the answer of 3.4 kB, for which an application in Waitress sleeps {think * 1e3:.0f} ms, beside {p.rtt} ms of turn: {100 * think * 1e3 / (think * 1e3 + p.rtt + 3):.0f} %", "slow.py")

# 33 app/turns: a debugger
p = Path("down", draw([28, 34]), 8, draw([22, 30]), cc=draw(["bbr", "reno"]))
turns = int(6 / (p.rtt / 1e3 + .005))
start, length = 0x555555554000, turns * 4096
add("turns-gdb", p, "exec gdbserver --once 0.0.0.0:8000 /usr/bin/perl -e 'sleep 60' >/dev/null 2>&1", f"sleep 0.7; gdb -nx -batch -ex 'set sysroot /' -ex 'target remote {{server}}:8000' -ex 'dump binary memory got {start:#x} {start + length:#x}' -ex kill >out 2>&1", ["app/turns"],
    f"gdb reads {length} B of the memory of a program at the other end, one packet after the other, each in hexadecimal digits, 4 to 8 KiB: a turn of {p.rtt} ms each, beside {8192 * 2 / p.bytes * 1e3:.1f} ms of the link at most; some 20 turns before")

# 34 app/turns: XMODEM
p = Path("up", draw([36, 43]), draw([5, 7]), 9, cc=draw(["bbr", "reno"]))
n = int(6.5 / ((p.rtt + 1.5) / 1e3))
add("turns-xmodem", p, "mkdir taken; cd taken; exec tcpserver -DRHl0 0 8000 rx -b -c -q got 2>/dev/null", "sleep 0.5; tcpclient -DRHl0 {server} 8000 sh -c 'sx -b -k -q file <&6 >&7 2>/dev/null'", ["app/turns"],
    f"sx puts a file of {n} KiB by XMODEM in {n} blocks of 1 KiB (1029 B), the next when the other end has answered one byte: a turn of {p.rtt} ms each, beside {1083 * 8 / p.up / 1e3:.1f} ms of the link", prepare=noise(n * 1024))

# 35 app/window: ZMODEM
W, p = draw([49152, 57344]), Path("down", draw([76, 89]), 17, draw([42, 54]), more=wmem(524288))
v = W / p.rtt * 1e3
add("window-zmodem", p, f"exec tcpserver -DRHl0 0 8000 sz -b -q -w {W} file 2>/dev/null", "sleep 0.5; tcpclient -DRHl0 {server} 8000 sh -c 'cd sent; rz -b -q <&6 >&7 2>/dev/null'", ["app/window"],
    f"sz -w {W}: ZMODEM with a window, a quarter of which each acknowledgement of some 20 B lets go (tcpserver and tcpclient -D set TCP_NODELAY): at most {W} B each {p.rtt} ms = {show(v)} of {p.rate}, {100 * W / p.bdp:.0f} % of the BDP; 3 turns before; tcp_wmem[1] is 512 KiB, so that the send buffer is never the smaller one", prepare="mkdir sent; " + noise(v * 5.5))

# 36 app/window: credit
W, p = draw([65536, 81920]), Path("up", draw([58, 71]), draw([48, 62]), 26, more=wmem(524288))
v = W / p.rtt * 1e3
add("window-courier", p, "exec /usr/bin/python3 keeper.py got", f"sleep 0.6; lua5.4 courier.lua {{server}} file {W}", ["app/window"],
    f"a program in Lua has at most {W} B on the way for which a server in Python has given no credit, 6 B for each 16 KiB: {W} B each {p.rtt} ms = {show(v)} of {p.rate}, {100 * W / p.bdp:.0f} % of the BDP; 3 rounds of slow start before; tcp_wmem[1] is 512 KiB, so that the send buffer is never the smaller one", "keeper.py courier.lua", noise(v * 6))

# 37 app/nagle
p, size = Path("up", draw([8, 11]), draw([15, 23]), 31), draw([240, 370, 520])
n = int(6.5 / (2 * p.rtt / 1e3 + .041))
add("nagle-till", p, "exec tcpserver -RHl0 0 8000 perl receipts.pl 2>/dev/null", f"sleep 0.5; zsh -f till.zsh {{server}} {n} {size}", ["app/nagle"],
    f"{n} sales by zsh: a head in one write, the sale of {size} B in the next, without TCP_NODELAY, and a receipt for both: the sale waits for the ACK of the head, {p.rtt} ms + 40 ms, beside {p.rtt} ms of turn: {100 * (p.rtt + 40) / (2 * p.rtt + 40):.0f} %", "till.zsh receipts.pl")

# 38 app/delayed_ack
p, size = Path("down", draw([15, 20]), 28, draw([17, 24]), cc=draw(["bbr", "reno"])), draw([700, 1000])
n = int(6.5 / (p.rtt / 1e3 + .041))
add("delayed-ack-bells", p, f"exec /usr/bin/python3 bells.py {n} {size}", "sleep 0.6; exec bash -c 'exec 3<>/dev/tcp/{server}/8000; while [ $(dd bs=256k count=1 <&3 2>/dev/null | wc -c) != 0 ]; do sleep 0.85; done'", ["app/delayed_ack"],
    f"a program in Python sends {n} messages of {size} B, the next when its socket's queue is empty (asked each millisecond), that is when the last one is acknowledged; the other end reads once in 0.85 s, so that reading sends one ACK in 14: after the first 16 it is delayed by 40 ms: {p.rtt} + 40 ms each, TCP_NODELAY is set", "bells.py")

# 39 app/rate
p, rate = Path("up", draw([18, 24]), draw([12, 16]), 27, cc=draw(["bbr", "reno"])), draw([160000, 210000])
add("rate-cstream", p, TAKE, f"sleep 0.5; zsh -f stream.zsh {{server}} {rate}", ["app/rate"],
    f"cstream -t {rate}: blocks of 8 KiB, {8192 / rate * 1e3:.0f} ms apart = {show(rate)} of {p.up}, a block is {8192 / p.bytes * 1e3:.0f} ms of the link and {p.rtt} ms of delay; nobody answers", "stream.zsh", noise(rate * 6.5))

# 40 app/rate
p, rate = Path("down", draw([32, 48]), 14, draw([11, 15]), cc=draw(["bbr", "reno"])), draw([1.3, 1.7])
add("rate-iperf2", p, "exec iperf -s -p 8000 >/dev/null 2>&1", f"sleep 0.5; iperf -R -c {{server}} -p 8000 -b {rate}M -l 4K -t 7 >out", ["app/rate"],
    f"iperf 2's server writes 4 KiB each {4096 * 8 / rate / 1e3:.0f} ms = {rate} Mbit/s of {p.down}, {4096 / p.bytes * 1e3:.1f} ms of the link; nobody answers, all of it arrives")

print(f"# Forty causes with real programs, drawn at random (seed {SEED}), with the answers by arithmetic before any verdict.\n"
      "# `answer`: limited_by/cause of the flow with most bytes; `active`: of active_limited_by/active_cause; `answer_near_receiver` where the receiver's packets can only show that, `answer_sockets` where sockets show more than packets.\n")
for case in cases:
    print("[[case]]")
    for key, value in case.items():
        print(f"{key} = {json.dumps(value, ensure_ascii=False)}")
    print()

"""Bytes, retransmissions and time of every TCP flow in captures, computed without pipefill, beside those of `pipefill pcap --json`.

    capture_figures.py [--program target/debug/pipefill] [--jobs 2] [--cache DIR] [--differences FILE] PATH...

A PATH is a capture, or a folder of captures; a folder's name is the name of the source in the table. tshark decodes the packets; what follows
from their headers is computed here, from the definitions below and from none of pipefill's code. Ends with 1 where fewer flows agree than
have to: bytes in 99.5 %, retransmissions in 98 %, time in all of them. docs/guide/captures.md explains the classes of differences.
Flows with numbers that no TCP sends (forged or fuzzed) have no right figures: they are counted, by what is impossible, and not compared.

bytes       the union of the sequence ranges of the payload: SYN, FIN, and what a RST carries are not in it
retransmits segments whose payload was seen before, those that fill a hole and were sent after what follows the hole, SYN and FIN sent again;
            copies that the capture or the network made, keep-alives and window probes are not among them
data_us     from the first segment with payload to the last one; copies, keep-alives, window probes, and payload that was acknowledged before are none
"""

import argparse
import bisect
import concurrent.futures
import gzip
import hashlib
import ipaddress
import json
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

FIELDS = """frame.number frame.time_epoch frame.protocols ip.src ipv6.src ip.dst ipv6.dst ip.id ip.ttl ipv6.hlim tcp.stream tcp.srcport tcp.dstport
tcp.seq_raw tcp.ack_raw tcp.flags tcp.len tcp.window_size_value tcp.options.timestamp.tsval tcp.options.timestamp.tsecr
tcp.options.mss_val tcp.options.sack_le tcp.analysis.retransmission tcp.analysis.out_of_order tcp.analysis.keep_alive
tcp.analysis.zero_window_probe ip.flags.mf ip.frag_offset ip.len ip.hdr_len tcp.hdr_len frame.interface_id""".split()
# What an ICMP error quotes is no packet of the flow. Every frame stands for itself: no reassembly of streams.
TSHARK = ["tshark", "-n", "-o", "tcp.desegment_tcp_streams:FALSE", "-o", "tcp.reassemble_out_of_order:FALSE", "-Y", "tcp && !icmp && !icmpv6"]

FIN, SYN, RST, ACK = 1, 2, 4, 16
# A mirror port or a router shows a packet again after so long at most (1 µs to 20 ms).
COPY_NS = 20_000_000
# Without an IP identification and without timestamps only what follows so soon that no sender can have sent it again is a copy.
COPY_WITHOUT_ID_NS = 1_000_000
# What has ended is forgotten after so long.
ENDED_NS = 10_000_000_000
# A clock that runs backwards by so much was set.
SET_CLOCK_NS = 20_000_000
# Nanoseconds since 1970 that fit in 63 bits: until 2262.
TIME_LIMIT_NS = 1 << 63
# Wireshark's own bound below which what fills a hole was overtaken.
OVERTAKEN_NS = 3_000_000
# What lies so far from the rest of its direction is of no real transfer.
FAR = 1 << 26
TIMESTAMPS = 12
# Of an MTU of 1500, where no handshake was captured; and where a SYN has no option (RFC 9293 3.7.1).
USUAL_MSS, DEFAULT_MSS = 1460, 536
FIGURES = ("bytes", "retransmits", "data_us", "segments")
# What is peculiar about a flow, the first one that it has is its class.
MARKS = (
    "times that no clock has", "the clock was set back", "fragments", "data in a reset", "far sequence numbers", "copies", "keep-alives",
    "window probes", "one direction", "before the first", "acknowledged and not captured", "acknowledged before", "holes", "partly new",
    "padding", "a hole in the capture or the path",
)
# No TCP sends such numbers: jumps of more than FAR, payload at or below the number of its SYN, another payload on a SYN that is sent again.
IMPOSSIBLE = ("far sequence numbers", "payload below its SYN", "other payload on a SYN")
# The least agreement, of the flows that both have.
LEAST = {"bytes": 0.995, "retransmits": 0.98, "data_us": 1.0}


@dataclass(slots=True)
class Packet:
    number: int
    time: int
    source: str
    destination: str
    ip_id: int
    is_v6: bool
    stream: int
    seq: int
    ack: int
    flags: int
    length: int
    window: int
    tsval: int
    tsecr: int
    mss: int
    tshark: str
    is_fragment: bool
    layers: str


@dataclass
class Flow:
    """One direction of a connection that carried payload."""

    source: str
    destination: str
    stream: int
    start: int
    bytes: int = 0
    again: int = 0
    filled_again: int = 0
    overtaken: int = 0
    syn_again: int = 0
    fin_again: int = 0
    copies: int = 0
    keep_alives: int = 0
    probes: int = 0
    segments: int = 0
    packets: int = 0
    first: int | None = None
    last: int | None = None
    marks: set = field(default_factory=set)
    tshark: Counter = field(default_factory=Counter)
    layers: str = ""

    @property
    def retransmits(self):
        return self.again + self.filled_again + self.syn_again + self.fin_again

    @property
    def data_us(self):
        return None if self.first is None else (self.last - self.first) // 1000


def endpoint(address, port):
    address = ipaddress.ip_address(address)
    address = getattr(address, "ipv4_mapped", None) or address
    return f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"


def number(text, otherwise=0):
    return int(text, 0) if text else otherwise


def packet(line):
    (frame, time, protocols, v4_source, v6_source, v4_destination, v6_destination, ip_id, _ttl, _hlim, stream, source_port, destination_port,
     seq, ack, flags, length, window, tsval, tsecr, mss, _sack, retransmission, out_of_order, keep_alive, probe, more, offset, ip_length,
     ip_header, tcp_header, _interface) = (field.split(",") for field in line.split("\t"))
    # The outermost TCP, whose payload may be packets of others, and the IP header next to it: a tunnel has others outside of it.
    [time], [protocols] = time, protocols
    stream, source_port, destination_port, seq, ack, flags, length, window, tsval, tsecr, mss, tcp_header = (
        found[0] for found in (stream, source_port, destination_port, seq, ack, flags, length, window, tsval, tsecr, mss, tcp_header))
    retransmission, out_of_order, keep_alive, probe = (
        found[0] for found in (retransmission, out_of_order, keep_alive, probe))
    if not (stream and seq and length and flags):
        return None
    layers = protocols.split(":")
    layers = layers[: layers.index("tcp")] if "tcp" in layers else layers
    is_v6 = next((layer == "ipv6" for layer in reversed(layers) if layer in ("ip", "ipv6")), bool(v6_source[0]))
    innermost = max(layers.count("ipv6" if is_v6 else "ip"), 1) - 1
    v4_source, v4_destination, v6_source, v6_destination, ip_id, more, offset, ip_length, ip_header = (
        found[min(innermost, len(found) - 1)]
        for found in (v4_source, v4_destination, v6_source, v6_destination, ip_id, more, offset, ip_length, ip_header))
    source, destination = (v6_source, v6_destination) if is_v6 else (v4_source, v4_destination)
    if not source:
        return None
    seconds, _, fraction = time.partition(".")
    is_fragment = "ipv6.fraghdr" in protocols or not is_v6 and (more in ("1", "True") or number(offset) != 0)
    payload = int(length)
    # tshark takes a packet for as long as its frame; the header of IP says how long it was, also where the capture cut the frame's length.
    if not is_v6 and not is_fragment and number(ip_length) > 0:
        payload = max(number(ip_length) - number(ip_header) - number(tcp_header), 0)
    marks = [("retransmission", retransmission), ("out_of_order", out_of_order), ("keep_alive", keep_alive), ("probe", probe)]
    return Packet(
        int(frame[0]), int(seconds) * 10**9 + int(fraction.ljust(9, "0")[:9] or 0), endpoint(source, source_port),
        endpoint(destination, destination_port), 0 if is_v6 else number(ip_id), is_v6, int(stream), int(seq),
        number(ack), int(flags, 0), payload, number(window), number(tsval, -1), number(tsecr, -1), number(mss),
        next((name for name, is_set in marks if is_set), ""), is_fragment, ":".join(layer for layer in layers if layer != "ethertype"),
    )


def decode(path, cache):
    """Every TCP packet of a capture, as tshark reads it."""
    kept = None
    if cache:
        kept = Path(cache) / (hashlib.sha256(path.read_bytes()).hexdigest()[:32] + ".v3.gz")
    if kept and kept.exists():
        text = gzip.decompress(kept.read_bytes()).decode()
    else:
        names = [word for name in FIELDS for word in ("-e", name)]
        command = [*TSHARK, "-r", str(path), "-T", "fields", "-E", "occurrence=a", *names]
        # A damaged capture is read as far as it goes.
        try:
            text = subprocess.run(command, capture_output=True, timeout=600, check=False).stdout.decode(errors="replace")
        except subprocess.TimeoutExpired:
            return []
        if kept:
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(gzip.compress(text.encode(), 3))
    packets = []
    for line in text.splitlines():
        found = packet(line) if line.count("\t") == len(FIELDS) - 1 else None
        if found:
            packets.append(found)
    return packets


class Ranges:
    """Disjoint ranges of sequence numbers, in their order."""

    def __init__(self):
        self.starts, self.ends = [], []

    def add(self, start, end):
        """Adds a range; returns how many numbers of it are new."""
        if not self.ends or start > self.ends[-1]:
            self.starts.append(start)
            self.ends.append(end)
            return end - start
        first = bisect.bisect_left(self.ends, start)
        last = bisect.bisect_right(self.starts, end)
        if first == last:
            self.starts.insert(first, start)
            self.ends.insert(first, end)
            return end - start
        had = sum(min(end, self.ends[at]) - max(start, self.starts[at]) for at in range(first, last))
        self.starts[first:last] = [min(start, self.starts[first])]
        self.ends[first:last] = [max(end, self.ends[last - 1])]
        return end - start - had

    def overlap(self, start, end):
        """How many numbers of a range are in it."""
        return sum(max(min(end, own_end) - max(start, own_start), 0) for own_start, own_end in zip(self.starts, self.ends))

    def total(self):
        return sum(self.ends) - sum(self.starts)


def signed(difference, bits=32):
    return (difference + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def counts_ids(packets):
    """Whether a sender numbers its IP packets one after the other: then the identification tells the order in which it sent them."""
    steps = [signed(late.ip_id - early.ip_id, 16) for early, late in zip(packets, packets[1:])]
    rising = sum(0 < step < 2000 for step in steps)
    return len(steps) >= 2 and rising >= 0.6 * len(steps)


def varies_ids(packets):
    """Whether another packet has another identification, so that the same one is of the same packet."""
    ids = {(found.seq, found.length, found.ack): found.ip_id for found in packets}
    return len(ids) < 2 or len(set(ids.values())) > 0.8 * len(ids)


class Direction:
    """What one end sent, and what the other acknowledged of it."""

    def __init__(self, first, packets):
        self.flow = Flow(first.source, first.destination, first.stream, first.time, layers=first.layers)
        self.ids_count, self.ids_vary = counts_ids(packets), varies_ids(packets)
        self.near = first.seq
        self.near_raw = first.seq
        self.ranges, self.probed = Ranges(), Ranges()
        self.next = None
        self.acked = None
        self.peer_window = None
        self.peer_mss = None
        self.own_mss = None
        self.syn_seq = None
        self.syn_length = 0
        self.fin_seq = None
        self.recent = {}
        self.heads = {}
        self.beyond = []
        self.rtt = None
        self.syn_time = None

    def unwrap(self, seq):
        return self.near + signed(seq - self.near_raw)

    def move(self, number):
        self.near, self.near_raw = number, number % (1 << 32)

    def segments(self, packet, length):
        """How many segments there are in so many bytes: more than one in a super-packet."""
        stamps = TIMESTAMPS if packet.tsval >= 0 else 0
        # Old stacks do not take timestamps off: what the option allows is one segment.
        if length <= max(self.peer_mss or USUAL_MSS, DEFAULT_MSS):
            return 1
        usual = max(min(self.peer_mss or USUAL_MSS, self.own_mss or USUAL_MSS) - stamps, 1)
        return -(-length // usual)

    def is_copy(self, packet):
        key = (packet.seq, packet.length, packet.flags, packet.ack, packet.window, packet.tsval, packet.tsecr)
        before = self.recent.setdefault(key, [])
        found = False
        for ip_id, time, layers in before:
            age = packet.time - time
            # The same packet behind other tags or tunnels is the same however late the capture has it.
            is_elsewhere = layers != packet.layers and packet.ip_id == ip_id and self.ids_vary
            if is_elsewhere and packet.ip_id and not packet.is_v6:
                found = True
            elif packet.is_v6 or packet.ip_id == 0 or not self.ids_vary:
                found |= 0 <= age < (COPY_NS if packet.tsval >= 0 else COPY_WITHOUT_ID_NS)
            else:
                found |= packet.ip_id == ip_id and 0 <= age < COPY_NS
        before.append((packet.ip_id, packet.time, packet.layers))
        return found

    def is_merged_copy(self, packet, start, end):
        """Several packets that passed, once more as one with the identification of the first: as a host's receive offload hands them on."""
        if packet.is_v6 or packet.ip_id == 0 or not self.ids_vary:
            return False
        passed, at = self.heads.setdefault((packet.ip_id, packet.seq), (packet.length, packet.time))
        return packet.length > passed and packet.time - at < COPY_NS and self.ranges.overlap(start, end) == end - start

    def was_overtaken(self, packet, later):
        """Whether what fills a hole was sent before `later`, which is beyond the hole."""
        if self.ids_count and not packet.is_v6 and packet.ip_id and later.ip_id:
            return signed(packet.ip_id - later.ip_id, 16) < 0
        if packet.tsval >= 0 and later.tsval >= 0 and packet.tsval != later.tsval:
            return signed(packet.tsval - later.tsval) < 0
        # Both were sent in one tick of the sender's clock, or nothing tells: what was asked for again takes a round trip at least.
        age = packet.time - later.time
        rounds = 2 if packet.tsval >= 0 else 1
        return age < max(rounds * (self.rtt or 0), OVERTAKEN_NS)

    def is_below_syn(self, packet):
        """Whether payload is numbered as its SYN or before it. One byte asks whether the other end is there (RFC 9293 3.8.4)."""
        if packet.flags & (SYN | RST) or packet.length <= 1 or self.syn_seq is None:
            return False
        return -FAR < signed(packet.seq - self.syn_seq) <= 0

    def take(self, packet):
        """The next packet of this end."""
        flow = self.flow
        flow.packets += 1
        flow.tshark[packet.tshark] += packet.length > 0
        for mark, is_so in (
            ("fragments", packet.is_fragment),
            ("data in a reset", packet.flags & RST and packet.length),
            ("payload below its SYN", self.is_below_syn(packet)),
            ("other payload on a SYN", packet.flags & SYN and packet.seq == self.syn_seq
             and 0 < packet.length != self.syn_length > 0),
        ):
            if is_so:
                flow.marks.add(mark)
        start, length = self.unwrap(packet.seq), 0 if packet.flags & RST else packet.length
        copied = (length or packet.flags & (SYN | FIN)) and self.is_copy(packet)
        if packet.flags & SYN:
            flow.syn_again += self.syn_seq == packet.seq and not copied
            if self.syn_seq not in (None, packet.seq) and not self.ranges.starts:
                # Of several answers to a SYN the other end acknowledges one.
                self.near, self.near_raw, self.next, self.acked = packet.seq, packet.seq, None, None
                start = packet.seq
            self.syn_seq, self.syn_length = packet.seq, packet.length or self.syn_length
            self.own_mss = packet.mss or DEFAULT_MSS
            start += 1
        is_fin_again = bool(packet.flags & FIN and self.fin_seq == start + length)
        if packet.flags & FIN:
            self.fin_seq = start + length
        if length == 0:
            flow.fin_again += is_fin_again and not copied
            self.take_bare(packet, start)
        elif copied:
            flow.copies += 1
            flow.marks.add("copies")
        else:
            start, end = self.without_padding(packet, start, start + length)
            if self.is_merged_copy(packet, start, end):
                flow.copies += 1
                flow.marks.add("copies")
                return
            if start < end and not self.is_keep_alive(packet, start, end) and not self.is_probe(packet, start, end):
                self.take_payload(packet, start, end, is_fin_again)

    def take_bare(self, packet, start):
        """A packet without payload: its number is the one that comes next."""
        if self.next is None or (not packet.flags & RST and abs(start - self.next) < 1 << 30):
            is_before = self.next is not None and start == self.next - 1
            self.flow.keep_alives += is_before and not packet.flags & (SYN | FIN | RST)
            self.next = max(start, self.next or start)
            self.move(self.next)

    def without_padding(self, packet, start, end):
        """What fills a frame is no data: at the SYN's own number, and beyond the FIN's."""
        begin = start + (self.syn_seq is not None and packet.seq == self.syn_seq and not packet.flags & SYN)
        limit = end if self.fin_seq is None else min(end, self.fin_seq)
        if (begin, limit) != (start, end):
            self.flow.marks.add("padding")
        return begin, limit

    def is_keep_alive(self, packet, start, end):
        """One byte that was acknowledged, and the last one (RFC 9293 3.8.4)."""
        was_acked = self.acked is not None and end <= self.acked
        if end - start != 1 or packet.flags & (SYN | FIN) or not was_acked or self.next not in (None, end):
            return False
        self.flow.keep_alives += 1
        self.flow.marks.add("keep-alives")
        self.next = end
        return True

    def is_probe(self, packet, start, end):
        """One byte that the peer's window of 0 does not allow (RFC 9293 3.8.6.1)."""
        is_new = self.acked is None or start >= self.acked
        if end - start != 1 or packet.flags & (SYN | FIN) or self.peer_window != 0 or not is_new:
            return False
        self.flow.probes += 1
        self.flow.marks.add("window probes")
        self.ranges.add(start, end)
        self.probed.add(start, end)
        self.next = max(end, self.next or end)
        self.move(self.next)
        return True

    def take_payload(self, packet, start, end, is_fin_again):
        flow, highest = self.flow, start if self.next is None else self.next
        if abs(start - highest) > FAR:
            flow.marks.add("far sequence numbers")
        was_acked = self.acked is not None and end <= self.acked
        new = self.ranges.add(start, end)
        old = end - start - new - self.probed.overlap(start, end) if new < end - start else 0
        flow.segments += self.segments(packet, end - start)
        later = self.beyond_of(start)
        if old > 0:
            flow.again += self.segments(packet, old)
            if new:
                flow.marks.add("partly new")
        elif new and start < highest and later:
            flow.marks.add("holes")
            kind = "overtaken" if self.was_overtaken(packet, later) else "filled_again"
            setattr(flow, kind, getattr(flow, kind) + self.segments(packet, end - start))
        elif new and start < highest:
            flow.marks.add("before the first")
            flow.fin_again += is_fin_again
        if flow.first is None:
            flow.first = flow.last = packet.time
        if new or not was_acked:
            flow.last = max(flow.last, packet.time)
        else:
            flow.marks.add("acknowledged before")
        if start > highest:
            flow.marks.add("a hole in the capture or the path")
        if end > highest:
            self.beyond.append((start, packet))
            self.next = end
            self.move(end)

    def beyond_of(self, start):
        """The first packet that passed and lies beyond `start`."""
        at = bisect.bisect_right(self.beyond, start, key=lambda entry: entry[0])
        return self.beyond[at][1] if at < len(self.beyond) else None


def connections(packets):
    """The packets of each connection: a SYN with another number, or after the end of an open one, opens the next one between the same ends."""
    opened, latest = [], {}
    for found in packets:
        ends = frozenset((found.source, found.destination))
        is_first = found.flags & (SYN | ACK) == SYN
        packets_of_it, syns = latest.get(ends, (None, None))
        is_other = packets_of_it is not None and syns.get(found.source, found.seq) != found.seq
        if packets_of_it is None or is_first and (is_other or has_ended(packets_of_it, found)):
            packets_of_it, syns = latest[ends] = ([], {})
            opened.append(packets_of_it)
        # Without a SYN, the first number that its end used stands for it: another SYN has another one.
        syns.setdefault(found.source, found.seq)
        packets_of_it.append(found)
    return opened


def has_ended(packets, syn):
    """Whether a connection was open and is not any more when `syn` comes, which is no copy of its own."""
    was_answered = any(found.source != syn.source and found.flags & (ACK | RST) == ACK for found in packets)
    was_reset = any(found.flags & RST for found in packets)
    fins = {found.source for found in packets if found.flags & FIN}
    sent = [found.time for found in packets if found.source == syn.source and found.flags & SYN]
    is_no_copy = was_answered and bool(sent) and syn.time - sent[-1] >= COPY_NS
    return (was_reset or len(fins) == 2) and (is_no_copy or syn.time - packets[-1].time > ENDED_NS)


def flows(packets):
    """Every direction that carried payload, in the order of first packets."""
    found_flows = []
    for of_connection in connections(packets):
        by_end = defaultdict(list)
        for found in of_connection:
            by_end[found.source].append(found)
        ends = {source: Direction(sent[0], sent) for source, sent in by_end.items()}
        latest = of_connection[0].time
        was_set = False
        for found in of_connection:
            was_set |= latest - found.time >= SET_CLOCK_NS
            latest = max(latest, found.time)
            own, peer = ends[found.source], ends.get(found.destination)
            own.take(found)
            if peer is None or peer is own:
                continue
            if found.flags & SYN:
                peer.peer_mss = found.mss or DEFAULT_MSS
                own.syn_time = None if found.flags & ACK else found.time
            # From the SYN to the first segment of its sender that acknowledges: the round trip of the whole path, wherever it was captured.
            if own.rtt is None and own.syn_time is not None and found.flags & (SYN | RST | ACK) == ACK:
                peer.rtt = own.rtt = found.time - own.syn_time
            if found.flags & (ACK | RST) == ACK:
                acked = peer.unwrap(found.ack)
                if peer.acked is None or acked > peer.acked:
                    peer.acked = acked
            if not found.flags & (SYN | RST):
                peer.peer_window = found.window
        for end in ends.values():
            end.flow.bytes = end.ranges.total()
            if was_set:
                end.flow.marks.add("the clock was set back")
            if latest >= TIME_LIMIT_NS:
                end.flow.marks.add("times that no clock has")
            if len(ends) == 1:
                end.flow.marks.add("one direction")
            if end.acked is not None and end.flow.bytes and end.acked - end.ranges.starts[0] > end.flow.bytes + 1:
                end.flow.marks.add("acknowledged and not captured")
            if end.flow.bytes:
                found_flows.append(end.flow)
    return sorted(found_flows, key=lambda flow: flow.start)


def of_pipefill(program, path):
    """The flows that pipefill prints, and what it did not understand."""
    try:
        run = subprocess.run([program, "pcap", str(path), "--json"], capture_output=True, timeout=600, check=False)
        told = json.loads(run.stdout)
    except (subprocess.TimeoutExpired, json.JSONDecodeError):
        return None
    return told


def pairs(ours, theirs):
    """Flows of both sides that are the same, and those that only one side has."""
    by_ends = defaultdict(lambda: ([], []))
    for flow in ours:
        by_ends[flow.source, flow.destination][0].append(flow)
    for flow in theirs:
        source, destination = (normal(flow[name]) for name in ("src", "dst"))
        by_ends[source, destination][1].append(flow)
    matched, only_ours, only_theirs = [], [], []
    for own, other in by_ends.values():
        other = sorted(other, key=lambda flow: flow.get("start_us") or 0)
        if len(own) == len(other):
            matched += zip(own, other)
            continue
        for flow in own[:]:
            same = next((found for found in other if found["bytes"] == flow.bytes), None)
            if same:
                matched.append((flow, same))
                own.remove(flow)
                other.remove(same)
        matched += zip(own, other)
        only_ours += own[len(other):]
        only_theirs += other[len(own):]
    return matched, only_ours, only_theirs


def normal(end):
    address, _, port = end.rpartition(":")
    return endpoint(address.strip("[]"), port)


def compare(path, program, cache):
    """What both say of a capture."""
    told = of_pipefill(program, path)
    packets = decode(path, cache)
    found = flows(packets)
    result = {
        "path": str(path), "tcp": len(packets), "flows": len(found), "matched": 0, "differences": [], "not_read": [],
        "same": Counter(), "compared": Counter(), "failed": told is None, "impossible": Counter(),
    }
    if told is None:
        return result
    matched, only_ours, only_theirs = pairs(found, told["flows"])
    result["matched"] = len(matched)
    was_set = bool(told.get("backward_times") and told["backward_times"]["set_back"])
    for flow, other in matched:
        impossible = next((mark for mark in IMPOSSIBLE if mark in flow.marks), None)
        result["impossible"][impossible] += impossible is not None
        for name in FIGURES if impossible is None else ():
            # Without `data_us` it is a version in which the span ended with the last packet.
            theirs = other.get(name, other.get("span_us")) if name == "data_us" else other.get(name)
            right = getattr(flow, name)
            # Across a clock that was set no time is known, and pipefill says so.
            if name == "data_us" and was_set and theirs is None:
                continue
            result["compared"][name] += 1
            if is_same(name, right, theirs):
                result["same"][name] += 1
            else:
                entry = describe(path, flow, name, theirs, right) | {"class": reason(name, theirs, flow)}
                result["differences"].append(entry)
    for flow in only_ours:
        entry = describe(path, flow, "flow", None, flow.bytes) | {"not_understood": told.get("not_understood")}
        result["not_read"].append(entry | {"class": f"only tshark has it: {flow.layers}"})
    for flow in only_theirs:
        result["not_read"].append({
            "capture": str(path), "src": flow["src"], "dst": flow["dst"], "figure": "flow", "pipefill": flow["bytes"],
            "class": "only pipefill has it" + (", and the clock was set back" if was_set else ""),
        })
    return result


def describe(path, flow, figure, theirs, right):
    counts = ("again", "filled_again", "overtaken", "syn_again", "fin_again", "copies", "keep_alives", "probes", "packets")
    return {
        "capture": str(path), "stream": flow.stream, "src": flow.source, "dst": flow.destination, "figure": figure,
        "pipefill": theirs, "right": right, "marks": sorted(flow.marks),
        "tshark": {name: count for name, count in flow.tshark.items() if name},
    } | {name: getattr(flow, name) for name in counts if getattr(flow, name)}


def is_same(name, right, theirs):
    if name == "data_us" and theirs is not None and right is not None:
        return abs(theirs - right) <= 1
    return theirs == right


def reason(name, theirs, flow):
    """The class of a difference, by what is peculiar about the flow."""
    if name == "retransmits":
        for parts, words in (
            (flow.again + flow.filled_again, "SYN or FIN sent again are not counted"),
            (flow.again + flow.filled_again + flow.syn_again, "FIN sent again is not counted"),
            (flow.retransmits + flow.overtaken, "overtaken, not sent again"),
            (flow.retransmits - flow.filled_again, "sent again, not overtaken"),
        ):
            if theirs == parts:
                return words
    return next((mark for mark in MARKS if mark in flow.marks), "nothing peculiar")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default="target/debug/pipefill")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache")
    parser.add_argument("--differences")
    parser.add_argument("paths", nargs="+", type=Path)
    arguments = parser.parse_args()
    files = [(path.name if path.is_dir() else path.parent.name, file)
             for path in arguments.paths
             for file in (sorted(found for found in path.rglob("*") if found.is_file()) if path.is_dir() else [path])]
    with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(compare, [file for _, file in files], [arguments.program] * len(files), [arguments.cache] * len(files), chunksize=4))
    is_enough = print_results([source for source, _ in files], results)
    if arguments.differences:
        with open(arguments.differences, "w", encoding="utf-8") as to:
            for result in results:
                for entry in result["differences"] + result["not_read"]:
                    to.write(json.dumps(entry) + "\n")
    sys.exit(0 if is_enough else 1)


def print_results(sources, results):
    print(f"{'source':32} {'captures':>8} {'with TCP':>8} {'flows':>7} {'matched':>7} {'bytes':>8} {'retrans.':>8} {'time':>8} {'segments':>8}")
    sums = defaultdict(Counter)
    for source, result in zip(sources, results):
        for name in (source, "all"):
            total = sums[name]
            total.update({name: result[name] for name in ("failed", "flows", "matched")} | {"captures": 1, "tcp": result["tcp"] > 0})
            total.update({f"same {figure}": count for figure, count in result["same"].items()})
            total.update({f"compared {figure}": count for figure, count in result["compared"].items()})
    for name, total in sorted(sums.items(), key=lambda entry: entry[0] == "all"):
        shares = " ".join(f"{100 * share(total, figure):7.2f}%" for figure in FIGURES)
        print(f"{name:32} {total['captures']:8} {total['tcp']:8} {total['flows']:7} {total['matched']:7} {shares}"
              + (f"  {total['failed']} not read" if total["failed"] else ""))
    print("\nnot compared: numbers that no TCP sends")
    for why, count in sum((result["impossible"] for result in results), Counter()).items():
        print(f"{count:7}  {why}")
    entries = [entry for result in results for entry in result["differences"] + result["not_read"]]
    classes = Counter((entry["figure"], entry["class"]) for entry in entries)
    print("\ndifferences")
    for (figure, why), count in sorted(classes.items(), key=lambda entry: (entry[0][0], -entry[1])):
        print(f"{count:7}  {figure:12} {why}")
    return all(share(sums["all"], figure) >= least for figure, least in LEAST.items())


def share(total, figure):
    """Of the flows for which both have a figure, those where it is the same."""
    compared = total[f"compared {figure}"]
    return total[f"same {figure}"] / compared if compared else 1.0


if __name__ == "__main__":
    main()

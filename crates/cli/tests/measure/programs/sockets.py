"""What the kernel counted of every TCP socket of this network namespace, when it is gone.

    sockets.py watch FILE       a line for each socket that the kernel frees (sock_diag_broadcast_destroy()), after a first line
    sockets.py wait NEAR FAR    until no connection is open at either end, and both files have both ends of each one: the kernel tells of it later
"""

import ipaddress
import json
import os
import socket
import struct
import sys
import time
from pathlib import Path

NETLINK_SOCK_DIAG = 4
# SKNLGRP_INET_TCP_DESTROY and SKNLGRP_INET6_TCP_DESTROY (linux/sock_diag.h).
GROUPS = 1 << 0 | 1 << 2
SO_RCVBUFFORCE = 33
INET_DIAG_INFO = 2
NLMSG_HEADER, INET_DIAG_MSG = 16, 72
# struct tcp_info (linux/tcp.h).
FIELDS = {
    "snd_mss": ("I", 16),
    "total_retrans": ("I", 100),
    "bytes_acked": ("Q", 120),
    "bytes_received": ("Q", 128),
    "bytes_sent": ("Q", 200),
    "bytes_retrans": ("Q", 208),
}
LISTEN, TIME_WAIT = "0A", "06"
LONGEST_WAIT = 5.0


def watch(path):
    group = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG)
    try:
        group.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
    except PermissionError:
        group.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    group.bind((0, GROUPS))
    with open(path, "w", buffering=1, encoding="utf-8") as out:
        print(json.dumps({"pid": os.getpid()}), file=out)
        while True:
            for found in messages(group.recv(1 << 16)):
                print(json.dumps(found), file=out)


def messages(data):
    while len(data) >= NLMSG_HEADER:
        (size,) = struct.unpack_from("I", data)
        body, data = data[NLMSG_HEADER:size], data[(size + 3) // 4 * 4 :]
        width = 4 if body[0] == socket.AF_INET else 16
        ports = struct.unpack_from(">HH", body, 4)
        ends = [end(body[start : start + width], port) for start, port in zip((8, 24), ports)]
        info = attributes(body[INET_DIAG_MSG:]).get(INET_DIAG_INFO)
        if info and ports[1]:
            yield {"own": ends[0], "peer": ends[1]} | {
                name: struct.unpack_from(form, info, at)[0] for name, (form, at) in FIELDS.items()
            }


def attributes(data):
    found = {}
    while len(data) >= 4:
        length, name = struct.unpack_from("HH", data)
        found[name], data = data[4:length], data[max((length + 3) // 4 * 4, 4) :]
    return found


def end(address, port):
    address = ipaddress.ip_address(address)
    address = getattr(address, "ipv4_mapped", None) or address
    return f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"


def wait(near, far):
    until = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < until:
        recorded = [{(line["own"], line["peer"]) for line in lines(path)} for path in (near, far)]
        tables = [connections(path) for path in (near, far)]
        is_over = all(waiting is not None and waiting <= known for waiting, known in zip(tables, recorded))
        if is_over and recorded[0] and recorded[0] == {(peer, own) for own, peer in recorded[1]}:
            return
        time.sleep(0.02)


def lines(path):
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        found = json.loads(line)
        if "own" in found and not found["own"].startswith(("127.", "[::1]")):
            yield found


def connections(path):
    """The ends of those that wait where the watcher of this file is (TIME_WAIT); None where one is open."""
    pid = json.loads(Path(path).read_text(encoding="utf-8").splitlines()[0])["pid"]
    waiting = set()
    for table in (f"/proc/{pid}/net/tcp", f"/proc/{pid}/net/tcp6"):
        for line in Path(table).read_text(encoding="ascii").splitlines()[1:]:
            own, peer, state = line.split()[1:4]
            if state == TIME_WAIT:
                waiting.add((printed(own), printed(peer)))
            elif state != LISTEN:
                return None
    return {ends for ends in waiting if not ends[0].startswith(("127.", "[::1]"))}


def printed(end_of_table):
    """ADDRESS:PORT in hexadecimal, the address as words of this machine's order."""
    address, port = end_of_table.split(":")
    words = [int(address[at : at + 8], 16) for at in range(0, len(address), 8)]
    return end(b"".join(struct.pack("=I", word) for word in words), int(port, 16))


{"watch": watch, "wait": wait}[sys.argv[1]](*sys.argv[2:])

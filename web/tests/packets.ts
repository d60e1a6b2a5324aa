// Captures to look at, made by hand: a connection of so many segments at a constant rate, of which some are sent again.
import { closeSync, openSync, writeSync } from "node:fs";

/** Bytes of a segment. */
export const MSS = 1000;
const RTT_US = 20_000;
const [SYN, ACK, FIN] = [2, 16, 1];
/** Headers of a record, IPv4 and TCP. */
const RECORD = 16 + 40;
const ROOM = 1 << 22;
/** Segments that the sender has sent until the first ACK comes. */
const FLIGHT = 200;

/** Writes a pcap of `segments` of data, one every 100 µs, each acknowledged after 20 ms; of those whose numbers are in `again` a second copy
 * follows after three duplicate ACKs. In the middle the window closes once. Returns the number of packets. */
export function capture(file: string, segments: number, again: Set<number>): number {
  const out = openSync(file, "w");
  const room = Buffer.alloc(ROOM);
  let [used, packets] = [0, 0];
  const flush = (): void => {
    writeSync(out, room, 0, used);
    used = 0;
  };
  room.write("d4c3b2a1020004000000000000000000ffff000065000000", "hex");
  used = 24;
  const send = (us: number, isData: boolean, seq: number, ack: number, flags: number, payload: number, window = 60_000): void => {
    if (used + RECORD > ROOM) flush();
    room.fill(0, used, used + RECORD);
    room.writeUInt32LE(1_000_000 + Math.floor(us / 1e6), used);
    room.writeUInt32LE(us % 1_000_000, used + 4);
    room.writeUInt32LE(40, used + 8);
    room.writeUInt32LE(40 + payload, used + 12);
    const ip = used + 16;
    room.writeUInt8(0x45, ip);
    room.writeUInt16BE(40 + payload, ip + 2);
    room.writeUInt16BE(packets & 0xffff, ip + 4);
    room.writeUInt8(64, ip + 8);
    room.writeUInt8(6, ip + 9);
    room.set([192, 0, 2, isData ? 1 : 2, 192, 0, 2, isData ? 2 : 1], ip + 12);
    room.writeUInt16BE(isData ? 40_000 : 80, ip + 20);
    room.writeUInt16BE(isData ? 80 : 40_000, ip + 22);
    room.writeUInt32BE(seq % 2 ** 32, ip + 24);
    room.writeUInt32BE(ack % 2 ** 32, ip + 28);
    room.writeUInt8(0x50, ip + 32);
    room.writeUInt8(flags, ip + 33);
    room.writeUInt16BE(window, ip + 34);
    used += RECORD;
    packets += 1;
  };
  send(0, true, 0, 0, SYN, 0);
  send(RTT_US, false, 0, 1, SYN | ACK, 0);
  send(RTT_US + 10, true, 1, 1, ACK, 0);
  const start = RTT_US + 100;
  let hole = -Infinity;
  for (let number = 0; number < segments + FLIGHT; number += 1) {
    const us = start + number * 100;
    const acked = number - FLIGHT;
    if (acked >= 0) {
      const seq = 1 + acked * MSS;
      if (again.has(acked)) {
        hole = acked;
        for (const after of [0, 1, 2]) send(us + after, false, 1, seq, ACK, 0);
        send(us + 3, true, seq, 1, ACK, MSS);
      }
      // The second copy is answered after a round trip, like any other segment; until then nothing new can be acknowledged.
      const isWaiting = acked - hole < FLIGHT;
      send(us + 5, false, 1, isWaiting ? 1 + hole * MSS : seq + MSS, ACK, 0, acked === segments >> 1 ? 0 : 60_000);
    }
    if (number < segments) send(us + 10, true, 1 + number * MSS, 1, ACK, MSS);
  }
  send(start + (segments + FLIGHT) * 100, true, 1 + segments * MSS, 1, ACK | FIN, 0);
  flush();
  closeSync(out);
  return packets;
}

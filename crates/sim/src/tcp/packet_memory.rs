//! What a received packet costs its buffer (`truesize`): that depends on who made it.
//!
//! Over plain veth the receiver gets the sender's own packet: a small head, and as much for the payload as there is payload. Where
//! super-packets travel, the simulator stands for the lab, whose data path makes each packet anew with a packet socket
//! (`packet_alloc_skb()`, `sock_alloc_send_pskb()`): in one block where it is less than a page, else in pages behind a small head.
//!
//! The figures for an MTU of 1500 are those of real kernels. For other MTUs the same rules are taken: a segment of an MTU of 9000
//! lies in three pages, and that real drivers may give it more, or pages of their own, is not modelled.

use super::send_queue::PACKET_OVERHEAD;
use crate::segment::{ETHERNET, TCP, TIMESTAMPS};

/// `struct sk_buff` and `struct skb_shared_info`, each in whole cache lines.
const SK_BUFF: u64 = 256;
const SHARED_INFO: u64 = 320;
const CACHE_LINE: u64 = 64;
const PAGE: u64 = 4096;
/// `LL_RESERVED_SPACE()` of an Ethernet device.
const RESERVED: u64 = 16;

/// A packet's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    /// `truesize`.
    pub(crate) total: u64,
    /// What is left where the payload lies in pages and the head is not counted (`truesize_adjust()`).
    pub(crate) of_payload: u64,
}

/// The memory of a packet with `len` bytes of payload behind an IP header of `ip_header` bytes, as the sender made it or as the lab's
/// data path does.
pub(crate) fn of_packet(len: u32, ip_header: u32, is_remade: bool) -> Memory {
    let payload = u64::from(len);
    if !is_remade {
        return Memory { total: payload + PACKET_OVERHEAD, of_payload: payload };
    }
    let block = RESERVED + u64::from(ETHERNET + ip_header + TCP + TIMESTAMPS) + payload;
    if block < PAGE {
        let allocated = (block.next_multiple_of(CACHE_LINE) + SHARED_INFO).next_power_of_two();
        return Memory { total: allocated + SK_BUFF, of_payload: allocated + SK_BUFF };
    }
    let pages = payload.next_multiple_of(PAGE);
    Memory { total: pages + PACKET_OVERHEAD, of_payload: pages }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `SO_MEMINFO`: 2408 bytes on the virtual Linux 6.12; on Linux 6.18 with the lab's data path 2304, and 4352 for two segments.
    #[test]
    fn memory_is_what_the_kernels_say() {
        assert_eq!(of_packet(1448, 20, false), Memory { total: 2408, of_payload: 1448 });
        assert_eq!(of_packet(1448, 20, true).total, 2304);
        assert_eq!(of_packet(2896, 20, true).total, 4352);
        assert_eq!(of_packet(3 * 1448, 20, true), Memory { total: 960 + 8192, of_payload: 8192 });
        assert_eq!(of_packet(1428, 40, true).total, 2304);
        assert_eq!(of_packet(8948, 20, true).total, 960 + 12_288);
    }
}

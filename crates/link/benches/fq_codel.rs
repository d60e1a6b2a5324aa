//! How many packets a second FQ-CoDel and the drop-tail queue carry, offered a tenth more than the link takes, of a hundred flows.
//!
//! `cargo bench -p pipefill-link`.

use pipefill_core::cell::{AqmSpec, BottleneckSpec, CodelSpec, DirectionSpec, FqCodelSpec};
use pipefill_core::units::{Bytes, QueueLimit, Rate, Seed, Time};
use pipefill_link::{IpPacket, OneWay, Packet};
use std::time::{Duration, Instant};

const PACKETS: u64 = 4_000_000;
const FRAME: u32 = 1514;
const FLOWS: u64 = 100;
const ROUNDS: usize = 3;

#[derive(Debug, Clone)]
struct Numbered(u64);

impl IpPacket for Numbered {
    fn flow(&self) -> u64 {
        self.0 % FLOWS
    }
}

fn main() {
    if !std::env::args().any(|argument| argument == "--bench") {
        return; // `cargo test` runs benches too; this one measures.
    }
    let codel = CodelSpec {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        ecn: false,
        frame: Bytes::new(FRAME.into()),
    };
    let fq_codel = AqmSpec::FqCodel(FqCodelSpec {
        codel: codel.clone(),
        flows: 1024,
        quantum: Bytes::new(FRAME.into()),
        memory_limit: Bytes::new(32 << 20),
        drop_batch: 64,
    });
    for (name, aqm) in
        [("droptail", None), ("codel", Some(AqmSpec::Codel(codel))), ("fq_codel", Some(fq_codel))]
    {
        let best = (0..ROUNDS).map(|_| packets_per_second(aqm.clone())).fold(0.0, f64::max);
        println!("{name:<10} {:.2} M packets/s", best / 1e6);
    }
}

fn packets_per_second(aqm: Option<AqmSpec>) -> f64 {
    let bottleneck = BottleneckSpec {
        rate: Rate::from_bps(1_000_000_000),
        overhead: Bytes::new(0),
        queue: QueueLimit::Packets(10_240),
        burst: Bytes::new(32 << 10),
    };
    let spec = DirectionSpec {
        delay: Duration::from_millis(10),
        bottleneck: Some(bottleneck),
        aqm,
        ..DirectionSpec::EMPTY
    };
    let mut path = OneWay::new(&spec, Duration::from_millis(20), "forward", Seed::new(1));
    let began = Instant::now();
    for number in 0..PACKETS {
        let now = Time::from_nanos(number * 11_000);
        path.offer(now, Packet { gso_id: number, bytes: FRAME, payload: Numbered(number * 7919) });
        while path.take_due(now).is_some() {}
    }
    PACKETS as f64 / began.elapsed().as_secs_f64()
}

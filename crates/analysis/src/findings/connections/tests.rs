//! What synthetic samples of a connection are judged to be.

use super::*;
use crate::findings::verdict::VerdictReason;
use crate::infer::apply;
use pipefill_core::cell::Direction;
use pipefill_core::limit::LimitedBy;
use pipefill_core::record::{Observed, PathFacts, StreamEnd, TcpSample};
use pipefill_core::tcp_info::TcpInfo;
use pipefill_core::units::Rate;

const MSS: u64 = 1_448;
const BASE_US: u32 = 20_000;

#[test]
fn the_family_follows_from_the_socket_s_address() {
    use pipefill_core::cell::Family;
    for (local, want) in [
        ("[2001:db8::1]:443", Family::Ipv6),
        ("[::ffff:192.0.2.1]:443", Family::Ipv4),
        ("192.0.2.1:443", Family::Ipv4),
        ("", Family::Ipv4),
    ] {
        let connection = Connection {
            observed: Observed { local: local.to_owned(), ..Observed::default() },
            congestion_control: "cubic".to_owned(),
            offered: None,
            every: std::time::Duration::from_secs(1),
            samples: &[],
            exact: None,
        };
        let mut spec = connection.spec();
        apply(&mut spec, &PathFacts::default());
        assert_eq!(spec.path.family, want, "{local}");
    }
}

/// What is said of a sender that got nothing through for ten seconds, while data waits.
fn stalled(say: impl Fn(u32, &mut TcpInfo)) -> ConnectionFinding {
    waiting(None, say)
}

/// What is said of a sender whose data wait for ten seconds, and which was to send `offered`.
fn waiting(offered: Option<Rate>, say: impl Fn(u32, &mut TcpInfo)) -> ConnectionFinding {
    let samples: Vec<TcpSample> = (0..100)
        .map(|n| {
            let mut info = TcpInfo {
                mss_bytes: MSS as u32,
                min_rtt_us: Some(BASE_US),
                srtt_us: Some(BASE_US),
                bytes_acked: Some(16_242_800),
                delivered_segments: Some(11_278),
                notsent_bytes: Some(1_785_184),
                cwnd_bytes: Some(276 * MSS),
                busy_us: Some(u64::from(n) * 100_000),
                rwnd_limited_us: Some(0),
                ..TcpInfo::default()
            };
            say(n, &mut info);
            TcpSample {
                t_us: u64::from(n) * 100_000,
                stream: 0,
                end: StreamEnd::Sender,
                info,
                wmem_queued_bytes: Some(2_000_000),
                sndbuf_bytes: Some(4_000_000),
                rmem_alloc_bytes: None,
                rcvbuf_bytes: None,
                raw: None,
            }
        })
        .collect();
    ConnectionFinding::of(&Connection {
        observed: Observed::default(),
        congestion_control: "cubic".to_owned(),
        offered,
        every: std::time::Duration::from_millis(100),
        samples: &samples,
        exact: None,
    })
}

#[test]
fn data_that_waits_for_a_closed_window_is_not_idle() {
    let found = stalled(|n, info| {
        (info.rwnd_bytes, info.rwnd_limited_us) = (Some(0), Some(u64::from(n) * 100_000));
    });
    assert_eq!(found.limited_by, Some(LimitedBy::Receiver), "{found:#?}");
    assert_eq!(found.direction, Some(Direction::Forward));
}

/// Single samples look like a closed window all the time, and yet everything arrives.
#[test]
fn what_was_offered_and_has_arrived_was_the_applications() {
    let judged = |offered: u64| {
        waiting(Some(Rate::from_bps(offered)), |n, info| {
            info.bytes_acked = Some(u64::from(n) * 125_000);
            (info.rwnd_bytes, info.unacked_bytes) = (Some(20 * MSS as u32), 20 * MSS);
            info.rwnd_limited_us = Some(u64::from(n) * 100_000);
        })
    };
    let (whole, part) = (judged(10_100_000), judged(10_300_000));
    assert_eq!(
        (whole.limited_by, part.limited_by),
        (Some(LimitedBy::App), Some(LimitedBy::Rwnd)),
        "{part:#?}"
    );
    let Some(VerdictReason::Judged(judged)) = whole.reason else { panic!("{whole:#?}") };
    let offered = judged.of_all_streams(judged.flow.bitrate);
    assert_eq!((offered, judged.goodput_bps), (Some(10_100_000), 10_000_000));
}

#[test]
fn data_that_nothing_acknowledges_is_not_idle() {
    let found = stalled(|n, info| {
        (info.rwnd_bytes, info.unacked_bytes) = (Some(1_000_000), 20 * MSS);
        (info.lost_segments, info.retransmits) = (Some(20), n / 20);
        info.rto_count = Some((n / 20) as u16);
        info.backoff = Some((n / 20) as u8);
        info.cwnd_bytes = Some(MSS);
    });
    assert_eq!(found.direction, Some(Direction::Forward), "{found:#?}");
    assert!(!matches!(found.limited_by, None | Some(LimitedBy::App)), "{found:#?}");
}

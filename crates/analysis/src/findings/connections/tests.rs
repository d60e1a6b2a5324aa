//! What synthetic samples of a connection are judged to be.

use super::*;
use crate::findings::proposal::Target;
use crate::findings::verdict::{ShortReading, Verdict, VerdictReason};
use crate::judge::RuleId;
use pipefill_core::cell::Direction;
use pipefill_core::limit::{Cause, CwndCause, LimitedBy};
use pipefill_core::record::{
    CapturePoint, CpuQuota, CpuSample, Observed, PacketSample, StreamEnd, TcpSample, ThreadRole,
};
use pipefill_core::tcp_info::TcpInfo;
use pipefill_core::units::Rate;

const MSS: u64 = 1_448;
const BASE_US: u32 = 20_000;

#[test]
fn a_finding_has_who_held_it_when() {
    let found = stalled(|_, _| {});
    let held_us: u64 = found.timeline.iter().map(|span| span.to_us - span.from_us).sum();
    assert_eq!(Some(held_us), found.verdict.span_us, "{:?}", found.timeline);
    assert!(held_us > 0 && found.timeline.is_sorted_by_key(|span| span.from_us));
}

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
            peer_samples: &[],
            packets: ConnectionPackets::default(),
            exact: None,
            cpu: ConnectionCpu::default(),
        };
        assert_eq!(connection.spec().path.family, want, "{local}");
    }
}

/// What is said of a sender that got nothing through for ten seconds, while data waits.
fn stalled(say: impl Fn(u32, &mut TcpInfo)) -> ConnectionFinding {
    waiting(None, say)
}

/// What is said of a sender whose data wait for ten seconds, and which was to send `offered`.
fn waiting(offered: Option<Rate>, say: impl Fn(u32, &mut TcpInfo)) -> ConnectionFinding {
    of_waiting(offered, say, ConnectionFinding::of)
}

/// What `find` finds in the samples of such a sender.
fn of_waiting<T>(
    offered: Option<Rate>,
    say: impl Fn(u32, &mut TcpInfo),
    find: impl FnOnce(&Connection<'_>) -> T,
) -> T {
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
    find(&Connection {
        observed: Observed::default(),
        congestion_control: "cubic".to_owned(),
        offered,
        every: std::time::Duration::from_millis(100),
        samples: &samples,
        peer_samples: &[],
        packets: ConnectionPackets::default(),
        exact: None,
        cpu: ConnectionCpu::default(),
    })
}

#[test]
fn a_single_reading_of_little_is_too_short_to_judge() {
    let reading = |segments: u32, rtt_us: u32, rwnd_limited_us: u64| {
        let say = |n: u32, info: &mut TcpInfo| {
            info.bytes_acked = Some(u64::from(segments * n / 99) * MSS);
            info.data_segs_out = Some(segments * n / 99);
            (info.srtt_us, info.rwnd_limited_us) = (Some(rtt_us), Some(rwnd_limited_us * u64::from(n) / 99));
        };
        of_waiting(None, say, ConnectionFinding::of_reading).verdict
    };
    let is_too_short = |verdict: &Verdict| {
        let Verdict { limited_by, rule, advice, .. } = verdict;
        (*limited_by, rule.map(RuleId::as_str), advice.is_some()) == (None, Some("too_short"), false)
    };
    for (segments, rtt_us, want) in [
        (9, BASE_US, ShortReading::Segments { span_us: 9_900_000, segments: 9 }),
        (10_000, 2_000_000, ShortReading::RoundTrips { span_us: 9_900_000, rtt_us: 2_000_000 }),
    ] {
        let verdict = reading(segments, rtt_us, 0);
        assert!(is_too_short(&verdict), "{verdict:#?}");
        assert_eq!(verdict.reason, Some(VerdictReason::ShortReading(want)));
    }
    for (segments, rtt_us, closed_us) in [(10, BASE_US, 0), (9, BASE_US, 9_000_000), (10_000, 1_900_000, 0)] {
        let verdict = reading(segments, rtt_us, closed_us);
        assert!(verdict.limited_by.is_some(), "{segments} {rtt_us}: {verdict:#?}");
    }
}

#[test]
fn data_that_waits_for_a_closed_window_is_not_idle() {
    let found = stalled(|n, info| {
        (info.rwnd_bytes, info.rwnd_limited_us) = (Some(0), Some(u64::from(n) * 100_000));
    });
    assert_eq!(found.verdict.limited_by, Some(LimitedBy::Receiver), "{found:#?}");
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
        (whole.verdict.limited_by, part.verdict.limited_by),
        (Some(LimitedBy::App), Some(LimitedBy::Rwnd)),
        "{part:#?}"
    );
    let Some(VerdictReason::Judged(judged)) = whole.verdict.reason else { panic!("{whole:#?}") };
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
    assert!(!matches!(found.verdict.limited_by, None | Some(LimitedBy::App)), "{found:#?}");
}

/// A server that sent its headers before it was seen: they were acknowledged, and no full segment was.
#[test]
fn a_small_segment_that_arrived_before_the_first_sample_shows_a_black_hole() {
    let silent = |acked| {
        stalled(move |_, info| {
            (info.rwnd_bytes, info.unacked_bytes) = (Some(1_000_000), 20 * MSS);
            (info.lost_segments, info.backoff) = (Some(20), Some(4));
            info.bytes_acked = Some(acked);
        })
        .verdict
        .cause
    };
    assert_eq!(silent(207), Some(Cause::Mtu));
    assert_eq!(silent(1), Some(Cause::Mtu), "its SYN was a smaller one");
    assert_eq!(silent(1_000_000), Some(Cause::Silence), "it has carried full segments");
}

/// The kernel counts a FIN as a byte.
#[test]
fn a_fin_that_came_is_no_payload() {
    let found = stalled(|n, info| {
        (info.rwnd_bytes, info.unacked_bytes) = (Some(1_000_000), 20 * MSS);
        (info.lost_segments, info.backoff) = (Some(20), Some(4));
        info.bytes_received = Some(84 + u64::from(n == 99));
        info.state = if n == 99 { 8 } else { 1 };
    });
    assert_eq!(found.direction, Some(Direction::Forward), "{found:#?}");
    assert_eq!((found.payload > 20 * MSS, found.rate_bps), (true, Some(0)), "what it sends in vain");
    assert_eq!(
        (found.verdict.limited_by, found.verdict.cause),
        (Some(LimitedBy::Path), Some(Cause::Silence))
    );
}

#[test]
fn the_far_end_is_asked_of_a_connection_that_carried_less_here_than_it_sends_in_vain() {
    let ends = |local: &str, remote: &str, payload, direction| ConnectionFinding {
        local: local.to_owned(),
        remote: remote.to_owned(),
        payload,
        direction: Some(direction),
        ..ConnectionFinding::default()
    };
    let verdict = Verdict { limited_by: Some(LimitedBy::Path), ..Verdict::default() };
    let far = Connections {
        connections: vec![ConnectionFinding { verdict, ..ends("b:80", "a:9", 500, Direction::Forward) }],
        ..Connections::new()
    };
    let seen = |payload| {
        let mut near = Connections {
            connections: vec![ends("a:9", "b:80", payload, Direction::Forward)],
            ..Connections::new()
        };
        near.ask_senders(&far);
        let limit = |finding: &ConnectionFinding| (finding.direction, finding.verdict.limited_by);
        near.connections.iter().map(limit).collect::<Vec<_>>()
    };
    let own = (Some(Direction::Forward), None);
    let of_the_far_end = (Some(Direction::Reverse), Some(LimitedBy::Path));
    assert_eq!([seen(0), seen(499)], [[of_the_far_end]; 2], "nothing, and less");
    assert_eq!(seen(1_000), [own], "it carried something: that is what the command did");
}

/// A connection of which packets were captured at one of its ends.
fn captured<'a>(sent: &'a [PacketSample], received: &'a [PacketSample]) -> Connection<'a> {
    Connection {
        observed: Observed::default(),
        congestion_control: String::new(),
        offered: None,
        every: std::time::Duration::from_millis(10),
        samples: &[],
        peer_samples: &[],
        packets: ConnectionPackets { sent, received, ..ConnectionPackets::default() },
        exact: None,
        cpu: ConnectionCpu::default(),
    }
}

/// Ten seconds of data that ACKs let out, 40 Mbit/s in round trips of 20 ms.
fn packets(change: impl Fn(u64, &mut PacketSample)) -> Vec<PacketSample> {
    let sample = |at: u64| {
        let mut sample = PacketSample {
            t_us: at * 10_000,
            mss_bytes: 1_448,
            acked_bytes: at * 50_000,
            unacked_bytes: 100_000,
            in_flight_bytes: 100_000,
            rwnd_bytes: Some(1_000_000),
            srtt_us: Some(20_000.into()),
            min_rtt_us: Some(20_000.into()),
            receiver_rtt_us: Some(20_000.into()),
            segments: at * 35,
            prompt_bytes: 50_000,
            largest_bytes: 1_448,
            acks: 17,
            in_flight_before_acks_bytes: 17 * 99_000,
            in_flight_peak_bytes: 100_000,
            unacked_peak_bytes: 100_000,
            rwnd_at_peak_bytes: Some(1_000_000),
            ..PacketSample::default()
        };
        change(at, &mut sample);
        sample
    };
    (0..1_000).map(sample).collect()
}

#[test]
fn packets_near_the_sender_show_what_lets_data_out() {
    let of = |change: fn(u64, &mut PacketSample)| captured(&packets(change), &[]).judge().remove(0).flow;
    let growing = of(|at, sample| {
        sample.in_flight_peak_bytes = (100_000 + 2_000 * at) as u32;
        sample.in_flight_before_acks_bytes = 17 * (99_000 + 2_000 * at);
    });
    assert_eq!(growing.verdict.limited_by, Some(LimitedBy::Cwnd), "{:?}", growing.verdict.rule);
    let window = of(|_, sample| {
        (sample.rwnd_bytes, sample.rwnd_at_peak_bytes) = (Some(101_000), Some(101_000));
    });
    assert_eq!(window.verdict.limited_by, Some(LimitedBy::Rwnd), "{:?}", window.verdict.rule);
    let Some(VerdictReason::Judged(judged)) = window.verdict.reason else { panic!("{window:#?}") };
    let figures = judged.diagnosis.figures;
    assert_eq!((figures.rwnd_bytes, figures.cwnd_bytes), (Some(101_000), None), "as the packets show it");
    let small_writes = of(|_, sample| (sample.pushes, sample.tails) = (4, 4));
    assert_eq!(small_writes.verdict.limited_by, Some(LimitedBy::App), "{:?}", small_writes.verdict.rule);
    let paced = of(|_, sample| (sample.unprompted_bytes, sample.prompt_bytes) = (50_000, 0));
    assert_eq!(paced.verdict.limited_by, Some(LimitedBy::Pacing), "{:?}", paced.verdict.rule);
    let buffer = of(|_, sample| sample.in_flight_before_acks_bytes = 17 * 70_000);
    assert_eq!(buffer.verdict.limited_by, Some(LimitedBy::Sndbuf), "{:?}", buffer.verdict.rule);
}

#[test]
fn packets_near_the_receiver_show_a_sender_that_paces_and_elsewhere_they_do_not() {
    let of = |capture_point: CapturePoint| {
        let received = packets(|_, sample| {
            (sample.end, sample.capture_point) = (StreamEnd::Receiver, capture_point);
        });
        captured(&[], &received).judge().remove(0).flow.verdict.limited_by
    };
    assert_eq!(of(CapturePoint::Receiver), Some(LimitedBy::Pacing));
    assert_eq!(of(CapturePoint::Between), Some(LimitedBy::Unknown));
}

#[test]
fn a_second_capture_revises_what_the_verdict_rests_on() {
    let sent = packets(|at, sample| {
        sample.in_flight_peak_bytes = (100_000 + 2_000 * at) as u32;
        sample.in_flight_before_acks_bytes = 17 * (99_000 + 2_000 * at);
    });
    let judged = judge_together(&[captured(&sent, &[])]).0.remove(0);
    let mut flow = CapturedFlow { min_rtt_us: Some(20_000), segments: 1_000, ..CapturedFlow::default() };
    flow.judge(&judged, Direction::Forward);
    let alone = flow.clone();
    flow.join(JoinedFlow::default());
    assert_eq!(CapturedFlow { joined: None, ..flow.clone() }, alone, "nothing against it");
    let delay = |above_min_us_p50| Some(OneWayDelay { above_min_us_p50, ..OneWayDelay::default() });
    let of_way = |above_us| JoinedDirection { one_way_delay: delay(above_us), ..JoinedDirection::default() };
    flow.join(JoinedFlow { forward: of_way(0), reverse: of_way(15_000), ..JoinedFlow::default() });
    assert_eq!(
        (flow.verdict.limited_by, flow.verdict.cwnd_cause),
        (Some(LimitedBy::Cwnd), Some(CwndCause::AckPath))
    );
    let diagnosis = flow.diagnosis().expect("its ledger is revised");
    let held = diagnosis.timeline.iter().filter(|span| span.limited_by == LimitedBy::Cwnd);
    assert!(held.map(|span| span.cwnd_cause).all(|cause| cause == Some(CwndCause::AckPath)));
    assert_eq!((flow.verdict.rule, flow.verdict.margin), (diagnosis.rule, diagnosis.margin));
    assert_eq!(diagnosis.figures, alone.diagnosis().unwrap().figures, "the same spans");
    assert_ne!(flow.verdict.advice, alone.verdict.advice);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    /// Numbers as large as a record may hold.
    #[test]
    fn any_packets_have_a_verdict_or_none(
        rows in proptest::collection::vec(proptest::array::uniform9(0_u64..1 << 53), 0..40),
        end in proptest::sample::select(vec![StreamEnd::Sender, StreamEnd::Receiver]),
    ) {
        let small = |value: u64| (value >> 21) as u32;
        let mut samples: Vec<PacketSample> = rows
            .into_iter()
            .map(|value| PacketSample {
                t_us: value[0],
                end,
                capture_point: CapturePoint::Receiver,
                mss_bytes: small(value[1]) as u16,
                acked_bytes: value[2],
                unacked_bytes: value[3],
                in_flight_bytes: value[4],
                srtt_us: Some(small(value[5]).into()),
                min_rtt_us: Some(small(value[6]).into()),
                receiver_rtt_us: Some(small(value[7]).into()),
                rwnd_bytes: Some(small(value[8])),
                rwnd_at_peak_bytes: Some(small(value[2])),
                retransmits: small(value[3]),
                timeouts: small(value[4]),
                prompt_bytes: value[5] as u32,
                pushes: small(value[6]),
                largest_bytes: small(value[7]),
                acks: small(value[8]),
                in_flight_before_acks_bytes: value[1],
                in_flight_peak_bytes: value[6] as u32,
                ..PacketSample::default()
            })
            .collect();
        samples.sort_by_key(|sample| sample.t_us);
        let connection = if end == StreamEnd::Sender { captured(&samples, &[]) } else { captured(&[], &samples) };
        let _ = connection.judge();
    }
}

/// Each tenth of a second 60 ms of waiting for the program's answer and 20 ms of a turn, the rest data: from either end the parts are exact.
#[test]
fn waits_are_split_from_what_is_sent_to_the_microsecond() {
    for end in [StreamEnd::Sender, StreamEnd::Receiver] {
        let packets = packets(|at, sample| {
            sample.end = end;
            sample.waits.response_us = at / 10 * 60_000;
            sample.waits.turns_us = at / 10 * 20_000;
            sample.waits.turns = (at / 10) as u32;
        });
        let (sent, received) = match end {
            StreamEnd::Sender => (&packets[..], &[][..]),
            StreamEnd::Receiver => (&[][..], &packets[..]),
        };
        let verdict = captured(sent, received).judge().remove(0).flow.verdict;
        assert_eq!((verdict.limited_by, verdict.cause), (Some(LimitedBy::App), Some(Cause::Response)));
        assert_eq!(verdict.rule.map(RuleId::as_str), Some("app.response"));
        let time = verdict.time.expect("it was judged");
        let us = |cause| time.iter().find(|held| held.cause == Some(cause)).map(|held| held.us);
        assert_eq!((us(Cause::Response), us(Cause::Turns)), (Some(99 * 60_000), Some(99 * 20_000)));
        assert_eq!(Some(time.iter().map(|held| held.us).sum()), verdict.span_us);
        assert!((time.iter().map(|held| held.share).sum::<f64>() - 1.0).abs() < 1e-9);
    }
}

/// What nobody asked for is idle time: the active time has another holder.
#[test]
fn the_active_time_has_a_holder_of_its_own() {
    let packets = packets(|at, sample| {
        sample.waits.request_us = at / 10 * 80_000;
        (sample.rwnd_bytes, sample.rwnd_at_peak_bytes) = (Some(101_000), Some(101_000));
    });
    let verdict = captured(&packets, &[]).judge().remove(0).flow.verdict;
    assert_eq!((verdict.limited_by, verdict.cause), (Some(LimitedBy::App), Some(Cause::Request)));
    assert_eq!(verdict.active_limited_by, Some(LimitedBy::Rwnd));
}

/// Two late ACKs may have been lost; three were delayed.
#[test]
fn a_delayed_ack_is_one_from_the_third_on() {
    let verdict = |count: u32| {
        let packets = packets(|at, sample| {
            sample.waits.delayed_ack_us = at * 9_000;
            sample.waits.delayed_acks = if at == 999 { count } else { 0 };
        });
        captured(&packets, &[]).judge().remove(0).flow.verdict
    };
    assert_eq!(verdict(3).cause, Some(Cause::DelayedAck));
    assert_ne!(verdict(2).cause, Some(Cause::DelayedAck));
}

#[test]
fn what_is_too_short_has_no_holder_unless_an_event_decides() {
    let flow = |change: fn(&mut CapturedFlow)| {
        let mut flow = CapturedFlow { segments: 9, min_rtt_us: Some(20_000), ..CapturedFlow::default() };
        change(&mut flow);
        flow.judge(&judge_together(&[captured(&packets(|_, _| ()), &[])]).0.remove(0), Direction::Forward);
        (flow.verdict.limited_by, flow.verdict.rule.map(RuleId::as_str))
    };
    assert_eq!(flow(|_| ()), (None, Some("too_short")), "nine segments");
    assert_eq!(
        flow(|flow| flow.min_rtt_us = Some(6_000_000)).1,
        Some("too_short"),
        "a round trip and a half"
    );
    assert!(flow(|flow| flow.segments = 10).0.is_some());
    let closed = flow(|flow| (flow.counts.zero_windows, flow.is_window_closed) = (1, true));
    assert_eq!(closed, (Some(LimitedBy::Receiver), Some("receiver.zero_window")));
    let one_way = flow(|flow| flow.missing = vec![MissingPart::OtherDirection]);
    assert_eq!(one_way, (Some(LimitedBy::Unknown), Some("unknown.other_direction")));
}

/// Ten seconds of a process whose cgroup has a quota of 2 ms in each 100 ms: it ran out in `periods` of 100 periods, and was
/// throttled for 70 ms of each.
fn throttled(periods: u64) -> ProcessCpuRows {
    let sample = |tenth: u64| CpuSample {
        throttled_periods: Some(tenth * periods / 100),
        throttled_us: Some(tenth * 70_000),
        cgroup_cpu_us: Some(tenth * 2_000),
        ..CpuSample::of_thread(tenth * 100_000, ThreadRole::Telemetry, tenth * 2_000, Some(tenth * 70_000))
    };
    let quota = CpuQuota {
        cgroup: "/sys/fs/cgroup/box".to_owned(),
        file: CpuQuota::FILE.to_owned(),
        quota_us: 2_000,
        period_us: 100_000,
    };
    ProcessCpuRows { quota: Some(quota), samples: (0..100).map(sample).collect() }
}

/// A sender of 8 Mbit/s, with processes that used this at both ends.
fn with_cpu(cpu: &ConnectionCpu, say: impl Fn(u32, &mut TcpInfo)) -> ConnectionFinding {
    let say = |n: u32, info: &mut TcpInfo| {
        info.bytes_acked = Some(u64::from(n) * 100_000);
        info.delivered_segments = Some(n * 70);
        say(n, info);
    };
    of_waiting(None, say, |connection| {
        ConnectionFinding::of(&Connection {
            observed: Observed {
                local_quota: cpu.local.quota.clone(),
                remote_quota: cpu.remote.quota.clone(),
                ..Observed::default()
            },
            cpu: cpu.clone(),
            ..connection.clone()
        })
    })
}

#[test]
fn a_process_whose_quota_runs_out_is_held_by_it_where_that_shows_and_needs_what_it_was_held_back() {
    let sends = |periods, has_unsent: fn(u32) -> bool| {
        let cpu = ConnectionCpu { local: throttled(periods), ..ConnectionCpu::default() };
        with_cpu(&cpu, |n, info| info.notsent_bytes = Some(if has_unsent(n) { 100_000 } else { 0 })).verdict
    };
    let held = sends(60, |n| n % 3 > 0);
    assert_eq!((held.limited_by, held.cause), (Some(LimitedBy::Cpu), Some(Cause::Quota)), "{held:#?}");
    assert_eq!(held.rule.map(RuleId::as_str), Some("cpu.quota.sender"));
    let advice = &held.advice.unwrap()[0];
    assert_eq!(advice.target, Some(Target::Sender));
    assert_eq!(advice.value.as_deref(), Some("72000 100000"), "2 ms used, 70 ms held back");
    assert_eq!(advice.predicted_bps, None, "nothing bounds what more brings");
    let is_quota = |verdict: Verdict| verdict.cause == Some(Cause::Quota);
    assert!(!is_quota(sends(40, |n| n % 3 > 0)), "most periods were enough");
    assert!(!is_quota(sends(60, |_| true)), "there was always more to send");

    let receives = |shrinks: bool| {
        let cpu = ConnectionCpu { remote: throttled(90), ..ConnectionCpu::default() };
        with_cpu(&cpu, |n, info| {
            info.rwnd_bytes = Some(if shrinks && n % 3 > 0 { 20_000 } else { 400_000 });
        })
        .verdict
    };
    let held = receives(true);
    assert_eq!(held.rule.map(RuleId::as_str), Some("cpu.quota.receiver"), "{held:#?}");
    assert_eq!(held.advice.unwrap()[0].target, Some(Target::Receiver));
    assert!(!is_quota(receives(false)), "it read all that came");
}

#[test]
fn a_thread_that_is_always_busy_holds_what_it_lets_run_dry_and_nothing_else() {
    let of_end = |sends: bool, computes: u64, waits: u64, notsent: u32| {
        let sample = |tenth: u64| {
            let (cpu_us, wait_us) = (tenth * computes * 1_000, Some(tenth * waits * 1_000));
            CpuSample::of_thread(tenth * 100_000, ThreadRole::Telemetry, cpu_us, wait_us)
        };
        let rows = ProcessCpuRows { quota: None, samples: (0..100).map(sample).collect() };
        let (local, remote) =
            if sends { (rows, ProcessCpuRows::default()) } else { (ProcessCpuRows::default(), rows) };
        let cpu = ConnectionCpu { local, remote };
        let verdict = with_cpu(&cpu, |_, info| info.notsent_bytes = Some(notsent)).verdict;
        (verdict.limited_by, verdict.cause)
    };
    let of = |computes, waits, notsent| of_end(true, computes, waits, notsent);
    assert_eq!(of(90, 5, 0), (Some(LimitedBy::Cpu), Some(Cause::Busy)));
    assert_ne!(of_end(false, 90, 5, 0).0, Some(LimitedBy::Cpu), "a busy receiver lets no sender run dry");
    assert_eq!(of(30, 60, 0), (Some(LimitedBy::Cpu), Some(Cause::Waiting)));
    assert_ne!(of(90, 5, 100_000).0, Some(LimitedBy::Cpu), "its data waits for something else");
    assert_ne!(of(30, 30, 0).0, Some(LimitedBy::Cpu), "it slept");
}

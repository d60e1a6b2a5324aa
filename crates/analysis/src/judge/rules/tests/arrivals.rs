//! Rules on what arrives, where only the receiver's side was seen.

use super::*;
use pipefill_core::evidence::{
    ArrivalPattern, Arrivals, ArrivalsOfAll, ArrivingPackets, DelayedAcks, Growth, Risen, Settled, SteadyRate,
};
use pipefill_core::limit::Cause;
use pipefill_core::record::Repetition;
use pipefill_core::stacks::Stack;

#[test]
fn a_settled_rate_is_of_a_window_where_this_side_speaks_in_each_round_trip() {
    let rule = |spoken: f64, unevenness: f64, settled_growth: f64| {
        let steady = SteadyRate {
            share: 0.7,
            unevenness,
            rtt_risen_most: 1.0,
            rtt_risen: 1.0,
            ..SteadyRate::default()
        };
        let growth = |times: f64| Growth { each: times.sqrt(), whole: times };
        let settled = Settled { spread: Some(0.02), growth: growth(settled_growth), ..Settled::default() };
        // The handshake of a program makes the first third slow.
        let whole = ArrivalsOfAll {
            segments: Some(1_000.0),
            growth: growth(2.0),
            settled,
            ..ArrivalsOfAll::default()
        };
        let arrivals = Arrivals {
            whole,
            spoken_in_round_trip: Some(spoken),
            packets: Some(ArrivingPackets {
                dry_share: 0.4,
                steady: Some(steady),
                ..ArrivingPackets::default()
            }),
            ..Arrivals::default()
        };
        rule_of(Evidence { arrivals: Some(arrivals), ..Evidence::default() })
    };
    assert_eq!(rule(9.0, 0.4, 1.0), "app.window.arrives");
    for (other, why) in [
        (rule(0.1, 0.4, 1.0), "nobody asks for it"),
        (rule(9.0, 0.1, 1.0), "as a pacer sends"),
        (rule(9.0, 0.4, 1.5), "as a congestion window grows"),
    ] {
        assert_ne!(other, "app.window.arrives", "{why}");
    }
}

#[test]
fn marks_that_come_again_and_again_cut_the_window_unless_the_path_stays_full() {
    let rule = |marked_share: Option<f64>, disordered_share: f64, queue_us: f64| {
        let risen = Risen { times: 1.0 + queue_us / 20_000.0, above_us: queue_us };
        let whole = ArrivalsOfAll {
            rounds: 50,
            segments: Some(100.0),
            spread: if queue_us > 0.0 { 0.1 } else { 0.4 },
            disordered_share,
            marked_share,
            risen_always: Some(risen),
            ..ArrivalsOfAll::default()
        };
        let arrivals = Arrivals { whole, ..Arrivals::default() };
        rule_of(Evidence { arrivals: Some(arrivals), ..Evidence::default() })
    };
    assert_eq!(rule(Some(0.05), 0.0, 0.0), "cwnd.ecn.arrivals_marked");
    assert_eq!(rule(Some(0.04), 0.0, 0.0), "unknown.arrivals", "too seldom");
    assert_eq!(rule(None, 0.0, 0.0), "unknown.arrivals", "nobody counts them");
    assert_eq!(rule(Some(0.2), 0.3, 0.0), "cwnd.arrivals_disordered", "losses are more frequent");
    assert_eq!(rule(Some(0.2), 0.0, 5_000.0), "path.arrives_steadily", "a queue that marks");
}

#[test]
fn marks_of_several_streams_that_bring_the_same_rate_together_are_a_full_links() {
    let rule = |streams: usize, spread: f64, often_us: f64| {
        let whole = ArrivalsOfAll {
            rounds: 50,
            streams,
            segments: Some(10.0),
            spread,
            marked_share: Some(0.2),
            risen_often: Some(Risen { times: 1.0 + often_us / 20_000.0, above_us: often_us }),
            ..ArrivalsOfAll::default()
        };
        let arrivals = Arrivals { whole, ..Arrivals::default() };
        rule_of(Evidence { arrivals: Some(arrivals), ..Evidence::default() })
    };
    assert_eq!(rule(4, 0.05, 0.0), "path.arrives_marked");
    assert_eq!(rule(4, 0.06, 0.0), "cwnd.ecn.arrivals_marked", "the link is not full all the time");
    assert_eq!(rule(4, 0.20, 3_000.0), "path.arrives_marked", "a queue now and then");
    assert_eq!(rule(4, 0.21, 3_000.0), "cwnd.ecn.arrivals_marked");
    assert_eq!(rule(1, 0.0, 0.0), "cwnd.ecn.arrivals_marked", "one window that marks keep the same");
}

#[test]
fn a_rate_that_stays_the_same_is_a_policers_where_packets_show_one() {
    let rule = |cwnd_cause, disordered_share| {
        let packets = ArrivingPackets { cwnd_cause, ..ArrivingPackets::default() };
        let whole =
            ArrivalsOfAll { rounds: 50, segments: Some(100.0), disordered_share, ..ArrivalsOfAll::default() };
        let arrivals = Arrivals { whole, packets: Some(packets), ..Arrivals::default() };
        rule_of(Evidence { arrivals: Some(arrivals), ..Evidence::default() })
    };
    assert_eq!(rule(Some(Cause::Policer), 0.05), "cwnd.policer.arrivals");
    assert_eq!(rule(Some(Cause::Policer), 0.04), "unknown.arrivals", "too seldom");
    assert_eq!(
        rule(Some(Cause::RandomLoss), 0.5),
        "unknown.arrivals",
        "BBR sends at the path's rate all the same"
    );
}

#[test]
fn a_steady_rate_in_bursts_a_round_trip_apart_is_a_buffers_and_not_a_pacers() {
    let rule = |unevenness, bursts_in_round_trip| {
        let steady =
            SteadyRate { share: 1.0, unevenness, rtt_risen_most: 1.0, rtt_risen: 1.0, bursts_in_round_trip };
        let packets = ArrivingPackets { steady: Some(steady), ..ArrivingPackets::default() };
        let arrivals = Arrivals { packets: Some(packets), ..Arrivals::default() };
        rule_of(Evidence { arrivals: Some(arrivals), ..Evidence::default() })
    };
    assert_eq!(rule(0.1, 0.0), "pacing.program.arrives_evenly");
    assert_eq!(rule(0.1, 0.5), "pacing.program.arrives_evenly", "a burst in two round trips");
    assert_eq!(rule(0.1, 1.0), "sndbuf.arrives_in_bursts", "shorter than the time between two samples");
    assert_eq!(rule(0.9, 0.0), "sndbuf.arrives_in_bursts");
}

#[test]
fn single_segments_of_a_stack_that_does_not_pace_come_at_the_rate_of_the_path() {
    let rule = |sender_stack, single_share| {
        let packets = ArrivingPackets { sender_stack, single_share, ..ArrivingPackets::default() };
        let arrivals = Arrivals { packets: Some(packets), ..Arrivals::default() };
        rule_of(Evidence { arrivals: Some(arrivals), ..Evidence::default() })
    };
    assert_eq!(rule(Some(Stack::Windows), 0.9), "path.arrives_one_by_one");
    for (sender_stack, share) in [(None, 0.9), (Some(Stack::Linux), 0.9), (Some(Stack::Windows), 0.5)] {
        assert_ne!(rule(sender_stack, share), "path.arrives_one_by_one", "{sender_stack:?} {share}");
    }
}

#[test]
fn bursts_further_apart_than_a_round_trip_are_a_buffers_whatever_was_lost() {
    type Change = dyn Fn(&mut ArrivalsOfAll, &mut ArrivingPackets);
    let rule = |change: &Change| {
        let mut whole = ArrivalsOfAll {
            rounds: 50,
            segments: Some(200.0),
            spread: 0.4,
            disordered_share: 0.1,
            idle_share: Some(0.4),
            risen_always: Some(Risen { times: 1.7, above_us: 20_000.0 }),
            ..ArrivalsOfAll::default()
        };
        let mut packets = ArrivingPackets {
            apart_share: Some(0.8),
            cwnd_cause: Some(Cause::QueueLoss),
            ..ArrivingPackets::default()
        };
        change(&mut whole, &mut packets);
        let arrivals = Arrivals { whole, packets: Some(packets), ..Arrivals::default() };
        rule_of(Evidence { arrivals: Some(arrivals), ..Evidence::default() })
    };
    assert_eq!(rule(&|_, _| ()), "sndbuf.arrives_apart");
    let others: [(&Change, &str); 6] = [
        (&|_, packets| packets.apart_share = Some(0.7), "a window's come once in each"),
        (&|_, packets| packets.cwnd_cause = Some(Cause::Timeout), "timers are awaited in between"),
        (&|_, packets| packets.dry_share = 0.6, "short writes"),
        (&|whole, _| whole.idle_share = Some(0.15), "no silence"),
        (&|whole, _| whole.segments = Some(19.0), "a few segments"),
        (&|whole, _| whole.risen_always = Some(Risen { times: 2.0, above_us: 20_000.0 }), "a queue of ACKs"),
    ];
    for (change, why) in others {
        assert_eq!(rule(change), "cwnd.arrivals_disordered", "{why}");
    }
}

/// What arrives at 10 Mbit/s in round trips of 15 segments, while this side says nothing.
fn rule_of_packets(change: impl Fn(&mut Arrivals, &mut ArrivingPackets)) -> &'static str {
    let whole = ArrivalsOfAll {
        rounds: 50,
        segments: Some(15.0),
        spread: 0.01,
        disordered_share: 0.2,
        idle_share: Some(0.0),
        risen_often: Some(Risen { times: 1.3, above_us: 5_000.0 }),
        ..ArrivalsOfAll::default()
    };
    let mut arrivals = Arrivals { whole, spoken_in_round_trip: Some(0.0), ..Arrivals::default() };
    let mut packets = ArrivingPackets::default();
    change(&mut arrivals, &mut packets);
    rule_of(Evidence {
        arrivals: Some(Arrivals { packets: Some(packets), ..arrivals }),
        ..Evidence::default()
    })
}

#[test]
fn a_rate_that_losses_do_not_change_with_a_queue_now_and_then_is_a_full_paths() {
    assert_eq!(rule_of_packets(|_, _| ()), "path.arrives_through_losses");
    type Change<'a> = (&'a dyn Fn(&mut Arrivals, &mut ArrivingPackets), &'a str);
    let others: [Change<'_>; 5] = [
        (&|arrivals, _| arrivals.whole.spread = 0.021, "the rate changes"),
        (&|arrivals, _| arrivals.whole.segments = Some(7.9), "a few writes"),
        (&|arrivals, _| arrivals.whole.idle_share = Some(0.2), "silence"),
        (&|arrivals, _| arrivals.whole.risen_often = None, "a pacer's, or a policer's: no queue"),
        (&|arrivals, _| arrivals.whole.disordered_share = 0.0, "nothing lost"),
    ];
    for (change, why) in others {
        assert_eq!(rule_of_packets(change), "unknown.arrivals", "{why}");
    }
    let settled = |share, spread, is_disordered| {
        rule_of_packets(|arrivals, _| {
            arrivals.whole.spread = 1.0;
            arrivals.whole.settled =
                Settled { rounds: 20, share, spread: Some(spread), is_disordered, ..Settled::default() };
        })
    };
    assert_eq!(settled(0.8, 0.014, true), "path.arrives_through_losses", "once the start is over");
    for (share, spread, is_disordered) in [(0.4, 0.014, true), (0.8, 0.021, true), (0.8, 0.014, false)] {
        assert_ne!(settled(share, spread, is_disordered), "path.arrives_through_losses");
    }
}

#[test]
fn silence_in_which_nothing_is_outstanding_is_the_applications() {
    let rule = |paused_share, disordered_share| {
        rule_of_packets(|arrivals, packets| {
            (packets.paused_share, packets.apart_share) = (paused_share, Some(1.0));
            arrivals.spoken_in_round_trip = Some(0.0);
            arrivals.whole.idle_share = Some(0.9);
            (arrivals.whole.segments, arrivals.whole.disordered_share) = (Some(25.0), disordered_share);
        })
    };
    assert_eq!(rule(0.6, 0.0), "app.rate.arrives_after_pauses");
    assert_eq!(rule(0.59, 0.0), "sndbuf.arrives_apart", "ACKs may have let it out");
    assert_eq!(rule(0.6, 0.01), "sndbuf.arrives_apart", "or a timer");
}

/// The same rate all the time, without a queue.
fn steady(unevenness: f64, bursts_in_round_trip: f64) -> SteadyRate {
    SteadyRate { share: 1.0, unevenness, rtt_risen_most: 1.0, rtt_risen: 1.0, bursts_in_round_trip }
}

#[test]
fn a_pattern_of_bursts_that_repeats_each_round_trip_is_no_clock_of_an_application() {
    let rule = |repeated_permille, otherwise_permille| {
        rule_of_packets(|arrivals, packets| {
            arrivals.whole.disordered_share = 0.0;
            packets.dry_share = 0.9;
            packets.repetition = Some(Repetition { bursts: 30, repeated_permille, otherwise_permille });
            packets.steady = Some(steady(0.3, 0.0));
        })
    };
    assert_eq!(rule(800, 600), "sndbuf.arrives_in_bursts");
    assert_eq!([rule(790, 100), rule(1_000, 610)], ["app.rate.arrives_unasked"; 2]);
}

#[test]
fn bursts_as_often_as_round_trips_are_no_clock_of_an_application() {
    let rule = |bursts_in_round_trip, unevenness| {
        rule_of_packets(|arrivals, packets| {
            arrivals.whole.disordered_share = 0.0;
            packets.dry_share = 0.9;
            packets.steady = Some(steady(unevenness, bursts_in_round_trip));
        })
    };
    assert_eq!([rule(0.96, 1.5), rule(1.04, 0.5)], ["sndbuf.arrives_in_bursts"; 2]);
    let unasked = "app.rate.arrives_unasked";
    assert_eq!([rule(0.94, 1.5), rule(1.06, 1.5), rule(1.0, 0.4)], [unasked; 3]);
    let unsteady = |bursts_in_round_trip| {
        rule_of_packets(|arrivals, packets| {
            arrivals.whole.disordered_share = 0.0;
            (packets.dry_share, packets.bursts_in_round_trip) = (0.9, Some(bursts_in_round_trip));
        })
    };
    assert_eq!(unsteady(0.9), unasked);
    assert_ne!(unsteady(0.98), unasked, "a span of some round trips has one more or fewer");
}

#[test]
fn slow_start_that_arrives_again_after_an_idle_time_is_a_restart() {
    let rule = |is_slow_start, is_idle_restart| {
        rule_of_packets(|arrivals, _| {
            (arrivals.is_slow_start, arrivals.is_idle_restart) = (is_slow_start, is_idle_restart);
        })
    };
    assert_eq!([rule(true, false), rule(true, true)], ["cwnd.startup", "cwnd.idle_restart.arrives"]);
}

/// A sender that waits before it answers makes round trips as long: then nothing comes meanwhile.
#[test]
fn acks_wait_on_their_way_where_round_trips_are_long_and_data_always_come() {
    let rule = |share, silent_share| {
        rule_of_packets(|arrivals, _| arrivals.whole.acks_delayed = Some(DelayedAcks { share, silent_share }))
    };
    let others = [rule(0.49, 0.0), rule(0.9, 0.5)];
    assert_eq!(rule(0.5, 0.1), "cwnd.ack_path.arrives");
    assert!(others.iter().all(|&other| other != "cwnd.ack_path.arrives"), "{others:?}");
}

/// Each third of the time brings a fifth more.
#[test]
fn what_falls_from_one_round_trip_to_the_next_without_a_loss_is_no_growing_window() {
    let rule = |fallen_share, risen: f64| {
        rule_of_packets(|arrivals, packets| {
            packets.fallen_share = fallen_share;
            let whole = &mut arrivals.whole;
            (whole.segments, whole.spread, whole.disordered_share) = (Some(40.0), 0.5, 0.0);
            whole.growth = Growth { each: 1.2, whole: 1.5 };
            whole.risen_often = Some(Risen { times: risen, above_us: 5_000.0 });
        })
    };
    assert_eq!([rule(0.04, 1.0), rule(0.1, 1.0)], ["cwnd.arrivals_grow", "unknown.arrivals"]);
    assert_eq!(rule(0.1, 1.2), "cwnd.arrivals_grow", "round trips are longer than the least one");
}

/// A receiver that acknowledges a flight with one ACK leaves small windows: packets show how they grow.
#[test]
fn windows_of_few_segments_grow_too() {
    let rule = |segments| {
        rule_of_packets(|arrivals, _| {
            let whole = &mut arrivals.whole;
            (whole.segments, whole.spread, whole.disordered_share) = (Some(segments), 0.5, 0.0);
            whole.growth = Growth { each: 1.2, whole: 1.5 };
        })
    };
    assert_eq!([rule(8.0), rule(7.0)], ["cwnd.arrivals_grow", "unknown.arrivals"]);
}

/// Twenty segments in each round trip, in bursts.
#[test]
fn what_arrives_in_bursts_and_stays_the_same_for_long_is_a_buffers() {
    type Change = dyn Fn(&mut Arrivals, &mut ArrivingPackets);
    let rule = |change: &Change| {
        rule_of_packets(|arrivals, packets| {
            arrivals.spoken_in_round_trip = Some(0.1);
            let whole = &mut arrivals.whole;
            (whole.rounds, whole.segments, whole.idle_share) = (10, Some(20.0), Some(0.5));
            (whole.spread, whole.disordered_share) = (0.05, 0.0);
            whole.settled.growth = Growth { each: 1.0, whole: 1.0 };
            change(arrivals, packets);
        })
    };
    assert_eq!(rule(&|_, _| ()), "sndbuf.arrives_the_same");
    let others: [(&Change, &str); 6] = [
        (&|arrivals, _| arrivals.whole.rounds = 9, "a window may grow as slowly"),
        (&|arrivals, _| arrivals.whole.idle_share = Some(0.1), "a pacer"),
        (&|arrivals, _| arrivals.whole.settled.growth.whole = 1.05, "a window that grows"),
        (&|arrivals, _| arrivals.whole.spread = 0.3, "an application"),
        (&|arrivals, _| arrivals.spoken_in_round_trip = Some(1.0), "a window of the application"),
        (&|_, packets| packets.dry_share = 0.7, "writes"),
    ];
    for (change, why) in others {
        assert_ne!(rule(change), "sndbuf.arrives_the_same", "{why}");
    }
}

/// Writes of 16 kB are sent to their ends.
#[test]
fn what_acks_let_out_as_they_acknowledge_is_a_buffers() {
    let rule = |change: &dyn Fn(&mut PacketSpan, &mut SenderEvidence)| {
        let mut span = PacketSpan {
            segment: 1_448,
            flight: 19_280,
            fill: Some(0.9),
            bytes_of_a_push: Some(16_384.0),
            tail_share: 1.0,
            widest_window: 118_000,
            drained_share: Some(0.0),
            prompt_share: 0.7,
            clocked_share: 0.7,
            unevenness: Some(1.5),
            round_trips: 6.0,
            ..PacketSpan::default()
        };
        let mut sender = SenderEvidence { heard_in_round_trip: Some(0.0), ..idle() };
        change(&mut span, &mut sender);
        rule_of(Evidence {
            sender: Some(sender),
            packets: Some(SentPackets { span, flight: 19_280, flight_used: 0.5, ..SentPackets::default() }),
            ..Evidence::default()
        })
    };
    assert_eq!(rule(&|_, _| ()), "sndbuf.let_out_by_acks");
    type Change<'a> = (&'a dyn Fn(&mut PacketSpan, &mut SenderEvidence), &'a str);
    let unasked: [Change<'_>; 5] = [
        (&|span, _| span.unevenness = Some(0.3), "a clock that a round trip is a multiple of"),
        (&|span, _| span.clocked_share = 0.4, "a write is larger than what was acknowledged just before"),
        (&|span, _| span.flight_change = 0.2, "its amount changes"),
        (&|span, _| span.bytes_of_a_push = Some(4_000.0), "small writes wait for ACKs"),
        (&|span, _| span.drained_share = Some(0.3), "nothing is out at times"),
    ];
    for (change, why) in unasked {
        assert_eq!(rule(change), "app.rate.unasked", "{why}");
    }
    let paced = |clocked_bursts| {
        let change = |span: &mut PacketSpan, _: &mut SenderEvidence| {
            (span.clocked_share, span.prompt_share, span.clocked_bursts) = (0.1, 0.1, clocked_bursts);
        };
        rule(&change)
    };
    assert_eq!([paced(0.75), paced(0.74)], ["sndbuf.let_out_by_acks", "app.rate.unasked"]);
    let heard = rule(&|_, sender| sender.heard_in_round_trip = Some(0.5));
    assert_eq!(heard, "app.offers_less", "the other side may have asked");
}

/// What the receiver's socket shows of a sender that always has more to send than it may: bursts of full segments, evenly in time.
fn rule_of_pattern(change: impl Fn(&mut Arrivals, &mut ArrivalPattern)) -> &'static str {
    let still = Growth { each: 1.0, whole: 1.0 };
    let settled = Settled { spread: Some(0.05), growth: still, ..Settled::default() };
    let whole = ArrivalsOfAll {
        rounds: 50,
        segments: Some(200.0),
        spread: 0.05,
        growth: still,
        settled,
        ..ArrivalsOfAll::default()
    };
    let mut arrivals = Arrivals { whole, spoken_in_round_trip: Some(0.0), ..Arrivals::default() };
    let mut pattern = ArrivalPattern {
        samples_in_round_trip: 10.0,
        unevenness: 1.2,
        silent_share: 0.5,
        bursts_in_round_trip: 1.0,
        short_in_round_trip: Some(0.0),
        acks_of_segment: Some(0.5),
    };
    change(&mut arrivals, &mut pattern);
    arrivals.whole.pattern = Some(pattern);
    rule_of(Evidence { arrivals: Some(arrivals), ..Evidence::default() })
}

#[test]
fn bursts_at_a_receivers_socket_are_a_buffers() {
    assert_eq!(rule_of_pattern(|_, _| ()), "sndbuf.bursts_steady");
    let grows = rule_of_pattern(|arrivals, _| arrivals.whole.settled.growth.whole = 1.05);
    assert_eq!(grows, "unknown.arrivals", "a window grows");
    let apart = |change: &dyn Fn(&mut Arrivals, &mut ArrivalPattern)| {
        rule_of_pattern(|arrivals, pattern| {
            (pattern.bursts_in_round_trip, arrivals.whole.disordered_share) = (0.7, 0.2);
            change(arrivals, pattern);
        })
    };
    assert_eq!(apart(&|_, _| ()), "sndbuf.bursts_apart");
    type Change<'a> = (&'a dyn Fn(&mut Arrivals, &mut ArrivalPattern), &'a str);
    let others: [Change<'_>; 4] = [
        (&|_, pattern| pattern.bursts_in_round_trip = 0.9, "a window's come once in each round trip"),
        (&|_, pattern| pattern.samples_in_round_trip = 3.9, "silences of less than two samples"),
        (&|arrivals, _| arrivals.whole.disordered_share = 0.3, "losses"),
        (&|arrivals, _| arrivals.whole.growth.each = 1.4, "slow start"),
    ];
    for (change, why) in others {
        assert_eq!(apart(change), "cwnd.arrivals_silent", "{why}");
    }
}

#[test]
fn even_arrivals_at_a_receivers_socket_are_a_pacers_of_full_segments_and_else_an_applications() {
    let even = |change: &dyn Fn(&mut Arrivals, &mut ArrivalPattern)| {
        rule_of_pattern(|arrivals, pattern| {
            (pattern.unevenness, pattern.silent_share, pattern.bursts_in_round_trip) = (0.1, 0.0, 0.0);
            change(arrivals, pattern);
        })
    };
    assert_eq!(even(&|_, _| ()), "pacing.program.comes_evenly");
    assert_eq!(even(&|_, pattern| pattern.short_in_round_trip = Some(0.25)), "app.rate.comes_in_writes");
    assert_eq!(even(&|_, pattern| pattern.acks_of_segment = Some(0.9)), "app.rate.comes_in_writes");
    let risen = Some(Risen { times: 1.2, above_us: 5_000.0 });
    type Change<'a> = (&'a dyn Fn(&mut Arrivals, &mut ArrivalPattern), &'a str);
    let unknown: [Change<'_>; 4] = [
        (&|_, pattern| pattern.samples_in_round_trip = 1.9, "bursts would not be seen"),
        (&|_, pattern| pattern.acks_of_segment = None, "each has a delayed ACK of its own"),
        (&|_, pattern| pattern.short_in_round_trip = Some(0.1), "some writes end, or a path is full"),
        (&move |arrivals, _| arrivals.whole.risen_often = risen, "a queue"),
    ];
    for (change, why) in unknown {
        assert_eq!(even(change), "unknown.arrivals", "{why}");
    }
    let disordered = even(&|arrivals, _| arrivals.whole.disordered_share = 0.5);
    assert_eq!(disordered, "cwnd.arrivals_mostly_disordered");
}

#[test]
fn what_a_receivers_socket_gets_in_each_round_trip_is_a_window_where_it_speaks_in_each() {
    let window = |spoken: f64, spread: f64| {
        rule_of_pattern(|arrivals, _| {
            arrivals.spoken_in_round_trip = Some(spoken);
            arrivals.whole.settled.spread = Some(spread);
        })
    };
    assert_eq!(window(1.0, 0.15), "app.window.comes", "a sample of ten more or less");
    assert_eq!([window(0.9, 0.15), window(1.0, 0.16)], ["unknown.arrivals"; 2]);
}

/// A line of 1 Mbit/s in front of a path of a millisecond: three segments are a queue of 35 ms.
#[test]
fn a_queue_of_few_segments_is_a_full_path_where_nothing_else_makes_it() {
    let rule = |streams: usize, [segments, times]: [f64; 2], bursts: f64| {
        let whole = ArrivalsOfAll {
            rounds: 50,
            streams,
            segments: Some(segments),
            spread: 0.03,
            risen_always: Some(Risen { times, above_us: 35_000.0 }),
            ..ArrivalsOfAll::default()
        };
        let steady =
            SteadyRate { share: 0.95, rtt_risen_most: 1.05, rtt_risen: 1.02, ..SteadyRate::default() };
        let packets = ArrivingPackets {
            steady: Some(steady),
            bursts_in_round_trip: Some(bursts),
            ..ArrivingPackets::default()
        };
        let arrivals = Arrivals { whole, packets: Some(packets), ..Arrivals::default() };
        rule_of(Evidence { arrivals: Some(arrivals), ..Evidence::default() })
    };
    assert_eq!(rule(1, [3.0, 50.0], 0.05), "path.arrives_steadily");
    assert_eq!(rule(1, [1.0, 50.0], 0.05), "pacing.program.arrives_evenly", "one waits for its pacer");
    for (other, why) in [
        (rule(2, [3.0, 50.0], 0.05), "another stream's queue"),
        (rule(1, [3.0, 50.0], 1.0), "bursts wait for the next one"),
    ] {
        assert_ne!(other, "path.arrives_steadily", "{why}");
    }
}

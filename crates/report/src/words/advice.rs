//! Advice in words: the change, why, and lines to paste.

mod any_stack;
mod quic;

use crate::quantity::{QuantityKind, bytes, counted, duration, rate, whole_ms};
use crate::verdicts::NOTHING;
use pipefill_analysis::findings::finding::Advice;
use pipefill_analysis::findings::proposal::{
    Change, HostNames, HostStack, Proposal, Reason, Setting, Target,
};
use pipefill_core::cell::Direction;
use pipefill_core::record::Origin;

/// Composes what `advice` says; what has its words keeps them.
pub(super) fn complete(advice: &mut Advice) {
    let Some(Proposal { changes, reason, hosts, stacks }) = advice.proposal.take() else { return };
    let stack = |change: &Change| stacks.of(change.end(), change.setting == Setting::WindowScaling);
    let parts: Vec<String> = changes
        .iter()
        .map(|change| {
            match stack(change) {
                HostStack::Other => any_stack::in_words(change, host(change.end(), hosts)),
                HostStack::Quic => quic::in_words(change, host(change.end(), hosts)),
                HostStack::Linux | HostStack::Unknown => None,
            }
            .unwrap_or_else(|| in_words(change, hosts))
        })
        .collect();
    advice.change = if parts.is_empty() { NOTHING.to_owned() } else { parts.join(", ") };
    advice.why = why(reason);
    if let Some(first) = changes.first() {
        let name = match stack(first) {
            HostStack::Other => any_stack::name(&first.setting),
            HostStack::Quic => quic::name(&first.setting),
            HostStack::Linux | HostStack::Unknown => None,
        };
        advice.setting = name.map(str::to_owned).or(advice.setting.take());
        if let (HostStack::Other | HostStack::Quic, Reason::BufferHasUnknownOwner { bytes: size }) =
            (stack(first), reason)
        {
            advice.why = any_stack::unknown_owner(size);
        }
    }
    let known =
        changes.iter().filter(|change| matches!(stack(change), HostStack::Linux | HostStack::Unknown));
    advice.commands = known
        .filter_map(|change| {
            let line = command(change, hosts)?;
            let is_sure = stack(change) == HostStack::Linux || change.target == Target::Bottleneck;
            Some(if is_sure { line } else { line + ", if it runs Linux" })
        })
        .collect();
    advice.command = advice.commands.first().cloned();
}

/// A change as an assignment of a scenario, or of a machine where no scenario describes the connection.
fn in_words(change: &Change, hosts: HostNames) -> String {
    let value = change.setting.value().unwrap_or_default();
    if let Setting::TestBuffers(size) = change.setting {
        return format!("no -w in the test, or a larger one: it has set both buffers to {}", bytes(size));
    }
    if let HostNames::Scenario(_) = hosts {
        return format!("{}={value}", change.key);
    }
    let (name, host) = (change.setting.name(), host(change.end(), hosts));
    match change.setting {
        Setting::Parallel(_) => format!("{value} connections at once"),
        Setting::Outstanding(_) => format!("{value} requests at once"),
        Setting::ApplicationWindow(size) => format!("an application window of {}", bytes(size)),
        Setting::NoRcvbuf | Setting::NoSndbuf | Setting::NoWindowClamp => {
            format!("no {name} in the program {host}")
        }
        Setting::CpuQuota { ref quota, .. } => format!("{}/{} = {value} {host}", quota.cgroup, quota.file),
        Setting::ReceiveBuffer(size) | Setting::SendBuffer(size) => {
            format!("a {name} of at least {} {host}", bytes(size))
        }
        Setting::TcpRmemMaximum(size) => format!("a maximum of {name} of at least {size} {host}"),
        Setting::RmemMax(_) => format!("{name} = {value} {host}, or no SO_RCVBUF in the program"),
        Setting::NoDelay => format!("{name} {host}, or one write for all"),
        Setting::QuickAck => format!("{name} {host}, or larger writes"),
        Setting::Duration(_) => format!("a transfer of at least {value}"),
        Setting::Burst(size) => format!("a token bucket of {} at the bottleneck", bytes(size)),
        Setting::LongerQueue(_) | Setting::ShorterQueue(_) => format!("a queue of {value} at the bottleneck"),
        Setting::FqCodel => format!("{value} in place of the drop-tail queue at the bottleneck"),
        Setting::MarkingAqm => format!("{name} for the qdisc of the bottleneck"),
        Setting::QueuePackets(packets) => {
            format!("a queue of {} at the bottleneck", counted(packets, "packet(s)"))
        }
        Setting::SpacedDatagrams(spacing) => {
            let spacing = QuantityKind::Time.alone(spacing.as_nanos() as f64);
            format!(
                "in the program: a datagram every {spacing}, evenly, or SO_MAX_PACING_RATE with the qdisc fq"
            )
        }
        Setting::DelayLimit(_) => format!("{name} of {value} on the path"),
        Setting::Bbr => format!("congestion control {value} {host}"),
        Setting::WindowScaling => format!("{name} = {value} on both hosts"),
        Setting::TcpRmem(_)
        | Setting::TcpWmem(_)
        | Setting::ReceiveAutotuning
        | Setting::MtuProbing
        | Setting::Ecn
        | Setting::KeepCwndAfterIdle => {
            format!("{name} = {value} {host}")
        }
        _ => format!("{name} of {value} {host}"),
    }
}

/// The line for a real machine; what follows `#` says which.
fn command(change: &Change, hosts: HostNames) -> Option<String> {
    let host = host(change.end(), hosts);
    let is_observed = matches!(hosts, HostNames::Observed(_));
    let note = |of_scenario: &'static str| if is_observed { host } else { of_scenario };
    let sysctl = |value: &str, note: &str| format!("sysctl -w {}={value}    # {note}", change.setting.name());
    let option =
        |value: u64, note: &str| format!("setsockopt({}, {value})    # {note}", change.setting.name());
    Some(match change.setting {
        Setting::TcpRmem([least, initial, maximum]) | Setting::TcpWmem([least, initial, maximum]) => {
            sysctl(&format!("'{least} {initial} {maximum}'"), host)
        }
        Setting::RmemMax(size) => sysctl(&size.to_string(), host),
        Setting::WindowScaling => sysctl("1", "both ends"),
        Setting::ReceiveAutotuning | Setting::MtuProbing | Setting::Ecn => sysctl("1", host),
        Setting::KeepCwndAfterIdle => sysctl("0", host),
        Setting::Bbr => sysctl("bbr", note("on the host that sends")),
        Setting::CpuQuota { ref quota, .. } => {
            let value = change.setting.value()?;
            format!("echo '{value}' > '{}/{}'    # {host}", quota.cgroup, quota.file)
        }
        Setting::Rcvbuf(size) => option(size, note("needs rmem_max")),
        Setting::Sndbuf(size) => option(size, note("needs wmem_max")),
        Setting::NoDelay | Setting::QuickAck => option(1, note("TCP")),
        Setting::MaxPacingRate(kbit) => option(bytes_a_second(kbit), note("bytes/s")),
        Setting::OtherFlowsMaxPacingRate(kbit) => {
            option(bytes_a_second(kbit), note("bytes/s, on the other flow"))
        }
        Setting::FqCodel => "tc qdisc replace dev DEV root fq_codel    # on the bottleneck".to_owned(),
        Setting::MarkingAqm => "tc qdisc change dev DEV … ecn    # on the bottleneck".to_owned(),
        Setting::DelayLimit(packets) => format!("tc qdisc change … netem limit {packets}"),
        Setting::LongerQueue(_)
        | Setting::ShorterQueue(_)
        | Setting::Burst(_)
        | Setting::QueuePackets(_)
        | Setting::SpacedDatagrams(_)
        | Setting::Parallel(_)
        | Setting::Outstanding(_)
        | Setting::ApplicationWindow(_)
        | Setting::Duration(_)
        | Setting::NoRcvbuf
        | Setting::NoSndbuf
        | Setting::NoWindowClamp
        | Setting::ReceiveBuffer(_)
        | Setting::SendBuffer(_)
        | Setting::TcpRmemMaximum(_)
        | Setting::TestBuffers(_) => return None,
    })
}

const fn bytes_a_second(kbit: u64) -> u64 {
    kbit.saturating_mul(125)
}

/// The host that is meant: a scenario's is named after forward data, which an observed connection sends from here.
fn host(target: Target, hosts: HostNames) -> &'static str {
    let sends = target == Target::Sender;
    match hosts {
        HostNames::Scenario(direction) if sends == (direction == Direction::Forward) => "sender",
        HostNames::Scenario(_) => "receiver",
        HostNames::Observed(direction) if sends == (direction == Direction::Forward) => "on this host",
        HostNames::Observed(_) => "on the peer",
    }
}

fn why(reason: Reason) -> String {
    let why = match reason {
        Reason::WindowNeeded { bytes: size, rate_bps } => {
            return format!(
                "a window of {} is needed to keep {} in flight over the round trip",
                bytes(size),
                rate(rate_bps)
            );
        }
        Reason::FlightNeeded { bytes: size } => {
            return format!(
                "{} have to be in flight; a writer keeps two thirds of the send buffer filled, and packets cost more memory than their payload",
                bytes(size)
            );
        }
        Reason::ApplicationWindow { bytes: size, tenfold_bps } => {
            return format!(
                "the application lets {} out and waits, by a window or by requests; ten times as much gives {}",
                bytes(size),
                rate(tenfold_bps)
            );
        }
        Reason::TurnsTakeTime { turns, held_us } => {
            return format!(
                "{turns} turns take {} of round trips; requests that overlap, larger ones or a shorter path take less",
                duration(held_us)
            );
        }
        Reason::BufferHasUnknownOwner { bytes: size } => {
            return format!(
                "{} have to be in flight; `ss -tm` on that host shows whether the program has set the buffer (then no sysctl changes it) or the \
                 maximum of tcp_rmem or tcp_wmem bounds it",
                bytes(size)
            );
        }
        Reason::SlowStartAfterIdle { before_bytes } => {
            let before = before_bytes.map_or_else(String::new, |cwnd| format!(", which was {}", bytes(cwnd)));
            return format!(
                "after an idle time longer than its retransmission timeout the sender gives up its congestion window{before}"
            );
        }
        Reason::BucketIsLarge { lasted_us } => {
            return format!(
                "a bucket this deep lets any rate pass until it is empty, here for {}; with a small one the rate holds from the start",
                duration(lasted_us)
            );
        }
        Reason::QuotaRunsOut { used_us, held_us, period_us } => {
            return format!(
                "in each period of {} its cgroup used {} of CPU time and was throttled for {}; the sum of both is enough",
                whole_ms(period_us),
                duration(used_us),
                duration(held_us)
            );
        }
        Reason::BurstsOverflowQueue { burst, needed, offered_bps } => {
            return format!(
                "the mean rate of {} is below the path's rate, but {needed} of {burst} datagrams in a burst have to wait in the queue",
                rate(offered_bps)
            );
        }
        Reason::SocketOverflows { rcvbuf_bytes, dropped, rmem_max } => {
            let bound = rmem_max
                .map_or_else(String::new, |most| format!("; net.core.rmem_max allows {} there", bytes(most)));
            return format!(
                "the socket's buffer ({} of memory) overflows by up to {} at a time and is not full in between{bound}",
                bytes(rcvbuf_bytes),
                counted(dropped, "datagram(s)")
            );
        }
        Reason::ReaderIsBehind { read_bps } => {
            return format!(
                "the receiving program reads at most {}; a faster reader helps, a larger buffer does not",
                rate(read_bps)
            );
        }
        Reason::SlowStart(startup) => {
            return format!(
                "slow start alone takes {} here",
                QuantityKind::Time.alone(startup.as_nanos() as f64)
            );
        }
        Reason::ConnectionIsYoung { held_us } => {
            return format!(
                "slow start takes {} of this connection: use one for several transfers (keep-alive), or a shorter path; a sender that runs Linux begins \
                 with more by `ip route change … initcwnd`",
                duration(held_us)
            );
        }
        Reason::ProgramSetsBuffer { origin: Origin::Inferred } => {
            "the buffer is as if the program had set it: then it does not grow, and no sysctl makes it larger; the kernel sizes the buffers of \
             programs that set none"
        }
        Reason::ProgramSetsBuffer { .. } => {
            "the program has set this buffer: it does not grow, and no sysctl makes it larger; the kernel sizes the buffers of programs that set none"
        }
        Reason::ProgramClampsWindow => {
            "the window stays below what its receive buffer allows: the program limits it, and neither a sysctl nor a larger buffer changes that"
        }
        Reason::ProgramsBufferIsCapped => {
            "the program asks for more than net.core.rmem_max allows, and a buffer that a program sets does not grow"
        }
        Reason::WindowIsUnscaled => {
            "the window is 65,535 bytes, the largest without window scaling: it is off at one end, or a middlebox removes the option from the SYN"
        }
        Reason::BufferStillGrows => {
            "the receive buffer still grows by itself; a larger initial value begins higher, and a longer transfer needs no change"
        }
        Reason::DatagramsAreDropped => {
            "the path drops datagrams and UDP does not retransmit them; use a better path or a lower rate"
        }
        Reason::NobodyAnswers => {
            "nothing comes back: is the other end up, is there a route, does a firewall drop it?"
        }
        Reason::LinkDropsLargePackets => {
            "the sender then tries smaller segments by itself; better: let ICMP through (fragmentation needed), clamp the MSS at the tunnel \
             (nft add rule … tcp flags syn tcp option maxseg size set rt mtu), or lower the MTU of the interface"
        }
        Reason::OthersFillTheQueue => {
            "other flows fill the path's queue; fq_codel gives each flow a queue of its own"
        }
        Reason::PathIsFull => "the pipe is full; only a faster path helps",
        Reason::OthersFillThePath => {
            "the bottleneck is full, and other flows share it; a faster path or less other traffic helps"
        }
        Reason::ApplicationOffersNoMore => "the application offers no more; the network is not the limit",
        Reason::StreamsHaveOwnWindows => "each stream has a window of its own",
        Reason::NagleWaitsForAck => {
            "the last bytes of a message wait until the other end acknowledges the first, and it delays that ACK"
        }
        Reason::AckIsDelayed => "the sender waits for an ACK that the other end delays",
        Reason::AnswersAreSlow => {
            "the program that was asked takes long to answer: look at it, its disk or its database"
        }
        Reason::NothingIsAskedFor => "the other side asks for nothing; the network is not the limit",
        Reason::ReaderIsSlow => "the receiving application reads no faster; no buffer makes up for that",
        Reason::ReaderOverflows => {
            "the receiving socket's buffer overflows; a larger one (SO_RCVBUF) or a faster reader helps"
        }
        Reason::CpuIsTaken => {
            "other programs use the CPU that the endpoint needs; end them, or give it one of its own"
        }
        Reason::CpuIsBusy => "an endpoint is CPU-bound; fewer, larger packets or a faster CPU help",
        Reason::LimitIsUnknown => "the recorded data do not show what to change",
        Reason::NoChangeHelps => "no change of an end lifts this limit",
        Reason::ControlPaces => "the congestion control paces at what it takes for the path's rate",
        Reason::ReceiveBufferIsLargest => "the receive buffer is as large as it can be",
        Reason::SendBufferIsLargest => "the send buffer is as large as it can be",
        Reason::TestbedIsFull => "the testbed itself is at its limit: lower the rate",
        Reason::QueueRunsEmpty => {
            "a window that is cut to 0.7 of itself keeps the pipe full where the queue holds 0.43 BDP (CUBIC) to one BDP (Reno)"
        }
        Reason::BbrSparesTheQueue => "it does not fill the queue until it drops",
        Reason::BbrIgnoresLoss => "it does not take a lost packet for a full queue",
        Reason::TimerIsAwaited => {
            "the segments behind the loss were lost too, so no duplicate ACK reported it: look for what drops many segments in a row (an outage, a \
             policer, a queue of a few packets); the timer waits at least 200 ms, which `ip route change … rto_min` shortens for near hosts"
        }
        Reason::MarksCutTheWindow => {
            "an AQM on the path marks packets instead of dropping them: its queue is full, or its target is too low"
        }
        Reason::BbrIgnoresMarks => "it does not answer to CE marks",
        Reason::BbrMeasuresTheRate => "it measures the path's rate instead of growing towards it",
        Reason::BbrKeepsOneBdp => "it keeps what is in flight near one BDP, whatever the queue holds",
        Reason::StreamsRecoverAlone => "each stream recovers on its own, and a loss cuts only one of them",
        Reason::OwnPacingLimit => "the socket's own limit is below the path's rate",
        Reason::BucketIsSmall => {
            "a policer drops what exceeds its bucket; a bucket below the BDP costs a part of every window"
        }
        Reason::BelowThePolicer => "a sender that stays below the policer's rate loses nothing to it",
        Reason::OtherFlowFillsAckQueue => {
            "the flow of the other direction fills the queue in which these ACKs wait; paced below its rate it leaves it empty"
        }
        Reason::DelayElementIsSmall => {
            "the delay element holds fewer packets than rate × delay, and drops the rest"
        }
        Reason::StandingQueue => {
            "the queue is never empty for long; what is beyond half a BDP adds delay and no goodput"
        }
        Reason::AqmKeepsItShort => {
            "the queue is never empty for long; FQ-CoDel drops or marks what has waited longer than 5 ms for a while, and gives each \
             flow a queue of its own"
        }
        Reason::MarksInPlaceOfDrops => {
            "the queue's discipline drops segments of a flow without ECN; with ECN it marks them, and nothing has to be sent again"
        }
    };
    why.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_analysis::findings::proposal::EndStacks;
    use pipefill_core::record::CpuQuota;

    /// The change, the commands and the setting of an advice for a peer with `stack`.
    fn for_stack(setting: Setting, stack: HostStack) -> (String, Vec<String>, Option<String>) {
        let changes = vec![Change { target: Target::Receiver, setting, key: String::new() }];
        let hosts = HostNames::Observed(Direction::Forward);
        let stacks = EndStacks { receiver: stack, sender: HostStack::Linux };
        let proposal = Proposal { changes, reason: Reason::StreamsRecoverAlone, hosts, stacks };
        let mut advice = Advice { proposal: Some(proposal), ..Advice::default() };
        complete(&mut advice);
        assert_eq!(advice.command, advice.commands.first().cloned());
        (advice.change, advice.commands, advice.setting)
    }

    #[test]
    fn a_host_that_does_not_run_linux_gets_no_sysctl() {
        for setting in [
            Setting::TcpRmem([4096, 131_072, 900_000]),
            Setting::WindowScaling,
            Setting::Bbr,
            Setting::Rcvbuf(9),
        ] {
            let (change, commands, name) = for_stack(setting, HostStack::Other);
            let text = format!("{change} {name:?}");
            assert!(commands.is_empty() && !text.contains("net.ipv4") && !text.contains("tcp_"), "{text}");
        }
        let (change, _, _) = for_stack(Setting::TcpRmem([4096, 131_072, 900_000]), HostStack::Other);
        assert_eq!(change, "a receive buffer of 900 kB on the peer");
        let (_, commands, _) = for_stack(Setting::TcpRmem([1, 2, 3]), HostStack::Unknown);
        assert_eq!(commands, ["sysctl -w net.ipv4.tcp_rmem='1 2 3'    # on the peer, if it runs Linux"]);
    }

    fn change_and_command(target: Target, setting: Setting, key: &str, hosts: HostNames) -> (String, String) {
        let changes = vec![Change { target, setting, key: key.to_owned() }];
        let stacks = EndStacks::default();
        let proposal = Proposal { changes, reason: Reason::StreamsRecoverAlone, hosts, stacks };
        let mut advice = Advice { proposal: Some(proposal), ..Advice::default() };
        complete(&mut advice);
        assert_eq!(advice.command, advice.commands.first().cloned());
        (advice.change, advice.command.unwrap_or_default())
    }

    #[test]
    fn a_change_names_its_machine() {
        let rmem = || Setting::TcpRmem([4096, 131_072, 6_291_456]);
        let (forward, reverse) = (Direction::Forward, Direction::Reverse);
        let (change, command) =
            change_and_command(Target::Receiver, rmem(), "", HostNames::Observed(forward));
        assert_eq!(change, "net.ipv4.tcp_rmem = 4096 131072 6291456 on the peer");
        assert_eq!(command, "sysctl -w net.ipv4.tcp_rmem='4096 131072 6291456'    # on the peer");
        // What is received from the peer is read here.
        let (change, command) =
            change_and_command(Target::Receiver, rmem(), "", HostNames::Observed(reverse));
        assert_eq!(change, "net.ipv4.tcp_rmem = 4096 131072 6291456 on this host");
        assert_eq!(command, "sysctl -w net.ipv4.tcp_rmem='4096 131072 6291456'    # on this host");
        let observed =
            |setting| change_and_command(Target::Receiver, setting, "", HostNames::Observed(forward));
        assert_eq!(observed(Setting::Rcvbuf(9)).1, "setsockopt(SO_RCVBUF, 9)    # on the peer");
        let (change, command) =
            change_and_command(Target::Sender, Setting::Bbr, "", HostNames::Observed(reverse));
        assert_eq!(change, "congestion control bbr on the peer");
        assert_eq!(command, "sysctl -w net.ipv4.tcp_congestion_control=bbr    # on the peer");
        let (change, command) =
            change_and_command(Target::Program, Setting::Parallel(4), "", HostNames::Observed(forward));
        assert_eq!((&*change, &*command), ("4 connections at once", ""));
    }

    #[test]
    fn a_quota_is_written_to_the_file_of_its_cgroup_whatever_that_is_called() {
        let written = |file: &str| {
            let (cgroup, file) = ("/sys/fs/cgroup/a\\x2db.service".to_owned(), file.to_owned());
            let quota = CpuQuota { cgroup, file, quota_us: 2_000, period_us: 100_000 };
            let setting = Setting::CpuQuota { quota, wanted_us: 72_000 };
            change_and_command(Target::Sender, setting, "", HostNames::Observed(Direction::Forward)).1
        };
        let (directory, host) = ("/sys/fs/cgroup/a\\x2db.service", "# on this host");
        assert_eq!(written(CpuQuota::FILE), format!("echo '72000 100000' > '{directory}/cpu.max'    {host}"));
        assert_eq!(
            written(CpuQuota::FILE_1),
            format!("echo '72000' > '{directory}/cpu.cfs_quota_us'    {host}")
        );
    }

    #[test]
    fn a_planned_change_is_an_assignment_and_its_command_names_the_scenarios_host() {
        let key = "sender.tcp_rmem";
        let hosts = HostNames::Scenario(Direction::Reverse);
        let (change, command) = change_and_command(Target::Receiver, Setting::TcpRmem([1, 2, 3]), key, hosts);
        assert_eq!(change, "sender.tcp_rmem=1 2 3");
        assert_eq!(command, "sysctl -w net.ipv4.tcp_rmem='1 2 3'    # sender");
    }

    #[test]
    fn what_has_its_words_keeps_them() {
        let mut advice = Advice { change: "as it was read".to_owned(), ..Advice::default() };
        complete(&mut advice);
        assert_eq!(advice.change, "as it was read");
    }
}

//! One socket in one reading: the words of its lines, by their names.

use crate::samples::of_info;
use pipefill_core::record::{Process, TcpSample};
use pipefill_core::tcp_info::{CaState, TcpInfo};

/// A socket at one time.
#[derive(Debug, Clone, Default)]
pub(super) struct Reading {
    pub(super) local: String,
    pub(super) remote: String,
    pub(super) process: Option<Process>,
    pub(super) congestion_control: String,
    pub(super) info: TcpInfo,
    pub(super) memory: Option<Memory>,
    /// When it was made, where something says it.
    pub(super) at_us: Option<u64>,
    /// `Send-Q`: written and not acknowledged, bytes.
    send_queue: u64,
    cwnd_segments: Option<u64>,
    ssthresh_segments: Option<u64>,
    unacked_segments: u64,
    /// Age of the last segment that came and that was sent, milliseconds.
    last_received_ms: Option<u64>,
    last_sent_ms: Option<u64>,
    last_acked_ms: Option<u64>,
    has_not_sent: bool,
}

/// `skmem:(r0,rb131072,t0,tb65536,f2136,w47016,o0,bl0,d0)`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Memory {
    received: u64,
    receive_buffer: u64,
    send_buffer: u64,
    queued: u64,
}

/// What `ss` calls the states, and their numbers (`include/net/tcp_states.h`).
const STATES: [(&str, u8); 10] = [
    ("ESTAB", 1),
    ("SYN-SENT", 2),
    ("SYN-RECV", 3),
    ("FIN-WAIT-1", 4),
    ("FIN-WAIT-2", 5),
    ("TIME-WAIT", 6),
    ("UNCONN", 7),
    ("CLOSE-WAIT", 8),
    ("LAST-ACK", 9),
    ("CLOSING", 11),
];

/// A petabyte, and as many segments or milliseconds.
const COUNT_MAX: u64 = 1_000_000_000_000_000;
/// Readings further apart than a month are not of one connection.
const APART_MAX_US: u64 = 31 * 86_400 * 1_000_000;

/// Words of `tcp_stats_print()` without a value.
const FLAGS: [&str; 9] =
    ["ts", "sack", "ecn", "ecnseen", "fastopen", "app_limited", "cookie", "tcp-ulp-tls", "v6only"];

/// Whether a line that is not indented goes on with the figures of a socket, as text does that lost its tabs.
pub(super) fn has_figures(line: &str) -> bool {
    ["cwnd:", " rto:", "skmem:"].iter().any(|name| line.contains(name)) && line.contains(':')
}

impl Reading {
    /// The socket whose line begins here.
    pub(super) fn begin(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let state_at = words.iter().take(8).position(|word| STATES.iter().any(|(name, _)| name == word));
        let (state, queues_at) = match state_at {
            Some(at) => (STATES.iter().find(|(name, _)| Some(name) == words.get(at))?.1, at + 1),
            // A filter for one state leaves the column out.
            None => (1, usize::from(words.first() == Some(&"tcp"))),
        };
        let number = |at: usize| words.get(at)?.parse::<u64>().ok();
        let (_, send_queue) = (number(queues_at)?, number(queues_at + 1)?);
        let (local, next) = end(&words, queues_at + 2)?;
        let (remote, next) = end(&words, next)?;
        let mut reading = Self {
            local,
            remote,
            send_queue,
            info: TcpInfo { state, ..TcpInfo::default() },
            ..Self::default()
        };
        let rest = words.get(next..).unwrap_or_default().join(" ");
        reading.add(&rest);
        Some(reading)
    }

    /// Takes a further line, or what stands behind the addresses.
    pub(super) fn add(&mut self, line: &str) {
        if let Some(users) = line.find("users:((") {
            self.process = process(line.get(users..).unwrap_or_default());
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        for (at, word) in words.iter().enumerate() {
            let next = || words.get(at + 1).copied().unwrap_or_default();
            match *word {
                "pacing_rate" => {
                    let (rate, most) = next().split_once('/').unwrap_or((next(), ""));
                    self.info.pacing_rate_bps = rate_of(rate);
                    self.info.max_pacing_rate_bps = Some(rate_of(most));
                }
                "delivery_rate" => self.info.delivery_rate_bps = rate_of(next()),
                "app_limited" => self.info.delivery_app_limited = Some(true),
                _ => match word.split_once(':') {
                    Some((name, value)) => self.take(name, value),
                    None => self.take_word(word, next()),
                },
            }
        }
    }

    /// The name of the congestion control stands before the scales of the windows, or before the retransmission timer.
    fn take_word(&mut self, word: &str, next: &str) {
        let is_name = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
            && !FLAGS.contains(&word);
        let is_before_figures = next.starts_with("wscale:") || next.starts_with("rto:");
        if is_name && is_before_figures {
            word.clone_into(&mut self.congestion_control);
        }
    }

    fn take(&mut self, name: &str, value: &str) {
        let info = &mut self.info;
        let count = || number(value).and_then(|number| u32::try_from(number).ok());
        let long = || number(value);
        match name {
            "skmem" | "mem" => self.memory = Memory::of(value).or(self.memory),
            "wscale" => {
                let (peers, own) = value.split_once(',').unwrap_or((value, ""));
                info.window_scaling = Some(true);
                (info.rwnd_scale, info.local_rwnd_scale) = (peers.parse().ok(), own.parse().ok());
            }
            "rto" => info.rto_us = millis(value),
            "backoff" => info.backoff = value.parse().ok(),
            "rtt" => {
                let (rtt, variation) = value.split_once('/').unwrap_or((value, ""));
                (info.srtt_us, info.rttvar_us) = (millis(rtt).filter(|&us| us > 0), millis(variation));
            }
            "mss" => info.mss_bytes = count().unwrap_or(0),
            "cwnd" => self.cwnd_segments = long(),
            "ssthresh" => self.ssthresh_segments = long(),
            "bytes_sent" => info.bytes_sent = long(),
            "bytes_retrans" => info.bytes_retrans = long(),
            "bytes_acked" => info.bytes_acked = long(),
            "bytes_received" => info.bytes_received = long(),
            "segs_out" => info.segs_out = count(),
            "data_segs_out" => info.data_segs_out = count(),
            "data_segs_in" => info.data_segs_in = count(),
            "lastsnd" => self.last_sent_ms = long(),
            "lastrcv" => self.last_received_ms = long(),
            "lastack" => self.last_acked_ms = long(),
            "delivered" => info.delivered_segments = count(),
            "delivered_ce" => info.delivered_ce_segments = count(),
            "busy" => info.busy_us = millis_long(value),
            "rwnd_limited" => info.rwnd_limited_us = millis_long(value),
            "sndbuf_limited" => info.sndbuf_limited_us = millis_long(value),
            "unacked" => self.unacked_segments = long().unwrap_or(0),
            // Sent again and not acknowledged, and in all.
            "retrans" => {
                let (now, all) = value.split_once('/').unwrap_or(("", value));
                info.retrans_segments = now.parse().ok();
                info.retransmits = all.parse().unwrap_or(0);
            }
            "lost" => info.lost_segments = count(),
            "sacked" => info.sacked_segments = count(),
            "dsack_dups" => info.dsack_dups = count(),
            "reord_seen" => info.reord_seen = count(),
            "rcv_ooopack" => info.rcv_ooo_segments = count(),
            "rcv_rtt" => info.rcv_rtt_us = millis(value),
            "rcv_space" => info.rcv_space_bytes = count(),
            "notsent" => (info.notsent_bytes, self.has_not_sent) = (count(), true),
            "minrtt" => info.min_rtt_us = millis(value).filter(|&us| us > 0),
            "snd_wnd" => info.rwnd_bytes = count(),
            "rcv_wnd" => info.local_rwnd_bytes = count(),
            _ => {}
        }
    }

    /// Whether `-i` was asked for, and the kernel answered.
    pub(super) fn has_figures(&self) -> bool {
        self.info.mss_bytes > 0 || self.cwnd_segments.is_some()
    }

    /// Microseconds since `before`: by the clock, or by an age that only time makes longer, or else by the time that it was busy. `None` where
    /// nothing moved.
    pub(super) fn time_since(&self, before: &Self) -> Option<u64> {
        if let Some((now, then)) = self.at_us.zip(before.at_us) {
            return now.checked_sub(then).filter(|&us| us <= APART_MAX_US);
        }
        // An age grows with time as long as nothing new came or went.
        let grown = |now: Option<u64>, then: Option<u64>| now?.checked_sub(then?).filter(|&ms| ms > 0);
        let is_unheard = self.info.data_segs_in == before.info.data_segs_in
            && self.info.bytes_received == before.info.bytes_received;
        let unheard = grown(self.last_received_ms, before.last_received_ms).filter(|_| is_unheard);
        let is_unsent =
            self.info.bytes_sent == before.info.bytes_sent && self.info.segs_out == before.info.segs_out;
        let unsent = grown(self.last_sent_ms, before.last_sent_ms).filter(|_| is_unsent);
        let by_age = unheard.or(unsent).map(|ms| ms.saturating_mul(1_000));
        let by_busy = || grown(self.info.busy_us, before.info.busy_us);
        let by_acks = || grown(self.last_acked_ms, before.last_acked_ms).map(|ms| ms.saturating_mul(1_000));
        let has_moved = self.info.bytes_acked != before.info.bytes_acked
            || self.info.bytes_received != before.info.bytes_received
            || self.send_queue != before.send_queue;
        // A second apart, as readings that somebody makes by hand.
        let time_us = by_age.or_else(by_busy).or_else(by_acks).or(has_moved.then_some(1_000_000));
        time_us.filter(|&us| us <= APART_MAX_US)
    }

    /// Whether data is outstanding, as for most of its life: of a connection that never heard anything, the age of what it heard is its own.
    pub(super) fn is_busy(&self) -> bool {
        let has_heard = self.info.bytes_received.is_some_and(|bytes| bytes > 0);
        let age_us = self.last_received_ms.filter(|_| !has_heard).map(|ms| ms.saturating_mul(1_000));
        let was_idle = self.info.busy_us.zip(age_us).is_some_and(|(busy_us, age_us)| busy_us < age_us / 2);
        self.unacked_segments > 0 && !was_idle
    }

    /// As a sample at `t_us`.
    pub(super) fn sample(&self, t_us: u64) -> TcpSample {
        let mss = u64::from(self.info.mss_bytes);
        let bytes = |segments: u64| segments.saturating_mul(mss);
        let (sacked, lost) = (self.info.sacked_segments.unwrap_or(0), self.info.lost_segments.unwrap_or(0));
        let again = self.info.retrans_segments.unwrap_or(0);
        let out = self.unacked_segments.saturating_add(again.into());
        let in_flight = out.saturating_sub(u64::from(sacked) + u64::from(lost));
        let unacked = bytes(self.unacked_segments);
        // `not_sent` is left out where it is 0, and by versions that do not know it: the queue of the socket shows it too.
        let queued = || u32::try_from(self.send_queue.saturating_sub(unacked)).ok();
        let notsent = if self.has_not_sent { self.info.notsent_bytes } else { self.not_sent_by(queued()) };
        let info = TcpInfo {
            ca_state: Some(self.state_of_congestion(lost, again, sacked)),
            cwnd_bytes: self.cwnd_segments.map(bytes),
            ssthresh_bytes: self.ssthresh_segments.map(bytes),
            in_flight_bytes: Some(bytes(in_flight)),
            unacked_bytes: unacked,
            sacked_segments: Some(sacked),
            lost_segments: Some(lost),
            retrans_segments: Some(again),
            notsent_bytes: notsent,
            backoff: Some(self.info.backoff.unwrap_or(0)),
            delivery_app_limited: self
                .info
                .delivery_rate_bps
                .map(|_| self.info.delivery_app_limited == Some(true)),
            last_data_sent_us: self.last_sent_ms.map(|ms| ms.saturating_mul(1_000)),
            last_data_recv_us: self.last_received_ms.map(|ms| ms.saturating_mul(1_000)),
            ..self.shown()
        };
        TcpSample {
            wmem_queued_bytes: self.memory.map(|memory| memory.queued),
            sndbuf_bytes: self.memory.map(|memory| memory.send_buffer),
            rmem_alloc_bytes: self.memory.map(|memory| memory.received),
            rcvbuf_bytes: self.memory.map(|memory| memory.receive_buffer),
            ..of_info(t_us, info)
        }
    }

    /// Of a version that prints `notsent` at all: 0 where the queue holds no more than a segment beyond what is out.
    fn not_sent_by(&self, queued: Option<u32>) -> Option<u32> {
        let is_known = self.info.min_rtt_us.is_some() || self.info.busy_us.is_some();
        // What is out is counted in segments, and the queue in bytes.
        if is_known { Some(0) } else { queued.map(|bytes| bytes.saturating_sub(self.info.mss_bytes)) }
    }

    /// Counters that versions which print them leave out where they are 0.
    fn shown(&self) -> TcpInfo {
        let info = self.info;
        let is_counted = info.segs_out.is_some();
        let or_none = |count: Option<u32>| count.or(is_counted.then_some(0));
        let bytes = |count: Option<u64>| count.or(is_counted.then_some(0));
        let is_timed = info.busy_us.is_some();
        let limited = |us: Option<u64>| us.or(is_timed.then_some(0));
        TcpInfo {
            data_segs_in: or_none(info.data_segs_in),
            data_segs_out: or_none(info.data_segs_out),
            bytes_acked: bytes(info.bytes_acked),
            bytes_received: bytes(info.bytes_received),
            rwnd_limited_us: limited(info.rwnd_limited_us),
            sndbuf_limited_us: limited(info.sndbuf_limited_us),
            ..info
        }
    }

    /// `tcp_set_ca_state()`: only these states have lost segments, and only Loss doubles the timer.
    const fn state_of_congestion(&self, lost: u32, again: u32, sacked: u32) -> CaState {
        match (self.info.backoff, lost, again, sacked) {
            (Some(1..), ..) => CaState::Loss,
            (_, 1.., ..) | (_, _, 1.., _) => CaState::Recovery,
            (.., 1..) => CaState::Disorder,
            _ => CaState::Open,
        }
    }
}

impl Memory {
    fn of(value: &str) -> Option<Self> {
        let mut memory = Self::default();
        for part in value.trim_start_matches('(').trim_end_matches(')').split(',') {
            let digits = part.find(|letter: char| letter.is_ascii_digit()).unwrap_or(part.len());
            let (name, figure) = part.split_at(digits);
            let Some(figure) = number(figure) else { continue };
            match name {
                "r" => memory.received = figure,
                "rb" => memory.receive_buffer = figure,
                "tb" => memory.send_buffer = figure,
                "w" => memory.queued = figure,
                _ => {}
            }
        }
        (memory.send_buffer > 0).then_some(memory)
    }
}

/// An address and its port at `at`, and the place behind it: iproute2 prints `10.0.0.1:80`, `[fd00::1]:80`, `10.0.0.1%eth0:80`, and a space before the
/// port where the column is wide.
fn end(words: &[&str], at: usize) -> Option<(String, usize)> {
    let first = *words.get(at)?;
    let is_port = |port: &str| {
        port == "*"
            || (!port.is_empty() && port.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
    };
    let (address, port) = first.rsplit_once(':')?;
    match (address.is_empty(), port.is_empty()) {
        (false, false) if is_port(port) => Some((first.to_owned(), at + 1)),
        (false, true) => {
            Some((format!("{first}{}", words.get(at + 1).filter(|port| is_port(port))?), at + 2))
        }
        _ => None,
    }
}

/// `users:(("iperf3",pid=4711,fd=5))`: the first.
fn process(users: &str) -> Option<Process> {
    let name = users.split('"').nth(1)?.to_owned();
    let pid = users.split("pid=").nth(1)?;
    let pid: String = pid.chars().take_while(char::is_ascii_digit).collect();
    Some(Process { pid: pid.parse().ok()?, name })
}

/// A count at the beginning of a value; more than a socket counts is none.
fn number(value: &str) -> Option<u64> {
    let end = value.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(value.len());
    value.get(..end)?.parse().ok().filter(|&count| count <= COUNT_MAX)
}

/// Milliseconds with a fraction, as microseconds.
fn millis(value: &str) -> Option<u32> {
    millis_long(value).and_then(|us| u32::try_from(us).ok())
}

/// `8680ms`, `2948ms(34.0%)`, `0.024`.
fn millis_long(value: &str) -> Option<u64> {
    let end = value.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(value.len());
    let number: f64 = value.get(..end)?.parse().ok()?;
    (number <= COUNT_MAX as f64 / 1e3).then_some((number * 1e3).round() as u64)
}

/// `3983940bps`, `3.9Mbps`.
fn rate_of(value: &str) -> Option<u64> {
    let text = value.strip_suffix("bps")?;
    let digits = text.trim_end_matches(['K', 'M', 'G', 'T']);
    let factor = match text.get(digits.len()..)? {
        "" => 1.0,
        "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        _ => return None,
    };
    let number: f64 = digits.parse().ok().filter(|number| *number >= 0.0)?;
    (number * factor <= COUNT_MAX as f64).then_some((number * factor) as u64)
}

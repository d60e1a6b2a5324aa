//! A test between two hosts in the form of `iperf3 -J`, and as the lines that iperf3 prints.
//!
//! The members are those that iperf3 3.12 prints, with the same types; what this host does not know is 0, as there.

use super::{datagrams, rated, timestamp};
use serde_json::{Map, Value, json};

/// What one end counted of a stream over some time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counted {
    /// Payload.
    pub bytes: u64,
    /// TCP, at the sender: segments sent again.
    pub retransmits: Option<u64>,
    /// UDP: datagrams that were sent, or that should have arrived.
    pub packets: u64,
    /// UDP, at the receiver.
    pub lost: u64,
    /// UDP, at the receiver.
    pub reordered: u64,
    /// UDP, at the receiver: RFC 3550 jitter, nanoseconds.
    pub jitter_ns: u64,
    /// Length of that time, microseconds.
    pub span_us: u64,
}

/// What the sender's socket said at the end of an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SocketInfo {
    /// Congestion window, bytes.
    pub cwnd_bytes: u64,
    /// Window that the peer advertised, bytes.
    pub rwnd_bytes: u64,
    /// Smoothed round trip, microseconds.
    pub srtt_us: u64,
    /// Its variation, microseconds.
    pub rttvar_us: u64,
    /// MTU of the path, bytes.
    pub pmtu_bytes: u64,
}

/// A stream in an interval, counted by this host.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct IntervalCount {
    /// Counts of the interval alone.
    pub counted: Counted,
    /// Where this host sends over TCP.
    pub look: Option<SocketInfo>,
}

/// An interval.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Interval {
    /// Microseconds since the test began, or since what is left out at the start has ended.
    pub from_us: u64,
    /// Its end.
    pub to_us: u64,
    /// Whether it is left out of the totals.
    pub is_omitted: bool,
    /// Each stream, in order.
    pub streams: Vec<IntervalCount>,
}

/// A stream of the test.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TestStream {
    /// The number that iperf3 prints for it.
    pub socket: u32,
    /// This host's address and port.
    pub local: (String, u16),
    /// The server's.
    pub remote: (String, u16),
    /// Whether this host sends.
    pub sends: bool,
    /// What the sender counted.
    pub sent: Counted,
    /// What the receiver counted.
    pub received: Counted,
}

/// A test.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    /// Version of pipefill.
    pub version: String,
    /// `uname -a`, as iperf3 prints it.
    pub system: String,
    /// Start, milliseconds since the Unix epoch.
    pub started_unix_ms: u64,
    /// What was asked for: host and port.
    pub host: (String, u16),
    /// What the result is to be known by (`-T`).
    pub title: Option<String>,
    /// What the server said of the test, where that was asked for: text, or a document of iperf3's.
    pub server_output: Option<Value>,
    /// The test's name.
    pub cookie: String,
    /// MSS of the first stream of TCP, bytes.
    pub mss_bytes: u64,
    /// `-M`, bytes.
    pub asked_mss: Option<u64>,
    /// `-b`, bits per second; 0 for no bound.
    pub bitrate_bps: u64,
    /// `-w`, bytes; 0 for none.
    pub window_bytes: u64,
    /// `SO_SNDBUF` and `SO_RCVBUF` of the first stream, bytes.
    pub buffers: [u64; 2],
    /// UDP, or TCP.
    pub is_udp: bool,
    /// `-l`, bytes.
    pub length: u64,
    /// `-O`, seconds.
    pub omit_s: u64,
    /// `-t`, seconds.
    pub time_s: u64,
    /// `-n`, bytes.
    pub bytes: u64,
    /// `-k`.
    pub blocks: u64,
    /// `-R`.
    pub is_reverse: bool,
    /// `-S`.
    pub tos: u8,
    /// `-P`.
    pub parallel: u32,
    /// Its streams; with `--bidir` those that this host sends come first.
    pub streams: Vec<TestStream>,
    /// What was counted in between.
    pub intervals: Vec<Interval>,
    /// CPU time as a share of the test, percent (all, user, system): this host's, the server's.
    pub cpu_percent: [[f64; 3]; 2],
    /// Whether a clock of either host was set meanwhile: then no jitter is told.
    pub is_clock_set: bool,
    /// Congestion control of the sender and of the receiver; of `--bidir`'s first direction.
    pub congestion_control: [Option<String>; 2],
}

impl Measured {
    /// The document, with `finding` as the member `pipefill`.
    pub fn document(&self, finding: &Value) -> Value {
        let intervals: Vec<Value> = self.intervals.iter().map(|interval| self.interval(interval)).collect();
        let mut document =
            json!({"start": self.start(), "intervals": intervals, "end": self.end(), "pipefill": finding});
        if let Some(title) = &self.title {
            document["title"] = json!(title);
        }
        if let Some(output) = &self.server_output {
            let name = if output.is_string() { "server_output_text" } else { "server_output_json" };
            document[name] = output.clone();
        }
        document
    }

    /// A clock was set: what compares two clocks says nothing.
    pub fn forget_jitter(&mut self) {
        self.is_clock_set = true;
        for stream in &mut self.streams {
            (stream.sent.jitter_ns, stream.received.jitter_ns) = (0, 0);
        }
        let counts = self.intervals.iter_mut().flat_map(|interval| &mut interval.streams);
        counts.for_each(|count| count.counted.jitter_ns = 0);
    }

    /// Payload that was received of the streams on which this host sends, or of those on which it receives, bits per second; `None` where
    /// there are none.
    pub fn received_bps(&self, sends: bool) -> Option<f64> {
        let of_way =
            || self.streams.iter().filter(|stream| stream.sends == sends).map(|stream| stream.received);
        of_way().next()?;
        let all = sum(of_way());
        Some(all.bytes as f64 * 8e6 / all.span_us.max(1) as f64)
    }

    /// Whether both directions carry data.
    pub fn is_both_ways(&self) -> bool {
        self.streams.iter().any(|stream| stream.sends) && self.streams.iter().any(|stream| !stream.sends)
    }

    fn start(&self) -> Value {
        let connected = self.streams.iter().map(|stream| {
            json!({"socket": stream.socket, "local_host": stream.local.0, "local_port": stream.local.1,
                   "remote_host": stream.remote.0, "remote_port": stream.remote.1})
        });
        let mut start = json!({
            "connected": connected.collect::<Vec<_>>(),
            "version": format!("pipefill {}", self.version),
            "system_info": self.system,
            "timestamp": timestamp(Some(self.started_unix_ms)),
            "connecting_to": {"host": self.host.0, "port": self.host.1},
            "cookie": self.cookie,
            "target_bitrate": self.bitrate_bps,
            "sock_bufsize": self.window_bytes,
            "sndbuf_actual": self.buffers[0],
            "rcvbuf_actual": self.buffers[1],
            "test_start": {
                "protocol": if self.is_udp { "UDP" } else { "TCP" },
                "num_streams": self.parallel,
                "blksize": self.length,
                "omit": self.omit_s,
                "duration": self.time_s,
                "bytes": self.bytes,
                "blocks": self.blocks,
                "reverse": u8::from(self.is_reverse),
                "tos": self.tos,
                "target_bitrate": self.bitrate_bps,
                "bidir": u8::from(self.is_both_ways()),
            },
        });
        if !self.is_udp {
            let (name, mss) =
                self.asked_mss.map_or(("tcp_mss_default", self.mss_bytes), |mss| ("tcp_mss", mss));
            start[name] = json!(mss);
        }
        start
    }

    fn interval(&self, interval: &Interval) -> Value {
        let streams = self.streams.iter().zip(&interval.streams);
        let each = streams.clone().map(|(stream, count)| {
            let mut object = self.of_interval(interval, stream.sends, &count.counted);
            object.insert("socket".to_owned(), json!(stream.socket));
            if let Some(look) = count.look {
                object.extend(members(&[
                    ("snd_cwnd", look.cwnd_bytes),
                    ("snd_wnd", look.rwnd_bytes),
                    ("rtt", look.srtt_us),
                    ("rttvar", look.rttvar_us),
                    ("pmtu", look.pmtu_bytes),
                ]));
            }
            Value::Object(object)
        });
        let mut document = json!({"streams": each.collect::<Vec<_>>()});
        for (name, sends) in self.ways("sum", "sum_bidir_reverse") {
            let of_way = streams.clone().filter(|(stream, _)| stream.sends == sends);
            let sum = sum(of_way.map(|(_, count)| count.counted));
            document[name] = Value::Object(self.of_interval(interval, sends, &sum));
        }
        document
    }

    fn of_interval(&self, interval: &Interval, sends: bool, counted: &Counted) -> Map<String, Value> {
        let mut object = rated(interval.from_us, interval.to_us, counted.bytes, sends);
        object.insert("omitted".to_owned(), json!(interval.is_omitted));
        if self.is_udp && sends {
            object.insert("packets".to_owned(), json!(counted.packets));
        } else if self.is_udp {
            object.extend(datagrams(Some(counted.jitter_ns), counted.lost, counted.packets));
        } else if let Some(retransmits) = counted.retransmits {
            object.insert("retransmits".to_owned(), json!(retransmits));
        }
        object
    }

    fn end(&self) -> Value {
        let mut end =
            json!({"streams": (0..self.streams.len()).map(|at| self.stream_end(at)).collect::<Vec<_>>()});
        for (suffix, sends) in self.ways("", "_bidir_reverse") {
            let of_way = || self.streams.iter().filter(|stream| stream.sends == sends);
            let (sent, received) =
                (sum(of_way().map(|stream| stream.sent)), sum(of_way().map(|stream| stream.received)));
            if self.is_udp {
                let mut all = rated(0, received.span_us, sent.bytes, sends);
                all.extend(datagrams(Some(received.jitter_ns), received.lost, sent.packets));
                end[format!("sum{suffix}")] = Value::Object(all);
            }
            end[format!("sum_sent{suffix}")] = self.sum_of(&sent, sends, true);
            end[format!("sum_received{suffix}")] = self.sum_of(&received, sends, false);
        }
        let [host, remote] = self.cpu_percent;
        end["cpu_utilization_percent"] = json!({
            "host_total": host[0], "host_user": host[1], "host_system": host[2],
            "remote_total": remote[0], "remote_user": remote[1], "remote_system": remote[2],
        });
        let names = ["sender_tcp_congestion", "receiver_tcp_congestion"];
        for (name, control) in names.into_iter().zip(&self.congestion_control) {
            if let (false, Some(control)) = (self.is_udp, control) {
                end[name] = json!(control);
            }
        }
        end
    }

    fn sum_of(&self, counted: &Counted, sends: bool, is_sent: bool) -> Value {
        // Of UDP iperf3 says whose count it is, of TCP which end this host is.
        let is_sender = if self.is_udp { is_sent } else { sends };
        let mut object = rated(0, counted.span_us, counted.bytes, is_sender);
        if self.is_udp {
            object.extend(datagrams(Some(counted.jitter_ns), counted.lost, counted.packets));
        } else if let (true, Some(retransmits)) = (is_sent, counted.retransmits) {
            object.insert("retransmits".to_owned(), json!(retransmits));
        }
        Value::Object(object)
    }

    fn stream_end(&self, at: usize) -> Value {
        let stream = &self.streams[at];
        let side = |counted: &Counted| {
            let mut object = rated(0, counted.span_us, counted.bytes, stream.sends);
            object.insert("socket".to_owned(), json!(stream.socket));
            object
        };
        if self.is_udp {
            let mut all = side(&stream.sent);
            all.extend(datagrams(Some(stream.received.jitter_ns), stream.received.lost, stream.sent.packets));
            all.insert("out_of_order".to_owned(), json!(stream.received.reordered));
            return json!({"udp": all});
        }
        let looks = || self.intervals.iter().filter_map(|interval| interval.streams.get(at)?.look);
        let trips: Vec<u64> = looks().map(|look| look.srtt_us).collect();
        let mut sender = side(&stream.sent);
        sender.extend(members(&[
            ("retransmits", stream.sent.retransmits.unwrap_or(0)),
            ("max_snd_cwnd", looks().map(|look| look.cwnd_bytes).max().unwrap_or(0)),
            ("max_snd_wnd", looks().map(|look| look.rwnd_bytes).max().unwrap_or(0)),
            ("max_rtt", trips.iter().copied().max().unwrap_or(0)),
            ("min_rtt", trips.iter().copied().min().unwrap_or(0)),
            ("mean_rtt", trips.iter().sum::<u64>().checked_div(trips.len() as u64).unwrap_or(0)),
        ]));
        json!({"sender": sender, "receiver": side(&stream.received)})
    }

    /// The names of sums, and whether this host sends what they add up: with data both ways the second name is for what it receives.
    fn ways<'a>(&self, first: &'a str, second: &'a str) -> Vec<(&'a str, bool)> {
        if self.is_both_ways() {
            vec![(first, true), (second, false)]
        } else {
            vec![(first, !self.is_reverse)]
        }
    }
}

fn members(values: &[(&str, u64)]) -> Map<String, Value> {
    values.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
}

/// All streams together: jitter is their mean.
pub(super) fn sum(all: impl Iterator<Item = Counted>) -> Counted {
    let (mut sum, mut count) = (Counted::default(), 0);
    for counted in all {
        count += 1;
        sum.bytes = sum.bytes.saturating_add(counted.bytes);
        sum.retransmits = match (sum.retransmits, counted.retransmits) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        sum.packets = sum.packets.saturating_add(counted.packets);
        sum.lost = sum.lost.saturating_add(counted.lost);
        sum.reordered = sum.reordered.saturating_add(counted.reordered);
        sum.jitter_ns = sum.jitter_ns.saturating_add(counted.jitter_ns);
        sum.span_us = sum.span_us.max(counted.span_us);
    }
    Counted { jitter_ns: sum.jitter_ns / count.max(1), ..sum }
}

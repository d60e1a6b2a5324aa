//! A flow of a run in the form of `iperf3 -J`, for scripts that read that.
//!
//! The client is the scenario's sender host: a forward flow is `iperf3 -c`, a reverse one `iperf3 -c -R`. Fields have iperf3's names
//! and units (`iperf_api.c`, `iperf_json_start()` and the `JSON_…` formats of 3.12), counts are integers, and intervals add up to the
//! sums. An invalid run has iperf3's `error` member.

mod counts;
pub mod lines;
pub mod measured;

use crate::runs::why_invalid;
use crate::wall_clock;
use counts::Counts;
use pipefill_analysis::findings::intervals::{Interval, StreamIntervals};
use pipefill_analysis::ground::interval::carrying;
use pipefill_core::cell::{Direction, FlowSpec, Protocol};
use pipefill_core::record::{Manifest, StreamSummary, ThreadRole, UdpTotals};
use pipefill_core::units::{Bytes, Rate};
use serde_json::{Map, Value, json};

/// Width of iperf3's intervals where nothing else is said.
pub const INTERVAL_US: u64 = 1_000_000;
/// The number that iperf3's first socket usually has.
const FIRST_SOCKET: u32 = 5;
/// Where the first flow's receiver listens in the lab; a later flow's at the port as many behind it.
const FIRST_PORT: u32 = 5201;
/// What iperf3 prints for a port or a buffer that it does not know. A record has no port of the sender.
const UNKNOWN: u32 = 0;
/// Of every path here, bytes.
const MTU: u32 = 1500;

/// A flow's document, indented, with the flow's index in the cell; pings have none. Each ends with a newline.
///
/// # Errors
/// Those of serde_json; none for a value that came from records.
pub fn documents(
    manifest: &Manifest,
    intervals: &[StreamIntervals],
) -> serde_json::Result<Vec<(u32, String)>> {
    carrying(&manifest.run.cell.spec.flows)
        .map(|(index, spec)| {
            let flow = Flow::of(manifest, index, spec, intervals);
            Ok((index, serde_json::to_string_pretty(&flow.document())? + "\n"))
        })
        .collect()
}

/// One flow of a run.
struct Flow<'a> {
    manifest: &'a Manifest,
    index: u32,
    spec: &'a FlowSpec,
    streams: Vec<FlowStream<'a>>,
}

struct FlowStream<'a> {
    socket: u32,
    summary: &'a StreamSummary,
    intervals: Vec<Counts>,
}

impl<'a> Flow<'a> {
    fn of(manifest: &'a Manifest, index: u32, spec: &'a FlowSpec, all: &'a [StreamIntervals]) -> Self {
        let of_flow = manifest.streams.iter().filter(|summary| summary.flow == index);
        let streams = of_flow.zip(FIRST_SOCKET..).map(|(summary, socket)| {
            let of_stream = all.iter().find(|known| known.stream == summary.stream);
            let intervals: &[Interval] = of_stream.map_or(&[], |known| &known.intervals);
            let count = if spec.direction == Direction::Reverse { counts::received } else { counts::sent };
            FlowStream { socket, summary, intervals: count(summary, intervals) }
        });
        Self { manifest, index, spec, streams: streams.collect() }
    }

    fn is_reverse(&self) -> bool {
        self.spec.direction == Direction::Reverse
    }

    fn is_udp(&self) -> bool {
        self.spec.protocol == Protocol::Udp
    }

    fn document(&self) -> Value {
        let mut document = json!({"start": self.start(), "intervals": self.intervals(), "end": self.end()});
        if let Some(why) = why_invalid(&self.manifest.invalid) {
            document["error"] = json!(why);
        }
        document
    }

    fn start(&self) -> Value {
        let spec = self.spec;
        let port = FIRST_PORT + self.index;
        let connected = |stream: &FlowStream<'_>| {
            json!({"socket": stream.socket, "local_host": "sender", "local_port": UNKNOWN, "remote_host": "receiver",
                   "remote_port": port})
        };
        let bitrate = spec.bitrate.map_or(0, Rate::bps);
        json!({
            "connected": self.streams.iter().map(connected).collect::<Vec<_>>(),
            "version": format!("pipefill {}", self.manifest.pipefill),
            "system_info": self.manifest.environment.kernel.as_ref().map(|kernel| format!("Linux {kernel}")),
            "timestamp": timestamp(self.manifest.started_unix_ms),
            "connecting_to": {"host": "receiver", "port": port},
            "cookie": self.manifest.run.id,
            "tcp_mss_default": self.streams.iter().find_map(|stream| stream.summary.tcp).map(|info| info.mss_bytes),
            "target_bitrate": bitrate,
            "fq_rate": spec.max_pacing_rate.map_or(0, Rate::bps),
            "sndbuf_actual": self.buffer("sender", "SO_SNDBUF", "net.ipv4.tcp_wmem"),
            "rcvbuf_actual": self.buffer("receiver", "SO_RCVBUF", "net.ipv4.tcp_rmem"),
            "sock_bufsize": spec.sndbuf.or(spec.rcvbuf).map_or(0, Bytes::get),
            "test_start": {
                "protocol": if self.is_udp() { "UDP" } else { "TCP" },
                "num_streams": self.streams.len(),
                "blksize": spec.length.get(),
                "omit": 0,
                "duration": spec.duration.as_secs_f64(),
                "bytes": 0,
                "blocks": 0,
                "reverse": u8::from(self.is_reverse()),
                "tos": 0,
                "target_bitrate": bitrate,
                "bidir": 0,
            },
        })
    }

    /// Of the client's first socket, as it was read back where this end of the stream set `option`, else the middle value of `sysctl`.
    fn buffer(&self, end: &str, option: &str, sysctl: &str) -> u64 {
        let got = |place: &str, name: &str| {
            let mut settings = self.manifest.settings.iter();
            settings.find(|setting| setting.place == place && setting.name == name)?.got.as_deref()
        };
        let is_clients = (end == "receiver") == self.is_reverse();
        let place = self.streams.first().map(|stream| format!("stream {} {end}", stream.summary.stream));
        let own = place.filter(|_| is_clients).and_then(|place| got(&place, option)?.parse().ok());
        let default = || got("sender", sysctl)?.split_whitespace().nth(1)?.parse().ok();
        own.or_else(|| default().filter(|_| !self.is_udp())).unwrap_or(UNKNOWN.into())
    }

    /// What the client counts: what it sends, or in a reverse flow what it receives.
    fn intervals(&self) -> Vec<Value> {
        let count = self.streams.iter().map(|stream| stream.intervals.len()).max().unwrap_or(0);
        (0..count)
            .map(|at| {
                let of_all =
                    || self.streams.iter().filter_map(|stream| Some((stream, stream.intervals.get(at)?)));
                let streams: Vec<Value> =
                    of_all().map(|(stream, counts)| self.interval(stream, counts)).collect();
                let sum = self.interval_sum(&of_all().map(|(_, counts)| counts).collect::<Vec<_>>());
                json!({"streams": streams, "sum": sum})
            })
            .collect()
    }

    fn interval(&self, stream: &FlowStream<'_>, interval: &Counts) -> Value {
        let mut object = rated(interval.from_us, interval.to_us, interval.bytes, !self.is_reverse());
        object.insert("socket".to_owned(), json!(stream.socket));
        object.insert("omitted".to_owned(), json!(false));
        if let Some(look) = interval.look {
            object.insert("snd_cwnd".to_owned(), json!(look.cwnd_bytes));
            object.insert("snd_wnd".to_owned(), json!(look.rwnd_bytes));
            object.insert("rtt".to_owned(), json!(look.srtt_us));
            object.insert("rttvar".to_owned(), json!(look.rttvar_us));
            object.insert("pmtu".to_owned(), json!(MTU));
        }
        self.insert_counts(&mut object, interval);
        Value::Object(object)
    }

    fn interval_sum(&self, intervals: &[&Counts]) -> Value {
        let Some(first) = intervals.first() else { return Value::Null };
        let jitters: Vec<u64> = intervals.iter().filter_map(|interval| interval.jitter_ns).collect();
        let sum = Counts {
            bytes: intervals.iter().map(|interval| interval.bytes).sum(),
            retransmits: intervals.iter().map(|interval| interval.retransmits).sum(),
            packets: intervals.iter().map(|interval| interval.packets).sum(),
            lost_packets: intervals.iter().map(|interval| interval.lost_packets).sum(),
            jitter_ns: jitters.iter().sum::<u64>().checked_div(jitters.len() as u64),
            ..**first
        };
        let mut object = rated(sum.from_us, sum.to_us, sum.bytes, !self.is_reverse());
        object.insert("omitted".to_owned(), json!(false));
        self.insert_counts(&mut object, &sum);
        Value::Object(object)
    }

    fn insert_counts(&self, object: &mut Map<String, Value>, counts: &Counts) {
        if let (true, Some(packets)) = (self.is_udp(), counts.packets) {
            if self.is_reverse() {
                object.extend(datagrams(counts.jitter_ns, counts.lost_packets, packets));
            } else {
                object.insert("packets".to_owned(), json!(packets));
            }
        } else if let Some(retransmits) = counts.retransmits {
            object.insert("retransmits".to_owned(), json!(retransmits));
        }
    }

    fn end(&self) -> Value {
        let sent: u64 = self.streams.iter().map(|stream| stream.summary.sent_bytes).sum();
        let received: u64 = self.streams.iter().map(|stream| stream.summary.received_bytes).sum();
        let span_us = self.streams.iter().map(FlowStream::length_us).max().unwrap_or(0);
        let received_us = self.streams.iter().map(FlowStream::received_us).max().unwrap_or(0);
        let mut end = Map::new();
        end.insert("streams".to_owned(), self.streams.iter().map(|stream| self.stream_end(stream)).collect());
        let is_client = !self.is_reverse();
        let (mut sum_sent, mut sum_received) =
            (rated(0, span_us, sent, is_client), rated(0, received_us, received, is_client));
        if self.is_udp() {
            let udp = self.udp_totals();
            let seen = datagrams(udp.jitter_ns, udp.sent.saturating_sub(udp.received), udp.sent);
            end.insert("sum".to_owned(), with(rated(0, received_us, sent, is_client), seen.clone()));
            // The sender knows of no loss and no jitter: iperf3 prints 0.
            sum_sent.extend(datagrams(None, 0, udp.sent));
            sum_sent.insert("sender".to_owned(), json!(true));
            sum_received.extend(seen);
            sum_received.insert("sender".to_owned(), json!(false));
        } else {
            let retransmits: Option<u32> =
                self.streams.iter().map(|stream| stream.summary.tcp.map(|info| info.retransmits)).sum();
            sum_sent.insert("retransmits".to_owned(), json!(retransmits));
            let hosts = &self.manifest.run.cell.spec;
            let control =
                |host: &str| self.spec.congestion_control.clone().unwrap_or_else(|| host.to_owned());
            let [sender, receiver] = [&hosts.sender, &hosts.receiver].map(|host| &host.congestion_control);
            end.insert(
                "sender_tcp_congestion".to_owned(),
                json!(control(if is_client { sender } else { receiver })),
            );
            end.insert(
                "receiver_tcp_congestion".to_owned(),
                json!(if is_client { receiver } else { sender }),
            );
        }
        end.insert("sum_sent".to_owned(), Value::Object(sum_sent));
        end.insert("sum_received".to_owned(), Value::Object(sum_received));
        end.insert("cpu_utilization_percent".to_owned(), self.cpu(span_us));
        Value::Object(end)
    }

    fn stream_end(&self, stream: &FlowStream<'_>) -> Value {
        let FlowStream { socket, summary, intervals } = stream;
        let side = |length_us: u64, bytes: u64| {
            let mut object = rated(0, length_us, bytes, !self.is_reverse());
            object.insert("socket".to_owned(), json!(socket));
            object
        };
        if let Some(udp) = summary.udp {
            let lost = udp.sent.saturating_sub(udp.received);
            let mut seen = datagrams(udp.jitter_ns, lost, udp.sent);
            seen.insert("out_of_order".to_owned(), json!(udp.reordered));
            return json!({"udp": with(side(stream.length_us(), summary.sent_bytes), seen)});
        }
        let mut sender = side(stream.length_us(), summary.sent_bytes);
        sender.insert("retransmits".to_owned(), json!(summary.tcp.map(|info| info.retransmits)));
        // A client that receives knows nothing of these: iperf3 prints 0.
        let looks = || intervals.iter().filter_map(|interval| interval.look);
        let trips: Vec<u64> = looks().filter_map(|look| look.srtt_us).collect();
        let mean = trips.iter().sum::<u64>().checked_div(trips.len() as u64);
        let seen = [
            ("max_snd_cwnd", looks().filter_map(|look| look.cwnd_bytes).max()),
            ("max_snd_wnd", looks().filter_map(|look| look.rwnd_bytes).max()),
            ("max_rtt", trips.iter().max().copied()),
            ("min_rtt", trips.iter().min().copied()),
            ("mean_rtt", mean),
        ];
        let unknown = u64::from(UNKNOWN);
        sender.extend(seen.map(|(name, value)| (name.to_owned(), json!(value.unwrap_or(unknown)))));
        json!({"sender": sender, "receiver": side(stream.received_us(), summary.received_bytes)})
    }

    fn udp_totals(&self) -> UdpTotals {
        let totals = self.streams.iter().filter_map(|stream| stream.summary.udp);
        let jitters: Vec<u64> = totals.clone().filter_map(|totals| totals.jitter_ns).collect();
        let mut sum = UdpTotals {
            jitter_ns: jitters.iter().sum::<u64>().checked_div(jitters.len() as u64),
            ..UdpTotals::default()
        };
        for stream_totals in totals {
            sum.sent = sum.sent.saturating_add(stream_totals.sent);
            sum.received = sum.received.saturating_add(stream_totals.received);
        }
        sum
    }

    /// The client is the scenario's sender host, whichever way the data goes.
    fn cpu(&self, span_us: u64) -> Value {
        let is_of = |role: &ThreadRole, sends: bool| {
            role.flow() == Some(self.index) && matches!(role, ThreadRole::Sender { .. }) == sends
        };
        let percent = |sends: bool| {
            let threads = self.manifest.instrument.threads.iter();
            let mut threads = threads.filter(|thread| is_of(&thread.thread, sends)).peekable();
            threads.peek()?;
            let (user, system) =
                threads.fold((0, 0), |sum, thread| (sum.0 + thread.user_us, sum.1 + thread.system_us));
            let share = |us: u64| 100.0 * us as f64 / span_us.max(1) as f64;
            Some([share(user + system), share(user), share(system)])
        };
        let [host, remote] = [!self.is_reverse(), self.is_reverse()].map(percent);
        let part = |side: Option<[f64; 3]>, at: usize| side.map(|shares| shares[at]);
        json!({
            "host_total": part(host, 0), "host_user": part(host, 1), "host_system": part(host, 2),
            "remote_total": part(remote, 0), "remote_user": part(remote, 1), "remote_system": part(remote, 2),
        })
    }
}

impl FlowStream<'_> {
    fn length_us(&self) -> u64 {
        self.summary.stop_us.saturating_sub(self.summary.start_us)
    }

    /// Until the receiver had its last byte, and at least as long as the sender sent.
    fn received_us(&self) -> u64 {
        self.summary.end_us.saturating_sub(self.summary.start_us).max(self.length_us())
    }
}

/// The fields that everything that is counted has.
fn rated(from_us: u64, to_us: u64, bytes: u64, is_sender: bool) -> Map<String, Value> {
    let [start, end, seconds] = [from_us, to_us, to_us.saturating_sub(from_us)].map(|us| us as f64 / 1e6);
    let rate = if to_us > from_us { bytes as f64 * 8.0 / seconds } else { 0.0 };
    let fields = [
        ("start", json!(start)),
        ("end", json!(end)),
        ("seconds", json!(seconds)),
        ("bytes", json!(bytes)),
        ("bits_per_second", json!(rate)),
        ("sender", json!(is_sender)),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// What a receiver of datagrams saw. Before the second datagram jitter is 0 (RFC 3550), of none there is 0 % loss: so iperf3 has them.
fn datagrams(jitter_ns: Option<u64>, lost: u64, packets: u64) -> Map<String, Value> {
    let percent = if packets > 0 { 100.0 * lost as f64 / packets as f64 } else { 0.0 };
    let fields = [
        ("jitter_ms", json!(jitter_ns.unwrap_or(0) as f64 / 1e6)),
        ("lost_packets", json!(lost)),
        ("packets", json!(packets)),
        ("lost_percent", json!(percent)),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn with(mut object: Map<String, Value>, more: Map<String, Value>) -> Value {
    object.extend(more);
    Value::Object(object)
}

/// iperf3's form is that of HTTP, which ends with the year 9999. In virtual time there is none.
fn timestamp(unix_ms: Option<u64>) -> Value {
    let time = unix_ms.and_then(wall_clock::moment).map(httpdate::fmt_http_date);
    json!({"time": time, "timesecs": unix_ms.map(|ms| ms / 1_000)})
}

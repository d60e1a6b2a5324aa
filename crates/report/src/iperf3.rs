//! A flow of a run in the form of `iperf3 -J`, for scripts that read that.
//!
//! The client is the scenario's sender host: a forward flow is `iperf3 -c`, a reverse one `iperf3 -c -R`. Fields have iperf3's names
//! and units (`iperf_api.c`, `iperf_json_start()` and the `JSON_…` formats of 3.12). Never: a number for what a record does not have;
//! ports, cookies and the like are null.

use crate::wall_clock;
use pipefill_analysis::intervals::{Interval, StreamIntervals};
use pipefill_core::cell::{Direction, FlowSpec, Protocol};
use pipefill_core::record::{Manifest, StreamSummary, ThreadRole, UdpTotals};
use pipefill_core::units::{Bytes, Rate};
use serde_json::{Map, Value, json};

/// Width of iperf3's intervals where nothing else is said.
pub const INTERVAL_US: u64 = 1_000_000;
/// The number that iperf3's first socket usually has.
const FIRST_SOCKET: u32 = 5;

/// A flow's document, indented, with the flow's index in the cell; pings have none. Each ends with a newline.
///
/// # Errors
/// Those of serde_json; none for a value that came from records.
pub fn documents(
    manifest: &Manifest,
    intervals: &[StreamIntervals],
) -> serde_json::Result<Vec<(u32, String)>> {
    let flows = (0..).zip(&manifest.run.cell.spec.flows);
    let measured = flows.filter(|(_, flow)| flow.protocol != Protocol::Ping);
    measured
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
    streams: Vec<Stream<'a>>,
}

struct Stream<'a> {
    socket: u32,
    summary: &'a StreamSummary,
    intervals: &'a [Interval],
}

impl<'a> Flow<'a> {
    fn of(manifest: &'a Manifest, index: u32, spec: &'a FlowSpec, all: &'a [StreamIntervals]) -> Self {
        let of_flow = manifest.streams.iter().filter(|summary| summary.flow == index);
        let streams = of_flow.zip(FIRST_SOCKET..).map(|(summary, socket)| {
            let of_stream = all.iter().find(|one| one.stream == summary.stream);
            Stream { socket, summary, intervals: of_stream.map_or(&[], |one| &one.intervals) }
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
        json!({"start": self.start(), "intervals": self.intervals(), "end": self.end()})
    }

    fn start(&self) -> Value {
        let spec = self.spec;
        let connected = |stream: &Stream<'_>| {
            json!({"socket": stream.socket, "local_host": "sender", "local_port": null, "remote_host": "receiver",
                   "remote_port": null})
        };
        let bitrate = spec.bitrate.map_or(0, Rate::bps);
        json!({
            "connected": self.streams.iter().map(connected).collect::<Vec<_>>(),
            "version": format!("pipefill {}", self.manifest.pipefill),
            "system_info": self.manifest.environment.kernel.as_ref().map(|kernel| format!("Linux {kernel}")),
            "timestamp": timestamp(self.manifest.started_unix_ms),
            "connecting_to": {"host": "receiver", "port": null},
            "cookie": self.manifest.run.id,
            "tcp_mss_default": self.streams.iter().find_map(|one| one.summary.tcp).map(|info| info.mss_bytes),
            "target_bitrate": bitrate,
            "fq_rate": spec.max_pacing_rate.map_or(0, Rate::bps),
            "sndbuf_actual": null,
            "rcvbuf_actual": null,
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

    /// What the client counts: what it sends, or in a reverse flow what it receives.
    fn intervals(&self) -> Vec<Value> {
        let count = self.streams.iter().map(|stream| stream.intervals.len()).max().unwrap_or(0);
        (0..count)
            .map(|at| {
                let of_all = || self.streams.iter().filter_map(|one| Some((one.socket, one.intervals.get(at)?)));
                let streams: Vec<Value> = of_all().map(|(socket, one)| self.interval(socket, one)).collect();
                json!({"streams": streams, "sum": self.interval_sum(&of_all().map(|(_, one)| one).collect::<Vec<_>>())})
            })
            .collect()
    }

    fn interval(&self, socket: u32, interval: &Interval) -> Value {
        let mut object = self.counted(interval, self.bytes(interval));
        object.insert("socket".to_owned(), json!(socket));
        object.insert("omitted".to_owned(), json!(false));
        if let Some(look) = interval.look.filter(|_| !self.is_reverse()) {
            object.insert("snd_cwnd".to_owned(), json!(look.cwnd_bytes));
            object.insert("snd_wnd".to_owned(), json!(look.rwnd_bytes));
            object.insert("rtt".to_owned(), json!(look.srtt_us));
            object.insert("rttvar".to_owned(), json!(look.rttvar_us));
            object.insert("pmtu".to_owned(), Value::Null);
        }
        self.insert_counts(&mut object, interval.retransmits, interval.datagrams);
        Value::Object(object)
    }

    fn interval_sum(&self, intervals: &[&Interval]) -> Value {
        let Some(first) = intervals.first() else { return Value::Null };
        let bytes = intervals.iter().map(|one| self.bytes(one)).sum();
        let mut object = self.counted(first, bytes);
        object.insert("omitted".to_owned(), json!(false));
        let retransmits = intervals.iter().map(|one| one.retransmits).sum();
        self.insert_counts(&mut object, retransmits, intervals.iter().map(|one| one.datagrams).sum());
        Value::Object(object)
    }

    fn insert_counts(
        &self,
        object: &mut Map<String, Value>,
        retransmits: Option<f64>,
        datagrams: Option<f64>,
    ) {
        if self.is_udp() {
            object.insert("packets".to_owned(), json!(datagrams.map(f64::round)));
        } else if !self.is_reverse() {
            object.insert("retransmits".to_owned(), json!(retransmits.map(f64::round)));
        }
    }

    fn bytes(&self, interval: &Interval) -> f64 {
        if self.is_reverse() { interval.received_bytes } else { interval.sent_bytes }
    }

    fn counted(&self, interval: &Interval, bytes: f64) -> Map<String, Value> {
        rated(interval.from_us, interval.to_us, bytes.round(), !self.is_reverse())
    }

    fn end(&self) -> Value {
        let sent: f64 = self.streams.iter().map(|one| one.summary.sent_bytes as f64).sum();
        let received: f64 = self.streams.iter().map(|one| one.summary.received_bytes as f64).sum();
        let span_us = self.streams.iter().map(Stream::length_us).max().unwrap_or(0);
        let mut end = Map::new();
        end.insert("streams".to_owned(), self.streams.iter().map(|one| self.stream_end(one)).collect());
        let is_client = !self.is_reverse();
        let (mut sum_sent, mut sum_received) =
            (rated(0, span_us, sent, is_client), rated(0, span_us, received, is_client));
        if self.is_udp() {
            let totals = udp_fields(&self.udp_totals());
            end.insert("sum".to_owned(), with(rated(0, span_us, sent, is_client), &totals));
            sum_sent.extend(totals.clone());
            sum_received.extend(totals);
        } else {
            let retransmits: Option<u32> =
                self.streams.iter().map(|one| one.summary.tcp.map(|info| info.retransmits)).sum();
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

    fn stream_end(&self, stream: &Stream<'_>) -> Value {
        let Stream { socket, summary, intervals } = stream;
        let side = |bytes: u64| {
            let mut object = rated(0, stream.length_us(), bytes as f64, !self.is_reverse());
            object.insert("socket".to_owned(), json!(socket));
            object
        };
        if let Some(udp) = summary.udp {
            return json!({"udp": with(side(summary.sent_bytes), &udp_fields(&udp))});
        }
        let mut sender = side(summary.sent_bytes);
        sender.insert("retransmits".to_owned(), json!(summary.tcp.map(|info| info.retransmits)));
        let looks = || intervals.iter().filter_map(|one| one.look);
        let trips: Vec<u64> = looks().filter_map(|look| look.srtt_us).collect();
        sender.insert("max_snd_cwnd".to_owned(), json!(looks().map(|look| look.cwnd_bytes).max()));
        sender.insert("max_snd_wnd".to_owned(), json!(looks().filter_map(|look| look.rwnd_bytes).max()));
        sender.insert("max_rtt".to_owned(), json!(trips.iter().max()));
        sender.insert("min_rtt".to_owned(), json!(trips.iter().min()));
        let mean = trips.iter().sum::<u64>().checked_div(trips.len() as u64);
        sender.insert("mean_rtt".to_owned(), json!(mean));
        json!({"sender": sender, "receiver": side(summary.received_bytes)})
    }

    fn udp_totals(&self) -> UdpTotals {
        let totals = self.streams.iter().filter_map(|one| one.summary.udp);
        let jitters: Vec<u64> = totals.clone().filter_map(|one| one.jitter_ns).collect();
        let mut sum = UdpTotals {
            jitter_ns: jitters.iter().sum::<u64>().checked_div(jitters.len() as u64),
            ..UdpTotals::default()
        };
        for one in totals {
            sum.sent = sum.sent.saturating_add(one.sent);
            sum.received = sum.received.saturating_add(one.received);
            sum.reordered = sum.reordered.saturating_add(one.reordered);
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
            let mut threads = threads.filter(|one| is_of(&one.thread, sends)).peekable();
            threads.peek()?;
            let (user, system) =
                threads.fold((0, 0), |sum, one| (sum.0 + one.user_us, sum.1 + one.system_us));
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

impl Stream<'_> {
    fn length_us(&self) -> u64 {
        self.summary.stop_us.saturating_sub(self.summary.start_us)
    }
}

/// The fields that everything that is counted has.
fn rated(from_us: u64, to_us: u64, bytes: f64, is_sender: bool) -> Map<String, Value> {
    let [start, end, seconds] = [from_us, to_us, to_us.saturating_sub(from_us)].map(|us| us as f64 / 1e6);
    let rate = if to_us > from_us { bytes * 8.0 / seconds } else { 0.0 };
    let fields = json!({
        "start": start, "end": end, "seconds": seconds, "bytes": bytes as u64, "bits_per_second": rate, "sender": is_sender,
    });
    match fields {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn udp_fields(udp: &UdpTotals) -> Map<String, Value> {
    let lost = udp.sent.saturating_sub(udp.received);
    let percent = (udp.sent > 0).then(|| 100.0 * lost as f64 / udp.sent as f64);
    let fields = json!({
        "jitter_ms": udp.jitter_ns.map(|ns| ns as f64 / 1e6), "lost_packets": lost, "packets": udp.sent,
        "lost_percent": percent, "out_of_order": udp.reordered,
    });
    match fields {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn with(mut object: Map<String, Value>, more: &Map<String, Value>) -> Value {
    object.extend(more.clone());
    Value::Object(object)
}

/// iperf3's form is that of HTTP. In virtual time there is none.
fn timestamp(unix_ms: Option<u64>) -> Value {
    let time = unix_ms.and_then(wall_clock::moment).map(httpdate::fmt_http_date);
    json!({"time": time, "timesecs": unix_ms.map(|ms| ms / 1_000)})
}

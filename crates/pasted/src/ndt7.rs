//! Measurements of NDT7: what a client prints line by line, and the archive of a server, with `TCPInfo` and `BBRInfo`.
//!
//! <https://github.com/m-lab/ndt-server/blob/main/spec/ndt7-protocol.md>: the members of `TCPInfo` are those of the kernel's struct, in its units.

use crate::documents::each;
use crate::number::{Number, Text};
use crate::output::{Output, OutputConnection, ReadError};
use crate::samples::{ESTABLISHED, USUAL_MSS, are_rounds, of_info};
use pipefill_core::record::{Gap, Observed, ReadFrom, TcpSample};
use pipefill_core::tcp_info::{CaState, TcpInfo};
use serde::Deserialize;
use std::time::Duration;

/// A line of a client, or the archive of a server.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Document {
    #[serde(rename = "Value")]
    value: Option<Box<Measurement>>,
    #[serde(rename = "Download")]
    download: Option<Archive>,
    #[serde(rename = "Upload")]
    upload: Option<Archive>,
    #[serde(flatten)]
    own: Measurement,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Archive {
    server_measurements: Vec<Measurement>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Measurement {
    #[serde(rename = "TCPInfo")]
    tcp_info: Option<KernelInfo>,
    #[serde(rename = "BBRInfo")]
    bbr_info: Option<BbrInfo>,
    #[serde(rename = "ConnectionInfo")]
    connection_info: Ends,
    #[serde(rename = "Test")]
    test: Text,
    #[serde(rename = "Origin")]
    origin: Text,
}

/// `struct tcp_bbr_info` of the kernel: only where the socket has BBR.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct BbrInfo {
    /// Bytes per second.
    #[serde(rename = "BW")]
    bw: Number,
    /// Microseconds.
    #[serde(rename = "MinRTT")]
    min_rtt: Number,
    /// In 256ths.
    pacing_gain: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Ends {
    client: Text,
    server: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct KernelInfo {
    #[serde(rename = "CAState")]
    ca_state: Number,
    #[serde(rename = "SndMSS")]
    snd_mss: Number,
    snd_cwnd: Number,
    #[serde(rename = "SndSsThresh")]
    snd_ss_thresh: Number,
    unacked: Number,
    sacked: Number,
    lost: Number,
    retrans: Number,
    #[serde(rename = "RTT")]
    rtt: Number,
    #[serde(rename = "RTTVar")]
    rtt_var: Number,
    #[serde(rename = "MinRTT")]
    min_rtt: Number,
    #[serde(rename = "RTO")]
    rto: Number,
    backoff: Number,
    pacing_rate: Number,
    delivery_rate: Number,
    app_limited: Number,
    bytes_acked: Number,
    bytes_received: Number,
    bytes_sent: Number,
    bytes_retrans: Number,
    total_retrans: Number,
    segs_out: Number,
    data_segs_out: Number,
    data_segs_in: Number,
    #[serde(rename = "NotsentBytes")]
    notsent_bytes: Number,
    busy_time: Number,
    #[serde(rename = "RWndLimited")]
    rwnd_limited: Number,
    snd_buf_limited: Number,
    delivered: Number,
    #[serde(rename = "DeliveredCE")]
    delivered_ce: Number,
    #[serde(rename = "DSackDups")]
    dsack_dups: Number,
    reord_seen: Number,
    snd_wnd: Number,
    elapsed_time: Number,
}

/// Reads every document of `text`. The measurements of a test come from one server's socket.
pub(crate) fn read(text: &str) -> Result<Output, ReadError> {
    let mut tests: Vec<Test> = Vec::new();
    let mut take = |measurement: &Measurement, test: &str| {
        let Some(info) = &measurement.tcp_info else { return };
        let test = measurement.test.0.as_deref().unwrap_or(test);
        let ends = &measurement.connection_info;
        let (server, client) = (ends.server.0.clone(), ends.client.0.clone());
        if tests.last().is_none_or(|last| last.name != test) {
            tests.push(Test { name: test.to_owned(), ..Test::default() });
        }
        let Some(test) = tests.last_mut() else { return };
        if let (true, Some((server, client))) = (test.observed.local.is_empty(), server.zip(client)) {
            (test.observed.local, test.observed.remote) = (server, client);
        }
        test.has_bbr |= measurement.bbr_info.is_some();
        let t_us = info.elapsed_time.count().unwrap_or(0);
        if test.samples.last().is_none_or(|last| last.t_us < t_us) {
            let mut sample = info.sample(t_us);
            measurement.bbr_info.iter().for_each(|bbr| bbr.add_to(&mut sample.info));
            test.samples.push(sample);
        }
    };
    let is_cut_off = each(text, |document: Document| {
        let archives = [(document.download, "download"), (document.upload, "upload")];
        for (archive, test) in archives.iter().filter_map(|(archive, test)| Some((archive.as_ref()?, test))) {
            archive.server_measurements.iter().for_each(|measurement| take(measurement, test));
        }
        // What a client measures of its own socket in a browser is none of the kernel's.
        let is_servers = |measurement: &Measurement| measurement.origin.0.as_deref() != Some("client");
        for measurement in document.value.iter().map(|boxed| &**boxed).chain([&document.own]) {
            if is_servers(measurement) {
                take(measurement, "");
            }
        }
    })?;
    let connections = tests.into_iter().filter_map(connection);
    Ok(Output {
        program: "NDT7".to_owned(),
        is_cut_off,
        connections: connections.collect(),
        ..Output::default()
    })
}

/// The measurements of one test.
#[derive(Debug, Default)]
struct Test {
    name: String,
    observed: Observed,
    samples: Vec<TcpSample>,
    has_bbr: bool,
}

fn connection(test: Test) -> Option<OutputConnection> {
    let Test { observed, samples, has_bbr, .. } = test;
    let (first, second) = (samples.first()?, samples.get(1)?);
    let last = samples.last()?;
    let gaps = [Some(Gap::SendBuffer), last.info.rwnd_bytes.is_none().then_some(Gap::ReceiveWindow)];
    Some(OutputConnection {
        observed: Observed {
            // The server of a download writes as fast as it can; that of an upload only reads.
            writes_all: last.info.bytes_acked > last.info.bytes_received,
            read_from: Some(ReadFrom {
                sample_per_round: are_rounds(&samples),
                gaps: gaps.into_iter().flatten().collect(),
                ..ReadFrom::default()
            }),
            ..observed
        },
        congestion_control: if has_bbr { "bbr".to_owned() } else { String::new() },
        every: Duration::from_micros(second.t_us.saturating_sub(first.t_us)),
        samples,
        ..OutputConnection::default()
    })
}

impl BbrInfo {
    /// What `TCPInfo` of an older server lacks: `bbr_set_pacing_rate()` paces at the bandwidth times the gain.
    fn add_to(&self, info: &mut TcpInfo) {
        let paced =
            self.bw.positive().zip(self.pacing_gain.positive()).map(|(bw, gain)| bw * 8.0 * gain / 256.0);
        let paced = paced.filter(|bps| (1.0..1e15).contains(bps)).map(|bps| bps as u64);
        info.pacing_rate_bps = info.pacing_rate_bps.or(paced);
        info.min_rtt_us = info.min_rtt_us.or(self.min_rtt.count32().filter(|&us| us > 0));
    }
}

impl KernelInfo {
    fn sample(&self, t_us: u64) -> TcpSample {
        let mss = self.snd_mss.count32().filter(|&mss| mss > 0).unwrap_or(USUAL_MSS);
        let bytes = |segments: Number| segments.count().map(|count| count.saturating_mul(u64::from(mss)));
        let count = |segments: Number| segments.count().unwrap_or(0);
        let out = count(self.unacked).saturating_add(count(self.retrans));
        let in_flight = out.saturating_sub(count(self.sacked).saturating_add(count(self.lost)));
        let time = |us: Number| us.count32().filter(|&us| us > 0);
        // Bytes a second; all bits are set where there is no limit.
        let rate =
            |bytes: Number| bytes.count().filter(|&bytes| bytes > 0).map(|bytes| bytes.saturating_mul(8));
        let ca_state = self.ca_state.count().and_then(|state| u8::try_from(state).ok());
        let info = TcpInfo {
            state: ESTABLISHED,
            ca_state: ca_state.and_then(CaState::from_kernel),
            mss_bytes: mss,
            cwnd_bytes: bytes(self.snd_cwnd),
            ssthresh_bytes: bytes(self.snd_ss_thresh).filter(|&bytes| bytes < u64::from(u32::MAX)),
            in_flight_bytes: Some(in_flight.saturating_mul(u64::from(mss))),
            unacked_bytes: bytes(self.unacked).unwrap_or(0),
            sacked_segments: self.sacked.count32(),
            lost_segments: self.lost.count32(),
            retrans_segments: self.retrans.count32(),
            notsent_bytes: self.notsent_bytes.count32(),
            rwnd_bytes: self.snd_wnd.count32().filter(|&window| window > 0),
            srtt_us: time(self.rtt),
            rttvar_us: time(self.rtt_var),
            min_rtt_us: time(self.min_rtt),
            rto_us: time(self.rto),
            backoff: self.backoff.count().and_then(|doublings| u8::try_from(doublings).ok()),
            pacing_rate_bps: rate(self.pacing_rate),
            delivery_rate_bps: rate(self.delivery_rate),
            delivery_app_limited: self.app_limited.0.map(|is_so| is_so != 0.0),
            bytes_sent: self.bytes_sent.count(),
            bytes_retrans: self.bytes_retrans.count(),
            bytes_acked: self.bytes_acked.count(),
            bytes_received: self.bytes_received.count(),
            retransmits: self.total_retrans.count32().unwrap_or(0),
            segs_out: self.segs_out.count32(),
            data_segs_out: self.data_segs_out.count32(),
            data_segs_in: self.data_segs_in.count32(),
            delivered_segments: self.delivered.count32(),
            delivered_ce_segments: self.delivered_ce.count32(),
            dsack_dups: self.dsack_dups.count32(),
            reord_seen: self.reord_seen.count32(),
            busy_us: self.busy_time.count(),
            rwnd_limited_us: self.rwnd_limited.count(),
            sndbuf_limited_us: self.snd_buf_limited.count(),
            ..TcpInfo::default()
        };
        of_info(t_us, info)
    }
}

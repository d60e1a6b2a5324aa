//! What a client asks for: the document that follows [`super::TestState::ParamExchange`] (`send_parameters()`, `get_parameters()`).

use super::member::Members;
use super::{ProtocolError, STREAMS_MAX};
use serde_json::{Map, Value, json};

/// The longest block of TCP (`MAX_BLOCKSIZE`), bytes.
pub const BLOCK_MAX: u64 = 1 << 20;
/// The longest payload of a datagram over IPv4, bytes (`MAX_UDP_BLOCKSIZE`).
pub const DATAGRAM_MAX: u64 = 65_507;
/// The shortest datagram that has a header with a counter of 64 bits, bytes (`MIN_UDP_BLOCKSIZE`).
pub const DATAGRAM_MIN: u64 = 16;
/// The longest test (`MAX_TIME`), seconds.
const TIME_MAX: u64 = 86_400;
/// The longest time that is left out at the start (`MAX_OMIT_TIME`), seconds.
const OMIT_MAX: u64 = 600;
/// The largest buffer (`MAX_TCP_BUFFER`), bytes.
const WINDOW_MAX: u64 = 512 << 20;
/// The largest MSS (`MAX_MSS`), bytes.
const MSS_MAX: u64 = 9 * 1024;

/// Name of [`Parameters::read_rate_bps`] in our own member.
const READ_RATE: &str = "read_rate_bps";

/// What carries the data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Transport {
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp,
}

/// Which way data goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TestDirection {
    /// From the client to the server.
    #[default]
    ToServer,
    /// From the server to the client (`-R`).
    ToClient,
    /// Both at once (`--bidir`): each way has all the streams.
    Both,
}

impl TestDirection {
    /// Whether the client sends.
    pub const fn client_sends(self) -> bool {
        matches!(self, Self::ToServer | Self::Both)
    }

    /// Whether the server sends.
    pub const fn server_sends(self) -> bool {
        matches!(self, Self::ToClient | Self::Both)
    }
}

/// What is asked for. Lengths are bytes, times whole seconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parameters {
    /// TCP or UDP.
    pub transport: Transport,
    /// Which way.
    pub way: TestDirection,
    /// Streams in each direction.
    pub streams: u32,
    /// `-t`; 0 where `-n` or `-k` says when it ends.
    pub time_s: u64,
    /// `-O`: what is left out at the start.
    pub omit_s: u64,
    /// `-n`: payload of all streams together; 0 for no bound.
    pub bytes: u64,
    /// `-k`: blocks of all streams together; 0 for no bound.
    pub blocks: u64,
    /// `-l`: payload of one write or datagram.
    pub length: u64,
    /// `-b`: payload of each stream, bits per second; 0 for no bound.
    pub bitrate_bps: u64,
    /// `--fq-rate`: what the kernel paces each stream to, bits per second; 0 for no bound.
    pub pacing_bps: u64,
    /// `-w`: both buffers of a socket.
    pub window: Option<u64>,
    /// `-M`.
    pub mss: Option<u64>,
    /// `-N`.
    pub no_delay: bool,
    /// `-C`.
    pub congestion_control: Option<String>,
    /// `-S`: the byte of the IP header.
    pub tos: u8,
    /// `--udp-counters-64bit`.
    pub has_wide_counters: bool,
    /// Its version, where it says so (since 3.2).
    pub client_version: Option<String>,
    /// Whether it can read our telemetry ([`crate::far_end`]).
    pub wants_telemetry: bool,
    /// Whether it asks for the time where the server says that it tells it ([`crate::clock`]).
    pub wants_clock: bool,
    /// Whether its first datagrams have the name of the test ([`super::datagram::named_hello`]).
    pub names_hellos: bool,
    /// `--get-server-output`: whether the server's results are to have what it says of the test.
    pub wants_output: bool,
    /// Our own: what each stream of TCP is read at most, bits per second; 0 for no bound. A stock server knows nothing of it.
    pub read_rate_bps: u64,
}

impl Parameters {
    /// Reads a client's document.
    ///
    /// # Errors
    /// [`ProtocolError::Member`] for one that is no number, or not within iperf3's own bounds.
    pub fn read(document: &Value) -> Result<Self, ProtocolError> {
        let members = Members::of(document)?;
        let count = |name, most| Ok::<u64, ProtocolError>(members.count(name, most)?.unwrap_or(0));
        if members.flag("sctp") {
            return Err(ProtocolError::Member { member: "sctp", why: "is not supported".to_owned() });
        }
        let transport = if members.flag("udp") { Transport::Udp } else { Transport::Tcp };
        let way = match (members.flag("reverse"), members.flag("bidirectional")) {
            (_, true) => TestDirection::Both,
            (true, false) => TestDirection::ToClient,
            (false, false) => TestDirection::ToServer,
        };
        let streams = members.count("parallel", STREAMS_MAX.into())?.unwrap_or(1).max(1);
        let congestion_control = members.text("congestion")?.filter(|name| !name.is_empty());
        Ok(Self {
            transport,
            way,
            streams: u32::try_from(streams).unwrap_or(1),
            time_s: count("time", TIME_MAX)?,
            omit_s: count("omit", OMIT_MAX)?,
            bytes: count("num", u64::MAX)?,
            blocks: count("blockcount", u64::MAX)?,
            length: length(transport, members.count("len", BLOCK_MAX)?.unwrap_or(0))?,
            bitrate_bps: count("bandwidth", u64::MAX)?,
            pacing_bps: count("fqrate", u64::MAX)?,
            window: members.count("window", WINDOW_MAX)?.filter(|&window| window > 0),
            mss: members.count("MSS", MSS_MAX)?.filter(|&mss| mss > 0),
            no_delay: members.flag("nodelay"),
            congestion_control,
            tos: u8::try_from(count("TOS", 255)?).unwrap_or(0),
            has_wide_counters: members.flag("udp_counters_64bit"),
            client_version: members.text("client_version")?,
            wants_telemetry: members.any(crate::far_end::MEMBER).is_some(),
            wants_output: members.flag("get_server_output"),
            wants_clock: own_flag(&members, "clock"),
            names_hellos: own_flag(&members, "named_hellos"),
            read_rate_bps: members.any(crate::far_end::MEMBER).map_or(Ok(0), read_rate)?,
        })
    }

    /// The document that a client sends, as iperf3 itself writes it, and our own member.
    pub fn document(&self) -> Value {
        let mut object = Map::new();
        let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
        put(if self.transport == Transport::Udp { "udp" } else { "tcp" }, json!(true));
        put("omit", json!(self.omit_s));
        for (name, value) in [
            ("time", self.time_s),
            ("num", self.bytes),
            ("blockcount", self.blocks),
            ("MSS", self.mss.unwrap_or(0)),
            ("window", self.window.unwrap_or(0)),
            ("len", self.length),
            ("bandwidth", self.bitrate_bps),
            ("fqrate", self.pacing_bps),
            ("TOS", self.tos.into()),
        ] {
            if value > 0 {
                put(name, json!(value));
            }
        }
        put("parallel", json!(self.streams));
        match self.way {
            TestDirection::ToServer => None,
            TestDirection::ToClient => put("reverse", json!(true)),
            TestDirection::Both => put("bidirectional", json!(true)),
        };
        for (name, is_set) in [
            ("nodelay", self.no_delay),
            ("udp_counters_64bit", self.has_wide_counters),
            ("get_server_output", self.wants_output),
        ] {
            if is_set {
                put(name, json!(1));
            }
        }
        put("pacing_timer", json!(1_000));
        for (name, text) in
            [("congestion", &self.congestion_control), ("client_version", &self.client_version)]
        {
            if let Some(text) = text {
                put(name, json!(text));
            }
        }
        if self.wants_telemetry {
            let mut member = json!({"version": crate::far_end::VERSION});
            if self.read_rate_bps > 0 {
                member[READ_RATE] = json!(self.read_rate_bps);
            }
            if self.wants_clock {
                member["clock"] = json!(true);
            }
            if self.names_hellos {
                member["named_hellos"] = json!(true);
            }
            put(crate::far_end::MEMBER, member);
        }
        Value::Object(object)
    }

    /// Payload after which the test ends, bytes; `None` where the time ends it.
    pub const fn goal(&self) -> Option<u64> {
        match (self.bytes, self.blocks) {
            (0, 0) => None,
            (0, blocks) => Some(blocks.saturating_mul(self.length)),
            (bytes, _) => Some(bytes),
        }
    }
}

/// A flag in our own member.
fn own_flag(members: &Members<'_>, name: &str) -> bool {
    members.any(crate::far_end::MEMBER).and_then(|own| own.get(name)) == Some(&json!(true))
}

/// Of our own member, which may be of a version that has more in it.
fn read_rate(member: &Value) -> Result<u64, ProtocolError> {
    let Ok(members) = Members::of(member) else { return Ok(0) };
    Ok(members.count(READ_RATE, u64::MAX)?.unwrap_or(0))
}

/// Of a block: what is asked, or iperf3's default. A datagram has room for its header.
fn length(transport: Transport, asked: u64) -> Result<u64, ProtocolError> {
    let (default, least, most) = match transport {
        Transport::Tcp => (128 << 10, 1, BLOCK_MAX),
        Transport::Udp => (1_460, DATAGRAM_MIN, DATAGRAM_MAX),
    };
    match asked {
        0 => Ok(default),
        asked if (least..=most).contains(&asked) => Ok(asked),
        asked => Err(ProtocolError::Member {
            member: "len",
            why: format!("is {asked}: {least} to {most} it may be"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As Debian's iperf3 3.12 sends it: `-c … -u -b 10M -R -P 4`.
    const OF_3_12: &str = r#"{"udp":true,"omit":0,"time":10,"num":0,"blockcount":0,"parallel":4,"reverse":true,"len":1448,
        "bandwidth":10000000,"pacing_timer":1000,"client_version":"3.12"}"#;

    #[test]
    fn a_stock_clients_document_is_read() {
        let read = Parameters::read(&serde_json::from_str(OF_3_12).unwrap()).unwrap();
        assert_eq!((read.transport, read.way, read.streams), (Transport::Udp, TestDirection::ToClient, 4));
        assert_eq!((read.time_s, read.length, read.bitrate_bps), (10, 1448, 10_000_000));
        assert!(!read.wants_telemetry && read.goal().is_none());
    }

    #[test]
    fn what_is_written_is_read() {
        let asked = Parameters {
            way: TestDirection::Both,
            streams: 3,
            time_s: 0,
            omit_s: 2,
            bytes: 1 << 40,
            length: 1 << 17,
            window: Some(65_536),
            mss: Some(1_000),
            no_delay: true,
            congestion_control: Some("reno".to_owned()),
            client_version: Some("3.12".to_owned()),
            wants_telemetry: true,
            wants_clock: true,
            wants_output: true,
            read_rate_bps: 20_000_000,
            ..Parameters::default()
        };
        assert_eq!(Parameters::read(&asked.document()), Ok(asked));
    }

    #[test]
    fn what_is_out_of_bounds_is_named() {
        for (text, member) in [
            (r#"{"parallel":129}"#, "parallel"),
            (r#"{"len":1e300}"#, "len"),
            (r#"{"udp":true,"len":4}"#, "len"),
            (r#"{"time":-1}"#, "time"),
            (r#"{"omit":"x"}"#, "omit"),
            (r#"{"congestion":"a\u0007b"}"#, "congestion"),
            (r#"{"sctp":true}"#, "sctp"),
        ] {
            let error = Parameters::read(&serde_json::from_str(text).unwrap()).unwrap_err();
            assert!(error.to_string().contains(member), "{text}: {error}");
        }
        assert!(Parameters::read(&json!([1])).is_err());
        assert_eq!(Parameters::read(&json!({"num": 1e16})).unwrap().bytes, 10_000_000_000_000_000);
    }

    proptest! {
        #[test]
        fn any_bytes_are_parameters_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(document) = super::super::document::parse(&bytes) {
                let _read = Parameters::read(&document);
            }
        }
    }
}

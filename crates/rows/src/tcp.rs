//! The row of a TCP socket: its own members and those of its `info` beside each other in one object, read in one pass. serde's `flatten` holds every
//! member in between, and takes several times the time.

use crate::as_written::Members;
use pipefill_core::record::{Gaps, StreamEnd, TcpSample};
use pipefill_core::tcp_info::TcpInfo;
use serde::de::value::{CowStrDeserializer, MapAccessDeserializer};
use serde::de::{DeserializeSeed, Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Result;
use std::borrow::Cow;
use std::fmt;

/// A row of `tcp.jsonl.zst` as [`as_written`](crate::as_written) reads it: the sample's own members are before and after those of its `info`.
pub(super) fn as_written(gaps: Gaps, line: &str) -> Option<TcpSample> {
    let mut members = Members::of(gaps, line);
    let (socket, info, buffers): (Socket, TcpInfo, Buffers) =
        (members.read().ok()?, members.read().ok()?, members.read().ok()?);
    members.are_over().then_some(TcpSample {
        t_us: socket.t_us,
        stream: socket.stream,
        end: socket.end,
        info,
        wmem_queued_bytes: buffers.wmem_queued_bytes,
        sndbuf_bytes: buffers.sndbuf_bytes,
        rmem_alloc_bytes: buffers.rmem_alloc_bytes,
        rcvbuf_bytes: buffers.rcvbuf_bytes,
        raw: buffers.raw,
    })
}

/// The members of a [`TcpSample`] before its `info`.
#[derive(Deserialize)]
struct Socket {
    t_us: u64,
    stream: u32,
    end: StreamEnd,
}

/// The members of a [`TcpSample`] after its `info`.
#[derive(Deserialize)]
struct Buffers {
    wmem_queued_bytes: Option<u64>,
    sndbuf_bytes: Option<u64>,
    rmem_alloc_bytes: Option<u64>,
    rcvbuf_bytes: Option<u64>,
    raw: Option<String>,
}

/// A row of `tcp.jsonl.zst` with its members in any order.
pub(super) fn sample(line: &str) -> Result<TcpSample> {
    let mut text = serde_json::Deserializer::from_str(line);
    let sample = text.deserialize_map(SampleVisitor)?;
    text.end()?;
    Ok(sample)
}

/// The name of a member; one with an escape is not borrowed.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

struct SampleVisitor;

impl<'de> Visitor<'de> for SampleVisitor {
    type Value = TcpSample;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a sample of a TCP socket")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> std::result::Result<TcpSample, A::Error> {
        let mut own = OwnMembers::default();
        let info = TcpInfo::deserialize(MapAccessDeserializer::new(InfoMembers { members, own: &mut own }))?;
        Ok(TcpSample {
            t_us: own.t_us.ok_or_else(|| Error::missing_field("t_us"))?,
            stream: own.stream.ok_or_else(|| Error::missing_field("stream"))?,
            end: own.end.ok_or_else(|| Error::missing_field("end"))?,
            info,
            wmem_queued_bytes: own.wmem_queued_bytes.flatten(),
            sndbuf_bytes: own.sndbuf_bytes.flatten(),
            rmem_alloc_bytes: own.rmem_alloc_bytes.flatten(),
            rcvbuf_bytes: own.rcvbuf_bytes.flatten(),
            raw: own.raw.flatten(),
        })
    }
}

/// The members of a [`TcpSample`] beside its `info`, as far as they were read.
#[derive(Default)]
struct OwnMembers {
    t_us: Option<u64>,
    stream: Option<u32>,
    end: Option<StreamEnd>,
    wmem_queued_bytes: Option<Option<u64>>,
    sndbuf_bytes: Option<Option<u64>>,
    rmem_alloc_bytes: Option<Option<u64>>,
    rcvbuf_bytes: Option<Option<u64>>,
    raw: Option<Option<String>>,
}

/// The members of a row without the sample's own, which are kept in `own`.
struct InfoMembers<'a, A> {
    members: A,
    own: &'a mut OwnMembers,
}

impl<'de, A: MapAccess<'de>> InfoMembers<'_, A> {
    /// Reads the value of the sample's own member `name`; whether it is one.
    fn keep(&mut self, name: &str) -> std::result::Result<bool, A::Error> {
        let (members, own) = (&mut self.members, &mut *self.own);
        match name {
            "t_us" => once(&mut own.t_us, "t_us", members)?,
            "stream" => once(&mut own.stream, "stream", members)?,
            "end" => once(&mut own.end, "end", members)?,
            "wmem_queued_bytes" => once(&mut own.wmem_queued_bytes, "wmem_queued_bytes", members)?,
            "sndbuf_bytes" => once(&mut own.sndbuf_bytes, "sndbuf_bytes", members)?,
            "rmem_alloc_bytes" => once(&mut own.rmem_alloc_bytes, "rmem_alloc_bytes", members)?,
            "rcvbuf_bytes" => once(&mut own.rcvbuf_bytes, "rcvbuf_bytes", members)?,
            "raw" => once(&mut own.raw, "raw", members)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn once<'de, T: Deserialize<'de>, A: MapAccess<'de>>(
    member: &mut Option<T>,
    name: &'static str,
    members: &mut A,
) -> std::result::Result<(), A::Error> {
    if member.replace(members.next_value()?).is_some() {
        return Err(Error::duplicate_field(name));
    }
    Ok(())
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for InfoMembers<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> std::result::Result<Option<K::Value>, A::Error> {
        while let Some(Name(name)) = self.members.next_key::<Name<'de>>()? {
            if !self.keep(&name)? {
                return seed.deserialize(CowStrDeserializer::new(name)).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> std::result::Result<V::Value, A::Error> {
        self.members.next_value_seed(seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Members that every row has of its `info`.
    const INFO: &str = r#""state":1,"mss_bytes":1448,"unacked_bytes":0,"retransmits":0"#;

    #[test]
    fn members_come_in_any_order_and_unknown_ones_are_let_pass() {
        let row = format!(
            r#"{{"cwnd_bytes":14480,"new":{{"a":[1]}},"t\u005fus":7,"raw":null,{INFO},"end":"sender","sndbuf_bytes":87040,"stream":3}}"#
        );
        let read = sample(&row).unwrap();
        assert_eq!((read.t_us, read.stream, read.end), (7, 3, StreamEnd::Sender));
        assert_eq!((read.info.mss_bytes, read.info.cwnd_bytes), (1448, Some(14480)));
        assert_eq!((read.sndbuf_bytes, read.rcvbuf_bytes, read.raw), (Some(87040), None, None));
    }

    #[test]
    fn what_is_no_row_names_the_member() {
        let error = |members: &str| sample(&format!("{{{INFO},{members}}}")).unwrap_err().to_string();
        assert!(error(r#""t_us":1,"end":"sender""#).contains("missing field `stream`"));
        assert!(error(r#""t_us":1,"t_us":2,"stream":0,"end":"sender""#).contains("duplicate field `t_us`"));
        assert!(error(r#""t_us":1,"stream":0,"end":"both""#).contains("unknown variant `both`"));
        assert!(error(r#""t_us":1,"stream":0,"end":"sender","state":2"#).contains("duplicate field `state`"));
        let ends_late = format!(r#"{{{INFO},"t_us":1,"stream":0,"end":"sender"}}x"#);
        assert!(sample(&ends_late).unwrap_err().to_string().contains("trailing characters"));
        assert!(sample("[]").unwrap_err().to_string().contains("a sample of a TCP socket"));
    }
}

use super::{Gaps, row};
use crate::{Line, gaps, refuse_large, tcp};
use pipefill_core::record::{
    AqmSample, CpuSample, DatagramSample, DeliverySample, PacketSample, PathSample, PingSample, Retransmit,
    StreamEnd, TcpSample, UdpSample,
};
use serde::de::value::Error;
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use std::cell::Cell;
use std::fmt::Debug;
use std::slice::Iter;

/// Makes a value of any type of a row: every number is another one.
#[derive(Clone, Copy)]
struct Filler<'a> {
    last: &'a Cell<u8>,
    /// Whether what may be without a value has one.
    is_full: bool,
}

impl Filler<'_> {
    fn next(self) -> u8 {
        self.last.set(self.last.get() + 1);
        self.last.get()
    }
}

impl<'de> Deserializer<'de> for Filler<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u8(self.next())
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_bool(true)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_string(format!("text {}", self.next()))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.is_full { visitor.visit_some(self) } else { visitor.visit_none() }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(variants[variants.len() - 1].into_deserializer())
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_map(Filled { filler: self, fields: fields.iter() })
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str bytes byte_buf unit unit_struct newtype_struct seq tuple tuple_struct map
        identifier ignored_any
    }
}

/// A struct of which every field has a value.
struct Filled<'a> {
    filler: Filler<'a>,
    fields: Iter<'static, &'static str>,
}

impl<'de> MapAccess<'de> for Filled<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        self.fields.next().map(|name| seed.deserialize((*name).into_deserializer())).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(self.filler)
    }
}

fn filled<T: for<'de> Deserialize<'de>>(is_full: bool) -> T {
    T::deserialize(Filler { last: &Cell::new(0), is_full }).unwrap()
}

fn socket(is_full: bool) -> TcpSample {
    let number = |number: u64| is_full.then_some(number);
    TcpSample {
        wmem_queued_bytes: number(101),
        sndbuf_bytes: number(102),
        rmem_alloc_bytes: number(103),
        rcvbuf_bytes: number(104),
        raw: is_full.then(|| "AAE=".to_owned()),
        ..TcpSample::of_info(105, 106, StreamEnd::Receiver, filled(is_full))
    }
}

/// What any reader of JSON makes of `line`.
fn by_serde<R: Line>(line: &str) -> serde_json::Result<R> {
    let mut text = line.to_owned();
    gaps::open(R::GAPS, &mut text);
    refuse_large(text.as_bytes())?;
    serde_json::from_str(&text)
}

/// Full and empty rows are read as they were written, and a line with another byte as serde reads it or not at all.
fn lines_are_read<R: Line + PartialEq + Debug>(
    make: impl Fn(bool) -> R,
    read: impl Fn(Gaps, &str) -> Option<R>,
) {
    for is_full in [false, true] {
        let (wanted, mut line) = (make(is_full), String::new());
        wanted.write(&mut line).unwrap();
        assert_eq!(read(R::GAPS, &line).as_ref(), Some(&wanted), "{line}");
        assert_eq!(by_serde::<R>(&line).unwrap(), wanted, "{line}");
        for at in 0..line.len() {
            for byte in b"09x\"{},:-. \\e\x01".iter().map(|&byte| char::from(byte)) {
                let changed = format!("{}{byte}{}", &line[..at], &line[at + 1..]);
                if let Some(row) = read(R::GAPS, &changed) {
                    assert_eq!(by_serde::<R>(&changed).unwrap(), row, "{changed}");
                }
                let inserted = format!("{}{byte}{}", &line[..at], &line[at..]);
                if let Some(row) = read(R::GAPS, &inserted) {
                    assert_eq!(by_serde::<R>(&inserted).unwrap(), row, "{inserted}");
                }
            }
            assert!(read(R::GAPS, &line[..at]).is_none(), "cut at {at}: {line}");
        }
    }
}

#[test]
fn rows_of_every_table_are_read_as_written() {
    lines_are_read(socket, tcp::as_written);
    lines_are_read(filled::<DeliverySample>, row);
    lines_are_read(filled::<UdpSample>, row);
    lines_are_read(filled::<PingSample>, row);
    lines_are_read(filled::<PathSample>, row);
    lines_are_read(filled::<CpuSample>, row);
    lines_are_read(filled::<Retransmit>, row);
    lines_are_read(filled::<PacketSample>, row);
    lines_are_read(filled::<DatagramSample>, row);
    lines_are_read(filled::<AqmSample>, row);
}

#[test]
fn another_layout_is_left_to_serde() {
    let read = |line: &str| row::<DeliverySample>(Gaps::NONE, line);
    let whole = r#"{"t_us":1,"stream":0,"sent_bytes":2,"received_bytes":3}"#;
    assert!(read(whole).is_some());
    for (part, other) in [
        (r#""t_us":1,"stream":0"#, r#""stream":0,"t_us":1"#),
        (r#""t_us":1"#, r#""t_us":1,"t_us":1"#),
        (r#""t_us":1"#, r#""later":4,"t_us":1"#),
        (r#""t_us":1"#, r#""t\u005fus":1"#),
        (r#""t_us":1"#, r#""t_us":01"#),
        (r#""t_us":1"#, r#""t_us":1.0"#),
        (r#""t_us":1"#, r#""t_us":null"#),
        (r#""t_us":1"#, r#""t_us":1000000000000000"#),
        (":3}", ":3 }"),
        (":3}", ":3}}"),
        (":3}", ":3"),
    ] {
        let line = whole.replace(part, other);
        assert!(line != whole && read(&line).is_none(), "{line}");
    }
}

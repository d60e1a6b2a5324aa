//! A line as [`Line::write`](crate::Line::write) lays it out: one object, its members in the order of the type's fields, without spaces, escapes,
//! signs or fractions. Names are compared with the next expected one and values are read in place: several times as fast as a reader of any JSON.
//!
//! Invariant: a line with anything else is not read here at all, so that `serde_json` reads it and words the error.

use crate::bounds::DIGITS;
use pipefill_core::record::{Gaps, NO_VALUE};
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};
use std::fmt;

/// The row that `line` holds; `None` where the line is laid out in another way.
pub(super) fn row<T: DeserializeOwned>(gaps: Gaps, line: &str) -> Option<T> {
    let mut members = Members::of(gaps, line);
    let row = members.read().ok()?;
    members.are_over().then_some(row)
}

/// The members of a line that are still to be read.
pub(super) struct Members<'de> {
    gaps: Gaps,
    line: &'de str,
    at: usize,
    /// Whether no member of the object was read.
    is_first: bool,
}

impl<'de> Members<'de> {
    pub(super) fn of(gaps: Gaps, line: &'de str) -> Self {
        Self { gaps, line, at: 0, is_first: true }
    }

    /// A struct of the next members, as many of them as are fields of `T`.
    pub(super) fn read<T: Deserialize<'de>>(&mut self) -> Result<T, OtherLayout> {
        T::deserialize(self)
    }

    /// Whether nothing follows but the end of the object.
    pub(super) fn are_over(&self) -> bool {
        !self.is_first && &self.line.as_bytes()[self.at..] == b"}"
    }

    /// The place of the next member's name among `fields`, and the name; `None` where it is none of them. Its value is what follows.
    fn name(&mut self, fields: &'static [&'static str]) -> Option<(usize, &'static str)> {
        let before: &[u8] = if self.is_first { b"{\"" } else { b",\"" };
        let text = self.line.as_bytes()[self.at..].strip_prefix(before)?;
        let is_next = |name: &&&'static str| {
            let rest = text.strip_prefix(name.as_bytes());
            rest.is_some_and(|rest| rest.starts_with(b"\":"))
        };
        let place = fields.iter().position(|name| is_next(&name))?;
        self.at += before.len() + fields[place].len() + 2;
        self.is_first = false;
        Some((place, fields[place]))
    }

    /// The value of the member `name`, which is next.
    fn value(&mut self, name: &str) -> Result<Value<'de>, OtherLayout> {
        let rest = &self.line[self.at..];
        let (value, length) = match rest.as_bytes() {
            [b'0'..=b'9', ..] => number(rest.as_bytes(), || self.gaps.numbers.contains(&name))?,
            [b'"', text @ ..] => {
                let length = text.iter().position(|&byte| matches!(byte, b'"' | b'\\' | ..b' '));
                let length = length.filter(|&length| text[length] == b'"').ok_or(OtherLayout)?;
                let is_gap = length == 0 && self.gaps.texts.contains(&name);
                (if is_gap { Value::Missing } else { Value::Text(&rest[1..=length]) }, length + 2)
            }
            [b't', b'r', b'u', b'e', ..] => (Value::Flag(true), 4),
            [b'f', b'a', b'l', b's', b'e', ..] => (Value::Flag(false), 5),
            _ => return Err(OtherLayout),
        };
        self.at += length;
        match self.line.as_bytes().get(self.at) {
            Some(b',' | b'}') => Ok(value),
            _ => Err(OtherLayout),
        }
    }

    /// The struct that `seed` reads from the object that is next.
    fn object<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, OtherLayout> {
        self.is_first = true;
        let object = seed.deserialize(&mut *self)?;
        let is_read = !self.is_first && self.line.as_bytes().get(self.at) == Some(&b'}');
        self.at += 1;
        if is_read { Ok(object) } else { Err(OtherLayout) }
    }
}

/// The integer at the start of `text`, and how long it is.
fn number(text: &[u8], has_gaps: impl FnOnce() -> bool) -> Result<(Value<'static>, usize), OtherLayout> {
    let (mut value, mut length) = (0_u64, 0);
    while let Some(digit) = text.get(length).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
        // The first one that is too long for [`refuse_large`] to let pass unseen.
        if length == DIGITS {
            return Err(OtherLayout);
        }
        value = value * 10 + u64::from(digit);
        length += 1;
    }
    if length > 1 && text[0] == b'0' {
        return Err(OtherLayout);
    }
    match length {
        DIGITS if value == NO_VALUE && has_gaps() => Ok((Value::Missing, length)),
        DIGITS => Err(OtherLayout),
        _ => Ok((Value::Number(value), length)),
    }
}

impl<'de> Deserializer<'de> for &mut Members<'de> {
    type Error = OtherLayout;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, OtherLayout> {
        visitor.visit_map(Fields { members: self, fields, passed: 0, name: "" })
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, OtherLayout> {
        Err(OtherLayout)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq tuple
        tuple_struct map enum identifier ignored_any
    }
}

/// The next members, as fields of a struct.
struct Fields<'a, 'de> {
    members: &'a mut Members<'de>,
    fields: &'static [&'static str],
    /// Fields up to that of the last member.
    passed: usize,
    /// Of the last member.
    name: &'static str,
}

impl<'de> MapAccess<'de> for Fields<'_, 'de> {
    type Error = OtherLayout;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, OtherLayout> {
        let Some((place, name)) = self.members.name(&self.fields[self.passed..]) else { return Ok(None) };
        let field = self.passed + place;
        (self.passed, self.name) = (field + 1, name);
        // A field's place is as good a key as its name, and needs no comparison.
        seed.deserialize((field as u64).into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, OtherLayout> {
        match self.members.line.as_bytes().get(self.members.at) {
            Some(b'{') => self.members.object(seed),
            _ => seed.deserialize(self.members.value(self.name)?),
        }
    }
}

/// The value of a member.
enum Value<'de> {
    Missing,
    Flag(bool),
    Number(u64),
    Text(&'de str),
}

impl<'de> Deserializer<'de> for Value<'de> {
    type Error = OtherLayout;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, OtherLayout> {
        match self {
            Self::Missing => visitor.visit_unit(),
            Self::Flag(flag) => visitor.visit_bool(flag),
            Self::Number(number) => visitor.visit_u64(number),
            Self::Text(text) => visitor.visit_borrowed_str(text),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, OtherLayout> {
        match self {
            Self::Missing => visitor.visit_none(),
            value => visitor.visit_some(value),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, OtherLayout> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, OtherLayout> {
        match self {
            Self::Text(text) => visitor.visit_enum(BorrowedStrDeserializer::new(text)),
            _ => Err(OtherLayout),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

/// The line is not as this program writes it, or holds no such row.
#[derive(Debug)]
pub(super) struct OtherLayout;

impl fmt::Display for OtherLayout {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a line of another layout")
    }
}

impl std::error::Error for OtherLayout {}

impl de::Error for OtherLayout {
    fn custom<T: fmt::Display>(_message: T) -> Self {
        Self
    }
}

#[cfg(test)]
mod tests;

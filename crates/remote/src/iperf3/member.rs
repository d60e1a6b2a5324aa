//! Members of iperf3's JSON as cJSON reads them: a number may be written as `1e+16`, and a flag is there or not.

use super::ProtocolError;
use serde_json::{Map, Value};

/// The members of a document.
pub(super) struct Members<'a>(&'a Map<String, Value>);

impl<'a> Members<'a> {
    /// Of a document, which has to be an object.
    pub(super) fn of(document: &'a Value) -> Result<Self, ProtocolError> {
        let object = document.as_object();
        object.map(Self).ok_or_else(|| ProtocolError::NotJson("it is no object".to_owned()))
    }

    /// A whole number from 0 to `most`; `None` where it is absent.
    pub(super) fn count(&self, member: &'static str, most: u64) -> Result<Option<u64>, ProtocolError> {
        let Some(number) = self.number(member)? else { return Ok(None) };
        // 2^64 itself is no u64; a fraction is cut off, as cJSON does.
        if !(0.0..18_446_744_073_709_551_616.0).contains(&number) || number as u64 > most {
            return Err(ProtocolError::Member { member, why: format!("is {number}: 0 to {most} it may be") });
        }
        Ok(Some(number as u64))
    }

    /// Any number.
    pub(super) fn number(&self, member: &'static str) -> Result<Option<f64>, ProtocolError> {
        let Some(value) = self.0.get(member) else { return Ok(None) };
        let number = value.as_f64().filter(|number| number.is_finite());
        number.map(Some).ok_or_else(|| ProtocolError::Member { member, why: "is no number".to_owned() })
    }

    /// A flag: there, and not false or 0.
    pub(super) fn flag(&self, member: &str) -> bool {
        match self.0.get(member) {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(value) => value.as_f64() != Some(0.0),
        }
    }

    /// A text of printable characters, 256 bytes at most.
    pub(super) fn text(&self, member: &'static str) -> Result<Option<String>, ProtocolError> {
        const MOST: usize = 256;
        let Some(value) = self.0.get(member) else { return Ok(None) };
        let is_short = |text: &&str| text.len() <= MOST && !text.chars().any(char::is_control);
        let text = value.as_str().filter(is_short).map(str::to_owned);
        text.map(Some).ok_or_else(|| ProtocolError::Member {
            member,
            why: format!("is no text of at most {MOST} printable characters"),
        })
    }

    /// A list; empty where it is absent.
    pub(super) fn list(&self, member: &'static str) -> Result<&'a [Value], ProtocolError> {
        match self.0.get(member) {
            None => Ok(&[]),
            Some(Value::Array(list)) => Ok(list),
            Some(_) => Err(ProtocolError::Member { member, why: "is no list".to_owned() }),
        }
    }

    /// Whatever it is.
    pub(super) fn any(&self, member: &str) -> Option<&'a Value> {
        self.0.get(member)
    }
}

//! Documents of the control connection: four bytes of length in network order, then JSON (`JSON_write()`, `JSON_read()`).

use super::ProtocolError;
use serde_json::Value;

/// Bytes of the length.
pub const PREFIX: usize = 4;
/// Parameters that a server reads at most, bytes: as many as iperf3 3.18 (`MAX_PARAMS_JSON_STRING`).
pub const PARAMETERS_MAX: u32 = 8 << 10;
/// Results that a server reads at most, bytes: those of 256 streams have less than 64 KiB.
pub const CLIENT_RESULTS_MAX: u32 = 256 << 10;
/// Results that a client reads at most, bytes. They may have the server's own output or telemetry with them.
pub const SERVER_RESULTS_MAX: u32 = 16 << 20;

/// The length that `prefix` announces, bytes.
///
/// # Errors
/// [`ProtocolError::TooLong`] where that is more than `most`: nothing is to be set aside for it then.
pub const fn length(prefix: [u8; PREFIX], most: u32) -> Result<usize, ProtocolError> {
    let length = u32::from_be_bytes(prefix);
    if length > most { Err(ProtocolError::TooLong { length, most }) } else { Ok(length as usize) }
}

/// What a document says. A zero at its end is no part of it.
///
/// # Errors
/// [`ProtocolError::NotJson`], also where it is nested deeper than 128 levels.
pub fn parse(bytes: &[u8]) -> Result<Value, ProtocolError> {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    serde_json::from_slice(&bytes[..end]).map_err(|error| ProtocolError::NotJson(error.to_string()))
}

/// `value` as it is sent, its length first.
pub fn write(value: &Value) -> Vec<u8> {
    let text = value.to_string();
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes(), text.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_is_read_and_lengths_are_bounded() {
        let bytes = write(&json!({"tcp": true}));
        let prefix: [u8; PREFIX] = bytes[..PREFIX].try_into().unwrap();
        assert_eq!(length(prefix, 100), Ok(bytes.len() - PREFIX));
        assert_eq!(parse(&bytes[PREFIX..]).unwrap(), json!({"tcp": true}));
        assert_eq!(length([255; PREFIX], 100), Err(ProtocolError::TooLong { length: u32::MAX, most: 100 }));
        assert_eq!(parse(b"{}\0").unwrap(), json!({}));
        assert!(parse("[".repeat(10_000).as_bytes()).is_err());
        assert!(parse(b"").is_err());
    }
}

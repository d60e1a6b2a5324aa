//! Integers of a record: none is larger than what a JSON reader holds exactly, so that sums and products of a few of them fit into 64
//! bits, whoever wrote the record.

/// 2^53: beyond it a double, and with it most readers of JSON, rounds. As nanoseconds three months, as bytes 9 PB.
const LARGEST: u64 = 1 << 53;
/// Keys whose integers may be of any size: nobody calculates with a seed, and the kernel's pacing rate may mean "without limit".
const UNBOUNDED: [&[u8]; 3] = [b"seed", b"pacing_rate_bps", b"max_pacing_rate_bps"];

/// Digits of the shortest integer that can be too large.
pub(super) const DIGITS: usize = 16;

/// Refuses integers with which nobody could calculate: a record's rows and its manifest have none.
///
/// # Errors
/// With the key of the first of them. Text that is no JSON may pass.
pub fn refuse_large(text: &[u8]) -> Result<(), serde_json::Error> {
    too_large(text).map_or(Ok(()), |key| {
        Err(serde::de::Error::custom(format!("\"{key}\" is an integer above 2^53, which no run measures")))
    })
}

/// The first integer of the JSON `text` that is too large, by its key. Text that is no JSON has none, or any.
fn too_large(text: &[u8]) -> Option<String> {
    if has_long_number(text) { first_too_large(text) } else { None }
}

/// Whether there are [`DIGITS`] digits in a row: a few looks at each row, since most have none.
fn has_long_number(text: &[u8]) -> bool {
    let mut at = DIGITS - 1;
    while let Some(byte) = text.get(at) {
        if !byte.is_ascii_digit() {
            at += DIGITS;
            continue;
        }
        let before = text[..at].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let after = text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if before + after >= DIGITS {
            return true;
        }
        at += after + DIGITS;
    }
    false
}

fn first_too_large(text: &[u8]) -> Option<String> {
    let (mut at, mut key): (usize, &[u8]) = (0, b"");
    while let Some(&byte) = text.get(at) {
        let rest = &text[at..];
        let length = match byte {
            b'"' => {
                let length = string_length(rest);
                if rest[length..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':') {
                    key = &rest[1..length.saturating_sub(1).max(1)];
                }
                length
            }
            b'0'..=b'9' => {
                let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
                let length = rest.iter().take_while(|byte| is_part(byte)).count();
                if is_large(&rest[..length]) && !UNBOUNDED.contains(&key) {
                    return Some(String::from_utf8_lossy(key).into_owned());
                }
                length
            }
            _ => 1,
        };
        at += length;
    }
    None
}

/// An integer of more digits than [`LARGEST`] has, or above it. Floats are never taken for integers when they are read.
fn is_large(number: &[u8]) -> bool {
    let is_integer = number.iter().all(u8::is_ascii_digit);
    // Sixteen digits fit into 64 bits.
    let value = || number.iter().fold(0_u64, |value, digit| value * 10 + u64::from(digit - b'0'));
    is_integer && (number.len() > DIGITS || (number.len() == DIGITS && value() > LARGEST))
}

/// Bytes of the string that `text` begins with, quotes included.
fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_above_two_to_the_53_are_found_by_their_key() {
        let of = |text: &str| too_large(text.as_bytes());
        assert_eq!(of(r#"{"t_us": 9007199254740992, "x": [1, 2.5e300, -9007199254740992]}"#), None);
        assert_eq!(of(r#"{"a": 1, "t_us" : 9007199254740993}"#), Some("t_us".to_owned()));
        assert_eq!(of(r#"{"histogram":[[1,2],[3,18446744073709551615]]}"#), Some("histogram".to_owned()));
        assert_eq!(of(r#"{"x":-9223372036854775808}"#), Some("x".to_owned()));
        assert_eq!(of(r#"{"seed":18446744073709551615,"pacing_rate_bps":18446744073709551608}"#), None);
        assert_eq!(of(r#"{"a":"99999999999999999999","b\"c":"\\","d":1}"#), None);
        assert_eq!(of(r#"{"b\"c":99999999999999999999}"#), Some(r#"b\"c"#.to_owned()));
        assert_eq!(of("\"\\"), None);
        assert_eq!(of("\""), None);
        assert_eq!(of("99999999999999999.0"), None);
    }

    #[test]
    fn a_long_number_is_seen_wherever_it_stands() {
        for (before, digits, after) in (0..4000).map(|n| (n % 20, n / 20 % 20, n / 400)) {
            let text = format!("{}{}{}", "1x".repeat(before), "7".repeat(digits), "x2".repeat(after));
            assert_eq!(has_long_number(text.as_bytes()), digits >= DIGITS, "{text}");
        }
    }
}

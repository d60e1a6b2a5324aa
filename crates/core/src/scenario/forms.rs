//! The texts that only scenarios have: loss, jitter's distribution, names of sysctls and of congestion control.

use super::draft::HostDraft;
use crate::cell::{JitterDistribution, LossSpec};
use crate::parse::{ParseError, bytes, count, one_of, ratio};
use crate::traffic::ping;
use crate::units::{Bytes, Ratio};

/// More listed packets than this aren't a list any more.
const LISTED_PACKETS_MAX: usize = 100_000;

/// `1%`, `gilbert-elliott p=1% r=20% loss_bad=100% loss_good=0%`, `packets 3,7,9-12`.
pub(super) fn loss(text: &str) -> Result<LossSpec, ParseError> {
    let (form, rest) = text.split_once(' ').unwrap_or((text, ""));
    match form {
        "gilbert-elliott" => gilbert_elliott(rest),
        "packets" => packets(rest).map(LossSpec::Packets),
        // netem's own order: p, r, 1-h, 1-k.
        "gemodel" if !rest.is_empty() => {
            let shares: Vec<&str> = rest.split_ascii_whitespace().collect();
            let named = ["p", "r", "loss_bad", "loss_good"].iter().zip(&shares);
            let named: Vec<String> = named.map(|(name, share)| format!("{name}={share}")).collect();
            let help = format!("write \"gilbert-elliott {}\"", named.join(" "));
            Err(ParseError::new(format!("\"{text}\" is netem's form"), help))
        }
        "random" if !rest.is_empty() => {
            Err(ParseError::new(format!("\"{text}\" is netem's form"), format!("write \"{rest}\"")))
        }
        _ if text.contains('%') || text.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
            let share = ratio(text)?;
            Ok(if share == Ratio::ZERO { LossSpec::None } else { LossSpec::Independent(share) })
        }
        _ => Err(ParseError::new(
            format!("unknown kind of loss \"{text}\""),
            "write \"1%\", \"gilbert-elliott p=1% r=20%\" or \"packets 3,7,9-12\"",
        )),
    }
}

/// `uniform`, `normal`, `quantiles -1 0 0.5 3`.
pub(super) fn distribution(text: &str) -> Result<JitterDistribution, ParseError> {
    let Some(rest) = text.strip_prefix("quantiles") else {
        let words = [("uniform", false), ("normal", true), ("quantiles", false)];
        return Ok(if one_of(text, &words)? {
            JitterDistribution::Normal
        } else {
            JitterDistribution::Uniform
        });
    };
    let quantiles: Vec<f64> = rest.split_ascii_whitespace().map(quantile).collect::<Result<_, _>>()?;
    const HELP: &str = "write them in ascending order, e.g. \"quantiles -1 0 0.5 3\"";
    if quantiles.len() < 2 {
        return Err(ParseError::new(
            format!("\"{text}\": a distribution needs at least two quantiles"),
            HELP,
        ));
    }
    if !quantiles.is_sorted() {
        return Err(ParseError::new(format!("\"{text}\": the quantiles must be ascending"), HELP));
    }
    Ok(JitterDistribution::Quantiles(quantiles))
}

/// Longest name of a trace or a profile, in bytes: that of a file (`PATH_MAX` of limits.h).
const NAME_MAX: usize = 4_096;

/// The name of a trace or a profile: built in, of the scenario's `[files]`, or a file's.
pub(super) fn name(text: &str) -> Result<String, ParseError> {
    if text.is_empty() || text.len() > NAME_MAX || text.chars().any(char::is_control) {
        return Err(ParseError::new("this can't be a name", "write one line of text, e.g. \"lte-driving\""));
    }
    Ok(text.to_owned())
}

/// A sysctl below `net.`, into the host's table.
pub(super) fn sysctl(host: &mut HostDraft, name: &str, text: &str) -> Result<(), ParseError> {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
    };
    if !name.starts_with("net.") || !name.split('.').all(is_part) {
        return Err(ParseError::new(
            format!("\"{name}\" is not a sysctl of a network namespace"),
            "write a name that begins with net., e.g. \"net.ipv4.tcp_sack\"",
        ));
    }
    let own_key = ["tcp_rmem", "tcp_wmem", "tcp_ecn", "congestion_control"]
        .into_iter()
        .find(|key| name.strip_prefix("net.ipv4.tcp_") == Some(key.trim_start_matches("tcp_")));
    if let Some(key) = own_key {
        return Err(ParseError::new(
            format!("\"{name}\" has a key of its own"),
            format!("write it as {key} in [host], [sender] or [receiver]"),
        ));
    }
    if text.trim() != text || text.is_empty() || text.chars().any(char::is_control) {
        return Err(ParseError::new(
            format!("\"{}\" is not a sysctl's value", text.escape_debug()),
            "write it on one line, without spaces around it",
        ));
    }
    host.sysctl.insert(name.to_owned(), text.to_owned());
    Ok(())
}

/// A name that `TCP_CONGESTION` could take: `TCP_CA_NAME_MAX` is 16 with its NUL (`include/net/tcp.h`).
pub(super) fn congestion_control(text: &str) -> Result<String, ParseError> {
    let is_name = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
    if text.is_empty() || text.len() > 15 || !text.bytes().all(is_name) {
        return Err(ParseError::new(
            format!("\"{text}\" is not the name of a congestion control"),
            "write e.g. \"cubic\", \"reno\" or \"bbr\"",
        ));
    }
    Ok(text.to_owned())
}

/// Most sizes of a ping.
const SIZES_MAX: usize = 64;

/// `64B 1400B 65500B`: payloads of a ping, each 24 to 65507 bytes.
pub(super) fn sizes(text: &str) -> Result<Vec<Bytes>, ParseError> {
    const HELP: &str = "write sizes separated by spaces, 24 to 65507 bytes each, e.g. \"64B 1400B 65500B\"";
    let sizes: Vec<Bytes> = text.split_ascii_whitespace().map(bytes).collect::<Result<_, _>>()?;
    let fits = |size: &Bytes| (ping::SHORT_REPLY.get()..=65_507).contains(&size.get());
    if sizes.is_empty() || sizes.len() > SIZES_MAX || !sizes.iter().all(fits) {
        return Err(ParseError::new(format!("\"{text}\" is not a list of payload sizes"), HELP));
    }
    Ok(sizes)
}

fn gilbert_elliott(text: &str) -> Result<LossSpec, ParseError> {
    const HELP: &str =
        "write e.g. \"gilbert-elliott p=1% r=20% loss_bad=100% loss_good=0%\", the last two optional";
    let (mut p, mut r, mut bad, mut good) = (None, None, None, None);
    for part in text.split_ascii_whitespace() {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let place = match name {
            "p" => &mut p,
            "r" => &mut r,
            "loss_bad" => &mut bad,
            "loss_good" => &mut good,
            _ => {
                return Err(ParseError::new(
                    format!("\"{part}\" is not a parameter of gilbert-elliott"),
                    HELP,
                ));
            }
        };
        if place.replace(ratio(value)?).is_some() {
            return Err(ParseError::new(format!("\"{name}\" is given twice"), HELP));
        }
    }
    let (Some(p), Some(r)) = (p, r) else {
        return Err(ParseError::new("gilbert-elliott needs p and r", HELP));
    };
    Ok(LossSpec::GilbertElliott {
        p,
        r,
        loss_bad: bad.unwrap_or(Ratio::ONE),
        loss_good: good.unwrap_or(Ratio::ZERO),
    })
}

/// `3,7,9-12`: ascending, counted from 1.
fn packets(text: &str) -> Result<Vec<u64>, ParseError> {
    const HELP: &str = "write packet numbers in ascending order, counted from 1, e.g. \"packets 3,7,9-12\"";
    let mut list: Vec<u64> = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (Ok(first), Ok(last)) = (count(first), count(last)) else {
            return Err(ParseError::new(format!("\"{part}\" is not a packet or a range of packets"), HELP));
        };
        let previous = list.last().copied().unwrap_or(0);
        if first <= previous || last < first {
            return Err(ParseError::new(format!("\"{part}\" must be above packet {previous}"), HELP));
        }
        let room = (LISTED_PACKETS_MAX - list.len()) as u64;
        if last - first >= room {
            return Err(ParseError::new(
                format!("more than {LISTED_PACKETS_MAX} listed packets"),
                "write a probability instead, e.g. \"1%\"",
            ));
        }
        list.extend(first..=last);
    }
    Ok(list)
}

fn quantile(text: &str) -> Result<f64, ParseError> {
    text.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(|| {
        ParseError::new(format!("\"{text}\" is not a number"), "write e.g. \"quantiles -1 0 0.5 3\"")
    })
}

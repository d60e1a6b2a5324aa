//! Words of tc where a scenario has others: what to write instead, with the value translated.

use super::bounds::BURST;
use super::from_tc::tbf_limit;
use super::toml::{TomlEntry, scalar};
use crate::parse::{self, tc::size};
use toml_edit::TableLike;

/// What to write in place of a key that tc has and `[path]` has not; `table` has the other keys. `None` where tc has none of this name.
pub(super) fn translated(entry: &TomlEntry<'_>, table: &dyn TableLike) -> Option<String> {
    let text = |name: &str| table.get(name)?.as_value().and_then(scalar).map(|text| text.text);
    let value = text(entry.name).unwrap_or_default();
    let queue = || match value.parse::<u64>() {
        Ok(packets) => format!("{packets}p"),
        Err(_) => size(&value).map_or_else(|| value.clone(), |size| size.to_string()),
    };
    Some(match entry.name {
        "limit" if table.contains_key("rate") => {
            format!("tbf's limit is the queue: write queue = \"{}\"", queue())
        }
        "limit" => format!(
            "netem's limit is that of the delay: write delay_limit = \"{0}\"; tbf's is the queue: give rate, and queue = \"{0}\"",
            queue()
        ),
        "latency" | "lat" => {
            let burst = text("burst").and_then(|burst| parse::bytes(&burst).ok()).unwrap_or(BURST);
            let rate = text("rate").and_then(|rate| parse::rate(&rate).ok());
            match (rate, parse::duration(&value)) {
                (Some(rate), Ok(latency)) => format!(
                    "tbf's latency is how long a packet may wait: write queue = \"{}\", which is rate × {value} + burst",
                    tbf_limit(rate, latency, burst)
                ),
                _ => "tbf's latency is how long a packet may wait: write queue = \"…B\" with rate × latency + burst".to_owned(),
            }
        }
        "delay" => {
            format!("netem's delay is one way: write forward_delay = \"{value}\", or rtt for both ways")
        }
        "bandwidth" | "ceil" => format!("write rate = \"{value}\""),
        "buffer" | "maxburst" => {
            format!("write burst = \"{}\"", size(&value).map_or(value.clone(), |size| size.to_string()))
        }
        "distribution" => format!("write jitter_distribution = \"{value}\""),
        "linklayer" => format!("write rate_layer = \"{value}\""),
        _ => return None,
    })
}

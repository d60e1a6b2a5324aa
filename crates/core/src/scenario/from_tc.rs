//! What `tc -s qdisc show` (and `tc class show`) prints, as a scenario: netem, tbf, fq_codel, fifos, htb with one class.
//!
//! What a scenario has no key for is named, never dropped in silence. Oracle: iproute2's `tc/q_netem.c`, `q_tbf.c`, `q_htb.c`, `q_fq_codel.c`
//! and `print_size()`, `print_rate()`, `print_time()` in `lib/utils.c` and `tc/tc_util.c`.

use super::SCHEMA_URL;
use crate::parse::tc::{rate, size};
use crate::parse::{self, duration_text};
use crate::problem::Problem;
use crate::units::{Bytes, Rate};
use std::fmt::Write;
use std::time::Duration;

/// Most bytes that are read: thousands of qdiscs.
pub const TC_TEXT_MAX: usize = 1 << 20;

/// A scenario of what tc printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcScenario {
    /// Its text.
    pub text: String,
    /// What of tc's output it leaves out, each in tc's own words.
    pub left_out: Vec<String>,
}

/// The scenario of what tc printed: what leaves the interface is the forward direction.
///
/// # Errors
/// [`Problem`]: the text is none of tc's, or has nothing that a path could be made of.
pub fn from_tc(text: &str) -> Result<TcScenario, Problem> {
    if text.len() > TC_TEXT_MAX {
        return Err(Problem::usage(
            "the text is longer than what tc prints",
            "give the output of one interface",
        ));
    }
    let parts: Vec<Part<'_>> = text.lines().filter_map(Part::read).collect();
    if parts.is_empty() {
        return Err(Problem::usage(
            "the text has no line of `tc qdisc show`: none begins with \"qdisc\"",
            "paste what `tc -s qdisc show dev DEV` prints, or name a file that has it",
        ));
    }
    let device = parts.iter().find(|part| part.is_shaper()).and_then(|part| part.device);
    let mut path = TcPath::default();
    for part in &parts {
        match part.device == device || part.device.is_none() {
            true => path.add(part, &parts),
            false => path.left_out.push(format!("dev {}: {}", part.device.unwrap_or_default(), part.kind)),
        }
    }
    if path.keys.is_empty() {
        return Err(Problem::usage(
            format!("nothing here shapes traffic: {}", path.left_out.join("; ")),
            "give the output of an interface with netem, tbf, htb or fq_codel",
        ));
    }
    Ok(path.scenario())
}

/// A line that begins with `qdisc` or `class`.
struct Part<'a> {
    is_class: bool,
    kind: &'a str,
    device: Option<&'a str>,
    /// What stands behind the handle, the device and the parent.
    words: Vec<&'a str>,
}

impl<'a> Part<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let is_class = match words.next()? {
            "qdisc" => false,
            "class" => true,
            _ => return None,
        };
        let kind = words.next()?;
        let mut rest: Vec<&str> = words.skip(1).collect();
        let device = taken(&mut rest, "dev");
        taken(&mut rest, "parent");
        taken(&mut rest, "leaf");
        taken(&mut rest, "refcnt");
        rest.retain(|word| *word != "root");
        Some(Self { is_class, kind, device, words: rest })
    }

    fn is_shaper(&self) -> bool {
        ["netem", "tbf", "htb", "fq_codel", "codel", "bfifo", "pfifo"].contains(&self.kind)
    }
}

/// The word behind `name`, both taken out of `words`.
fn taken<'a>(words: &mut Vec<&'a str>, name: &str) -> Option<&'a str> {
    let at = words.iter().position(|word| *word == name)?;
    words.remove(at);
    (at < words.len()).then(|| words.remove(at))
}

/// The words behind `name` as long as `is_value` takes them, all taken out of `words`.
fn taken_while<'a>(
    words: &mut Vec<&'a str>,
    name: &str,
    is_value: impl Fn(&str) -> bool,
) -> Option<Vec<&'a str>> {
    let at = words.iter().position(|word| *word == name)?;
    let count = words[at + 1..].iter().take_while(|word| is_value(word)).count();
    Some(words.drain(at..=at + count).skip(1).collect())
}

/// The keys of `[path]` so far.
#[derive(Default)]
struct TcPath {
    /// Name, value as TOML has it, comment.
    keys: Vec<(&'static str, String, &'static str)>,
    left_out: Vec<String>,
}

impl TcPath {
    fn add(&mut self, part: &Part<'_>, all: &[Part<'_>]) {
        let mut words = part.words.clone();
        match (part.is_class, part.kind) {
            (false, "netem") => self.netem(&mut words),
            (false, "tbf") => self.tbf(&mut words),
            (false, "fq_codel") => self.fq_codel(&mut words),
            (false, "pfifo" | "bfifo") => self.fifo(part.kind, &mut words),
            // What it is, its classes say.
            (false, "htb") if all.iter().any(|part| part.is_class && part.kind == "htb") => return,
            (true, "htb") => {
                let leaves = all.iter().filter(|part| part.is_class && part.kind == "htb").count();
                if leaves > 1 {
                    return self.left_out.push(format!("htb with {leaves} classes: {}", words.join(" ")));
                }
                self.class(&mut words);
            }
            (_, kind) => {
                words.insert(0, kind);
                return self.left_out.push(words.join(" "));
            }
        }
        if !words.is_empty() {
            self.left_out.push(format!("{}: {}", part.kind, words.join(" ")));
        }
    }

    /// netem's jitter is uniform unless a table was given, which tc does not print, and lets packets overtake.
    fn netem(&mut self, words: &mut Vec<&str>) {
        let limit = taken(words, "limit").and_then(|limit| limit.parse::<u64>().ok());
        if let Some(delay) = taken_while(words, "delay", is_number) {
            let [fixed, jitter] = [0, 1].map(|at| delay.get(at).and_then(|text| time(text)));
            if let Some(fixed) = fixed {
                self.set("forward_delay", quoted(&duration_text(fixed)), "netem delay: one way");
            }
            if let Some(jitter) = jitter.filter(|jitter| !jitter.is_zero()) {
                self.set("jitter", quoted(&duration_text(jitter)), "");
                self.set("jitter_reorder", "true".to_owned(), "as netem does");
            }
            self.correlation("delay", delay.get(2));
        }
        self.loss(words);
        for key in ["duplicate", "reorder"] {
            if let Some(shares) = taken_while(words, key, is_number) {
                if let Some(share) = shares.first() {
                    self.set(key, quoted(share), "");
                }
                self.correlation(key, shares.get(1));
            }
        }
        if words.contains(&"gap") && taken(words, "gap").is_some_and(|gap| gap != "1") {
            self.left_out.push("netem reorder's gap".to_owned());
        }
        let rate = taken(words, "rate").and_then(rate);
        if let Some(rate) = rate {
            self.set("rate", quoted(&rate.to_string()), "netem rate");
            self.set("burst", quoted("1514B"), "netem has no bucket: a frame");
        }
        if let Some(limit) = limit {
            match rate {
                Some(_) => self.set("queue", quoted(&format!("{limit}p")), "netem limit"),
                None => self.set("delay_limit", quoted(&format!("{limit}p")), "netem limit"),
            }
        }
    }

    fn loss(&mut self, words: &mut Vec<&str>) {
        let Some(at) = words.iter().position(|word| *word == "loss") else { return };
        if words.get(at + 1) == Some(&"gemodel") {
            words.drain(at..=at + 1);
            let [p, r, bad, good] = ["p", "r", "1-h", "1-k"].map(|name| taken(words, name));
            let (Some(p), Some(r)) = (p, r) else { return };
            let more = |name: &str, share: Option<&str>| {
                share.map_or_else(String::new, |share| format!(" {name}={share}"))
            };
            let text =
                format!("gilbert-elliott p={p} r={r}{}{}", more("loss_bad", bad), more("loss_good", good));
            self.set("loss", quoted(&text), "netem loss gemodel");
        } else if let Some(shares) = taken_while(words, "loss", is_number).filter(|shares| !shares.is_empty())
        {
            self.set("loss", quoted(shares[0]), "");
            self.correlation("loss", shares.get(1));
        }
    }

    fn correlation(&mut self, of: &str, share: Option<&&str>) {
        if let Some(share) = share.filter(|share| **share != "0%") {
            self.left_out.push(format!("netem {of}'s correlation {share}"));
        }
    }

    /// tbf prints how long a packet may wait: `limit = rate × lat + burst`.
    fn tbf(&mut self, words: &mut Vec<&str>) {
        let rate = taken(words, "rate").and_then(rate);
        let burst = taken(words, "burst").and_then(|text| size(text.split('/').next().unwrap_or(text)));
        let limit = taken(words, "limit").and_then(size);
        let wait = taken(words, "lat").or_else(|| taken(words, "latency")).and_then(time);
        if let Some(rate) = rate {
            self.set("rate", quoted(&rate.to_string()), "tbf rate");
        }
        if let Some(burst) = burst {
            self.set("burst", quoted(&burst.to_string()), "tbf burst");
        }
        if let Some(limit) = limit {
            self.set("queue", quoted(&limit.to_string()), "tbf limit");
        } else if let (Some(rate), Some(wait)) = (rate, wait) {
            let limit = tbf_limit(rate, wait, burst.unwrap_or_default());
            self.set("queue", quoted(&limit.to_string()), "tbf lat: rate × lat + burst");
        }
        if words.first() == Some(&"linklayer") && words.get(1) == Some(&"ethernet") {
            words.drain(..2);
        }
        if taken(words, "mpu").is_some_and(|mpu| mpu != "0b") {
            self.left_out.push("tbf's mpu".to_owned());
        }
    }

    /// The defaults of `fq_codel_init()` are not repeated.
    fn fq_codel(&mut self, words: &mut Vec<&str>) {
        let limit = taken(words, "limit");
        let changed = |words: &mut Vec<&str>, name: &str, usual: &str| {
            taken(words, name).filter(|value| time(value) != time(usual)).and_then(time)
        };
        let parameters: String = [("target", "5ms"), ("interval", "100ms")]
            .into_iter()
            .filter_map(|(name, usual)| Some((name, changed(words, name, usual)?)))
            .map(|(name, value)| format!(", {name} = \"{}\"", duration_text(value)))
            .collect();
        let aqm = if parameters.is_empty() {
            quoted("fq_codel")
        } else {
            format!("{{ kind = \"fq_codel\"{parameters} }}")
        };
        self.set("aqm", aqm, "");
        if words.contains(&"ecn") {
            words.retain(|word| *word != "ecn");
            self.set("ecn", "true".to_owned(), "");
        }
        if let Some(limit) = limit {
            self.set("queue", quoted(limit), "fq_codel limit");
        }
        for (name, usual) in
            [("flows", "1024"), ("quantum", "1514"), ("memory_limit", "32Mb"), ("drop_batch", "64")]
        {
            if let Some(value) = taken(words, name).filter(|value| *value != usual) {
                self.left_out.push(format!("fq_codel {name} {value}"));
            }
        }
    }

    fn fifo(&mut self, kind: &str, words: &mut Vec<&str>) {
        let Some(limit) = taken(words, "limit") else { return };
        let queue = if limit.ends_with('p') {
            Some(limit.to_owned())
        } else {
            size(limit).map(|size| size.to_string())
        };
        match queue {
            Some(queue) => self.set("queue", quoted(&queue), "the fifo's limit"),
            None => self.left_out.push(format!("{kind} limit {limit}")),
        }
    }

    fn class(&mut self, words: &mut Vec<&str>) {
        let [assured, ceiling] = ["rate", "ceil"].map(|name| taken(words, name).and_then(rate));
        if let Some(rate) = ceiling.or(assured) {
            self.set("rate", quoted(&rate.to_string()), "htb ceil");
        }
        let [burst, cburst] = ["burst", "cburst"].map(|name| taken(words, name).and_then(size));
        if let Some(burst) = cburst.or(burst) {
            self.set("burst", quoted(&burst.to_string()), "htb cburst");
        }
        taken(words, "prio");
        taken(words, "quantum");
    }

    /// What is nearer to the wire stands later in tc's list, and holds.
    fn set(&mut self, key: &'static str, value: String, comment: &'static str) {
        self.keys.retain(|(name, ..)| *name != key);
        self.keys.push((key, value, comment));
    }

    fn scenario(self) -> TcScenario {
        let mut text = format!(
            "#:schema {SCHEMA_URL}\n# What leaves the interface of `tc qdisc show` is the forward direction here.\nname = \"from-tc\"\n\n[path]\n"
        );
        let has = |key: &str| self.keys.iter().any(|(name, ..)| *name == key);
        let queue_needs_rate = !has("rate");
        for (key, value, comment) in &self.keys {
            let comment = if comment.is_empty() { String::new() } else { format!("  # {comment}") };
            let is_idle = queue_needs_rate && ["queue", "aqm", "ecn"].contains(key);
            let off = if is_idle { "# give the link's rate too: " } else { "" };
            let _ = writeln!(text, "{off}{key} = {value}{comment}");
        }
        for what in &self.left_out {
            let _ = writeln!(text, "# Left out: {what}");
        }
        text += "\n[[flow]]\nduration = \"10s\"\n";
        TcScenario { text, left_out: self.left_out }
    }
}

/// Bytes that a tbf with `latency` holds: what passes at `rate` in this time, and the bucket (`q_tbf.c`).
pub(super) fn tbf_limit(rate: Rate, latency: Duration, burst: Bytes) -> Bytes {
    Bytes::new(rate.bytes_in(latency).get().saturating_add(burst.get()))
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

/// `50ms`, `50.0ms`, `100us`, `1s`.
fn time(text: &str) -> Option<Duration> {
    parse::duration(text).ok()
}

#[cfg(test)]
mod tests {
    use super::super::Scenario;
    use super::*;
    use crate::cell::PathSpec;

    /// The path of the scenario, without the keys of an AQM.
    fn path(text: &str) -> PathSpec {
        let made = from_tc(text).unwrap_or_else(|problem| panic!("{problem}"));
        let is_aqm = |line: &&str| line.starts_with("aqm") || line.starts_with("ecn");
        let text: Vec<&str> = made.text.lines().filter(|line| !is_aqm(line)).collect();
        let scenario = Scenario::parse(&text.join("\n"), "tc.toml").unwrap_or_else(|error| panic!("{error}"));
        scenario.plan().cells[0].spec.path.clone()
    }

    const NETEM: &str = "qdisc netem 1: root refcnt 2 limit 1000 delay 50.0ms  5.0ms 25% loss 1% duplicate 0.1% corrupt 0.1%\n \
                         Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)\n backlog 0b 0p requeues 0\n";

    #[test]
    fn netem_is_one_direction_and_what_has_no_key_is_named() {
        let made = from_tc(NETEM).unwrap();
        let wanted = "[path]\nforward_delay = \"50ms\"  # netem delay: one way\njitter = \"5ms\"\njitter_reorder = true  # as netem does\n\
                      loss = \"1%\"\nduplicate = \"0.1%\"\ndelay_limit = \"1000p\"  # netem limit\n";
        assert!(made.text.contains(wanted), "{}", made.text);
        assert_eq!(made.left_out, ["netem delay's correlation 25%", "netem: corrupt 0.1%"]);
        let path = path(NETEM);
        assert_eq!((path.forward.delay, path.reverse.delay), (Duration::from_millis(50), Duration::ZERO));
    }

    #[test]
    fn a_tbf_below_netem_has_the_rate_and_what_may_wait() {
        let both = format!("{NETEM}qdisc tbf 2: parent 1:1 rate 10Mbit burst 32Kb lat 50.0ms\n");
        let bottleneck = path(&both).forward.bottleneck.unwrap();
        assert_eq!((bottleneck.rate.bps(), bottleneck.burst.get()), (10_000_000, 32_768));
        // 10 Mbit/s × 50 ms + 32 KiB.
        assert_eq!(bottleneck.queue.to_string(), (62_500 + 32_768).to_string() + "B");
        let limited = path("qdisc tbf 2: dev eth0 root refcnt 2 rate 512Kbit burst 1600b limit 256Kb\n");
        assert_eq!(limited.forward.bottleneck.unwrap().queue.to_string(), "256KiB");
    }

    #[test]
    fn an_htb_with_one_class_and_its_fq_codel_are_a_bottleneck() {
        let text = "qdisc htb 1: dev eth0 root refcnt 2 r2q 10 default 0x10 direct_packets_stat 0 direct_qlen 1000\n\
                    class htb 1:10 root leaf 10: prio 0 rate 20Mbit ceil 50Mbit burst 1600b cburst 15125b\n\
                    qdisc fq_codel 10: dev eth0 parent 1:10 limit 1000p flows 1024 quantum 300 target 20ms interval 100ms memory_limit 32Mb ecn drop_batch 64\n\
                    qdisc mq 0: dev eth1 root\n";
        let made = from_tc(text).unwrap();
        for line in [
            "rate = \"50mbit\"  # htb ceil",
            "burst = \"15125B\"  # htb cburst",
            "aqm = { kind = \"fq_codel\", target = \"20ms\" }",
            "ecn = true",
            "queue = \"1000p\"  # fq_codel limit",
        ] {
            assert!(made.text.lines().any(|found| found == line), "{line}\n{}", made.text);
        }
        assert_eq!(made.left_out, ["fq_codel quantum 300", "dev eth1: mq"]);
        assert_eq!(path(text).forward.bottleneck.unwrap().rate.bps(), 50_000_000);
    }

    #[test]
    fn a_fq_codel_alone_needs_the_rate_of_its_link() {
        let made = from_tc("qdisc fq_codel 0: root refcnt 2 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms ecn\n").unwrap();
        assert!(made.text.contains("# give the link's rate too: aqm = \"fq_codel\"\n"), "{}", made.text);
        path(
            "qdisc fq_codel 0: root refcnt 2 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms ecn\n",
        );
    }

    #[test]
    fn a_gemodel_and_a_rate_of_netem_are_translated() {
        let text = "qdisc netem 1: root refcnt 2 limit 500 delay 10ms loss gemodel p 1% r 10% 1-h 100% 1-k 0.1% rate 8Mbit\n";
        let path = path(text);
        assert!(matches!(path.forward.loss, crate::cell::LossSpec::GilbertElliott { .. }));
        let bottleneck = path.forward.bottleneck.unwrap();
        assert_eq!((bottleneck.queue.to_string(), bottleneck.burst.get()), ("500p".to_owned(), 1514));
        assert_eq!(rate("1Mibit").map(Rate::bps), Some(1 << 20));
    }

    #[test]
    fn what_is_not_tc_is_refused() {
        for (text, what) in [
            ("hello", "none begins with"),
            ("qdisc noqueue 0: dev lo root refcnt 2\n", "nothing here shapes"),
        ] {
            let problem = from_tc(text).unwrap_err();
            assert!(problem.to_string().contains(what), "{problem}");
        }
    }
}

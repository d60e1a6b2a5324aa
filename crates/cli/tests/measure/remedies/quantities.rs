//! The numbers of a sentence, in units without a prefix.

/// Prefixes and units of sentences, longer names first.
const UNITS: [(&str, f64); 13] = [
    ("Gbit/s", 1e9),
    ("Mbit/s", 1e6),
    ("kbit/s", 1e3),
    ("bit/s", 1.0),
    ("GB", 1e9),
    ("MB", 1e6),
    ("kB", 1e3),
    ("B", 1.0),
    ("ms", 1e-3),
    ("µs", 1e-6),
    ("ns", 1e-9),
    ("s", 1.0),
    ("%", 1e-2),
];

/// They in their order; a number without a unit is a count.
pub(super) fn quantities(sentence: &str) -> Vec<f64> {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    let after = words.iter().skip(1).chain([&""]);
    let value = |(word, after): (&&str, &&str)| {
        let number: f64 = word.trim_end_matches([',', ';', ':']).parse().ok()?;
        let unit = after.trim_end_matches([',', ';', ':', '.']);
        let factor = UNITS.iter().find(|(name, _)| *name == unit);
        Some(number * factor.map_or(1.0, |(_, factor)| *factor))
    };
    words.iter().zip(after).filter_map(value).collect()
}

//! Options that describe a path, as assignments to a scenario.

/// An option's name, its value where it was given, and the keys of `[path]` that it sets.
pub(crate) type PathOption<'a> = (&'static str, &'a Option<String>, &'a [&'a str]);

/// Of each option that was given: its name, and the assignment to each of its keys.
pub(crate) fn typed(options: &[PathOption<'_>]) -> Vec<(&'static str, String)> {
    let assigned = |&(name, value, keys): &PathOption<'_>| {
        let value = value.as_deref()?;
        Some(keys.iter().map(|key| (name, format!("path.{key}={value}"))).collect::<Vec<_>>())
    };
    options.iter().filter_map(assigned).flatten().collect()
}

/// `20mbit:64KiB`: a policer in each direction.
pub(crate) fn typed_policer(text: &str) -> Vec<(&'static str, String)> {
    let (rate, burst) = text.split_once(':').map_or((text, None), |(rate, burst)| (rate, Some(burst)));
    let of = |way: &str| {
        let burst = burst.map(|burst| format!("path.{way}policer.burst={burst}"));
        [Some(format!("path.{way}policer.rate={rate}")), burst]
    };
    let assignments = [of(""), of("reverse_")].into_iter().flatten().flatten();
    assignments.map(|assignment| ("--policer", assignment)).collect()
}

/// `5s,for=2s,loss=100%`: the keys of the change with this number. Its loss is that of each direction, as with `--loss`.
pub(crate) fn typed_change(number: usize, text: &str) -> Vec<(&'static str, String)> {
    let (at, rest) = text.split_once(',').unwrap_or((text, ""));
    let key = |key: &str| format!("path.change.{number}.{key}");
    let mut assignments = vec![key(&format!("at={at}"))];
    for part in rest.split(',').filter(|part| !part.is_empty()) {
        assignments.push(key(part));
        assignments.extend(part.strip_prefix("loss=").map(|loss| key(&format!("reverse_loss={loss}"))));
    }
    assignments.into_iter().map(|assignment| ("--change", assignment)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assignments(typed: Vec<(&'static str, String)>) -> Vec<String> {
        typed.into_iter().map(|(_, assignment)| assignment).collect()
    }

    #[test]
    fn a_policer_has_a_burst_where_one_is_given() {
        let rates = ["path.policer.rate=20mbit", "path.reverse_policer.rate=20mbit"];
        assert_eq!(assignments(typed_policer("20mbit")), rates);
        let both = assignments(typed_policer("20mbit:64KiB"));
        assert_eq!(both[..2], ["path.policer.rate=20mbit", "path.policer.burst=64KiB"]);
        assert_eq!(both.len(), 4);
    }

    #[test]
    fn a_change_begins_with_its_time() {
        let outage = assignments(typed_change(1, "5s,for=2s,loss=100%"));
        let keys = ["at=5s", "for=2s", "loss=100%", "reverse_loss=100%"];
        assert_eq!(outage, keys.map(|key| format!("path.change.1.{key}")));
        assert_eq!(assignments(typed_change(0, "5s,rate=1mbit"))[1], "path.change.0.rate=1mbit");
    }
}

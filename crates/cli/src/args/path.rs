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

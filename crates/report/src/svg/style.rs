//! The style of a picture in a file: the page's own rules with its light colours, written out for those who know no variables.

const COLOURS: &str = include_str!("../../../../web/src/colours.css");
const RULES: &str = include_str!("../../../../web/src/picture.css");
/// What a file has and a page has otherwise.
const OWN: &str =
    ".paper { fill: var(--paper); }\n.picture text.title { font-weight: bold; font-size: 13px; }\n";

/// The style sheet.
pub(super) fn light() -> String {
    resolved(&format!("{RULES}{OWN}"))
}

/// `rules` without comments, each `var(--name)` by its colour.
fn resolved(rules: &str) -> String {
    let mut out = String::new();
    let mut rest = rules;
    while let Some((before, after)) = rest.split_once("/*") {
        out.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, after)| after.trim_start());
    }
    out.push_str(rest);
    for (name, light) in colours() {
        out = out.replace(&format!("var(--{name})"), light);
    }
    out
}

/// Name and light colour of each line like `--name: #rrggbb;` or `--name: light-dark(#rrggbb, #rrggbb);`.
fn colours() -> impl Iterator<Item = (&'static str, &'static str)> {
    COLOURS.lines().filter_map(|line| {
        let (name, value) = line.trim().strip_prefix("--")?.split_once(": ")?;
        let value = value.strip_prefix("light-dark(").unwrap_or(value);
        Some((name, value.split([',', ';']).next()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_is_written_out() {
        let style = light();
        assert!(!style.contains("var(") && !style.contains("light-dark") && !style.contains("/*"), "{style}");
        assert!(style.contains(".c0 { color: #0072b2; }"), "the light half of c0");
        assert!(style.contains(".limit-path { fill: #009e73;"));
        assert!(style.contains(".paper { fill: #ffffff; }"));
    }

    #[test]
    fn every_colour_is_a_colour() {
        let is_colour = |text: &str| {
            text.len() == 7
                && text.starts_with('#')
                && text[1..].chars().all(|digit| digit.is_ascii_hexdigit())
        };
        assert!(colours().count() > 20);
        for (name, light) in colours() {
            assert!(is_colour(light), "{name}: {light}");
        }
    }
}

//! Control characters made visible. Titles, sources, kernel versions and file names come from records and scenarios that other
//! people wrote; what they contain must not move the cursor, hide text or change its order.

use std::borrow::Cow;
use std::fmt::Write;

/// `text` with every control character but line feed and tab, and every character that changes the direction of text, written as
/// `\u{1b}`. With `has_colour` the colours that pipefill itself uses stay.
pub fn visible(text: &str, has_colour: bool) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let colour = if has_colour { colour(rest) } else { None };
        let length = match colour {
            Some(sequence) => {
                out.push_str(sequence);
                sequence.len()
            }
            None if is_hidden(c) => {
                // Writing to a string can't fail.
                let _written = write!(out, "\\u{{{:x}}}", u32::from(c));
                c.len_utf8()
            }
            None => {
                out.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    Cow::Owned(out)
}

/// Whether [`visible`] writes `c` out: C0 but line feed and tab, DEL, C1 (Unicode's `Cc`), and the controls of bidirectional text (UAX 9).
pub fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => c.is_control(),
    }
}

/// The sequence that sets a colour or an intensity at the start of `text` (ECMA-48 SGR): no other attribute, so that none hides text.
fn colour(text: &str) -> Option<&str> {
    let parameters = text.strip_prefix("\x1b[")?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    let (parameters, rest) = parameters.split_at(end);
    let is_colour = match parameters.strip_prefix("38;5;") {
        Some(number) => number.parse::<u8>().is_ok(),
        None => parameters.split(';').all(|parameter| {
            matches!(parameter, "" | "0" | "1" | "2" | "22" | "39")
                || parameter.parse::<u8>().is_ok_and(|number| matches!(number, 30..=37 | 90..=97))
        }),
    };
    (is_colour && rest.starts_with('m')).then(|| &text[..text.len() - rest.len() + 1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::select;

    /// Pieces of sequences, controls, and ordinary text.
    const PIECES: [&str; 14] =
        ["\x1b", "[", "]0;", "38;5;", "31", "8", ";", "m", "2J", "\x07", "\r", "\u{9b}", "\u{202e}", "漢"];

    /// All that is left of controls are the colours of ECMA-48, and these only where they are wanted.
    fn has_no_control(shown: &str, has_colour: bool) -> bool {
        let mut parts = shown.split('\x1b');
        let first = parts.next().unwrap_or_default();
        let rest: Option<Vec<&str>> = parts
            .map(|part| {
                part.strip_prefix('[')?
                    .trim_start_matches(|c: char| c.is_ascii_digit() || c == ';')
                    .strip_prefix('m')
            })
            .collect();
        let is_plain = |text: &&str| !text.chars().any(is_hidden);
        rest.is_some_and(|rest| (has_colour || rest.is_empty()) && rest.iter().chain([&first]).all(is_plain))
    }

    proptest! {
        #[test]
        fn whatever_it_is_nothing_moves_the_cursor_or_turns_text(
            pieces in prop::collection::vec(select(&PIECES[..]), 0..24), any in any::<String>()
        ) {
            let text = pieces.concat() + &any;
            for has_colour in [false, true] {
                let shown = visible(&text, has_colour);
                prop_assert!(has_no_control(&shown, has_colour), "{shown:?}");
            }
        }
    }

    #[test]
    fn controls_and_directions_are_written_out() {
        for (hostile, shown) in [
            ("a\x1b]0;title\x07b", "a\\u{1b}]0;title\\u{7}b"),
            ("a\rb\x7f", "a\\u{d}b\\u{7f}"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("\u{202e}evil\u{2066}\u{200f}", "\\u{202e}evil\\u{2066}\\u{200f}"),
            ("\0", "\\u{0}"),
        ] {
            assert_eq!(visible(hostile, false), shown);
            assert_eq!(visible(hostile, true), shown);
        }
    }

    #[test]
    fn ordinary_text_stays() {
        for text in ["", "two\nlines\tand a tab", "µs · ≥ 95 % äöü 漢字 \u{2588}"] {
            assert!(matches!(visible(text, false), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn our_colours_stay_where_there_are_colours() {
        let text = "\x1b[1;31merror\x1b[0m: \x1b[38;5;12mx\x1b[39m \x1b[94m\x1b[m";
        assert_eq!(visible(text, true), text);
        assert!(!visible(text, false).contains('\x1b'));
    }

    #[test]
    fn what_hides_or_moves_text_is_no_colour() {
        for hostile in
            ["\x1b[8m", "\x1b[2J", "\x1b[1;8m", "\x1b[38;5;999m", "\x1b[31", "\x1b[", "\x1b[1A", "\x1b[7m"]
        {
            assert!(!visible(hostile, true).contains('\x1b'), "{hostile:?}");
        }
    }
}

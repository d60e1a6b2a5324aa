//! Sentences in a terminal: broken between words, their lines indented.

/// Keeps what is on both sides of it on one line.
const NO_BREAK: char = '\u{a0}';

/// `text` in lines of `width` columns, the first behind `first`, the others behind `rest`.
pub(crate) fn filled(text: &str, first: &str, rest: &str, width: u16) -> String {
    let options = textwrap::Options::new(usize::from(width)).initial_indent(first).subsequent_indent(rest);
    let options = options.break_words(false).word_splitter(textwrap::WordSplitter::NoHyphenation);
    // At spaces alone: the default also breaks "Mbit/s" at its slash.
    let options = options.word_separator(textwrap::WordSeparator::AsciiSpace);
    textwrap::fill(&kept_together(text), options).replace(NO_BREAK, " ")
}

/// `text` with no break between a number and the word after it.
fn kept_together(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for part in text.split_inclusive(' ') {
        let is_number = |word: &str| word.ends_with(|last: char| last.is_ascii_digit());
        match part.strip_suffix(' ').filter(|word| is_number(word)) {
            Some(number) => kept.extend(number.chars().chain([NO_BREAK])),
            None => kept.push_str(part),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_its_unit_stay_on_one_line() {
        let text = "92 % of 27.3 kB, 1 Mbit/s.";
        assert_eq!(filled(text, "", "  ", 12), "92 % of\n  27.3 kB,\n  1 Mbit/s.");
    }
}

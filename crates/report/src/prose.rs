//! Sentences in a terminal: broken between words, their lines indented.
//!
//! Never: a word broken, or a table; see `table`.

/// `text` in lines of `width` columns, the first behind `first`, the others behind `rest`.
pub(crate) fn filled(text: &str, first: &str, rest: &str, width: u16) -> String {
    let options = textwrap::Options::new(usize::from(width)).initial_indent(first).subsequent_indent(rest);
    let options = options.break_words(false).word_splitter(textwrap::WordSplitter::NoHyphenation);
    // At spaces alone: the default also breaks "Mbit/s" at its slash.
    textwrap::fill(text, options.word_separator(textwrap::WordSeparator::AsciiSpace))
}

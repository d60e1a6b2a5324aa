//! Values that are a word with parameters: `codel target=5ms`, `requests response=64KiB`.

use crate::parse::{ParseError, nearest, one_of};

/// A parameter of some kinds of a value, which is kept in `Draft`.
pub(super) struct Parameter<Draft, Kind: 'static> {
    pub(super) name: &'static str,
    pub(super) kinds: &'static [Kind],
    pub(super) set: fn(&mut Draft, &str) -> Result<(), ParseError>,
    pub(super) is_given: fn(&Draft) -> bool,
}

/// A row of a table of parameters: a field of the draft, the kinds that have it, and what reads its text.
macro_rules! parameter {
    ($name:ident, $kinds:expr, $parse:expr) => {
        Parameter {
            name: stringify!($name),
            kinds: $kinds,
            set: |draft, text| {
                draft.$name = Some($parse(text)?);
                Ok(())
            },
            is_given: |draft| draft.$name.is_some(),
        }
    };
}
pub(super) use parameter;

/// The words of a value, and the parameters of all of them.
pub(super) struct Parameters<Draft: 'static, Kind: 'static> {
    pub(super) kinds: &'static [(&'static str, Kind)],
    pub(super) all: &'static [Parameter<Draft, Kind>],
}

impl<Draft, Kind: Copy + PartialEq> Parameters<Draft, Kind> {
    /// The kind that `word` names.
    pub(super) fn kind(&self, word: &str) -> Result<Kind, ParseError> {
        one_of(word, self.kinds)
    }

    /// The word of `kind`.
    pub(super) fn word(&self, kind: Kind) -> &'static str {
        self.kinds.iter().find(|(_, other)| *other == kind).map_or("", |(word, _)| word)
    }

    /// Reads `name=value name=value` into `draft`.
    pub(super) fn read(&self, kind: Kind, text: &str, draft: &mut Draft) -> Result<(), ParseError> {
        for part in text.split_ascii_whitespace() {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let parameter = self.find(kind, name, part)?;
            if (parameter.is_given)(draft) {
                return Err(ParseError::new(format!("\"{name}\" is given twice"), "leave one out"));
            }
            (parameter.set)(draft, value)
                .map_err(|error| ParseError::new(format!("{name}: {}", error.message), error.help))?;
        }
        Ok(())
    }

    /// The parameter `name` of `kind`; the error names it as `written`.
    pub(super) fn find(
        &self,
        kind: Kind,
        name: &str,
        written: &str,
    ) -> Result<&'static Parameter<Draft, Kind>, ParseError> {
        let of_kind = || self.all.iter().filter(|parameter| parameter.kinds.contains(&kind));
        of_kind().find(|parameter| parameter.name == name).ok_or_else(|| {
            let known: Vec<&str> = of_kind().map(|parameter| parameter.name).collect();
            let help = match nearest(name, &known) {
                Some(word) => format!("did you mean \"{word}\"?"),
                None if known.is_empty() => format!("{} has none", self.word(kind)),
                None => format!("the parameters of {} are: {}", self.word(kind), known.join(", ")),
            };
            ParseError::new(format!("\"{written}\" is not a parameter of {}", self.word(kind)), help)
        })
    }
}

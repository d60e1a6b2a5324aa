//! What is wrong with a scenario: where, why, and what to write instead, with a caret under the very text.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::fmt;
use std::ops::Range;

/// Most problems that are shown; more tell nothing new, and each takes as long as its text is.
const SHOWN_MAX: usize = 20;
/// Longest message and help, in bytes; values are quoted in them.
const LINE_MAX: usize = 500;

/// What stands in place of a file's name where an option was typed.
const COMMAND_LINE: &str = "command line";

/// A place in one of the texts that make up a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    /// Index of the text: 0 is the file, then each `--set`.
    pub(super) source: usize,
    /// Bytes of the text.
    pub(super) span: Range<usize>,
}

/// One of the texts that make up a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourceText {
    /// File name, or `--set`.
    pub(super) name: String,
    pub(super) text: String,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioProblem {
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: String,
    pub(super) origin: Origin,
}

impl ScenarioProblem {
    pub(super) fn new(origin: &Origin, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: shortened(message.into()), help: shortened(help.into()), origin: origin.clone() }
    }
}

/// `text`, cut where it is longer than [`LINE_MAX`].
fn shortened(mut text: String) -> String {
    if text.len() > LINE_MAX {
        text.truncate(floor_boundary(&text, LINE_MAX));
        text.push('…');
    }
    text
}

/// Whether a rendered error has terminal colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Plain text.
    Plain,
    /// ANSI colours.
    Coloured,
}

/// Everything that is wrong with a scenario; at least one problem. `Display` is the plain rendering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioError {
    problems: Vec<ScenarioProblem>,
    sources: Vec<SourceText>,
}

impl ScenarioError {
    /// Problems in the order of their texts and places.
    pub(super) fn new(mut problems: Vec<ScenarioProblem>, sources: Vec<SourceText>) -> Self {
        problems.sort_by_key(|problem| (problem.origin.source, problem.origin.span.start));
        Self { problems, sources }
    }

    /// What is wrong, in the order of the text.
    pub fn problems(&self) -> &[ScenarioProblem] {
        &self.problems
    }

    /// Shows what an option of the command line set as it was typed: `--rtt 80` in place of `--set path.rtt=80`. Of each option its name, and
    /// the assignment that was made of it.
    #[must_use]
    pub fn as_typed(mut self, options: &[(&str, String)]) -> Self {
        for (index, source) in self.sources.iter_mut().enumerate().skip(1) {
            let typed = options.iter().find(|(_, assignment)| *assignment == source.text);
            let Some((option, (key, value))) =
                typed.and_then(|(option, assignment)| Some((option, assignment.split_once('=')?)))
            else {
                continue;
            };
            let (before, now) = (key.len() + 1, option.len() + 1);
            COMMAND_LINE.clone_into(&mut source.name);
            source.text = format!("{option} {value}");
            for problem in self.problems.iter_mut().filter(|problem| problem.origin.source == index) {
                let moved = |at: usize| at.checked_sub(before).map_or(0, |at| at + now);
                problem.origin.span = moved(problem.origin.span.start)..moved(problem.origin.span.end);
            }
        }
        // An option may set two keys, which are wrong for one reason.
        let mut shown: Vec<(String, Range<usize>, String)> = Vec::new();
        self.problems.retain(|problem| {
            let text = self.sources[problem.origin.source].text.clone();
            let place = (text, problem.origin.span.clone(), problem.help.clone());
            let is_new = !shown.contains(&place);
            shown.push(place);
            is_new
        });
        self
    }

    /// Line of a problem in its text, from 1.
    pub fn line(&self, problem: &ScenarioProblem) -> usize {
        let text = &self.sources[problem.origin.source].text;
        let start = floor_boundary(text, problem.origin.span.start);
        text[..start].matches('\n').count() + 1
    }

    /// The first 20 problems with file, line, a caret under the text, and what to write instead; and how many more there are.
    pub fn render(&self, style: Style) -> String {
        let renderer = match style {
            Style::Plain => Renderer::plain(),
            Style::Coloured => Renderer::styled(),
        };
        let shown = self.problems.iter().take(SHOWN_MAX);
        let mut rendered: Vec<String> =
            shown.map(|problem| renderer.render(&[self.group(problem)])).collect();
        if let more @ 1.. = self.problems.len().saturating_sub(SHOWN_MAX) {
            rendered.push(format!("... and {more} more"));
        }
        rendered.join("\n\n")
    }

    fn group<'a>(&'a self, problem: &'a ScenarioProblem) -> Group<'a> {
        let source = &self.sources[problem.origin.source];
        let start = floor_boundary(&source.text, problem.origin.span.start);
        let end = floor_boundary(&source.text, problem.origin.span.end).max(start);
        Level::ERROR
            .primary_title(problem.message.as_str())
            .element(
                Snippet::source(source.text.as_str())
                    .path(source.name.as_str())
                    .annotation(AnnotationKind::Primary.span(start..end)),
            )
            .element(Level::HELP.message(problem.help.as_str()))
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Style::Plain))
    }
}

impl std::error::Error for ScenarioError {}

/// The last character boundary at or before `at`.
fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

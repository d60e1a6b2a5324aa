//! What was published, what we conclude, and the figures on which that rests.

use crate::prose;
use pipefill_analysis::findings::experiment::Experiment;
use pipefill_analysis::findings::experiment::{ConclusionResult, Opinion};

/// Width of the labels.
const LABEL: usize = 11;
pub(crate) const TITLE: &str = "What was concluded, and what these runs say";

/// For a terminal of `width` columns; `None` where nothing was concluded.
pub(crate) fn in_terminal(experiment: &Experiment, width: u16) -> Option<String> {
    let blocks: Vec<String> =
        experiment.conclusions.iter().map(|conclusion| block(conclusion, width)).collect();
    (!blocks.is_empty()).then(|| format!("{TITLE}\n\n{}", blocks.join("\n\n")))
}

/// As Markdown; `escaped` makes text safe for it.
pub(crate) fn in_markdown(experiment: &Experiment, escaped: &dyn Fn(&str) -> String) -> Option<String> {
    let item = |conclusion: &ConclusionResult| {
        let ours = conclusion.ours.as_deref().unwrap_or_default();
        let mut lines = vec![format!("- Published: {}", escaped(&conclusion.published))];
        lines.push(format!("  **{}.** {}", word(conclusion.opinion), escaped(ours)).trim_end().to_owned());
        lines.extend(conclusion.evidence.iter().map(|line| format!("  - {}", escaped(line))));
        lines.join("\n")
    };
    let items: Vec<String> = experiment.conclusions.iter().map(item).collect();
    (!items.is_empty()).then(|| format!("### {TITLE}\n\n{}", items.join("\n")))
}

fn block(conclusion: &ConclusionResult, width: u16) -> String {
    let indent = " ".repeat(LABEL);
    let labelled = |label: &str, text: &str| prose::filled(text, &format!("{label:<LABEL$}"), &indent, width);
    let mut lines = vec![labelled("published", &conclusion.published)];
    let word = word(conclusion.opinion).to_lowercase();
    lines.push(conclusion.ours.as_deref().map_or_else(|| word.clone(), |ours| labelled(&word, ours)));
    let bullet = format!("{indent}- ");
    let below = format!("{indent}  ");
    lines.extend(conclusion.evidence.iter().map(|line| prose::filled(line, &bullet, &below, width)));
    lines.join("\n")
}

pub(crate) const fn word(opinion: Opinion) -> &'static str {
    match opinion {
        Opinion::Confirmed => "Confirmed",
        Opinion::Refuted => "Refuted",
        Opinion::NotTested => "Not tested",
    }
}

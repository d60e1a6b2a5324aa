//! `pipefill bdp`: the calculator.

use crate::args::BdpArgs;
use crate::outcome::Outcome;
use crate::terminal::Terminal;
use pipefill_analysis::ground::calculator::{Question, calculate};
use pipefill_report::{calculator, json};
use pipefill_runs::Failure;

/// Answers one path's arithmetic.
pub(super) fn bdp(args: &BdpArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let BdpArgs { rate, rate_layer, rtt, window, buffer, loss, mss, json: _ } = *args;
    let question = Question { rate, overhead: rate_layer.overhead(), rtt, window, buffer, loss, mss };
    let calculation = calculate(&question)
        .map_err(|error| Failure::usage(error.to_string(), "pipefill bdp --help has examples"))?;
    let text = match args.json {
        true => json::calculation(&calculation).map_err(Failure::json)?,
        false => calculator::render(&calculation),
    };
    terminal.print_result(&text, args.json)?;
    Ok(Outcome::Done)
}

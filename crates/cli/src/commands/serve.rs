//! `pipefill serve`: the far end of tests.

use crate::args::ServeArgs;
use crate::outcome::Outcome;
use crate::signals::stop_on_signals;
use crate::terminal::log;
use pipefill_hosts::{Policy, read_key, serve as serve_tests};
use pipefill_runs::Failure;

/// Serves until it is stopped.
pub(super) fn serve(args: &ServeArgs) -> Result<Outcome, Failure> {
    let policy = Policy {
        port: args.port,
        bind: args.bind,
        once: args.once,
        max_duration: args.max_duration,
        max_rate: args.max_rate,
        allow: args.allow.clone(),
        key: args.key.as_deref().map(read_key).transpose()?,
    };
    let stop = stop_on_signals()?;
    let went_well = serve_tests(policy, &stop, log)?;
    if args.once && !went_well && !stop.is_requested() {
        return Err(Failure::broken("the test did not come to its end"));
    }
    Ok(Outcome::Done)
}

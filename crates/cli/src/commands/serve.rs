//! `pipefill serve`: the far end of tests.

use crate::args::ServeArgs;
use crate::between::{Policy, key, serve as serve_tests};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::signals::Stop;

/// Serves until it is stopped.
pub(super) fn serve(args: &ServeArgs) -> Result<Outcome, Failure> {
    let policy = Policy {
        port: args.port,
        bind: args.bind,
        once: args.once,
        max_duration: args.max_duration,
        max_rate: args.max_rate,
        allow: args.allow.clone(),
        key: args.key.as_deref().map(key).transpose()?,
    };
    let stop = Stop::on_signals()?;
    let went_well = serve_tests(policy, &stop)?;
    if args.once && !went_well && !stop.is_requested() {
        return Err(Failure::Other("the test did not come to its end".to_owned()));
    }
    Ok(Outcome::Done)
}

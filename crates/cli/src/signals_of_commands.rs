//! Signals while a command of the user's runs: they are the command's, and we end when it does.

use pipefill_core::problem::Problem;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use std::fs::File;
use std::thread;

/// Hands the signals that reach this process meanwhile to `give`, and runs `work`. What a key on the terminal sends reaches the command
/// without us.
///
/// # Errors
/// [`Problem`] where signals can't be watched, and that of `work`.
pub(crate) fn hand_on<T>(
    give: impl Fn(u8) + Sync,
    work: impl FnOnce() -> Result<T, Problem>,
) -> Result<T, Problem> {
    let by_key = [SIGINT, SIGQUIT];
    let mut signals = Signals::new(by_key.into_iter().chain([SIGTERM, SIGHUP, SIGUSR1, SIGUSR2]))
        .map_err(|error| Problem::broken(format!("signals can't be watched: {error}")))?;
    let has_terminal = File::open("/dev/tty").is_ok();
    let handle = signals.handle();
    thread::scope(|scope| {
        scope.spawn(|| {
            let ours = signals.forever().filter(|signal| !(has_terminal && by_key.contains(signal)));
            ours.filter_map(|signal| u8::try_from(signal).ok()).for_each(&give);
        });
        let result = work();
        handle.close();
        result
    })
}

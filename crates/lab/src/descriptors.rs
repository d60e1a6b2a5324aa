//! Open files: a run with many streams needs more than the 1,024 that most shells allow at first.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use pipefill_core::cell::CellSpec;
use pipefill_core::problem::Problem;

/// Files that a run opens in addition to its streams' sockets: namespaces, the path's rings, netlink, BPF, the record's files.
const BESIDE: u64 = 128;

/// Raises the soft limit of open files as far as `spec` needs it. Only this process and its children notice.
///
/// # Errors
/// [`Problem`] with both numbers where the hard limit is lower, and can't be raised.
pub(crate) fn ensure(spec: &CellSpec) -> Result<(), Problem> {
    ensure_count(needed(spec))
}

/// Both ends of every stream, and a listening socket a flow.
fn needed(spec: &CellSpec) -> u64 {
    let of_flow = |sum: u64, parallel: u32| sum.saturating_add(2 * u64::from(parallel) + 1);
    spec.flows.iter().map(|flow| flow.parallel).fold(BESIDE, of_flow)
}

fn ensure_count(needed: u64) -> Result<(), Problem> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)
        .map_err(|errno| Problem::broken(format!("reading the limit of open files: {errno}")))?;
    if soft >= needed {
        return Ok(());
    }
    // Beyond the hard limit only root may go (setrlimit(2)).
    setrlimit(Resource::RLIMIT_NOFILE, needed, hard.max(needed)).map_err(|_| Problem::machine(format!("the run needs {needed} open files, and this process may have {hard}"), format!(
            "raise the limit (`ulimit -Hn {needed}` as root, or LimitNOFILE= of the service), lower parallel, or run it with --on sim"
        )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipefill_core::scenario::Scenario;

    fn spec(parallel: u32) -> CellSpec {
        let text = format!("name = \"x\"\n[[flow]]\nparallel = {parallel}\ndirection = \"both\"\n");
        let scenario = Scenario::parse(&text, "x").unwrap_or_else(|error| panic!("{error}"));
        scenario.plan().cells[0].spec.clone()
    }

    #[test]
    fn each_stream_has_two_sockets_and_each_flow_one_more() {
        assert_eq!(needed(&spec(1)), 128 + 2 * 3);
        assert_eq!(needed(&spec(1024)), 128 + 2 * 2049);
    }

    /// The limits are the whole process's: one test for all.
    #[test]
    fn the_soft_limit_is_raised_and_a_hard_one_is_told() {
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
        assert!(ensure_count(soft).is_ok());
        assert_eq!(getrlimit(Resource::RLIMIT_NOFILE), Ok((soft, hard)));
        if soft < hard {
            assert!(ensure_count(soft + 1).is_ok());
            assert_eq!(getrlimit(Resource::RLIMIT_NOFILE), Ok((soft + 1, hard)));
        }
        // Above `fs.nr_open` not even root may go.
        let Err(Problem { what, remedy: Some(remedy), .. }) = ensure_count(1 << 40) else {
            panic!("a limit of 2^40 files was granted");
        };
        assert!(what.contains("needs 1099511627776 open files, and this process may have"), "{what}");
        assert!(remedy.contains("ulimit -Hn 1099511627776"), "{remedy}");
    }
}

//! The key of a test's server, in a file.

use pipefill_core::problem::Problem;
use pipefill_remote::key::{KEY_MIN, Key};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The key in `file`, which is its owner's alone.
///
/// # Errors
/// [`Problem`] where it can't be read, others can read it, or it is short.
pub fn read_key(file: &Path) -> Result<Key, Problem> {
    /// More is no key.
    const MOST: u64 = 4096;
    let read = || {
        let open = File::open(file)?;
        let mode = open.metadata()?.permissions().mode();
        let mut bytes = Vec::new();
        open.take(MOST).read_to_end(&mut bytes)?;
        Ok((mode, bytes))
    };
    let (mode, bytes) = read().map_err(Problem::file("reading", file))?;
    let name = file.display();
    if mode & 0o077 != 0 {
        return Err(Problem::usage(
            format!("others can read the key in {name}"),
            format!("chmod 600 {name}"),
        ));
    }
    Key::read(&bytes).ok_or_else(|| {
        Problem::usage(
            format!("the key in {name} is shorter than {KEY_MIN} characters"),
            format!("make one: (umask 077; head -c 32 /dev/urandom | base64 > {name})"),
        )
    })
}

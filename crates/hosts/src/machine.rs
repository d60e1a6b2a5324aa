//! Whether both ends of a test are on one machine: then the CPU time of the other end is the test's own, and nobody else's.

use pipefill_remote::iperf3::Cookie;
use pipefill_remote::key::{Key, LENGTH};
use std::fs;

/// What tells this machine from others in the test `name`, and nothing to anybody else: an HMAC of that name with the kernel's boot id as the key.
/// `None` where the kernel has none.
pub(crate) fn machine(name: &Cookie) -> Option<[u8; LENGTH]> {
    let boot_id = fs::read("/proc/sys/kernel/random/boot_id").ok()?;
    Some(Key::read(&boot_id)?.answer(&[0; LENGTH], name))
}

//! What a thread asks of the scheduler, and what it cost.
#![allow(unsafe_code)]

use nix::sys::resource::{UsageWho, getrusage};
use pipefill_core::record::{ThreadCpu, ThreadRole};

/// Asks for timers without slack (`PR_SET_TIMERSLACK`): the default of 50 µs would be the largest error of the path.
pub(crate) fn without_timer_slack() {
    // Refused only for a bad argument; the lateness histogram would show it.
    let _unlikely = nix::sys::prctl::set_timerslack(1);
}

/// Asks for `SCHED_FIFO`, priority 1, so that the path is not late because its own traffic keeps the CPU.
/// Returns whether it was granted (it needs `CAP_SYS_NICE` in the initial user namespace).
pub(crate) fn real_time() -> bool {
    ask(&SchedAttr { policy: libc::SCHED_FIFO as u32, priority: 1, ..SchedAttr::default() })
}

/// Asks the fair scheduler for slices of 0.1 ms, the shortest: a thread that runs briefly is then let in sooner (EEVDF, Linux 6.12
/// and later; needs no privilege). Older kernels ignore or refuse it.
pub(crate) fn short_slices() {
    let _refused =
        ask(&SchedAttr { policy: libc::SCHED_OTHER as u32, runtime_ns: 100_000, ..SchedAttr::default() });
}

/// `sched_setattr(2)` of the calling thread, for which musl has no function. Returns whether it was granted.
fn ask(wanted: &SchedAttr) -> bool {
    let wanted = SchedAttr { size: size_of::<SchedAttr>() as u32, ..*wanted };
    // SAFETY: the kernel reads `size` bytes of the struct.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const wanted, 0) == 0 }
}

/// `struct sched_attr` (`include/uapi/linux/sched/types.h`), first version.
#[repr(C)]
#[derive(Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

/// The calling thread's id, for `/proc/self/task`.
pub(crate) fn id() -> i32 {
    nix::unistd::gettid().as_raw()
}

/// CPU time of the calling thread (`RUSAGE_THREAD`), which works as `thread`.
pub(crate) fn cpu(thread: ThreadRole) -> ThreadCpu {
    let micros =
        |t: nix::sys::time::TimeVal| u64::try_from(t.tv_sec() * 1_000_000 + t.tv_usec()).unwrap_or(0);
    let (user_us, system_us) = getrusage(UsageWho::RUSAGE_THREAD)
        .map_or((0, 0), |usage| (micros(usage.user_time()), micros(usage.system_time())));
    ThreadCpu { thread, user_us, system_us, wait_us: None }
}

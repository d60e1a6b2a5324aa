//! A file in memory (`mmap(2)`), for reading, and what happens where its bytes can't be had: the file became shorter, or its medium fails.
//!
//! The kernel tells that by SIGBUS. A handler puts zeros in place of the rest of the mapping and notes that; any other SIGBUS does what it
//! did before.
#![allow(unsafe_code)]

use memmap2::{Mmap, UncheckedAdvice};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::fs::File;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Mappings at a time; a further one is refused.
const AREAS: usize = 4;
static AREA: [Area; AREAS] = [const { Area::free() }; AREAS];
static PAGE: AtomicUsize = AtomicUsize::new(0);
/// What SIGBUS did before.
static BEFORE: OnceLock<SigAction> = OnceLock::new();

/// Places that one access fetches, and bytes of each: a record's header and the packet's, which lie in two cache lines or three.
const PLACES: usize = 5;
const LINE: usize = 64;
const LINES: usize = 2;

/// Addresses of a mapping, for the handler. Free where `start` is 0.
struct Area {
    start: AtomicUsize,
    end: AtomicUsize,
    has_failed: AtomicBool,
}

impl Area {
    const fn free() -> Self {
        Self { start: AtomicUsize::new(0), end: AtomicUsize::new(0), has_failed: AtomicBool::new(false) }
    }
}

/// A file in memory. Its bytes are those of the file as it is when they are looked at: who changes them meanwhile is seen.
pub(crate) struct FileMapping {
    map: Mmap,
    area: &'static Area,
    /// Bytes of it are not needed any more up to here; a multiple of the page size.
    passed: AtomicUsize,
}

impl FileMapping {
    /// All of `file`, which has at least a byte.
    ///
    /// # Errors
    /// `mmap(2)`'s; and where too many files are mapped.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        install()?;
        // SAFETY: readers take the bytes as numbers and lengths that are checked before they are used, as those of any hostile file: one
        // that another process changes meanwhile gives other numbers, and one that becomes shorter zeros, by the handler.
        let map = unsafe { Mmap::map(file)? };
        let start = map.as_ptr().addr();
        let is_free =
            |area: &&Area| area.start.compare_exchange(0, start, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        let area = AREA.iter().find(is_free).ok_or(io::ErrorKind::ResourceBusy)?;
        area.has_failed.store(false, Ordering::Relaxed);
        area.end.store(start + map.len(), Ordering::Release);
        Ok(Self { map, area, passed: AtomicUsize::new(0) })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Whether bytes could not be had, which are zeros since.
    pub(crate) fn has_failed(&self) -> bool {
        self.area.has_failed.load(Ordering::Acquire)
    }

    /// Gives the pages before `offset` back.
    pub(crate) fn pass(&self, offset: usize) {
        let to = offset - offset % PAGE.load(Ordering::Relaxed).max(1);
        let from = self.passed.fetch_max(to, Ordering::Relaxed);
        if to > from {
            // SAFETY: the pages are of a file and were never written: they come back from it where they are read again.
            let _refused =
                unsafe { self.map.unchecked_advise_range(UncheckedAdvice::DontNeed, from, to - from) };
        }
    }

    /// Brings what begins at `offset`, and every `stride` bytes behind it, into the cache.
    #[inline]
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn fetch(&self, offset: usize, stride: usize) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        for place in 0..PLACES {
            for line in 0..LINES {
                let at = self.map.as_ptr().wrapping_add(offset + place * stride + line * LINE);
                // SAFETY: a prefetch reads nothing and never faults, whatever the address.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
            }
        }
    }

    /// No other architecture has a stable instruction for it.
    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn fetch(&self, _offset: usize, _stride: usize) {}
}

impl Drop for FileMapping {
    fn drop(&mut self) {
        self.area.end.store(0, Ordering::Release);
        self.area.start.store(0, Ordering::Release);
    }
}

/// Installs the handler, once.
fn install() -> io::Result<()> {
    if BEFORE.get().is_some() {
        return Ok(());
    }
    // SAFETY: no pointers.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    PAGE.store(usize::try_from(page).unwrap_or(4096), Ordering::Relaxed);
    let action = SigAction::new(SigHandler::SigAction(on_bus_error), SaFlags::SA_SIGINFO, SigSet::empty());
    // SAFETY: the handler calls nothing that is not async-signal-safe.
    let before = unsafe { sigaction(Signal::SIGBUS, &action)? };
    let _lost_race = BEFORE.set(before);
    Ok(())
}

/// Puts zeros in place of what is left of a mapping from the page on that can't be had.
extern "C" fn on_bus_error(_signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel gives a valid `info`, and of SIGBUS it has an address.
    let address = unsafe { (*info).si_addr() }.addr();
    for area in &AREA {
        let (start, end) = (area.start.load(Ordering::Acquire), area.end.load(Ordering::Acquire));
        if (start..end).contains(&address) && put_zeros(address, end) {
            area.has_failed.store(true, Ordering::Release);
            return;
        }
    }
    if let Some(before) = BEFORE.get() {
        // SAFETY: what it was. The access is made again, and the signal comes again.
        let _refused = unsafe { sigaction(Signal::SIGBUS, before) };
    }
}

fn put_zeros(address: usize, end: usize) -> bool {
    let from = address - address % PAGE.load(Ordering::Relaxed).max(1);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    let at = std::ptr::without_provenance_mut(from);
    // SAFETY: the pages are of a mapping of ours, to its end, and stay readable.
    let zeros = unsafe { libc::mmap(at, end - from, libc::PROT_READ, flags, -1, 0) };
    zeros != libc::MAP_FAILED
}

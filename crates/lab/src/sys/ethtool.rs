//! Offloads of an interface: ethtool(8)'s requests by `ioctl(SIOCETHTOOL)` (`include/uapi/linux/ethtool.h`).
#![allow(unsafe_code)]

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

const SIOCETHTOOL: libc::Ioctl = 0x8946;
const GSTRINGS: u32 = 0x1b;
const GSSET_INFO: u32 = 0x37;
const GFEATURES: u32 = 0x3a;
const SFEATURES: u32 = 0x3b;
/// `ETH_SS_FEATURES`.
const FEATURES: u32 = 4;
/// `ETH_GSTRING_LEN`.
const NAME_LEN: usize = 32;

/// An interface of the calling thread's network namespace.
pub(crate) struct Offloads {
    socket: OwnedFd,
    interface: String,
    /// What the kernel can switch, in its order.
    names: Vec<String>,
}

/// `struct ifreq` with a pointer in its union.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    data: *mut libc::c_void,
    /// The rest of the union.
    padding: [u8; 16],
}

impl Offloads {
    /// Those of `interface`.
    ///
    /// # Errors
    /// There is no such interface.
    pub(crate) fn of(interface: &str) -> io::Result<Self> {
        let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
        let mut this = Self { socket, interface: interface.to_owned(), names: Vec::new() };
        this.names = this.read_names()?;
        Ok(this)
    }

    /// Switches `feature` (a name of `ethtool -k` as the kernel has it, e.g. `tx-tcp-segmentation`) on or off. False where the kernel does
    /// not know it.
    ///
    /// # Errors
    /// It is not permitted.
    pub(crate) fn switch(&self, feature: &str, on: bool) -> io::Result<bool> {
        let Some(bit) = self.names.iter().position(|name| name == feature) else { return Ok(false) };
        let blocks = self.names.len().div_ceil(32);
        // struct ethtool_sfeatures { cmd, size, { valid, requested }[] }
        let mut words = vec![0_u32; 2 + 2 * blocks];
        (words[0], words[1]) = (SFEATURES, blocks as u32);
        words[2 + 2 * (bit / 32)] = 1 << (bit % 32);
        words[3 + 2 * (bit / 32)] = u32::from(on) << (bit % 32);
        self.ask(&mut words).map(|()| true)
    }

    /// Whether `feature` is on; `None` where the kernel does not know it.
    ///
    /// # Errors
    /// Those of `ioctl(2)`.
    pub(crate) fn is_on(&self, feature: &str) -> io::Result<Option<bool>> {
        const ACTIVE: usize = 2;
        let Some(bit) = self.names.iter().position(|name| name == feature) else { return Ok(None) };
        let blocks = self.names.len().div_ceil(32);
        // struct ethtool_gfeatures { cmd, size, { available, requested, active, never_changed }[] }
        let mut words = vec![0_u32; 2 + 4 * blocks];
        (words[0], words[1]) = (GFEATURES, blocks as u32);
        self.ask(&mut words)?;
        Ok(Some(words[2 + 4 * (bit / 32) + ACTIVE] >> (bit % 32) & 1 == 1))
    }

    fn read_names(&self) -> io::Result<Vec<String>> {
        // struct ethtool_sset_info { cmd, reserved, u64 mask, count }
        let mut info = [GSSET_INFO, 0, 1 << FEATURES, 0, 0];
        self.ask(&mut info)?;
        let count = info[4] as usize;
        // struct ethtool_gstrings { cmd, set, count, names }
        let mut words = vec![0_u32; 3 + count * NAME_LEN / size_of::<u32>()];
        (words[0], words[1], words[2]) = (GSTRINGS, FEATURES, info[4]);
        self.ask(&mut words)?;
        let bytes: Vec<u8> = words[3..].iter().flat_map(|word| word.to_ne_bytes()).collect();
        let name = |bytes: &[u8]| {
            CStr::from_bytes_until_nul(bytes)
                .map_or_else(|_| String::new(), |name| name.to_string_lossy().into_owned())
        };
        Ok(bytes.chunks(NAME_LEN).map(name).collect())
    }

    /// Sends `words`, which the kernel answers in their place.
    fn ask(&self, words: &mut [u32]) -> io::Result<()> {
        let mut request =
            Request { name: [0; libc::IFNAMSIZ], data: words.as_mut_ptr().cast(), padding: [0; 16] };
        let name = self.interface.as_bytes();
        let length = name.len().min(libc::IFNAMSIZ - 1);
        request.name[..length].copy_from_slice(&name[..length]);
        // SAFETY: the request is as large as `struct ifreq`; its pointer leads to `words`, which hold as much as the command in their first
        // word says, and outlive the call.
        let result = unsafe { libc::ioctl(self.socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_names_what_it_can_switch() {
        let loopback = Offloads::of("lo").expect("loopback is everywhere");
        assert!(loopback.names.iter().any(|name| name == "tx-tcp-segmentation"), "{:?}", loopback.names);
        assert!(!loopback.switch("no-such-feature", false).expect("known to nobody"));
        assert_eq!(loopback.is_on("loopback").expect("a look"), Some(true));
        assert_eq!(loopback.is_on("no-such-feature").expect("a look"), None);
        assert!(Offloads::of("no-such-interface").is_err());
    }
}

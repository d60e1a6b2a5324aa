//! A short list of all TCP sockets of a network namespace: who each is, and whether anything happened on it. Made by a BPF iterator, where
//! the kernel lets us.
//!
//! A dump of [`crate::sock_diag`] tells all of each socket. Where most are idle, the list of the others and a question for each of these take
//! less of its CPU time (`make bench`). Never: a change to a socket.

use crate::kernel_types::{chain, ensure_permitted, kernel_types};
use crate::namespace::Namespace;
use crate::sys::socket_list::Passes;
use aya::maps::{Array, MapData};
use aya::programs::Iter;
use aya::{Ebpf, EbpfLoader};
use std::error::Error;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

/// `cargo run -p xtask -- bpf` makes it from the source beside it.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/sockets.bpf.o");
const PROGRAM: &str = "each_socket";
/// What it keeps between passes.
const PASSES: &str = "passes";
/// What it iterates over.
const TARGET: &str = "tcp";
/// Bytes of `struct brief`.
const LENGTH: usize = 64;
/// A multiple of it. The kernel hands over 32 KiB at most.
const BUFFER: usize = 1 << 16;

/// One socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Brief {
    /// As in [`crate::sock_diag::SocketReport`].
    pub cookie: u64,
    /// This host's address and port.
    pub local: SocketAddr,
    /// The peer's.
    pub remote: SocketAddr,
    /// `include/net/tcp_states.h`: 1 = ESTABLISHED.
    pub state: u8,
    /// Data waits to be acknowledged, to be sent, or, more than half a buffer of it, to be read.
    pub is_under_way: bool,
    /// `tcpi_bytes_acked`.
    pub bytes_acked: u64,
    /// `tcpi_bytes_received`.
    pub bytes_received: u64,
}

/// Which sockets are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// Every connected one.
    All,
    /// Those that sent or received anything since the last pass began, and those on which something is under way.
    Changed,
}

/// What makes the list.
pub struct SocketList {
    programs: Ebpf,
    passes: Array<MapData, Passes>,
    /// None for the calling thread's own.
    namespace: Option<Namespace>,
}

impl SocketList {
    /// Of the namespace that `file` stands for, or of the calling thread's own.
    ///
    /// # Errors
    /// Why the kernel does not let us, in a line.
    pub fn start(file: Option<&Path>) -> Result<Self, String> {
        ensure_permitted()?;
        let namespace = file.map(Namespace::open).transpose().map_err(|error| error.to_string())?;
        let (programs, passes) = load().map_err(|error| chain(error.as_ref()))?;
        let mut list = Self { programs, passes, namespace };
        // A kernel that loads it and does not run it shows it now.
        list.each(Which::Changed, |_| ()).map_err(|error| error.to_string())?;
        Ok(list)
    }

    /// Tells `each` those sockets, and returns how many connected ones there are in all: not those in TIME_WAIT, and no requests for a
    /// connection.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn each(&mut self, which: Which, mut each: impl FnMut(&Brief)) -> io::Result<u64> {
        let mut state = self.passes.get(&0, 0).map_err(io::Error::other)?;
        state.wants_all = u32::from(which == Which::All);
        self.passes.set(0, state, 0).map_err(io::Error::other)?;
        let mut file = self.open()?;
        let mut buffer = vec![0; BUFFER];
        let (mut filled, mut count) = (0, None);
        loop {
            match file.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(length) => filled += length,
                // It looked at a million sockets and had nothing to tell.
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(error) => return Err(error),
            }
            let whole = filled / LENGTH * LENGTH;
            for line in buffer[..whole].chunks_exact(LENGTH).filter_map(line) {
                match line {
                    Line::Socket(brief) => each(&brief),
                    Line::Count(connected) => count = Some(connected),
                }
            }
            buffer.copy_within(whole..filled, 0);
            filled -= whole;
        }
        count.ok_or_else(|| io::Error::other("the list of sockets has no end"))
    }

    /// A pass over the sockets of the namespace in which it is opened (`bpf_iter_init_seq_net()`).
    fn open(&mut self) -> io::Result<File> {
        let program = self.programs.program_mut(PROGRAM).ok_or_else(|| io::Error::other("no program"))?;
        let program: &mut Iter = program.try_into().map_err(io::Error::other)?;
        let link = program.attach().and_then(|id| program.take_link(id)).map_err(io::Error::other)?;
        let open = || link.into_file().map_err(io::Error::other);
        match &self.namespace {
            Some(namespace) => namespace.enter(open),
            None => open(),
        }
    }
}

fn load() -> Result<(Ebpf, Array<MapData, Passes>), Box<dyn Error>> {
    let types = kernel_types()?;
    let mut programs = EbpfLoader::new().btf(Some(types)).load(OBJECT)?;
    let program = programs.program_mut(PROGRAM).ok_or("a program is missing from the object")?;
    let program: &mut Iter = program.try_into()?;
    program.load(TARGET, types)?;
    let passes = programs.take_map(PASSES).ok_or("a map is missing from the object")?;
    Ok((programs, Array::try_from(passes)?))
}

/// One `struct brief` of `bpf/sockets.bpf.c`.
enum Line {
    Socket(Brief),
    /// The last one of a pass.
    Count(u64),
}

/// `None` for a socket of another family.
fn line(bytes: &[u8]) -> Option<Line> {
    let u64_at = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let pair_at = |at: usize| -> Option<[u8; 2]> { bytes.get(at..at + 2)?.try_into().ok() };
    let family = u16::from_ne_bytes(pair_at(24)?);
    let address = |at: usize| -> Option<IpAddr> {
        let octets: [u8; 16] = bytes.get(at..at + 16)?.try_into().ok()?;
        match i32::from(family) {
            libc::AF_INET => Some(Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]).into()),
            // An IPv4 connection of an IPv6 socket.
            libc::AF_INET6 => Some(IpAddr::from(Ipv6Addr::from(octets)).to_canonical()),
            _ => None,
        }
    };
    let cookie = u64_at(0)?;
    if cookie == 0 {
        return Some(Line::Count(u64_at(8)?));
    }
    Some(Line::Socket(Brief {
        cookie,
        bytes_acked: u64_at(8)?,
        bytes_received: u64_at(16)?,
        local: SocketAddr::new(address(32)?, u16::from_ne_bytes(pair_at(26)?)),
        remote: SocketAddr::new(address(48)?, u16::from_be_bytes(pair_at(28)?)),
        state: *bytes.get(30)?,
        is_under_way: *bytes.get(31)? != 0,
    }))
}

impl fmt::Debug for SocketList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SocketList").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sock_diag::{CONNECTED, SockDiag};
    use pipefill_core::tcp_info;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    /// The kernel as oracle: what a dump tells of our own sockets.
    #[test]
    fn the_list_says_of_a_socket_what_a_dump_says() {
        let Some(mut list) = list() else { return };
        for address in ["127.0.0.1:0", "[::1]:0", "[::ffff:127.0.0.1]:0"] {
            let (mut ours, theirs) = pair(address);
            ours.write_all(&[0; 1000]).expect("writes");
            let mut ends = [ours.local_addr().expect("local"), theirs.local_addr().expect("local")];
            ends.iter_mut().for_each(|end| end.set_ip(end.ip().to_canonical()));
            let mut dumped = BTreeMap::new();
            let mut diag = SockDiag::connect().expect("sock_diag");
            diag.dump(CONNECTED, |seen| {
                if ends.contains(&seen.local) && ends.contains(&seen.remote) {
                    let info = tcp_info::decode(seen.info).expect("tcp_info");
                    let bytes = (info.bytes_acked.unwrap_or(0), info.bytes_received.unwrap_or(0));
                    dumped.insert(seen.cookie, (seen.local, seen.remote, seen.state, bytes));
                }
            })
            .expect("a dump");
            let mut listed = BTreeMap::new();
            let all = list.each(Which::All, |brief| {
                if dumped.contains_key(&brief.cookie) {
                    let bytes = (brief.bytes_acked, brief.bytes_received);
                    listed.insert(brief.cookie, (brief.local, brief.remote, brief.state, bytes));
                }
            });
            assert_eq!(dumped.len(), 2, "{address}");
            assert_eq!(listed, dumped, "{address}");
            assert!(all.is_ok_and(|all| all >= 2), "{address}");
        }
    }

    #[test]
    fn only_those_on_which_something_happened_are_told_again() {
        let Some(mut list) = list() else { return };
        let pairs: Vec<(TcpStream, TcpStream)> = (0..10).map(|_| pair("127.0.0.1:0")).collect();
        let ends: Vec<SocketAddr> = pairs.iter().map(|(ours, _)| ours.local_addr().expect("local")).collect();
        let mut told = || {
            let mut told = Vec::new();
            let all = list
                .each(Which::Changed, |brief| told.extend(ends.iter().position(|end| *end == brief.local)));
            (told, all.expect("a list"))
        };
        told();
        // What happened in the jiffy in which a pass begins is told again by the next one.
        std::thread::sleep(std::time::Duration::from_millis(30));
        told();
        std::thread::sleep(std::time::Duration::from_millis(30));
        assert_eq!(told().0, [0; 0], "nothing happened");
        (&pairs[3].0).write_all(b"x").expect("writes");
        let (changed, all) = told();
        assert_eq!(changed, [3]);
        assert!(all >= 20, "{all}");
    }

    fn list() -> Option<SocketList> {
        match SocketList::start(None) {
            Ok(list) => Some(list),
            Err(why) => {
                assert!(std::env::var_os("PIPEFILL_REQUIRE_LAB").is_none(), "{why}");
                println!("skipped (no-bpf: {why})");
                None
            }
        }
    }

    fn pair(address: &str) -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind(address).expect("binds");
        let ours = TcpStream::connect(listener.local_addr().expect("an address")).expect("connects");
        (ours, listener.accept().expect("accepts").0)
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_fail(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _one = line(&bytes);
        }
    }
}

//! Sockets of a flow: made in their hosts' namespaces, with their options asked for, read back and recorded.

use crate::namespace::Namespace;
use crate::sys::socket::{max_pacing_rate, set_option};
use pipefill_core::backend::Watch;
use pipefill_core::cell::{BUFFER_CAPPED, FlowSpec, HostSpec};
use pipefill_core::record::Setting;
use pipefill_core::units::{Bytes, Rate};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::thread;
use std::time::{Duration, Instant};

/// A UDP flow that asks for no `rcvbuf` gets this much, so that a busy reader is not taken for a lossy path.
const UDP_RCVBUF: Bytes = Bytes::new(8 << 20);
/// The first port; each flow listens on its own.
const FIRST_PORT: u16 = 5201;

/// One end of a flow: where it is and what it is called.
#[derive(Clone, Copy)]
pub(crate) struct Endpoint<'a> {
    pub(crate) namespace: &'a Namespace,
    pub(crate) address: IpAddr,
    pub(crate) host: &'a HostSpec,
}

/// Both sockets of one stream.
pub(crate) struct StreamSockets {
    pub(crate) sender: Socket,
    pub(crate) receiver: Socket,
}

/// Both ends of a flow, to be connected.
#[derive(Clone, Copy)]
pub(crate) struct FlowEnds<'a> {
    pub(crate) flow: &'a FlowSpec,
    /// Index of the flow in the cell.
    pub(crate) index: u32,
    /// Number of its first stream in the run.
    pub(crate) first_stream: u32,
    pub(crate) from: Endpoint<'a>,
    pub(crate) to: Endpoint<'a>,
    /// Whether it listens at any port that is free.
    pub(crate) picks_port: bool,
}

impl FlowEnds<'_> {
    /// Connects all TCP streams of the flow through the path, at most `timeout` long.
    ///
    /// # Errors
    /// `TimedOut` with the number of streams that did connect; those of the socket calls, with the option's name.
    pub(crate) fn connect_tcp(
        &self,
        timeout: Duration,
        watch: &dyn Watch,
    ) -> io::Result<(Vec<StreamSockets>, Vec<Setting>)> {
        let deadline = Instant::now() + timeout;
        let mut settings = Vec::new();
        let listener = self.to.namespace.enter(|| self.listener())?;
        let senders = self.from.namespace.enter(|| self.senders(&mut settings))?;
        let target = listener.local_addr()?;
        for sender in &senders {
            sender.set_nonblocking(true)?;
            match sender.connect(&target) {
                Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
                _ => {}
            }
        }
        let receivers = accept_all(&listener, senders.len(), deadline, watch)?;
        let sockets = pair_by_port(senders, receivers)?;
        self.note_receivers(&sockets, &mut settings)?;
        for (pair, stream) in sockets.iter().zip(self.first_stream..) {
            pair.receiver.set_nonblocking(true)?;
            if self.flow.nodelay {
                settings.push(no_delay(&pair.receiver, format!("stream {stream} receiver"))?);
            }
        }
        Ok((sockets, settings))
    }

    /// Makes the UDP sockets of the flow; each sender is connected to its receiver, and for a ping the receiver to its sender.
    ///
    /// # Errors
    /// Those of the socket calls.
    pub(crate) fn connect_udp(&self) -> io::Result<(Vec<StreamSockets>, Vec<Setting>)> {
        let mut settings = Vec::new();
        let mut sockets = Vec::new();
        for stream in 0..self.flow.parallel {
            let place = |end: &str| format!("stream {} {end}", self.first_stream + stream);
            let receiver = self.to.namespace.enter(|| {
                let socket = Socket::new(self.domain(), Type::DGRAM, Some(Protocol::UDP))?;
                settings.push(match self.flow.rcvbuf {
                    Some(asked) => self.receive_buffer(&socket, asked, place("receiver"))?,
                    None => by_default(receive_buffer(&socket, UDP_RCVBUF, place("receiver"))?),
                });
                crate::sys::datagram::want_timestamps(&socket)?;
                socket.bind(&SockAddr::from(SocketAddr::new(self.to.address, 0)))?;
                Ok(socket)
            })?;
            let target = receiver.local_addr()?;
            let sender = self.from.namespace.enter(|| {
                let socket = Socket::new(self.domain(), Type::DGRAM, Some(Protocol::UDP))?;
                if let Some(asked) = self.flow.sndbuf {
                    settings.push(self.send_buffer(&socket, asked, place("sender"))?);
                }
                socket.connect(&target)?;
                Ok(socket)
            })?;
            if self.flow.ping.is_some() {
                receiver.connect(&sender.local_addr()?)?;
            }
            sockets.push(StreamSockets { sender, receiver });
        }
        Ok((sockets, settings))
    }

    fn target(&self) -> SocketAddr {
        let port = FIRST_PORT + u16::try_from(self.index).unwrap_or(0);
        SocketAddr::new(self.to.address, if self.picks_port { 0 } else { port })
    }

    fn domain(&self) -> Domain {
        Domain::for_address(self.target())
    }

    fn listener(&self) -> io::Result<Socket> {
        let socket = Socket::new(self.domain(), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        if let Some(asked) = self.flow.rcvbuf {
            // Before listen(2), so that the window scale is chosen for it; accepted sockets inherit it.
            self.receive_buffer(&socket, asked, String::new())?;
        }
        set_congestion_control(&socket, &self.to.host.congestion_control)?;
        socket.bind(&SockAddr::from(self.target()))?;
        socket.listen(1024)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    }

    fn senders(&self, settings: &mut Vec<Setting>) -> io::Result<Vec<Socket>> {
        (0..self.flow.parallel).map(|stream| self.sender(self.first_stream + stream, settings)).collect()
    }

    fn sender(&self, stream: u32, settings: &mut Vec<Setting>) -> io::Result<Socket> {
        let place = format!("stream {stream} sender");
        let socket = Socket::new(self.domain(), Type::STREAM, Some(Protocol::TCP))?;
        let wanted = self.flow.congestion_control.as_ref().unwrap_or(&self.from.host.congestion_control);
        settings.push(set_congestion_control(&socket, wanted)?.at(place.clone()));
        if let Some(asked) = self.flow.sndbuf {
            settings.push(self.send_buffer(&socket, asked, place.clone())?);
        }
        if let Some(rate) = self.flow.max_pacing_rate {
            settings.push(pacing_rate(&socket, rate, place.clone())?);
        }
        if self.flow.nodelay {
            settings.push(no_delay(&socket, place)?);
        }
        Ok(socket)
    }

    fn note_receivers(&self, sockets: &[StreamSockets], settings: &mut Vec<Setting>) -> io::Result<()> {
        let Some(asked) = self.flow.rcvbuf else {
            return Ok(());
        };
        let granted = self.to.host.granted_rcvbuf(asked);
        for (pair, stream) in sockets.iter().zip(self.first_stream..) {
            let got = pair.receiver.recv_buffer_size()?;
            let setting =
                buffer_setting("SO_RCVBUF", granted, got, false, format!("stream {stream} receiver"));
            settings.push(capped(setting, asked, granted));
        }
        Ok(())
    }

    /// Asks for no more than the scenario's `net.core.rmem_max`, which the kernel has only once for all namespaces.
    fn receive_buffer(&self, socket: &Socket, asked: Bytes, place: String) -> io::Result<Setting> {
        let granted = self.to.host.granted_rcvbuf(asked);
        Ok(capped(receive_buffer(socket, granted, place)?, asked, granted))
    }

    /// Likewise by `net.core.wmem_max`.
    fn send_buffer(&self, socket: &Socket, asked: Bytes, place: String) -> io::Result<Setting> {
        let granted = self.from.host.granted_sndbuf(asked);
        Ok(capped(send_buffer(socket, granted, place)?, asked, granted))
    }
}

/// A setting whose place is not known yet.
pub(crate) struct Unplaced(Setting);

impl Unplaced {
    fn at(self, place: String) -> Setting {
        Setting { place, ..self.0 }
    }
}

/// Whether a socket of the calling thread's namespace can use `wanted`.
///
/// # Errors
/// Says which ones are available.
pub(crate) fn try_congestion_control(wanted: &str) -> io::Result<()> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    set_congestion_control(&socket, wanted).map(|_| ())
}

pub(crate) fn set_congestion_control(socket: &Socket, wanted: &str) -> io::Result<Unplaced> {
    socket.set_tcp_congestion(wanted.as_bytes()).map_err(|error| {
        let available = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
            .unwrap_or_default();
        io::Error::new(
            io::ErrorKind::Unsupported,
            format!(
                "congestion control \"{wanted}\" is not available here ({error}); this kernel has: {}",
                available.trim()
            ),
        )
    })?;
    let got = String::from_utf8_lossy(&socket.tcp_congestion()?).trim_end_matches('\0').to_owned();
    Ok(Unplaced(Setting {
        place: String::new(),
        name: "TCP_CONGESTION".to_owned(),
        asked: Some(wanted.to_owned()),
        got: Some(got),
        why: None,
        met: true,
    }))
}

/// The kernel takes a rate in bytes per second (socket(7)).
pub(crate) fn pacing_rate(socket: &Socket, asked: Rate, place: String) -> io::Result<Setting> {
    let bytes = asked.bps() / 8;
    set_option(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &bytes)?;
    let got = max_pacing_rate(socket)?;
    let met = got == bytes;
    Ok(Setting {
        place,
        name: "SO_MAX_PACING_RATE".to_owned(),
        asked: Some(bytes.to_string()),
        got: Some(got.to_string()),
        why: (!met).then(|| "the kernel keeps another rate".to_owned()),
        met,
    })
}

/// Switches Nagle's algorithm off.
fn no_delay(socket: &Socket, place: String) -> io::Result<Setting> {
    socket.set_tcp_nodelay(true)?;
    let got = socket.tcp_nodelay()?;
    Ok(Setting {
        place,
        name: "TCP_NODELAY".to_owned(),
        asked: Some("1".to_owned()),
        got: Some(u8::from(got).to_string()),
        why: None,
        met: got,
    })
}

pub(crate) fn send_buffer(socket: &Socket, asked: Bytes, place: String) -> io::Result<Setting> {
    let bytes = i32::try_from(asked.get()).unwrap_or(i32::MAX);
    set_option(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &bytes)?;
    let forced = socket.send_buffer_size()? < doubled(asked)
        && set_option(socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &bytes).is_ok();
    Ok(buffer_setting("SO_SNDBUF", asked, socket.send_buffer_size()?, forced, place))
}

pub(crate) fn receive_buffer(socket: &Socket, asked: Bytes, place: String) -> io::Result<Setting> {
    let bytes = i32::try_from(asked.get()).unwrap_or(i32::MAX);
    set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &bytes)?;
    let forced = socket.recv_buffer_size()? < doubled(asked)
        && set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &bytes).is_ok();
    Ok(buffer_setting("SO_RCVBUF", asked, socket.recv_buffer_size()?, forced, place))
}

fn doubled(asked: Bytes) -> usize {
    usize::try_from(asked.get().saturating_mul(2)).unwrap_or(usize::MAX)
}

/// The kernel doubles what was asked, for its own overhead (socket(7)), after capping it at `net.core.{w,r}mem_max`.
fn buffer_setting(name: &str, asked: Bytes, got: usize, forced: bool, place: String) -> Setting {
    let why = if got < doubled(asked) {
        let limit = if name == "SO_SNDBUF" { "net.core.wmem_max" } else { "net.core.rmem_max" };
        format!(
            "{} granted, and doubled as always: {limit} caps it, which is global: raise it on the machine itself",
            got / 2
        )
    } else if forced {
        "the kernel doubles it; past net.core's maximum by SO_SNDBUFFORCE or SO_RCVBUFFORCE".to_owned()
    } else {
        "the kernel doubles it".to_owned()
    };
    Setting {
        place,
        name: name.to_owned(),
        asked: Some(asked.get().to_string()),
        got: Some(got.to_string()),
        why: Some(why),
        met: got >= doubled(asked),
    }
}

/// `setting` of a buffer for which `asked` bytes are wanted, and `granted` are what the scenario's own host allows.
fn capped(setting: Setting, asked: Bytes, granted: Bytes) -> Setting {
    if granted == asked {
        return setting;
    }
    Setting { asked: Some(asked.get().to_string()), why: Some(BUFFER_CAPPED.to_owned()), ..setting }
}

/// A value that the scenario leaves to the lab: recorded, not asked for, so that it can't be refused.
fn by_default(setting: Setting) -> Setting {
    Setting { asked: None, why: None, met: true, ..setting }
}

/// Accepts `count` connections.
///
/// # Errors
/// `TimedOut` after `deadline`; `Interrupted` where the user asked to stop.
fn accept_all(
    listener: &Socket,
    count: usize,
    deadline: Instant,
    watch: &dyn Watch,
) -> io::Result<Vec<Socket>> {
    let mut accepted = Vec::with_capacity(count);
    while accepted.len() < count {
        match listener.accept() {
            Ok((socket, _)) => accepted.push(socket),
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            Err(_) if watch.stop_requested() => return Err(io::ErrorKind::Interrupted.into()),
            Err(_) if Instant::now() >= deadline => {
                let text = format!("{} of {count} connections came through the path", accepted.len());
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            Err(_) => thread::sleep(Duration::from_millis(1)),
        }
    }
    Ok(accepted)
}

/// Connections may be accepted in any order: a stream's two sockets belong together by the sender's port.
fn pair_by_port(senders: Vec<Socket>, mut receivers: Vec<Socket>) -> io::Result<Vec<StreamSockets>> {
    let mut pairs = Vec::with_capacity(senders.len());
    for sender in senders {
        let local = sender.local_addr()?.as_socket();
        let mut found = None;
        for (i, receiver) in receivers.iter().enumerate() {
            if receiver.peer_addr()?.as_socket() == local {
                found = Some(i);
            }
        }
        let at = found.ok_or_else(|| io::Error::other("a connection without its other end"))?;
        pairs.push(StreamSockets { sender, receiver: receivers.swap_remove(at) });
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pacing_rate_is_what_was_read_back() {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).unwrap();
        for (bps, bytes) in [(100_000_000, "12500000"), (100_000_000_000, "12500000000")] {
            let setting = pacing_rate(&socket, Rate::from_bps(bps), String::new()).unwrap();
            assert_eq!((setting.got.as_deref(), setting.met), (Some(bytes), true));
        }
        set_option(&socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &7_u64).unwrap();
        assert_eq!(max_pacing_rate(&socket).unwrap(), 7);
    }
}

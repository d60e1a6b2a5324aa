//! First datagrams of streams of UDP: each gets a socket of its own, and goes to the test that it names. One of a stock client names none:
//! it goes to the test of its address whose turn it is.

use super::shared::{Hello, Shared};
use pipefill_lab::one_end::{SocketOptions, answer_hello};
use pipefill_remote::iperf3::datagram::{Dialect, name_in_hello};
use rustix::event::{PollFd, PollFlags, poll};
use std::net::{SocketAddr, UdpSocket};

/// Reads first datagrams until the server is over. What nobody waits for is not answered.
pub(super) fn answer(listener: &UdpSocket, shared: &Shared) {
    let mut bytes = [0; 64];
    while !shared.is_over() {
        // A signal ends the wait early.
        let _count = poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&super::TICK));
        while let Ok((length, peer)) = listener.recv_from(&mut bytes) {
            let mut waiting = vec![(bytes[..length].to_vec(), peer)];
            while let Some((hello, peer)) = waiting.pop() {
                take(&hello, peer, shared, &mut waiting);
            }
        }
    }
}

fn take(hello: &[u8], peer: SocketAddr, shared: &Shared, others: &mut Vec<(Vec<u8>, SocketAddr)>) {
    let Some(dialect) = Dialect::of_hello(hello) else { return };
    let name = name_in_hello(hello);
    let Some(test) = shared.expects_hello(name.as_ref(), peer.ip()) else { return };
    let other = |bytes: &[u8], from| others.push((bytes.to_vec(), from));
    // A socket that can't be made is one stream too few: the test says so.
    if let Ok(socket) = answer_hello(shared.address, peer, &SocketOptions::default(), other) {
        let _surplus = test.try_send(Hello { socket, dialect });
    }
}

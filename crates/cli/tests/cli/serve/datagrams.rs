//! Tests with UDP whose other end has gone, or never sends a first datagram.

use super::{Client, Server, went_well};
use std::io::Read;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

/// A UDP test of a stock client in which the server sends; its control connection and its socket.
fn reversed_datagrams(port: u16, name: &[u8; 37]) -> (Client, UdpSocket) {
    let mut control = Client::begin(port, name);
    control.document(br#"{"udp":true,"time":60,"parallel":1,"reverse":true,"len":1000,"bandwidth":8000000}"#);
    assert_eq!(control.hear(), Some(10), "CREATE_STREAMS");
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket.connect(("127.0.0.1", port)).unwrap();
    socket.send(b"9876").unwrap();
    assert_eq!(socket.recv(&mut [0; 2_000]).unwrap(), 4, "its answer");
    assert_eq!([control.hear(), control.hear()], [Some(1), Some(2)], "TEST_START, TEST_RUNNING");
    assert_eq!(socket.recv(&mut [0; 2_000]).unwrap(), 1_000, "data");
    (control, socket)
}

#[test]
fn datagrams_end_where_nobody_receives_them() {
    let server = Server::start(&[]);
    let (mut control, socket) = reversed_datagrams(server.port, &Client::cookie(server.port, 1));
    control.0.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    drop(socket);
    assert_eq!(control.hear(), Some(11), "SERVER_TERMINATE");
    assert!(server.end().contains("ICMP port unreachable"));
}

/// A client whose kernel answers probes has not vanished, though it says nothing.
#[test]
fn a_silent_client_goes_on_receiving() {
    let server = Server::start(&[]);
    let (mut control, socket) = reversed_datagrams(server.port, &Client::cookie(server.port, 1));
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(8) {
        assert_eq!(socket.recv(&mut [0; 2_000]).unwrap(), 1_000, "data after {:?}", began.elapsed());
    }
    control.0.set_nonblocking(true).unwrap();
    let heard = control.0.read(&mut [0; 1]);
    assert!(heard.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock), "nothing was said");
}

/// Clients that begin tests with UDP and never a stream, each again once it is given up.
#[test]
fn tests_with_datagrams_do_not_wait_for_those_of_others_that_never_come() {
    let server = Server::start(&[]);
    let begin = |index: usize| {
        let mut client = Client::begin(server.port, &Client::cookie(server.port, index));
        client.document(br#"{"udp":true,"time":10,"parallel":1,"len":1000,"bandwidth":1000000}"#);
        client
    };
    let _stock: Vec<Client> = (0..3).map(begin).collect();
    let mut named = Client::begin(server.port, &Client::cookie(server.port, 9));
    named.document(
        br#"{"udp":true,"len":1000,"bandwidth":1000000,"pipefill":{"version":2,"named_hellos":true}}"#,
    );
    assert_eq!(named.hear(), Some(10), "CREATE_STREAMS");
    for words in [&["-R"][..], &[]] {
        let output = server.test(&[&["-u", "-n", "100K"], words].concat());
        assert!(went_well(&output), "{}", String::from_utf8_lossy(&output.stderr));
    }
    // A stock client has its turn once the others were given up.
    let (_control, _socket) = {
        let mut control = begin(20);
        control.0.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        assert_eq!(control.hear(), Some(10), "CREATE_STREAMS");
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(("127.0.0.1", server.port)).unwrap();
        socket.send(b"9876").unwrap();
        assert_eq!([control.hear(), control.hear()], [Some(1), Some(2)]);
        (control, socket)
    };
    named.0.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    assert_eq!(named.hear(), Some(-2), "SERVER_ERROR");
    let mut code = [0; 8];
    named.0.read_exact(&mut code).unwrap();
    assert_eq!(u32::from_be_bytes(code[..4].try_into().unwrap()), 204, "IESTREAMACCEPT");
    assert!(server.end().contains("0 of 1 streams came in time"));
}

use super::*;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Instant;

const PATIENCE: Duration = Duration::from_secs(5);

fn work(is_udp: bool, bitrate: Option<Rate>) -> Work {
    Work { is_udp, length: Bytes::new(1000), bitrate, read_rate: None, has_wide_counters: false }
}

fn tcp_pair() -> (Socket, Socket) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let near = connect_tcp(listener.local_addr().unwrap(), &SocketOptions::default(), PATIENCE).unwrap();
    (near, listener.accept().unwrap().0.into())
}

fn wait(until: impl Fn() -> bool) {
    let began = Instant::now();
    while !until() {
        assert!(began.elapsed() < PATIENCE, "too long");
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_goal_is_sent_and_arrives() {
    let pairs = [tcp_pair(), tcp_pair()];
    let (near, far): (Vec<Socket>, Vec<Socket>) = pairs.into_iter().unzip();
    let of = |sockets: Vec<Socket>, sends| {
        sockets.into_iter().map(|socket| StreamSocket { socket, sends }).collect()
    };
    let mut sender = Transfer::start(work(false, None), of(near, true)).unwrap();
    let mut receiver = Transfer::start(work(false, None), of(far, false)).unwrap();
    sender.set_goal(100_000);
    sender.send().unwrap();
    let total = |end: &Transfer| end.counted().iter().map(|counts| counts.bytes).sum::<u64>();
    wait(|| sender.has_sender_ended() && total(&receiver) == total(&sender));
    assert_eq!(total(&sender), 100_000, "a multiple of the length");
    wait(|| sender.unacknowledged() == 0);
    let sample = sender.sample(1).unwrap();
    assert_eq!((sample.stream, sample.end), (1, StreamEnd::Sender));
    assert!(sender.path_mtu(0).is_some_and(|bytes| bytes >= 576));
    sender.finish().unwrap();
    receiver.finish().unwrap();
}

#[test]
fn datagrams_are_counted_by_their_numbers() {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listener = listen_udp(any).unwrap();
    let near = connect_udp(listener.local_addr().unwrap(), &SocketOptions::default()).unwrap();
    let peer = near.local_addr().unwrap().as_socket().unwrap();
    let mut strangers = 0;
    let address = listener.local_addr().unwrap();
    let far = answer_hello(address, peer, &SocketOptions::default(), |_, _| strangers += 1).unwrap();
    let rate = Some(Rate::from_bps(8_000_000));
    let mut sender =
        Transfer::start(work(true, rate), vec![StreamSocket { socket: near, sends: true }]).unwrap();
    let receiver =
        Transfer::start(work(true, rate), vec![StreamSocket { socket: far, sends: false }]).unwrap();
    sender.set_goal(50_500);
    sender.send().unwrap();
    wait(|| sender.has_sender_ended() && receiver.counted()[0].received == 51);
    let (sent, got) = (sender.counted()[0], receiver.counted()[0]);
    assert_eq!((sent.packets, sent.bytes, got.packets, got.bytes), (51, 51_000, 51, 51_000));
    assert_eq!(strangers, 0);
}

#[test]
fn an_option_that_is_refused_is_named() {
    let options =
        SocketOptions { congestion_control: Some("no-such".to_owned()), ..SocketOptions::default() };
    let error = apply(&tcp_pair().0, &options, true).unwrap_err();
    assert_eq!(error.option, "TCP_CONGESTION");
    assert!(io::Error::from(error).to_string().contains("this kernel has"));
}

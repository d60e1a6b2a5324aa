//! A sender and a receiver in this very program, which may compute between their writes and reads: `NAME send [work]`, `NAME receive [work]`.
#![allow(unreachable_pub, reason = "a module of one test program")]

use std::hint::black_box;
use std::io::{Read, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The first argument that asks for it.
pub const NAME: &str = "worker";
const PORT: u16 = 5433;
/// How long the sender sends.
const SENDS: Duration = Duration::from_secs(4);
/// How long it tries to connect.
const TRIES: Duration = Duration::from_secs(20);
/// Payload of a write or a read.
const BYTES: usize = 16_384;
/// What is computed for each.
const STEPS: u64 = 100_000;

/// Runs it where `words` ask for it.
pub fn as_asked(words: &[&str]) -> Option<Result<()>> {
    match words {
        [NAME, "send", ..] => Some(send(words.get(2).is_some())),
        [NAME, "receive", ..] => Some(receive(words.get(2).is_some())),
        _ => None,
    }
}

fn compute(works: bool) {
    let sum =
        (0..if works { STEPS } else { 0 }).fold(0_u64, |sum, step| black_box(sum.wrapping_mul(31) ^ step));
    black_box(sum);
}

fn send(works: bool) -> Result<()> {
    let server = std::env::var("PIPEFILL_SERVER").expect("the far end");
    let mut server = connected(&server)?;
    let (began, block) = (Instant::now(), vec![b'a'; BYTES]);
    while began.elapsed() < SENDS {
        compute(works);
        server.write_all(&block)?;
    }
    Ok(())
}

/// A server that may not run begins to listen late.
fn connected(server: &str) -> Result<TcpStream> {
    let began = Instant::now();
    loop {
        match TcpStream::connect((server, PORT)) {
            Err(error) if began.elapsed() > TRIES => return Err(error),
            Err(_) => sleep(Duration::from_millis(20)),
            connected => return connected,
        }
    }
}

fn receive(works: bool) -> Result<()> {
    let (mut client, _) = TcpListener::bind(("0.0.0.0", PORT))?.accept()?;
    let mut block = vec![0; BYTES];
    while client.read(&mut block)? > 0 {
        compute(works);
    }
    Ok(())
}

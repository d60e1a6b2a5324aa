//! A client and a server that talk as a database's do, in this very program: `NAME answer WRITES [nagle]` and `NAME ask BYTES`.
#![allow(unreachable_pub, reason = "a module of one test program")]

use std::io::{Read, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// The first argument that asks for it.
pub const NAME: &str = "conversation";
const PORT: u16 = 5432;
/// How long the client asks.
const ASKS: Duration = Duration::from_secs(2);

/// Runs it where `words` ask for it.
pub fn as_asked(words: &[&str]) -> Option<Result<()>> {
    match words {
        [NAME, "answer", writes, ..] => Some(answer(writes, words.get(3) == Some(&"nagle"))),
        [NAME, "ask", bytes] => Some(ask(number(bytes))),
        _ => None,
    }
}

fn number(text: &str) -> usize {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Answers each byte of one connection by these writes.
fn answer(writes: &str, is_nagle: bool) -> Result<()> {
    let messages: Vec<Vec<u8>> = writes.split(',').map(|size| vec![b'a'; number(size)]).collect();
    let (mut client, _) = TcpListener::bind(("0.0.0.0", PORT))?.accept()?;
    client.set_nodelay(!is_nagle)?;
    let mut request = [0];
    while client.read(&mut request)? == 1 {
        for message in &messages {
            client.write_all(message)?;
        }
    }
    Ok(())
}

/// Asks for responses of so many bytes, one after the other.
fn ask(bytes: usize) -> Result<()> {
    let server = std::env::var("PIPEFILL_SERVER").expect("the far end");
    let mut server = TcpStream::connect((server, PORT))?;
    server.set_nodelay(true)?;
    let (began, mut response) = (Instant::now(), vec![0; bytes]);
    while began.elapsed() < ASKS {
        server.write_all(b"q")?;
        server.read_exact(&mut response)?;
    }
    Ok(())
}

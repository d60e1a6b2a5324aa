//! Which sockets are looked at, in the words of ss(8): `dst 10.0.0.0/8 and ( dport = :443 or sport = :22 )`, `state established`.
//!
//! `and` may be left out, as there. A filter is read once; matching allocates nothing.

use ipnet::IpNet;
use pipefill_core::cell::Protocol;
use pipefill_core::problem::Problem;
use pipefill_lab::sock_diag::CONNECTED;
use std::net::{IpAddr, SocketAddr};

/// A filter that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// States of TCP, a bit each.
    pub states: u32,
    /// Sockets of this transport alone (`tcp`, `udp`).
    pub protocol: Option<Protocol>,
    matches: Option<Expression>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Expression {
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
    Not(Box<Expression>),
    Host(Side, IpNet, Option<u16>),
    Port(Side, Comparison, u16),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Source,
    Destination,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// The states by their names in ss(8) and their numbers in `include/net/tcp_states.h`.
const STATES: [(&str, u32); 9] = [
    ("established", 1 << 1),
    ("syn-sent", 1 << 2),
    ("syn-recv", 1 << 3),
    ("fin-wait-1", 1 << 4),
    ("fin-wait-2", 1 << 5),
    ("close-wait", 1 << 8),
    ("last-ack", 1 << 9),
    ("closing", 1 << 11),
    ("connected", CONNECTED),
];
/// How deep brackets may be nested: deeper than in any filter written by hand.
const DEPTH_MAX: usize = 64;

impl Filter {
    /// Reads the words of a command line.
    ///
    /// # Errors
    /// [`Problem`] with the word that is wrong, and what it may be.
    pub fn read(words: &[String]) -> Result<Self, Problem> {
        let text = words.join(" ");
        let words = split(&text);
        let mut reader = Reader { words: &words, at: 0, states: 0, protocol: None };
        let matches = if words.is_empty() { None } else { reader.any(0)? };
        if let Some(word) = reader.peek() {
            return Err(wrong(word, "and, or, not, or a bracket that is still open"));
        }
        let states = if reader.states == 0 { CONNECTED } else { reader.states };
        if reader.protocol == Some(Protocol::Udp) && reader.states != 0 {
            return Err(wrong("udp", "no state: UDP sockets have none"));
        }
        Ok(Self { states, protocol: reader.protocol, matches })
    }

    /// Whether every connected socket is looked at.
    pub const fn wants_all(&self) -> bool {
        self.states == CONNECTED && self.matches.is_none() && self.wants_tcp()
    }

    /// Whether TCP sockets are looked at.
    pub const fn wants_tcp(&self) -> bool {
        !matches!(self.protocol, Some(Protocol::Udp))
    }

    /// Whether UDP sockets are looked at: they have no states.
    pub const fn wants_udp(&self) -> bool {
        self.states == CONNECTED && !matches!(self.protocol, Some(Protocol::Tcp))
    }

    /// Whether a socket with these ends is looked at.
    pub fn matches(&self, local: SocketAddr, remote: SocketAddr) -> bool {
        self.matches.as_ref().is_none_or(|expression| expression.matches(local, remote))
    }
}

impl Expression {
    fn matches(&self, local: SocketAddr, remote: SocketAddr) -> bool {
        let end = |side| if side == Side::Source { local } else { remote };
        match self {
            Self::And(left, right) => left.matches(local, remote) && right.matches(local, remote),
            Self::Or(left, right) => left.matches(local, remote) || right.matches(local, remote),
            Self::Not(inner) => !inner.matches(local, remote),
            Self::Host(side, net, port) => {
                let end = end(*side);
                net.contains(&end.ip()) && port.is_none_or(|port| port == end.port())
            }
            Self::Port(side, comparison, port) => {
                let found = end(*side).port();
                match comparison {
                    Comparison::Equal => found == *port,
                    Comparison::NotEqual => found != *port,
                    Comparison::Less => found < *port,
                    Comparison::LessOrEqual => found <= *port,
                    Comparison::Greater => found > *port,
                    Comparison::GreaterOrEqual => found >= *port,
                }
            }
        }
    }
}

/// Words, with brackets, `!` and comparisons as words of their own, however they were typed.
fn split(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut is_open, mut in_address) = (false, false);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        in_address = (in_address || character == '[') && character != ']';
        if character.is_whitespace() {
            is_open = false;
        } else if "()".contains(character) || ("!=<>&|".contains(character) && !in_address) {
            let twice = matches!(
                (character, characters.peek()),
                ('!' | '=' | '<' | '>', Some('=')) | ('&', Some('&')) | ('|', Some('|'))
            );
            let second = twice.then(|| characters.next()).flatten();
            words.push(character.to_string() + &second.map(String::from).unwrap_or_default());
            is_open = false;
        } else if is_open && let Some(last) = words.last_mut() {
            last.push(character);
        } else {
            words.push(character.to_string());
            is_open = true;
        }
    }
    words
}

struct Reader<'a> {
    words: &'a [String],
    at: usize,
    states: u32,
    protocol: Option<Protocol>,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).map(String::as_str)
    }

    fn next(&mut self) -> Option<&'a str> {
        let word = self.peek();
        self.at += usize::from(word.is_some());
        word
    }

    fn takes(&mut self, any: &[&str]) -> bool {
        let is_it = self.peek().is_some_and(|word| any.contains(&word));
        self.at += usize::from(is_it);
        is_it
    }

    /// Alternatives. `None` where there were only states, which do not belong to the expression.
    fn any(&mut self, depth: usize) -> Result<Option<Expression>, Problem> {
        let mut left = self.all(depth)?;
        while self.takes(&["or", "|", "||"]) {
            let right = self.all(depth)?;
            left = match (left, right) {
                (Some(left), Some(right)) => Some(Expression::Or(left.into(), right.into())),
                _ => {
                    return Err(wrong(
                        "or",
                        "an address or a port on both sides; states are for the whole filter",
                    ));
                }
            };
        }
        Ok(left)
    }

    fn all(&mut self, depth: usize) -> Result<Option<Expression>, Problem> {
        let mut left = self.term(depth)?;
        loop {
            let said = self.takes(&["and", "&", "&&"]);
            let ends = self.peek().is_none_or(|word| [")", "or", "|", "||"].contains(&word));
            if ends && !said {
                return Ok(left);
            }
            let right = self.term(depth)?;
            left = match (left, right) {
                (Some(left), Some(right)) => Some(Expression::And(left.into(), right.into())),
                (left, right) => left.or(right),
            };
        }
    }

    fn term(&mut self, depth: usize) -> Result<Option<Expression>, Problem> {
        if depth > DEPTH_MAX {
            return Err(wrong("(", "fewer brackets in brackets"));
        }
        let word = self.next().ok_or_else(|| wrong("the end", EXPECTED))?;
        match word {
            "(" => {
                let inner = self.any(depth + 1)?;
                if self.takes(&[")"]) { Ok(inner) } else { Err(wrong("the end", "a closing bracket")) }
            }
            "not" | "!" => match self.term(depth + 1)? {
                Some(inner) => Ok(Some(Expression::Not(inner.into()))),
                None => Err(wrong("not", "an address or a port behind it")),
            },
            "tcp" | "udp" => {
                self.protocol = Some(if word == "udp" { Protocol::Udp } else { Protocol::Tcp });
                Ok(None)
            }
            "state" => self.state().map(|()| None),
            "dst" => self.host(Side::Destination).map(Some),
            "src" => self.host(Side::Source).map(Some),
            "dport" => self.port(Side::Destination).map(Some),
            "sport" => self.port(Side::Source).map(Some),
            other => Err(wrong(other, EXPECTED)),
        }
    }

    fn state(&mut self) -> Result<(), Problem> {
        let word = self.next().unwrap_or("the end");
        let known = STATES.iter().find(|(name, _)| *name == word);
        let (_, bits) = known.ok_or_else(|| wrong(word, &STATES.map(|(name, _)| name).join(", ")))?;
        self.states |= bits;
        Ok(())
    }

    /// `dst = ADDRESS`, with a prefix length and a port where they are wanted.
    fn host(&mut self, side: Side) -> Result<Expression, Problem> {
        let is_not = self.takes(&["!=", "ne", "neq"]);
        let _equal = !is_not && self.takes(&["=", "==", "eq"]);
        let word = self.next().unwrap_or("the end");
        let (net, port) = address(word).ok_or_else(|| {
            wrong(word, "an address: 10.1.2.3, 10.0.0.0/8, 10.1.2.3:443, 2001:db8::1, [2001:db8::]/32, :443")
        })?;
        let host = match (net, port) {
            (Some(net), port) => Expression::Host(side, net, port),
            (None, port) => Expression::Port(side, Comparison::Equal, port.unwrap_or(0)),
        };
        Ok(if is_not { Expression::Not(host.into()) } else { host })
    }

    /// `dport = :443`; the colon and the sign may be left out.
    fn port(&mut self, side: Side) -> Result<Expression, Problem> {
        let comparison = match self.peek() {
            Some("!=" | "ne" | "neq") => Some(Comparison::NotEqual),
            Some("<" | "lt") => Some(Comparison::Less),
            Some("<=" | "le" | "leq") => Some(Comparison::LessOrEqual),
            Some(">" | "gt") => Some(Comparison::Greater),
            Some(">=" | "ge" | "geq") => Some(Comparison::GreaterOrEqual),
            Some("=" | "==" | "eq") => Some(Comparison::Equal),
            _ => None,
        };
        self.at += usize::from(comparison.is_some());
        let word = self.next().unwrap_or("the end");
        let number = word.strip_prefix(':').unwrap_or(word).parse();
        let port = number.map_err(|_| wrong(word, "the number of a port, 0 to 65535, e.g. :443"))?;
        Ok(Expression::Port(side, comparison.unwrap_or(Comparison::Equal), port))
    }
}

const EXPECTED: &str = "dst, src, dport, sport, state, tcp, udp, not, or a bracket";

/// Network and port of an address; `None` where it is neither.
fn address(word: &str) -> Option<(Option<IpNet>, Option<u16>)> {
    if let Some(port) = word.strip_prefix(':').and_then(|port| port.parse().ok()) {
        return Some((None, Some(port)));
    }
    let net = |text: &str| -> Option<IpNet> {
        text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
    };
    if let Some(rest) = word.strip_prefix('[') {
        let (inside, behind) = rest.split_once(']')?;
        let (prefix, port) = match behind.split_once(':') {
            Some((prefix, port)) => (prefix, Some(port.parse().ok()?)),
            None => (behind, None),
        };
        return Some((Some(net(&format!("{inside}{prefix}"))?), port));
    }
    if let Some(whole) = net(word) {
        return Some((Some(whole), None));
    }
    let (host, port) = word.rsplit_once(':')?;
    Some((Some(net(host)?), Some(port.parse().ok()?)))
}

fn wrong(word: &str, expected: &str) -> Problem {
    Problem::usage(
        format!("the filter is wrong at \"{word}\""),
        format!("expected {expected}; e.g. dst 10.0.0.0/8 and dport = :443"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Filter, Problem> {
        Filter::read(&[text.to_owned()])
    }

    fn is_seen(text: &str, local: &str, remote: &str) -> bool {
        let ends = [local, remote].map(|end| end.parse().unwrap_or_else(|_| panic!("{end}")));
        read(text).unwrap_or_else(|e| panic!("{text}: {e}")).matches(ends[0], ends[1])
    }

    #[test]
    fn the_words_of_ss_are_understood() {
        let seen = |text| is_seen(text, "192.168.1.2:50000", "10.1.2.3:443");
        for yes in [
            "",
            "dst 10.1.2.3",
            "dst = 10.0.0.0/8",
            "dst 10.1.2.3:443",
            "dport = :443",
            "dport 443",
            "dport eq 443",
            "sport gt :1024 and dport lt :1024",
            "sport >= 50000",
            "( dport = :80 or dport = :443 ) and src 192.168.0.0/16",
            "not dst 10.2.0.0/16",
            "! dport = :80",
            "dst != 10.2.0.0/16 dport != 80",
            "state established dst 10.0.0.0/8",
            "dst :443",
            "(dport=:80||dport=:443)&&src 192.168.0.0/16",
        ] {
            assert!(seen(yes), "{yes}");
        }
        for no in
            ["dst 10.1.2.4", "dport = :80", "sport < :1024", "not dport 443", "src 10.0.0.0/8", "dst :80"]
        {
            assert!(!seen(no), "{no}");
        }
        assert!(is_seen("dst [2001:db8::]/32", "[::1]:1", "[2001:db8::5]:443"));
        assert!(is_seen("dst [2001:db8::5]:443", "[::1]:1", "[2001:db8::5]:443"));
        assert!(is_seen("dst 2001:db8::5", "[::1]:1", "[2001:db8::5]:443"));
        assert!(!is_seen("dst 10.0.0.0/8", "[::1]:1", "[2001:db8::5]:443"), "another family");
    }

    #[test]
    fn states_are_for_the_whole_filter() {
        let states = |text| read(text).map(|filter| filter.states).ok();
        assert_eq!(states(""), Some(CONNECTED));
        assert_eq!(states("state established"), Some(2));
        assert_eq!(states("state established state close-wait dst 1.2.3.4"), Some(2 | 1 << 8));
    }

    #[test]
    fn a_transport_is_for_the_whole_filter() {
        let wants = |text| read(text).map(|filter| (filter.wants_tcp(), filter.wants_udp())).ok();
        assert_eq!(wants(""), Some((true, true)));
        assert_eq!(wants("udp"), Some((false, true)));
        assert_eq!(wants("tcp dport = :443"), Some((true, false)));
        assert_eq!(wants("sport = :53 and udp"), Some((false, true)));
        assert_eq!(wants("state established"), Some((true, false)), "UDP has no states");
        assert_eq!(wants("udp state established"), None);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, word) in [
            ("dst", "the end"),
            ("dst nowhere", "nowhere"),
            ("dport = :70000", ":70000"),
            ("port 80", "port"),
            ("( dport = :80", "the end"),
            ("dport 80 )", ")"),
            ("state open", "open"),
            ("dport 80 or", "the end"),
            ("not state established", "not"),
        ] {
            let told = read(text).expect_err(text).to_string();
            assert!(told.contains(&format!("\"{word}\"")), "{text}: {told}");
        }
    }

    proptest! {
        #[test]
        fn no_words_make_it_fail(words in proptest::collection::vec("[a-z0-9:./()!=<>\\[\\] ]{0,12}", 0..40)) {
            let _either = Filter::read(&words);
        }

        #[test]
        fn deep_brackets_are_refused(depth in 65_usize..5_000) {
            prop_assert!(read(&"( ".repeat(depth)).is_err());
            prop_assert!(read(&"not ".repeat(depth)).is_err());
        }
    }
}

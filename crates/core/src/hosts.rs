//! Where both ends of a run are, on a path that nobody builds for it: this host, other hosts, namespaces, containers.
//!
//! A place is one text, in scenarios and in manifests: `local`, `netns:NAME`, `container:NAME`, `ssh:USER@HOST`, `pipefill:HOST:PORT`,
//! `iperf3:HOST:PORT`.

use crate::parse::{ParseError, nearest};
use core::net::IpAddr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Name of the backend in manifests.
pub const BACKEND: &str = "hosts";
/// The port of iperf3, and of `pipefill serve`.
const PORT: u16 = 5201;
/// No name of a host, a namespace or a container is longer.
const NAME_MAX: usize = 255;
/// Longest name of an interface (`IFNAMSIZ` - 1).
const INTERFACE_MAX: usize = 15;
/// What a place begins with, and an example of each.
const FORMS: [(&str, &str); 6] = [
    ("local", "local"),
    ("netns", "netns:blue"),
    ("container", "container:web"),
    ("ssh", "ssh:user@b.example"),
    ("pipefill", "pipefill:b.example:5201"),
    ("iperf3", "iperf3:b.example:5201"),
];

/// Both ends.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct HostsSpec {
    /// The end that sends in the forward direction.
    pub sender: Place,
    /// The other one.
    pub receiver: Place,
    /// Under which address the sender reaches the receiver; absent = found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// Which interface is given the path of `[path]`; absent = none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
}

impl HostsSpec {
    /// The end that is not on this machine, where there is one.
    pub fn far(&self) -> Option<&Place> {
        [&self.receiver, &self.sender].into_iter().find(|place| place.is_far())
    }
}

/// Where an end is.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
#[schemars(with = "String")]
pub enum Place {
    /// The network namespace of pipefill itself.
    Local,
    /// A network namespace of this machine: a name below `/run/netns`, or the path of a file that stands for it.
    Netns(String),
    /// The network namespace of a container of this machine, by its name or id.
    Container(String),
    /// Another host, by what the user's own `ssh` takes as a destination.
    Ssh(String),
    /// A `pipefill serve`.
    Pipefill(Server),
    /// A stock `iperf3 -s`.
    Iperf3(Server),
}

impl Place {
    /// Whether it is not on this machine, or can't be entered.
    pub const fn is_far(&self) -> bool {
        matches!(self, Self::Ssh(_) | Self::Pipefill(_) | Self::Iperf3(_))
    }
}

/// A server of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Netns(name) => write!(f, "netns:{name}"),
            Self::Container(name) => write!(f, "container:{name}"),
            Self::Ssh(destination) => write!(f, "ssh:{destination}"),
            Self::Pipefill(server) => write!(f, "pipefill:{server}"),
            Self::Iperf3(server) => write!(f, "iperf3:{server}"),
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl From<Place> for String {
    fn from(place: Place) -> Self {
        place.to_string()
    }
}

impl TryFrom<String> for Place {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

impl FromStr for Place {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (form, rest) = text.split_once(':').unwrap_or((text, ""));
        match form {
            "local" if text == "local" => Ok(Self::Local),
            "netns" if is_netns(rest) => Ok(Self::Netns(rest.to_owned())),
            "container" if is_container(rest) => Ok(Self::Container(rest.to_owned())),
            "ssh" if is_destination(rest) => Ok(Self::Ssh(rest.to_owned())),
            "pipefill" | "iperf3" => {
                let server = server(rest).ok_or_else(|| wrong(text, form))?;
                Ok(if form == "iperf3" { Self::Iperf3(server) } else { Self::Pipefill(server) })
            }
            _ => Err(wrong(text, form)),
        }
    }
}

fn wrong(text: &str, form: &str) -> ParseError {
    let names = FORMS.map(|(name, _)| name);
    let examples = FORMS.map(|(_, example)| format!("\"{example}\"")).join(", ");
    let near = nearest(form, &names).unwrap_or(form);
    let help = match FORMS.iter().find(|(name, _)| *name == near) {
        Some((_, example)) => format!("write e.g. \"{example}\""),
        None => format!("write one of {examples}"),
    };
    ParseError::new(format!("\"{text}\" is not a place for a host"), help)
}

/// `ip netns` takes one component of a path; a path of its own begins with `/`.
fn is_netns(name: &str) -> bool {
    let is_plain = is_word(name) && (name.starts_with('/') || !name.contains('/'));
    is_plain && name != "." && name != ".."
}

fn is_container(name: &str) -> bool {
    is_word(name)
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
        && !name.starts_with(['.', '-', '_'])
}

/// What would be an option of ssh is no destination.
fn is_destination(name: &str) -> bool {
    is_word(name) && !name.starts_with('-') && !name.contains("@-")
}

fn is_word(name: &str) -> bool {
    !name.is_empty() && name.len() <= NAME_MAX && !name.chars().any(|c| c.is_whitespace() || c.is_control())
}

/// `HOST`, `HOST:PORT`, `[IPV6]:PORT`.
fn server(text: &str) -> Option<Server> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            (host, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
        }
        None => match text.split_once(':') {
            Some((host, port)) if !port.contains(':') => (host, Some(port)),
            // An address of IPv6 without brackets has no port.
            Some(_) => (text, None),
            None => (text, None),
        },
    };
    let port = match port {
        None => PORT,
        Some(digits) => digits.parse().ok().filter(|&port| port > 0)?,
    };
    (is_word(host) && !host.starts_with('-')).then(|| Server { host: host.to_owned(), port })
}

/// Which interface of which end is shaped.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
#[schemars(with = "String")]
pub struct Shape {
    /// Whether it is the sender's.
    pub at_sender: bool,
    /// Name of the interface.
    pub interface: String,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", if self.at_sender { "sender" } else { "receiver" }, self.interface)
    }
}

impl From<Shape> for String {
    fn from(shape: Shape) -> Self {
        shape.to_string()
    }
}

impl TryFrom<String> for Shape {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

impl FromStr for Shape {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (end, interface) = text.split_once(':').unwrap_or((text, ""));
        let is_interface = is_word(interface)
            && interface.len() <= INTERFACE_MAX
            && !interface.contains(['/', ':'])
            && interface != "."
            && interface != "..";
        match (end, is_interface) {
            ("sender", true) => Ok(Self { at_sender: true, interface: interface.to_owned() }),
            ("receiver", true) => Ok(Self { at_sender: false, interface: interface.to_owned() }),
            _ => Err(ParseError::new(
                format!("\"{text}\" names no interface of an end"),
                "write e.g. \"sender:eth0\" or \"receiver:eth0\"",
            )),
        }
    }
}

/// An address of IPv4 or IPv6.
///
/// # Errors
/// Anything else.
pub fn address(text: &str) -> Result<IpAddr, ParseError> {
    text.parse().map_err(|_| {
        ParseError::new(format!("\"{text}\" is no address"), "write e.g. \"192.0.2.7\" or \"2001:db8::7\"")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_written_alike() {
        for text in [
            "local",
            "netns:blue",
            "netns:/proc/7/ns/net",
            "container:web-1",
            "ssh:me@b.example",
            "ssh:b",
            "pipefill:b.example:5201",
            "iperf3:[2001:db8::1]:7",
        ] {
            assert_eq!(text.parse::<Place>().unwrap().to_string(), text);
        }
        let server = |text: &str| text.parse::<Place>().unwrap().to_string();
        assert_eq!(server("iperf3:b"), "iperf3:b:5201");
        assert_eq!(server("pipefill:2001:db8::1"), "pipefill:[2001:db8::1]:5201");
    }

    #[test]
    fn what_is_no_place_is_told_what_is() {
        for text in [
            "",
            "here",
            "local:1",
            "netns:",
            "netns:a/b",
            "netns:..",
            "container:-it",
            "container:a b",
            "ssh:-oProxyCommand=x",
            "ssh:me@-oProxyCommand=x",
            "ssh:",
            "iperf3:b:0",
            "iperf3:b:65536",
            "pipefill::5201",
            "iperf3:[::1",
        ] {
            let error = text.parse::<Place>().unwrap_err();
            assert!(error.help.starts_with("write "), "{text}: {error}");
        }
        assert!("iperf:b".parse::<Place>().unwrap_err().help.contains("iperf3:b.example"));
    }

    #[test]
    fn an_interface_belongs_to_an_end() {
        assert_eq!("receiver:eth0".parse::<Shape>().unwrap().to_string(), "receiver:eth0");
        for text in ["eth0", "both:eth0", "sender:", "sender:a/b", "sender:0123456789abcdef"] {
            assert!(text.parse::<Shape>().is_err(), "{text}");
        }
    }
}

//! The address to listen at, as a person writes it, and the socket that listens there.

use pipefill_core::problem::Problem;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::str::FromStr;

const FORMS: &str = "write 127.0.0.1:9466, [::1]:9466, or :9466 for all addresses of this host";

/// An address of this host with a port, or all of its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenAddress {
    /// This one.
    One(SocketAddr),
    /// All, of both families, at this port.
    All(u16),
}

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((host, port)) = text.rsplit_once(':') else {
            return Err(format!("there is no port: {FORMS}"));
        };
        if host.contains(':') && !host.starts_with('[') {
            return Err(format!("an IPv6 address stands in brackets: {FORMS}"));
        }
        let port = port.parse().map_err(|_| format!("{port:?} is not a port (0 to 65535): {FORMS}"))?;
        if host.is_empty() {
            return Ok(Self::All(port));
        }
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let address: IpAddr = host
            .parse()
            .map_err(|_| format!("{host:?} is not an IP address, and names are not looked up: {FORMS}"))?;
        Ok(Self::One(SocketAddr::new(address, port)))
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(address) => address.fmt(out),
            Self::All(port) => write!(out, ":{port}"),
        }
    }
}

impl ListenAddress {
    /// Listens.
    ///
    /// # Errors
    /// [`Problem`] where that is not possible, with what to write instead.
    pub fn listen(self) -> Result<TcpListener, Problem> {
        let listened = match self {
            Self::One(address) => TcpListener::bind(address),
            // A socket of IPv6 takes IPv4 too (ipv6(7)); a host may have no IPv6.
            Self::All(port) => {
                TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).or_else(|error| match error.kind() {
                    io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied => Err(error),
                    _ => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)),
                })
            }
        };
        listened.map_err(|error| self.refused(&error))
    }

    const fn port(self) -> u16 {
        match self {
            Self::One(address) => address.port(),
            Self::All(port) => port,
        }
    }

    fn refused(self, error: &io::Error) -> Problem {
        let port = self.port();
        match error.kind() {
            io::ErrorKind::AddrInUse => Problem::usage(
                format!("another program listens at {self}"),
                format!("choose another port; ss -ltnp sport = :{port} shows who has this one"),
            ),
            io::ErrorKind::AddrNotAvailable => Problem::usage(
                format!("{self} is not an address of this host"),
                "choose one that ip address lists, or :PORT for all",
            ),
            io::ErrorKind::PermissionDenied => Problem::usage(
                format!("listening at {self} is not permitted"),
                "choose a port from 1024 on, or run it as root",
            ),
            _ => Problem::machine(format!("listening at {self} failed: {error}"), FORMS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_written() {
        for text in ["127.0.0.1:9466", "[::1]:9466", "0.0.0.0:0", ":9466", "[fe80::1]:65535"] {
            let address: ListenAddress = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_what_to_write() {
        for (text, told) in [
            ("", "there is no port"),
            ("9466", "there is no port"),
            ("localhost:9466", "\"localhost\" is not an IP address"),
            ("127.0.0.1:", "\"\" is not a port"),
            ("127.0.0.1:65536", "\"65536\" is not a port"),
            ("127.0.0.1:http", "\"http\" is not a port"),
            ("::1:9466", "an IPv6 address stands in brackets"),
            ("[::1]", "is not a port"),
            ("http://127.0.0.1:9466", "brackets"),
        ] {
            let error = text.parse::<ListenAddress>().unwrap_err();
            assert!(error.contains(told) && error.ends_with(FORMS), "{text}: {error}");
        }
    }

    #[test]
    fn a_port_that_is_taken_and_an_address_of_another_host_say_what_to_do() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = ListenAddress::One(taken.local_addr().unwrap());
        let problem = address.listen().unwrap_err();
        assert_eq!(problem.what, format!("another program listens at {address}"));
        assert!(problem.remedy.unwrap().starts_with("choose another port; ss -ltnp"));
        let problem = ListenAddress::One("192.0.2.1:0".parse().unwrap()).listen().unwrap_err();
        assert_eq!(problem.what, "192.0.2.1:0 is not an address of this host");
        let all = ListenAddress::All(0).listen().unwrap();
        assert!(all.local_addr().unwrap().ip().is_unspecified());
    }
}

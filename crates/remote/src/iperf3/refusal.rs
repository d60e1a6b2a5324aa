//! Why a server refuses a test: two numbers after [`super::TestState::ServerError`], in network order.

/// Bytes of both numbers.
pub const LENGTH: usize = 8;

/// iperf3's own number of an error (`iperf_api.h`, `enum` of `i_errno`), and errno.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// iperf3's number.
    pub code: u32,
    /// The system's, 0 for none.
    pub errno: u32,
}

/// `IEDURATION`.
pub const DURATION: u32 = 5;
/// `IENUMSTREAMS`.
pub const STREAMS: u32 = 6;
/// `IEBLOCKSIZE`.
pub const LENGTH_OF_BLOCK: u32 = 7;
/// `IEUNIMP`.
pub const NOT_IMPLEMENTED: u32 = 13;
/// `IETOTALRATE`.
pub const RATE: u32 = 27;
/// `IEAUTHTEST` is of iperf3's own users and passwords; this one is for our key ([`crate::key`]).
pub const KEY: u32 = 7_001;
/// `IERECVPARAMS`.
pub const PARAMETERS: u32 = 114;
/// `IESETMSS`.
pub const MSS: u32 = 123;
/// `IESETBUF`.
pub const WINDOW: u32 = 124;
/// `IESETCONGESTION`.
pub const CONGESTION_CONTROL: u32 = 134;
/// `IEAUTHTEST`.
pub const AUTHENTICATION: u32 = 142;
/// `IESTREAMACCEPT`.
pub const STREAMS_MISSING: u32 = 204;

impl Refusal {
    /// As it came.
    pub fn read(bytes: [u8; LENGTH]) -> Self {
        let word =
            |at: usize| bytes[at..at + 4].iter().fold(0_u32, |word, &byte| word << 8 | u32::from(byte));
        Self { code: word(0), errno: word(4) }
    }

    /// As it is sent.
    pub fn bytes(self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[..4].copy_from_slice(&self.code.to_be_bytes());
        bytes[4..].copy_from_slice(&self.errno.to_be_bytes());
        bytes
    }

    /// What it means, as the end of "the server refuses the test: ".
    pub fn text(self) -> String {
        let known = match self.code {
            DURATION => "the test is too long for it",
            STREAMS => "the test has too many streams",
            LENGTH_OF_BLOCK => "it does not take this length (-l)",
            NOT_IMPLEMENTED => "it does not have what the test asks for",
            KEY => "it has another key",
            RATE => "the rate is higher than it allows",
            PARAMETERS => "it could not read the parameters",
            STREAMS_MISSING => "not all streams of the test reached it in time",
            MSS => "it could not set the MSS (-M)",
            WINDOW => "it could not set the buffers (-w)",
            CONGESTION_CONTROL => "it does not have this congestion control (-C)",
            AUTHENTICATION => "it wants a user name and a password, which are not supported",
            _ => "",
        };
        if known.is_empty() {
            format!("its error {}, errno {}", self.code, self.errno)
        } else {
            known.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_numbers_are_in_network_order() {
        let refusal = Refusal { code: CONGESTION_CONTROL, errno: 2 };
        assert_eq!(refusal.bytes(), [0, 0, 0, 134, 0, 0, 0, 2]);
        assert_eq!(Refusal::read(refusal.bytes()), refusal);
        assert!(Refusal { code: 4_000, errno: 7 }.text().contains("4000"));
    }
}

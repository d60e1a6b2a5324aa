//! What people reported, as the programs, the path and the remedy.

use crate::hosts::sshd;

/// What the figures of a sentence are about.
#[derive(Debug, Clone, Copy)]
pub(super) enum Arithmetic {
    /// Bytes a round trip give a rate. What is out for all of the round trip is less than the window by what its credits wait for.
    Window { least: f64, most: f64 },
    /// Turns, of these bytes each, take a time each.
    Turns { each: f64 },
}

/// A program behind a path: before and after the remedy. The commands have `OWN` for the program of [`super::conversation`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub(super) name: &'static str,
    /// What was reported, and where.
    pub(super) report: &'static str,
    /// Whether `make test` runs it.
    pub(super) is_quick: bool,
    /// Programs that have to be installed.
    pub(super) needs: &'static [&'static str],
    /// Of the file that is transferred.
    pub(super) bytes: usize,
    pub(super) rtt: &'static str,
    /// Of both directions.
    pub(super) rate: &'static str,
    pub(super) server: [&'static str; 2],
    pub(super) client: [&'static str; 2],
    pub(super) cause: &'static str,
    /// What packets may show besides: two requests outstanding are a window, and turns where both are acknowledged before the next one.
    pub(super) captured: Option<&'static str>,
    /// What the advice that is applied sets.
    pub(super) setting: &'static str,
    /// What was set.
    pub(super) remedy: &'static str,
    pub(super) arithmetic: Arithmetic,
}

const SSHD: &str = "exec /usr/sbin/sshd -D -e -f $PWD/sshd/server 2>/dev/null";
/// A window of 65,535 bytes.
const HTTP2_WINDOW: Arithmetic = Arithmetic::Window { least: 49_000.0, most: 65_535.0 };

pub(super) const CASES: [Case; 6] = [
    Case {
        name: "ssh_channel_window",
        report: "OpenSSH: `ssh host 'cat /dev/zero'` (hpn-ssh 58)",
        is_quick: false,
        needs: &[sshd::PROGRAM, "ssh", "ssh-keygen"],
        bytes: 0,
        rtt: "167ms",
        rate: "2gbit",
        server: [SSHD; 2],
        client: [
            "ssh -F sshd/client $PIPEFILL_SERVER 'head -c 150000000 /dev/zero' >/dev/null 2>&1",
            "for each in 1 2; do ssh -F sshd/client $PIPEFILL_SERVER 'head -c 150000000 /dev/zero' >/dev/null 2>&1 & done; wait",
        ],
        cause: "window",
        captured: None,
        setting: "parallel",
        remedy: "two sessions",
        // CHAN_SES_WINDOW_DEFAULT is 64 packets of 32 KiB; what is adjusted waits for a twentieth of a window.
        arithmetic: Arithmetic::Window { least: 1_600_000.0, most: 2_200_000.0 },
    },
    Case {
        name: "http2_upload",
        report: "HTTP/2 upload: curl to nghttpd with a window of 64 KiB (haproxy 293)",
        is_quick: false,
        needs: &["nghttpd", "curl"],
        bytes: 8_000_000,
        rtt: "25ms",
        rate: "100mbit",
        server: ["exec nghttpd --no-tls -w16 -W16 8443", "exec nghttpd --no-tls -w17 -W17 8443"],
        client: ["curl -s --http2-prior-knowledge -o /dev/null -T file http://$PIPEFILL_SERVER:8443/up"; 2],
        cause: "window",
        captured: None,
        setting: "app.size",
        remedy: "`-w17 -W17`: 128 KiB",
        arithmetic: HTTP2_WINDOW,
    },
    Case {
        name: "http2_download",
        report: "HTTP/2 download: nghttp with a window of 64 KiB (curl 1102)",
        is_quick: true,
        needs: &["nghttpd", "nghttp"],
        bytes: 4_000_000,
        rtt: "33ms",
        rate: "200mbit",
        server: ["exec nghttpd --no-tls -d $PWD 8443"; 2],
        client: [
            "nghttp -n -w16 -W16 http://$PIPEFILL_SERVER:8443/file",
            "nghttp -n -w17 -W17 http://$PIPEFILL_SERVER:8443/file",
        ],
        cause: "window",
        captured: None,
        setting: "app.size",
        remedy: "`-w17 -W17`: 128 KiB",
        arithmetic: HTTP2_WINDOW,
    },
    Case {
        name: "sftp_requests",
        report: "SFTP: `sftp -R 1 -B 30000` (libfuse/sshfs 300)",
        is_quick: false,
        needs: &[sshd::PROGRAM, "sftp", "ssh-keygen"],
        bytes: 30_000_000,
        rtt: "25ms",
        rate: "1gbit",
        server: [SSHD; 2],
        // One more than `-R` says is outstanding (do_upload() of OpenSSH).
        client: [
            "echo put file copy | sftp -q -b - -F sshd/client -s /usr/lib/openssh/sftp-server -R 1 -B 30000 $PIPEFILL_SERVER:$PWD >/dev/null 2>&1",
            "echo put file copy | sftp -q -b - -F sshd/client -s /usr/lib/openssh/sftp-server -R 3 -B 30000 $PIPEFILL_SERVER:$PWD >/dev/null 2>&1",
        ],
        cause: "window",
        captured: Some("turns"),
        setting: "app.size",
        remedy: "`-R 3`: four requests outstanding, not two",
        arithmetic: Arithmetic::Window { least: 25_000.0, most: 61_000.0 },
    },
    Case {
        name: "database_cursor",
        report: "Database cursor: 100 kB a fetch (trino 16153)",
        is_quick: true,
        needs: &["sh"],
        bytes: 0,
        rtt: "10ms",
        rate: "1gbit",
        server: ["exec OWN answer 100000", "exec OWN answer 200000"],
        client: ["exec OWN ask 100000", "exec OWN ask 200000"],
        cause: "turns",
        captured: None,
        setting: "app.outstanding",
        remedy: "200 kB a fetch",
        arithmetic: Arithmetic::Turns { each: 100_000.0 },
    },
    Case {
        name: "nagle",
        report: "A response in two writes, Nagle's algorithm and delayed ACKs (scylladb 9619)",
        is_quick: true,
        needs: &["sh"],
        bytes: 0,
        rtt: "10ms",
        rate: "1gbit",
        server: ["exec OWN answer 200,300 nagle", "exec OWN answer 200,300"],
        client: ["exec OWN ask 500"; 2],
        cause: "nagle",
        captured: None,
        setting: "TCP_NODELAY",
        remedy: "`TCP_NODELAY` at the server",
        arithmetic: Arithmetic::Turns { each: 500.0 },
    },
];

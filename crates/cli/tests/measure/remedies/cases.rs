//! What people reported, as the programs, the path and the remedy.

use crate::hosts::sshd;

/// What the figures of a sentence are about.
#[derive(Debug, Clone, Copy)]
pub(super) enum Arithmetic {
    /// Bytes a round trip give a rate. What is out for all of the round trip is less than the window by what its credits wait for.
    Window { least: f64, most: f64 },
    /// Turns, of these bytes each, take a time each.
    Turns { each: f64 },
    /// What it waits for has these words.
    Words(&'static [&'static str]),
}

/// How the advice is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remedy {
    /// By the second server and client, where the advice sets this.
    Programs(&'static str),
    /// By the sysctl of the advice, with its value, on the hosts behind the path.
    Sysctl(&'static str),
    /// By the congestion control of the advice, likewise.
    CongestionControl,
    /// Nothing in the network helps, and the advice says so. The second programs have what the verdict names changed themselves.
    Nothing,
}

/// What is compared with the prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// The rate: the program transfers as long as before.
    Rate,
    /// The time: the program transfers the same bytes.
    Time,
}

/// A program behind a path: before and after the remedy. The commands have `OWN` for the program of [`super::conversation`], `PYTHON` for that of
/// `transfer.py`.
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
    /// Default of both hosts. Every kernel allows Reno; BBR spreads each write by a rate that it learns from the writes before.
    pub(super) control: &'static str,
    /// More of `exec`.
    pub(super) options: &'static [&'static str],
    pub(super) server: [&'static str; 2],
    pub(super) client: [&'static str; 2],
    /// `limited_by` and `cause`: what holds most of the time, or, where that is a wait of a program, most of the rest.
    pub(super) limit: (&'static str, &'static str),
    /// What packets may show besides: what a window lets out at once, and two requests outstanding, may be acknowledged whole before the next.
    pub(super) captured: &'static [(&'static str, Option<&'static str>)],
    pub(super) remedy: Remedy,
    /// The same in words.
    pub(super) applied: &'static str,
    pub(super) measure: Measure,
    pub(super) arithmetic: Arithmetic,
}

const SSHD: &str = "exec /usr/sbin/sshd -D -e -f $PWD/sshd/server 2>/dev/null";
/// A window of 65,535 bytes, with the headers of its frames.
const HTTP2_WINDOW: Arithmetic = Arithmetic::Window { least: 45_000.0, most: 72_000.0 };

/// A conversation whose programs are changed.
const CONVERSATION: Case = Case {
    name: "",
    report: "",
    is_quick: false,
    needs: &["sh"],
    bytes: 0,
    rtt: "",
    rate: "",
    control: "reno",
    options: &[],
    server: [""; 2],
    client: [""; 2],
    limit: ("app", "window"),
    captured: &[("app", Some("turns"))],
    remedy: Remedy::Programs("app.size"),
    applied: "",
    measure: Measure::Rate,
    arithmetic: HTTP2_WINDOW,
};

/// A transfer of bytes by `transfer.py`.
const TRANSFER: Case = Case {
    needs: &["python3"],
    server: ["PYTHON serve"; 2],
    captured: &[],
    measure: Measure::Time,
    ..CONVERSATION
};

const SEND_BUFFER: Case = Case {
    limit: ("sndbuf", "program"),
    remedy: Remedy::Programs("SO_SNDBUF"),
    applied: "no `SO_SNDBUF`",
    ..TRANSFER
};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "ssh_channel_window",
        report: "OpenSSH: `ssh host 'cat /dev/zero'` (hpn-ssh 58)",
        needs: &[sshd::PROGRAM, "ssh", "ssh-keygen"],
        rtt: "167ms",
        rate: "2gbit",
        server: [SSHD; 2],
        client: [
            "ssh -F sshd/client $PIPEFILL_SERVER 'head -c 150000000 /dev/zero' >/dev/null 2>&1",
            "for each in 1 2; do ssh -F sshd/client $PIPEFILL_SERVER 'head -c 150000000 /dev/zero' >/dev/null 2>&1 & done; wait",
        ],
        captured: &[],
        remedy: Remedy::Programs("parallel"),
        applied: "two sessions",
        // CHAN_SES_WINDOW_DEFAULT is 64 packets of 32 KiB; what is adjusted waits for a twentieth of a window.
        arithmetic: Arithmetic::Window { least: 1_600_000.0, most: 2_200_000.0 },
        ..CONVERSATION
    },
    Case {
        name: "http2_upload",
        report: "HTTP/2 upload: curl to nghttpd with a window of 64 KiB (haproxy 293)",
        needs: &["nghttpd", "curl"],
        bytes: 8_000_000,
        rtt: "25ms",
        rate: "100mbit",
        server: ["exec nghttpd --no-tls -w16 -W16 8443"; 2],
        // Behind a wider window the next limit is curl's own upload buffer of 64 KiB.
        client: [
            "curl -s --http2-prior-knowledge -o /dev/null -T file http://$PIPEFILL_SERVER:8443/up",
            "for each in 1 2; do curl -s --http2-prior-knowledge -o /dev/null -T file http://$PIPEFILL_SERVER:8443/up & done; wait",
        ],
        remedy: Remedy::Programs("parallel"),
        applied: "two connections",
        ..CONVERSATION
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
        applied: "`-w17 -W17`: 128 KiB",
        ..CONVERSATION
    },
    Case {
        name: "sftp_requests",
        report: "SFTP: `sftp -R 1 -B 30000` (libfuse/sshfs 300)",
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
        applied: "`-R 3`: four requests outstanding, not two",
        arithmetic: Arithmetic::Window { least: 25_000.0, most: 66_000.0 },
        ..CONVERSATION
    },
    Case {
        name: "database_cursor",
        report: "Database cursor: 100 kB a fetch (trino 16153)",
        is_quick: true,
        rtt: "10ms",
        rate: "1gbit",
        server: ["exec OWN answer 100000", "exec OWN answer 200000"],
        client: ["exec OWN ask 100000", "exec OWN ask 200000"],
        limit: ("app", "turns"),
        captured: &[],
        remedy: Remedy::Programs("app.outstanding"),
        applied: "200 kB a fetch",
        arithmetic: Arithmetic::Turns { each: 100_000.0 },
        ..CONVERSATION
    },
    Case {
        name: "nagle",
        report: "A response in two writes, Nagle's algorithm and delayed ACKs (scylladb 9619)",
        is_quick: true,
        rtt: "10ms",
        rate: "1gbit",
        server: ["exec OWN answer 200,300 nagle", "exec OWN answer 200,300"],
        client: ["exec OWN ask 500"; 2],
        limit: ("app", "nagle"),
        captured: &[],
        remedy: Remedy::Programs("TCP_NODELAY"),
        applied: "`TCP_NODELAY` at the server",
        arithmetic: Arithmetic::Turns { each: 500.0 },
        ..CONVERSATION
    },
    Case {
        name: "send_buffer_bbr",
        report: "`SO_SNDBUF` of 32 KiB, BBR (xrdp 2905)",
        control: "bbr",
        rtt: "250ms",
        rate: "100mbit",
        client: ["PYTHON send 900000 32768", "PYTHON send 900000"],
        arithmetic: Arithmetic::Window { least: 30_000.0, most: 70_000.0 },
        ..SEND_BUFFER
    },
    Case {
        name: "send_buffer_cubic",
        report: "`SO_SNDBUF` of 32 KiB, CUBIC (xrdp 2905)",
        rtt: "250ms",
        rate: "100mbit",
        // Without pacing its writes overfill the buffer by far.
        client: ["PYTHON send_for 10 32768 cubic", "PYTHON send_for 10 0 cubic"],
        measure: Measure::Rate,
        arithmetic: Arithmetic::Words(&[
            "the send buffer is 65.5 kB (kernel memory): a write may overshoot it",
        ]),
        ..SEND_BUFFER
    },
    Case {
        name: "send_buffer_near",
        report: "`SO_SNDBUF` of 36 KiB at 12 ms (wstunnel 80)",
        is_quick: true,
        control: "bbr",
        rtt: "12ms",
        rate: "200mbit",
        client: ["PYTHON send 12000000 36864", "PYTHON send 12000000"],
        // BBR spreads what a buffer lets out: near the receiver it comes as from a full path, or as a program writes it.
        captured: &[("path", Some("full")), ("app", Some("rate"))],
        arithmetic: Arithmetic::Window { least: 45_000.0, most: 90_000.0 },
        ..SEND_BUFFER
    },
    Case {
        name: "receive_buffer",
        report: "`SO_RCVBUF` of 64 KiB (pgjdbc 3481)",
        is_quick: true,
        rtt: "50ms",
        rate: "100mbit",
        server: ["PYTHON serve 65536", "PYTHON serve"],
        client: ["PYTHON send 7000000"; 2],
        limit: ("rwnd", "program"),
        remedy: Remedy::Programs("SO_RCVBUF"),
        applied: "no `SO_RCVBUF`",
        arithmetic: Arithmetic::Window { least: 80_000.0, most: 90_000.0 },
        ..TRANSFER
    },
    Case {
        name: "iperf3_window",
        report: "`iperf3 -w 208K` (esnet/iperf 356)",
        needs: &["iperf3"],
        rtt: "50ms",
        rate: "200mbit",
        server: ["exec iperf3 -s -1 >/dev/null 2>&1"; 2],
        client: [
            "exec iperf3 -c $PIPEFILL_SERVER -t 5 -w 208K >/dev/null",
            "exec iperf3 -c $PIPEFILL_SERVER -t 5 >/dev/null",
        ],
        limit: ("rwnd", "program"),
        remedy: Remedy::Programs("SO_RCVBUF"),
        applied: "no `-w`",
        measure: Measure::Rate,
        arithmetic: Arithmetic::Window { least: 200_000.0, most: 330_000.0 },
        ..TRANSFER
    },
    Case {
        name: "black_hole",
        report: "A link of 1480 bytes without ICMP (c2pool 963)",
        needs: &["python3", "curl"],
        bytes: 100_000_000,
        rtt: "20ms",
        rate: "10mbit",
        options: &["--inner-mtu", "1480", "--pmtud", "black-hole"],
        server: ["exec python3 -m http.server --bind 0.0.0.0 8000 >/dev/null 2>&1"; 2],
        client: ["curl -s -m 5.8 -o /dev/null http://$PIPEFILL_SERVER:8000/file || test $? = 28"; 2],
        limit: ("path", "mtu"),
        remedy: Remedy::Sysctl("net.ipv4.tcp_mtu_probing"),
        applied: "`tcp_mtu_probing=1` at the server",
        measure: Measure::Rate,
        arithmetic: Arithmetic::Words(&[
            "full-size segments (1.45 kB)",
            "never acknowledged",
            "smaller ones were",
        ]),
        ..TRANSFER
    },
    Case {
        name: "idle_restart",
        report: "1 MB every second or two on one connection (nim-libp2p 850)",
        rtt: "100ms",
        rate: "200mbit",
        server: ["PYTHON serve_messages 1000000"; 2],
        // Each slow start again, up to what was in flight before, takes less than the first one of the connection: more of them take longer in all.
        client: ["PYTHON send_messages 1000000 8 1"; 2],
        limit: ("cwnd", "idle_restart"),
        captured: &[("app", Some("response"))],
        remedy: Remedy::Sysctl("net.ipv4.tcp_slow_start_after_idle"),
        applied: "`tcp_slow_start_after_idle=0` at the sender",
        measure: Measure::Rate,
        arithmetic: Arithmetic::Words(&["had not begun to answer", "cwnd idle_restart"]),
        ..TRANSFER
    },
    Case {
        name: "ce_marks",
        report: "An AQM that marks 1 packet in 40 (LibreQoS 1)",
        rtt: "40ms",
        rate: "100mbit",
        options: &["--mark", "2.5%"],
        client: ["PYTHON send_for 6"; 2],
        limit: ("cwnd", "ecn"),
        remedy: Remedy::CongestionControl,
        applied: "BBR, which does not answer to marks",
        measure: Measure::Rate,
        arithmetic: Arithmetic::Words(&["with CE marks cut it"]),
        ..TRANSFER
    },
    Case {
        name: "window_scaling",
        report: "A peer without window scaling (techgenix)",
        is_quick: true,
        rtt: "60ms",
        rate: "100mbit",
        options: &["--set", "receiver.sysctl.net.ipv4.tcp_window_scaling=0"],
        client: ["PYTHON send 3000000"; 2],
        limit: ("rwnd", "unscaled"),
        remedy: Remedy::Sysctl("net.ipv4.tcp_window_scaling"),
        applied: "`tcp_window_scaling=1` at both ends",
        arithmetic: Arithmetic::Window { least: 65_000.0, most: 66_000.0 },
        ..TRANSFER
    },
    Case {
        name: "slow_reader",
        report: "`curl --limit-rate`",
        needs: &["python3", "curl"],
        bytes: 4_000_000,
        rtt: "50ms",
        rate: "100mbit",
        server: ["exec python3 -m http.server --bind 0.0.0.0 8000 >/dev/null 2>&1"; 2],
        client: [
            "curl -s -o /dev/null --limit-rate 700K http://$PIPEFILL_SERVER:8000/file",
            "curl -s -o /dev/null http://$PIPEFILL_SERVER:8000/file",
        ],
        limit: ("receiver", ""),
        remedy: Remedy::Nothing,
        applied: "nothing: the program reads slowly",
        measure: Measure::Rate,
        arithmetic: Arithmetic::Words(&["it did not drain its receive buffer"]),
        ..TRANSFER
    },
];

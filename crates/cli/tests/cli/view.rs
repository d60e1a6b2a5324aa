//! The live view, in a terminal of its own: what it shows, its keys, and that the terminal is as before, whatever ends it.

use crate::pipefill::Folder;
use portable_pty::{CommandBuilder, NativePtySystem, PtySize, PtySystem};
use std::io::{Read, Write};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Takes some seconds in the simulator, so that there is something to look at.
const SCENARIO: &str = r#"
name = "slow"
[path]
rtt = ["10ms", "20ms"]
rate = "200mbit"
loss = "0.001%"
queue = "1bdp"
[[flow]]
duration = "5s"
[run]
repeat = 100
"#;

/// What ends sooner gets no view.
const VIEW_AFTER: Duration = Duration::from_millis(700);

/// A shell with `pipefill` in it, on a terminal of 80 × 24, and what stands there.
struct Screen {
    seen: vt100::Parser,
    /// Everything that was written.
    bytes: Vec<u8>,
    output: Receiver<Vec<u8>>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn portable_pty::Child + Send + Sync>,
}

impl Screen {
    /// Runs `script` in `folder`, with `PIPEFILL` for the program.
    fn run(folder: &Folder, script: &str, variables: &[(&str, &str)]) -> Self {
        folder.write("slow.toml", SCENARIO);
        let size = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };
        let pair = NativePtySystem::default().openpty(size).unwrap();
        let program = assert_cmd::cargo::cargo_bin!("pipefill");
        let mut command = CommandBuilder::new("sh");
        command.args(["-c", &script.replace("PIPEFILL", program.to_str().unwrap())]);
        command.cwd(folder.root());
        command.env("TERM", "xterm-256color");
        command.env("XDG_RUNTIME_DIR", folder.runtime());
        command.env_remove("NO_COLOR");
        variables.iter().for_each(|(name, value)| command.env(name, value));
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let keys = pair.master.take_writer().unwrap();
        let (sender, output) = channel();
        thread::spawn(move || {
            let _open = pair.master;
            let mut buffer = [0; 4096];
            // The last one out closes the terminal, and then reading it fails.
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { seen: vt100::Parser::default(), bytes: Vec::new(), output, keys, child }
    }

    fn text(&self) -> String {
        self.seen.screen().contents()
    }

    fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.seen.process(bytes);
    }

    /// Waits until the screen holds `words`.
    fn wait_for(&mut self, words: &str) {
        let began = Instant::now();
        while !self.text().contains(words) {
            assert!(began.elapsed() < Duration::from_secs(60), "no {words:?} on\n{}", self.text());
            if let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(100)) {
                self.take(&bytes);
            } else {
                let ended = self.child.try_wait().unwrap();
                assert!(ended.is_none(), "ended before {words:?} on\n{}", self.text());
            }
        }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Waits for the end; what the script left on the user's own screen.
    fn end(&mut self) -> String {
        while let Ok(bytes) = self.output.recv_timeout(Duration::from_secs(60)) {
            self.take(&bytes);
        }
        self.child.wait().unwrap();
        let screen = self.seen.screen();
        assert!(!screen.alternate_screen() && !screen.hide_cursor(), "{}", self.text());
        self.text()
    }
}

/// A run, then its exit code and how the terminal is set.
fn started(script: &str) -> (Folder, Screen) {
    let folder = Folder::new();
    let screen = Screen::run(
        &folder,
        &format!("{script}; echo code $?; stty -a | tr ' ' '\\n' | grep -E '^-?(icanon|echo|isig);?$'"),
        &[],
    );
    (folder, screen)
}

/// Lines of `stty` for a terminal that reads lines, echoes, and has Ctrl-C.
fn is_as_before(text: &str) -> bool {
    ["\nicanon", "\necho", "\nisig"].iter().all(|word| text.contains(word))
}

const RUN: &str = "PIPEFILL run slow.toml --on sim --jobs 1 --out o";

#[test]
fn keys_are_heard_and_a_stop_is_asked_back() {
    let (folder, mut screen) = started(RUN);
    screen.wait_for("q stop");
    screen.wait_for("slow on sim");
    screen.wait_for("in flight");
    screen.wait_for("limited by");
    assert!(screen.seen.screen().alternate_screen());
    screen.press("?");
    screen.wait_for("congestion window of the sender");
    screen.press("x");
    screen.wait_for("received");
    screen.press("q");
    screen.wait_for("Stop the experiment?");
    screen.press("n");
    screen.wait_for("q stop");
    screen.press("q");
    screen.wait_for("Stop the experiment?");
    screen.press("y");
    let text = screen.end();
    assert!(text.contains("stopped; ") && text.contains("code 2") && is_as_before(&text), "{text}");
    assert!(folder.registered().is_empty());
}

#[test]
fn each_flow_has_a_line() {
    let (_folder, mut screen) = started(&format!("{RUN} --set flow.direction=both"));
    screen.wait_for("0 tcp →");
    screen.wait_for("1 tcp ←");
    screen.wait_for("0 retr");
    screen.wait_for("below: flow 0 tcp →");
    screen.press("\x03");
    let text = screen.end();
    assert!(text.contains("code 2") && is_as_before(&text), "{text}");
}

#[test]
fn a_c_with_control_stops_without_a_question() {
    let (_folder, mut screen) = started(RUN);
    screen.wait_for("q stop");
    screen.press("\x03");
    let text = screen.end();
    assert!(text.contains("stopping; Ctrl-C again to quit now") && text.contains("code 2"), "{text}");
    assert!(is_as_before(&text), "{text}");
}

#[test]
fn a_signal_leaves_the_terminal_as_it_was() {
    let (folder, mut screen) = started(&format!("sh -c 'echo $$ > pid; exec {RUN}'"));
    screen.wait_for("q stop");
    let pid = std::fs::read_to_string(folder.path("pid")).unwrap();
    assert!(Command::new("kill").args(["-TERM", pid.trim()]).status().unwrap().success());
    let text = screen.end();
    assert!(text.contains("stopped; ") && text.contains("code 2") && is_as_before(&text), "{text}");
}

#[test]
fn whoever_leaves_the_view_gets_lines_and_the_table() {
    let (_folder, mut screen) = started(&format!("{RUN} --set run.repeat=12"));
    screen.wait_for("q stop");
    screen.press("b");
    screen.wait_for("[");
    let text = screen.end();
    assert!(text.contains("code 0") && is_as_before(&text), "{text}");
    assert!(String::from_utf8_lossy(&screen.bytes).contains("of 12: "), "{text}");
}

#[test]
fn a_matrix_that_is_over_in_a_moment_opens_no_view() {
    let began = Instant::now();
    let (_folder, mut screen) = started(&format!("{RUN} --quick --set path.rate=1mbit"));
    let text = screen.end();
    let took = began.elapsed();
    let bytes = String::from_utf8_lossy(&screen.bytes);
    assert!(text.contains("code 0") && bytes.contains("goodput"), "{text}");
    // On a busy machine it takes as long as others.
    let is_shown = bytes.contains("\x1b[?1049h");
    assert!(!is_shown || took >= VIEW_AFTER, "{took:?}: {text}");
}

#[test]
fn no_color_means_no_colour() {
    let folder = Folder::new();
    let coloured = |variables: &[(&str, &str)]| {
        // A run takes longer than the view from one picture to the next, so that it is drawn.
        let mut screen =
            Screen::run(&folder, &format!("{RUN} --set flow.duration=100s; rm -rf o"), variables);
        screen.wait_for("in flight");
        screen.press("\x03");
        screen.end();
        String::from_utf8_lossy(&screen.bytes).contains("\x1b[38;5;")
    };
    assert!(coloured(&[]));
    assert!(!coloured(&[("NO_COLOR", "1")]));
}

#[test]
fn in_the_background_there_are_lines_and_no_view() {
    let folder = Folder::new();
    let script = format!("set -m; {RUN} --quick & wait $!; echo code $?");
    let mut screen = Screen::run(&folder, &script, &[]);
    let text = screen.end();
    assert!(text.contains("code 0"), "{text}");
    assert!(!String::from_utf8_lossy(&screen.bytes).contains("\x1b[?1049h"), "{text}");
}

#[test]
fn the_connections_of_this_host_are_shown_filtered_and_left() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let ours = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    let theirs = listener.accept().unwrap().0;
    let (_folder, mut screen) = started(&format!("PIPEFILL watch --interval 200ms dport = :{port}"));
    screen.wait_for("pipefill watch: all connections, by rate");
    screen.wait_for(&format!("127.0.0.1:{port}"));
    screen.press("?");
    screen.wait_for("segments sent again over the connection's life");
    screen.press("q");
    screen.wait_for("Enter open");
    screen.press("\r");
    screen.wait_for("Idle: nothing was sent or received.");
    screen.press("q");
    screen.wait_for("Enter open");
    screen.press("/");
    screen.wait_for("filter: _");
    screen.press("dport 99x\r");
    screen.wait_for("the filter is wrong at \"99x\"");
    screen.press("\x7f\x7f\x7f1\r");
    screen.wait_for("pipefill watch: dport 1, by rate");
    screen.press("s");
    screen.wait_for("by round trip");
    screen.press("q");
    let text = screen.end();
    assert!(text.contains("code 0") && is_as_before(&text), "{text}");
    drop((ours, theirs));
}

/// As behind `pipefill exec`, whose command has process numbers of its own.
#[test]
fn the_view_is_drawn_in_another_pid_namespace() {
    let may = |options: &&&str| {
        let mut unshare = std::process::Command::new("unshare");
        unshare.args([options, "true"]).output().is_ok_and(|output| output.status.success())
    };
    let Some(options) = ["-pf", "-rpf"].iter().find(may) else {
        println!("skipped (lab-unavailable: this user may have no PID namespace)");
        return;
    };
    let (_folder, mut screen) = started(&format!("unshare {options} PIPEFILL watch"));
    screen.wait_for("pipefill watch: all connections, by rate");
    screen.press("q");
    let text = screen.end();
    assert!(text.contains("code 0") && is_as_before(&text), "{text}");
}

/// crossterm reads for ever from a terminal that is gone.
#[test]
fn a_terminal_that_is_hung_up_ends_the_view() {
    let pair = NativePtySystem::default().openpty(PtySize::default()).unwrap();
    let mut command = CommandBuilder::new(assert_cmd::cargo::cargo_bin!("pipefill"));
    command.args(["watch"]);
    command.env("TERM", "xterm-256color");
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().unwrap();
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains("\x1b[?1049h") {
        let mut buffer = [0; 4096];
        let count = reader.read(&mut buffer).unwrap();
        seen.extend_from_slice(&buffer[..count]);
    }
    drop((reader, pair.master));
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < Duration::from_secs(30), "it still runs");
        thread::sleep(Duration::from_millis(50));
    }
}

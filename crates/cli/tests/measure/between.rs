//! Tests between hosts, with a stock iperf3 at either end: over loopback and in two namespaces. Both ends agree on what was moved; verdicts are in
//! `between_verdicts.rs`.

use crate::measuring::namespace::{Namespace, end, installed, root_folder, until};
use crate::measuring::{Folder, INVALID, Outcome, Test, is_quiet, slow_test, test};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread;

/// What both programs are asked for without a bound, one test each; nothing else runs then.
const UNBOUNDED: &[&str] = &["-t 1", "-t 1 -R", "-t 1 --bidir", "-n 20M", "-n 20M -R"];
/// The same, with a bound that leaves the CPUs to others.
const OPTIONS: &[&str] = &[
    "-t 1 -b 20M -P 4",
    "-t 1 -b 20M -P 4 -R",
    "-t 1 -b 20M -P 2 -R",
    "-t 1 -b 20M -P 2 --bidir",
    "-k 200 -b 200M",
    "-t 1 -b 20M",
    "-t 1 -b 20M -R",
    "-t 1 -b 50M -w 64K",
    "-t 1 -b 50M -C reno",
    "-t 1 -b 50M -O 1",
    "-t 1 -b 50M -O 1 -R",
    "-t 1 -b 50M -M 1000 -N",
    "-t 1 -b 20M -l 1K",
    "-t 1 -b 50M -6",
    "-t 1 -u -b 20M",
    "-t 1 -u -b 20M -R",
    "-t 1 -u -b 20M --bidir",
    "-t 1 -u -b 10M -P 4",
    "-t 1 -u -b 10M -P 4 -R",
    "-t 1 -u -b 20M -O 1",
    "-n 1M -u -b 20M",
    "-t 1 -u -b 20M -6",
    "-t 1 -u -b 20M -l 1000",
];
const OMITTING_GOAL: &str = "-n 10M -b 50M -O 1 -R";
/// What of these documents is compared name by name.
const KEYS: &[&str] = &[
    "-t 1 -b 20M",
    "-t 1 -b 20M -R",
    "-t 1 -b 20M --bidir",
    "-t 1 -u",
    "-t 1 -u -R",
    "-t 1 -u --bidir",
    "-t 1 -b 20M -P 2 -O 1",
    "-t 1 -b 20M -P 2 -R",
    "-t 1 -b 20M -P 2 --bidir",
    "-t 1 -u -P 2 --bidir",
    "-t 1 -b 20M -w 64K -C reno -M 1000 -S 8",
    "-n 1M -b 20M -T title --get-server-output",
    "-k 20 -u -b 20M -l 1000",
];
/// A test of both programs with these options.
type Check = fn(&str) -> Outcome;
/// Which programs are at the ends.
const PAIRS: [(&str, Check); 3] = [
    ("an_iperf3_client_and_serve", stock_client),
    ("test_and_an_iperf3_server", stock_server),
    ("test_and_serve", both_ours),
];
/// What may be under way in sockets at the end of a test of TCP that has no goal, bytes for each stream.
const UNDER_WAY: f64 = 48e6;

/// Each list of options with each pair on a quiet machine, else with one after the other.
fn with_pairs<T>(
    options: &'static [&'static str],
    test: impl Fn(String, &'static str, Check) -> T,
) -> Vec<T> {
    let all = options.iter().enumerate().flat_map(|(at, options)| {
        let is_chosen = move |pair: &usize| is_quiet() || at % PAIRS.len() == *pair;
        (0..PAIRS.len()).filter(is_chosen).map(move |pair| (*options, PAIRS[pair]))
    });
    all.map(|(options, (name, check))| test(format!("{name}: {options}"), options, check)).collect()
}

pub(crate) fn tests() -> Vec<Test> {
    let mut tests = with_pairs(OPTIONS, |name, options, check| slow_test(name, move || check(options)));
    // A stock client may wait for ever here: what came in before it began to count, the server has counted.
    for (name, check) in &PAIRS[1..] {
        tests.push(slow_test(format!("{name}: {OMITTING_GOAL}"), move || check(OMITTING_GOAL)));
    }
    let names =
        KEYS.iter().map(|options| slow_test(format!("all_names_of_iperf3: {options}"), || names(options)));
    tests.extend(names);
    tests.push(slow_test("a_stock_client_is_refused_with_its_own_words", refused));
    for server in ["serve", "iperf3"] {
        let check = move || between_namespaces(server);
        tests.push(slow_test(format!("{server}_in_another_namespace"), check));
    }
    tests.extend(with_pairs(UNBOUNDED, |name, options, check| test(name, move || check(options))));
    tests
}

/// A server, and the port at which it listens.
struct Server(Child, String);

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

/// `pipefill serve` at a free port; its log goes on into nothing.
fn serve(folder: &Folder) -> Server {
    let mut child = folder.start(&["serve", "-p", "0"]);
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    log.read_line(&mut line).unwrap();
    thread::spawn(move || log.read_to_end(&mut Vec::new()));
    let address = line.split(' ').find(|word| word.contains("]:")).unwrap_or_else(|| panic!("{line}"));
    let port = address.trim_end_matches(',').rsplit(':').next().unwrap().to_owned();
    Server(child, port)
}

/// `iperf3 -s -1 -J` at a port that is free now.
fn iperf3_server() -> Server {
    let port = TcpListener::bind("[::]:0").unwrap().local_addr().unwrap().port().to_string();
    let mut command = Command::new("iperf3");
    command.args(["-s", "-1", "-J", "-p", &port]).stdout(Stdio::piped()).stderr(Stdio::null());
    let server = Server(command.spawn().unwrap(), port.clone());
    let filter = format!("sport = :{port}");
    let is_there = || {
        let output = Command::new("ss").args(["-Hltn", &filter]).output().unwrap();
        !output.stdout.is_empty()
    };
    until(is_there, "the server does not listen");
    server
}

fn host(options: &str) -> &'static str {
    if options.contains("-6") { "::1" } else { "127.0.0.1" }
}

fn words(options: &str) -> Vec<&str> {
    options.split(' ').collect()
}

/// The document that a client printed, which went well.
fn document(mut command: Command) -> Value {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    // Figures are compared, whatever one end thinks of its own lateness.
    let is_done = matches!(output.status.code(), Some(0 | INVALID));
    assert!(is_done, "{command:?}: {text} {}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["error"], Value::Null, "{document:#}");
    document
}

fn ours(folder: &Folder, port: &str, options: &str) -> Value {
    let words = [&["test", host(options), "-p", port, "-J"], &*words(options)].concat();
    let output = folder.pipefill(&words).output().unwrap();
    // The figures of a test are compared, also of one that is invalid.
    let is_done = matches!(output.status.code(), Some(0 | INVALID));
    assert!(is_done, "{options}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn theirs(port: &str, options: &str) -> Value {
    let mut command = Command::new("iperf3");
    command.args(["-c", host(options), "-p", port, "-J"]).args(words(options));
    document(command)
}

fn bytes(document: &Value, sum: &str) -> f64 {
    document["end"][sum]["bytes"].as_f64().unwrap_or_else(|| panic!("no {sum}: {:#}", document["end"]))
}

/// What was received is what was sent, but for what was under way.
fn agrees(document: &Value, options: &str) {
    let ways = if options.contains("--bidir") { vec!["", "_bidir_reverse"] } else { vec![""] };
    let streams = document["end"]["streams"].as_array().unwrap().len() as f64;
    for way in ways {
        let sent = bytes(document, &format!("sum_sent{way}"));
        let received = bytes(document, &format!("sum_received{way}"));
        assert!(sent > 0.0 && received > 0.0, "{options}: {:#}", document["end"]);
        if options.contains("-u") {
            let lost = document["end"][format!("sum_received{way}")]["lost_percent"].as_f64().unwrap();
            assert!(
                lost < 5.0 && received > 0.9 * sent && received < 1.1 * sent,
                "{options}: {sent} {received} {lost} %"
            );
        } else {
            // What is left out at the start ends a little later at one end than at the other.
            let omitted = if options.contains("-O") { UNDER_WAY * streams } else { 0.0 };
            // Where the server sends, it hears later than the client that the test is over: each end tells its own time.
            let seconds = |sum: &str| document["end"][format!("{sum}{way}")]["seconds"].as_f64().unwrap();
            let [sender, receiver] = ["sum_sent", "sum_received"].map(seconds);
            let in_time = sent * (receiver / sender).min(1.0);
            assert!(
                received <= sent + omitted && received >= in_time - UNDER_WAY * streams,
                "{options}: {sent} {received}, in {sender} s and {receiver} s"
            );
        }
    }
}

fn stock_client(options: &str) -> Outcome {
    installed(&["iperf3"])?;
    let folder = Folder::new();
    let server = serve(&folder);
    let document = theirs(&server.1, options);
    agrees(&document, options);
    if options.starts_with("-n") && !options.contains("-R") {
        // What comes in after the client has ended counts too.
        let [sent, received] = ["sum_sent", "sum_received"].map(|sum| bytes(&document, sum));
        assert!((sent - received).abs() < 1.0, "{options}: {sent} {received}");
    }
    Ok(())
}

fn stock_server(options: &str) -> Outcome {
    installed(&["iperf3", "ss"])?;
    let folder = Folder::new();
    let mut server = iperf3_server();
    let client = ours(&folder, &server.1, options);
    agrees(&client, options);
    assert_eq!(
        (&client["pipefill"]["server"], &client["pipefill"]["ends"]),
        (&"iperf3".into(), &"own".into())
    );
    let mut text = String::new();
    server.0.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(server.0.wait().unwrap().success(), "{text}");
    let told: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(told["error"], Value::Null, "{told:#}");
    // The server's figures are those that the client prints of it, and the other way round.
    let its = if options.contains("-R") { "sum_sent" } else { "sum_received" };
    if !options.contains("-u") {
        assert!((bytes(&told, its) - bytes(&client, its)).abs() < 1.0, "{options}: {:#}", told["end"]);
    }
    Ok(())
}

fn both_ours(options: &str) -> Outcome {
    let folder = Folder::new();
    let server = serve(&folder);
    let document = ours(&folder, &server.1, options);
    agrees(&document, options);
    let told = &document["pipefill"];
    assert_eq!(told["server"], "pipefill");
    if !options.contains("-u") {
        assert_eq!(told["ends"], "both", "{told:#}");
    }
    assert!(told["verdict"].as_str().unwrap().ends_with('.'), "{told:#}");
    Ok(())
}

/// Every name that iperf3 prints is there, with the same type.
fn names(options: &str) -> Outcome {
    installed(&["iperf3"])?;
    let folder = Folder::new();
    let server = serve(&folder);
    let (stock, own) = (theirs(&server.1, options), ours(&folder, &server.1, options));
    let mut missing = Vec::new();
    compare(&stock, &own, "", &mut missing);
    assert!(missing.is_empty(), "{options}: {missing:#?}");
    Ok(())
}

fn compare(stock: &Value, own: &Value, place: &str, missing: &mut Vec<String>) {
    match (stock, own) {
        (Value::Object(stock), Value::Object(own)) => {
            for (name, value) in stock {
                let place = format!("{place}.{name}");
                match own.get(name) {
                    Some(found) => compare(value, found, &place, missing),
                    None => missing.push(place),
                }
            }
        }
        (Value::Array(stock), Value::Array(own)) => {
            if stock.len() != own.len() && !place.contains("intervals") {
                missing.push(format!("{place}: {} and {} entries", stock.len(), own.len()));
            }
            for (index, (stock, own)) in stock.iter().zip(own).enumerate() {
                compare(stock, own, &format!("{place}[{index}]"), missing);
            }
        }
        (Value::Number(_), Value::Number(_))
        | (Value::String(_), Value::String(_))
        | (Value::Bool(_), Value::Bool(_)) => {}
        _ => missing.push(format!("{place}: {stock} and {own}")),
    }
}

fn refused() -> Outcome {
    installed(&["iperf3"])?;
    let folder = Folder::new();
    let server = serve(&folder);
    let mut command = Command::new("iperf3");
    command.args(["-c", "127.0.0.1", "-p", &server.1, "-t", "80000"]);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("test duration"), "{text}");
    theirs(&server.1, "-t 1");
    Ok(())
}

/// Both clients, and a server at the other end of a veth pair, by IPv4 addresses that are no loopback.
fn between_namespaces(server: &str) -> Outcome {
    let folder = root_folder(&["iperf3", "ss"])?;
    let (here, there) = (Namespace::new(), Namespace::new());
    here.join("10.98.0.1", &there, "10.98.0.2");
    let program = assert_cmd::cargo::cargo_bin!("pipefill").to_str().unwrap();
    let command = if server == "serve" { [program, "serve"] } else { ["iperf3", "-s"] };
    let is_there = || !there.command(&["ss", "-Hltn", "sport = :5201"]).output().unwrap().stdout.is_empty();
    for options in
        ["-t 1 -b 50M", "-t 1 -b 50M -R", "-t 1 -b 50M --bidir", "-t 1 -u -b 50M -R", "-n 10M -b 50M -P 4"]
    {
        for client in [&["iperf3", "-c", "10.98.0.2", "-J"][..], &[program, "test", "10.98.0.2", "-J"]] {
            // One for each client: iperf3 closes its socket behind one, and resets who came meanwhile.
            let mut listening = there.command(&command);
            let mut listening = listening.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            until(is_there, "it does not listen");
            let command = here.command(&[client, &words(options)].concat());
            agrees(&document(command), options);
            end(&mut listening);
        }
    }
    drop(folder);
    Ok(())
}

//! The text below each command's help: examples that work, and exit codes. The manual pages are made from the same text: a line
//! that ends with a colon begins a section, and exit codes stand one on a line.

pub(super) const EXAMPLES: &str = "\
EXAMPLES:
  pipefill doctor                          what can this machine do?
  pipefill bdp --rate 1gbit --rtt 10ms     what does the path need?
  pipefill plan scenarios/first.toml       what would be run?
  pipefill run scenarios/first.toml        run it
  pipefill study rtt --quick               throughput against the round trip, in a minute

EXIT CODES:
  0  done, and every expectation of the scenario holds
  1  an expectation failed, or a comparison found a regression
  2  an error in the command, in a file, or in pipefill
  3  this machine cannot do it; the message names the reason and the remedy
  4  a run was invalid: the measurement itself was disturbed";

pub(super) const PLAN_EXAMPLES: &str = "\
EXAMPLES:
  pipefill plan scenarios/first.toml
  pipefill plan scenarios/first.toml --set path.rtt=50ms --json
  pipefill plan rtt --only variant=tcp,path.rtt=10ms      a part of a built-in study
  pipefill plan --profile lte                             what a named path stands for
  pipefill plan --from-tc 'qdisc tbf 8001: root refcnt 2 rate 10Mbit burst 32Kb lat 50ms'";

pub(super) const RUN_EXAMPLES: &str = "\
EXAMPLES:
  pipefill run scenarios/first.toml
  pipefill run scenarios/first.toml --quick --set 'path.rtt=[5ms,50ms]' --out /tmp/first
  pipefill run scenarios/first.toml --out /tmp/first --resume     repeat invalid and missing runs
  pipefill run scenarios/first.toml --repeat 5 --on sim
  pipefill run scenarios/matrix.toml --on sim --shard 3/16 --out third    a part of it, for pipefill merge
  pipefill run scenarios/matrix.toml --on sim --records summary           thousands of runs, in one file
  sed s/cubic/bbr/ mine.toml | pipefill run - --on sim
  pipefill run scenarios/first.toml --only path.rtt=40ms,path.loss=1% --json
  pipefill run scenarios/hosts.toml --on hosts --set hosts.receiver=ssh:user@b.example
  pipefill run scenarios/first.toml --on sim --capture            with sender.pcapng and receiver.pcapng of each run
  pipefill run scenarios/first.toml --on sim --json-stream | jq -c .event";

pub(super) const MERGE_EXAMPLES: &str = "\
EXAMPLES:
  pipefill run scenarios/matrix.toml --on sim --shard 1/2 --out one
  pipefill run scenarios/matrix.toml --on sim --shard 2/2 --out two      here or on another machine
  pipefill merge one two --out whole                                     then: pipefill report whole

EXIT CODES:
  0  all runs of all shards are in the directory
  2  a shard is missing, not complete, or of another plan; the message names the command that makes it";

pub(super) const STUDY_EXAMPLES: &str = "\
EXAMPLES:
  pipefill study --list
  pipefill study rtt --quick
  pipefill study rtt --only variant=tcp,path.rtt=10ms";

pub(super) const CATALOGUE_EXAMPLES: &str = "\
EXAMPLES:
  pipefill catalogue --on sim                      all scenarios, in some seconds
  pipefill catalogue rwnd sndbuf-socket --on sim   a group and a scenario
  pipefill catalogue --on sim --perturb 10%        which verdicts hang on one threshold
  pipefill catalogue --on lab --out /tmp/catalogue --json";

pub(super) const REPORT_EXAMPLES: &str = "\
EXAMPLES:
  pipefill report pipefill-runs/first
  pipefill report pipefill-runs/first --format svg -o pictures    each chart as a file
  pipefill report pipefill-runs/first --format md -o first.md     with links to the pictures
  pipefill report pipefill-runs/first --format html -o first.html
  pipefill report pipefill-runs/first --format parquet -o first.parquet
  pipefill report pipefill-runs/first --format iperf3 -o flows
  pipefill report pipefill-runs/first/runs/0000-rtt-10ms-loss-0pct-r1 --json";

pub(super) const EXPLAIN_EXAMPLES: &str = "\
EXAMPLES:
  pipefill explain pipefill-runs/first
  pipefill explain pipefill-runs/first --only path.rtt=40ms,path.loss=1%
  pipefill explain pipefill-runs/first/runs/0000-rtt-10ms-loss-0pct-r1 --json
  pipefill explain slow.pcapng                    the flows of a capture, from their packets
  pipefill explain iperf3.json                    what iperf3 -J printed, on the sender's side
  pipefill explain iperf3.json --context qdiscs   beside what tc -s qdisc (or nstat -az) printed on the same host
  pipefill explain upload.qlog                    what limited a QUIC connection
  ss -tinm dst 10.0.0.2 | pipefill explain -      one reading; several, with date +%s.%N before each, show more";

pub(super) const FIX_EXAMPLES: &str = "\
EXAMPLES:
  pipefill fix pipefill-runs/window
  pipefill fix pipefill-runs/window --only path.rtt=80ms --repeat 5
  pipefill fix pipefill-runs/window --out /tmp/fixed --json

NOTES:
  The new records are ordinary experiments: DIR/CELL/round-1/before and DIR/CELL/round-1/after.

EXIT CODES:
  0  measured, whether it helped or not
  2  an error in the command, in a file, or in pipefill
  3  this machine cannot do it
  4  a run was invalid";

pub(super) const COMPARE_EXAMPLES: &str = "\
EXAMPLES:
  pipefill compare pipefill-runs/first pipefill-runs/first-2
  pipefill compare before after --threshold 2%
  pipefill compare before after --json

EXIT CODES:
  0  no cell got worse by the threshold or more
  1  a regression: less goodput, or a longer round trip (95th percentile) without more goodput
  2  an error, or no cell in common
  4  a cell has no valid run";

pub(super) const DOCTOR_EXAMPLES: &str = "\
EXAMPLES:
  pipefill doctor
  pipefill doctor --json

EXIT CODES:
  0  the lab can run here
  2  an error in the command, in a file, or in pipefill
  3  the lab cannot run here; each reason is printed with its remedy";

pub(super) const WATCH_EXAMPLES: &str = "\
EXAMPLES:
  pipefill watch                                  live, the fastest connection first
  pipefill watch dst 10.0.0.0/8 and dport = :443
  pipefill watch --once --json                    one to three seconds
  pipefill watch --for 10s --out slow --pid 4711  records, then: pipefill explain slow
  pipefill watch --netns blue --once state established
  pipefill watch --listen 127.0.0.1:9466          for Prometheus; curl http://127.0.0.1:9466/metrics
  pipefill watch --listen :9466 --group-by unit,remote/16";

pub(super) const PCAP_EXAMPLES: &str = "\
EXAMPLES:
  pipefill pcap slow.pcapng
  pipefill pcap slow.pcap.gz --json
  pipefill pcap slow.pcapng --page slow.html      flows, verdicts, and graphs to zoom into
  pipefill pcap slow.pcapng --page part.html --from 12.3s --to 12.5s
  pipefill pcap slow.pcapng --graphs drawn        time-sequence, window, RTT, throughput
  pipefill pcap slow.pcapng --scenario slow.toml  then: pipefill run slow.toml
  pipefill pcap client.pcap server.pcap           joined: what the path lost, delays, clocks
  tcpdump -i eth0 -s 128 -w - tcp | pipefill pcap -

The verdict is best where the capture was made near the sender, and has the handshake: it
tells the scale of the windows. 128 bytes of each packet are enough.";

pub(super) const EXEC_EXAMPLES: &str = "\
EXAMPLES:
  pipefill exec --rtt 80ms --rate 50mbit --loss 1% \\
    --server 'iperf3 -s -1' -- iperf3 -c {server}
  pipefill exec --rtt 80ms --server 'python3 -m http.server' -- curl -o copy http://{server}:8000/file
  pipefill exec --profile lte --server 'python3 -m http.server' -- curl -o copy http://{server}:8000/file
  pipefill exec --rtt 80ms -- ping -c 5 {server}
  pipefill exec --rtt 300ms --uplink -- curl -O https://example.com/file
  pipefill exec --scenario path.toml --out records -- $SHELL   then: pipefill explain records

The server is at the far end of the path, the command at the near end. --rate holds for what the command sends,
--reverse-rate for what it receives.

EXIT CODES:
  that of the command; 128 and its number where a signal ended it; 127 where there is no such command
  2  an error in the options, or a server that does not listen
  3  this machine cannot do it";

pub(super) const SERVE_EXAMPLES: &str = "\
EXAMPLES:
  pipefill serve                                  until Ctrl-C, at port 5201
  pipefill serve --once -p 5300                   one test, then end
  pipefill serve --allow 10.0.0.0/8 --max-duration 1min --max-rate 1gbit
  (umask 077; head -c 32 /dev/urandom | base64 > key); pipefill serve --key key

Another host then runs pipefill test HOST, or iperf3 -c HOST where there is no key. Without one, every host that reaches the port may test.
Nothing that a client sends is run, stored or forwarded. Each test is a line on standard error.";

pub(super) const SHAPE_EXAMPLES: &str = "\
EXAMPLES:
  pipefill shape eth0 --rtt 50ms --rate 100mbit --to b.example -- pipefill test b.example
  pipefill shape eth0 --rtt 50ms --loss 1% --to 10.0.0.0/8 --for 1h     until Ctrl-C, an hour at most
  pipefill shape eth0 --rate 20mbit --to b.example:5201                 connections with that port alone
  pipefill shape eth0 --rate 20mbit --rtt 20ms --aqm fq_codel --ecn --to b.example
  pipefill shape eth0 --undo                                            end it now, from another terminal

Only what leaves the interface is shaped. Its other packets and its qdisc stay as they are. Undone by whatever comes first: the end of the
command, Ctrl-C (without a command), SIGTERM, SIGHUP, the end of the time, the end of this process in any way.

EXIT CODES:
  that of the command; 0 without one
  2  an error in the options, or the interface is shaped already
  3  this machine cannot do it; nothing was changed";

pub(super) const TEST_EXAMPLES: &str = "\
EXAMPLES:
  pipefill test server.example                    TCP for 10 s, from here to there
  pipefill test server.example -R -t 30 -P 4      from there to here, four streams
  pipefill test server.example:5300 --bidir
  pipefill test server.example -u -b 50mbit       UDP
  pipefill test server.example --out slow         records, then: pipefill explain slow
  pipefill test server.example -J                 JSON in iperf3's form, with the member pipefill

The letters are iperf3's, and so are bare numbers: -l 128K, -b 10M, -n 1G. The server is pipefill serve, whose sockets count
for the verdict too, or an iperf3 server.

EXIT CODES:
  0  the test went well, whatever its rate
  2  the server can't be reached, refuses, or broke the test off
  4  the test is invalid: an end was stopped or short of a CPU";

pub(super) const BDP_EXAMPLES: &str = "\
EXAMPLES:
  pipefill bdp --rate 1gbit --rtt 10ms
  pipefill bdp --rate 1gbit --rate-layer wire --rtt 10ms    Gigabit Ethernet: 941 Mbit/s
  pipefill bdp --rate 1gbit --rtt 10ms --window 64KiB --loss 1%
  pipefill bdp --rate 200mbit --rtt 200ms --buffer 6MiB
  pipefill bdp --rate 100mbit --rtt 80ms --json";

pub(super) const FUZZ_EXAMPLES: &str = "\
EXAMPLES:
  pipefill sim fuzz --for 10min --jobs 2
  pipefill sim fuzz --seed 7                      the same scenario again
  pipefill sim fuzz --seed 1 --runs 1000 --json
  pipefill sim fuzz --file finding.toml           check one scenario file";

pub(super) const COMPLETIONS_EXAMPLES: &str = "\
EXAMPLES:
  pipefill completions bash > ~/.local/share/bash-completion/completions/pipefill
  pipefill completions fish > ~/.config/fish/completions/pipefill.fish
  pipefill completions zsh > ~/.zfunc/_pipefill";

pub(super) const MAN_EXAMPLES: &str = "\
EXAMPLES:
  pipefill man | man -l -                                read it now
  pipefill man -o ~/.local/share/man/man1                then: man pipefill-run";

pub(super) const SWEEP_EXAMPLES: &str = "\
EXAMPLES:
  pipefill sweep big.toml --on sim --engine local --shards 8 --out big     processes here
  pipefill sweep big.toml --on sim --engine slurm --shards 100 --out /shared/big
  pipefill sweep /shared/big                       how far are the shards?
  pipefill sweep /shared/big --resume              those again that failed
  pipefill sweep /shared/big --merge               all are done: one experiment
  pipefill sweep big.toml --on sim --engine ray --shards 16 --out /shared/big
  pipefill sweep big.toml --on sim --engine kubernetes --shards 16 --out big \\
    --image registry.example/pipefill:0.1.0 | kubectl apply -f -

The directory lies on a file system that every node has. It holds scenario.toml, sweep.json, logs/, shards/ and merged/.
The engine schedules, repeats and places; pipefill run FILE --shard I/N is what it runs.

EXIT CODES:
  0  begun, or done, and every expectation holds
  1  an expectation failed
  2  an error, or a shard that failed
  3  this machine cannot do it: the engine is not installed
  4  a run was invalid";

//! What stands below each command's help: examples that work.
//!
//! Never: an option that the command does not have.

pub(super) const EXAMPLES: &str = "\
EXAMPLES:
  pipefill doctor                          what can this machine do?
  pipefill bdp --rate 1gbit --rtt 10ms     what does the path need?
  pipefill plan scenarios/first.toml       what would be run?
  pipefill run scenarios/first.toml        run it
  pipefill study rtt --quick               the study of the round trip, in a minute

EXIT CODES:
  0  done, and every expectation holds
  1  an expectation failed
  2  an error in what was asked, or in pipefill
  3  this machine cannot do it
  4  a run was invalid";

pub(super) const PLAN_EXAMPLES: &str = "\
EXAMPLES:
  pipefill plan scenarios/first.toml
  pipefill plan scenarios/first.toml --set path.rtt=50ms --json
  pipefill plan rtt --only variant=tcp,path.rtt=10ms";

pub(super) const RUN_EXAMPLES: &str = "\
EXAMPLES:
  pipefill run scenarios/first.toml
  pipefill run scenarios/first.toml --quick --set 'path.rtt=[5ms,50ms]' --out /tmp/first
  pipefill run scenarios/first.toml --out /tmp/first --resume
  pipefill run scenarios/first.toml --only path.rtt=40ms,path.loss=1% --json
  pipefill run scenarios/first.toml --on sim --json-stream | jq -c .event";

pub(super) const STUDY_EXAMPLES: &str = "\
EXAMPLES:
  pipefill study --list
  pipefill study rtt --quick
  pipefill study rtt --only variant=tcp,path.rtt=10ms";

pub(super) const CATALOGUE_EXAMPLES: &str = "\
EXAMPLES:
  pipefill catalogue --on sim                      about fifty scenarios, some seconds
  pipefill catalogue rwnd sndbuf-socket --on sim   the group rwnd, and one more
  pipefill catalogue --on lab --out /tmp/catalogue --json";

pub(super) const REPORT_EXAMPLES: &str = "\
EXAMPLES:
  pipefill report pipefill-runs/first
  pipefill report pipefill-runs/first --format svg -o pictures    each chart as a file
  pipefill report pipefill-runs/first --format md -o first.md     which shows them
  pipefill report pipefill-runs/first --format html -o first.html
  pipefill report pipefill-runs/first --format iperf3 -o flows
  pipefill report pipefill-runs/first/runs/0000-rtt-10ms-loss-0pct-r1 --json";

pub(super) const EXPLAIN_EXAMPLES: &str = "\
EXAMPLES:
  pipefill explain pipefill-runs/first
  pipefill explain pipefill-runs/first --only path.rtt=40ms,path.loss=1%
  pipefill explain pipefill-runs/first/runs/0000-rtt-10ms-loss-0pct-r1 --json";

pub(super) const FIX_EXAMPLES: &str = "\
EXAMPLES:
  pipefill fix pipefill-runs/window
  pipefill fix pipefill-runs/window --only path.rtt=80ms --repeat 5
  pipefill fix pipefill-runs/window --out /tmp/fixed --json

The new records are ordinary experiments below the directory: OUT/CELL/round-1/before and …/after.

EXIT CODES:
  0  measured, whether it helped or not    4  a run was invalid
  2  an error    3  this machine cannot do it";

pub(super) const COMPARE_EXAMPLES: &str = "\
EXAMPLES:
  pipefill compare pipefill-runs/first pipefill-runs/first-2
  pipefill compare before after --threshold 2%
  pipefill compare before after --json

EXIT CODES:
  0  no cell became worse by the threshold
  1  a regression: goodput less, or a longer round trip (95th percentile) for no more goodput
  2  an error, or no cell in common    4  a cell has no valid run";

pub(super) const DOCTOR_EXAMPLES: &str = "\
EXAMPLES:
  pipefill doctor
  pipefill doctor --json";

pub(super) const BDP_EXAMPLES: &str = "\
EXAMPLES:
  pipefill bdp --rate 1gbit --rtt 10ms
  pipefill bdp --rate 1gbit --rtt 10ms --window 64KiB --loss 1%
  pipefill bdp --rate 200mbit --rtt 200ms --buffer 6MiB
  pipefill bdp --rate 100mbit --rtt 80ms --json";

pub(super) const FUZZ_EXAMPLES: &str = "\
EXAMPLES:
  pipefill sim fuzz --for 10min --jobs 2
  pipefill sim fuzz --seed 7                      that scenario again, exactly
  pipefill sim fuzz --seed 1 --runs 1000 --json
  pipefill sim fuzz --file finding.toml           a scenario file, with every check on";

pub(super) const COMPLETIONS_EXAMPLES: &str = "\
EXAMPLES:
  pipefill completions bash > ~/.local/share/bash-completion/completions/pipefill
  pipefill completions fish > ~/.config/fish/completions/pipefill.fish
  pipefill completions zsh > ~/.zfunc/_pipefill";

pub(super) const MAN_EXAMPLES: &str = "\
EXAMPLES:
  pipefill man | man -l -                                read it now
  pipefill man -o ~/.local/share/man/man1                then: man pipefill-run";

#!/usr/bin/env bash
# Everything that has to hold, phase by phase: test.sh [PHASE...]
#
# A phase that fails stops no other one. Without a name, all of PHASES run. The last line is the sum of what the test runners printed:
# `N passed, N failed, N skipped`.
# A new phase is a function `phase_NAME` and its name in PHASES. What it needs, it gets from need.sh; where that is not to be had,
# it says `skip KIND REASON`. Tests that measure are an own phase, the last one: beside it, in idle time alone, what only computes.
set -uo pipefail
cd "$(dirname "$0")/.."

readonly PHASES=(format build tests measure)
# Integration tests of this name measure on this machine's kernel.
readonly MEASURING='^measure$'
# Integration tests that only compute, and take long: beside those that measure, in idle time.
readonly COMPUTING='^(many_flows|limits|hostile|captures|reading|rules|sim|report|store)$'
# Of the tests of the command line those that judge whole sets of scenarios in the simulator: beside those that measure, likewise.
readonly COMPUTING_SETS=(blindfold:: catalogue:: causes:: ledger:: sharers:: studies:: verdicts::)
# Integration tests that only `make proof` runs.
readonly OF_PROOF='^beside_tools$'
readonly TARGET=${CARGO_TARGET_DIR:-target}

main() {
    local failed=() phase began
    # CI builds once: it needs no state of a next build, and no lines of backtraces.
    [ -z "${CI:-}" ] || export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0
    # Not local: the trap runs when main has ended.
    log=$(mktemp)
    trap 'rm -f -- "$log"' EXIT
    [ $# -gt 0 ] || set -- "${PHASES[@]}"
    lint_while_building
    for phase in "$@"; do
        began=$SECONDS
        "phase_$phase" </dev/null 2>&1 | tee -a -- "$log" || failed+=("$phase")
        echo "== $phase: $((SECONDS - began)) s"
    done
    skips <"$log"
    [ ${#failed[@]} -eq 0 ] || echo "failed: ${failed[*]}"
    sum <"$log"
    [ ${#failed[@]} -eq 0 ]
}

# What is built for the tests is built by clippy, where that says more (scripts/compiler.sh). Its arguments as cargo-clippy passes them.
lint_while_building() {
    CLIPPY_DRIVER=$(rustup which clippy-driver 2>/dev/null || command -v clippy-driver)
    export CLIPPY_DRIVER CLIPPY_ARGS="-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__" RUSTC_WORKSPACE_WRAPPER=$PWD/scripts/compiler.sh
}

phase_format() {
    cargo fmt --all --check
}

# Without building anything: for `make lint` and `make check`.
phase_lint() {
    cargo clippy --workspace --all-targets -q -- -D warnings
}

# Types and the linter's rules of the report page's script; a part of the phase measure, and a phase by itself.
phase_web() {
    ! [ -e web/node_modules ] || scripts/web.sh check
}

# All of it, also of programs and examples, and then what is public alone, whose links have to lead somewhere; `make test` documents the crates (phase
# measure), with what it has built.
phase_rustdoc() {
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --lib --bin xtask --examples -q &&
        RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps -q
}

# Every target, with the same features, so that nothing is built twice and all is linted. Meanwhile what tests run is installed.
phase_build() {
    local said status=0
    said=$(mktemp)
    install_tools >"$said" 2>&1 &
    cargo test --workspace --no-run -q --all-targets || status=1
    wait "$!"
    cat -- "$said"
    rm -f -- "$said"
    return "$status"
}

# What tests run; those of what is missing say that they are skipped. Nobody gets a server by running tests.
install_tools() {
    scripts/need.sh clang
    scripts/need.sh iperf3 ping curl pasta nft
    [ "${CI:-}" != true ] || scripts/need.sh sshd nginx redis rsync nghttp
    ! [ -e web/node_modules ] || scripts/need.sh chromium
}

# Without those that `make proof` runs, and those that run beside the measuring ones. Beside the others the one that mostly waits for a download, the page in its browser, and the tests of the
# command line. More threads than CPUs, since many tests wait: for a terminal, for a server, for what `watch` looks at.
phase_tests() {
    local -x RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * $(nproc)))}
    local names beside=() told=() status=0 one
    mapfile -t names < <(integration_tests | grep -Ev "$MEASURING|$COMPUTING|$OF_PROOF|^readers$|^cli$")
    for one in test_command_line test_with_python phase_page; do
        told+=("$(mktemp)")
        "$one" >"${told[-1]}" 2>&1 &
        beside+=($!)
    done
    cargo test --workspace --no-fail-fast --lib --bin pipefill "${names[@]/#/--test=}" || status=1
    for one in "${beside[@]}"; do
        wait "$one" || status=1
    done
    cat -- "${told[@]}"
    rm -f -- "${told[@]}"
    return "$status"
}

test_command_line() {
    cargo test --workspace --no-fail-fast --test cli -- "${COMPUTING_SETS[@]/#/--skip=}"
}

# One after the other: they share an environment.
test_with_python() {
    local status=0
    cargo test --workspace --test readers || status=1
    phase_python || status=1
    return "$status"
}

# The package for Python; a part of the tests, and a phase by itself where only it is asked for.
phase_python() {
    local said
    if said=$(scripts/python.sh place 2>&1); then
        scripts/python.sh test
    else
        [ "${PIPEFILL_REQUIRE_READERS:-0}" != 1 ] || { echo "PIPEFILL_REQUIRE_READERS=1, but $said"; return 1; }
        skip readers-unavailable "$(tail -n 1 <<<"$said")"
    fi
}

# And the documentation itself.
phase_doctests() {
    RUSTDOC=$PWD/scripts/rustdoc.sh cargo test --workspace --no-fail-fast --doc
}

# Unit tests, for `make check`. With the features that all crates have together: nothing is built twice, and of what is built only what changed.
phase_units() {
    cargo test --workspace --no-fail-fast -q --lib --bins
}

# The same bytes as users' builds make, which have no overflow checks. What computes them is optimised in both; what it is built on is
# that of the other tests. It builds three crates again, so that `make proof` runs it.
phase_unchecked() {
    local unchecked=() crate check
    for crate in core link sim; do
        for check in overflow-checks debug-assertions; do
            unchecked+=(--config "profile.dev.package.pipefill-$crate.$check=false")
        done
    done
    cargo test --workspace --test hashes "${unchecked[@]}"
}

# The report page in a browser; a part of the tests, and a phase by itself where only it is asked for.
phase_page() {
    local lack
    if lack=$(page_lacks); then
        [ "${PIPEFILL_REQUIRE_PAGE:-0}" != 1 ] || { echo "PIPEFILL_REQUIRE_PAGE=1, but $lack"; return 1; }
        skip page-unavailable "$lack"
    else
        PIPEFILL=$(realpath -- "$TARGET/debug/pipefill") npm --prefix web test --silent
    fi
}

# Tests that wait for a path leave a CPU idle: what only computes takes what no other process wants (SCHED_IDLE, sched(7)). Where others want all of it, it comes after them.
phase_measure() {
    local names said computing='' status=0
    mapfile -t names < <(integration_tests | grep -E "$MEASURING")
    said=$(mktemp)
    if has_idle_time; then
        { chrt --idle --pid 0 "$BASHPID" && phase_compute; } >"$said" 2>&1 &
        computing=$!
    fi
    cargo test --workspace --no-fail-fast "${names[@]/#/--test=}" || status=1
    if [ -n "$computing" ]; then
        wait "$computing" || status=1
        cat -- "$said"
    else
        phase_compute || status=1
    fi
    rm -f -- "$said"
    return "$status"
}

# Whether half of the CPUs' time is nobody's, over a second.
has_idle_time() {
    local before after
    before=$(idle_ticks)
    sleep 1
    after=$(idle_ticks)
    [ $((2 * (after - before))) -ge $(($(nproc) * $(getconf CLK_TCK))) ]
}

# Since the machine has started, of all CPUs (proc_stat(5)).
idle_ticks() {
    awk '/^cpu / { print $5 + $6 }' /proc/stat
}

# The documentation, the page's types and rules, and tests whose results no clock and no other process can change.
phase_compute() {
    local names status=0
    phase_web || status=1
    mapfile -t names < <(integration_tests | grep -E "$COMPUTING")
    phase_doctests || status=1
    # What `make lint` runs, which needs none of the other crates.
    cargo check -q -p xtask --no-default-features || status=1
    cargo test --workspace --no-fail-fast --bin xtask "${names[@]/#/--test=}" || status=1
    cargo test --workspace --no-fail-fast --test cli -- "${COMPUTING_SETS[@]}" || status=1
    return "$status"
}

# The names of all integration tests of the workspace.
integration_tests() {
    find crates/*/tests xtask/tests -mindepth 1 -maxdepth 2 \( -path '*/tests/*.rs' -not -path '*/tests/*/*' -o -name main.rs \) |
        sed -E 's|/main\.rs$||; s|\.rs$||; s|.*/||' | sort -u
}

# What the tests of the page lack; fails where everything is there.
page_lacks() {
    if ! has node; then
        echo "there is no node; scripts/need.sh node"
    elif ! [ -e web/node_modules/playwright-core/package.json ]; then
        echo "web/node_modules is not there; make web"
    elif ! has chromium; then
        echo "there is no chromium; scripts/need.sh chromium"
    else
        return 1
    fi
}

has() {
    command -v "$1" >/dev/null 2>&1
}

# skip KIND REASON: what can't run here. It counts as one.
skip() {
    echo "skipped ($1: $2)"
}

# The reasons of all skips, this script's own and those that a test gave itself; then how many there are of each kind.
skips() {
    sed -nE 's/^(test .* \.\.\. )?(ignored|skipped) \((.*)\)$/skipped: \3/p' | awk '
        { print; split($2, kind, ":"); count[kind[1]]++ }
        END { for (name in count) printf "skips of the kind %s: %d\n", name, count[name] | "sort" }'
}

# Adds up the last lines of cargo test, of pytest and of Node's runner (TAP), and this script's own skips.
sum() {
    awk '/^test result: / { passed += $4; failed += $6; skipped += $8 }
        /^[0-9]+ (passed|failed|skipped|errors?).* in [0-9.]+s/ {
            for (at = 2; at <= NF; at++) {
                if ($at ~ /^passed/) passed += $(at - 1)
                if ($at ~ /^(failed|errors?)/) failed += $(at - 1)
                if ($at ~ /^skipped/) skipped += $(at - 1)
            }
        }
        /^# pass [0-9]+$/ { passed += $3 }
        /^# (fail|cancelled) [0-9]+$/ { failed += $3 }
        /^# (skipped|todo) [0-9]+$/ { skipped += $3 }
        /^skipped \(/ { skipped++ }
        END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }'
}

main "$@"

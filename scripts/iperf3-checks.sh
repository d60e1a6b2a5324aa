#!/usr/bin/env bash
# iperf3's own release check, against `pipefill serve` and beside it against iperf3's own server: iperf3-checks.sh CHECKOUT
#
# CHECKOUT is one of https://github.com/esnet/iperf, whose test_commands.sh is run with this machine's iperf3 as the client, in a network
# namespace with a name for both 127.0.0.1 and ::1. Fails where a command ends well with iperf3's server and not with ours. What fails with both
# is the machine's or iperf3's own doing, and is printed. Where no checkout is named, or no namespace can be made, the exit code is 3.
set -euo pipefail
cd "$(dirname "$0")/.."

PIPEFILL=${PIPEFILL:-$(realpath -m -- "${CARGO_TARGET_DIR:-target}/release/pipefill")}
export PIPEFILL

main() {
    local checkout=${1:-} server pids=()
    [ -e "$checkout/test_commands.sh" ] || skip "no checkout of esnet/iperf is named"
    command -v iperf3 >/dev/null || skip "there is no iperf3"
    unshare --net --mount --map-root-user true 2>/dev/null || skip "no namespace can be made"
    # Not local: the trap runs when main has ended.
    folder=$(mktemp -d)
    trap 'rm -rf -- "$folder"' EXIT
    prepare "$folder"
    for server in "$PIPEFILL serve" "iperf3 -s"; do
        against "$folder/${server##*/}" "$server" "$(realpath -- "$checkout")/test_commands.sh" &
        pids+=($!)
    done
    wait "${pids[@]}"
    report "$folder/pipefill serve" "$folder/iperf3 -s"
}

# skip REASON
skip() {
    echo "skipped (iperf3-checks-unavailable: $1)"
    exit 3
}

# prepare FOLDER: the check calls ./src/iperf3, which notes how each command ends.
prepare() {
    local place
    printf '127.0.0.1 both\n::1 both\n' >"$1/hosts"
    for place in "pipefill serve" "iperf3 -s"; do
        mkdir -p -- "$1/$place/src"
        cat >"$1/$place/src/iperf3" <<'CLIENT'
#!/usr/bin/env bash
timeout 60 iperf3 "$@" >>all 2>&1
code=$?
[ "$code" -eq 0 ] && how=well || how=failed
echo "$how: iperf3 $*" >>ended
CLIENT
        chmod +x -- "$1/$place/src/iperf3"
    done
}

# against FOLDER SERVER CHECK
against() {
    cd -- "$1"
    # The server ends with the namespace's first process.
    unshare --net --mount --pid --fork --kill-child --map-root-user bash -c '
        ip link set lo up && mount --bind ../hosts /etc/hosts
        $1 >server 2>&1 &
        for _ in {1..50}; do ss -Hltn "sport = :5201" | grep -q . && break; sleep 0.1; done
        sh "$2" both >>all 2>&1' - "$2" "$3"
}

# report OURS THEIRS
report() {
    local count well
    count=$(wc -l <"$1/ended")
    well=$(grep -c ^well "$1/ended")
    echo "of $count commands $well end well with pipefill serve, $(grep -c ^well "$2/ended") with iperf3's own server"
    comm -12 <(grep ^failed "$1/ended" | sort) <(grep ^failed "$2/ended" | sort) | sed 's/^failed:/with neither:/'
    comm -23 <(grep ^failed "$1/ended" | sort) <(grep ^failed "$2/ended" | sort) | sed 's/^failed:/only with iperf3:/' | tee "$1/ours"
    [ "$count" -gt 0 ] && [ ! -s "$1/ours" ]
}

main "$@"

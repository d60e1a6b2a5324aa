#!/usr/bin/env bash
# `pipefill sweep` on real engines: clusters.sh [local|slurm|ray|kubernetes]...
#
# A matrix in 8 shards on each; one shard is killed by force, repeated, and merged with the others. The result has to be what one process makes
# of the whole matrix. What an engine needs is started and ended here; where it can't be had, it is skipped, with the reason.
set -euo pipefail
cd "$(dirname "$0")/.."

TARGET=$(realpath -m -- "${CARGO_TARGET_DIR:-target}")
PIPEFILL=${PIPEFILL:-$TARGET/release/pipefill}
export PIPEFILL
readonly TARGET SHARDS=8
readonly RAY=(ray==2.60.0 pyarrow==26.0.1) VALIDATOR=(kubernetes-validate==1.37.0)

main() {
    local status=0 engine
    begin_alone "$@"
    [ $# -gt 0 ] || set -- local slurm ray kubernetes
    # Not local: the trap runs when main has ended.
    folder=$(mktemp -d)
    started=()
    trap finish EXIT
    scenario >"$folder/matrix.toml"
    "$PIPEFILL" run "$folder/matrix.toml" --on sim --quiet --out "$folder/whole" >/dev/null
    figures "$folder/whole" >"$folder/whole.csv"
    for engine in "$@"; do
        if lacks=$("lacks_$engine" 2>&1 >/dev/null); then
            # Not in a condition, where a command that fails would stop nothing.
            (set -e; "on_$engine") &
            wait $! && echo "ok: $engine" || { echo "FAILED: $engine"; status=1; }
        else
            echo "skipped (engine-unavailable: $engine: $(tail -n 1 <<<"$lacks"))"
            # `make proof` skips nothing.
            [ "${PIPEFILL_REQUIRE_ALL:-0}" != 1 ] || status=1
        fi
    done
    return "$status"
}

# Once more as the first process of a PID namespace, where this user may have one: whatever is started ends with it, and it ends with this
# process, also by SIGKILL. Ends with its exit code.
begin_alone() {
    local alone=(unshare --pid --fork --kill-child --mount-proc) status
    [ -z "${IS_ALONE:-}" ] || return 0
    [ "$(id -u)" -eq 0 ] || alone+=(--user --map-current-user)
    "${alone[@]}" true 2>/dev/null || return 0
    IS_ALONE=1 setpriv --pdeathsig KILL "${alone[@]}" -- "$BASH" scripts/clusters.sh "$@" &
    own=$!
    trap 'pkill -TERM -P "$own"' HUP INT TERM
    # A signal ends a wait, not what is waited for.
    while [ -e "/proc/$own" ]; do
        wait "$own" && status=0 || status=$?
    done
    exit "$status"
}

finish() {
    local pid
    for pid in "${started[@]}"; do
        kill "$pid" 2>/dev/null || true
    done
    for pid in "${started[@]}"; do
        wait "$pid" 2>/dev/null || true
    done
    rm -rf -- "$folder"
}

# 16 cells, with chance in them; some seconds each, so that there is time to kill one.
scenario() {
    cat <<'TOML'
name = "matrix"
[path]
rate = ["100mbit", "200mbit", "300mbit", "400mbit"]
rtt = ["5ms", "10ms", "20ms", "40ms"]
loss = "0.01%"
[[flow]]
duration = "60s"
[run]
repeat = 2
sample = "100ms"
TOML
}

# The sweep in DIR has the result of the whole.
is_whole() {
    figures "$1/merged" | cmp - "$folder/whole.csv"
}

# All of them, without the place of the scenario in the commands that repeat a point.
figures() {
    "$PIPEFILL" report "$1" --format csv | sed "s|$1/||g"
}

# sweep ENGINE DIR [OPTION]...
sweep() {
    "$PIPEFILL" sweep "$folder/matrix.toml" --on sim --engine "$1" --shards $SHARDS --out "$2" "${@:3}"
}

# The process that runs a shard of the sweep in DIR, once there is one.
shard_process() {
    local process words tries
    for ((tries = 0; tries < 600; tries++)); do
        for process in /proc/[0-9]*; do
            mapfile -d '' -t words 2>/dev/null <"$process/cmdline" || continue
            if [ "${words[0]:-}" = "$PIPEFILL" ] && [[ "${words[*]}" == *" --out $1/shards/"* ]]; then
                echo "${process#/proc/}"
                return
            fi
        done
        sleep 0.1
    done
    echo "no shard was ever at work in $1" >&2
    return 1
}

# Nothing of a sweep on ENGINE stays at work once the sweep was killed by force.
ends_with_sweep() {
    local place=$folder/killed-$1 own tries
    "$PIPEFILL" sweep "$folder/matrix.toml" --on sim --engine "$1" --shards $SHARDS --out "$place" >/dev/null 2>&1 &
    own=$!
    shard_process "$place" >/dev/null
    kill -KILL "$own"
    wait "$own" || true
    for ((tries = 0; tries < 150; tries++)); do
        pgrep -f -- "$place/shards/|pipefill\.ray" >/dev/null || return 0
        sleep 0.2
    done
    pgrep -a -f -- "$place/shards/|pipefill\.ray" >&2
    return 1
}

lacks_local() {
    :
}

on_local() {
    local shard status=0
    sweep local "$folder/local" >/dev/null 2>"$folder/local.log" &
    local own=$!
    shard=$(shard_process "$folder/local")
    kill -KILL "$shard"
    wait $own || status=$?
    [ $status -eq 2 ] || { cat -- "$folder/local.log"; return 1; }
    grep -q 'not done' "$folder/local.log"
    "$PIPEFILL" sweep "$folder/local" | grep -Eq 'unfinished|missing'
    "$PIPEFILL" sweep "$folder/local" --resume >/dev/null 2>&1
    is_whole "$folder/local"
    ends_with_sweep local
}

lacks_slurm() {
    local program
    [ "$(id -u)" -eq 0 ] || { echo "only root may start slurmd" >&2; return 1; }
    for program in slurmctld slurmd sbatch munged; do
        command -v $program || [ -x /usr/sbin/$program ] || { echo "there is no $program; apt-get install slurm-wlm munge" >&2; return 1; }
    done
}

# A controller and a node on this machine, on ports of their own.
on_slurm() {
    local shard
    PATH=$PATH:/usr/sbin
    start_slurm "$folder/cluster"
    sweep slurm "$folder/slurm"
    shard=$(shard_process "$folder/slurm")
    kill -KILL "$shard"
    "$PIPEFILL" sweep "$folder/slurm"
    until [ -z "$(squeue --noheader)" ]; do sleep 1; done
    "$PIPEFILL" sweep "$folder/slurm" | tee "$folder/slurm.status"
    grep -Eq '(unfinished|missing) +1 ' "$folder/slurm.status"
    "$PIPEFILL" sweep "$folder/slurm" --resume --wait >/dev/null
    is_whole "$folder/slurm"
}

start_slurm() {
    local place=$1 name tries
    name=$(hostname -s)
    mkdir -p -- "$place/state" "$place/spool" "$place/munge"
    head -c 1024 /dev/urandom >"$place/munge/key"
    chmod 700 -- "$place/munge"
    chmod 400 -- "$place/munge/key"
    chmod 711 -- "$folder" "$place"
    chown -R munge -- "$place/munge"
    chmod 711 -- "$place/munge"
    cat >"$place/slurm.conf" <<CONF
ClusterName=pipefill
SlurmctldHost=$name(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$place/munge/socket
CredType=cred/munge
StateSaveLocation=$place/state
SlurmdSpoolDir=$place/spool
SlurmctldPidFile=$place/slurmctld.pid
SlurmdPidFile=$place/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=2
NodeName=$name NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
CONF
    export SLURM_CONF=$place/slurm.conf
    # `exec`: the process that is noted is the daemon itself.
    (exec setpriv --reuid munge --regid munge --clear-groups munged --foreground --force --key-file="$place/munge/key" \
        --socket="$place/munge/socket" --pid-file="$place/munge/pid" --log-file="$place/munge/log" \
        --seed-file="$place/munge/seed") >"$place/munged.log" 2>&1 &
    started+=($!)
    for ((tries = 0; tries < 50; tries++)); do [ -S "$place/munge/socket" ] && break; sleep 0.1; done
    (exec slurmctld -D -f "$SLURM_CONF") >"$place/slurmctld.log" 2>&1 &
    started+=($!)
    (exec slurmd -D -f "$SLURM_CONF" -N "$name") >"$place/slurmd.log" 2>&1 &
    started+=($!)
    trap finish_slurm EXIT
    for ((tries = 0; tries < 300; tries++)); do
        [ "$(sinfo --noheader --format=%t 2>/dev/null)" != idle ] || return 0
        sleep 0.2
    done
    tail -n 5 "$place"/*.log >&2
    return 1
}

# In the subshell of this engine: its daemons end with it, the controller last.
finish_slurm() {
    scancel --user=root 2>/dev/null || true
    local at
    for ((at = ${#started[@]} - 1; at >= 0; at--)); do
        kill "${started[at]}" 2>/dev/null || true
        wait "${started[at]}" 2>/dev/null || true
    done
}

lacks_ray() {
    scripts/venv.sh ray "${RAY[@]}"
}

# A worker of Ray dies with its shard: Ray starts it again, and nobody has to go on by hand.
on_ray() {
    local shard worker place
    place=$(scripts/venv.sh ray "${RAY[@]}")
    # What Ray keeps goes with the folder.
    mkdir -p -- "$folder/home"
    export PATH=$place/bin:$PATH PYTHONPATH=$PWD/python/src HOME=$folder/home RAY_TMPDIR=$folder/r
    sweep ray "$folder/ray" >/dev/null 2>"$folder/ray.log" &
    local own=$!
    shard=$(shard_process "$folder/ray") || { cat -- "$folder/ray.log"; return 1; }
    worker=$(sed -n 's/^PPid:\t//p' "/proc/$shard/status")
    grep -q 'ray::' "/proc/$worker/cmdline"
    kill -KILL "$worker"
    wait $own || { cat -- "$folder/ray.log"; return 1; }
    is_whole "$folder/ray"
    ends_with_sweep ray
}

lacks_kubernetes() {
    scripts/venv.sh kubernetes "${VALIDATOR[@]}"
}

# The manifest against Kubernetes' own schema, and what its pods do, by hand; their two folders are others here.
on_kubernetes() {
    local place index script
    place=$(scripts/venv.sh kubernetes "${VALIDATOR[@]}")
    mkdir -p -- "$folder/scenario" "$folder/data"
    sweep kubernetes studies --image registry.example/pipefill:1 2>/dev/null >"$folder/job.json"
    "$place/bin/python" - "$folder" <<'PYTHON'
import json, sys
import kubernetes_validate

folder = sys.argv[1]
items = json.load(open(f"{folder}/job.json"))["items"]
for item in items:
    for version in ("1.29", kubernetes_validate.latest_version()):
        print(item["kind"], kubernetes_validate.validate(item, version, strict=True))
scenario, job = items
for name, text in scenario["data"].items():
    open(f"{folder}/scenario/{name}", "w").write(text)
command = job["spec"]["template"]["spec"]["containers"][0]["command"]
open(f"{folder}/command", "w").write(command[2].replace("/scenario/", f"{folder}/scenario/").replace("/data/", f"{folder}/data/"))
PYTHON
    script=$(cat -- "$folder/command")
    mkdir -p -- "$folder/bin"
    ln -s -- "$PIPEFILL" "$folder/bin/pipefill"
    for ((index = 0; index < SHARDS; index++)); do
        JOB_COMPLETION_INDEX=$index PATH=$folder/bin:$PATH sh -c "$script" >/dev/null
    done
    "$PIPEFILL" merge "$folder"/data/studies/shards/* --out "$folder/data/studies/merged" >/dev/null
    is_whole "$folder/data/studies"
}

main "$@"

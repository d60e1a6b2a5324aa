#!/bin/bash
# The guide's tables and pictures, made by the simulator: docs/guide/studies, docs/guide/causes and
# docs/guide/captures. The records go to a folder that is removed. Of each study's runs over time one is kept.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build -q --release -p pipefill
pipefill="${CARGO_TARGET_DIR:-target}/release/pipefill"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# The run over time that the guide shows of each study.
declare -A shown=(
    [rtt]='tcp-rtt-100ms' [bdp]='burst-burst-16kib' [window]='tcp-rtt-50ms'
    [buffers]='sysctl-rtt-100ms-tcp-rmem-4096-131072-6000000' [loss]='loss-15-loss-unit-segment'
    [bufferbloat]='none'
)
for study in rtt bdp window buffers loss bufferbloat; do
    to="docs/guide/studies/$study"
    "$pipefill" study "$study" --on sim --quiet --out "$folder/$study" > /dev/null
    rm -rf "$to"
    "$pipefill" report "$folder/$study" --format svg -o "$to/pictures" > /dev/null
    find "$to/pictures" \( -name '*-over-time-*' ! -name "*-over-time-${shown[$study]}.svg" -o -name '*-repetitions-*' -o -name '*-round-trips*' \) -delete
    # A hundred cells make more pictures than anybody looks at: what is asked about is the round trip.
    [ "$study" != bufferbloat ] || find "$to/pictures" -name '*.svg' ! -name '*-round-trip-under-load-by-*' -delete
    "$pipefill" report "$folder/$study" --format md -o "$to/report.md"
done
"$pipefill" run scenarios/catalogue/loss-cubic.toml --on sim --capture --set run.repeat=1 --out "$folder/capture" --quiet
"$pipefill" pcap "$folder"/capture/runs/*/artifacts/sender.pcapng --graphs "$folder/graphs" > /dev/null 2>&1
mkdir -p docs/guide/captures
cp "$folder/graphs/1-time-sequence-detail.svg" docs/guide/captures/time-sequence.svg
"$pipefill" study buffers --on sim --capture --repeat 1 --out "$folder/windows-of-buffers" --quiet > /dev/null \
    --only 'variant=as-published,path.rtt=200ms,receiver.tcp_rmem=4096 131072 6000000'
"$pipefill" pcap "$folder"/windows-of-buffers/runs/*/artifacts/sender.pcapng --graphs "$folder/windows" > /dev/null 2>&1
cp "$folder/windows/1-window.svg" docs/guide/captures/buffers-window.svg
FIGURES=write cargo test -q -p pipefill --test cli explained

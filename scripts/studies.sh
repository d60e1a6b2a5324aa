#!/bin/bash
# The studies' tables in docs/guide/studies, made by the simulator. The records go to a folder that is removed.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build -q --release -p pipefill
pipefill="${CARGO_TARGET_DIR:-target}/release/pipefill"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for study in rtt bdp window buffers loss; do
    "$pipefill" study "$study" --on sim --out "$folder/$study" > /dev/null
    "$pipefill" report "$folder/$study" --format md -o "docs/guide/studies/$study.md"
done

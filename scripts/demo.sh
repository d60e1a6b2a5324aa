#!/usr/bin/env bash
# The shortest way to a real result: study 1, the quick matrix, on whatever this machine can do. It says what it chose and why.
#
# Of the program only what carries packets is optimised, as where the tests measure, and without PNG and Parquet: a release takes longer to build.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly TARGET=${CARGO_TARGET_DIR:-target}
readonly OUT=$TARGET/demo
readonly PIPEFILL=$TARGET/quick/pipefill

cargo build --profile quick -p pipefill --no-default-features </dev/null

if "$PIPEFILL" doctor; then
    echo
    backend=lab
    echo "backend: lab, this machine's own kernel, because doctor says that the lab can run here"
else
    echo
    backend=sim
    echo "backend: sim, virtual time, because the lab cannot run here for the reason above"
fi

rm -rf -- "$OUT"
mkdir -p -- "$OUT"
study() {
    "$PIPEFILL" study rtt --quick --on "$backend" --out "$OUT/rtt" "$@"
}
status=0
table=$(study) || status=$?
if [ "$status" -eq 4 ]; then
    echo
    echo "This machine was too busy to measure some of the runs; only those are repeated."
    status=0
    table=$(study --resume) || status=$?
fi
printf '%s\n' "$table"
if [ "$status" -eq 4 ]; then
    echo
    echo "Some runs are invalid again, for the reasons below the table. To repeat only those:"
    echo "$PIPEFILL study rtt --quick --on $backend --out $OUT/rtt --resume"
    status=0
fi
echo
echo "docs/records.md describes the records"
exit "$status"

#!/usr/bin/env bash
# Whether programs for data read records as they are: readers.sh EXPERIMENT...
#
# polars, pandas and DuckDB come from PyPI, once, into a virtual environment below the target directory. Where that can't be, the reason is
# the last line on standard error, and the exit code is 3.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

readonly PACKAGES=(duckdb==2.0.0 pandas==3.1.1 polars==2.1.0 pyarrow==26.0.1 zstandard)
readonly PLACE=${CARGO_TARGET_DIR:-$here/../target}/readers

main() {
    local python
    python=$(command -v python3) || refuse "there is no python3"
    [ -e "$PLACE/complete" ] || install "$python"
    "$PLACE/bin/python" "$here/readers.py" "$@"
}

install() {
    rm -rf -- "$PLACE"
    "$1" -m venv "$PLACE" >/dev/null 2>&1 || refuse "python3 can't make a virtual environment (python3-venv)"
    "$PLACE/bin/python" -m pip install -q --disable-pip-version-check --only-binary=:all: "${PACKAGES[@]}" \
        >"$PLACE/log" 2>&1 || refuse "pip could not install ${PACKAGES[*]}: $(tail -n 1 "$PLACE/log")"
    touch "$PLACE/complete"
}

refuse() {
    echo "$1" >&2
    exit 3
}

main "$@"

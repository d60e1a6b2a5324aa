#!/usr/bin/env bash
# A virtual environment with packages of PyPI: venv.sh NAME PACKAGE...
#
# It is made once, below the target directory, and again where another list of packages is asked for. The last line on standard output is
# its folder. Where it can't be had, the reason is the last line on standard error, and the exit code is 3.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

main() {
    local name=$1 python place
    shift
    place=${CARGO_TARGET_DIR:-$here/../target}/venv/$name
    python=$(command -v python3) || refuse "there is no python3"
    [ "$(cat -- "$place/complete" 2>/dev/null)" = "$*" ] || install "$python" "$place" "$@"
    realpath -- "$place"
}

install() {
    local python=$1 place=$2
    shift 2
    rm -rf -- "$place"
    mkdir -p -- "$(dirname "$place")"
    "$python" -m venv "$place" >/dev/null 2>&1 || refuse "python3 can't make a virtual environment (python3-venv)"
    "$place/bin/python" -m pip install -q --disable-pip-version-check --only-binary=:all: "$@" \
        >"$place/log" 2>&1 || refuse "pip could not install $*: $(tail -n 1 "$place/log")"
    echo "$*" >"$place/complete"
}

refuse() {
    echo "$1" >&2
    exit 3
}

main "$@"

#!/usr/bin/env bash
# What needs Python and packages of PyPI: python.sh place|test|overhead|notebook [write]|quic
#
# place:    the folder of a virtual environment with what reads records and what tests the package (venv.sh).
# test:     the tests of the package in python/, with the program of this build.
# overhead: 1,000 cells from Python and from the command line, with the release.
# notebook: the guide's notebook, executed, with the release; `write` keeps what it shows.
# quic:     the folder of one with a QUIC library, which crates/cli/tests/measure/quic.py drives.
# Where PyPI is not to be had, the reason is the last line on standard error, and the exit code is 3.
set -euo pipefail
cd "$(dirname "$0")/.."

# One environment for scripts/readers.py and for the package's tests: its packages are downloaded once.
readonly PACKAGES=(duckdb==2.0.0 pandas==3.1.1 polars==2.1.0 pyarrow==26.0.1 pytest==9.2.0 zstandard)
readonly NOTEBOOK=(ipykernel==7.4.0 matplotlib==3.11.2 nbclient==0.11.0 nbformat==5.11.1 pandas==3.1.1 pyarrow==26.0.1)
readonly QUIC=(aioquic==1.3.0)
readonly TARGET=${CARGO_TARGET_DIR:-target}

main() {
    local build=release
    [ "${1:-}" != test ] || build=debug
    export PIPEFILL=${PIPEFILL:-$(realpath -m -- "$TARGET/$build/pipefill")} PYTHONPATH=$PWD/python/src
    case ${1:-} in
        place) place ;;
        test) run_tests ;;
        overhead) "$(place)/bin/python" -B python/benchmarks/overhead.py ;;
        notebook) "$(scripts/venv.sh notebook "${NOTEBOOK[@]}")/bin/python" -B scripts/notebook.py "${@:2}" ;;
        quic) scripts/venv.sh quic "${QUIC[@]}" ;;
        *) echo "python.sh does not know '${1:-}'" >&2; exit 2 ;;
    esac
}

place() {
    scripts/venv.sh readers "${PACKAGES[@]}"
}

# -B, and no cache: nothing is left in the tree.
run_tests() {
    local python
    python=$(place)/bin/python
    "$python" -B -m pytest -q -p no:cacheprovider python/tests
}

main "$@"

#!/usr/bin/env bash
# What needs Python and packages of PyPI: python.sh place|test
#
# place: the folder of a virtual environment with what reads records and what tests the package (venv.sh).
# test:  the tests of the package in python/, with the program of this build.
# Where PyPI is not to be had, the reason is the last line on standard error, and the exit code is 3.
set -euo pipefail
cd "$(dirname "$0")/.."

# One environment for scripts/readers.py and for the package's tests: its packages are downloaded once.
readonly PACKAGES=(duckdb==2.0.0 pandas==3.1.1 polars==2.1.0 pyarrow==26.0.1 pytest==9.2.0 zstandard)
readonly TARGET=${CARGO_TARGET_DIR:-target}

main() {
    case ${1:-} in
        place) place ;;
        test) run_tests ;;
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
    PIPEFILL=${PIPEFILL:-$(realpath -- "$TARGET/debug/pipefill")} PYTHONPATH=$PWD/python/src \
        "$python" -B -m pytest -q -p no:cacheprovider python/tests
}

main "$@"

#!/usr/bin/env bash
# The compiler of the workspace's crates while tests are built, as cargo calls it (RUSTC_WORKSPACE_WRAPPER): compiler.sh RUSTC ARGUMENT...
#
# Clippy compiles what it lints, so that nothing is compiled once for the lint and once more to run. A library is linted with its unit tests; by
# itself it is compiled as it is. Cargo optimises whole packages: here tests and benches are not, only what they call, and that not over the parts of
# a crate ("thin-local" LTO; as a profile's key it makes cargo compile twice) (docs/adr/0060).
set -euo pipefail

rustc=$1
shift
arguments=() is_library='' is_test='' is_optimised=''
for argument in "$@"; do
    case $argument in
        --test | */benches/*.rs) is_test=1 ;;
        lib) is_library=1 ;;
        opt-level=*) is_optimised=1 ;;
    esac
done
for argument in "$@"; do
    case $is_test$argument in
        1opt-level=*) arguments+=(opt-level=0) ;;
        *) arguments+=("$argument") ;;
    esac
done
[ -z "$is_optimised" ] || arguments+=(-C lto=off)
if [ -n "$is_library" ] && [ -z "$is_test" ]; then
    exec "$rustc" "${arguments[@]}" -D warnings
fi
exec "${CLIPPY_DRIVER:?}" "$rustc" "${arguments[@]}"

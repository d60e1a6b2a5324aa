#!/usr/bin/env bash
# rustdoc for `cargo test --doc`: the tests of a crate's documentation, and before them the documentation itself, whose warnings are errors.
#
# `cargo doc` would check every dependency again; here they are those that the tests were built with.
set -euo pipefail

main() {
    local words=() is_test=false
    local -r all=("$@")
    while [ $# -gt 0 ]; do
        case $1 in
            --test) is_test=true ;;
            --test-run-directory) shift ;;
            *) words+=("$1") ;;
        esac
        shift
    done
    if $is_test; then
        out=$(mktemp -d)
        trap 'rm -rf -- "$out"' EXIT
        rustdoc "${words[@]}" --document-private-items -D warnings -A rustdoc::private-intra-doc-links -o "$out"
    fi
    rustdoc "${all[@]}"
}

main "$@"

#!/usr/bin/env bash
# The report page's script and style: web.sh [check]
#
# Without an argument: builds web/dist where it is older than its sources. `check`: types and the linter's rules.
# What it needs from the registry is what web/package-lock.json names, and nothing of it runs while it is installed.
set -euo pipefail
cd "$(dirname "$0")/.."

main() {
    scripts/need.sh node
    cd web
    [ node_modules/.package-lock.json -nt package-lock.json ] ||
        npm ci --ignore-scripts --no-audit --no-fund --loglevel=error </dev/null >&2
    case ${1:-build} in
        build) is_new || node build.mjs ;;
        check) npm run --silent check ;;
        *) echo "web.sh does not know '$1'" >&2; exit 2 ;;
    esac
}

is_new() {
    [ -e dist/page.js ] && [ -e dist/page.css ] &&
        [ -z "$(find src build.mjs package-lock.json -newer dist/page.js -print -quit)" ]
}

main "$@"

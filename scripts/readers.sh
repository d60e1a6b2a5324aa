#!/usr/bin/env bash
# Whether programs for data read records as they are: readers.sh EXPERIMENT...
#
# polars, pandas and DuckDB come from PyPI (venv.sh). Where that can't be, the reason is the last line on standard error, and the exit code
# is 3.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
place=$("$here/python.sh" place)
exec "$place/bin/python" "$here/readers.py" "$@"

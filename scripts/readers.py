"""Reads every table of the records in the given experiments with polars, pandas and DuckDB, with no option but the path.

Each has to find every row, every column and no other, and the sums of the numbers that the lines hold; tables of one name from all
experiments have to lie below one another. Prints a line for each experiment; ends with 1 where a reader found something else.
"""

import json
import math
import sys
from collections import defaultdict
from pathlib import Path

import duckdb
import pandas
import polars
import zstandard

READERS = {
    "polars": lambda path: polars.read_ndjson(path),
    "polars (lazy)": lambda path: polars.scan_ndjson(path).collect(),
    "pandas": lambda path: polars.from_pandas(pandas.read_json(path, lines=True)),
    "duckdb": lambda path: duckdb.read_json(str(path)).pl(),
}


def lines(path):
    with zstandard.open(path, "rt", encoding="utf-8") as text:
        return [json.loads(line) for line in text]


def wrong(frame, rows):
    """What of the frame is not what the lines hold."""
    columns = sorted({name for row in rows for name in row})
    if sorted(frame.columns) != columns:
        return f"columns {sorted(set(frame.columns) ^ set(columns))}"
    if frame.height != len(rows):
        return f"{frame.height} rows of {len(rows)}"
    for name in columns:
        if frame[name].dtype == polars.Null:
            return f"column {name} has no type"
        numbers = [row[name] for row in rows if isinstance(row.get(name), int) and not isinstance(row[name], bool)]
        if numbers and not math.isclose(frame[name].cast(polars.Float64).sum(), sum(map(float, numbers)), rel_tol=1e-9):
            return f"the sum of column {name}"
    return None


def main(experiments):
    problems = []
    frames = defaultdict(list)
    for experiment in experiments:
        paths = sorted(Path(experiment).glob("runs/*/*.jsonl.zst"))
        if not paths:
            problems.append(f"{experiment} has no table")
        for path in paths:
            rows = lines(path)
            for reader, read in READERS.items():
                try:
                    frame = read(path)
                    problem = wrong(frame, rows)
                except Exception as error:  # whatever a reader refuses it with
                    problem = f"{type(error).__name__}: {error}"
                if problem:
                    problems.append(f"{reader}: {path}: {problem}")
                elif reader == "polars":
                    frames[path.name].append(frame)
        print(f"{experiment}: {len(paths)} tables, each read by {', '.join(READERS)}")
    for name, of_name in frames.items():
        try:
            polars.concat(of_name, how="diagonal")
        except Exception as error:
            problems.append(f"{name} of all experiments below one another: {error}")
    print("\n".join(problems), file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Reads every table of the records in the given experiments with polars, pandas and DuckDB, with no option but the path, and the file
`runs.parquet` beside them, which has to hold what `report.json` there says of each run.

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
import pyarrow.parquet
import zstandard

READERS = {
    "polars": lambda path: polars.read_ndjson(path),
    "polars (lazy)": lambda path: polars.scan_ndjson(path).collect(),
    "pandas": lambda path: polars.from_pandas(pandas.read_json(path, lines=True)),
    "duckdb": lambda path: duckdb.read_json(str(path)).pl(),
}

PARQUET_READERS = {
    "polars": lambda path: polars.read_parquet(path),
    "pandas": lambda path: polars.from_pandas(pandas.read_parquet(path)),
    "duckdb": lambda path: duckdb.read_parquet(str(path)).pl(),
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


def wrong_runs(experiment):
    """What of runs.parquet is not what report.json says, a line each."""
    path = Path(experiment) / "runs.parquet"
    cells = json.loads((Path(experiment) / "report.json").read_text())["cells"]
    runs = [(cell, run) for cell in cells for run in cell["run_values"]]
    metadata = pyarrow.parquet.read_metadata(path).metadata
    described = json.loads(metadata[b"pipefill.columns"])
    for reader, read in PARQUET_READERS.items():
        frame = read(path)
        axes = {axis for cell in cells for axis in cell["axes"]}
        numbers = {name for cell in cells for name in cell["axis_numbers"]}
        if set(frame.columns) != axes | numbers | set(described) or not all(described.values()):
            yield f"{reader}: {path}: columns {sorted(set(frame.columns) ^ (axes | numbers | set(described)))}"
        if frame["run"].to_list() != [run["id"] for _, run in runs]:
            yield f"{reader}: {path}: the runs are others"
        for name in ["goodput_bps", "retransmits", "min_rtt_us", "datagrams_sent", "lost_percent"]:
            if frame[name].to_list() != [run[name] for _, run in runs]:
                yield f"{reader}: {path}: column {name}"
        for axis in axes:
            if frame[axis].to_list() != [cell["axes"].get(axis) for cell, _ in runs]:
                yield f"{reader}: {path}: axis {axis}"
        for name in numbers:
            if frame[name].to_list() != [cell["axis_numbers"].get(name) for cell, _ in runs]:
                yield f"{reader}: {path}: axis {name}"
        if frame["valid"].dtype != polars.Boolean or frame["cell"].dtype != polars.Int64:
            yield f"{reader}: {path}: types {frame.schema}"


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
        problems.extend(wrong_runs(experiment))
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

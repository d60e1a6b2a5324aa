"""The samples of an experiment's records as one Arrow table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from ._errors import Error

Report = dict[str, Any]

#: The tables of a record, a file each: docs/records.md has their columns.
TABLES = ("tcp", "delivery", "udp", "ping", "path", "cpu", "retransmits", "packets", "datagrams", "aqm")
#: What stands for a number that is not there: JSON readers take a column's type from its first rows.
_NO_VALUE = 2**53 - 1


def samples(
    directory: Path,
    report: Report,
    table: str,
    cell: int | Mapping[str, str] | None,
    run: int | str | None,
    flow: int | None,
) -> pa.Table:
    """See `Experiment.samples`."""
    if table not in TABLES:
        raise Error(f"records have no table {table!r}; the tables are {', '.join(TABLES)}")
    chosen = list(_runs(report, cell, run))
    if not chosen:
        raise Error(f"no run is cell={cell!r}, run={run!r}; `runs` has the axes, the repetition and the directory of each")
    folders = [directory / "runs" / of_run["directory"] for _, of_run in chosen]
    if not any(folder.is_dir() for folder in folders):
        raise Error(f"{directory} keeps the figures of its runs and no samples: run it without records='summary'")
    parts = []
    for (of_cell, of_run), folder in zip(chosen, folders, strict=True):
        rows = _rows(folder / f"{table}.jsonl.zst")
        if rows is not None:
            parts.append(_labelled(_of_flow(rows, folder, table, flow), of_cell, of_run))
    if not parts:
        raise Error(f"no run has a table {table}; it is written where there is something to sample")
    return pa.concat_tables(parts, promote_options="permissive")


def _runs(report: Report, cell: int | Mapping[str, str] | None, run: int | str | None) -> Iterator[tuple[Report, Report]]:
    """The runs that are asked for, each with its cell."""
    for of_cell in report["cells"]:
        is_place = isinstance(cell, Mapping) and all(of_cell["axes"].get(axis) == value for axis, value in cell.items())
        if cell is not None and not is_place and of_cell["index"] != cell:
            continue
        for of_run in of_cell["run_values"]:
            if run is None or run in (of_run["repeat"], of_run["directory"]):
                yield of_cell, of_run


def _rows(path: Path) -> pa.Table | None:
    """The rows of a file, with null for what has no value; `None` where there is no file."""
    if not path.exists():
        return None
    with pa.input_stream(str(path), compression="zstd") as text:
        rows = pyarrow.json.read_json(text)
    columns = [_with_nulls(rows.column(name)) for name in rows.column_names]
    return pa.table(columns, names=rows.column_names)


def _with_nulls(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_integer(column.type):
        gap = pa.scalar(_NO_VALUE, column.type)
    elif pa.types.is_string(column.type):
        gap = pa.scalar("", column.type)
    else:
        return column
    return pc.if_else(pc.equal(column, gap), pa.scalar(None, column.type), column)


def _of_flow(rows: pa.Table, folder: Path, table: str, flow: int | None) -> pa.Table:
    """The rows with the number of their flow, where they are of a stream; those of `flow` alone, where one is asked for."""
    if "stream" not in rows.column_names:
        if flow is not None:
            raise Error(f"the table {table} is of the whole run: leave `flow` out")
        return rows
    streams = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["streams"]
    at = pc.index_in(rows["stream"], pa.array([stream["stream"] for stream in streams], pa.int64()))
    flows = pc.take(pa.array([stream["flow"] for stream in streams], pa.uint32()), at)
    rows = rows.add_column(0, pa.field("flow", pa.uint32()), flows)
    return rows if flow is None else rows.filter(pc.equal(flows, flow))


def _labelled(rows: pa.Table, cell: Report, run: Report) -> pa.Table:
    """The rows with the cell's axes, as text and as numbers, and the run's repetition and directory before them."""
    labels: list[tuple[str, Any, pa.DataType]] = [
        *((axis, value, pa.string()) for axis, value in cell["axes"].items()),
        *((name, value, pa.float64()) for name, value in cell["axis_numbers"].items()),
        ("cell", cell["index"], pa.uint32()),
        ("repeat", run["repeat"], pa.uint32()),
        ("directory", run["directory"], pa.string()),
        ("valid", not run["invalid"], pa.bool_()),
    ]
    columns = [pa.repeat(pa.scalar(value, kind), rows.num_rows) for _, value, kind in labels]
    names = [name for name, _, _ in labels]
    return pa.table([*columns, *rows.columns], names=[*names, *rows.column_names])

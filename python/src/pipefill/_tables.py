"""The report as Arrow tables, whose columns have the same types whatever was measured."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

Report = dict[str, Any]

_FRACTION = pa.map_(pa.string(), pa.float64())

#: What is measured of a run, and as a median of a cell. The names are those of `pipefill report --json`.
_MEASURED: list[tuple[str, pa.DataType]] = [
    *((name, pa.uint64()) for name in ("goodput_bps", "goodput_whole_bps", "sender_bps", "retransmits")),
    *((name, pa.uint64()) for name in ("min_rtt_us", "srtt_us_p50", "srtt_us_p95")),
    *((f"{name}_bytes_p50", pa.uint64()) for name in ("cwnd", "rwnd", "in_flight", "sndbuf", "wmem_queued")),
    *((name, pa.uint64()) for name in ("datagrams_sent", "datagrams_received", "duplicates", "reordered")),
    ("lost_percent", pa.float64()),
    ("jitter_ns", pa.uint64()),
    *((f"one_way_delay_{name}_ns", pa.int64()) for name in ("min", "p50", "p99")),
    ("fairness_index", pa.float64()),
    ("socket_drops", pa.uint64()),
]
_CELL: list[tuple[str, pa.DataType]] = [
    ("backend", pa.string()),
    ("runs", pa.uint32()),
    ("valid", pa.uint32()),
    ("goodput_bps_low", pa.uint64()),
    ("goodput_bps_high", pa.uint64()),
    *_MEASURED,
    ("limited_by", pa.string()),
    ("limited_fraction", _FRACTION),
    ("cause", pa.string()),
    ("cwnd_cause", pa.string()),
    ("predicted_bps", pa.uint64()),
    ("verdict", pa.string()),
    ("repeat_command", pa.string()),
]
_RUN: list[tuple[str, pa.DataType]] = [
    ("backend", pa.string()),
    ("directory", pa.string()),
    ("repeat", pa.uint32()),
    ("seed", pa.uint64()),
    ("valid", pa.bool_()),
    *_MEASURED,
]
_FLOW: list[tuple[str, pa.DataType]] = [
    ("flow", pa.uint32()),
    ("protocol", pa.string()),
    ("direction", pa.string()),
    ("streams", pa.uint32()),
    ("goodput_bps", pa.uint64()),
    ("limited_by", pa.string()),
    ("limited_fraction", _FRACTION),
    ("cause", pa.string()),
    ("cwnd_cause", pa.string()),
    ("idle_rtt_us", pa.uint64()),
    ("loaded_rtt_us_p50", pa.uint64()),
    ("loaded_rtt_us_p95", pa.uint64()),
    ("predicted_bps", pa.uint64()),
    ("verdict", pa.string()),
    ("advice", pa.list_(pa.string())),
]
_TIME: list[tuple[str, pa.DataType]] = [
    ("flow", pa.uint32()),
    ("direction", pa.string()),
    ("limited_by", pa.string()),
    ("cause", pa.string()),
    ("us", pa.uint64()),
    ("share", pa.float64()),
]

_QUEUE: list[tuple[str, pa.DataType]] = [
    ("direction", pa.string()),
    ("kind", pa.string()),
    *((name, pa.uint64()) for name in ("target_us", "packets", "dropped_packets", "overflow_packets", "marked_packets")),
    *((f"sojourn_us_{name}", pa.uint64()) for name in ("p50", "p95", "p99", "max")),
    *((name, pa.uint64()) for name in ("new_flows", "became_old", "collisions")),
]


def cells(report: Report) -> pa.Table:
    """A row for each cell."""
    return _table(_CELL, ((cell, cell) for cell in report["cells"]))


def runs(report: Report) -> pa.Table:
    """A row for each run."""
    of_cells = ((cell, run) for cell in report["cells"] for run in cell["run_values"])
    return _table(_RUN, ((cell, {**run, "valid": not run["invalid"]}) for cell, run in of_cells))


def verdicts(report: Report) -> pa.Table:
    """A row for each flow of each cell."""
    flows = ((cell, flow) for cell in report["cells"] for flow in cell["flows"])
    advised = ((cell, {**flow, "advice": _changes(flow["advice"])}) for cell, flow in flows)
    return _table(_FLOW, advised)


def time(report: Report) -> pa.Table:
    """A row for each holder of each flow's time, the longest first."""
    flows = ((cell, flow) for cell in report["cells"] for flow in cell["flows"])
    held = ((cell, flow, held) for cell, flow in flows for held in flow["time"] or ())
    return _table(_TIME, ((cell, {**held, **_name(flow)}) for cell, flow, held in held))


def queues(report: Report) -> pa.Table:
    """A row for each queue with a discipline of each cell."""
    disciplines = ((cell, discipline) for cell in report["cells"] for discipline in cell.get("aqm", ()))
    return _table(_QUEUE, ((cell, {**discipline, **(discipline["flow_queues"] or {})}) for cell, discipline in disciplines))


def _name(flow: dict[str, Any]) -> dict[str, Any]:
    return {"flow": flow["flow"], "direction": flow["direction"]}


def _changes(advice: list[dict[str, Any]] | None) -> list[str] | None:
    return None if advice is None else [one["change"] for one in advice]


def _table(columns: list[tuple[str, pa.DataType]], rows: Iterable[tuple[Report, Report]]) -> pa.Table:
    """A table of `rows`, each with its cell, whose axes are the first columns, as text and as numbers. An axis that a cell does not have is
    null."""
    rows = list(rows)
    axes = list(dict.fromkeys(axis for cell, _ in rows for axis in cell["axes"]))
    numbers = list(dict.fromkeys(name for cell, _ in rows for name in cell["axis_numbers"]))
    arrays = [pa.array([cell["axes"].get(axis) for cell, _ in rows], pa.string()) for axis in axes]
    arrays += [pa.array([cell["axis_numbers"].get(name) for cell, _ in rows], pa.float64()) for name in numbers]
    for name, kind in columns:
        values: Iterable[Any] = (row.get(name) for _, row in rows)
        if pa.types.is_map(kind):
            values = (None if value is None else list(value.items()) for value in values)
        arrays.append(pa.array(list(values), kind))
    return pa.table(arrays, names=axes + numbers + [name for name, _ in columns])

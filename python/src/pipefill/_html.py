"""An experiment in a notebook: a row for each cell, and its verdict."""

from __future__ import annotations

from html import escape
from typing import Any

#: Of a long matrix the first ones.
MOST_ROWS = 100


def table(report: dict[str, Any]) -> str:
    """A table. Whatever stands in a record is text in it."""
    cells = report["cells"]
    axes = list(dict.fromkeys(axis for cell in cells for axis in cell["axes"]))
    head = [*axes, "runs", "goodput", "limited by", "verdict"]
    rows = "".join(_row(cell, axes) for cell in cells[:MOST_ROWS])
    rest = len(cells) - MOST_ROWS
    more = f"<p>{rest} more cells are in <code>.cells</code></p>" if rest > 0 else ""
    return (
        f"<table><caption>{escape(str(report['experiment']))}</caption>"
        f"<thead><tr>{''.join(f'<th>{escape(name)}</th>' for name in head)}</tr></thead>"
        f"<tbody>{rows}</tbody></table>{more}"
    )


def _row(cell: dict[str, Any], axes: list[str]) -> str:
    runs = str(cell["runs"]) if cell["valid"] == cell["runs"] else f"{cell['valid']} of {cell['runs']} valid"
    texts = [*(cell["axes"].get(axis, "") for axis in axes), runs, rate(cell["goodput_bps"])]
    texts += [cell["limited_by"] or "", cell["verdict"] or ""]
    return f"<tr>{''.join(f'<td>{escape(str(text))}</td>' for text in texts)}</tr>"


def rate(bits_per_second: int | None) -> str:
    """Three digits and a unit, e.g. `33.7 Mbit/s`; nothing where it was not measured."""
    if bits_per_second is None:
        return ""
    value, prefix = float(bits_per_second), ""
    for larger in "kMGT":
        if value < 999.5:
            break
        value, prefix = value / 1000, larger
    digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:.{digits}f} {prefix}bit/s"

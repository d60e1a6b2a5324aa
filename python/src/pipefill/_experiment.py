"""An experiment: its directory, what the report says of it, and tables of that."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _html, _samples, _tables

if TYPE_CHECKING:
    import pyarrow


class Experiment:
    """What came out of a scenario. polars and pandas take its tables: `polars.from_arrow(experiment.cells)`,
    `experiment.cells.to_pandas()`."""

    #: Where the records are; `load` reads them again.
    directory: Path
    #: What `pipefill report --json` prints, schema 1.
    report: dict[str, Any]
    #: 0: done; 1: an expectation of the scenario failed; 4: a run was invalid.
    exit_code: int

    def __init__(self, directory: str, report: dict[str, Any], exit_code: int = 0) -> None:
        self.directory = Path(directory)
        self.report = report
        self.exit_code = exit_code

    @property
    def name(self) -> str:
        """The scenario's name."""
        name: str = self.report["experiment"]
        return name

    @property
    def ok(self) -> bool:
        """Whether every run is valid and every expectation holds."""
        return self.exit_code == 0

    @cached_property
    def cells(self) -> pyarrow.Table:
        """A row for each cell: its axes as text (`path.rtt`) and as numbers in SI base units (`path_rtt_s`), then medians over its valid
        runs. What was not measured is null."""
        return _tables.cells(self.report)

    @cached_property
    def runs(self) -> pyarrow.Table:
        """A row for each run: the axes of its cell, its repetition and seed, then its own figures."""
        return _tables.runs(self.report)

    @cached_property
    def verdicts(self) -> pyarrow.Table:
        """A row for each flow of each cell: what limited it, in a word and in a sentence, and the change that helps."""
        return _tables.verdicts(self.report)

    @cached_property
    def time(self) -> pyarrow.Table:
        """Where the time went: a row for each holder of each flow's time, the longest first. `us` of a flow add up to its `span_us`."""
        return _tables.time(self.report)

    @cached_property
    def queues(self) -> pyarrow.Table:
        """What the disciplines of the queues did (CoDel, PIE …): a row for each queue of each cell, medians over its valid runs. How they stood over
        time is `samples("aqm")`."""
        return _tables.queues(self.report)

    def samples(
        self,
        table: str = "tcp",
        *,
        cell: int | Mapping[str, str] | None = None,
        run: int | str | None = None,
        flow: int | None = None,
    ) -> pyarrow.Table:
        """The samples of the records: a row for each, in order of time within a run, with the axes of its cell, `cell`, `repeat`, `directory`
        and `valid` of its run, and `flow`, before the columns of the table. What was not measured is null.

        Args:
            table: a table of the records: `tcp` (samples of the sockets), `delivery`, `udp`, `ping`, `path`, `cpu`, `retransmits`, `packets`,
                `datagrams` or `aqm`.
            cell: the cell's number, from 0, or values of axes as the scenario has them: `{"path.rtt": "10ms"}`.
            run: the repetition, from 1, or the name of a run's directory.
            flow: the flow's number, from 0.

        Raises:
            Error: nothing is there for these, or the experiment keeps no samples (`records="summary"`).
        """
        return _samples.samples(self.directory, self.report, table, cell, run, flow)

    def __repr__(self) -> str:
        cells = len(self.report["cells"])
        runs = sum(cell["runs"] for cell in self.report["cells"])
        return f"<Experiment {self.name}: {cells} cells, {runs} runs, in {self.directory}>"

    def _repr_html_(self) -> str:
        return _html.table(self.report)

"""A laboratory for TCP and UDP throughput: what limits a transfer, and what lifts the limit.

    import pipefill

    experiment = pipefill.run("scenarios/window.toml")
    experiment.cells      # an Arrow table, a row for each cell
    experiment.runs       # the same, a row for each run
    experiment.verdicts   # the same, a row for each flow of a cell: what limited it, and what helps

The program `pipefill` comes with the package, and does the work: what its command line says is true here too.
"""

from ._errors import Error, Unsupported
from ._experiment import Experiment
from ._program import command, program, version
from ._run import explain, load, pcap, plan, run

__all__ = [
    "Error",
    "Experiment",
    "Unsupported",
    "__version__",
    "command",
    "explain",
    "load",
    "pcap",
    "plan",
    "program",
    "run",
    "version",
]

#: The program's version, read when it is asked for.
__version__: str


def __getattr__(name: str) -> str:
    if name == "__version__":
        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

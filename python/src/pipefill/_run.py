"""`run`, `load`, `plan`, `explain` and `pcap`: a function for a command."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from ._experiment import Experiment
from ._program import call, command
from ._scenario import Scenario, source, value


def run(
    scenario: Scenario,
    on: str = "sim",
    *,
    out: str | os.PathLike[str] | None = None,
    set: Mapping[str, object] | None = None,
    only: str | Iterable[str] = (),
    repeat: int | None = None,
    quick: bool = False,
    capture: bool = False,
    records: str | None = None,
    jobs: int | None = None,
    resume: bool = False,
) -> Experiment:
    """Runs `scenario` and returns what came out, as `pipefill run` does.

    Args:
        scenario: a file, the text of a scenario (it has more than one line), or its keys as a mapping.
        on: `sim`, the simulator, or `lab`, this machine's kernel.
        out: a new directory for the records. Without it: pipefill-runs/NAME, with a number if that exists.
        set: keys that are overridden, e.g. `{"path.rtt": ["10ms", "50ms"]}`; a list is an axis.
        only: cells that are run, e.g. `"path.rtt=10ms"`; of several, any value of an axis matches.
        repeat: runs of each cell.
        quick: the scenario's values for a short look.
        capture: packets are captured at both ends.
        records: `summary` keeps manifest and figures of each run in one file, `rows` (without it) every row.
        jobs: runs at the same time.
        resume: runs that have a valid record in `out` are not repeated.

    An expectation that failed and an invalid run are results: see `Experiment.exit_code`.

    Raises:
        Error: what the command would refuse, with the same text. `Unsupported` where this machine can't do it.
    """
    file, text = source(scenario)
    words = ["run", file, "--on", on, *_selection(set, only, repeat, quick), "--quiet", "--json"]
    words += ["--capture"] * capture + ["--resume"] * resume
    words += _option("--records", records) + _option("--jobs", jobs) + _option("--out", None if out is None else os.fspath(out))
    done = call(words, text)
    # The program says which directory it chose, where it had to choose.
    directory = os.fspath(out) if out is not None else done.stderr.strip().splitlines()[-1]
    return Experiment(directory, json.loads(done.stdout), done.returncode)


def load(directory: str | os.PathLike[str]) -> Experiment:
    """The experiment in `directory`, of which the records are read again, as `pipefill report` does.

    Raises:
        Error: there is none, or it is damaged.
    """
    done = call(["report", os.fspath(directory), "--json"])
    return Experiment(os.fspath(directory), json.loads(done.stdout), done.returncode)


def plan(
    scenario: Scenario,
    *,
    set: Mapping[str, object] | None = None,
    only: str | Iterable[str] = (),
    repeat: int | None = None,
    quick: bool = False,
) -> dict[str, Any]:
    """Every run of `scenario`, as `pipefill plan --json` prints it; nothing is run.

    Raises:
        Error: what the command would refuse.
    """
    file, text = source(scenario)
    printed = command("plan", file, *_selection(set, only, repeat, quick), "--json", input=text)
    document: dict[str, Any] = json.loads(printed)
    return document


def explain(source: str | os.PathLike[str]) -> dict[str, Any]:
    """What limited the connections of another program's output, the flows of a capture, or the cells of records, as `pipefill explain --json` prints it.

    Args:
        source: a file or a directory; or the text that iperf3, iperf or ss printed (it has more than one line).

    Raises:
        Error: what the command would refuse.
    """
    is_text = isinstance(source, str) and "\n" in source.strip()
    words = ["explain", "-" if is_text else os.fspath(source), "--json"]
    document: dict[str, Any] = json.loads(command(*words, input=os.fspath(source) if is_text else None))
    return document


def pcap(file: str | os.PathLike[str]) -> dict[str, Any]:
    """The flows of a capture and what limited each, as `pipefill pcap --json` prints them.

    Raises:
        Error: what the command would refuse.
    """
    document: dict[str, Any] = json.loads(command("pcap", os.fspath(file), "--json"))
    return document


def _selection(
    assignments: Mapping[str, object] | None, only: str | Iterable[str], repeat: int | None, quick: bool
) -> list[str]:
    words: list[str] = []
    for key, item in (assignments or {}).items():
        words += ["--set", f"{key}={item if isinstance(item, str) else value(item)}"]
    for term in [only] if isinstance(only, str) else only:
        words += ["--only", term]
    return words + _option("--repeat", repeat) + ["--quick"] * quick


def _option(name: str, given: object) -> list[str]:
    return [] if given is None else [name, str(given)]

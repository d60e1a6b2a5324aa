"""The engine ray of `pipefill sweep`: a Ray task for each shard.

`python -m pipefill.ray` reads tasks as JSON on standard input and prints a line of JSON for each that has ended. Where they run, how many at
once, and what becomes of a task whose worker dies, is Ray's business. Not imported by the package: `pip install 'pipefill[ray]'`.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, TypedDict

import ray

from ._program import program


class Task(TypedDict):
    """A shard: its number from 1, and the words after `pipefill`."""

    shard: int
    words: list[str]


class Tasks(TypedDict):
    """What is read on standard input; `parent` is who writes it."""

    parent: int
    cpus: int
    retries: int
    tasks: list[Task]


class Again(Exception):
    """A run was invalid, or the program was ended by a signal: worth another try."""


def perform(words: list[str]) -> int:
    """Runs `pipefill WORDS` here, with the program of this worker. Its exit code, where another try is of no use.

    Raises:
        Again: for Ray, which tries again.
    """
    code = subprocess.run([program(), *words], preexec_fn=_end_with_worker).returncode
    if code == 4 or code < 0:
        raise Again(f"exit code {code}")
    return code


def run(tasks: Tasks) -> Iterator[tuple[int, int | None, str | None]]:
    """Each shard as it ends: its number, its exit code, and what Ray says where it has none."""
    if not ray.is_initialized():
        # A cluster that RAY_ADDRESS names has its own settings. Tasks give nothing back but a number.
        own = {} if os.environ.get("RAY_ADDRESS") else {"include_dashboard": False, "object_store_memory": 100 * 2**20}
        ray.init(**own)
    wrap: Any = ray.remote(num_cpus=tasks["cpus"], max_retries=tasks["retries"], retry_exceptions=[Again])
    remote = wrap(perform)
    shards = {remote.options(name=f"shard {task['shard']}").remote(task["words"]): task["shard"] for task in tasks["tasks"]}
    while shards:
        (ended,), _ = ray.wait(list(shards), num_returns=1)
        shard = shards.pop(ended)
        try:
            yield shard, ray.get(ended), None
        except ray.exceptions.RayError as error:
            yield shard, None, str(error).strip().splitlines()[-1]


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
    _end_with_parent(signal.SIGTERM)
    tasks: Tasks = json.load(sys.stdin)
    if os.getppid() != tasks["parent"]:
        return 2
    failed = 0
    for shard, code, why in run(tasks):
        print(json.dumps({"shard": shard, "exit_code": code, "error": why}), flush=True)
        failed += code not in (0, 1)
    return 2 if failed else 0


def _end_with_worker() -> None:
    """Ends the program when its worker dies, at once: the next try has to find nobody at work."""
    _end_with_parent(signal.SIGKILL)


def _end_with_parent(by: signal.Signals) -> None:
    """This process gets the signal when its parent has ended, in whatever way (prctl(2), PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, by)


if __name__ == "__main__":
    # The module by its own name: workers find what it defines there.
    from pipefill import ray as module

    sys.exit(module.main())

"""The program `pipefill`: where it is, and how it is called."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from ._errors import Error, refused

#: The environment variable that names another program, for those who build their own.
VARIABLE = "PIPEFILL"


def program() -> str:
    """The path of the program: that of the variable PIPEFILL, of this package, or of PATH, in this order.

    Raises:
        Error: there is none.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return named
    for folder in _folders():
        candidate = Path(folder, "pipefill")
        if os.access(candidate, os.X_OK):
            return str(candidate)
    found = shutil.which("pipefill")
    if found is None:
        raise Error("there is no program pipefill: install the wheel again, or name it in the variable PIPEFILL")
    return found


@cache
def version() -> str:
    """The program's version, e.g. `0.1.0`."""
    return command("--version").split()[-1]


def command(*words: str | os.PathLike[str], input: str | None = None) -> str:
    """What `pipefill WORDS...` prints on standard output.

    Raises:
        Error: its exit code is neither 0, nor 1 or 4, which are results.
    """
    return call(words, input).stdout


def call(words: Iterable[str | os.PathLike[str]], input: str | None = None) -> subprocess.CompletedProcess[str]:
    """The same with the exit code and with what it said on standard error. Ctrl-C stops the program as it does in a terminal."""
    # Killed with SIGKILL, Python leaves no program at work.
    line = [program(), "--ends-with", str(os.getpid()), *(os.fspath(word) for word in words)]
    standard_input = subprocess.PIPE if input is not None else subprocess.DEVNULL
    with subprocess.Popen(
        line, stdin=standard_input, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        try:
            output, said = process.communicate(input)
        except BaseException:
            # It tidies up by itself, and gets the time for it.
            process.terminate()
            process.wait()
            raise
    if process.returncode not in (0, 1, 4):
        raise refused(said, process.returncode)
    return subprocess.CompletedProcess(line, process.returncode, output, said)


def _folders() -> Iterator[str]:
    """Where pip puts programs: of this environment, of the user, and beside the package (`pip install --target`)."""
    yield sysconfig.get_path("scripts")
    yield sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user"))
    yield str(Path(__file__).resolve().parent.parent / "bin")
    yield str(Path(sys.prefix, "bin"))

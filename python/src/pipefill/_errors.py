"""What the program refuses, as exceptions with the program's own text."""

from __future__ import annotations


class Error(Exception):
    """The command is wrong, or a file, or pipefill itself: exit code 2. The text is what the program printed."""

    exit_code: int

    def __init__(self, text: str, exit_code: int = 2) -> None:
        super().__init__(text)
        self.exit_code = exit_code


class Unsupported(Error):
    """This machine can't do it: exit code 3. The text names the reason and the remedy."""


def refused(text: str, exit_code: int) -> Error:
    """The exception for a process that ended with `exit_code`. A negative one is a signal, as `subprocess` has it."""
    if exit_code < 0:
        text = text or f"pipefill was ended by signal {-exit_code}"
    kind = Unsupported if exit_code == 3 else Error
    return kind(text.strip() or f"pipefill ended with exit code {exit_code}", exit_code)

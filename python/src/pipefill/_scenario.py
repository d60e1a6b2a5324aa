"""A scenario as the program reads it: a file, its text, or a mapping that is written as TOML."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Union

#: A path, the text of a scenario (with a line break in it), or its keys as a mapping.
Scenario = Union[str, "os.PathLike[str]", Mapping[str, object]]


def source(scenario: Scenario) -> tuple[str, str | None]:
    """The word for the command line, and the text for standard input where the word is `-`."""
    if isinstance(scenario, Mapping):
        return "-", toml(scenario)
    if isinstance(scenario, str) and "\n" in scenario:
        return "-", scenario
    # A file may be called `-x` or `-`.
    path = os.fspath(scenario)
    return (str(Path(".", path)) if not path.startswith("-") else f"./{path}"), None


def toml(scenario: Mapping[str, object]) -> str:
    """`scenario` as TOML, one key a line."""
    return "".join(f"{_key(key)} = {value(item)}\n" for key, item in scenario.items())


def value(item: object) -> str:
    """One value as TOML has it in a line; this is what `--set KEY=` takes too.

    Raises:
        TypeError: a scenario has no such value.
    """
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, (int, float)):
        return repr(item)
    if isinstance(item, str):
        return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(item, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {value(one)}" for key, one in item.items()) + " }"
    if isinstance(item, Sequence):
        return "[" + ", ".join(value(one) for one in item) + "]"
    raise TypeError(f"a scenario has no value such as {item!r}: write a text with its unit, a number, a list or a mapping")


def _key(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)

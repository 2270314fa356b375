"""Small programs that prove both sides of each condition of the table, one file per area.

A probe prepares its inputs, untimed, and makes the call to measure. Which operation it calls, with which arguments,
is observed while it runs, not written down.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

from syncwatch.facts.measure.witness import Action, Maker

Program = tuple[str, Maker]


def probe(name: str, setup: Callable[[], Any], act: Callable[..., Any]) -> Program:
    """`setup` returns the inputs of `act`: one value, or a tuple of them."""

    def make() -> Action:
        inputs = setup()
        arguments = inputs if isinstance(inputs, tuple) else (inputs,)
        return lambda: act(*arguments)

    return name, make


# In this order, with torch's own test inputs before those of LATE, which call other libraries and process groups.
EARLY = """
reads transfers copies indexing shapes linalg cuda_api training nn distributions silent conditions practice serving
remainder names chances library field
"""
LATE = "vision audio ranks"


def areas(device: str, names: str = EARLY + LATE) -> Iterator[tuple[str, list[Program]]]:
    """(area, programs) of the files here that `names` names."""
    for name in names.split():
        module = importlib.import_module(f"{__name__}.{name}")
        yield name, list(module.programs(device))

"""Small programs that prove both sides of each condition of the table, one file per area.

A probe prepares its inputs, untimed, and makes the call to measure. Which operation it calls, with which arguments,
is observed while it runs, not written down.
"""

from __future__ import annotations

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


def areas(device: str) -> Iterator[tuple[str, list[Program]]]:
    """(area, programs) of every file here."""
    from syncwatch.facts.measure.probes import (
        conditions,
        cuda_api,
        distributions,
        indexing,
        linalg,
        nn,
        practice,
        reads,
        remainder,
        serving,
        shapes,
        silent,
        training,
        transfers,
    )

    for module in (
        reads,
        transfers,
        indexing,
        shapes,
        linalg,
        cuda_api,
        training,
        nn,
        distributions,
        silent,
        conditions,
        practice,
        serving,
        remainder,
    ):
        yield module.__name__.rpartition(".")[2], list(module.programs(device))

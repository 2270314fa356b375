"""The hand-written rows of the table, one file per area."""

from __future__ import annotations

from collections.abc import Iterator

from syncwatch.facts.table import Fact


def areas() -> Iterator[tuple[Fact, ...]]:
    """The rows, area by area."""
    from syncwatch.facts.ops import (
        distributed,
        distributions,
        indexing,
        leaves,
        library,
        nn,
        reads,
        shapes,
        solvers,
        sparse,
        states,
        training,
        transfers,
        vision,
        waits,
    )

    for module in (
        reads,
        transfers,
        states,
        indexing,
        shapes,
        waits,
        solvers,
        training,
        nn,
        distributions,
        distributed,
        sparse,
        library,
        vision,
        leaves,
    ):
        yield module.FACTS

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
        nn,
        reads,
        shapes,
        solvers,
        sparse,
        training,
        transfers,
        waits,
    )

    for module in (
        reads,
        transfers,
        indexing,
        shapes,
        waits,
        solvers,
        training,
        nn,
        distributions,
        distributed,
        sparse,
        leaves,
    ):
        yield module.FACTS

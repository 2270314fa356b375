"""Counts, by site. A session and the report of a watch each keep one ledger."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from syncwatch.model import Kind, SiteCount, Totals
from syncwatch.runtime.frames import Place

FIRST_STEPS = 1  # what happens before the end of the first step is set-up and warm-up: it is shown apart


@dataclass(slots=True)
class Tally:
    """What happened at one site, for one operation."""

    place: Place
    kind: Kind
    op: str
    explicit: bool
    reason: str | None  # of the `allow` region; None where the wait counts
    via: str = "call"
    code: object = None  # kept, since its identity is part of the key
    count: int = 0
    waited_ms: float = 0.0
    untimed: int = 0
    first: int = 0  # of `count`, before the end of the first step
    tail: int = 0  # of `count`, since step number `step` ended
    step: int = 0


class Ledger:
    """Tallies of one session or one watch. Not locked: the recorder adds under its own lock."""

    def __init__(self) -> None:
        self.tallies: dict[object, Tally] = {}
        self.steps = 0
        self.limits: list[str] = []

    def add(self, tally: Tally, waits: int, wait_ms: float | None) -> None:
        """Counts `waits` more waits, `wait_ms` long together."""
        tally.count += waits
        if wait_ms is None:
            tally.untimed += waits
        else:
            tally.waited_ms += wait_ms
        if self.steps < FIRST_STEPS:
            tally.first += waits
        if tally.step != self.steps:
            tally.step, tally.tail = self.steps, 0
        tally.tail += waits

    def step_ended(self) -> None:
        """One more step lies behind."""
        self.steps += 1

    def forget_steps(self) -> None:
        """Starts to count steps anew: everything so far was before the first step."""
        self.steps = 0
        for tally in self.tallies.values():
            tally.first, tally.step, tally.tail = tally.count, 0, tally.count

    def limit(self, sentence: str) -> None:
        """Keeps a sentence that limits what the numbers mean, once."""
        if sentence not in self.limits:
            self.limits.append(sentence)

    def in_steps(self, tally: Tally) -> int:
        """How many of the tally's waits happened after the first step and before the end of the last one."""
        if self.steps <= FIRST_STEPS:
            return 0
        return tally.count - tally.first - (tally.tail if tally.step == self.steps else 0)

    def sites(self) -> list[SiteCount]:
        """The sites, most waits first; those that are allowed come last."""
        groups: dict[object, list[Tally]] = {}
        for tally in list(self.tallies.values()):
            place = tally.place
            key = (
                place.path,
                place.line,
                place.function,
                tally.kind,
                tally.op,
                tally.explicit,
                tally.reason,
                tally.via,
            )
            groups.setdefault(key, []).append(tally)
        rows = [self._row(group) for group in groups.values()]
        rows.sort(key=lambda row: (row.allowed, -row.count, row.path, row.line, row.op))
        return rows

    def _row(self, group: list[Tally]) -> SiteCount:
        """One site: the tallies of one line and one operation."""
        first = group[0]
        untimed = sum(tally.untimed for tally in group)
        return SiteCount(
            path=first.place.path,
            line=first.place.line,
            function=first.place.function,
            kind=first.kind,
            op=first.op,
            count=sum(tally.count for tally in group),
            # a sum of which a part is missing would look like the whole
            wait_ms=None if untimed else round(sum(tally.waited_ms for tally in group), 4),
            allowed=first.reason is not None,
            reason=first.reason or "",
            explicit=first.explicit,
            in_steps=sum(self.in_steps(tally) for tally in group),
            stack=first.place.stack,
            via=first.via,
        )

    def totals(self) -> Totals:
        """Sums for the whole run, as the session file holds them."""
        return totals_of(self.sites(), self.steps)


def totals_of(sites: Iterable[SiteCount], steps: int) -> Totals:
    """Sums over sites, of a run of `steps` steps."""
    rows = list(sites)
    counted = [row for row in rows if not row.allowed]
    by_kind: dict[str, int] = {}
    for row in counted:
        by_kind[row.kind.value] = by_kind.get(row.kind.value, 0) + row.count
    steady = steps - FIRST_STEPS
    return Totals(
        count=sum(row.count for row in counted),
        explicit=sum(row.count for row in counted if row.explicit),
        implicit=sum(row.count for row in counted if not row.explicit),
        allowed=sum(row.count for row in rows if row.allowed),
        wait_ms=round(sum(row.wait_ms or 0.0 for row in counted), 4),
        untimed=sum(row.count for row in counted if row.wait_ms is None),
        by_kind=dict(sorted(by_kind.items())),
        per_step=round(sum(row.in_steps for row in counted) / steady, 4) if steady > 0 else None,
    )

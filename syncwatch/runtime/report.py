"""What a watch saw: `Report`, and the exception that a breach of its budget raises."""

from __future__ import annotations

import linecache
import os
from typing import Literal

from syncwatch.model import Session, SiteCount, Totals, to_json
from syncwatch.runtime.advice import remedy
from syncwatch.runtime.ledger import Ledger, totals_of
from syncwatch.runtime.recorder import RECORDER

Counting = Literal["all", "implicit"]


class Report:
    """What happened while a watch was open. It can be read at any time; it is complete when the watch has closed.

    Waits inside `allow` regions are in `allowed`, everything else is in `sites`.
    """

    def __init__(self, name: str = "", count: Counting = "all") -> None:
        self.name = name
        self.counting: Counting = count
        self.calls = 0
        self._ledger = Ledger()

    @property
    def sites(self) -> list[SiteCount]:
        """The sites where the host waited, most waits first, without those that were allowed."""
        return [row for row in self._ledger.sites() if not row.allowed]

    @property
    def allowed(self) -> list[SiteCount]:
        """The sites inside `allow` regions, with their reasons."""
        return [row for row in self._ledger.sites() if row.allowed]

    @property
    def count(self) -> int:
        """How often the host waited; with `count="implicit"` without the waits that the code asks for."""
        return sum(row.count for row in self.budgeted())

    def budgeted(self) -> list[SiteCount]:
        """The sites that count towards `max_syncs`."""
        return [row for row in self.sites if self.counting == "all" or not row.explicit]

    @property
    def wait_ms(self) -> float:
        """How long the host waited, in milliseconds: the sum of what could be timed."""
        return float(sum(row.wait_ms or 0.0 for row in self.sites))

    @property
    def steps(self) -> int:
        """Steps seen: calls of a decorated function, or optimizer steps inside a block."""
        return self._ledger.steps

    @property
    def limits(self) -> list[str]:
        """Sentences that limit what the numbers mean."""
        return list(self._ledger.limits)

    @property
    def totals(self) -> Totals:
        """Sums, as the session file holds them."""
        return totals_of(self._ledger.sites(), self._ledger.steps)

    def session(self) -> Session:
        """The same as a session, as `syncwatch run` writes it."""
        from syncwatch.runtime.session import session_of

        return session_of(self._ledger, command=[self.name] if self.name else [])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a session file, for `syncwatch report` and `syncwatch diff`."""
        with open(path, "wb") as file:
            file.write(to_json(self.session()))

    def lines(self) -> list[str]:
        """The sites as text: place, kind, count and source line, and beneath it what to write instead."""
        return [line for row in self.budgeted() for line in site_lines(row, RECORDER.frames.root)]

    def __str__(self) -> str:
        head = f"{self.name}: " if self.name else ""
        return "\n".join([f"{head}{syncs(self.count)}", *self.lines()])

    def __repr__(self) -> str:
        return f"<syncwatch.Report {self.name!r}: {syncs(self.count)}, {len(self.sites)} sites>"


def syncs(count: int) -> str:
    """`3 syncs`, `1 sync`."""
    return f"{count} sync" if count == 1 else f"{count} syncs"


def site_lines(row: SiteCount, root: str) -> list[str]:
    """One site as indented lines of text."""
    function = f" in {row.function}" if row.function else ""
    rule = f" {row.rule}" if row.rule else ""
    lines = [f"  {row.path}:{row.line}{function}: {row.count} × {row.kind.value}{rule} ({row.op})"]
    source = linecache.getline(os.path.join(root, row.path), row.line).strip()
    if source:
        lines.append(f"      {source}")
    advice = remedy(row.op, row.kind)
    if advice:
        lines.append(f"      instead: {advice}")
    return lines


class SyncBudgetExceeded(AssertionError):
    """A watched stretch of code made the host wait more often than its `max_syncs` allows.

    `report` holds the sites; the message lists each with its source line, kind, count and remedy.
    """

    def __init__(self, report: Report, max_syncs: int) -> None:
        self.report = report
        self.max_syncs = max_syncs
        super().__init__(breach(report, max_syncs))


def breach(report: Report, max_syncs: int) -> str:
    """The text that a breach of the budget raises or warns."""
    what = "implicit " if report.counting == "implicit" else ""
    name = report.name or "this block"
    head = f"{name} made the host wait for the device: {what}{syncs(report.count)}, at most {max_syncs} allowed"
    tail = 'If one is meant, put it inside `with syncwatch.allow("why"):`.'
    return "\n".join([head, *report.lines(), tail])

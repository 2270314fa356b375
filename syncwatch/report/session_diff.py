"""Two sessions compared, site by site. Sites that have moved to another line are found again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest
from typing import IO

from syncwatch.model import Session, SiteCount
from syncwatch.report.console import WIDTH, line_console, placed, styled, width_of, wrapped
from syncwatch.report.session_text import count, per_step, short_op, timed, waited

_Key = tuple[str, str, str, str]
_Number = tuple[int, float]  # a line, and its syncs


@dataclass(frozen=True)
class Change:
    """One operation of one function before and after: syncs per step where both runs have steps, else in all."""

    path: str
    function: str
    op: str
    kind: str
    line: int
    before: float
    after: float


def compare(old: Session, new: Session) -> list[Change]:
    """The changes, the largest growth first.

    Sites are matched by file, function, kind and operation; of several that agree in these, by line, then by how
    often they wait, then in order. What has no counterpart is a change from or to 0.
    """
    per = both_have_steps(old, new)
    before, after = _sites(old, per), _sites(new, per)
    changes = []
    for key in {**before, **after}:
        path, function, kind, op = key
        for was, is_now in _pairs(before.get(key, {}), after.get(key, {})):
            if was[1] != is_now[1]:
                changes.append(Change(path, function, op, kind, is_now[0] or was[0], was[1], is_now[1]))
    return sorted(changes, key=lambda change: (change.before - change.after, change.path, change.line))


def _pairs(before: dict[int, float], after: dict[int, float]) -> Iterable[tuple[_Number, _Number]]:
    """Matches sites of one operation: (line, syncs) before and after, (0, 0.0) where there is none."""
    old = sorted(item for item in before.items() if item[0] not in after)
    new = sorted(item for item in after.items() if item[0] not in before)
    for line in sorted(before.keys() & after.keys()):
        yield (line, before[line]), (line, after[line])
    for one in list(old):
        same = next((other for other in new if other[1] == one[1]), None)
        if same is not None:
            old.remove(one)
            new.remove(same)
            yield one, same
    yield from zip_longest(old, new, fillvalue=(0, 0.0))


def both_have_steps(old: Session, new: Session) -> bool:
    """Whether the two can be compared step by step."""
    return old.totals.get("per_step") is not None and new.totals.get("per_step") is not None


def _sites(session: Session, per: bool) -> dict[_Key, dict[int, float]]:
    """Syncs of each line, by what the line is matched by."""
    sites: dict[_Key, dict[int, float]] = {}
    for site in session.sites:
        number = site.in_steps / (session.steps - 1) if per else float(site.count)
        if number and not site.allowed:
            lines = sites.setdefault((site.path, site.function, site.kind.value, site.op), {})
            lines[site.line] = round(lines.get(site.line, 0.0) + number, 4)
    return sites


def grown(old: Session, new: Session) -> bool:
    """Whether the new run waits more often."""
    return total(new, both_have_steps(old, new)) > total(old, both_have_steps(old, new))


def total(session: Session, per: bool) -> float:
    """Syncs per step, or in all."""
    found = session.totals.get("per_step") if per else session.totals.get("count")
    return float(found or 0)


def print_diff(old: Session, new: Session, file: IO[str] | None = None) -> None:
    """Prints the comparison."""
    console = line_console(file)
    for text, style in _lines(old, new, width_of(file)):
        console.print(styled(text, style), highlight=False)


def _lines(old: Session, new: Session, width: int = WIDTH) -> Iterable[tuple[str, str]]:
    per = both_have_steps(old, new)
    unit = " a step" if per else ""
    was, is_now = total(old, per), total(new, per)
    word = "as many as" if was == is_now else ("more than" if is_now > was else "fewer than")
    yield f"{per_step(was)} → {per_step(is_now)} syncs{unit}: {word} before", "bold"
    if timed(old) or timed(new):
        yield f"waited {waited(old)} → {waited(new)} in all", "dim"
    if old.device != new.device:
        for line in wrapped("note: ", f"the first ran on {old.device}, the second on {new.device}", width):
            yield line.plain, "yellow"
    for change in compare(old, new):
        style = "red" if change.after > change.before else "green"
        yield f"{per_step(change.before):>8} → {per_step(change.after):<8} {change.kind}  {short_op(change.op)}", style
        place = [f"{change.path}:{change.line}", *([f"in {change.function}"] if change.function else [])]
        yield from ((line, "") for line in placed(20, place, width))
    if not compare(old, new):
        yield count(len(_counted(new)), "site") + ", none changed", ""


def _counted(session: Session) -> list[SiteCount]:
    return [site for site in session.sites if not site.allowed]

"""Two sessions compared, site by site. Sites that have moved to another line are found again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO

from syncwatch.model import Session, SiteCount
from syncwatch.report.session_text import count, duration, make_console, per_step, short_op, styled

_Key = tuple[str, str, str, str]


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
    """The changes, the largest growth first. Sites are matched by file, function, kind and operation."""
    per = both_have_steps(old, new)
    before, after = _sums(old, per), _sums(new, per)
    changes = []
    for key in {**before, **after}:
        path, function, kind, op = key
        was, is_now = before.get(key, (0.0, 0)), after.get(key, (0.0, 0))
        if was[0] != is_now[0]:
            changes.append(Change(path, function, op, kind, is_now[1] or was[1], was[0], is_now[0]))
    return sorted(changes, key=lambda change: (change.before - change.after, change.path, change.line))


def both_have_steps(old: Session, new: Session) -> bool:
    """Whether the two can be compared step by step."""
    return old.totals.get("per_step") is not None and new.totals.get("per_step") is not None


def _sums(session: Session, per: bool) -> dict[_Key, tuple[float, int]]:
    sums: dict[_Key, tuple[float, int]] = {}
    for site in session.sites:
        if site.allowed:
            continue
        number = site.in_steps / (session.steps - 1) if per else float(site.count)
        key = (site.path, site.function, site.kind.value, site.op)
        known = sums.get(key, (0.0, site.line))
        sums[key] = (round(known[0] + number, 4), min(known[1], site.line))
    return {key: value for key, value in sums.items() if value[0]}


def grown(old: Session, new: Session) -> bool:
    """Whether the new run waits more often."""
    return total(new, both_have_steps(old, new)) > total(old, both_have_steps(old, new))


def total(session: Session, per: bool) -> float:
    """Syncs per step, or in all."""
    return float(session.totals["per_step"] if per else session.totals.get("count", 0))


def print_diff(old: Session, new: Session, file: IO[str] | None = None) -> None:
    """Prints the comparison."""
    console = make_console(file)
    for text, style in _lines(old, new):
        console.print(styled(text, style), highlight=False)


def _lines(old: Session, new: Session) -> Iterable[tuple[str, str]]:
    per = both_have_steps(old, new)
    unit = " a step" if per else ""
    was, is_now = total(old, per), total(new, per)
    word = "as many" if was == is_now else ("more" if is_now > was else "fewer")
    yield f"{per_step(was)} → {per_step(is_now)} syncs{unit}: {word} than before", "bold"
    yield f"waited {duration(old.totals.get('wait_ms'))} → {duration(new.totals.get('wait_ms'))} in all", "dim"
    if old.device != new.device:
        yield f"note: the first ran on {old.device}, the second on {new.device}", "yellow"
    for change in compare(old, new):
        place = f"{change.path}:{change.line}" + (f" in {change.function}" if change.function else "")
        style = "red" if change.after > change.before else "green"
        yield f"{per_step(change.before):>8} → {per_step(change.after):<8} {change.kind}  {short_op(change.op)}", style
        yield f"{'':>20}{place}", ""
    if not compare(old, new):
        yield count(len(_counted(new)), "site") + ", none changed", ""


def _counted(session: Session) -> list[SiteCount]:
    return [site for site in session.sites if not site.allowed]

"""A recorded session for people: the sums, the sites with their lines, and what to do next. Legible at 80 columns."""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterable, Sequence
from typing import IO, TYPE_CHECKING

from syncwatch.model import Session, SiteCount
from syncwatch.report.console import WIDTH, clipped, line_console, placed, styled, width_of, wrapped

if TYPE_CHECKING:
    from rich.text import Text

SHOWN = 20  # sites in full; the rest is summed up in a line
_FIRST_STEPS = 1
_INDENT = 23  # of what belongs to a site: below its kind
_LEFT = 13  # of what belongs to an allowed one


def print_session(session: Session, file: IO[str] | None = None, root: str | None = None, limit: int = SHOWN) -> None:
    """Prints one session. `root` is the folder that its paths are relative to, by default the current one."""
    console = line_console(file)
    for line in lines(session, root or os.getcwd(), limit, width_of(file)):
        console.print(line, highlight=False, markup=False)


def print_ranks(sessions: Sequence[Session], file: IO[str] | None = None) -> None:
    """Prints the sums of each rank of one run."""
    console = line_console(file)
    for line in wrapped("", f"{len(sessions)} ranks of {command_line(sessions[0])}", width_of(file), "bold"):
        console.print(line, highlight=False)
    console.print(f"{'rank':>6} {'syncs':>8} {'per step':>9} {'waited':>11}", highlight=False)
    for session in sessions:
        totals = session.totals
        row = (
            f"{session.rank:>6} {totals.get('count', 0):>8} {per_step(totals.get('per_step')):>9} {waited(session):>11}"
        )
        console.print(row, highlight=False)


def lines(session: Session, root: str, limit: int = SHOWN, width: int = WIDTH) -> Iterable[Text | str]:
    """The report, line by line. `width`: the columns that lines keep to; only a place may be longer."""
    totals = session.totals
    counted = [site for site in session.sites if not site.allowed]
    yield ""
    yield from wrapped("", headline(session), width, "bold green" if not totals.get("count") else "bold")
    yield from wrapped("", machine(session), width, "dim")
    steady = session.steps - _FIRST_STEPS
    if steady > 0:
        in_steps = sum(site.in_steps for site in counted)
        yield from wrapped(
            "",
            f"syncs per step: {per_step(totals.get('per_step'))}, the mean of {count(steady, 'step')}; "
            f"outside them: {totals.get('count', 0) - in_steps}",
            width,
        )
    elif session.steps == 0 and counted:
        yield "no optimizer step was seen: counts are for the whole run"
    if counted:
        yield ""
        order = sorted(counted, key=lambda site: (-site.in_steps, -site.count, site.path, site.line))
        for site in order[:limit]:
            yield from site_lines(site, root, steady, width)
        if len(order) > limit:
            rest = sum(site.count for site in order[limit:])
            yield styled(f"  and {count(len(order) - limit, 'more site')} with {count(rest, 'sync')}", "dim")
    yield from hidden(counted)
    yield from allowed(session, width)
    yield from notes(session, counted, width)


def waited(session: Session) -> str:
    """How long the host waited in all, `-` where nothing could be timed."""
    silent = not session.totals.get("count") and session.device != "emulated"
    return duration(session.totals.get("wait_ms") if timed(session) or silent else None)


def timed(session: Session) -> bool:
    """Whether any wait could be timed: on an emulated device none can."""
    return bool(session.totals.get("untimed", 0) < session.totals.get("count", 0))


def headline(session: Session) -> str:
    """`12 syncs in 4 steps (8 explicit, 4 implicit); the host waited 61.4 ms`."""
    totals = session.totals
    number = int(totals.get("count", 0))
    steps = f" in {count(session.steps, 'step')}" if session.steps else ""
    if not number:
        return f"no syncs{steps}"
    untimed = int(totals.get("untimed", 0))
    waited = f"; the host waited {duration(totals.get('wait_ms'))}" if untimed < number else ""
    return (
        f"{count(number, 'sync')}{steps} ({totals.get('explicit', 0)} explicit, {totals.get('implicit', 0)} implicit)"
        f"{waited}"
    )


def machine(session: Session) -> str:
    """Where it ran: device, torch, command, rank."""
    device = session.device_name or session.device
    if session.device == "emulated":
        device = "emulated GPU"
    rank = f", rank {session.rank} of {session.world_size}" if session.world_size > 1 else ""
    return f"{device}, torch {session.torch}{rank}: {command_line(session)}"


def command_line(session: Session) -> str:
    """What was run."""
    import shlex

    return shlex.join(session.command) if session.command else "a watch"


def site_lines(site: SiteCount, root: str, steady: int, width: int = WIDTH) -> Iterable[Text | str]:
    """A site: how often, how long, kind and place; its source line; where inside a library; the line of the forward."""
    often = f"{per_step(site.in_steps / steady)}/step" if steady > 0 and site.in_steps else f"{site.count}×"
    rule = f" {site.rule}" if site.rule else ""
    head = f"{often:>10} {duration(site.wait_ms):>10}  {site.kind.value}{rule}"
    op = short_op(site.op)
    if len(head) + 2 + len(op) <= width:
        yield styled(f"{head}  {op}", "bold")
    else:
        yield styled(head, "bold")
        yield from (styled(line, "bold") for line in placed(_INDENT, [op], width))
    yield from placed(_INDENT, place(site), width)
    source = linecache.getline(os.path.join(root, site.path), site.line).strip()
    if source:
        yield styled(f"{'':>{_INDENT}}  {clipped(source, max(20, width - _INDENT - 2))}", "cyan")
    library = library_frame(site)
    if library:
        yield from placed(_INDENT, f"inside {library}".rsplit(" ", 1), width)
    forward = next((entry for entry in site.stack if entry.endswith(_FORWARD)), None)
    if forward is not None:
        yield from placed(_INDENT, ["of the forward pass at", forward.removesuffix(_FORWARD)], width)


_FORWARD = " (forward)"


def place(site: SiteCount) -> list[str]:
    """`train.py:9`, and `in step` where there is a function."""
    return [f"{site.path}:{site.line}", *([f"in {site.function}"] if site.function else [])]


def hidden(sites: Sequence[SiteCount]) -> Iterable[Text | str]:
    """What happens inside libraries, by library."""
    sums: dict[str, int] = {}
    for site in sites:
        frame = library_frame(site)
        if frame:
            name = frame.replace(":", "/").split("/")[0]
            sums[name] = sums.get(name, 0) + site.count
    if sums:
        yield ""
        yield styled("Inside libraries", "bold")
        for name, number in sorted(sums.items(), key=lambda pair: -pair[1]):
            yield f"{number:>10}× {name}"


def allowed(session: Session, width: int = WIDTH) -> Iterable[Text | str]:
    """What was allowed, and why."""
    rows = [site for site in session.sites if site.allowed]
    if rows:
        yield ""
        yield styled("Allowed", "bold")
        for site in rows:
            line = f"{site.count:>10}× {site.path}:{site.line}  {short_op(site.op)}: {site.reason}"
            if len(line) <= width:
                yield line
            else:
                yield f"{site.count:>10}× {site.path}:{site.line}"
                yield from wrapped(" " * _LEFT, f"{short_op(site.op)}: {site.reason}", width)


def notes(session: Session, sites: Sequence[SiteCount], width: int = WIDTH) -> Iterable[Text | str]:
    """What the numbers do not say, and the next steps."""
    untimed = int(session.totals.get("untimed", 0))
    sentences = list(session.limits)
    if untimed and session.device != "emulated":
        sentences.insert(0, f"{count(untimed, 'sync')} could not be timed (shown as -)")
    if sentences:
        yield ""
    for sentence in sentences:
        yield from wrapped("note: ", sentence, width, "yellow")
    advice: dict[str, str] = {}
    for site in sorted(sites, key=lambda site: (-site.in_steps, -site.count)):
        if site.rule and site.rule not in advice:
            remedy = rule_remedy(site.rule)
            if remedy:
                advice[site.rule] = remedy
    if advice:
        yield ""
        yield styled("Next", "bold")
        for rule, remedy in list(advice.items())[:5]:
            yield from wrapped(f"  {rule}: ", remedy, width)
        yield from wrapped("  ", f"`syncwatch explain {next(iter(advice))}` says why, and shows the repair", width)


def rule_remedy(rule: str) -> str:
    """The remedy of a built-in rule, "" for others."""
    from syncwatch import catalog

    found = catalog.load().find(rule)
    return found.remedy if found is not None else ""


def library_frame(site: SiteCount) -> str:
    """Where inside an installed library the wait happened: `transformers/trainer.py:3301 _gather`; "" if not in one."""
    if not site.stack or site.stack[0].startswith(f"{site.path}:{site.line} "):
        return ""
    return installed_name(site.stack[0])


def installed_name(frame: str) -> str:
    """A stack entry, with the folder that the library is installed in left out."""
    for marker in ("/site-packages/", "/dist-packages/"):
        if marker in frame:
            return frame.rpartition(marker)[2]
    return frame


def short_op(op: str) -> str:
    """`Tensor.item` for torch.Tensor.item, other names in full."""
    return op.removeprefix("torch.") if op.startswith("torch.Tensor.") else op


def duration(ms: float | None) -> str:
    """A wait in the unit that suits it; `-` where it is not known."""
    if ms is None:
        return "-"
    if ms >= 10_000:
        return f"{ms / 1e3:.1f} s"
    return f"{ms:.1f} ms" if ms >= 1 else f"{ms * 1e3:.0f} µs"


def per_step(value: float | None) -> str:
    """A number of syncs per step: whole numbers without decimals."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value == int(value) else f"{value:.2f}"


def count(number: int, noun: str) -> str:
    """`1 step`, `3 steps`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

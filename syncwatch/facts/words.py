"""The table in words: one operation, a page of all, what changed between two versions of torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from syncwatch.facts import by_leaf, by_name, store, table
from syncwatch.facts.ops import silent
from syncwatch.facts.table import Case, Fact
from syncwatch.model import Kind

_ORDER = tuple(Kind)


def operation(name: str) -> str | None:
    """What is known of one operation, in words; None where the table does not know it. Raises BrokenFile."""
    fact = by_name(name) or by_leaf(name)
    if fact is None:
        return None
    lines = [name if name in fact.names else fact.name]
    others = [other for other in fact.names if other != lines[0]]
    if others:
        shown = ", ".join(others[:6]) + (f" and {len(others) - 6} more" if len(others) > 6 else "")
        lines.append(f"  Also known as, or alike: {shown}")
    lines.extend(f"  {line}" for line in reasons(fact))
    if fact.note:
        lines.append(f"  {fact.note}")
    lines.extend(f"  {line}" for line in measurements(lines[0], fact))
    return "\n".join(lines)


def reasons(fact: Fact) -> Iterator[str]:
    """One sentence for each reason to wait, and the alternative."""
    if not fact.cases:
        yield "It only enqueues work: the host does not wait."
    for case in fact.cases:
        if case.silent:
            yield f"It is asynchronous in name only ({_kind(case)}): {case.when.words}."
        else:
            yield f"The host waits ({_kind(case)}) where {case.when.words}. {_count(case)}; {_reported(case)}."
        if case.instead:
            yield f"Instead: {case.instead}."
    if fact.instead:
        yield f"Instead: {fact.instead}."


def _kind(case: Case) -> str:
    return case.kind.value if case.kind is not None else "none"


def _count(case: Case) -> str:
    if isinstance(case.waits, int):
        return "One wait" if case.waits == 1 else f"{case.waits} waits"
    return (
        "The number of waits depends on the data" if case.waits is None else "The number of waits depends on the call"
    )


def _reported(case: Case) -> str:
    return "the sync debug mode reports it" if case.reported else "the sync debug mode does not see it"


def measurements(name: str, fact: Fact) -> Iterator[str]:
    """What was measured, version by version. Raises BrokenFile."""
    measured = store.shipped()
    seen = False
    for version in measured.versions.values():
        counts = {op: row for op in fact.names if (row := (version.operations.get(op) or version.leaves.get(op)))}
        if not counts and fact.leaf:  # overloads: aten.nonzero.default
            counts = {op: row for op, row in version.leaves.items() if by_leaf(op) is fact}
        where = f"torch {version.torch}, CUDA {version.cuda}, {version.gpu}, {version.date}"
        for op, row in sorted(counts.items(), key=lambda item: item[0] != name):
            seen = True
            prefix = "Measured" if op == name else f"Measured as {op}"
            yield f"{prefix} on {where}: {_verdict(row)}."
        passages = [program for program in version.programs if _is_among(program, fact)]
        if passages and not any(row.blocked for row in counts.values()):
            seen = True
            held = sum(program.blocked for program in passages)
            several = "passage" if len(passages) == 1 else "passages"
            yield f"Measured among other calls on {where}: {len(passages)} {several}, {held} blocked."
        cupti = _cuda_calls(version, set(fact.names))
        if cupti:
            yield f"CUPTI sees: {cupti}."
    if not seen:
        yield "Not measured on its own: the row is taken from the operations that it is made of."


def _is_among(program: store.Program, fact: Fact) -> bool:
    """Whether the program makes several calls, one of which is the operation."""
    return bool(fact.cases) and len(program.calls) > 1 and any(call[0] in fact.names for call in program.calls)


def _verdict(row: store.Count) -> str:
    calls = f"{row.calls} call{'s' if row.calls != 1 else ''} with different arguments"
    if not row.blocked:
        return f"{calls}, none blocked"
    waits = f"{row.fewest_waits}" if row.fewest_waits == row.most_waits else f"{row.fewest_waits} to {row.most_waits}"
    seen = f", {row.unreported} of them unseen by the sync debug mode" if row.unreported else ""
    return f"{calls}, {row.blocked} blocked ({waits} wait{'s' if waits != '1' else ''} traced{seen})"


def _cuda_calls(version: store.Version, names: set[str]) -> str:
    for program in version.programs:
        if program.blocked and len(program.calls) == 1 and program.calls[0][0] in names and program.cupti:
            return ", ".join(f"{count} × {call}" for call, count in sorted(program.cupti.items()))
    return ""


# ------------------------------------------------------------------------------------------- what changed


def difference(old: store.Version, new: store.Version) -> list[str]:
    """One line for each operation that blocks differently in the new version, or was measured in one only."""
    lines = []
    for kind in ("operations", "leaves"):
        before: dict[str, store.Count] = getattr(old, kind)
        after: dict[str, store.Count] = getattr(new, kind)
        for op in sorted({*before, *after}):
            was, now = before.get(op), after.get(op)
            if was is None or now is None:
                row = was or now
                if row is not None and row.blocked:
                    lines.append(
                        f"{op}: {row.verdict} blocks, measured on torch {(new if was is None else old).torch} only"
                    )
            elif was.verdict != now.verdict:
                lines.append(f"{op}: {was.verdict} blocked, now {now.verdict} ({_verdict(now)})")
            elif was.blocked and (was.fewest_waits, was.most_waits) != (now.fewest_waits, now.most_waits):
                lines.append(
                    f"{op}: {was.fewest_waits} to {was.most_waits} waits, now {now.fewest_waits} to {now.most_waits}"
                )
    return lines


# ------------------------------------------------------------------------------------------- the page


def figures(version: store.Version) -> str:
    """How many operations block always, sometimes, never, and how many of the blocking ones go unreported."""
    public = version.operations.values()
    unseen = sum(row.unreported > 0 for row in public)
    return (
        f"{len(public)} public operations: {_verdicts(public)}. "
        f"{len(version.leaves)} operations of the dispatcher: {_verdicts(version.leaves.values())}. "
        f"Of the {sum(row.blocked > 0 for row in public)} public operations that block, {unseen} do so at least once "
        "without a word from the sync debug mode."
    )


def _verdicts(rows: Iterable[store.Count]) -> str:
    verdicts = [row.verdict for row in rows]
    return (
        f"{verdicts.count('always')} blocked in every call measured, {verdicts.count('sometimes')} in some, "
        f"{verdicts.count('never')} in none"
    )


def page() -> str:
    """The table as Markdown. Raises BrokenFile."""
    measured = store.shipped()
    lines = [
        "# What PyTorch's operations do to the host",
        "",
        "Generated by `syncwatch facts --markdown` from the table that all of syncwatch reads; do not edit.",
        "`syncwatch facts NAME` says more about one operation, `python -m syncwatch.facts.measure` measures again.",
        "",
    ]
    for version in measured.versions.values():
        lines.append(
            f"Measured with torch {version.torch} (CUDA {version.cuda}) on one {version.gpu}, {version.date}. "
            f"{figures(version)}"
        )
        lines.append("")
    facts = list({id(fact): fact for fact in (*table().public.values(), *table().leaves.values())}.values())
    for kind in _ORDER:
        rows = [(fact, case) for fact in facts if not fact.leaf for case in fact.cases if case.kind is kind]
        if rows:
            lines += [
                f"## {kind.value}",
                "",
                "| operation | where | waits | reported | instead |",
                "|---|---|---|---|---|",
            ]
            lines += [_row(fact, case) for fact, case in rows]
            lines.append("")
    lines += ["## Operations of the dispatcher", "", "| operation | kind | where |", "|---|---|---|"]
    lines += [
        f"| {_names(fact)} | {_kind(case)} | {_cell(case.when.words)} |"
        for fact in facts
        if fact.leaf
        for case in fact.cases
    ]
    lines += [
        "",
        "## Operations that only enqueue work",
        "",
        f"{len(silent.public()) + sum(len(fact.names) for fact in facts if not fact.cases)} public names are known not "
        "to wait, unless a CUDA tensor is given where they want a number of the host; "
        "`syncwatch facts NAME` tells whether one is among them.",
        "",
    ]
    return "\n".join(lines)


def _row(fact: Fact, case: Case) -> str:
    waits = str(case.waits) if isinstance(case.waits, int) else ("data" if case.waits is None else "varies")
    instead = case.instead or fact.instead
    reported = "yes" if case.reported else "no"
    if case.silent:
        waits, reported = "0", "–"
    return f"| {_names(fact)} | {_cell(case.when.words)} | {waits} | {reported} | {_cell(instead)} |"


def _names(fact: Fact) -> str:
    shown = ", ".join(f"`{name}`" for name in fact.names[:4])
    return shown + (f" (+{len(fact.names) - 4})" if len(fact.names) > 4 else "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")

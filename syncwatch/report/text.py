"""Findings for people: place, rule, message, the source line with the span marked, the remedy; then a summary."""

from __future__ import annotations

from unicodedata import combining, east_asian_width

from syncwatch.model import Finding
from syncwatch.report.outcome import Outcome, Style

_CODES = {"bold": "1", "red": "31;1", "cyan": "36;1", "blue": "34;1", "dim": "2", "green": "32;1", "yellow": "33;1"}
_TAB = 4
_WIDE = 160  # characters of a source line that are shown


def paint(style: Style, colour: str, text: str) -> str:
    """`text` in a colour, where the style has colours."""
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if style.colour and text else text


def render(outcome: Outcome, style: Style) -> str:
    """The outcome as text."""
    if style.statistics:
        return statistics(outcome, style) + summary(outcome, style)
    parts = [_finding(outcome, finding, style) for finding in outcome.findings]
    return "".join(parts) + problems(outcome, style) + summary(outcome, style)


def headline(outcome: Outcome, finding: Finding, style: Style) -> str:
    """`path:line:column: RULE message`, without an end of line."""
    place = outcome.place(finding.path, finding.line, finding.column)
    unsure = f" [{finding.certainty.value}]" if finding.certainty.value == "possible" else ""
    return f"{paint(style, 'bold', place)}: {paint(style, 'red', finding.rule)}{unsure} {finding.message}"


def problems(outcome: Outcome, style: Style) -> str:
    """Files that could not be checked, one a line."""
    return "".join(
        f"{paint(style, 'bold', outcome.place(problem.path, problem.line) if problem.line else problem.path)}: "
        f"{paint(style, 'red', 'error')}: {problem.message}\n"
        for problem in outcome.problems
    )


def statistics(outcome: Outcome, style: Style) -> str:
    """How many findings each rule has, the most frequent first."""
    counts = outcome.by_rule()
    width = max((len(str(count)) for count in counts.values()), default=1)
    names = {finding.rule: finding.name for finding in outcome.findings}
    return problems(outcome, style) + "".join(
        f"{count:>{width}}  {paint(style, 'red', rule)}  {names[rule]}\n" for rule, count in counts.items()
    )


def summary(outcome: Outcome, style: Style) -> str:
    """One line that says what was found in how many files, and what was left out."""
    notes = "".join(f"{paint(style, 'yellow', 'note')}: {note}\n" for note in outcome.notes)
    if style.quiet:
        return ""
    found, files, broken = len(outcome.findings), outcome.files, len(outcome.problems)
    if not files and not broken:
        return notes + "No Python files found.\n"
    repairable = sum(finding.fix is not None for finding in outcome.findings)
    touched = len({finding.path for finding in outcome.findings})
    if found:
        head = paint(style, "red", f"Found {_count(found, 'finding')}") + f" in {touched} of {_count(files, 'file')}"
    else:
        head = paint(style, "green", "No findings") + f" in {_count(files, 'file')}"
    rest = []
    if outcome.suppressed:
        rest.append(f"{outcome.suppressed} suppressed by comments")
    if outcome.baselined:
        rest.append(f"{outcome.baselined} in the baseline")
    if broken:
        rest.append(f"{_count(broken, 'file')} could not be checked")
    if repairable:
        rest.append(f"{repairable} repairable with --fix")
    return notes + "; ".join([head, *rest]) + ".\n"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _finding(outcome: Outcome, finding: Finding, style: Style) -> str:
    lines = [headline(outcome, finding, style)]
    source = outcome.source(finding.path, finding.line) if style.show_source else None
    remedy = outcome.remedy(finding)
    if source is None:
        return "\n".join(lines) + "\n" + (f"  help: {remedy}\n" if remedy and style.show_source else "")
    cell = outcome.cell(finding.path, finding.line)
    number = str(cell[1] if cell else finding.line)
    last = len(source.rstrip()) + 1
    end = finding.end_column if finding.end_line == finding.line else last
    text, start, width = crop(*mark(source.rstrip(), finding.column, end))
    more = " …" if finding.end_line > finding.line else ""
    gutter = " " * len(number)
    bar = paint(style, "blue", "|")
    lines.append(f"  {gutter} {bar}")
    lines.append(f"  {paint(style, 'blue', number)} {bar} {text}".rstrip())
    lines.append(f"  {gutter} {bar} {' ' * start}{paint(style, 'red', '^' * width)}{more}")
    if remedy:
        lines.append(f"  {gutter} {paint(style, 'blue', '=')} {paint(style, 'bold', 'help')}: {remedy}")
    return "\n".join(lines) + "\n\n"


def crop(text: str, start: int, width: int) -> tuple[str, int, int]:
    """A long line (generated code) cut down to what stands around the span; both ends are marked with an ellipsis."""
    if len(text) <= _WIDE:
        return text, start, width
    first = max(0, min(start - _WIDE // 4, len(text) - _WIDE))
    shown = text[first : first + _WIDE]
    if first:
        shown = "…" + shown[1:]
    if first + _WIDE < len(text):
        shown = shown[:-1] + "…"
    return shown, start - first, max(1, min(width, _WIDE - (start - first)))


def mark(source: str, column: int, end_column: int) -> tuple[str, int, int]:
    """The line with tabs expanded and control characters hidden, and the first cell and the width of the span.

    Columns count characters from 1, `end_column` is exclusive; cells are what a terminal shows, so that a wide
    character takes two.
    """
    shown: list[str] = []
    cells = start = 0
    stop: int | None = None
    for index, char in enumerate(source, 1):
        if index == column:
            start = cells
        if index == end_column:
            stop = cells
        if char == "\t":
            width = _TAB - cells % _TAB
            shown.append(" " * width)
        elif combining(char):
            width = 0
            shown.append(char)
        elif not char.isprintable():
            width = 1
            shown.append("\N{REPLACEMENT CHARACTER}")
        else:
            width = 2 if east_asian_width(char) in "WF" else 1
            shown.append(char)
        cells += width
    if column > len(source):
        start = cells
    return "".join(shown), start, max(1, (cells if stop is None else stop) - start)

"""One line for each finding."""

from __future__ import annotations

from syncwatch.report.outcome import Outcome, Style
from syncwatch.report.text import headline, problems, statistics, summary


def render(outcome: Outcome, style: Style) -> str:
    """The outcome with one line for each finding."""
    if style.statistics:
        return statistics(outcome, style) + summary(outcome, style)
    lines = "".join(f"{headline(outcome, finding, style)}\n" for finding in outcome.findings)
    return lines + problems(outcome, style) + summary(outcome, style)

"""Output formats, found through one table: a module is imported only when its format is wanted.

A module holds `render(outcome, style) -> str`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from syncwatch.report.outcome import Outcome, Style


class Format(NamedTuple):
    name: str
    module: str
    help: str


FORMATS: tuple[Format, ...] = (
    Format("text", "syncwatch.report.text", "each finding with its source line and the remedy"),
    Format("concise", "syncwatch.report.concise", "one line for each finding"),
    Format("json", "syncwatch.report.json", "for programs; the field names are a contract"),
    Format("sarif", "syncwatch.report.sarif", "SARIF 2.1.0, for code scanning"),
    Format("github", "syncwatch.report.github", "annotations of GitHub Actions"),
    Format("gitlab", "syncwatch.report.gitlab", "GitLab's code quality report"),
    Format("junit", "syncwatch.report.junit", "JUnit XML, for CI servers"),
)


def render(name: str, outcome: Outcome, style: Style) -> str:
    """The outcome of a check in the format `name`, one of `FORMATS`; ends in a newline unless it is empty."""
    from importlib import import_module

    module = next(item.module for item in FORMATS if item.name == name)
    text: str = import_module(module).render(outcome, style)
    return text

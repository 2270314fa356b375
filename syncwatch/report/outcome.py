"""What a check hands to the formats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from syncwatch.catalog import Rule
from syncwatch.model import Finding, Problem
from syncwatch.repair import Edit


@dataclass(frozen=True)
class Style:
    """How text is written. `colour`: with ANSI escapes. `show_source`: each finding with its line. `statistics`: counts
    by rule instead of findings. `quiet`: findings only, no summary."""

    colour: bool = False
    show_source: bool = True
    statistics: bool = False
    quiet: bool = False


def _no_source(path: str, line: int) -> str | None:
    return None


def _no_cell(path: str, line: int) -> tuple[int, int] | None:
    return None


def _by_place(finding: Finding) -> str:
    return f"{finding.path}:{finding.line}:{finding.column}:{finding.rule}"


@dataclass(frozen=True)
class Outcome:
    """The result of a check.

    `findings` are sorted by place. `notes` are sentences about the run (stale entries of the baseline). `suppressed`
    and `baselined` count the findings that are left out, `files` what was looked at. `source` gives a line of a file
    (from 1), or None. `cell` gives the place of a line in a notebook as (cell, line of the cell), or None.
    `fingerprint` names a finding by its content, so that it is recognised when lines move. `edits` are the repairs
    that can be made.
    """

    findings: tuple[Finding, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    files: int = 0
    suppressed: int = 0
    baselined: int = 0
    rules: Mapping[str, Rule] = field(default_factory=dict)
    source: Callable[[str, int], str | None] = _no_source
    cell: Callable[[str, int], tuple[int, int] | None] = _no_cell
    fingerprint: Callable[[Finding], str] = _by_place
    edits: tuple[Edit, ...] = ()

    def by_rule(self) -> dict[str, int]:
        """How many findings each rule has, the most frequent first."""
        counts = Counter(finding.rule for finding in self.findings)
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def place(self, path: str, line: int, column: int | None = None) -> str:
        """`path:line:column`, or `path:cell N:line:column` in a notebook."""
        cell = self.cell(path, line)
        where = f"{path}:{line}" if cell is None else f"{path}:cell {cell[0]}:{cell[1]}"
        return where if column is None else f"{where}:{column}"

    def remedy(self, finding: Finding) -> str:
        """What to write instead, in one line; "" where the rule is not known."""
        rule = self.rules.get(finding.rule)
        return rule.remedy if rule else ""

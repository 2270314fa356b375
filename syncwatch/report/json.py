"""JSON for programs. The names of the fields are a contract; new ones may be added."""

from __future__ import annotations

from typing import Any

import msgspec

from syncwatch import __version__
from syncwatch.model import SCHEMA_VERSION, Finding, Problem
from syncwatch.report.outcome import Outcome, Style


def document(outcome: Outcome) -> dict[str, Any]:
    """The outcome as plain data."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "syncwatch", "version": __version__},
        "findings": [_finding(outcome, finding) for finding in outcome.findings],
        "errors": [_problem(problem) for problem in outcome.problems],
        "summary": {
            "files": outcome.files,
            "findings": len(outcome.findings),
            "errors": len(outcome.problems),
            "suppressed": outcome.suppressed,
            "baselined": outcome.baselined,
            "by_rule": outcome.by_rule(),
            "notes": list(outcome.notes),
        },
    }


def render(outcome: Outcome, style: Style) -> str:
    """The outcome as a JSON document."""
    data = msgspec.json.format(msgspec.json.encode(document(outcome)), indent=2)
    return data.decode() + "\n"


def _finding(outcome: Outcome, finding: Finding) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(finding)
    cell = outcome.cell(finding.path, finding.line)
    if cell is not None:
        fields["cell"], fields["cell_line"] = cell
    return fields


def _problem(problem: Problem) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(problem)
    return fields

"""GitLab's code quality report: a JSON list in the form of Code Climate."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from syncwatch.report.outcome import Outcome, Style


def render(outcome: Outcome, style: Style) -> str:
    """The outcome as a code quality report."""
    entries: list[dict[str, Any]] = [
        {
            "description": f"{finding.rule}: {finding.message}",
            "check_name": finding.rule,
            "fingerprint": outcome.fingerprint(finding),
            "severity": "major" if finding.kind.blocks else "minor",
            "location": {
                "path": finding.path,
                "positions": {
                    "begin": {"line": finding.line, "column": finding.column},
                    "end": {"line": finding.end_line, "column": finding.end_column},
                },
            },
        }
        for finding in outcome.findings
    ]
    entries += [
        {
            "description": f"cannot be checked: {problem.message}",
            "check_name": "unreadable-file",
            "fingerprint": hashlib.sha256(f"{problem.path}\0{problem.message}".encode()).hexdigest()[:32],
            "severity": "blocker",
            "location": {"path": problem.path, "lines": {"begin": max(problem.line, 1)}},
        }
        for problem in outcome.problems
    ]
    return msgspec.json.format(msgspec.json.encode(entries), indent=2).decode() + "\n"

"""Annotations of GitHub Actions: one workflow command for each finding."""

from __future__ import annotations

from syncwatch.report.outcome import Outcome, Style


def render(outcome: Outcome, style: Style) -> str:
    """The outcome as `::error …::message` lines."""
    lines = []
    for finding in outcome.findings:
        remedy = outcome.remedy(finding)
        cell = outcome.cell(finding.path, finding.line)
        where = f" (cell {cell[0]}, line {cell[1]})" if cell else ""
        properties: dict[str, str | int] = {
            "title": f"syncwatch ({finding.rule} {finding.name})",
            "file": finding.path,
            "line": finding.line,
            "col": finding.column,
            "endLine": finding.end_line,
            "endColumn": finding.end_column,
        }
        message = f"{finding.message}{where}" + (f"\n{remedy}" if remedy else "")
        lines.append(_command(properties, message))
    for problem in outcome.problems:
        properties = {"title": "syncwatch", "file": problem.path, "line": max(problem.line, 1)}
        lines.append(_command(properties, f"cannot be checked: {problem.message}"))
    return "".join(f"{line}\n" for line in lines)


def _command(properties: dict[str, str | int], message: str) -> str:
    listed = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::error {listed}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

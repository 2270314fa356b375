"""SARIF 2.1.0, the format of code scanning."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from syncwatch import __version__
from syncwatch.catalog import Rule
from syncwatch.model import Finding, Problem
from syncwatch.report.outcome import Outcome, Style

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render(outcome: Outcome, style: Style) -> str:
    """The outcome as one run of a SARIF log."""
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(outcome)]}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _run(outcome: Outcome) -> dict[str, Any]:
    used = [rule for name, rule in sorted(outcome.rules.items()) if any(item.rule == name for item in outcome.findings)]
    index = {rule.id: number for number, rule in enumerate(used)}
    return {
        "tool": {
            "driver": {
                "name": "syncwatch",
                "semanticVersion": __version__,
                "version": __version__,
                "rules": [_rule(rule) for rule in used],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"uri": Path.cwd().as_uri().rstrip("/") + "/"}},
        "invocations": [
            {
                "executionSuccessful": not outcome.problems,
                "toolExecutionNotifications": [_notification(problem) for problem in outcome.problems],
            }
        ],
        "results": [_result(outcome, finding, index) for finding in outcome.findings],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    described: dict[str, Any] = {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.title or rule.name},
        "help": {"text": rule.remedy},
        "defaultConfiguration": {"level": "warning"},
        "properties": {"tags": ["performance", *(kind.value for kind in rule.kinds)]},
    }
    if rule.link:
        described["helpUri"] = rule.link
    return described


def _result(outcome: Outcome, finding: Finding, index: dict[str, int]) -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": _artifact(finding.path),
            "region": {
                "startLine": finding.line,
                "startColumn": finding.column,
                "endLine": finding.end_line,
                "endColumn": finding.end_column,
            },
        }
    }
    source = outcome.source(finding.path, finding.line)
    if source is not None:
        location["physicalLocation"]["region"]["snippet"] = {"text": source}
    if finding.function:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.function, "kind": "function"}]
    properties: dict[str, Any] = {
        "kind": finding.kind.value,
        "certainty": finding.certainty.value,
        "heat": finding.heat.value,
    }
    cell = outcome.cell(finding.path, finding.line)
    if cell is not None:
        properties["cell"], properties["cellLine"] = cell
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "level": "warning" if finding.kind.blocks else "note",
        "message": {"text": finding.message},
        "locations": [location],
        "partialFingerprints": {"syncwatch/v1": outcome.fingerprint(finding)},
        "properties": properties,
    }
    if finding.rule in index:
        result["ruleIndex"] = index[finding.rule]
    return result


def _notification(problem: Problem) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _artifact(problem.path)}
    if problem.line > 0:
        place["region"] = {"startLine": problem.line}
    return {"level": "error", "message": {"text": problem.message}, "locations": [{"physicalLocation": place}]}


def _artifact(path: str) -> dict[str, str]:
    """A path below the current folder is relative to it, any other one is a full URI."""
    if os.path.isabs(path) or path.startswith("../"):
        return {"uri": Path(os.path.abspath(path)).as_uri()}
    return {"uri": quote(path), "uriBaseId": "SRCROOT"}

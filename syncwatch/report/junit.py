"""JUnit XML: a test suite for each file, a failed test case for each finding."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from syncwatch.model import Finding, Problem
from syncwatch.report.outcome import Outcome, Style

# what XML 1.0 cannot hold, however escaped
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(outcome: Outcome, style: Style) -> str:
    """The outcome as JUnit XML; a clean run is one test case that passed."""
    suites = [
        _suite(path, [_failure(outcome, finding) for finding in findings], failures=True)
        for path, findings in groupby(outcome.findings, key=lambda finding: finding.path)
    ]
    suites += [
        _suite(path, [_error(problem) for problem in problems], failures=False)
        for path, problems in groupby(outcome.problems, key=lambda problem: problem.path)
    ]
    if not suites:
        suites = [
            '  <testsuite name="syncwatch" tests="1" failures="0" errors="0">\n'
            '    <testcase name="no findings" classname="syncwatch"/>\n  </testsuite>\n'
        ]
    found, broken = len(outcome.findings), len(outcome.problems)
    head = f'<testsuites name="syncwatch" tests="{max(found + broken, 1)}" failures="{found}" errors="{broken}">\n'
    return f'<?xml version="1.0" encoding="utf-8"?>\n{head}{"".join(suites)}</testsuites>\n'


def _suite(path: str, cases: list[str], *, failures: bool) -> str:
    failed, broken = (len(cases), 0) if failures else (0, len(cases))
    head = f'  <testsuite name={_attribute(path)} tests="{len(cases)}" failures="{failed}" errors="{broken}">\n'
    return f"{head}{''.join(cases)}  </testsuite>\n"


def _failure(outcome: Outcome, finding: Finding) -> str:
    name = f"{finding.rule} {finding.name} {outcome.place('', finding.line, finding.column).lstrip(':')}"
    text = [outcome.place(finding.path, finding.line, finding.column), finding.message, outcome.remedy(finding)]
    return _case(finding.path, name, finding.line, "failure", finding.message, finding.rule, text)


def _error(problem: Problem) -> str:
    return _case(problem.path, "readable", problem.line, "error", problem.message, "unreadable-file", [problem.message])


def _case(path: str, name: str, line: int, tag: str, message: str, sort: str, text: Iterable[str]) -> str:
    body = escape(_clean("\n".join(filter(None, text))))
    return (
        f'    <testcase name={_attribute(name)} classname={_attribute(path)} file={_attribute(path)} line="{line}">\n'
        f"      <{tag} message={_attribute(message)} type={_attribute(sort)}>{body}</{tag}>\n"
        f"    </testcase>\n"
    )


def _attribute(text: str) -> str:
    return quoteattr(_clean(text), {"\n": "&#10;", "\t": "&#9;"})


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)

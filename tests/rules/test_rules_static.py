"""Every program of every rule, read by the static engine: it reports the marked lines, and no other."""

from __future__ import annotations

import re

import pytest

from syncwatch import catalog
from syncwatch.judge import RuleTable, judge
from syncwatch.static.engine import analyse
from syncwatch.static.options import Options

CATALOG = catalog.load()
TABLE = RuleTable(CATALOG)
PROGRAMS = [
    pytest.param(document.rule, document.markdown, block, id=f"{document.rule.id}-{document.rule.name}-{block.tag}")
    for document in map(catalog.read_document, CATALOG)
    for block in document.blocks
]


@pytest.mark.parametrize(("rule", "text", "block"), PROGRAMS)
def test_exactly_the_marked_lines_are_reported(tmp_path, rule, text, block):
    program = tmp_path / "program.py"
    program.write_text(block.code, encoding="utf-8")
    analysis = analyse([str(program)], Options(root=str(tmp_path), cache=False))
    assert analysis.problems == []
    findings = judge(analysis.events, TABLE)
    reported: dict[int, set[str]] = {}
    for finding in findings:
        reported.setdefault(finding.line, set()).add(finding.kind.value)
    marked = {line: {kind.value for kind in kinds} for line, kinds in block.kinds_by_line.items()}
    lines = block.code.splitlines()
    assert {lines[n - 1].strip(): kinds for n, kinds in reported.items()} == {
        lines[n - 1].strip(): kinds for n, kinds in marked.items()
    }
    if block.tag == "bad":
        own = [finding.rule for finding in findings if finding.kind in rule.kinds]
        assert rule.id in own
        # a line may fall to a neighbour that the rule's text names
        assert set(own) <= {rule.id, *re.findall(r"SW\d+", text)}

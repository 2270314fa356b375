"""Every program of every rule, read by the static engine: it reports the marked lines, and no other."""

from __future__ import annotations

import importlib

import pytest

from syncwatch import catalog
from syncwatch.judge import RuleTable, judge

CATALOG = catalog.load()
TABLE = RuleTable(CATALOG)
PROGRAMS = [
    pytest.param(document.rule, block, id=f"{document.rule.id}-{document.rule.name}-{block.tag}")
    for document in map(catalog.read_document, CATALOG)
    for block in document.blocks
]

if not hasattr(importlib.import_module("syncwatch.static.infer"), "infer_root"):
    pytest.skip("the static engine has no inference yet", allow_module_level=True)


@pytest.mark.parametrize(("rule", "block"), PROGRAMS)
def test_exactly_the_marked_lines_are_reported(tmp_path, rule, block):
    from syncwatch.static.engine import analyse
    from syncwatch.static.options import Options

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
        assert rule.id in {finding.rule for finding in findings}

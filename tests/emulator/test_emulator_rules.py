"""The proofs in the rules: the emulator predicts every line that is marked, and no other line of a loop."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from syncwatch import catalog

# a group of one rank has nothing to send: what objects cost on the way is not on the marked line's account
NOT_EMULATED = {"SW704"}

PROOFS = [
    pytest.param(block, id=f"{rule.id}-{block.tag}-{number}")
    for rule in catalog.load()
    if not rule.requires and rule.id not in NOT_EMULATED
    for number, block in enumerate(catalog.read_document(rule).blocks)
]


def lines_in_loops(code: str) -> set[int]:
    """Lines that run more than once."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, (ast.For, ast.While, ast.FunctionDef)):
            found.update(range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1))
    return found


@pytest.mark.parametrize("block", PROOFS)
def test_a_proof_holds_on_the_emulated_device(run, block, capsys, tmp_path: Path):
    _, sites = run(block.code)
    found: dict[int, dict[str, int]] = {}
    for site in sites:
        found.setdefault(site.line, {})[site.kind.value] = site.count
    for line, marks in block.marks.items():
        for kind in (kind.value for kind, blocks in marks if blocks):
            assert kind in found.get(line, {}), f"line {line} should wait: {block.code.splitlines()[line - 1].strip()}"
    marked = {line for line, marks in block.marks.items() if any(blocks for _, blocks in marks)}
    for line in (lines_in_loops(block.code) & set(found)) - marked:
        assert sum(found[line].values()) < 3, f"line {line} should not wait at every step: {found[line]}"

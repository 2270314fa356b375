"""`explain` says on which GPU a rule was proved, as long as its programs are the ones that were."""

from __future__ import annotations

import dataclasses

from syncwatch import catalog
from syncwatch.proof import proof


def document(rule: str) -> catalog.Document:
    found = catalog.load().find(rule)
    assert found is not None
    return catalog.read_document(found)


def test_a_proved_rule_says_so():
    proved = proof(document("SW101"))
    assert proved is not None
    assert proved.proved == proved.programs == 3
    assert str(proved).startswith("proven on NVIDIA H200, torch 2.11.0, 2026-")


def test_a_changed_program_is_no_longer_proved():
    original = document("SW101")
    first, *rest = original.blocks
    changed = dataclasses.replace(first, code=first.code + "x = 1\n")
    assert proof(dataclasses.replace(original, blocks=(changed, *rest))) is None

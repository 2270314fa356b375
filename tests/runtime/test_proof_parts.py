"""The proof on a GPU can be made in parts: each program belongs to exactly one."""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def proofs(monkeypatch):
    """The module tests/gpu/prove.py; nothing in it needs a GPU until a program is run."""
    spec = importlib.util.spec_from_file_location("prove_in_parts", ROOT / "tests" / "gpu" / "prove.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def options(part, seconds=None):
    return argparse.Namespace(rules=["SW1"], no_samples=False, cases=None, part=part, seconds=seconds)


def test_the_parts_together_are_all_programs(proofs, tmp_path):
    everything = [program.name for program in proofs.chosen(options((1, 1)), tmp_path)]
    parts = [[program.name for program in proofs.chosen(options((k, 3)), tmp_path)] for k in (1, 2, 3)]
    assert len(set(everything)) == len(everything) > 20
    assert sorted(name for names in parts for name in names) == sorted(everything)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_a_later_part_keeps_the_rows_of_the_same_machine(proofs, tmp_path):
    file = tmp_path / "proof.json"
    head = {"gpu": "H200", "torch": "2.11", "date": "2026-01-01"}
    file.write_text(json.dumps({**head, "programs": {"SW101 bad": {"error": ""}}}))
    assert list(proofs.earlier(options((2, 3)), file, head)) == ["SW101 bad"]
    assert list(proofs.earlier(options((1, 1), seconds=500), file, head)) == ["SW101 bad"]
    assert proofs.earlier(options((1, 1)), file, head) == {}
    assert proofs.earlier(options((2, 3)), file, {**head, "torch": "2.12"}) == {}


@pytest.mark.parametrize("text", ["0/3", "4/3", "2", "a/b"])
def test_a_part_that_is_none_is_refused(proofs, text):
    with pytest.raises(argparse.ArgumentTypeError, match="such as 2/3"):
        proofs.part(text)

"""Whole programs of the kinds that people write, each line that waits at every step marked `# sync`."""

from __future__ import annotations

from pathlib import Path

import pytest

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_exactly_the_marked_lines_are_found(check, path):
    found = check(path.read_text(encoding="utf-8"))
    assert found

"""Programs in these tests carry their own expectation: the lines that end in `# sync` wait at every step, no other."""

from __future__ import annotations

import textwrap

import pytest

from syncwatch.model import Certainty, Event, Heat


@pytest.fixture
def infer(tmp_path):
    """Runs inference over a program (and further files of its project), and returns its events."""

    def run(code: str, /, name: str = "program", **others: str) -> list[Event]:
        from syncwatch.static.infer import infer_root
        from syncwatch.static.options import Options
        from syncwatch.static.project import Project

        for file, text in {name: code, **others}.items():
            path = tmp_path / f"{file}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")
        main = str(tmp_path / f"{name}.py")
        files = sorted(str(tmp_path / f"{file}.py") for file in {name, *others})
        result = infer_root(Project(files, Options(root=str(tmp_path), cache=False)), main, strict=True)
        assert result.faults == []
        return result.events

    return run


@pytest.fixture
def check(infer, tmp_path):
    """Asserts that exactly the marked lines wait at every step, in the program and in the other files."""

    def run(code: str, /, **others: str) -> list[Event]:
        events = infer(code, **others)
        shown = [e for e in events if e.heat is Heat.STEP and e.certainty is not Certainty.POSSIBLE and e.kind.blocks]
        for name, text in {"program": code, **others}.items():
            path = str(tmp_path / f"{name}.py")
            lines = textwrap.dedent(text).splitlines()
            found = {e.site.line for e in shown if e.site.path == path}
            wanted = {n for n, line in enumerate(lines, 1) if line.rstrip().endswith("# sync")}
            assert {lines[n - 1].strip() for n in found} == {lines[n - 1].strip() for n in wanted}
        return shown

    return run

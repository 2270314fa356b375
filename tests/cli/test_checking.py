"""`syncwatch.check`, the check as a function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import syncwatch
from syncwatch.checking import Work
from syncwatch.config import Config, ConfigError
from syncwatch.model import Heat

ONCE = 'import torch\nx = torch.rand(3, device="cuda").sum().item()\n'


def test_a_program_can_check_files(project: Path) -> None:
    (project / "once.py").write_text(ONCE)
    outcome = syncwatch.check(["once.py"], work=Work(cache=False))
    assert (outcome.findings, outcome.files, outcome.problems) == ((), 1, ())
    outcome = syncwatch.check([project], Config(heat=tuple(Heat)), Work(cache=False))
    (finding,) = outcome.findings
    assert (finding.path, finding.line, finding.rule) == ("once.py", 2, "SW101")
    assert outcome.source("once.py", 2) == ONCE.splitlines()[1]


def test_the_nearest_configuration_is_used(project: Path) -> None:
    (project / "once.py").write_text(ONCE)
    (project / "syncwatch.toml").write_text('heat = "all"\n')
    assert len(syncwatch.check(["once.py"], work=Work(cache=False)).findings) == 1
    (project / "syncwatch.toml").write_text("heat = 1\n")
    with pytest.raises(ConfigError, match="`heat` must be a list of strings"):
        syncwatch.check(["once.py"])


def test_contents_stand_for_files(project: Path) -> None:
    work = Work(cache=False, contents={"buffer.py": ONCE.encode()})
    outcome = syncwatch.check([], Config(heat=tuple(Heat)), work)
    assert [finding.path for finding in outcome.findings] == ["buffer.py"]
    assert not list(project.iterdir())


def test_failures_of_the_engine_are_not_kept_silent(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from syncwatch.static import engine

    (project / "once.py").write_text(ONCE)
    real = engine.analyse

    def failing(*args: Any, **more: Any) -> engine.Analysis:
        analysis = real(*args, **more)
        analysis.faults.append("once.py: TypeError: something")
        return analysis

    monkeypatch.setattr(engine, "analyse", failing)
    (note,) = syncwatch.check(["once.py"], work=Work(cache=False)).notes
    assert note == (
        "syncwatch itself failed in a place and passed over what stands there; please report it "
        "(once.py: TypeError: something)"
    )

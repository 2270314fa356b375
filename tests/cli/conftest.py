"""A scratch project and the command in it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from syncwatch.cli import main

# One wait in each step, at a known place.
HAZARD = """\
import torch

scores = torch.rand(1000, device="cuda")
for step in range(3):
    total = scores.sum().item()
"""
CLEAN = HAZARD.replace(".item()", "")


@dataclass(frozen=True)
class Ran:
    """A command that ended: its exit status, and what it wrote."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def places(self) -> list[str]:
        """`path:line RULE` of each finding."""
        return [f"{finding['path']}:{finding['line']} {finding['rule']}" for finding in self.json["findings"]]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("NO_COLOR", raising=False)
    return folder


@pytest.fixture
def syncwatch(project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Runs the command in the project; `stdin` is what standard input holds."""

    def run(*arguments: str, stdin: bytes | None = None) -> Ran:
        if stdin is not None:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        try:
            status = main(arguments)
        except SystemExit as leaving:  # argparse, for --help and mistakes
            status = int(leaving.code or 0)
        written = capsys.readouterr()
        return Ran(status, written.out, written.err)

    return run


@pytest.fixture
def check(syncwatch: Callable[..., Ran]) -> Callable[..., Ran]:
    """Runs `check` with JSON output and no cache."""

    def run(*arguments: str, **more: Any) -> Ran:
        return syncwatch("check", "--no-cache", "--output-format", "json", *arguments, **more)

    return run

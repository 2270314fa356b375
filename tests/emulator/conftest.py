"""The tests of the emulator run on an emulated device, which must be known to torch before the first backward."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from syncwatch.emulator import backend, emulate
from syncwatch.model import SiteCount
from syncwatch.runtime.watch import watch

backend.register()

Counts = dict[int, dict[str, int]]


@pytest.fixture
def device() -> Iterator[None]:
    """One emulated GPU."""
    with emulate():
        torch.manual_seed(0)
        yield


@pytest.fixture
def on_two_ranks() -> Callable[[Path, float], list[tuple[str, str]]]:
    """Runs a program on two ranks, with its folder and the rank as arguments; returns what each said: (out, err)."""

    def on_two_ranks(path: Path, timeout: float) -> list[tuple[str, str]]:
        started = [
            subprocess.Popen(
                [sys.executable, str(path), str(path.parent), str(rank)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
            for rank in range(2)
        ]
        return [process.communicate(timeout=timeout) for process in started]

    return on_two_ranks


@pytest.fixture
def run(device: None, tmp_path: Path) -> Callable[[str], tuple[dict[str, Any], list[SiteCount]]]:
    """Runs a program on the emulated device; returns its names and the sites where it waited."""

    def run(code: str) -> tuple[dict[str, Any], list[SiteCount]]:
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(code), encoding="utf-8")
        names: dict[str, Any] = {"__name__": "program", "__file__": str(path)}
        with watch() as report:
            exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
        return names, [site for site in report.sites if site.path.endswith("program.py")]

    return run


@pytest.fixture
def waits(run: Callable[[str], tuple[dict[str, Any], list[SiteCount]]]) -> Callable[[str], list[tuple[str, str, int]]]:
    """The waits of a program: (kind, operation, count), in the order of its lines."""

    def waits(code: str) -> list[tuple[str, str, int]]:
        _, sites = run(code)
        return [(site.kind.value, site.op, site.count) for site in sorted(sites, key=lambda site: site.line)]

    return waits

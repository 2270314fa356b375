"""What a project says of its own code: hot, device-names, sync-functions, moves-to-device."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def with_and_without(check: Callable[..., Any], project: Path) -> Callable[[str, str], tuple[list[str], list[str]]]:
    """The findings in a program without a setting, and with it."""

    def run(setting: str, program: str) -> tuple[list[str], list[str]]:
        (project / "a.py").write_text(program)
        before = check().places
        (project / "syncwatch.toml").write_text(setting + "\n")
        return before, check().places

    return run


@pytest.mark.parametrize("name", ["Trainer.fit_batch", "fit_batch", "a.Trainer.fit_batch"])
def test_a_hot_function_runs_every_step(
    with_and_without: Callable[[str, str], tuple[list[str], list[str]]], name: str
) -> None:
    program = """\
import torch


class Trainer:
    def fit_batch(self):
        return torch.rand(3, device="cuda").sum().item()

    def summary(self):
        return torch.rand(3, device="cuda").sum().item()


if __name__ == "__main__":
    trainer = Trainer()
    trainer.fit_batch()
    trainer.summary()
"""
    assert with_and_without(f'hot = ["{name}"]', program) == ([], ["a.py:6 SW101"])


def test_device_names_name_the_accelerator(
    with_and_without: Callable[[str, str], tuple[list[str], list[str]]],
) -> None:
    program = """\
import torch
import settings

cfg = settings.load()
for step in range(9):
    x = torch.zeros(3).to(cfg.card)
    y = x.sum().item()
    z = torch.zeros(3).to(cfg.other).sum().item()
"""
    before, after = with_and_without('device-names = ["cfg.card"]', program)
    assert "a.py:7 SW101" not in before
    assert "a.py:7 SW101" in after
    assert "a.py:8 SW101" not in after


def test_calls_of_sync_functions_are_waits(
    with_and_without: Callable[[str, str], tuple[list[str], list[str]]],
) -> None:
    program = """\
import torch
import mylib
from mylib.timing import wait_all

for step in range(9):
    wait_all()
    mylib.timing.wait_all()
    mylib.timing.wait_none()
"""
    assert with_and_without('sync-functions = ["mylib.timing.wait_all"]', program) == (
        [],
        ["a.py:6 SW401", "a.py:7 SW401"],
    )


def test_what_moves_to_the_device_is_there_afterwards(
    with_and_without: Callable[[str, str], tuple[list[str], list[str]]],
) -> None:
    program = """\
import torch
from mylib import to_gpu

for step in range(9):
    batch = {"x": torch.zeros(3), "name": "first"}
    x = batch["x"].sum().item()
    batch = to_gpu(batch)
    y = batch["x"].sum().item()
    print(batch["name"])
"""
    assert with_and_without('moves-to-device = ["mylib.to_gpu"]', program) == ([], ["a.py:8 SW101"])

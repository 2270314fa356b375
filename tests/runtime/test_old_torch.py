"""A torch that is too old lets the program run and is named in one sentence, though it lacks what newer ones have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]
# the oldest torch: without torch.compiler, and without what came with it
OLD = """
import sys, torch
sys.modules["torch.compiler"] = None
torch.__version__ = "1.13.1"
torch.cuda.is_available = lambda: True
"""
PROGRAM = """
import syncwatch

@syncwatch.watch(max_syncs=0)
def step():
    with syncwatch.allow("looks"):
        return 5

print(step() + step())
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "sitecustomize.py").write_text(OLD)
    (folder / "train.py").write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )


def test_a_watch_says_so_once_and_the_program_runs(tmp_path):
    done = run(tmp_path, "train.py")
    assert (done.returncode, done.stdout) == (0, "10\n"), done.stderr
    assert done.stderr.count("torch 1.13.1 is too old to be watched: install torch 2.4 or newer") == 1
    assert "Traceback" not in done.stderr


def test_run_refuses_with_the_same_sentence(tmp_path):
    done = run(tmp_path, "-m", "syncwatch", "run", "--device", "cuda", "train.py")
    assert done.returncode == 2
    # where there is a GPU the version is looked at, else what is missing is the GPU
    assert done.stderr.startswith("syncwatch: ")
    assert len(done.stderr.splitlines()) == 1

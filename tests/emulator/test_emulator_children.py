"""Processes that a program starts: spawned ones find the device, forked ones are refused what CUDA refuses them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TIMEOUT = 120


@pytest.fixture
def said(tmp_path: Path):
    def said(code: str, *args: str) -> str:
        path = tmp_path / "train.py"
        path.write_text(code, encoding="utf-8")
        command = [sys.executable, "-m", "syncwatch", "run", "--device", "emulated", "--quiet", "-o"]
        done = subprocess.run(
            [*command, str(tmp_path / "session.json"), *args, str(path)],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        assert done.returncode in (0, 1), done.stderr[-3000:]
        return done.stdout

    return said


def test_spawned_processes_find_the_gpus_and_share_their_memory(said):
    out = said(
        "import torch\n"
        "import torch.multiprocessing as mp\n"
        "device = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        "def work(rank, shared, answers):\n"
        "    torch.cuda.set_device(rank)\n"
        "    shared[rank] += torch.ones(2, device=shared.device).sum()\n"
        "    answers.put((rank, shared.device.type, torch.cuda.device_count(), device))\n"
        "if __name__ == '__main__':\n"
        "    shared, answers = torch.zeros(2, device='cuda'), mp.get_context('spawn').SimpleQueue()\n"
        "    mp.spawn(work, args=(shared, answers), nprocs=2)\n"
        "    print(sorted(answers.get() for _ in range(2)), shared.tolist())\n",
        "--devices",
        "2",
    )
    assert out.strip() == "[(0, 'cuda', 2, 'cuda'), (1, 'cuda', 2, 'cuda')] [2.0, 2.0]"


def test_forked_processes_cannot_use_a_device_that_is_in_use(said):
    out = said(
        "import torch\n"
        "import torch.multiprocessing as mp\n"
        "def work(answers):\n"
        "    try:\n"
        "        answers.put(torch.ones(2, device='cuda').sum().item())\n"
        "    except RuntimeError as error:\n"
        "        answers.put(str(error))\n"
        "def forked():\n"
        "    context = mp.get_context('fork')\n"
        "    answers = context.SimpleQueue()\n"
        "    child = context.Process(target=work, args=(answers,))\n"
        "    child.start()\n"
        "    print(answers.get())\n"
        "    child.join()\n"
        "forked()\n"
        "assert not torch.cuda.is_initialized()\n"
        "torch.ones(1, device='cuda')\n"
        "assert torch.cuda.is_initialized()\n"
        "forked()\n"
    )
    fresh, refused = out.strip().splitlines()
    assert fresh == "2.0"
    assert refused.startswith("Cannot re-initialize CUDA in forked subprocess")

"""Programs under `syncwatch run` on a real GPU: workers, arguments, exit status, failures and signals.

python -m pytest tests/gpu/gpu_run_test.py        needs a GPU
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
import torch

from syncwatch.model import Session

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
ROOT = Path(__file__).resolve().parents[2]


LOADER = """
import torch
from torch.utils.data import DataLoader

class Rows(torch.utils.data.Dataset):
    def __len__(self): return 32
    def __getitem__(self, i): return torch.full((4,), float(i))

def main():
    loader = DataLoader(Rows(), batch_size=8, num_workers=2, pin_memory=True, multiprocessing_context=CONTEXT)
    total = torch.zeros((), device="cuda")
    for batch in loader:
        total += batch.to("cuda", non_blocking=True).sum()
    print(total.item())

if __name__ == "__main__":
    main()
"""


PROGRAMS = {
    "fork": LOADER.replace("CONTEXT", "'fork'"),
    "spawn": LOADER.replace("CONTEXT", "'spawn'"),
    "status": """
import sys, torch
print(sys.argv, __name__)
torch.ones((), device="cuda").item()
sys.exit(7)
""",
    "fails": """
import torch
torch.ones((), device="cuda").item()
raise ValueError("broken")
""",
    "hangs": """
import time, torch
torch.ones((), device="cuda").item()
open("ready." + __import__("sys").argv[1], "w").close()
time.sleep(100)
""",
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Every program under `syncwatch run`, all at the same time: (status, stdout, stderr, session) of each."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "package").mkdir()
    (folder / "package" / "__main__.py").write_text(PROGRAMS["status"])
    for name, text in PROGRAMS.items():
        (folder / f"{name}.py").write_text(text)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    commands = {name: [f"{name}.py"] for name in ("fork", "spawn", "fails")}
    commands["status"] = ["status.py", "--lr", "3", "-m", "x"]
    commands["module"] = ["-m", "package", "--lr", "3"]
    signals = {"SIGTERM": signal.SIGTERM, "SIGINT": signal.SIGINT}
    commands.update({name: ["hangs.py", name] for name in signals})
    processes = {
        name: subprocess.Popen(
            [sys.executable, "-m", "syncwatch", "run", "-o", f"{name}.json", *words],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name, words in commands.items()
    }
    deadline = time.monotonic() + 100
    for name, number in signals.items():
        while not (folder / f"ready.{name}").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        processes[name].send_signal(number)
    results = {}
    for name, process in processes.items():
        out, err = process.communicate(timeout=100)
        file = folder / f"{name}.json"
        session = msgspec.json.decode(file.read_bytes(), type=Session) if file.exists() else None
        results[name] = (process.returncode, out, err, session)
    return results


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers_of_a_loader_are_harmless(runs, context):
    status, out, err, session = runs[context]
    assert (status, out) == (0, "1984.0\n"), err
    assert err.splitlines()[0] == f"syncwatch: recording {context}.py on the GPU"
    assert session.totals["count"] == 1
    assert "NVIDIA" in session.device_name
    assert [site.op for site in session.sites] == ["torch.Tensor.item"]


def test_a_program_has_its_own_arguments_and_exit_status(runs):
    status, out, err, session = runs["status"]
    assert (status, out) == (7, "['status.py', '--lr', '3', '-m', 'x'] __main__\n"), err
    assert session.totals["count"] == 1
    status, out, err, session = runs["module"]
    assert status == 7, err
    assert out.endswith("package/__main__.py', '--lr', '3'] __main__\n")
    assert session.sites[0].path == "package/__main__.py"


def test_a_program_that_fails_is_saved(runs):
    status, _, err, session = runs["fails"]
    assert status == 1
    assert "ValueError: broken" in err
    assert "launch.py" not in err
    assert session.totals["count"] == 1


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_program_dies_of_the_signal_and_is_saved(runs, name):
    status, _, err, session = runs[name]
    assert status == -getattr(signal, name), err
    assert session.totals["count"] == 1

"""What needs a process of its own: the command line, ranks, an emulation that comes too late, one that cannot go on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TIMEOUT = 120


def python(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *args],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", **environment},
    )


@pytest.fixture
def script(tmp_path: Path):
    def write(code: str) -> Path:
        path = tmp_path / "train.py"
        path.write_text(code, encoding="utf-8")
        return path

    return write


def test_run_emulates_where_there_is_no_gpu_and_says_so_first(script, tmp_path):
    path = script(
        "import torch\n"
        "assert torch.cuda.device_count() == 2\n"
        "total = 0.0\n"
        "for step in range(3):\n"
        "    total += torch.ones(4, device='cuda').sum().item()\n"
        "print('total', total)\n"
    )
    saved = tmp_path / "session.json"
    done = python("-m", "syncwatch", "run", "--devices", "2", "--output", str(saved), str(path))
    assert done.returncode in (0, 1), done.stderr
    assert "emulated" in (done.stderr + done.stdout).splitlines()[0]
    assert "total 12.0" in done.stdout
    session = json.loads(saved.read_text())
    assert (session["device"], session["device_name"]) == ("emulated", "emulated CUDA device")
    assert [(s["line"], s["kind"], s["op"], s["count"]) for s in session["sites"]] == [
        (5, "scalar-read", "torch.Tensor.item", 3)
    ]


def test_where_it_cannot_go_on_it_says_why_and_the_session_is_saved(script, tmp_path):
    path = script(
        "import torch\n"
        "library = torch.library.Library('nowhere', 'DEF')\n"
        "library.define('only_on_gpu(Tensor x) -> Tensor')\n"
        "x = torch.ones(4, device='cuda')\n"
        "x.sum().item()\n"
        "torch.ops.nowhere.only_on_gpu(x)\n"
        "x.sum().item()\n"
    )
    saved = tmp_path / "session.json"
    done = python("-m", "syncwatch", "run", "--device", "emulated", "--output", str(saved), str(path))
    assert done.returncode != 0
    assert "only_on_gpu has no CPU kernel" in done.stderr
    assert f"{path}:6" in done.stderr
    assert [site["line"] for site in json.loads(saved.read_text())["sites"]] == [5]


def test_an_operation_without_a_cpu_kernel_is_named_with_its_line(script):
    path = script(
        "import torch, syncwatch\n"
        "library = torch.library.Library('nowhere', 'DEF')\n"
        "library.define('only_on_gpu(Tensor x) -> Tensor')\n"
        "with syncwatch.emulate():\n"
        "    torch.ops.nowhere.only_on_gpu(torch.ones(2, device='cuda'))\n"
    )
    done = python(str(path))
    assert "nowhere::only_on_gpu has no CPU kernel" in done.stderr
    assert f"{path}:5" in done.stderr


def test_emptying_the_cache_waits_where_there_is_memory_to_give_back(script):
    path = script(
        "import torch, syncwatch\n"
        "with syncwatch.emulate(), syncwatch.watch() as report:\n"
        "    torch.cuda.empty_cache()\n"
        "    kept, gone = torch.ones(4, device='cuda'), torch.ones(4, device='cuda')\n"
        "    del gone\n"
        "    torch.cuda.empty_cache()  # small blocks share a segment\n"
        "    del kept\n"
        "    torch.cuda.empty_cache()  # line 8\n"
        "    torch.cuda.empty_cache()\n"
        "    torch.ones(1 << 20, device='cuda')\n"
        "    torch.cuda.empty_cache()  # line 11\n"
        "print([(site.line, site.kind.value, site.count) for site in report.sites])\n"
    )
    done = python(str(path))
    assert done.stdout.strip() == "[(8, 'allocator', 1), (11, 'allocator', 1)]", done.stderr


def test_too_late_is_said_in_one_sentence(script):
    path = script(
        "import torch, syncwatch\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "x.sum().backward()\n"
        "try:\n"
        "    with syncwatch.emulate():\n"
        "        print('entered')\n"
        "except RuntimeError as error:\n"
        "    print(error)\n"
        "(x * 2).sum().backward()\n"
        "print(x.grad.tolist(), torch.cuda.is_available())\n"
    )
    done = python(str(path))
    assert done.returncode == 0, done.stderr
    said, rest = done.stdout.splitlines()
    assert "before the emulated device was set up" in said
    assert "syncwatch run" in said
    assert rest == "[3.0, 3.0] False"


def test_what_replicas_wait_for_belongs_to_the_call_of_the_program(script):
    path = script(
        "import sys, torch, torch.distributed as dist\n"
        "from torch import nn\n"
        "from torch.nn.parallel import DistributedDataParallel\n"
        "import syncwatch\n"
        "class TwoPaths(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.used, self.left_out = nn.Linear(4, 4), nn.Linear(4, 4)\n"
        "    def forward(self, x):\n"
        "        return self.used(x)\n"
        "with syncwatch.emulate():\n"
        "    dist.init_process_group('nccl', init_method=f'file://{sys.argv[1]}/meeting', rank=0, world_size=1)\n"
        "    model = DistributedDataParallel(TwoPaths().to('cuda'), find_unused_parameters=True)\n"
        "    with syncwatch.watch() as report:\n"
        "        for step in range(3):\n"
        "            loss = model(torch.ones(2, 4, device='cuda')).sum()\n"
        "            loss.backward()\n"
        "    print([(s.kind.value, s.op, s.count) for s in report.sites])\n"
        "    dist.destroy_process_group()\n"
    )
    done = python(str(path), str(path.parent))
    assert done.returncode == 0, done.stderr
    forward = "torch.nn.parallel.DistributedDataParallel.forward"  # reads the times of the pass before
    assert done.stdout == f"[('event-wait', '{forward}', 16), ('tensor-read', 'torch.Tensor.backward', 3)]\n"


def test_ranks_train_together_and_get_the_values_of_the_cpu(script, on_two_ranks):
    path = script(
        "import os, sys, torch, torch.distributed as dist\n"
        "from torch import nn\n"
        "from torch.nn.parallel import DistributedDataParallel\n"
        "import syncwatch\n"
        "def train(device, backend):\n"
        "    rank = int(sys.argv[2])\n"
        "    meeting = f'file://{sys.argv[1]}/{device}'  # a place of its own for each group\n"
        "    dist.init_process_group(backend, init_method=meeting, rank=rank, world_size=2)\n"
        "    if device == 'cuda':\n"
        "        torch.cuda.set_device(rank)\n"
        "        device = f'cuda:{rank}'\n"
        "    torch.manual_seed(0)\n"
        "    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)).to(device)\n"
        "    model = DistributedDataParallel(model, find_unused_parameters=True)\n"
        "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "    torch.manual_seed(rank)\n"
        "    for _ in range(3):\n"
        "        loss = model(torch.randn(6, 4).to(device)).square().mean()\n"
        "        optimizer.zero_grad()\n"
        "        loss.backward()\n"
        "        optimizer.step()\n"
        "    total = loss.detach().clone()\n"
        "    dist.all_reduce(total)\n"
        "    gathered = [None, None]\n"
        "    dist.all_gather_object(gathered, rank)\n"
        "    assert gathered == [0, 1]\n"
        "    dist.barrier()\n"
        "    result = [total.item(), *(p.detach().sum().item() for p in model.parameters())]\n"
        # A gloo group must outlive its work: torch, which destroys one with the interpreter held, waits for a thread
        # that may want the interpreter to let go of a tensor. The emulated device sees to that.
        "    if device != 'cpu':\n"
        "        dist.destroy_process_group()\n"
        "    return result\n"
        "with syncwatch.emulate(devices=2):\n"
        "    emulated = train('cuda', 'nccl')\n"
        "plain = train('cpu', 'gloo')\n"
        "assert all(abs(a - b) < 1e-5 for a, b in zip(emulated, plain)), (emulated, plain)\n"
        "print('agreed', flush=True)\n"
        "os._exit(0)\n"
    )
    for out, err in on_two_ranks(path, TIMEOUT):
        assert "agreed" in out, err


def test_data_parallel_computes_what_one_device_does(script):
    path = script(
        "import torch, syncwatch\n"
        "from torch import nn\n"
        "def train(device, replicas):\n"
        "    torch.manual_seed(0)\n"
        "    model, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)), torch.randn(8, 4)\n"
        "    model = model.to(device)\n"
        "    out = (nn.DataParallel(model, replicas) if replicas else model)(x)  # from the host\n"
        "    out.square().mean().backward()\n"
        "    return out.detach().cpu(), model[0].weight.grad.cpu()\n"
        "with syncwatch.emulate(devices=2):\n"
        "    found = [train('cuda', [0]), train('cuda', [0, 1])]\n"
        "for out, grad in found:\n"
        "    plain, expected = train('cpu', None)\n"
        "    torch.testing.assert_close((out, grad), (plain, expected))\n"
        "print('agreed')\n"
    )
    done = python(str(path))
    assert done.stdout.strip() == "agreed", done.stderr

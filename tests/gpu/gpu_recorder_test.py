"""The recorder beside what torch does on a real GPU: graphs, compilation, workers, threads, backward.

python -m pytest tests/gpu/gpu_recorder_test.py        needs a GPU
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch

import syncwatch

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
ROOT = Path(__file__).resolve().parents[2]


def test_a_graph_can_be_captured_and_replayed():
    x = torch.rand(64, 64, device="cuda")
    graph = torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):  # torch asks for a warm-up
        (x @ x + x.where(x > 0, x)).sum()
    side.synchronize()
    with syncwatch.watch() as report:
        with torch.cuda.graph(graph):
            y = x @ x + x.where(x > 0, x)
        graph.replay()
        graph.replay()
    assert torch.allclose(y, x @ x + x)
    assert all(site.op != "torch" for site in report.sites), report.sites


def test_compile_neither_breaks_nor_recompiles():
    import torch._dynamo as dynamo
    from torch._dynamo.testing import CompileCounter

    counter = CompileCounter()

    def function(x):
        picked = x.reshape(-1)[2:5].to(torch.float16, non_blocking=True)
        return torch.where(picked > 0, picked, -picked).sum()

    compiled = torch.compile(function, backend=counter, fullgraph=True)
    x = torch.rand(8, device="cuda")
    compiled(x)
    with syncwatch.watch() as report:
        compiled(x)
        compiled(x).item()
    compiled(x)
    assert counter.frame_count == 1
    assert report.count == 1
    dynamo.reset()


def test_compile_inside_a_watch():
    def function(x):
        return (x * 2).relu().sum()

    compiled = torch.compile(function)
    with syncwatch.watch() as report:
        value = compiled(torch.rand(64, device="cuda"))
        read = value.item()
    assert read > 0
    assert report.count == 1, report.sites


def test_a_wait_in_a_python_backward_is_found_on_autograds_thread():
    class Reads(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            grad.sum().item()
            return grad * 2

    x = torch.rand(4, device="cuda", requires_grad=True)
    with syncwatch.watch() as report:
        Reads.apply(x).sum().backward()
    assert report.count == 1
    (site,) = report.sites
    assert site.op == "torch.Tensor.item"
    assert site.function.endswith("Reads.backward")


def test_a_wait_of_autograd_itself_belongs_to_the_backward_call():
    x = torch.rand(100, device="cuda", requires_grad=True)
    mask = x.detach() > 0.5
    loss = x[mask].sum()
    with syncwatch.watch() as report:
        loss.backward()
    (site,) = report.sites
    assert site.op == "torch.Tensor.backward"
    assert report.count == 1


def test_threads_keep_their_counts_apart():
    value = torch.ones((), device="cuda")
    counts = {}

    def work(name, reads):
        with syncwatch.watch() as report:
            for _ in range(reads):
                value.item()
        counts[name] = report.count

    threads = [threading.Thread(target=work, args=(name, 50 * (name + 1))) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == {0: 50, 1: 100, 2: 150, 3: 200}


def test_everything_is_as_before():
    time.sleep(1.5)  # wrappers of the tests before linger for a second
    before = dict(vars(torch.Tensor))
    with syncwatch.watch():
        assert torch.cuda.get_sync_debug_mode() == 0  # what the program asked for
        torch.ones((), device="cuda").item()
    assert dict(vars(torch.Tensor)) == before
    assert torch._C._cuda_get_sync_debug_mode() == 0
    assert torch.Tensor.item is before.get("item", torch._C.TensorBase.item)


def test_scalar_tensors_can_be_collected_into_one():
    values = [torch.ones((), device="cuda"), torch.zeros((), device="cuda")]
    with syncwatch.watch() as report:
        assert torch.tensor(values).tolist() == [1.0, 0.0]
    assert report.count == 2


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


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers_of_a_loader_are_harmless(tmp_path, context):
    (tmp_path / "load.py").write_text(LOADER.replace("CONTEXT", repr(context)))
    command = [sys.executable, "-m", "syncwatch", "run", "-o", "s.json", "load.py"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1984.0\n"
    assert done.stderr.splitlines()[0] == "syncwatch: recording load.py on the GPU"
    session = json.loads((tmp_path / "s.json").read_text())
    assert session["totals"]["count"] == 1
    assert "NVIDIA" in session["device_name"]
    assert [site["op"] for site in session["sites"]] == ["torch.Tensor.item"]

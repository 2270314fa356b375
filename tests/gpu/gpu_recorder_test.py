"""The recorder beside what torch does on a real GPU: graphs, compilation, threads, tasks, backward.

python -m pytest tests/gpu/gpu_recorder_test.py        needs a GPU
"""

from __future__ import annotations

import asyncio
import threading
import time
import warnings

import pytest
import torch

import syncwatch

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


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


def test_a_wait_of_the_compiler_is_listed_apart():
    import torch._dynamo as dynamo

    flag = torch.ones((), device="cuda")

    def backend(graph, inputs):
        flag.item()  # as a compiler does that tries kernels out
        return graph.forward

    compiled = torch.compile(lambda x: x * 2, backend=backend)
    x = torch.rand(8, device="cuda")
    with syncwatch.watch(max_syncs=1) as report:
        compiled(x)
        compiled(x).sum().item()
    assert report.count == 1, report.sites
    assert [(site.count, site.reason) for site in report.allowed] == [(1, "while torch.compile was compiling")]
    dynamo.reset()


class Reads(torch.autograd.Function):
    """Reads a gradient on the host."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        grad.sum().item()
        return grad * 2


def test_a_wait_in_a_python_backward_is_found_on_autograds_thread():
    x = torch.rand(4, device="cuda", requires_grad=True)
    with syncwatch.watch() as report:
        Reads.apply(x).sum().backward()
    assert report.count == 1
    (site,) = report.sites
    assert site.op == "torch.Tensor.item"
    assert site.function.endswith("Reads.backward")
    assert site.wait_ms is not None
    assert site.stack[0].endswith("Reads.backward")
    assert site.stack[1].endswith("test_a_wait_in_a_python_backward_is_found_on_autograds_thread")


def test_the_forward_line_stands_beside_it_where_torch_keeps_it():
    x = torch.rand(4, device="cuda", requires_grad=True)

    def model(x):
        return Reads.apply(x).sum()

    with torch.autograd.set_detect_anomaly(True, check_nan=False), syncwatch.watch() as report:
        model(x).backward()
    (site,) = report.sites
    assert any(entry.endswith("model (forward)") for entry in site.stack), site.stack


def test_a_recomputed_forward_waits_at_its_own_line():
    from torch.utils.checkpoint import checkpoint

    def block(x):
        y = x.sin()
        return (y * y.sum().item()).cos()  # torch recomputes no further than it has to

    x = torch.rand(4, device="cuda", requires_grad=True)
    with syncwatch.watch() as report:
        checkpoint(block, x, use_reentrant=False).sum().backward()
    (site,) = report.sites
    assert site.function.endswith("block")
    assert report.count == 2


def test_a_hook_of_a_gradient_waits_at_its_own_line():
    x = torch.rand(4, device="cuda", requires_grad=True)

    def look(grad):
        assert float(grad.sum()) == 4.0

    x.register_hook(look)
    with syncwatch.watch() as report:
        x.sum().backward()
    (site,) = report.sites
    assert (site.op, site.function.rpartition(".")[2]) == ("torch.Tensor.__float__", "look")


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


def test_tasks_keep_their_counts_apart():
    value = torch.ones((), device="cuda")

    async def reads(number):
        with syncwatch.watch() as report:
            for _ in range(number):
                await asyncio.sleep(0)
                value.item()
        return report.count

    @syncwatch.watch
    async def whole():
        return await asyncio.gather(reads(3), reads(5))

    assert asyncio.run(whole()) == [3, 5]
    assert whole.watch.report.count == 8  # with the tasks that were started inside


def test_watches_nest_and_a_call_may_call_itself():
    value = torch.ones((), device="cuda")

    @syncwatch.watch(max_syncs=3)
    def descend(depth):
        value.item()
        if depth:
            descend(depth - 1)

    with syncwatch.watch() as outer:
        value.item()
        descend(2)
        with syncwatch.allow("meant"):
            value.item()
    assert (outer.count, descend.watch.report.count) == (4, 3)
    assert [site.count for site in outer.allowed] == [1]


def test_generators_are_watched_while_they_run():
    value = torch.ones((), device="cuda")

    @syncwatch.watch
    def batches():
        for _ in range(3):
            value.item()
            yield value

    for batch in batches():
        batch.item()  # the consumer's own
    assert batches.watch.report.count == 3


def state():
    """What watches change while they are open."""
    functions = (torch.cuda.synchronize, torch._C._cuda_synchronize, torch.nonzero, torch._C._cuda_emptyCache)
    shown = (warnings._showwarnmsg, warnings.showwarning, list(warnings.filters))
    mode = (torch._C._cuda_get_sync_debug_mode(), torch._C._cuda_set_sync_debug_mode)
    return dict(vars(torch.Tensor)), dict(vars(torch.cuda.Event)), functions, shown, mode


def test_everything_is_as_before_also_after_an_exception():
    time.sleep(1.5)  # wrappers of the tests before linger for a second
    before = state()
    with syncwatch.watch():
        assert torch.cuda.get_sync_debug_mode() == 0  # what the program asked for
        torch.ones((), device="cuda").item()
    assert state() == before
    assert torch.Tensor.item is before[0].get("item", torch._C.TensorBase.item)

    @syncwatch.watch(max_syncs=0)
    def fails():
        raise KeyError(torch.ones((), device="cuda").item())

    with pytest.raises(KeyError):
        fails()
    assert state() == before

    @syncwatch.watch(max_syncs=0)
    def breaks():
        torch.ones((), device="cuda").item()

    for _ in range(50):
        with pytest.raises(syncwatch.SyncBudgetExceeded):
            breaks()
        # at once, what a program can notice; the wrappers within a second
        assert state()[3:] == before[3:]
    time.sleep(1.5)
    assert state() == before


def test_the_programs_own_debug_mode_goes_on():
    value = torch.ones((), device="cuda")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            with syncwatch.watch() as report:
                value.item()
            value.item()
        finally:
            torch.cuda.set_sync_debug_mode("default")
    assert report.count == 1
    assert sum("synchronizing" in str(warning.message) for warning in caught) == 2


def test_scalar_tensors_can_be_collected_into_one():
    values = [torch.ones((), device="cuda"), torch.zeros((), device="cuda")]
    with syncwatch.watch() as report:
        assert torch.tensor(values).tolist() == [1.0, 0.0]
    assert report.count == 2

"""Tables of `library`: data loading and writers, torch.cuda."""

# mypy: disable-error-code="misc, no-untyped-call, no-any-return"
from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import torch

from syncwatch.facts.measure.witness import Action

Table = dict[str, tuple[Callable[[], Any], Callable[..., Any]]]


def data(device: str) -> Table:
    from torch.utils import data

    def dataset() -> Any:
        return data.TensorDataset(torch.rand(8, 2, device=device), torch.rand(8, device=device))

    def writer() -> Any:
        from torch.utils.tensorboard import SummaryWriter

        return SummaryWriter(tempfile.mkdtemp())

    number: Callable[[], torch.Tensor] = lambda: torch.rand((), device=device)  # noqa: E731
    return {
        "default_collate of device tensors": (
            lambda: [[torch.rand(2, device=device) for _ in range(3)]],
            lambda xs: data.default_collate(xs[0]),
        ),
        "default_collate of numbers": (tuple, lambda: data.default_collate([1.0, 2.0])),
        "default_convert": (lambda: torch.rand(2, device=device), lambda *given: data.default_convert(*given)),
        "TensorDataset item": (dataset, lambda d: d[3]),
        "random_split": (dataset, lambda d: data.random_split(d, [4, 4])),
        "DataLoader of device tensors": (dataset, lambda d: next(iter(data.DataLoader(d, batch_size=4, shuffle=True)))),
        "WeightedRandomSampler of device weights": (
            lambda: torch.rand(4, device=device),
            lambda w: list(data.WeightedRandomSampler(w, 3)),
        ),
        "SubsetRandomSampler": (tuple, lambda: list(data.SubsetRandomSampler([1, 2, 3]))),
        "SummaryWriter.add_scalar": (lambda: (writer(), number()), lambda w, x: w.add_scalar("loss", x, 1)),
        "SummaryWriter.add_scalars": (lambda: (writer(), number()), lambda w, x: w.add_scalars("losses", {"a": x}, 1)),
        "SummaryWriter.add_scalar of a number": (writer, lambda w: w.add_scalar("loss", 0.5, 1)),
        "SummaryWriter.add_histogram": (
            lambda: (writer(), torch.rand(9, device=device)),
            lambda w, x: w.add_histogram("weights", x, 1),
        ),
        "SummaryWriter.add_image": (
            lambda: (writer(), torch.rand(3, 8, 8, device=device)),
            lambda w, x: w.add_image("image", x, 1),
        ),
        "SummaryWriter.add_text": (writer, lambda w: w.add_text("note", "text", 1)),
    }


def cuda(device: str) -> Table:
    if device != "cuda":
        return {}
    cuda = torch.cuda
    names = """max_memory_reserved host_memory_stats memory_snapshot get_arch_list current_blas_handle is_initialized
    get_rng_state_all initial_seed seed seed_all get_allocator_backend utilization temperature power_draw clock_rate
    memory_usage device_memory_used list_gpu_processes current_stream default_stream get_sync_debug_mode
    reset_accumulated_memory_stats reset_peak_host_memory_stats reset_max_memory_allocated graph_pool_handle
    is_current_stream_capturing get_per_process_memory_fraction is_tf32_supported memory_cached"""

    def side() -> Any:
        return cuda.Stream(), cuda.Event()

    def recorded() -> Any:
        event = torch.Event(device)
        event.record()
        return event

    def finished() -> Any:
        event = cuda.Event()
        event.record(cuda.Stream())
        return event

    def cached() -> Any:
        held = torch.empty(30_000_000, device=device)
        del held
        return ()

    table: Table = {
        f"cuda.{name}": (tuple, lambda n=name: getattr(cuda, n)()) for name in names.split() if hasattr(cuda, name)
    }
    table |= {
        "cuda.manual_seed": (tuple, lambda: cuda.manual_seed(1)),
        "cuda.set_stream": (tuple, lambda: cuda.set_stream(cuda.current_stream())),
        "cuda.stream context": (lambda: cuda.Stream(), _within_stream),
        "cuda.device context": (tuple, _within_device),
        "cuda.can_device_access_peer": (tuple, lambda: cuda.can_device_access_peer(0, 0)),
        "cuda.set_rng_state_all": (lambda: [cuda.get_rng_state_all()], lambda s: cuda.set_rng_state_all(s[0])),
        "cuda.nvtx.mark": (tuple, lambda: cuda.nvtx.mark("here")),
        "cuda.nvtx.range": (tuple, _within_range),
        "cuda.caching_allocator_alloc": (
            tuple,
            lambda: cuda.caching_allocator_delete(cuda.caching_allocator_alloc(1024)),
        ),
        "accelerator.empty_cache": (cached, lambda: torch.accelerator.empty_cache()),
        "cuda.memory.empty_cache": (cached, lambda: cuda.memory.empty_cache()),
        "accelerator.current_device_index": (tuple, lambda: torch.accelerator.current_device_index()),
        "accelerator.current_stream": (tuple, lambda: torch.accelerator.current_stream()),
        "seed": (tuple, lambda: torch.seed()),
        "initial_seed": (tuple, lambda: torch.initial_seed()),
        "Generator.manual_seed": (lambda: torch.Generator(device), lambda g: g.manual_seed(3)),
        "Generator.seed": (lambda: torch.Generator(device), lambda g: g.seed()),
        "Generator.get_state": (lambda: torch.Generator(device), lambda g: g.get_state()),
        "Stream.synchronize of a side stream": (lambda: cuda.Stream(), lambda s: s.synchronize()),
        "Stream.synchronize": (tuple, lambda: cuda.current_stream().synchronize()),
        "Stream.query of a side stream": (lambda: cuda.Stream(), lambda s: s.query()),
        "Event.synchronize of a side stream": (finished, lambda e: e.synchronize()),
        "Event.synchronize, never recorded": (lambda: cuda.Event(), lambda e: e.synchronize()),
        "Event.synchronize, blocking": (lambda: cuda.Event(blocking=True), lambda e: (e.record(), e.synchronize())),
        "Event.record on a side stream": (side, lambda s, e: e.record(s)),
        "Event.wait on a side stream": (side, lambda s, e: e.wait(s)),
        "Event.elapsed_time of finished events": (_timed, lambda a, b: a.elapsed_time(b)),
        "torch.Event.synchronize": (recorded, lambda e: (e.record(), e.synchronize())),
        "torch.Event.query": (recorded, lambda e: e.query()),
        "torch.Stream.synchronize": (lambda: torch.Stream(device), lambda s: s.synchronize()),
        "torch.Stream.query": (lambda: torch.Stream(device), lambda s: s.query()),
        "ExternalStream": (lambda: cuda.Stream(), lambda s: cuda.ExternalStream(s.cuda_stream)),
        "del of a tensor": (lambda: [torch.rand(1000, device=device)], lambda xs: xs.clear()),
        "del of pinned memory": (lambda: [torch.rand(1000).pin_memory()], lambda xs: xs.clear()),
        "host memory for a new pinned tensor": (tuple, lambda: torch.empty(3_000_001, pin_memory=True)),
        "comm.broadcast": (lambda: torch.rand(3, device=device), lambda x: cuda.comm.broadcast(x, [0])),
        "mem_pool": (tuple, _within_pool),
    }
    return table


def _timed() -> Any:
    first, second = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    first.record()
    second.record()
    torch.cuda.synchronize()
    return first, second


def _within_stream(stream: Any) -> None:
    with torch.cuda.stream(stream):
        pass


def _within_device() -> None:
    with torch.cuda.device(0):
        pass


def _within_range() -> None:
    with torch.cuda.nvtx.range("part"):
        pass


def _within_pool() -> None:
    with torch.cuda.use_mem_pool(torch.cuda.MemPool()):
        torch.empty(1000, device="cuda")


def capture(device: str) -> Action:
    """Capturing a graph: the region that it enters waits for the device."""
    x = torch.ones(8, device=device)

    def act() -> None:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            x * 2

    return act

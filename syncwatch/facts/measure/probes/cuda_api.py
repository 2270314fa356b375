"""torch.cuda: waits, queries, streams, events, memory, random state."""

# mypy: disable-error-code="misc, no-untyped-call, no-any-return"
from __future__ import annotations

from collections.abc import Iterator

import torch

from syncwatch.facts.measure.probes import Program, probe
from syncwatch.facts.measure.witness import Action


def programs(device: str) -> Iterator[Program]:
    def none() -> tuple[()]:
        return ()

    def event() -> torch.cuda.Event:
        return torch.cuda.Event()

    def recorded() -> torch.cuda.Event:
        made = torch.cuda.Event()
        made.record()
        return made

    def timed() -> tuple[torch.cuda.Event, torch.cuda.Event]:
        first, second = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        second.record()
        return first, second

    def record_and_synchronize(made: torch.cuda.Event) -> None:
        made.record()
        made.synchronize()

    def something_cached() -> Action:
        held = torch.empty(30_000_000, device=device)
        del held
        return lambda: torch.cuda.empty_cache()

    yield probe("cuda.synchronize", none, lambda: torch.cuda.synchronize())
    yield probe("cuda.synchronize(device)", none, lambda: torch.cuda.synchronize(device))
    yield probe("accelerator.synchronize", none, lambda: torch.accelerator.synchronize())
    yield probe("Stream.synchronize", none, lambda: torch.cuda.current_stream().synchronize())
    yield probe("Event.synchronize", event, record_and_synchronize)
    yield probe("Event.elapsed_time", timed, lambda a, b: a.elapsed_time(b))
    yield probe("Event.record", event, lambda e: e.record())
    yield probe("Event.query", recorded, lambda e: e.query())
    yield probe("Event.wait", recorded, lambda e: e.wait())
    yield probe("Stream.query", none, lambda: torch.cuda.current_stream().query())
    yield probe("Stream.wait_stream", torch.cuda.Stream, lambda s: torch.cuda.current_stream().wait_stream(s))
    yield probe("Stream.wait_event", recorded, lambda e: torch.cuda.current_stream().wait_event(e))
    yield probe("Stream.record_event", none, lambda: torch.cuda.current_stream().record_event())
    yield probe("Event()", none, lambda: torch.cuda.Event(enable_timing=True))
    yield probe("Stream()", none, lambda: torch.cuda.Stream())
    yield "empty_cache", something_cached
    yield probe("mem_get_info", none, lambda: torch.cuda.mem_get_info())
    yield probe("memory_allocated", none, lambda: torch.cuda.memory_allocated())
    yield probe("memory_reserved", none, lambda: torch.cuda.memory_reserved())
    yield probe("memory_stats", none, lambda: torch.cuda.memory_stats())
    yield probe("memory_summary", none, lambda: torch.cuda.memory_summary())
    yield probe("max_memory_allocated", none, lambda: torch.cuda.max_memory_allocated())
    yield probe("reset_peak_memory_stats", none, lambda: torch.cuda.reset_peak_memory_stats())
    yield probe("get_device_properties", none, lambda: torch.cuda.get_device_properties(0))
    yield probe("get_device_name", none, lambda: torch.cuda.get_device_name())
    yield probe("get_device_capability", none, lambda: torch.cuda.get_device_capability())
    yield probe("is_available", none, lambda: torch.cuda.is_available())
    yield probe("device_count", none, lambda: torch.cuda.device_count())
    yield probe("current_device", none, lambda: torch.cuda.current_device())
    yield probe("set_device", none, lambda: torch.cuda.set_device(0))
    yield probe("ipc_collect", none, lambda: torch.cuda.ipc_collect())
    yield probe("manual_seed", none, lambda: torch.manual_seed(1))
    yield probe("cuda.manual_seed_all", none, lambda: torch.cuda.manual_seed_all(1))
    yield probe("get_rng_state", none, lambda: torch.cuda.get_rng_state())
    yield probe("set_rng_state", lambda: torch.cuda.get_rng_state(), lambda s: torch.cuda.set_rng_state(s))
    yield probe("Generator", none, lambda: torch.Generator(device).manual_seed(1))
    yield probe("fork_rng", none, _fork)
    yield probe(
        "new allocation", lambda: torch.cuda.empty_cache() or (), lambda: torch.empty(50_000_000, device=device)
    )
    yield probe("nvtx range", none, lambda: (torch.cuda.nvtx.range_push("a"), torch.cuda.nvtx.range_pop()))
    yield probe("is_bf16_supported", none, lambda: torch.cuda.is_bf16_supported())
    yield "graph replay", lambda: _graph(device)


def _fork() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(1)


def _graph(device: str) -> Action:
    x = torch.ones(8, device=device)
    graph = torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        x * 2
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        x * 2
    return graph.replay

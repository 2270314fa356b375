"""`torch.cuda.CUDAGraph`: see `capture`. torch's own `graph` and `make_graphed_callables` work with it."""

from __future__ import annotations

import itertools
from typing import Any

import torch

from syncwatch.emulator.capture import CAPTURE, Recording
from syncwatch.emulator.patching import Patches, named_like

_pools = itertools.count(1)


def graph_pool_handle() -> tuple[int, int]:
    return (0, next(_pools))


class CUDAGraph:
    """Operations that are noted once and replayed."""

    def __new__(cls, keep_graph: bool = False) -> CUDAGraph:
        made = super().__new__(cls)
        made._recording = None
        made._pool = None
        return made

    def __init__(self, keep_graph: bool = False) -> None: ...

    _recording: Recording | None
    _pool: Any

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global", **kwargs: Any) -> None:
        if capture_error_mode not in ("global", "thread_local", "relaxed"):
            raise RuntimeError(
                f"Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got {capture_error_mode}"
            )
        self._pool = graph_pool_handle() if pool is None else pool
        self._recording = CAPTURE.begin()

    def capture_end(self) -> None:
        CAPTURE.end()

    def instantiate(self) -> None:
        self._recorded()

    def replay(self) -> None:
        self._recorded().replay()

    def _recorded(self) -> Recording:
        if self._recording is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        return self._recording

    def reset(self) -> None:
        self._recording = None

    def pool(self) -> Any:
        if self._pool is None:
            raise RuntimeError("Called CUDAGraph::pool() without a preceding successful capture.")
        return self._pool

    def enable_debug_mode(self) -> None: ...

    def debug_dump(self, debug_path: str) -> None:
        """Writes nothing: there are no kernels to draw."""


def is_current_stream_capturing() -> bool:
    return CAPTURE.recording is not None


def install(patches: Patches) -> None:
    """Replaces the graph itself, and what asks for a capture."""
    from torch.cuda import graphs

    public = named_like(type("CUDAGraph", (CUDAGraph,), {}), graphs.CUDAGraph)
    for owner in (torch.cuda, graphs):
        patches.set(owner, "CUDAGraph", public)
        patches.replace(owner, "graph_pool_handle", graph_pool_handle)
        patches.replace(owner, "is_current_stream_capturing", is_current_stream_capturing)
    patches.set(graphs, "_cuda_isCurrentStreamCapturing", is_current_stream_capturing)
    patches.set(torch._C, "_cuda_isCurrentStreamCapturing", is_current_stream_capturing)

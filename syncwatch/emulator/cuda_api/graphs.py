"""CUDA graphs cannot be captured here: what would be replayed runs each time instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from syncwatch.emulator.patching import Patches
from syncwatch.emulator.stops import EmulationStopped, caller


def _refuse(*args: Any, **kwargs: Any) -> Any:
    frame = caller()
    where = f" at {frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""
    raise EmulationStopped(
        f"syncwatch: torch.cuda.CUDAGraph{where} cannot be captured on the emulated device: a graph replays kernels, "
        "and there are none; run this program on a GPU (syncwatch run --device cuda), or turn its graphs off"
    )


def make_graphed_callables(callables: Any, *args: Any, **kwargs: Any) -> Any:
    """The callables as they are: they compute the same without a graph."""
    result: Callable[..., Any] = callables
    return result


def install(patches: Patches) -> None:
    class CUDAGraph:
        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            return _refuse()

    patches.set(torch.cuda, "CUDAGraph", CUDAGraph)
    patches.set(torch.cuda, "graph", _refuse)
    patches.set(torch.cuda, "graph_pool_handle", _refuse)
    patches.set(torch.cuda, "make_graphed_callables", make_graphed_callables)

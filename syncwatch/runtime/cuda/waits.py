"""Waits that the program asks for by name, which the sync debug mode does not report: synchronize and its kin."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch

from syncwatch.model import Kind
from syncwatch.runtime.cuda.clocks import WRAPPERS, Clock, Marks
from syncwatch.runtime.patching import Patches
from syncwatch.runtime.source import Sink


class WaitHook:
    """Times torch.cuda.synchronize, Event.synchronize, Stream.synchronize and the barriers of NCCL groups.

    The functions of torch.cuda are replaced where they enter C++, so that names imported earlier are seen too.
    """

    def __init__(self, clock: Clock, marks: Marks, paused: Callable[[], AbstractContextManager[None]]) -> None:
        self._clock = clock
        self._marks = marks
        self._paused = paused
        self._patches = Patches()

    def install(self, sink: Sink) -> None:
        """See `Hook.install`."""
        self._wrap(sink, torch._C, "_cuda_synchronize", Kind.DEVICE_WAIT, "torch.cuda.synchronize")
        self._wrap(sink, torch._C, "_accelerator_synchronizeDevice", Kind.DEVICE_WAIT, "torch.accelerator.synchronize")
        self._wrap(sink, torch.cuda.Event, "synchronize", Kind.EVENT_WAIT, "torch.cuda.Event.synchronize")
        self._wrap(sink, torch.cuda.Stream, "synchronize", Kind.STREAM_WAIT, "torch.cuda.Stream.synchronize")
        for module in ("torch.distributed", "torch.distributed.distributed_c10d"):
            for name in ("barrier", "destroy_process_group"):
                owner = sys.modules.get(module)
                if owner is not None:
                    op = f"torch.distributed.{name}"
                    self._wrap(sink, owner, name, Kind.COLLECTIVE, op, only_if=_on_nccl)

    def uninstall(self) -> None:
        """See `Hook.uninstall`."""
        self._patches.undo()

    def _wrap(
        self,
        sink: Sink,
        owner: Any,
        name: str,
        kind: Kind,
        op: str,
        only_if: Callable[[dict[str, Any]], bool] | None = None,
    ) -> None:
        original = getattr(owner, name, None)
        if original is None:
            return
        clock, marks = self._clock, self._marks

        def waits(*args: Any, **kwargs: Any) -> Any:
            concerned = only_if is None or only_if(kwargs)
            before = marks.count
            syncwatch_op = op
            syncwatch_start = clock()
            try:
                if only_if is not None and concerned:
                    # the bindings of torch.distributed print the debug mode's warnings to stderr
                    with self._paused():
                        return original(*args, **kwargs)
                return original(*args, **kwargs)
            finally:
                # Stream.synchronize is reported by the debug mode as well, on most versions of torch
                if concerned and marks.count == before:
                    now = clock()
                    marks.count += 1
                    waited = max(0.0, now - max(syncwatch_start, marks.until)) * 1e3
                    sink.occurred(kind, syncwatch_op, explicit=True, wait_ms=waited, frame=sys._getframe(1))
                    marks.until = clock()

        WRAPPERS[id(waits.__code__)] = waits.__code__
        waits.__name__ = name
        waits.__qualname__ = getattr(original, "__qualname__", name)
        waits.__doc__ = original.__doc__
        self._patches.set(owner, name, waits)


def _on_nccl(kwargs: dict[str, Any]) -> bool:
    distributed = torch.distributed
    if not distributed.is_initialized() or kwargs.get("async_op"):
        return False
    return "nccl" in str(distributed.get_backend(kwargs.get("group")))

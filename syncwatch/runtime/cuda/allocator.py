"""The caching allocator gives memory back with cudaFree, which waits for the whole device."""

from __future__ import annotations

import sys
from typing import Any

import torch

from syncwatch.model import Kind
from syncwatch.runtime.cuda.clocks import Clock, Marks
from syncwatch.runtime.patching import Patches
from syncwatch.runtime.source import Sink


class AllocatorHook:
    """Reports calls of empty_cache that gave memory back."""

    def __init__(self, clock: Clock, marks: Marks) -> None:
        self._clock = clock
        self._marks = marks
        self._patches = Patches()

    def install(self, sink: Sink) -> None:
        """See `Hook.install`."""
        for name, op in (
            ("_cuda_emptyCache", "torch.cuda.empty_cache"),
            ("_accelerator_emptyCache", "torch.accelerator.empty_cache"),
        ):
            original = getattr(torch._C, name, None)
            if original is not None:
                self._patches.set(torch._C, name, self._empties(sink, original, op))

    def uninstall(self) -> None:
        """See `Hook.uninstall`."""
        self._patches.undo()

    def _empties(self, sink: Sink, original: Any, op: str) -> Any:
        clock, marks = self._clock, self._marks

        def empty_cache(*args: Any) -> Any:
            reserved = _reserved()
            start = clock()
            result = original(*args)
            now = clock()
            if _reserved() < reserved:
                wait = max(0.0, now - max(start, marks.until)) * 1e3
                sink.occurred(Kind.ALLOCATOR, op, wait_ms=wait, frame=sys._getframe(1))
                marks.until = clock()
            return result

        return empty_cache


def _reserved() -> int:
    return sum(torch.cuda.memory_reserved(index) for index in range(torch.cuda.device_count()))

"""Copies with `non_blocking=True` from memory that is not pinned: the driver stages them, and may wait to do so.

The sync debug mode does not report them. Measured behind a busy H200: one copy of up to 2 MB returned at once, 4 MB
waited for the whole queue; of eight copies in a row those from 66 KB on waited, those of 64 KB did not. So a large
copy always counts, a small one never, and one in between counts when the stream was seen to run dry under it.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

from syncwatch.facts.observe import is_dense
from syncwatch.model import Kind
from syncwatch.runtime.compiling import is_dynamo_compiling
from syncwatch.runtime.cuda.clocks import Clock, Marks
from syncwatch.runtime.patching import Patches, present
from syncwatch.runtime.source import Sink

STAGED_IN_COMMAND = 64 << 10  # bytes: up to here the data travels with the command
STAGED_AT_ONCE = 2 << 20  # bytes: up to here a single copy found room in the staging buffers


class PageableCopyHook:
    """Watches Tensor.to, Tensor.cuda and Tensor.copy_ for asynchronous uploads from pageable memory."""

    def __init__(self, clock: Clock, marks: Marks) -> None:
        self._clock = clock
        self._marks = marks
        self._patches = Patches()

    def install(self, sink: Sink) -> None:
        """See `Hook.install`."""
        for name in ("to", "cuda", "copy_"):
            self._wrap(sink, name)

    def uninstall(self) -> None:
        """See `Hook.uninstall`."""
        self._patches.undo()

    def _wrap(self, sink: Sink, name: str) -> None:
        original = present(torch.Tensor, name)
        hook = self

        def copies(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            if (kwargs or len(args) > 1) and not is_dynamo_compiling() and _asynchronous(args, kwargs):
                source = args[0] if name == "copy_" and args else kwargs.get("src", self)
                target = self if name == "copy_" else None
                size = staged_bytes(source, target)
                if size > STAGED_IN_COMMAND:
                    return hook._staged(sink, f"torch.Tensor.{name}", size, original, (self, *args), kwargs)
            return original(self, *args, **kwargs)

        copies.__name__ = name
        copies.__qualname__ = f"Tensor.{name}"
        copies.__doc__ = original.__doc__
        self._patches.set(torch.Tensor, name, copies)

    def _staged(self, sink: Sink, op: str, size: int, original: Any, args: Any, kwargs: Any) -> Any:
        marks, clock = self._marks, self._clock
        before = marks.count
        busy = not _stream_idle()
        start = clock()
        result = original(*args, **kwargs)
        now = clock()
        if not isinstance(result, torch.Tensor) or not result.is_cuda or marks.count != before:
            return result
        # that an idle stream was found says nothing of small copies: there was nothing to wait for
        if size > STAGED_AT_ONCE or (busy and _stream_idle()):
            marks.count += 1
            wait = max(0.0, now - max(start, marks.until)) * 1e3
            sink.occurred(Kind.PAGEABLE_ASYNC, op, wait_ms=wait, frame=sys._getframe(1))
            marks.until = clock()
        return result


def _asynchronous(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    if kwargs.get("non_blocking") or kwargs.get("async"):
        return True
    return any(value is True for value in args[1:3])


def staged_bytes(source: Any, target: torch.Tensor | None = None) -> int:
    """Bytes of a host tensor that pass through pageable memory on the way to a device; 0 where none do.

    A pinned tensor is packed into pageable memory first where it has gaps, or where the target's layout differs.
    """
    if not isinstance(source, torch.Tensor) or source.device.type != "cpu" or source.layout != torch.strided:
        return 0
    if target is not None and not target.is_cuda:
        return 0
    size = source.numel() * source.element_size()
    if size <= STAGED_IN_COMMAND:
        return 0
    direct = is_dense(source) and (target is None or target.stride() == source.stride())
    return 0 if direct and source.is_pinned() else size


def _stream_idle() -> bool:
    if not torch.cuda.is_initialized() or torch.cuda.is_current_stream_capturing():
        return True
    return bool(torch.cuda.current_stream().query())

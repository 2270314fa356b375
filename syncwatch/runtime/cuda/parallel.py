"""DistributedDataParallel waits by itself, in C++ that does not report to Python what the sync debug mode says.

Its logger waits for the events of the iteration before, in the first ten iterations and then once in a hundred, and the
reducer reads how the ranks share out the buckets when it builds them anew. Both are entered from Python, and say
afterwards whether they did it. At the end of a backward pass the reducer reads back which parameters were used, when
some were not: see `unused_parameters`. What happens while a module is set up cannot be seen, and is named as a limit.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch

from syncwatch.model import Kind
from syncwatch.runtime.cuda.clocks import Clock, Marks
from syncwatch.runtime.patching import Patches, present
from syncwatch.runtime.source import Sink

DDP_LIMIT = "waits while DistributedDataParallel is set up are not counted: torch does not report them to Python"
_OP = "torch.nn.parallel.DistributedDataParallel.forward"
# measured: two events for each of four stretches of an iteration; sizes and order of the buckets
PASS_EVENTS, _COPIES = 8, 2


class DataParallelHook:
    """Reports the waits in the forward pass of DistributedDataParallel, and names those while it is set up."""

    def __init__(self, clock: Clock, marks: Marks, paused: Callable[[], AbstractContextManager[None]]) -> None:
        self._clock = clock
        self._marks = marks
        self._paused = paused
        self._patches = Patches()

    def install(self, sink: Sink) -> None:
        """See `Hook.install`."""
        self._watch_setup(sink)
        distributed = getattr(torch._C, "_distributed_c10d", None)
        logger, reducer = getattr(distributed, "Logger", None), getattr(distributed, "Reducer", None)
        if present(logger, "set_runtime_stats_and_log") is not None and hasattr(logger, "_get_ddp_logging_data"):
            self._wrap(sink, logger, "set_runtime_stats_and_log", Kind.EVENT_WAIT, PASS_EVENTS, _iteration)
        if present(reducer, "_rebuild_buckets") is not None:
            self._wrap(sink, reducer, "_rebuild_buckets", Kind.TENSOR_READ, _COPIES, None)

    def uninstall(self) -> None:
        """See `Hook.uninstall`."""
        self._patches.undo()

    def _watch_setup(self, sink: Sink) -> None:
        parallel = torch.nn.parallel.DistributedDataParallel
        original = parallel.__init__

        def construct(module: Any, *args: Any, **kwargs: Any) -> None:
            sink.limit(DDP_LIMIT)
            with self._paused():
                original(module, *args, **kwargs)

        construct.__doc__ = original.__doc__
        construct.__wrapped__ = original  # type: ignore[attr-defined]
        self._patches.set(parallel, "__init__", construct)

    def _wrap(
        self, sink: Sink, owner: Any, name: str, kind: Kind, waits: int, state: Callable[[Any], object] | None
    ) -> None:
        """Reports a call after which `state` of the object differs, or that returns true where there is no `state`."""
        original = present(owner, name)
        clock, marks = self._clock, self._marks

        def may_wait(this: Any) -> Any:
            frame = sys._getframe(1)
            if getattr(frame.f_locals.get("self"), "device_type", None) != "cuda":
                return original(this)
            before = None if state is None else state(this)
            start = clock()
            result = original(this)
            now = clock()
            if result if state is None else state(this) != before:
                until = marks.until
                waited = (now - (start if start > until else until)) * 1e3
                sink.occurred(kind, _OP, waits=waits, wait_ms=waited, frame=frame)
                marks.until = clock()
            return result

        may_wait.__name__ = name
        self._patches.set(owner, name, may_wait)


def _iteration(logger: Any) -> object:
    """The iteration that the logger has taken statistics of last."""
    return logger._get_ddp_logging_data().ints_map.get("iteration")

"""Operations that wait inside a library of theirs, where the sync debug mode does not look (sparse `coalesce`)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from syncwatch.facts import predict
from syncwatch.facts.observe import describe_call
from syncwatch.runtime.compiling import is_dynamo_compiling
from syncwatch.runtime.cuda.clocks import Clock, Marks, resolve
from syncwatch.runtime.patching import Patches
from syncwatch.runtime.source import Sink


class UnreportedHook:
    """Reports a call when the facts are sure that it waits, and no warning came."""

    def __init__(self, ops: Iterable[str], clock: Clock, marks: Marks) -> None:
        self._ops = tuple(ops)
        self._clock = clock
        self._marks = marks
        self._patches = Patches()

    def install(self, sink: Sink) -> None:
        """See `Hook.install`."""
        for op in self._ops:
            target = resolve(op)
            if target is not None:
                owner, name, original = target
                self._patches.set(owner, name, self._wrapper(sink, op, original))

    def uninstall(self) -> None:
        """See `Hook.uninstall`."""
        self._patches.undo()

    def _wrapper(self, sink: Sink, op: str, original: Callable[..., Any]) -> Callable[..., Any]:
        clock, marks = self._clock, self._marks

        def unreported(*args: Any, **kwargs: Any) -> Any:
            if is_dynamo_compiling():
                return original(*args, **kwargs)
            known = predict(op, describe_call(args, kwargs))  # before the call: it may change its arguments
            before = marks.count
            start = clock()
            result = original(*args, **kwargs)
            if known is not None and known.blocks and known.kind is not None and marks.count == before:
                now = clock()
                marks.count += 1
                sink.occurred(
                    known.kind,
                    op,
                    explicit=known.explicit,
                    waits=known.waits or 1,
                    wait_ms=max(0.0, now - max(start, marks.until)) * 1e3,
                    frame=sys._getframe(1),
                )
                marks.until = clock()
            return result

        unreported.__name__ = op.rpartition(".")[2]
        unreported.__qualname__ = getattr(original, "__qualname__", unreported.__name__)
        unreported.__doc__ = original.__doc__
        return unreported

"""The interface between what sees waits and what counts them.

A `Source` is one reversible object: `install(sink)` arms it, `uninstall()` leaves everything as it was. In between it
calls `sink.occurred(...)` once for each operation that made the host wait. The sink (the recorder) finds the user's
line, applies `allow` regions and watches, and keeps the counts; a source never needs to know about any of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Protocol, runtime_checkable

from syncwatch.model import Kind


class Unsupported(RuntimeError):
    """This torch, or this machine, cannot be watched: one sentence that says why, and what to do."""


class UnwatchedWarning(UserWarning):
    """A watch counts nothing here; the sentence says why. Given once for each reason."""


class Sink(Protocol):
    """Receives what a source sees. All methods may be called on any thread."""

    def occurred(
        self,
        kind: Kind,
        op: str,
        *,
        explicit: bool = False,
        waits: int = 1,
        wait_ms: float | None = None,
        frame: FrameType | None = None,
    ) -> None:
        """One operation made the host wait `waits` times.

        op: the operation's public name. explicit: the code asks for the wait in so many words. wait_ms: how long the
        host was held by all of these waits together, None where that is not known. frame: the frame in which it was
        seen, by default the caller's; the sink walks outward from there to the user's code.
        """

    def step_ended(self, owner: object) -> None:
        """An optimizer has made a step. `owner` identifies it: the first owner seen delimits the steps."""

    def limit(self, sentence: str) -> None:
        """A sentence that limits what the numbers mean; each is kept once."""


@runtime_checkable
class Source(Protocol):
    """Something that sees waits."""

    @property
    def device(self) -> str:
        """ "cuda" or "emulated": `Session.device`."""

    @property
    def device_name(self) -> str:
        """Such as "NVIDIA H200"; asked for only after `install`."""

    def install(self, sink: Sink) -> None:
        """Starts reporting to `sink`. Called once before `uninstall`; may be called again after that.

        Raises Unsupported where it cannot work here; nothing is changed then.
        """

    def uninstall(self, *, again: bool = False) -> None:
        """Stops reporting, and puts back everything that `install` changed.

        again: it will very likely be installed again at once; what is costly to put back may stay for a moment.
        """


_chosen: list[Source] = []


@contextmanager
def use_source(source: Source) -> Iterator[Source]:
    """Makes `source` the one that watches and sessions arm, until the block ends.

    The emulated device and the tests come in this way; without it the CUDA hooks are used.
    """
    _chosen.append(source)
    try:
        yield source
    finally:
        _chosen.remove(source)


@cache
def _cuda_source() -> Source:
    from syncwatch.runtime.cuda import CudaSource

    return CudaSource()


def current_source() -> Source:
    """The source that a watch arms now: the innermost `use_source`, else the CUDA hooks."""
    if _chosen:
        return _chosen[-1]
    return _cuda_source()

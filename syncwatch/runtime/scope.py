"""Which watches and `allow` regions hold for the code that is running now.

Regions belong to the context (`contextvars`): a thread or an asyncio task sees those that it entered itself, and a
task started inside a region sees that region too. Torch's own autograd threads have no context: they borrow the one
of the `backward` call that set them to work.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import NamedTuple

from syncwatch.runtime.ledger import Ledger


class Region:
    """A stretch of the program's run. A closed region that is still in some task's context has no effect."""

    __slots__ = ("ledger", "open", "reason")

    def __init__(self, *, ledger: Ledger | None = None, reason: str | None = None) -> None:
        self.ledger = ledger  # of a watch
        self.reason = reason  # of an `allow`
        self.open = True


_regions: ContextVar[tuple[Region, ...]] = ContextVar("syncwatch_regions", default=())


def enter(region: Region) -> None:
    """Adds `region` to the current context."""
    _regions.set((*_regions.get(), region))


def leave(region: Region) -> None:
    """Takes `region` out of the current context; it may have been entered in another one (a suspended generator)."""
    held = _regions.get()
    if region in held:
        _regions.set(tuple(other for other in held if other is not region))


class Backward(NamedTuple):
    """A call of backward under way: the thread that made it, its regions, and its frame."""

    thread: int
    regions: tuple[Region, ...]
    frame: FrameType


BACKWARDS: list[Backward] = []


@contextmanager
def backward_call(frame: FrameType) -> Iterator[None]:
    """Marks a call of backward, so that waits on autograd's threads find their way to it."""
    call = Backward(threading.get_ident(), _regions.get(), frame)
    BACKWARDS.append(call)
    try:
        yield
    finally:
        BACKWARDS.remove(call)


def borrowed() -> Backward | None:
    """The backward call that this thread works for, where it is one of autograd's own threads."""
    if not BACKWARDS:
        return None
    me = threading.get_ident()
    # a thread that Python started is known to `threading`, one of autograd's is not
    if me in threading._active:  # type: ignore[attr-defined]
        return None
    return BACKWARDS[-1]


# the regions of the current context, outermost first
regions = _regions.get

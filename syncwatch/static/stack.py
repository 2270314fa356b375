"""Room for deep recursion."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

# Deeply nested code is walked by recursion, in lowering and in inference; the frames need room.
_STACK_BYTES = (512 * 1024 * 1024, 64 * 1024 * 1024)
_RECURSION = (12_000, 3_000)

_T = TypeVar("_T")


def on_deep_stack(work: Callable[[], _T]) -> _T:
    """Runs `work` in a thread with a stack for deep recursion, and returns or raises what it does."""
    result: list[_T] = []
    failure: list[BaseException] = []

    def target() -> None:
        try:
            result.append(work())
        except BaseException as error:
            failure.append(error)

    limit, size = sys.getrecursionlimit(), threading.stack_size()
    try:
        thread = _start(target, limit)
        while thread.is_alive():  # in short waits, so that Ctrl-C is seen
            thread.join(0.2)
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(limit)
    if failure:
        raise failure[0]
    return result[0]


def _start(target: Callable[[], None], limit: int) -> threading.Thread:
    """Starts a thread with the largest stack that the system grants."""
    for bytes_, recursion in zip(_STACK_BYTES, _RECURSION, strict=True):
        try:
            threading.stack_size(bytes_)
            sys.setrecursionlimit(max(limit, recursion))
            thread = threading.Thread(target=target, name="syncwatch", daemon=True)
            thread.start()
            return thread
        except (RuntimeError, ValueError):  # no memory for it, or a size that the system refuses
            continue
    threading.stack_size(0)
    sys.setrecursionlimit(limit)
    thread = threading.Thread(target=target, name="syncwatch", daemon=True)
    thread.start()
    return thread

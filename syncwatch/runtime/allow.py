"""`allow`: marks waits as meant, with the reason."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar
from types import CodeType, TracebackType
from typing import Any, TypeVar

from syncwatch.runtime import scope
from syncwatch.runtime.compiling import is_compiling

F = TypeVar("F", bound=Callable[..., Any])

_seen: set[tuple[CodeType, int]] = set()
_seen_lock = threading.Lock()


class allow:
    """Marks the waits of a block, or of a function's calls, as meant: they are listed apart and never counted.

        with syncwatch.allow("the loss goes to the log"):
            log(loss.item())

    reason: why the wait is meant; reports show it. first_only: only the first run of this block (this line of the
    program), or the first call of the decorated function, is allowed; later ones count.

    Raises ValueError for an empty reason.
    """

    def __init__(self, reason: str, *, first_only: bool = False) -> None:
        if not isinstance(reason, str) or not reason.strip():
            raise ValueError('allow needs a reason: syncwatch.allow("why this wait is meant")')
        self.reason = reason
        self.first_only = first_only
        if is_compiling():  # a compiled graph has no regions, and must not break here
            return
        caller = sys._getframe(1)
        self._line = (caller.f_code, caller.f_lineno)
        self._held: ContextVar[tuple[scope.Region | None, ...]] = ContextVar("syncwatch_allow", default=())

    def _first(self) -> bool:
        with _seen_lock:
            if self._line in _seen:
                return False
            _seen.add(self._line)
            return True

    def __enter__(self) -> allow:
        if is_compiling():
            return self
        region = None
        if not self.first_only or self._first():
            region = scope.Region(reason=self.reason)
            scope.enter(region)
        self._held.set((*self._held.get(), region))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if is_compiling():
            return
        *rest, region = self._held.get()
        self._held.set(tuple(rest))
        if region is not None:
            region.open = False
            scope.leave(region)

    def __call__(self, function: F) -> F:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(
                f"allow does not decorate generators ({function.__qualname__}); use a `with` block inside it"
            )
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def allowed_coroutine(*args: Any, **kwargs: Any) -> Any:
                with self:
                    return await function(*args, **kwargs)

            return allowed_coroutine  # type: ignore[return-value]

        @functools.wraps(function)
        def allowed(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return allowed  # type: ignore[return-value]

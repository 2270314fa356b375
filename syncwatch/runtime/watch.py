"""`watch`: counts the waits of a function's calls or of a block, and holds them to a budget."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import AsyncGenerator, Callable, Generator
from contextvars import ContextVar
from functools import cache
from types import TracebackType
from typing import Any, Literal, TypeVar, overload

from syncwatch.runtime import scope
from syncwatch.runtime.compiling import is_compiling
from syncwatch.runtime.recorder import RECORDER
from syncwatch.runtime.report import Counting, Report, SyncBudgetExceeded, breach
from syncwatch.runtime.source import Unsupported, UnwatchedWarning

F = TypeVar("F", bound=Callable[..., Any])
OnExceed = Literal["raise", "warn", "ignore"]


class SyncBudgetWarning(UserWarning):
    """A budget was exceeded, and the watch was told to warn."""


class Watch:
    """Made by `watch`: a decorator and a context manager, usable again and again. See there."""

    def __init__(
        self, max_syncs: int | None, count: Counting, warmup: int, on_exceed: OnExceed, name: str | None
    ) -> None:
        if max_syncs is not None and (not isinstance(max_syncs, int) or max_syncs < 0):
            raise ValueError(f"max_syncs is a number of syncs, 0 or more, not {max_syncs!r}")
        if count not in ("all", "implicit"):
            raise ValueError(f'count is "all" or "implicit", not {count!r}')
        if on_exceed not in ("raise", "warn", "ignore"):
            raise ValueError(f'on_exceed is "raise", "warn" or "ignore", not {on_exceed!r}')
        if not isinstance(warmup, int) or warmup < 0:
            raise ValueError(f"warmup is a number of calls that do not count, 0 or more, not {warmup!r}")
        self.max_syncs = max_syncs
        self.count: Counting = count
        self.warmup = warmup
        self.on_exceed: OnExceed = on_exceed
        self.name = name or ""
        self.entered = 0  # calls and blocks so far, warm-up included
        self._decorates = False
        self.report = Report(self.name, count)  # of the last call or block
        # the passes of this watch that are open in this context; a recursive call is part of the call around it
        self._passes: ContextVar[tuple[Pass, ...]] = ContextVar("syncwatch_passes", default=())

    # -- a block

    def __enter__(self) -> Report:
        current = Pass(self)
        self._passes.set((*self._passes.get(), current))
        try:
            current.resume()
        except BaseException:
            self._passes.set(self._passes.get()[:-1])
            raise
        return current.report

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        *rest, current = self._passes.get()
        self._passes.set(tuple(rest))
        breached = kind is None and current.breaches()
        current.suspend(again=self._decorates and kind is None and not breached)
        current.finish(breached=breached)

    # -- a function

    def __call__(self, function: F) -> F:
        if isinstance(function, (staticmethod, classmethod)):
            return type(function)(self(function.__func__))
        if inspect.isclass(function) or not callable(function):
            raise TypeError(f"watch decorates functions, not {function!r}: decorate the method to be watched")
        if not self.name:
            self.name = getattr(function, "__qualname__", repr(function)).replace(".<locals>", "")
        self._decorates = True
        wrapper = self._wrap(function)
        wrapper.watch = self  # type: ignore[attr-defined]
        return wrapper  # type: ignore[return-value]

    def _wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
            kind = WatchedAsyncGenerator if inspect.isasyncgenfunction(function) else WatchedGenerator

            @functools.wraps(function)
            def watched_generator(*args: Any, **kwargs: Any) -> Any:
                return kind(self, function(*args, **kwargs))

            return watched_generator
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def watched_coroutine(*args: Any, **kwargs: Any) -> Any:
                if self._passes.get():
                    return await function(*args, **kwargs)
                with self:
                    result = await function(*args, **kwargs)
                    RECORDER.call_ended(self)
                    return result

            return watched_coroutine

        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            if is_compiling() or self._passes.get():
                return function(*args, **kwargs)
            with self:
                result = function(*args, **kwargs)
                RECORDER.call_ended(self)
                return result

        return watched


class Pass:
    """One call of a watched function, or one run of a watched block. It may be suspended, as generators are."""

    def __init__(self, owner: Watch) -> None:
        self.owner = owner
        self.report = Report(owner.name, owner.count)
        self.region = scope.Region(ledger=self.report._ledger)
        self._ticket: int | None = None
        owner.entered += 1
        self.number = owner.entered
        self.report.calls = 1

    def resume(self) -> None:
        """The code runs: arm, and count what this context does."""
        try:
            self._ticket = RECORDER.arm()
        except Unsupported as error:  # the program runs on, unwatched
            _warn_once(str(error))
        source = RECORDER.source
        if not getattr(source, "present", True):
            _warn_once("no CUDA device was found here, and watches count nothing; syncwatch.emulate() emulates one")
        for sentence in RECORDER.limits:
            self.report._ledger.limit(sentence)
        scope.enter(self.region)

    def suspend(self, *, again: bool = False) -> None:
        """The code does not run: nothing that happens now is its doing. `again`: it will very likely go on at once."""
        scope.leave(self.region)
        ticket, self._ticket = self._ticket, None
        if ticket is not None:
            RECORDER.disarm(ticket, again=again)

    def breaches(self) -> bool:
        """Whether there were more waits than the budget allows."""
        owner = self.owner
        if owner.max_syncs is None or self.number <= owner.warmup or owner.on_exceed == "ignore":
            return False
        return self.report.count > owner.max_syncs

    def finish(self, *, breached: bool) -> None:
        """Closes the report, and says so where the budget was exceeded. An exception of the code is never replaced."""
        __tracebackhide__ = True  # pytest shows the test, not us
        self.region.open = False
        owner = self.owner
        owner.report = self.report
        if breached and owner.max_syncs is not None:
            if owner.on_exceed == "raise":
                raise SyncBudgetExceeded(self.report, owner.max_syncs)
            warnings.warn(breach(self.report, owner.max_syncs), SyncBudgetWarning, stacklevel=4)


@cache
def _warn_once(sentence: str) -> None:
    warnings.warn(sentence, UnwatchedWarning, stacklevel=5)


class Turns:
    """A pass that is open only while a generator runs: from one `yield` to the next."""

    def __init__(self, owner: Watch) -> None:
        self._pass = Pass(owner)
        self._over = False

    def __enter__(self) -> None:
        self._pass.resume()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        ends = kind is not None and not self._over
        self._pass.suspend(again=kind is None)
        if ends:
            self._over = True
            regular = kind in (StopIteration, StopAsyncIteration)
            self._pass.finish(breached=regular and self._pass.breaches())


class WatchedGenerator(Generator[Any, Any, Any]):
    """A generator whose turns are watched; the code that consumes it is not."""

    def __init__(self, owner: Watch, inner: Generator[Any, Any, Any]) -> None:
        self._turns, self._inner = Turns(owner), inner

    def send(self, value: Any) -> Any:
        """See `generator.send`."""
        with self._turns:
            return self._inner.send(value)

    def throw(self, *error: Any) -> Any:
        """See `generator.throw`."""
        with self._turns:
            return self._inner.throw(*error)


class WatchedAsyncGenerator(AsyncGenerator[Any, Any]):
    """The same for `async def` generators."""

    def __init__(self, owner: Watch, inner: AsyncGenerator[Any, Any]) -> None:
        self._turns, self._inner = Turns(owner), inner

    async def asend(self, value: Any) -> Any:
        """See `agen.asend`."""
        with self._turns:
            return await self._inner.asend(value)

    async def athrow(self, *error: Any) -> Any:
        """See `agen.athrow`."""
        with self._turns:
            return await self._inner.athrow(*error)


@overload
def watch(function: F, /) -> F: ...


@overload
def watch(
    *,
    max_syncs: int | None = None,
    count: Counting = "all",
    warmup: int = 0,
    on_exceed: OnExceed = "raise",
    name: str | None = None,
) -> Watch: ...


def watch(
    function: Any = None,
    /,
    *,
    max_syncs: int | None = None,
    count: Counting = "all",
    warmup: int = 0,
    on_exceed: OnExceed = "raise",
    name: str | None = None,
) -> Any:
    """Counts how often the host waits for the device in a function's calls, or in a block.

        @syncwatch.watch(max_syncs=0, warmup=3)
        def train_step(batch): ...

        with syncwatch.watch() as report:
            train_step(batch)
        print(report.count, report.sites)

    Functions, methods, `forward`, coroutine functions and (asynchronous) generators can be decorated; `@watch` alone
    counts without a budget. The report of the last call is `train_step.watch.report`.

    max_syncs: more waits than this in one call or block are a breach; None sets no budget. count: "all", or
    "implicit" for only those waits that the code does not ask for by name (item, cpu, tolist, synchronize ask).
    warmup: the first calls that are not held to the budget. on_exceed: "raise", "warn" or "ignore". name: what
    messages call it.

    A watch counts what its own thread or task does, with the tasks started inside it and the autograd threads that
    work for it. A recursive call belongs to the call around it.

    Raises SyncBudgetExceeded at the end of a call or block that breaks its budget, unless it ends in an exception.
    """
    made = Watch(max_syncs, count, warmup, on_exceed, name)
    return made if function is None else made(function)

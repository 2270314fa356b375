"""The sync debug mode of torch.cuda: a warning after each wait of a copy or a stream, turned into an occurrence.

The decision is taken in the hook, never through the mode "error", which is global to the process. Warnings pass
through `warnings._showwarnmsg`, which survives `catch_warnings` blocks of the program, and a filter that lets them
through is kept in front of the program's own.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch

from syncwatch.runtime.cuda.clocks import Clock, Marks, opened
from syncwatch.runtime.cuda.naming import Named, named, start_of, trail
from syncwatch.runtime.frames import Frames
from syncwatch.runtime.patching import Patches
from syncwatch.runtime.source import Sink

# torch 2.0 to 2.13 say the first; earlier versions said the second
SYNC_TEXT = "called a synchronizing CUDA operation"
_SYNC_STARTS = (SYNC_TEXT, "called a synchronizing operation")
_SYNC_PATTERN = "called a synchronizing "
_PROTOTYPE_TEXT = "Synchronization debug mode is a prototype feature"
_WARN, _ERROR = 1, 2


class DebugModeHook:
    """Counts the warnings of the sync debug mode."""

    def __init__(self, frames: Frames, clock: Clock, marks: Marks, binding: Any = torch._C) -> None:
        self._frames = frames
        self._clock = clock
        self._marks = marks
        self._binding = binding
        self._patches = Patches()
        self._names: dict[object, Named] = {}
        self._sink: Sink | None = None
        self._filter: Any = None  # the same object at each arming
        self._filter_lists: list[list[Any]] = []  # where it is now
        self._filter_changers: dict[Callable[..., Any], Callable[..., Any]] = {}
        self._show: Any = None  # `warnings._showwarnmsg`, and torch's own setter, while armed
        self._set_mode: Any = None
        self._program_mode = 0  # what the program itself has asked torch for

    # -- arming: at each call of a decorated function, so everything that can be prepared is

    def install(self, sink: Sink) -> None:
        """See `Hook.install`."""
        binding = self._binding
        self._sink = sink
        self._set_mode = binding._cuda_set_sync_debug_mode
        self._program_mode = binding._cuda_get_sync_debug_mode()
        self._show = warnings._showwarnmsg  # type: ignore[attr-defined]
        self._patches.set(warnings, "_showwarnmsg", self._show_warning)
        self._keep_filter_in_front()
        self._patches.set(binding, "_cuda_set_sync_debug_mode", self._program_sets_mode)
        self._patches.set(binding, "_cuda_get_sync_debug_mode", self._program_gets_mode)
        self._set_mode(_WARN)

    def uninstall(self) -> None:
        """See `Hook.uninstall`."""
        if self._sink is None:
            return
        self._set_mode(self._program_mode)
        self._patches.undo()
        self._take_out_filter(warnings.filters)
        while self._filter_lists:
            self._take_out_filter(self._filter_lists.pop())
        self._sink = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Torch does not report waits in this block, on any thread."""
        if self._sink is not None:
            self._set_mode(0)
        try:
            yield
        finally:
            if self._sink is not None:
                self._set_mode(_WARN)

    def _show_warning(self, message: Any) -> None:
        """Stands in for `warnings._showwarnmsg`."""
        text = str(message.message)
        if text.startswith(_SYNC_STARTS):
            self._seen(sys._getframe(1))
            if self._program_mode == _WARN:
                self._show(message)
            elif self._program_mode == _ERROR:
                raise RuntimeError(SYNC_TEXT)
        elif not text.startswith(_PROTOTYPE_TEXT):
            self._show(message)

    def _program_sets_mode(self, mode: int) -> None:
        self._program_mode = mode

    def _program_gets_mode(self) -> int:
        return self._program_mode

    def _keep_filter_in_front(self) -> None:
        if self._filter is None or self._program_mode:
            # Python forgets which warnings it has shown already: also those that the program asked for itself
            warnings.filterwarnings("always", message=_SYNC_PATTERN)
            self._filter = warnings.filters[0]
        else:
            warnings.filters.insert(0, self._filter)  # type: ignore[attr-defined]
        self._filter_lists.append(warnings.filters)  # type: ignore[arg-type]
        for name in ("_add_filter", "resetwarnings"):
            original = getattr(warnings, name, None)
            if original is not None:
                self._patches.set(warnings, name, self._then_in_front(original))

    def _then_in_front(self, original: Callable[..., Any]) -> Callable[..., Any]:
        wrapper = self._filter_changers.get(original)
        if wrapper is not None:
            return wrapper

        def changes_filters(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            filters: Any = warnings.filters
            if self._sink is not None and (not filters or filters[0] is not self._filter):
                self._take_out_filter(filters)
                filters.insert(0, self._filter)
                if all(filters is not known for known in self._filter_lists):
                    self._filter_lists.append(filters)
            return result

        self._filter_changers[original] = changes_filters
        return changes_filters

    def _take_out_filter(self, filters: Any) -> None:
        if filters and filters[0] is self._filter:
            del filters[0]  # where it nearly always is, and never twice
        elif self._filter in filters:
            filters.remove(self._filter)

    # -- one wait

    def _seen(self, frame: FrameType) -> None:
        now = self._clock()
        sink, marks = self._sink, self._marks
        if sink is None:
            return
        operation = opened(frame)
        caller = frame if operation is None else frame.f_back
        if caller is not None and self._frames.is_user(caller.f_code):
            # The usual case, without a list of what lies between: there is nothing.
            start = None if operation is None else operation.start
            key: object = (caller.f_code, caller.f_lasti, operation is None)
            name = self._names.get(key)
            if name is None:
                name = self._names[key] = named(trail(frame, self._frames))
            frame, compiling = caller, False
        else:
            way = trail(frame, self._frames)
            start = start_of(way)
            caller = way.caller
            key = (
                None if caller is None else (caller.f_code, caller.f_lasti),
                None if way.innermost is None else way.innermost.op,
                way.frames[-1].f_code if way.frames else None,
            )
            name = self._names.get(key)
            if name is None:
                name = self._names[key] = named(way)
            compiling = len(way.frames) > _DEEP and _inside_compiler(way.frames)
            if caller is not None and self._frames.is_user(caller.f_code):
                frame = caller  # with nothing but torch on the way, the user's line is all there is to say
        # of several waits in one operation the first warning carries the time of all
        waited = None if start is None else max(0.0, now - max(start, marks.until)) * 1e3
        sink.occurred(name.kind, name.op, explicit=name.explicit, wait_ms=waited, frame=frame, compiling=compiling)
        marks.count += 1
        marks.until = self._clock()


_DEEP = 4  # the compiler's own frames are many


def _inside_compiler(frames: list[FrameType]) -> bool:
    """Whether torch.compile is at work (not: whether a compiled function runs)."""
    return any(
        frame.f_code.co_name == "_compile" and frame.f_globals.get("__name__") == "torch._dynamo.convert_frame"
        for frame in frames
    )

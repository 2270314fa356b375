"""The sync debug mode of torch.cuda: a warning after each wait of a copy or a stream, turned into an occurrence.

The decision is taken in the hook, never through the mode "error", which is global to the process. Warnings pass
through `warnings._showwarnmsg`, which survives `catch_warnings` blocks of the program, and a filter that lets them
through is kept in front of the program's own.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import torch

from syncwatch.runtime.cuda.clocks import WRAPPERS, Clock, Marks
from syncwatch.runtime.cuda.lingering import SOON
from syncwatch.runtime.cuda.naming import Named, called_variable, named, start_of, trail, what_is_called
from syncwatch.runtime.frames import Frames, Owner
from syncwatch.runtime.patching import Patches
from syncwatch.runtime.source import Sink

# torch 2.0 to 2.13 say the first; earlier versions said the second
SYNC_TEXT = "called a synchronizing CUDA operation"
_SYNC_STARTS = (SYNC_TEXT, "called a synchronizing operation")
_PROTOTYPE_TEXT = "Synchronization debug mode is a prototype feature"
_PATTERN = f"called a synchronizing |{_PROTOTYPE_TEXT}"
_WARN, _ERROR = 1, 2
_BOTH_WAYS = frozenset({"torch.Tensor.to", "torch.Tensor.copy_", "torch.Tensor.type_as"})  # to the device or from it


class DebugModeHook:
    """Counts the warnings of the sync debug mode."""

    def __init__(self, frames: Frames, clock: Clock, marks: Marks, binding: Any = torch._C) -> None:
        self._frames = frames
        self._clock = clock
        self._marks = marks
        self._binding = binding
        self._patches = Patches()
        self._names: dict[object, Named] = {}
        self._codes: list[CodeType] = []  # whose identities are keys of `_names`
        self._sink: Sink | None = None
        self._filter: Any = None  # the same object at each arming
        self._filter_lists: list[list[Any]] = []  # where it is now
        self._left = 0.0  # when it was taken out
        self._filter_changers: dict[Callable[..., Any], Callable[..., Any]] = {}
        self._show: Any = None  # `warnings._showwarnmsg`, and torch's own setter, while armed
        self._set_mode: Any = None
        self._program_mode = 0  # what the program itself has asked torch for

    # -- arming: what stays between the calls of a busy decorated function, and what is done at each call

    def install(self, sink: Sink) -> None:
        """See `Hook.install`. Torch reports only after `wake`."""
        binding = self._binding
        self._set_mode = binding._cuda_set_sync_debug_mode
        self._program_mode = binding._cuda_get_sync_debug_mode()
        self._show = warnings._showwarnmsg  # type: ignore[attr-defined]
        self._patches.set(warnings, "_showwarnmsg", self._show_warning)
        self._keep_filter_in_front()
        self._patches.set(binding, "_cuda_set_sync_debug_mode", self._program_sets_mode)
        self._patches.set(binding, "_cuda_get_sync_debug_mode", self._program_gets_mode)

    def wake(self, sink: Sink) -> None:
        """Torch reports its waits from now on, and `sink` is told."""
        self._sink = sink
        self._put_in_front()  # the program may have changed the filters while we were at rest
        self._set_mode(_WARN)

    def rest(self) -> bool:
        """Undoes `wake`. Returns whether the rest may stay as it is: the program does not use the mode itself."""
        if self._sink is not None:
            self._set_mode(self._program_mode)
            self._sink = None
        return self._program_mode == 0

    def uninstall(self) -> None:
        """See `Hook.uninstall`."""
        self.rest()
        self._patches.undo()
        self._left = self._clock()
        self._take_out_filter(warnings.filters)
        while self._filter_lists:
            self._take_out_filter(self._filter_lists.pop())

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
        if self._sink is None:
            self._show(message)
        elif text.startswith(_SYNC_STARTS):
            self._seen(sys._getframe(1))
            if self._program_mode == _WARN:
                self._show(message)
            elif self._program_mode == _ERROR:
                raise RuntimeError(SYNC_TEXT)
        elif not text.startswith(_PROTOTYPE_TEXT):
            if self._frames.owner_of(message.filename) is Owner.SELF:
                self._move_to_caller(message, sys._getframe(1))
            self._show(message)

    def _move_to_caller(self, message: Any, frame: FrameType | None) -> None:
        """A warning of torch to whoever called it, which was one of our wrappers, is for whoever called that."""
        while frame is not None and frame.f_code.co_filename != message.filename:
            frame = frame.f_back
        while frame is not None and self._frames.owner(frame.f_code) is Owner.SELF:
            frame = frame.f_back
        if frame is not None:
            message.filename, message.lineno = frame.f_code.co_filename, frame.f_lineno

    def _program_sets_mode(self, mode: int) -> None:
        self._program_mode = mode
        if self._sink is None:
            self._set_mode(mode)

    def _program_gets_mode(self) -> int:
        return self._program_mode

    def _keep_filter_in_front(self) -> None:
        if self._filter is None or self._program_mode or self._clock() - self._left > SOON:
            # Python forgets which warnings it has shown, also those that the program has asked torch for since we left.
            # Not at each call of a decorated step: what the program says once would be shown each time.
            warnings.filterwarnings("always", message=_PATTERN)
            self._filter = warnings.filters[0]
            self._filter_lists.append(warnings.filters)  # type: ignore[arg-type]
        else:
            self._put_in_front()
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
            if self._sink is not None:
                self._put_in_front()
            return result

        self._filter_changers[original] = changes_filters
        return changes_filters

    def _put_in_front(self) -> None:
        filters: Any = warnings.filters
        if filters and filters[0] is self._filter:
            return
        self._take_out_filter(filters)
        filters.insert(0, self._filter)
        if all(filters is not known for known in self._filter_lists):
            self._filter_lists.append(filters)

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
        start = op = None
        caller: FrameType | None = frame
        if id(frame.f_code) in WRAPPERS:
            held, caller = frame.f_locals, frame.f_back
            start, op = held.get("syncwatch_start"), held.get("syncwatch_op")
            if op in _BOTH_WAYS:
                op = _directed(op, held["args"])
        # The usual case, without a list of what lies between: there is nothing. Code is named by identity, since its
        # hash takes as long as the code is; whoever keeps the identity keeps the code.
        name = None if caller is None else self._names.get((id(caller.f_code), caller.f_lasti, op))
        if name is None:
            name, frame, start = self._named_by_trail(frame, op)
        elif caller is not None:
            frame = caller
        # of several waits in one operation the first warning carries the time of all
        waited = None
        if start is not None:
            until = marks.until
            waited = (now - (start if start > until else until)) * 1e3
        sink.occurred(name.kind, name.op, explicit=name.explicit, wait_ms=waited, frame=frame)
        marks.count += 1
        marks.until = self._clock()

    def _named_by_trail(self, frame: FrameType, op: str | None) -> tuple[Named, FrameType, float | None]:
        """The name of the wait, the frame to attribute it from, and when its operation began."""
        way = trail(frame, self._frames)
        caller = way.caller
        by_user = caller is not None and self._frames.is_user(caller.f_code)
        direct = not way.frames or (len(way.frames) == 1 and id(way.frames[0].f_code) in WRAPPERS)
        key: object = (
            None if caller is None else (id(caller.f_code), caller.f_lasti),
            None if way.innermost is None else _directed(way.innermost.op, way.innermost.args),
            what_is_called(way),
        )
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = named(way)
            self._codes += [seen.f_code for seen in (*way.frames, caller) if seen is not None]
        if direct and by_user and caller is not None and (op is not None or called_variable(caller) is None):
            self._names[id(caller.f_code), caller.f_lasti, op] = name
        # with nothing but torch on the way, the user's line is all there is to say
        return name, caller if by_user and caller is not None else frame, start_of(way)


def _directed(op: str, args: Sequence[Any]) -> str:
    """The operation, and for a copy where its tensor is: one line may copy both ways."""
    if op in _BOTH_WAYS and args:
        return op + (" of a device tensor" if getattr(args[0], "is_cuda", False) else " of a host tensor")
    return op

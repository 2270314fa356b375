"""From operations on the device to the waits that a GPU would have caused, by the table of facts.

Only what the facts are sure of counts. An operation is named as the recorder names it on a real GPU, from the frames
around it, so that both tell the same story.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch

from syncwatch.emulator.layouts import CONVERSIONS, conversion_waits
from syncwatch.emulator.values import BACKEND, value_of
from syncwatch.facts import by_leaf, by_name, predict
from syncwatch.facts.describe import Arg, Call
from syncwatch.facts.observe import describe, describe_call
from syncwatch.facts.table import Fact, judge
from syncwatch.model import Kind
from syncwatch.runtime import scope
from syncwatch.runtime.cuda.clocks import Opened
from syncwatch.runtime.cuda.naming import BACKWARD, Named, Trail, named, trail, what_is_called
from syncwatch.runtime.frames import Frames
from syncwatch.runtime.source import Sink

# Measured on one H200 for one matrix of 256 by 256, where nothing better is known.
_USUAL_WAITS = {
    "aten._linalg_svd": 2,
    "aten.linalg_eig": 3,
    "aten.linalg_eigvals": 2,
    "aten._linalg_eigvals": 2,
    "aten.linalg_matrix_exp": 6,
}
# Operations of passes backward alone, which the table of facts leaves out; measured in the same way.
BACKWARD_WAITS: dict[str, tuple[int | None, Kind]] = {"aten._ctc_loss_backward.default": (3, Kind.UPLOAD)}
_INDEXING = "torch.Tensor.__getitem__"


class Events:
    """Tells the sink, while there is one."""

    def __init__(self) -> None:
        self.listening = False
        self._sink: Sink | None = None
        self._frames: Frames = Frames()
        self._names: dict[object, Named] = {}
        self._facts: dict[Any, Fact | None] = {}
        self._counting: float | None = None  # the wrapped call that waited last, by its start
        self._counted = 0  # its waits so far

    def listen(self, sink: Sink, frames: Frames) -> None:
        """From now on `sink` is told."""
        from syncwatch.emulator.kernels import LISTENING

        self._sink, self._frames = sink, frames
        self.listening = True
        LISTENING.observer = self.leaf

    def stop(self) -> None:
        """Undoes `listen`."""
        from syncwatch.emulator.kernels import LISTENING

        LISTENING.observer = None
        self.listening = False
        self._sink = None

    @contextmanager
    def unheard(self) -> Iterator[None]:
        """Nobody is told of what happens in this block: the program did not ask for it."""
        sink, self._sink = self._sink, None
        try:
            yield
        finally:
            self._sink = sink

    def api(self, op: str, *args: Any) -> None:
        """The program called a function of torch.cuda that waits by definition."""
        sink = self._sink
        if sink is None:
            return
        fact = by_name(op)
        case = next((case for case in fact.cases if case.kind is not None), None) if fact is not None else None
        if case is not None and case.kind is not None:
            sink.occurred(case.kind, op, explicit=case.explicit, frame=sys._getframe(1))

    def collective(self, op: str, frame: FrameType) -> None:
        """A distributed call that holds the host until the device has come that far."""
        if self._sink is not None:
            self._sink.occurred(Kind.COLLECTIVE, op, explicit=True, frame=frame)

    def leaf(self, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """An operation of the dispatcher is about to run on the device."""
        expected = None if self._sink is None else self._expected(op, args, kwargs)
        if expected is None:
            return
        waits, kind = expected
        if waits is None:
            waits = self._waits_by_data(str(op), sys._getframe(1))
        if waits:
            self.report(sys._getframe(1), waits, kind)

    def would_wait(self, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Whether the host is sure to wait for the device in this operation."""
        expected = self._expected(op, args, kwargs)
        return expected is not None and expected[0] != 0

    def _expected(self, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[int | None, Kind] | None:
        """How often the host is sure to wait (None where the data decides), and for what."""
        if not _concerns_host(op, args, kwargs):
            return None
        name = str(op)
        if name in BACKWARD_WAITS:
            return BACKWARD_WAITS[name]
        if name in CONVERSIONS:
            converting = conversion_waits(name, args[0])
            if converting is not None:
                return converting, Kind.DYNAMIC_SHAPE
        fact = self._facts.get(op)
        if fact is None:
            fact = self._facts[op] = by_leaf(name)
            if fact is None:
                return None
        if name == "aten._to_copy.default" and kwargs.get("dtype") == args[0].dtype:
            kwargs = {key: value for key, value in kwargs.items() if key != "dtype"}  # torch names it in every copy
        call = Call(tuple(describe(arg) for arg in args), {key: _described(value) for key, value in kwargs.items()})
        known = judge(fact, name, call)
        return (known.waits, known.kind) if known.blocks and known.kind is not None else None

    def _waits_by_data(self, name: str, frame: FrameType) -> int:
        """How often an operation waits where the data decides: what the facts say of the public call around it."""
        around = trail(frame, self._frames).innermost
        known = None if around is None else predict(around.op, describe_call(around.args, around.kwargs))
        if around is not None and known is not None and known.waits:
            # of the whole call, of which some have been seen, and some may come as operations of their own
            counted = self._counted if self._counting == around.start else 0
            return max(1, known.waits - counted - _still_to_come(name, around))
        return _USUAL_WAITS.get(name.removesuffix(".default"), 1)

    def report(self, frame: FrameType | None, waits: int = 1, kind: Kind | None = None) -> None:
        """The host waits, `waits` times, in what `frame` does; `kind` is that of the operation at the bottom."""
        sink = self._sink
        if sink is None:
            return
        way = trail(frame, self._frames)
        if way.caller is None and not way.frames:
            # one of autograd's own threads: the recorder hears of it at the end of the backward call
            call = scope.borrowed()
            if call is not None:
                frame = call.frame
                way = trail(frame, self._frames)
        if way.innermost is not None:
            if self._counting != way.innermost.start:
                self._counting, self._counted = way.innermost.start, 0
            self._counted += waits
        name = self._name(way, kind)
        if name.op == "torch" and scope.borrowed() is not None:  # C++ on one of autograd's threads, no call of Python's
            name = name._replace(op="torch.Tensor.backward")
        caller = way.caller
        if caller is not None and self._frames.is_user(caller.f_code):
            frame = caller  # with nothing but torch in between, that line is all there is to say
        sink.occurred(name.kind, name.op, explicit=name.explicit, waits=waits, frame=frame)

    def _name(self, way: Trail, kind: Kind | None) -> Named:
        caller = way.caller
        key = (
            None if caller is None else (caller.f_code, caller.f_lasti),
            None if way.innermost is None else way.innermost.op,
            what_is_called(way),
            kind,
        )
        name = self._names.get(key)
        if name is None:
            name = named(way)
            if kind is not None and _knows_better(name, kind):
                name = name._replace(kind=kind)
            self._names[key] = name = _public(name, way)
        return name


def _public(name: Named, way: Trail) -> Named:
    """`name`, where it is that of a private method, with the public one that called it."""
    owner, _, method = name.op.rpartition(".")
    if not method.startswith("_") or method.startswith("__"):
        return name
    methods = [frame.f_code.co_name for frame in way.frames]
    if method in methods:
        for outer in methods[methods.index(method) + 1 :]:
            if not outer.startswith("_"):
                return name._replace(op=f"{owner}.{outer}")
    return name


def _still_to_come(name: str, around: Opened) -> int:
    """Waits of the public call that follow this operation: the mean of ctc_loss uploads the targets' lengths."""
    if name != "aten._ctc_loss.default" or around.op != "torch.nn.functional.ctc_loss":
        return 0
    reduction = around.kwargs.get("reduction", around.args[5] if len(around.args) > 5 else "mean")
    return int(reduction == "mean")


def _knows_better(name: Named, kind: Kind) -> bool:
    """Whether the operation at the bottom says more of the wait than the public one, whose arguments may not be known.

    The facts have no word for some public operations, and several for others; but a copy has one direction. A pass
    backward is one operation of which nobody sees the inside on a GPU either.
    """
    if name.op in BACKWARD:
        return False
    copies = (Kind.UPLOAD, Kind.TENSOR_READ, Kind.PAGEABLE_ASYNC)
    return name.kind is Kind.STREAM_WAIT or name.op == _INDEXING or (kind in copies and name.kind in copies)


def _concerns_host(op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Sorts out, without describing anything, copies that stay on the device: the commonest call by far."""
    name = op._schema.name
    if name == "aten::copy_":
        source = args[1]
        target = value_of(args[0])
        origin = value_of(source) if hasattr(source, "__dict__") else None
        return (target is None) != (origin is None) and args[0].numel() > 0 and not _is_own_value(target, source)
    if name == "aten::_to_copy":
        device = kwargs.get("device")
        return device is not None and (device.type == "cpu") != (value_of(args[0]) is None) and args[0].numel() > 0
    return True


def _described(value: Any) -> Arg:
    if type(value) is torch.device and value.type == BACKEND:
        return Arg("device", device="cuda")
    return describe(value)


def _is_own_value(value: Any, source: Any) -> bool:
    """Whether `source` is the very memory that `value` holds: torch.distributed hands results of ours back to us."""
    if value is None or not hasattr(source, "untyped_storage"):
        return False
    return bool(value.untyped_storage()._cdata == source.untyped_storage()._cdata)


EVENTS = Events()

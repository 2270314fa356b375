"""Streams: results used without an order, memory that may be freed too early, streams made in a step; host clocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from syncwatch.model import Certainty, Kind
from syncwatch.static.infer import events
from syncwatch.static.infer.text import words
from syncwatch.static.values import FALSE, NONE, TRUE, Host, Obj, Tensor, Value

if TYPE_CHECKING:
    from syncwatch.static.infer.machine import Interpreter

_MAKERS = frozenset({"torch.cuda.Stream", "torch.cuda.Event", "torch.Stream", "torch.Event"})
_RECORDED = "<recorded on>"
_FORM = words("record_stream size dim numel stride is_contiguous __len__ requires_grad_ detach backward")


def current(m: Interpreter) -> Obj | None:
    """The side stream that work goes to; None for the default stream."""
    found = m.mode("stream")
    return found if type(found) is Obj and "<which>" not in found.slots else None


def identity(stream: Value) -> int:
    """A key of a stream: 0 for the default stream and the current one outside any side stream."""
    return id(stream) if type(stream) is Obj and "<which>" not in stream.slots else 0


def produced(m: Interpreter, v: Tensor) -> Tensor:
    """A result, marked with the side stream that makes it."""
    stream = current(m)
    if stream is None:
        return v if v.stream is None else msgspec.structs.replace(v, stream=None)
    m.journal.write(m.world, ("ordered", id(stream)), FALSE)
    return msgspec.structs.replace(v, stream=stream, marks=v.marks - {"recorded"})


def used(m: Interpreter, name: str, v: Tensor, node: Any) -> None:
    """A tensor of a side stream is used on another one."""
    here = current(m)
    if here is v.stream or name.rpartition(".")[2] in _FORM:
        return
    side = id(v.stream)
    if m.world.get(("ordered", side)) == FALSE:
        events.record(m, Kind.UNORDERED_STREAMS, name, Certainty.LIKELY, False, "call", "", node)
        m.journal.write(m.world, ("ordered", side), TRUE)
    elif here is None and "recorded" not in v.marks and m.world.get(("follows", side)) != TRUE:
        # the side stream may hand the memory out again before this use has run
        if m.frame.heat == "step":
            events.record(m, Kind.UNORDERED_STREAMS, name, Certainty.LIKELY, False, "lifetime", "", node)
            m.journal.write(m.world, ("follows", side), TRUE)


def called(m: Interpreter, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> None:
    """Functions and methods that make, order and wait for streams and events."""
    if name in _MAKERS:
        if m.frame.heat == "step":
            events.record(m, Kind.UNORDERED_STREAMS, name, Certainty.CERTAIN, False, "call", "")
        return
    receiver = args[0] if args else NONE
    other = args[1] if len(args) > 1 else next(iter(kwargs.values()), NONE)
    here = current(m)
    if name.endswith("Stream.wait_stream"):
        if identity(other):
            m.journal.write(m.world, ("ordered", identity(other)), TRUE)
        if identity(receiver):
            m.journal.write(m.world, ("follows", identity(receiver)), TRUE)
    elif name.endswith(("Event.record", "Stream.record_event")) and type(receiver) is Obj:
        stream = other if name.endswith("Event.record") else receiver
        event = receiver if name.endswith("Event.record") else other
        if type(stream) is not Obj:
            stream = here
        if type(event) is Obj:
            m.setattr(event, _RECORDED, stream if type(stream) is Obj else NONE)
    elif name.endswith(("Stream.wait_event", "Event.wait")):
        event = other if name.endswith("wait_event") else receiver
        waiter = receiver if name.endswith("wait_event") else (other if type(other) is Obj else here)
        recorded = event.slots.get(_RECORDED, NONE) if type(event) is Obj else NONE
        if identity(recorded):
            m.journal.write(m.world, ("ordered", identity(recorded)), TRUE)
        elif type(recorded) is not Obj and identity(waiter):
            m.journal.write(m.world, ("follows", identity(waiter)), TRUE)
    elif name.endswith(("synchronize", "query")):
        for key in [k for k in m.world if type(k) is tuple and k[0] == "ordered"]:
            m.journal.write(m.world, key, TRUE)


# ------------------------------------------------------------------ host clocks around device work

CLOCK = "clock"  # `Host.names` of a time taken with no unfinished work since the time before it
LATE = "late"  # … of one taken while the device still works on what was enqueued since then


def clock(m: Interpreter) -> Host:
    """The host's time, as `time.perf_counter()` gives it."""
    late = m.world.get("unfinished") == TRUE and m.world.get("since clock") == TRUE
    if m.world.get("waited since clock", FALSE) != FALSE:
        late = False  # a wait in between: over many steps the sum is right
    m.journal.write(m.world, "since clock", FALSE)
    m.journal.write(m.world, "waited since clock", FALSE)
    return Host("float", LATE if late else CLOCK)


def subtracted(m: Interpreter, left: Value, right: Value, node: Any) -> None:
    """The difference of two times."""
    if type(left) is Host and type(right) is Host and left.names == LATE and right.names in (CLOCK, LATE):
        events.record(m, Kind.EARLY_READ, "time.perf_counter", Certainty.LIKELY, False, "operator", "", node)

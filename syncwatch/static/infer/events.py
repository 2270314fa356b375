"""From abstract values to the facts: describes calls, asks, and collects the events that follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from syncwatch.model import Certainty, Event, Heat, Kind, Site
from syncwatch.static.infer import doubt, hazards
from syncwatch.static.infer.readings import cuda_inside, known, verdict
from syncwatch.static.infer.text import source_text
from syncwatch.static.ir import Pos
from syncwatch.static.values import (
    NONE,
    TRUE,
    Value,
)

if TYPE_CHECKING:
    from syncwatch.static.infer.machine import Interpreter

_HEAT_ORDER = {"setup": 0, "guarded": 1, "epoch": 2, "step": 3}
_CERTAINTY_ORDER = {Certainty.POSSIBLE: 0, Certainty.LIKELY: 1, Certainty.CERTAIN: 2}


class Recorder:
    """The events found so far, one for each site and operation: the surest and the hottest reading counts."""

    def __init__(self) -> None:
        self.events: dict[tuple[Any, ...], Event] = {}

    def add(self, event: Event) -> None:
        site = event.site
        key = (site.path, site.line, site.column, site.end_line, site.end_column, event.op, event.kind, event.via)
        old = self.events.get(key)
        if old is None:
            self.events[key] = event
            return
        heat = max(old.heat, event.heat, key=lambda h: _HEAT_ORDER[h.value])
        certainty = max(old.certainty, event.certainty, key=lambda c: _CERTAINTY_ORDER[c])
        if heat is not old.heat or certainty is not old.certainty:
            source = event if event.certainty is certainty and old.certainty is not certainty else old
            self.events[key] = _replace(source, heat=heat, certainty=certainty)

    def forget(self, kind: Kind, op: str) -> None:
        """Drops the events of a hazard that a later call averts."""
        for key in [k for k, event in self.events.items() if event.kind is kind and event.op == op]:
            del self.events[key]


def _replace(event: Event, *, heat: Heat, certainty: Certainty) -> Event:
    return Event(
        kind=event.kind,
        op=event.op,
        site=event.site,
        explicit=event.explicit,
        via=event.via,
        subject=event.subject,
        detail=event.detail,
        certainty=certainty,
        heat=heat,
    )


def ask(
    m: Interpreter,
    ops: Sequence[str],
    args: Sequence[Value],
    kwargs: Mapping[str, Value],
    *,
    via: str,
    node: Any = None,
    has_star: bool = False,
    pos: Pos | None = None,
) -> bool:
    """Asks the facts about a call under the first of `ops` that they know; records an event where it waits.

    Returns whether it waits on every reading of the arguments.
    """
    outer_pos = m.frame.pos
    if pos is not None:
        m.frame.pos = pos
    hazards.before(m, ops[0], args, kwargs, via, node)
    m.frame.pos = outer_pos
    op = known(ops)
    if op is None or (op in _SWITCHES and via == "call"):
        return False
    if "anomaly" in kwargs:  # a backward pass under anomaly mode: the mode is what waits
        return ask(m, ("torch.autograd.detect_anomaly",), (), {}, via="library", pos=pos)
    best, hits, total, sure = verdict(op, args, kwargs, has_star)
    if best is None:
        return False
    if hits and (doubt.is_vague(op, best.kind, args, kwargs) or (hits < total and doubt.starts_as_number(op, args))):
        certainty = Certainty.POSSIBLE
    elif hits == 0:
        certainty = Certainty.POSSIBLE
        if not any(cuda_inside(a) for a in (*args, *kwargs.values())):
            return False
    elif hits == total and sure and total == 1 and not m.unsure:
        certainty = Certainty.CERTAIN
    else:
        certainty = Certainty.LIKELY
    if hits:
        if best.kind is Kind.UPLOAD or best.kind is Kind.PAGEABLE_ASYNC:
            hazards.copies.moved(m, args)
            if best.kind is Kind.UPLOAD:
                via = hazards.copies.upload_via(m, op, args, via)
        elif best.kind in _COMPLETING and m.mode("stream") in (None, NONE):
            m.waited()  # a wait completes what was copied before it
    record(m, best.kind, op, certainty, best.explicit, via, best.why, node, pos)
    return hits == total


# What they switch on waits later, in the backward pass.
_SWITCHES = frozenset(
    {
        "torch.autograd.set_detect_anomaly",
        "torch.autograd.detect_anomaly",
        "torch.autograd.graph.save_on_cpu",
        "torch.nn.parallel.DistributedDataParallel.__call__",
        "torch.nn.parallel.DistributedDataParallel.forward",
    }
)
_COMPLETING = frozenset({Kind.SCALAR_READ, Kind.TENSOR_READ, Kind.DYNAMIC_SHAPE})


def launches_block(m: Interpreter, op: str) -> None:
    """The program sets CUDA_LAUNCH_BLOCKING: every launch waits for its kernel."""
    record(m, Kind.DEVICE_WAIT, op, Certainty.CERTAIN, True, "call", "CUDA_LAUNCH_BLOCKING makes every launch wait")


def record(
    m: Interpreter,
    kind: Kind,
    op: str,
    certainty: Certainty,
    explicit: bool,
    via: str,
    detail: str,
    node: Any = None,
    pos: Pos | None = None,
) -> None:
    """Notes an event at the place that the interpreter stands at."""
    frame = m.frame
    m.asked += 1
    if m.probing:
        from syncwatch.static.infer.machine import OutOfSteps

        raise OutOfSteps
    line, column, end_line, end_column = pos or frame.pos
    if not line or m.muted:
        return
    heat = Heat.GUARDED if frame.guarded else Heat(frame.heat)
    if frame.guarded == "rank" and frame.heat == "step" and kind in doubt.READS and m.mode("ranks") == TRUE:
        # all other ranks wait for this one at the next collective
        via, heat = "rank-0", Heat.STEP
    m.recorder.add(
        Event(
            kind=kind,
            op=op,
            site=Site(
                path=frame.module.path,
                line=line,
                column=column + 1,
                end_line=end_line,
                end_column=end_column + 1,
                function=frame.qualname,
            ),
            explicit=explicit,
            via=via,
            subject=source_text(node) if node is not None else "",
            detail=detail,
            certainty=certainty,
            heat=heat,
        )
    )

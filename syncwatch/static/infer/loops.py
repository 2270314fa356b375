"""Loops: short ones over known elements are unrolled, all others run to a fixpoint."""

from __future__ import annotations

from typing import Any

from syncwatch.static import ir
from syncwatch.static.infer import events, heat
from syncwatch.static.infer.calls import assign
from syncwatch.static.infer.machine import Interpreter
from syncwatch.static.infer.narrowing import narrow
from syncwatch.static.infer.state import Delta, Loop
from syncwatch.static.infer.truth import test
from syncwatch.static.values import Iter, Range, Tensor, Value, element, members

_UNROLL = 8
_ROUNDS = 3


def run_for(m: Interpreter, s: ir.ForStmt) -> bool:
    """`for target in iter: body`."""
    iterable = m.eval(s.iter)
    m.frame.pos = s.iter.pos
    for v in members(iterable):
        if type(v) is Tensor:
            events.ask(m, ("torch.Tensor.__iter__",), (v,), {}, via="iteration", node=s.iter)
    seq = m.iterate(iterable)
    frame = m.frame
    outer = (frame.heat, frame.after_batches, frame.guarded)
    body_heat = heat.loop_heat(m, s, iterable)
    frame.heat = body_heat
    if frame.guarded in ("rank", "periodic") and body_heat == "step" and heat.repeats_in_guard(s):
        frame.guarded = ""
    try:
        if seq.items is not None and len(seq.items) <= _UNROLL and type(iterable) is not Range:
            falls = _unrolled(m, s, seq)
        else:
            falls = _fixpoint(m, s, seq)
    finally:
        frame.heat, frame.guarded = outer[0], outer[2]
    if body_heat == "step" and outer[0] == "step" and heat.is_batch_loop(s):
        frame.after_batches = True
    return falls


def _unrolled(m: Interpreter, s: ir.ForStmt, seq: Iter) -> bool:
    journal, frame = m.journal, m.frame
    loop = Loop(journal.mark())
    frame.loops.append(loop)
    turn = frame.turn
    alive = True
    for i, item in enumerate(seq.items or ()):
        frame.turn = (*turn, i)
        loop.mark = journal.mark()
        loop.continues = []
        assign(m, s.target, item)
        alive = _body(m, s.body, loop)
        if not alive:
            break
    frame.turn = turn
    frame.loops.pop()
    return _leave(m, s.orelse, loop, alive)


def _body(m: Interpreter, body: ir.Block, loop: Loop) -> bool:
    """One turn; states of `continue` are joined into its end."""
    journal = m.journal
    falls = m.exec_block(body)
    if loop.continues:
        states = [*loop.continues]
        if falls:
            states.append(journal.delta(loop.mark))
        journal.undo(loop.mark)
        journal.merge(states)
        return True
    return falls


def _leave(m: Interpreter, orelse: ir.Block, loop: Loop, alive: bool) -> bool:
    """Joins the normal end of a loop (through `else`) with the states of `break`."""
    journal = m.journal
    if alive and orelse:
        alive = m.exec_block(orelse)
    if not loop.breaks:
        return alive
    states: list[Delta] = list(loop.breaks)
    if alive:
        states.append(journal.delta(loop.start))
    journal.undo(loop.start)
    journal.merge(states)
    return True


def _fixpoint(m: Interpreter, s: ir.ForStmt, seq: Iter) -> bool:
    elem = element(seq)
    if elem is None:
        return m.exec_block(s.orelse) if s.orelse else True
    frame = m.frame

    def turn(loop: Loop) -> bool:
        assign(m, s.target, elem)
        return _body(m, s.body, loop)

    loop = Loop(m.journal.mark())
    frame.loops.append(loop)
    yields = len(frame.yields)
    m.loop_depth += 1
    _rounds(m, loop, turn, nonempty=seq.items is not None)
    m.loop_depth -= 1
    frame.loops.pop()
    if len(frame.yields) != yields:
        frame.yields_known = False
    return _leave(m, s.orelse, loop, True)


def _rounds(m: Interpreter, loop: Loop, turn: Any, *, nonempty: bool = False) -> None:
    """Repeats a turn, joining its end into its beginning, until nothing changes.

    nonempty: the first turn certainly happens, so that its end alone is the state that others start from.
    """
    journal = m.journal
    rounds = _ROUNDS if m.loop_depth <= 1 else 2
    if nonempty:
        rounds -= 1
        loop.mark = journal.mark()
        loop.continues = []
        if not turn(loop):
            return
    for _ in range(rounds):
        loop.mark = journal.mark()
        loop.continues = []
        falls = turn(loop)
        if not falls:
            journal.undo(loop.mark)
            return
        delta = journal.delta(loop.mark)
        journal.undo(loop.mark)
        if not journal.merge([{}, delta]):
            return


def run_while(m: Interpreter, s: ir.While) -> bool:
    """`while test: body`."""
    frame = m.frame
    outer = frame.heat
    frame.heat = heat.loop_heat(m, s, None)
    loop = Loop(m.journal.mark())
    frame.loops.append(loop)
    yields = len(frame.yields)
    endless = False
    entered = True

    def turn(loop: Loop) -> bool:
        nonlocal endless, entered
        verdict = test(m, s.test, "while")
        if verdict is False:
            entered = False
            return False
        endless = verdict is True
        narrow(m, s.test, True)
        return _body(m, s.body, loop)

    m.loop_depth += 1
    _rounds(m, loop, turn)
    m.loop_depth -= 1
    frame.loops.pop()
    frame.heat = outer
    if len(frame.yields) != yields:
        frame.yields_known = False
    if not endless:
        narrow(m, s.test, False)
    return _leave(m, s.orelse, loop, not endless)


__all__ = ["Value", "run_for", "run_while"]

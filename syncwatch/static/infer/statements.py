"""Execution of statements. Each returns whether control goes on to the next one."""

from __future__ import annotations

from typing import Any

from syncwatch.static import ir
from syncwatch.static.infer import attributes, functions, guards, heat, modules, operators, subscripts
from syncwatch.static.infer.calls import assign
from syncwatch.static.infer.machine import Interpreter, executes
from syncwatch.static.infer.narrowing import narrow
from syncwatch.static.infer.truth import test
from syncwatch.static.infer.types import class_attr
from syncwatch.static.values import (
    NONE,
    UNKNOWN,
    Bound,
    Func,
    Host,
    Iter,
    Lib,
    Obj,
    Tensor,
    Tuple,
    Union,
    Value,
    element,
    join_all,
    members,
)


@executes(ir.ExprStmt)
def _expr(m: Interpreter, s: ir.ExprStmt) -> bool:
    m.eval(s.value)
    return True


@executes(ir.Assign)
def _assign(m: Interpreter, s: ir.Assign) -> bool:
    frame = m.frame
    guarded = frame.guarded
    # `self.x = self.x.to(device)` copies once: afterwards it is there
    frame.guarded = _stronger(guarded, "other" if heat.moves_in_place(s) else "")
    value = m.eval(s.value)
    frame.guarded = guarded
    for target in s.targets:
        m.frame.pos = s.pos
        assign(m, target, value)
    return True


@executes(ir.AnnAssign)
def _ann_assign(m: Interpreter, s: ir.AnnAssign) -> bool:
    if s.value is not None:
        value = m.eval(s.value)
        if value is UNKNOWN:
            from syncwatch.static.infer.assumptions import of_annotation

            value = of_annotation(m, s.annotation, "")
        m.frame.pos = s.pos
        assign(m, s.target, value)
    return True


@executes(ir.AugAssign)
def _aug_assign(m: Interpreter, s: ir.AugAssign) -> bool:
    target = s.target
    index: Value = None
    owner: Value = None
    if type(target) is ir.Name:
        old = m.load(target.id)
    elif type(target) is ir.Attr:
        owner = m.eval(target.value)
        old = attributes.get_attr(m, owner, target.attr)
    elif type(target) is ir.Sub:
        owner, index = m.eval(target.value), m.eval(target.index)
        m.frame.pos = target.pos
        old = subscripts.get_item(m, owner, index, target)
    else:
        return True
    right = m.eval(s.value)
    m.frame.pos = s.pos
    value = operators.binary(m, s.op, old, right, s, inplace=True)
    m.frame.pos = s.pos
    if type(target) is ir.Name:
        m.store(target.id, value)
    elif type(target) is ir.Attr:
        attributes.set_attr(m, owner, target.attr, value)
    elif not (type(old) is Tensor and type(owner) is Tensor and value is old):
        subscripts.set_item(m, owner, index, value, target)
    return True


@executes(ir.Return)
def _return(m: Interpreter, s: ir.Return) -> bool:
    value = NONE if s.value is None else m.eval(s.value)
    frame = m.frame
    frame.returned(value, m.journal.delta(frame.mark))
    return False


@executes(ir.Raise)
def _raise(m: Interpreter, s: ir.Raise) -> bool:
    guarded = m.frame.guarded
    m.frame.guarded = "other"
    if s.value is not None:
        m.eval(s.value)
    m.frame.guarded = guarded
    return False


@executes(ir.Assert)
def _assert(m: Interpreter, s: ir.Assert) -> bool:
    verdict = test(m, s.test, "assert")
    if s.message is not None and verdict is not True:
        guarded = m.frame.guarded
        m.frame.guarded = "other"
        mark = m.journal.mark()
        m.eval(s.message)
        m.journal.undo(mark)
        m.frame.guarded = guarded
    narrow(m, s.test, True)
    return True


@executes(ir.Delete)
def _delete(m: Interpreter, s: ir.Delete) -> bool:
    for target in s.targets:
        if type(target) is ir.Name:
            m.journal.delete(m.slots_for(target.id), target.id)
        elif type(target) is ir.Sub:
            subscripts.del_item(m, m.eval(target.value), m.eval(target.index))
        elif type(target) is ir.Attr:
            owner = m.eval(target.value)
            if type(owner) is Obj:
                m.journal.delete(owner.slots, target.attr)
    return True


@executes(ir.Jump)
def _jump(m: Interpreter, s: ir.Jump) -> bool:
    if s.kind == "pass":
        return True
    loops = m.frame.loops
    if loops:
        loop = loops[-1]
        if s.kind == "break":
            loop.breaks.append(m.journal.delta(loop.start))
        else:
            loop.continues.append(m.journal.delta(loop.mark))
    return False


@executes(ir.Scope)
def _scope(m: Interpreter, s: ir.Scope) -> bool:
    frame = m.frame
    if s.kind == "global":
        frame.globals = frame.globals | set(s.names)
    else:
        frame.nonlocals = frame.nonlocals | set(s.names)
    return True


@executes(ir.Import)
def _import(m: Interpreter, s: ir.Import) -> bool:
    for name, alias in s.names:
        modules.import_module(m, name, alias)
    return True


@executes(ir.ImportFrom)
def _import_from(m: Interpreter, s: ir.ImportFrom) -> bool:
    modules.import_from(m, s)
    return True


@executes(ir.If)
def _if(m: Interpreter, s: ir.If) -> bool:
    via = "if"
    frame = m.frame
    verdict = test(m, s.test, via)
    journal = m.journal
    guarded = frame.guarded
    if verdict is not None:
        if verdict and heat.makes_once(m, s.test, s.body):
            frame.guarded = "other"
        falls = m.exec_block(s.body if verdict else s.orelse)
        frame.guarded = "other" if not verdict and guards.remembered(m, s) else guarded
        return falls
    guard = heat.guard_kind(m, s.test, s.body)
    yields = len(frame.yields)
    mark = journal.mark()
    frame.guarded = _stronger(guarded, guard or ("other" if heat.raises(s.body) or guards.rare_side(s.test) else ""))
    narrow(m, s.test, True)
    first = m.exec_block(s.body)
    then = journal.delta(mark) if first else {}
    journal.undo(mark)
    frame.guarded = _stronger(guarded, _other_side(m, s, guard))
    narrow(m, s.test, False)
    second = m.exec_block(s.orelse) if s.orelse else True
    frame.guarded = guarded
    if not first and (guards.rare_side(s.test) is False or guards.remembered(m, s)):
        frame.guarded = "other"  # until the block ends
    if len(frame.yields) != yields:
        frame.yields_known = False
    if first and second:
        other = journal.delta(mark)
        journal.undo(mark)
        journal.merge([then, other])
        return True
    if first:
        journal.undo(mark)
        journal.apply(then)
        return True
    return second


def _stronger(outer: str, inner: str) -> str:
    return next((g for g in ("other", "periodic") if g in (outer, inner)), outer or inner)


def _other_side(m: Interpreter, s: ir.If, guard: str) -> str:
    """Why the other branch runs only now and then."""
    rare = heat.raises(s.orelse) or (guard and _negated(m, s.test)) or guards.rare_side(s.test) is False
    return "other" if rare else ""


def _negated(m: Interpreter, test: Any) -> bool:
    return type(test) is ir.Unary and test.op == "not" and not heat.is_modulo(m, test.value)


@executes(ir.ForStmt)
def _for(m: Interpreter, s: ir.ForStmt) -> bool:
    from syncwatch.static.infer.loops import run_for

    return run_for(m, s)


@executes(ir.While)
def _while(m: Interpreter, s: ir.While) -> bool:
    from syncwatch.static.infer.loops import run_while

    return run_while(m, s)


@executes(ir.With)
def _with(m: Interpreter, s: ir.With) -> bool:
    saved = m.world["device"]
    falls = _managed(m, s, 0)
    m.journal.write(m.world, "device", saved)
    return falls


def _managed(m: Interpreter, s: ir.With, i: int) -> bool:
    """The body of a `with` inside its context managers from the i-th on."""
    if i == len(s.items):
        return m.exec_block(s.body)
    item = s.items[i]
    frame = m.frame
    manager = m.eval(item.value)
    frame.pos = item.value.pos
    deferred = manager.slots.get(functions.DEFERRED) if type(manager) is Obj else None
    if deferred is None:
        entered = enter(m, manager)
        if item.target is not None:
            assign(m, item.target, entered)
        falls = _managed(m, s, i + 1)
        frame.pos = item.value.pos
        _exit(m, manager)
        return falls
    falls = False
    reached = False

    def body(value: Value) -> None:
        nonlocal falls, reached
        inner, m.frame = m.frame, frame
        reached = True
        if item.target is not None:
            assign(m, item.target, value)
        falls = _managed(m, s, i + 1) or falls
        m.frame = inner

    functions.run_deferred(m, deferred, body)
    if not reached:  # a limit kept the manager from running
        return _managed(m, s, i + 1)
    return falls


def enter(m: Interpreter, manager: Value) -> Value:
    """What a context manager gives to `as`."""
    results = []
    for v in members(manager):
        if type(v) is Obj and functions.DEFERRED in v.slots:
            given: list[Value] = []
            functions.run_deferred(m, v.slots[functions.DEFERRED], given.append)
            results.append(join_all(given))
            continue
        if type(v) is Iter:  # a generator made into a context manager
            inner = element(v)
            results.append(UNKNOWN if inner is None else inner)
        elif type(v) is Obj:
            member = _special(m, v, "__enter__") or _special(m, v, "__aenter__")
            result = UNKNOWN if member is None else m.call(member)
            results.append(v if result is UNKNOWN and isinstance(v.type, str) else result)
        elif type(v).__name__ == "Device":
            m.set_default_device(v)
            results.append(v)
        else:
            results.append(UNKNOWN)
    return join_all(results)


def _special(m: Interpreter, v: Obj, name: str) -> Value | None:
    if isinstance(v.type, str):
        return Bound(Lib(f"{v.type}.{name}"), v)
    method = class_attr(v.type, name)
    if type(method) is Func:
        return Bound(method, v)
    value = attributes.get_attr(m, v, name)
    return None if value is UNKNOWN else value


def _exit(m: Interpreter, manager: Value) -> None:
    for v in members(manager):
        if type(v) is Obj:
            member = _special(m, v, "__exit__") or _special(m, v, "__aexit__")
            if member is not None:
                m.call(member, (NONE, NONE, NONE))


@executes(ir.Try)
def _try(m: Interpreter, s: ir.Try) -> bool:
    journal, frame = m.journal, m.frame
    mark = journal.mark()
    falls = m.exec_block(s.body)
    after = journal.delta(mark)
    if falls and s.orelse:
        falls = m.exec_block(s.orelse)
    ends = [journal.delta(mark)] if falls else []
    journal.undo(mark)
    guarded = frame.guarded
    for handler in s.handlers:
        inner = journal.mark()
        journal.merge([{}, after])
        if handler.exception is not None:
            m.eval(handler.exception)
        if handler.name:
            m.store(handler.name, Host("exception"))
        # what handles a failure is no part of the step, unless it is the way that the step goes on
        frame.guarded = _stronger(guarded, "" if _is_import_fallback(handler) else "other")
        if m.exec_block(handler.body):
            ends.append(journal.delta(mark))
        frame.guarded = guarded
        journal.undo(inner)
    if ends:
        journal.merge(ends)
    elif not s.handlers:
        journal.apply(after)
    if s.final:
        return m.exec_block(s.final) and bool(ends)
    return bool(ends)


def _is_import_fallback(handler: ir.Handler) -> bool:
    e = handler.exception
    return type(e) is ir.Name and e.id in ("ImportError", "ModuleNotFoundError", "AttributeError", "KeyError")


@executes(ir.Match)
def _match(m: Interpreter, s: ir.Match) -> bool:
    from syncwatch.static.infer.matching import run_match

    return run_match(m, s)


@executes(ir.Function)
def _function(m: Interpreter, s: ir.Function) -> bool:
    frame = m.frame
    defaults = {p.name: m.eval(p.default) for p in s.params if p.default is not None}
    qualname = f"{frame.qualname}.{s.name}" if frame.qualname else s.name
    owner = frame.owner if frame.class_slots is not None else None
    if owner is None and frame.func is not None and frame.class_slots is None:
        owner = frame.func.owner
    key = ("def", s.pos, frame.turn)
    func = frame.allocs.get(key)
    if func is None:
        func = frame.allocs[key] = Func(s, frame.module, s.name, qualname, frame.scope, owner, defaults)
    made: Value = func
    if s.decorators:
        made = functions.decorate(m, func, s.decorators)
        if type(made) is Func and made.node is not s:
            frame.module.wrapped[id(made)] = (made, func)
    m.store(s.name, made)
    return True


@executes(ir.Class)
def _class(m: Interpreter, s: ir.Class) -> bool:
    from syncwatch.static.infer.classes import define_class

    define_class(m, s)
    return True


__all__ = ["Host", "Tuple", "Union"]

"""Evaluation of expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from syncwatch.static import ir
from syncwatch.static.infer import attributes, calls, formatting, operators, subscripts, unknown
from syncwatch.static.infer.guards import rare_side
from syncwatch.static.infer.machine import Interpreter, evaluates
from syncwatch.static.infer.narrowing import narrow, widen
from syncwatch.static.infer.truth import test, truth_of
from syncwatch.static.values import (
    ELLIPSIS,
    FALSE,
    ITEMS,
    REST,
    STR,
    TRUE,
    UNKNOWN,
    Const,
    Func,
    Host,
    Items,
    Iter,
    Obj,
    Range,
    Tensor,
    Tuple,
    Union,
    Value,
    element,
    join,
    members,
)

_UNROLL = 8


@evaluates(ir.Const)
def _const(m: Interpreter, node: ir.Const) -> Value:
    if node.kind == "none":
        return Const("NoneType", None)
    if node.kind == "...":
        return ELLIPSIS
    if node.value is None:
        return Host(node.kind)
    return Const(node.kind, node.value)


@evaluates(ir.Name)
def _name(m: Interpreter, node: ir.Name) -> Value:
    if m.names_devices and m.configured.device(node):
        return m.accelerator()
    value = m.load(node.id)
    if value is UNKNOWN:
        return m.accelerator() if is_device_name(m, node.id) else unknown.named(m, node.id)
    return value


def is_device_name(m: Interpreter, name: str) -> bool:
    return attributes.is_device_name(m, name)


@evaluates(ir.Attr)
def _attr(m: Interpreter, node: ir.Attr) -> Value:
    if m.names_devices and m.configured.device(node):
        return m.accelerator()
    value = m.eval(node.value)
    m.frame.pos = node.pos
    found = attributes.get_attr(m, value, node.attr)
    return unknown.named(m, node.attr) if found is UNKNOWN else found


@evaluates(ir.Call)
def _call(m: Interpreter, node: ir.Call) -> Value:
    return calls.eval_call(m, node)


@evaluates(ir.Sub)
def _sub(m: Interpreter, node: ir.Sub) -> Value:
    value = m.eval(node.value)
    index = eval_index(m, node.index)
    m.frame.pos = node.pos
    return subscripts.get_item(m, value, index, node)


def eval_index(m: Interpreter, node: Any) -> Value:
    """The value of an index; slices keep whether they hold CUDA bounds."""
    return m.eval(node)


@evaluates(ir.Slice)
def _slice(m: Interpreter, node: ir.Slice) -> Value:
    return subscripts.make_slice(*(None if p is None else m.eval(p) for p in (node.lower, node.upper, node.step)))


@evaluates(ir.Unary)
def _unary(m: Interpreter, node: ir.Unary) -> Value:
    if node.op == "not":
        outcome = test(m, node.value, "not")
        return Host("bool") if outcome is None else (FALSE if outcome else TRUE)
    value = m.eval(node.value)
    m.frame.pos = node.pos
    return operators.unary(m, node.op, value, node)


@evaluates(ir.Binary)
def _binary(m: Interpreter, node: ir.Binary) -> Value:
    left, right = m.eval(node.left), m.eval(node.right)
    m.frame.pos = node.pos
    return operators.binary(m, node.op, left, right, node)


@evaluates(ir.Bool)
def _bool(m: Interpreter, node: ir.Bool) -> Value:
    """`a and b`: the value of the operand that decides."""
    stop = node.op == "or"
    result: Value = None
    narrowed: list[Any] = []
    for operand in node.values[:-1]:
        value = m.eval(operand)
        m.frame.pos = operand.pos
        outcome = truth_of(m, value, node.op, operand)
        if outcome is stop:
            break
        if outcome is None:
            left = _truthy_part(m, value, stop)
            if left is not None:
                result = left if result is None else join(result, left)
        narrowed += narrow(m, operand, not stop)
    else:
        value = m.eval(node.values[-1])
    widen(m, narrowed)  # what was narrowed holds only inside the expression
    return value if result is None else join(result, value)


def _truthy_part(m: Interpreter, value: Value, truthy: bool) -> Value:
    """The alternatives of a value that make `or` (truthy) or `and` (falsy) stop there; None for none."""
    kept = [v for v in members(value) if m.truth(v) is not (not truthy)]
    result: Value = None
    for v in kept:
        if type(v) is Host and v.kind == "bool":
            v = TRUE if truthy else FALSE
        result = v if result is None else join(result, v)
    return result


@evaluates(ir.Compare)
def _compare(m: Interpreter, node: ir.Compare) -> Value:
    left = m.eval(node.left)
    chained = len(node.ops) > 1
    result: Value = TRUE
    for op, right_node in zip(node.ops, node.rights, strict=True):
        right = m.eval(right_node)
        m.frame.pos = node.pos
        value = operators.compare(m, op, left, right, node)
        if chained and right_node is not node.rights[-1]:
            outcome = truth_of(m, value, "chained", node)
            if outcome is False:
                return FALSE
        result = value if not chained or type(value) is Tensor else Host("bool")
        left = right
    return result


@evaluates(ir.IfExp)
def _ifexp(m: Interpreter, node: ir.IfExp) -> Value:
    outcome = test(m, node.test, "ternary")
    if outcome is not None:
        return m.eval(node.body if outcome else node.orelse)

    def branch(body: Any, taken: bool) -> Callable[[], Value]:
        def run() -> Value:
            narrow(m, node.test, taken)
            frame = m.frame
            guarded = frame.guarded
            if taken is rare:
                frame.guarded = "other"
            value = m.eval(body)
            frame.guarded = guarded
            return value

        return run

    rare = rare_side(node.test)
    return m.alternatives([branch(node.body, True), branch(node.orelse, False)])


@evaluates(ir.Seq)
def _seq(m: Interpreter, node: ir.Seq) -> Value:
    items, elem = eval_items(m, node.items)
    m.frame.pos = node.pos
    if node.kind == "tuple":
        return Tuple(items, elem)
    return m.new_items(node.kind, items, elem)


def eval_items(m: Interpreter, nodes: tuple[Any, ...]) -> tuple[tuple[Value, ...] | None, Value]:
    """Elements of a display, `*value` spread out."""
    items: list[Value] = []
    known = True
    for node in nodes:
        if type(node) is ir.Star:
            inner = m.iterate(m.eval(node.value))
            if inner.items is None:
                known = False
                items.append(inner.elem)
            else:
                items.extend(inner.items)
        else:
            items.append(m.eval(node))
    if known:
        return tuple(items), UNKNOWN
    found = element(Items(tuple(items)))
    return None, UNKNOWN if found is None else found


@evaluates(ir.Star)
def _star(m: Interpreter, node: ir.Star) -> Value:
    return m.eval(node.value)


@evaluates(ir.DictLit)
def _dict(m: Interpreter, node: ir.DictLit) -> Value:
    pairs: list[tuple[Value, Value]] = []
    for key, value in zip(node.keys, node.values, strict=True):
        pairs.append((None if key is None else m.eval(key), m.eval(value)))
    m.frame.pos = node.pos
    obj = m.dict({})
    for key, value in pairs:
        if key is None:
            merge_mapping(m, obj, value)
        else:
            put(m, obj, key, value)
    return obj


def put(m: Interpreter, obj: Obj, key: Value, value: Value) -> None:
    """`obj[key] = value` for a dict."""
    if type(key) is Const:
        m.setattr(obj, ("key", key.value), value)
    elif type(key) is Tuple and key.items is not None and all(type(i) is Const for i in key.items):
        m.setattr(obj, ("key", tuple(i.value for i in key.items)), value)
    else:
        m.setattr(obj, REST, value, weak=True)


def merge_mapping(m: Interpreter, obj: Obj, other: Value) -> None:
    """`obj.update(other)`."""
    for v in members(other):
        if type(v) is Obj and (REST in v.slots or any(type(k) is tuple for k in v.slots)):
            weak = type(other) is Union
            for key, value in list(v.slots.items()):
                if type(key) is tuple:
                    m.setattr(obj, key, value, weak=weak)
                elif key == REST:
                    m.setattr(obj, REST, value, weak=True)
        elif not (type(v) is Obj and v.type == "dict"):
            m.setattr(obj, REST, UNKNOWN, weak=True)


@evaluates(ir.Comp)
def _comp(m: Interpreter, node: ir.Comp) -> Value:
    return comprehension(m, node)


def comprehension(m: Interpreter, node: ir.Comp) -> Value:
    """A comprehension; short ones over known elements are unrolled."""
    outcome: list[tuple[Value, Value]] = []
    exact = True
    frame = m.frame

    def run(depth: int) -> None:
        nonlocal exact
        if depth == len(node.fors):
            key = None if node.key is None else m.eval(node.key)
            outcome.append((key, m.eval(node.value)))
            return
        clause = node.fors[depth]
        iterable = m.eval(clause.iter)
        seq = m.iterate(iterable)
        if type(iterable) is Range and seq.items and not clause.ifs and len(node.fors) == 1:
            # every turn is like the first, but the length is known
            step(depth, clause, seq.items[0])
            outcome.extend(outcome[-1:] * (len(seq.items) - 1))
        elif seq.items is not None and len(seq.items) <= _UNROLL:
            turn = frame.turn
            for i, item in enumerate(seq.items):
                frame.turn = (*turn, i)
                step(depth, clause, item)
            frame.turn = turn
        else:
            exact = False
            elem = element(seq)
            if elem is not None:
                step(depth, clause, elem)

    def step(depth: int, clause: ir.For, item: Value) -> None:
        nonlocal exact
        calls.assign(m, clause.target, item)
        narrowed: list[Any] = []
        for condition in clause.ifs:
            verdict = test(m, condition, "comprehension")
            if verdict is False:
                return
            if verdict is None:
                exact = False
            narrowed += narrow(m, condition, True)
        run(depth + 1)
        widen(m, narrowed)

    with m.scope():
        run(0)
    frame.pos = node.pos
    if node.kind == "dict":
        obj = m.dict({})
        for key, value in outcome:
            if exact:
                put(m, obj, key, value)
            else:
                m.setattr(obj, REST, value, weak=True)
        return obj
    values = tuple(v for _, v in outcome)
    items = values if exact else None
    elem = UNKNOWN
    if not exact:
        found = element(Items(values))
        elem = UNKNOWN if found is None else found
    if node.kind == "generator":
        return Iter(items, elem)
    return m.new_items(node.kind, items, elem)


@evaluates(ir.Lambda)
def _lambda(m: Interpreter, node: ir.Lambda) -> Value:
    frame = m.frame
    key = ("lambda", node.pos, frame.turn)
    func = frame.allocs.get(key)
    defaults = {p.name: m.eval(p.default) for p in node.params if p.default is not None}
    if func is None or defaults:
        qualname = f"{frame.qualname}.<lambda>" if frame.qualname else "<lambda>"
        func = frame.allocs[key] = Func(
            node, frame.module, "<lambda>", qualname, frame.scope, owner_of(frame), defaults
        )
    return func


def owner_of(frame: Any) -> Any:
    return frame.func.owner if frame.func is not None else None


@evaluates(ir.FString)
def _fstring(m: Interpreter, node: ir.FString) -> Value:
    return formatting.fstring(m, node)


@evaluates(ir.Await)
def _await(m: Interpreter, node: ir.Await) -> Value:
    value = m.eval(node.value)
    m.others_run()
    if type(value) is Iter:
        return value.result
    return value


@evaluates(ir.Yield)
def _yield(m: Interpreter, node: ir.Yield) -> Value:
    frame = m.frame
    if frame.on_yield is not None and not node.is_from:
        frame.on_yield(Const("NoneType", None) if node.value is None else m.eval(node.value))
        return UNKNOWN
    if node.value is None:
        frame.yields.append(Const("NoneType", None))
        return UNKNOWN
    value = m.eval(node.value)
    if node.is_from:
        inner = m.iterate(value)
        if inner.items is None:
            frame.yields_known = False
            frame.yields.append(inner.elem)
        else:
            frame.yields.extend(inner.items)
        return inner.result
    frame.yields.append(value)
    return UNKNOWN


@evaluates(ir.Walrus)
def _walrus(m: Interpreter, node: ir.Walrus) -> Value:
    value = m.eval(node.value)
    m.store(node.target.id, value)
    return value


__all__ = ["ITEMS", "STR", "comprehension", "eval_items", "merge_mapping", "put"]

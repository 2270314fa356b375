"""What a test says of the variables in it, on the branch where it is true or false."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from syncwatch.static import ir
from syncwatch.static.infer.machine import Interpreter
from syncwatch.static.infer.types import class_of, is_instance
from syncwatch.static.values import (
    NONE,
    UNKNOWN,
    Const,
    Device,
    Lib,
    Obj,
    Tensor,
    Tuple,
    Value,
    members,
    union,
)

Undo = tuple[dict[Any, Value], Any, Value, Value]


def narrow(m: Interpreter, node: Any, outcome: bool) -> list[Undo]:
    """Narrows variables and attributes under the assumption that the test came out so.

    Returns what was written, for `widen`.
    """
    kind = type(node)
    if kind is ir.Unary and node.op == "not":
        return narrow(m, node.value, not outcome)
    if kind is ir.Bool:
        # `a and b` true: both hold; `a or b` false: neither holds; otherwise nothing is certain
        if (node.op == "and") == outcome:
            return [u for part in node.values for u in narrow(m, part, outcome)]
        return []
    if kind is ir.Compare and len(node.ops) == 1:
        return _compare(m, node.left, node.ops[0], node.rights[0], outcome)
    if kind is ir.Call:
        return _call(m, node, outcome)
    if kind is ir.Walrus:
        return narrow(m, node.target, outcome)
    if kind is ir.Attr and node.attr in ("is_cuda", "is_cpu"):
        # where the device is only assumed, the other branch is for tensors that are elsewhere
        there = outcome is (node.attr == "is_cuda")
        return _filter(m, node.value, lambda v: _on(v, "cuda", there), Tensor("cuda" if there else "cpu", False))
    if kind in (ir.Name, ir.Attr):
        return _filter(m, node, lambda v: None if m.truth(v) is (not outcome) else v)
    return []


def widen(m: Interpreter, undo: list[Undo]) -> None:
    """Takes back narrowings that still stand."""
    for slots, key, old, new in reversed(undo):
        if slots.get(key) is new:
            m.journal.write(slots, key, old)


def _compare(m: Interpreter, left: Any, op: str, right: Any, outcome: bool) -> list[Undo]:
    if op in ("is not", "!="):
        op, outcome = ("is" if op == "is not" else "=="), not outcome
    if op == "is" and type(right) is ir.Const and right.kind == "none":
        if outcome:
            return _filter(m, left, lambda v: NONE if v is UNKNOWN or v == NONE else None)
        return _filter(m, left, lambda v: None if v == NONE else v)
    if op == "==":
        # x.device.type == "cuda", device.type == "cpu", str(x.device) == "cpu"
        subject = left
        if type(subject) is ir.Attr and subject.attr == "type":
            subject = subject.value
        if type(right) is not ir.Const or not isinstance(right.value, str):
            return []
        name = right.value.partition(":")[0]
        if name not in ("cuda", "cpu", "meta", "mps", "xpu", "npu"):
            return _filter(m, left, lambda v: _equal(v, str(right.value), outcome)) if outcome else []
        if type(subject) is ir.Attr and subject.attr == "device":
            return _filter(m, subject.value, lambda v: _on(v, name, outcome))
        return _filter(m, subject, lambda v: _names_device(v, name, outcome))
    return []


def _equal(v: Value, text: str, outcome: bool) -> Value | None:
    if v is UNKNOWN:
        return Const("str", text)
    if type(v) is Const:
        return v if (v.value == text) is outcome else None
    return v


def _on(v: Value, device: str, outcome: bool) -> Value | None:
    """A tensor under the knowledge that it is (not) on a device."""
    if type(v) is not Tensor:
        return v
    if v.device is not None:
        return v if (v.device == device) is outcome else None
    if outcome:
        return _moved(v, device)
    return _moved(v, "cpu") if device == "cuda" else v


def _moved(v: Tensor, device: str) -> Tensor:
    return Tensor(device, False, v.shape, v.dtype, v.pinned, v.dense, v.requires_grad, v.parameter, v.marks)


def _names_device(v: Value, name: str, outcome: bool) -> Value | None:
    if type(v) is Device:
        if v.type is None:
            return Device(name, None, sure=False) if outcome else v
        # an assumed device may be any: the branch for another one is not taken by what we look for
        return v if (v.type == name) is outcome else None
    if type(v) is Const and v.kind == "str":
        return v if (v.value.partition(":")[0] == name) is outcome else None
    return v


def _call(m: Interpreter, node: ir.Call, outcome: bool) -> list[Undo]:
    args = [a.value for a in node.args if not a.star and not a.name]
    func = node.func
    if type(func) is ir.Name and func.id == "isinstance" and len(args) == 2:
        types = m.eval(args[1])
        return _filter(m, args[0], lambda v: _typed(m, v, types, outcome), _instance(types) if outcome else None)
    if type(func) is ir.Attr and func.attr == "is_tensor" and len(args) == 1:
        return _filter(m, args[0], lambda v: _typed(m, v, Lib("torch.Tensor"), outcome))
    if type(func) is ir.Name and func.id in ("is_tensor", "callable") and len(args) == 1:
        if func.id == "is_tensor":
            return _filter(m, args[0], lambda v: _typed(m, v, Lib("torch.Tensor"), outcome))
    return []


def _typed(m: Interpreter, v: Value, types: Value, outcome: bool) -> Value | None:
    verdict = is_instance(m, v, types)
    if verdict is None:
        if outcome and v is UNKNOWN:
            return _instance(types)
        return v
    return v if verdict is outcome else None


def _instance(types: Value) -> Value:
    """What is known of an unknown value that is an instance of the class."""
    if type(types) is Tuple:
        return UNKNOWN
    if type(types) is Lib and types.name in ("torch.Tensor", "torch.nn.Parameter"):
        return Tensor(None)
    return UNKNOWN


def _filter(m: Interpreter, node: Any, keep: Callable[[Value], Value | None], empty: Value = None) -> list[Undo]:
    """Rewrites a variable or attribute to the alternatives that `keep` returns; to `empty`, if none is left.

    Without `empty`, it stays as it was then.
    """
    kind = type(node)
    if kind is ir.Walrus:
        node, kind = node.target, ir.Name
    if kind is ir.Name:
        slots = _slots_of(m, node.id)
        key = node.id
    elif kind is ir.Attr:
        owner = peek(m, node.value)
        if type(owner) is not Obj:
            return []
        slots, key = owner.slots, node.attr
    else:
        return []
    if slots is None:
        return []
    old = slots.get(key)
    if old is None:
        return []
    kept = [n for n in (keep(v) for v in members(old)) if n is not None]
    if not kept and empty is None:
        return []
    kept = kept or [empty]
    new = kept[0] if len(kept) == 1 else union(kept)
    if new is old or new == old:
        return []
    m.journal.write(slots, key, new)
    return [(slots, key, old, new)]


def _slots_of(m: Interpreter, name: str) -> dict[Any, Value] | None:
    scope = m.frame.scope
    while scope is not None:
        if name in scope.slots:
            return scope.slots
        scope = scope.parent
    slots: dict[Any, Value] = m.frame.module.slots
    return slots if name in slots else None


def peek(m: Interpreter, node: Any) -> Value:
    """The object that a chain of names and attributes denotes, looked up without effects; Unknown otherwise."""
    if type(node) is ir.Name:
        slots = _slots_of(m, node.id)
        return UNKNOWN if slots is None else slots.get(node.id)
    if type(node) is ir.Attr:
        owner = peek(m, node.value)
        if type(owner) is Obj:
            return owner.slots.get(node.attr, UNKNOWN)
    return UNKNOWN


__all__ = ["class_of", "narrow", "widen"]

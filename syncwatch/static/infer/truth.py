"""Truth values: what a test decides, and the reads of tensors that it implies."""

from __future__ import annotations

from typing import Any

from syncwatch.static import ir
from syncwatch.static.infer.guards import same_object
from syncwatch.static.infer.machine import Interpreter
from syncwatch.static.infer.types import class_attr
from syncwatch.static.values import (
    ITEMS,
    NONE,
    REST,
    UNKNOWN,
    Bound,
    Class,
    Const,
    Device,
    Dtype,
    Func,
    Items,
    Lib,
    Module,
    Obj,
    Partial,
    Range,
    Tensor,
    Tuple,
    Union,
    Value,
)

_TRUE = (Func, Partial, Device, Dtype, Class, Module)


def truth(m: Interpreter, v: Value) -> bool | None:
    """Whether a value is true; None where unknown. Looks only, and reports nothing."""
    kind = type(v)
    if kind is Const:
        return v.kind == "ellipsis" or bool(v.value)
    if kind is Union:
        verdicts = {truth(m, x) for x in v.members}
        return verdicts.pop() if len(verdicts) == 1 else None
    if kind is Tuple:
        return None if v.items is None else len(v.items) > 0
    if kind is Range:
        return None if v.length is None else v.length > 0
    if kind in _TRUE:
        return True
    if kind is Bound:
        return True if type(v.func) is Func else None
    if kind is Obj:
        return _object(v)
    return None


def _object(v: Obj) -> bool | None:
    held = v.slots.get(ITEMS)
    if type(held) is Items:
        return None if held.items is None else len(held.items) > 0
    if v.type == "dict":
        if REST in v.slots:
            return None
        return any(type(k) is tuple for k in v.slots)
    if type(v.type) is Class:
        if class_attr(v.type, "__bool__") is not None or class_attr(v.type, "__len__") is not None:
            return None
        return None if any(isinstance(b, Lib) and b.name == "builtins.dict" for b in v.type.mro) else True
    return True if isinstance(v.type, str) and v.type.startswith("torch.") else None


def truth_of(m: Interpreter, v: Value, via: str, node: Any) -> bool | None:
    """Whether a value is true, as a test asks for it: reading a tensor is an event, `__bool__` of a class is called."""
    kind = type(v)
    if kind is Tensor:
        m.implicit("torch.Tensor.__bool__", v, via, node)
        return None
    if kind is Union:
        if any(type(x) is Tensor for x in v.members):
            m.implicit("torch.Tensor.__bool__", v, via, node)
        return truth(m, v)
    if kind is Obj and type(v.type) is Class:
        method = class_attr(v.type, "__bool__")
        if isinstance(method, Func):
            return truth_of(m, m.call(Bound(method, v)), via, node)
        method = class_attr(v.type, "__len__")
        if isinstance(method, Func):
            return truth(m, m.call(Bound(method, v)))
    return truth(m, v)


def test(m: Interpreter, node: Any, via: str) -> bool | None:
    """Evaluates a condition; `via` names the statement or operator that asks."""
    kind = type(node)
    if kind is ir.Unary and node.op == "not":
        verdict = test(m, node.value, "not")
        return None if verdict is None else not verdict
    if kind is ir.Bool:
        return _test_bool(m, node, via)
    if kind is ir.Name and node.id == "TYPE_CHECKING":
        return False
    value = m.eval(node)
    m.frame.pos = node.pos
    return truth_of(m, value, via, node)


def _test_bool(m: Interpreter, node: ir.Bool, via: str) -> bool | None:
    from syncwatch.static.infer.narrowing import narrow, widen

    stop = node.op == "or"
    result: bool | None = not stop
    narrowed: list[Any] = []
    guarded = m.frame.guarded
    for i, operand in enumerate(node.values):
        verdict = test(m, operand, via if i == len(node.values) - 1 else node.op)
        if same_object(operand, node.op):
            m.frame.guarded = "other"
        if verdict is stop:
            result = stop
            break
        if verdict is None:
            result = None
            narrowed += narrow(m, operand, not stop)
    m.frame.guarded = guarded
    widen(m, narrowed)
    return result


__all__ = ["NONE", "UNKNOWN", "test", "truth", "truth_of"]

"""Operators: on host values they compute, on tensors they are operations with facts of their own."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import msgspec

from syncwatch.static import ir
from syncwatch.static.infer import doubt, events, hazards
from syncwatch.static.infer.machine import Interpreter
from syncwatch.static.infer.types import class_attr
from syncwatch.static.library import protocol
from syncwatch.static.library.protocol import LibCall
from syncwatch.static.values import (
    BOOL,
    FALSE,
    INT,
    ITEMS,
    NONE,
    NUMBER,
    REST,
    STR,
    TRUE,
    UNKNOWN,
    Array,
    Bound,
    Class,
    Const,
    Device,
    Dtype,
    Func,
    Host,
    Items,
    Iter,
    Lib,
    Module,
    Obj,
    Range,
    Tensor,
    Tuple,
    Union,
    Value,
    const,
    join,
    join_all,
    members,
)

_BINARY: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "+": ("add", operator.add),
    "-": ("sub", operator.sub),
    "*": ("mul", operator.mul),
    "/": ("truediv", operator.truediv),
    "//": ("floordiv", operator.floordiv),
    "%": ("mod", operator.mod),
    "**": ("pow", operator.pow),
    "@": ("matmul", operator.matmul),
    "<<": ("lshift", operator.lshift),
    ">>": ("rshift", operator.rshift),
    "&": ("and", operator.and_),
    "|": ("or", operator.or_),
    "^": ("xor", operator.xor),
}
_COMPARE: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "==": ("eq", operator.eq),
    "!=": ("ne", operator.ne),
    "<": ("lt", operator.lt),
    "<=": ("le", operator.le),
    ">": ("gt", operator.gt),
    ">=": ("ge", operator.ge),
}
_MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
_NUMERIC = frozenset({"int", "float", "bool", "complex"})
_BIG = 1 << 40
_IDENTITY = (Tensor, Obj, Class, Func, Module, Tuple, Device, Dtype, Array, Iter, Range, Bound)


def binary(m: Interpreter, op: str, left: Value, right: Value, node: Any, *, inplace: bool = False) -> Value:
    """`left op right`, alternatives apart."""
    lefts, rights = members(left), members(right)
    if len(lefts) * len(rights) == 1:
        return _binary(m, op, left, right, node, inplace)
    if len(lefts) * len(rights) > 12:
        lefts, rights = lefts[:4], rights[:3]
    with m.doubting(True):
        return join_all([_binary(m, op, a, b, node, inplace) for a in lefts for b in rights])


def _binary(m: Interpreter, op: str, left: Value, right: Value, node: Any, inplace: bool) -> Value:
    name, compute = _BINARY[op]
    a, b = type(left), type(right)
    if a is Obj and b is Tensor:
        own = _own_operator(left, name, inplace)
        if own is not None:
            return m.call(Bound(own, left), (right,))
    if a is Tensor or b is Tensor:
        if op == "%" and a is not Tensor:  # "…" % tensor
            if _is_text(left):
                return text_modulo(m, left, right)
        return tensor_operator(m, name, left, right, inplace)
    if a is Const and b is Const:
        return _constants(op, compute, left, right)
    if op == "%" and _is_text(left):
        return text_modulo(m, left, right)
    if a is Obj:
        own = _own_operator(left, name, inplace)
        if own is not None:
            return m.call(Bound(own, left), (right,))
    if b is Obj and isinstance(right.type, Class):
        method = class_attr(right.type, f"__r{name}__")
        if type(method) is Func:
            return m.call(Bound(method, right), (left,))
    if op == "+" and (a is Tuple or _is_list(left)):
        return _concatenate(m, left, right, inplace)
    if op == "*" and (a is Tuple or _is_list(left) or b is Tuple or _is_list(right)):
        return _repeat(m, left, right)
    if a is Array or b is Array:
        return left if a is Array else right
    if _is_text(left) or (_is_text(right) and a is not Const):
        return STR
    if _is_number(left) and _is_number(right):
        if op == "-":
            hazards.streams.subtracted(m, left, right, node)
        return _number_kind(op, left, right)
    if op == "|" and a is Obj and left.type == "dict":
        return left
    for v, flipped in ((left, False), (right, True)):
        if type(v) is Obj or (type(v) is Host and "." in v.kind):
            from syncwatch.static.infer.attributes import get_attr

            member = get_attr(m, v, f"__{'r' if flipped else ''}{name}__")
            if type(member) is Bound:
                return m.call(member, (left if flipped else right,))
    return UNKNOWN


def _own_operator(v: Obj, name: str, inplace: bool) -> Func | None:
    """The operator that a class of the project defines itself."""
    if not isinstance(v.type, Class):
        return None
    method = class_attr(v.type, f"__i{name}__") if inplace else None
    method = method or class_attr(v.type, f"__{name}__")
    return method if type(method) is Func else None


def _constants(op: str, compute: Callable[[Any, Any], Any], left: Const, right: Const) -> Value:
    x, y = left.value, right.value
    if left.kind in _NUMERIC and right.kind in _NUMERIC:
        if op in ("**", "<<") and not (isinstance(y, (int, float)) and abs(y) < 64 and abs(x) < _BIG):
            return NUMBER
        try:
            value = compute(x, y)
        except (ArithmeticError, TypeError, ValueError):
            return NUMBER
        if isinstance(value, int) and abs(value) > _BIG * _BIG:
            return INT
        return const(value)
    if left.kind == "str" and op == "+" and right.kind == "str":
        return const(x + y) if len(x) + len(y) < 500 else STR
    if left.kind == "str":
        if op == "%" and right.kind in ("str", "int", "float"):
            try:
                return const(x % y)
            except (TypeError, ValueError):
                return STR
        return STR
    return UNKNOWN


def text_modulo(m: Interpreter, left: Value, right: Value) -> Value:
    from syncwatch.static.infer.formatting import percent

    return percent(m, left, right)


def _is_text(v: Value) -> bool:
    return type(v) in (Const, Host) and v.kind == "str"


def _is_number(v: Value) -> bool:
    return type(v) in (Const, Host) and (v.kind in _NUMERIC or v.kind == "number")


def _is_list(v: Value) -> bool:
    return type(v) is Obj and type(v.slots.get(ITEMS)) is Items


def _number_kind(op: str, left: Any, right: Any) -> Value:
    kinds = {left.kind, right.kind} - {"bool"}
    if op == "/" or "float" in kinds:
        return Host("float")
    if op == "%" and _label(left):
        return Host("int", _label(left))
    return INT if kinds <= {"int"} else NUMBER


def _label(v: Value) -> str:
    return v.names if type(v) is Host else ""


def _concatenate(m: Interpreter, left: Value, right: Value, inplace: bool) -> Value:
    a, b = m.iterate(left), m.iterate(right)
    if a.items is not None and b.items is not None and len(a.items) + len(b.items) <= 64:
        items, elem = (*a.items, *b.items), UNKNOWN
    else:
        from syncwatch.static.values import element

        parts = [x for x in (element(a), element(b)) if x is not None]
        items, elem = None, join_all(parts)
    if type(left) is Tuple:
        return Tuple(items, elem)
    if inplace:
        m.setattr(left, ITEMS, Items(items, elem))
        return left
    return m.new_items("list", items, elem)


def _repeat(m: Interpreter, left: Value, right: Value) -> Value:
    seq, count = (left, right) if type(left) is Tuple or _is_list(left) else (right, left)
    inner = m.iterate(seq)
    items, elem = inner.items, inner.elem
    if items is not None:
        if type(count) is Const and isinstance(count.value, int) and 0 <= count.value * len(items) <= 64:
            items = items * count.value
        else:
            elem = join_all(items)
            items = None
    return Tuple(items, elem) if type(seq) is Tuple else m.new_items("list", items, elem)


def tensor_operator(m: Interpreter, name: str, left: Value, right: Value, inplace: bool = False) -> Value:
    """An operator of which one operand is a tensor: facts first, then the library's model."""
    if type(left) is Tensor:
        dunder = f"__i{name}__" if inplace else f"__{name}__"
        receiver, other = left, right
    else:
        dunder = f"__{_MIRRORED[name]}__" if name in _MIRRORED else f"__r{name}__"
        receiver, other = right, left
    if type(other) in (Obj, Tuple) and type(other) is not Tensor:
        if type(other) is Obj and isinstance(other.type, Class):
            method = class_attr(other.type, dunder.replace("__", "__r", 1) if other is right else dunder)
            if type(method) is Func:
                return m.call(Bound(method, other), (receiver,))
    base = dunder.replace("__i", "__", 1) if inplace else dunder
    plain = base.strip("_")
    ops = (f"torch.Tensor.{dunder}", f"torch.Tensor.{base}", f"torch.Tensor.{_NAMES.get(plain, plain)}")
    events.ask(m, ops, (receiver, other), {}, via="operator")
    model = protocol.MODELS.get(f"torch.Tensor.{dunder}") or protocol.MODELS.get(f"torch.Tensor.{base}")
    if model is None:
        model = protocol.MODELS.get(f"torch.Tensor.{_NAMES.get(plain, plain)}")
    if model is None:
        model = protocol.DEFAULTS.get("torch.Tensor.")
    if model is None:
        return UNKNOWN
    made = model(m, LibCall(f"torch.Tensor.{_NAMES.get(plain, plain)}", (other,), {}, receiver))
    return vague(hazards.after(m, ops[0], (receiver, other), {}, made), receiver, other)


def vague(made: Value, *sources: Value) -> Value:
    """What is computed from a value that may be no tensor after all is one no more surely than that is."""
    if type(made) is not Tensor or any(type(v) is Tensor and doubt.VAGUE.isdisjoint(v.marks) for v in sources):
        return made
    kept = frozenset(mark for v in sources if type(v) is Tensor for mark in v.marks & doubt.VAGUE)
    return msgspec.structs.replace(made, marks=made.marks | kept) if kept else made


_NAMES = {
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
    "radd": "add",
    "rsub": "sub",
    "rmul": "mul",
    "rtruediv": "div",
    "rfloordiv": "floor_divide",
    "rmod": "remainder",
    "rpow": "pow",
    "rmatmul": "matmul",
    "rand": "bitwise_and",
    "ror": "bitwise_or",
    "rxor": "bitwise_xor",
    "invert": "bitwise_not",
}


def unary(m: Interpreter, op: str, value: Value, node: Any) -> Value:
    """`-value`, `+value`, `~value`."""
    return m.each(value, lambda v: _unary(m, op, v))


def _unary(m: Interpreter, op: str, v: Value) -> Value:
    if type(v) is Tensor:
        name = {"-": "neg", "~": "bitwise_not", "+": "positive"}[op]
        model = protocol.MODELS.get(f"torch.Tensor.{name}") or protocol.DEFAULTS.get("torch.Tensor.")
        return v if model is None else vague(model(m, LibCall(f"torch.Tensor.{name}", (), {}, v)), v)
    if type(v) is Const and v.kind in _NUMERIC:
        try:
            return const(-v.value if op == "-" else ~v.value if op == "~" else v.value)
        except TypeError:
            return UNKNOWN
    if type(v) is Obj and isinstance(v.type, Class):
        method = class_attr(v.type, {"-": "__neg__", "~": "__invert__", "+": "__pos__"}[op])
        if type(method) is Func:
            return m.call(Bound(method, v))
    return v if type(v) in (Host, Array) else UNKNOWN


def compare(m: Interpreter, op: str, left: Value, right: Value, node: Any) -> Value:
    """`left op right`."""
    if op in ("is", "is not"):
        verdict = same(left, right)
        return BOOL if verdict is None else (TRUE if verdict is (op == "is") else FALSE)
    if op in ("in", "not in"):
        return contains(m, left, right, node, negated=op == "not in")
    lefts, rights = members(left), members(right)
    if len(lefts) * len(rights) == 1:
        return _compare(m, op, left, right)
    with m.doubting(True):
        return join_all([_compare(m, op, a, b) for a in lefts[:4] for b in rights[:3]])


def _compare(m: Interpreter, op: str, left: Value, right: Value) -> Value:
    name, compute = _COMPARE[op]
    a, b = type(left), type(right)
    if a is Obj and b is Tensor:
        own = _own_operator(left, name, False)
        if own is not None:
            return m.call(Bound(own, left), (right,))
    if a is Tensor or b is Tensor:
        other = right if a is Tensor else left
        if op in ("==", "!=") and (other == NONE or _is_text(other)):
            return FALSE if op == "==" else TRUE
        return tensor_operator(m, name, left, right)
    if a is Const and b is Const:
        try:
            return const(bool(compute(left.value, right.value)))
        except TypeError:
            return BOOL
    if a is Array or b is Array:
        found = left if a is Array else right
        return Array(found.type, found.shape, "bool")
    if a is Obj and isinstance(left.type, Class):
        method = class_attr(left.type, f"__{name}__")
        if type(method) is Func:
            return m.call(Bound(method, left), (right,))
        if op in ("==", "!=") and left is right and not left.many:
            return TRUE if op == "==" else FALSE
        if "enum" in left.type.traits and op in ("==", "!=") and b is Obj and right.type is left.type:
            return BOOL if left.assumed or right.assumed else (TRUE if (left is right) is (op == "==") else FALSE)
    if op in ("==", "!="):
        verdict = _equal(left, right)
        return BOOL if verdict is None else (TRUE if verdict is (op == "==") else FALSE)
    return BOOL


def _equal(left: Value, right: Value) -> bool | None:
    a, b = type(left), type(right)
    if a is Device or b is Device:
        return _same_device(left, right) if a is Device else _same_device(right, left)
    if a is Dtype and b is Dtype and left.name and right.name:
        return bool(left == right)
    if a is Tuple and b is Tuple and left.items is not None and right.items is not None:
        if len(left.items) != len(right.items):
            return False
        verdicts = [_equal(x, y) for x, y in zip(left.items, right.items, strict=True)]
        return False if False in verdicts else None if None in verdicts else True
    if a is Const and b is Const:
        return bool(left.value == right.value)
    if (left == NONE and right is not UNKNOWN) or (right == NONE and left is not UNKNOWN):
        return bool(left == right)
    if a is Class and b is Class:
        return left is right
    if a is Lib and b is Lib:
        return bool(left.name == right.name) or None
    return None


def _same_device(device: Device, other: Value) -> bool | None:
    if type(other) is Const and isinstance(other.value, str):
        from syncwatch.static.infer.types import parse_device

        other = parse_device(other.value)
    if type(other) is not Device:
        return None if other is UNKNOWN else False
    if device.type is None or other.type is None:
        return None
    if device.type != other.type:
        return False
    return True if device.index == other.index and device.index is not None else None


def same(left: Value, right: Value) -> bool | None:
    """`left is right`."""
    lefts, rights = members(left), members(right)
    if len(lefts) == len(rights) == 1:
        return _same(left, right)
    verdicts = {_same(a, b) for a in lefts for b in rights}
    return verdicts.pop() if len(verdicts) == 1 else None


def _same(left: Value, right: Value) -> bool | None:
    if left is UNKNOWN or right is UNKNOWN:
        return None
    if type(left) is Const and type(right) is Const:
        return bool(left == right)
    if right == NONE or left == NONE:
        other = left if right == NONE else right
        if type(other) is Lib:
            return None
        if type(other) is Bound and type(other.func) is Lib:
            return None  # an attribute that nobody described
        return False
    if type(left) is Obj and type(right) is Obj:
        return (None if left.many or left.assumed else True) if left is right else None
    if type(left) in (Class, Func, Module) and type(left) is type(right):
        return left is right
    if type(left) is Dtype and type(right) is Dtype and left.name and right.name:
        return bool(left == right)
    if type(left) is Lib and type(right) is Lib:
        return bool(left.name == right.name)
    if isinstance(left, _IDENTITY) and isinstance(right, (Const, Host)):
        return False
    return None


def contains(m: Interpreter, item: Value, container: Value, node: Any, *, negated: bool) -> Value:
    """`item in container`."""
    results = []
    with m.doubting(type(container) is Union):
        for c in members(container):
            results.append(_contains(m, item, c, node))
    verdicts = set(results)
    verdict = verdicts.pop() if len(verdicts) == 1 else None
    return BOOL if verdict is None else (TRUE if verdict is not negated else FALSE)


def _contains(m: Interpreter, item: Value, c: Value, node: Any) -> bool | None:
    kind = type(c)
    if kind is Tensor:
        if _is_text(item):
            return None  # it would raise: here it is something else
        events.ask(m, ("torch.Tensor.__contains__",), (c, item), {}, via="in", node=node)
        return None
    if kind is Const and type(item) is Const and isinstance(c.value, str) and isinstance(item.value, str):
        return item.value in c.value
    if kind is Obj and isinstance(c.type, Class):
        method = class_attr(c.type, "__contains__")
        if type(method) is Func:
            return m.truth(m.call(Bound(method, c), (item,)))
    if kind is Obj and ITEMS not in c.slots and (c.type == "dict" or any(type(k) is tuple for k in c.slots)):
        if type(item) is Const:
            if ("key", item.value) in c.slots:
                return True
            return None if REST in c.slots or c.assumed else False
        return None
    inner = m.iterate(c) if kind in (Tuple, Obj, Iter) else None
    if inner is None:
        return None
    if inner.items is not None:
        if any(type(x) is Tensor for x in (item, *inner.items)):
            _compare_elements(m, item, inner.items, node)
            return None
        verdicts = [_equal(item, x) if type(item) is not Union and type(x) is not Union else None for x in inner.items]
        return True if True in verdicts else None if None in verdicts else False
    if type(item) is Tensor or type(inner.elem) is Tensor:
        _compare_elements(m, item, (inner.elem,), node)
    return None


def _compare_elements(m: Interpreter, item: Value, items: tuple[Value, ...], node: Any) -> None:
    """`t in [a, b]` compares with each element and asks for the truth of the result."""
    if _is_text(item):
        return
    for x in items[:4]:
        if type(item) is Tensor or type(x) is Tensor:
            m.implicit("torch.Tensor.__bool__", join(item, x) if type(x) is Tensor else item, "in", node)


__all__ = ["FALSE", "ir"]

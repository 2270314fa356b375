"""What iterating over a value yields."""

from __future__ import annotations

from syncwatch.static.infer.hazards import copies
from syncwatch.static.infer.machine import Interpreter
from syncwatch.static.infer.types import class_attr, library_types
from syncwatch.static.library import protocol
from syncwatch.static.library.protocol import LibCall
from syncwatch.static.values import (
    INT,
    ITEMS,
    REST,
    STR,
    UNKNOWN,
    Array,
    Bound,
    Class,
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
    const,
    element,
    join,
    join_all,
)

_ROWS = 8


def iterate(m: Interpreter, v: Value, depth: int = 0) -> Iter:
    """What iterating over a value yields. Tensors yield rows; unknown values yield Unknown."""
    kind = type(v)
    if isinstance(v, Iter):
        return v
    if kind is Tuple:
        return Iter(v.items, v.elem)
    if kind is Obj:
        return _object(m, v, depth)
    if kind is Range:
        if v.length is not None and v.length <= _ROWS:
            return Iter((INT,) * v.length)
        return Iter(None, INT)
    if kind is Tensor:
        return _rows(m, v)
    if kind is Union:
        inner = [iterate(m, x, depth) for x in v.members if not (type(x) is Const and x.kind == "NoneType")]
        if len(inner) == 1:
            return inner[0]
        parts = [e for e in (element(i) for i in inner) if e is not None]
        return Iter(None, join_all(parts))
    if kind is Array:
        shape = None if not v.shape else v.shape[1:]
        return Iter(None, Array(v.type, shape, v.dtype))
    if kind is Const and isinstance(v.value, str):
        if len(v.value) <= _ROWS:
            return Iter(tuple(const(c) for c in v.value))
        return Iter(None, STR)
    if kind is Host and v.kind == "str":
        return Iter(None, STR)
    if kind is Class and "enum" in v.traits:
        return Iter(tuple(x for x in v.slots.values() if type(x) is Obj and x.type is v))
    return Iter(None, UNKNOWN)


def _rows(m: Interpreter, v: Tensor) -> Iter:
    shape = v.shape
    row = Tensor(
        v.device,
        v.sure,
        None if not shape else shape[1:],
        v.dtype,
        pinned=v.pinned,
        dense=v.dense,
        requires_grad=v.requires_grad,
        marks=v.marks,
        pending=v.pending,
        stream=v.stream,
        index=v.index,
    )
    if shape and shape[0] is not None and shape[0] <= _ROWS:
        return Iter((row,) * shape[0])
    return Iter(None, row)


def _object(m: Interpreter, v: Obj, depth: int) -> Iter:
    if v.born < m.oldest:
        m.oldest = v.born
    if isinstance(v.type, Class):
        method = class_attr(v.type, "__iter__")
        if type(method) is Func and depth < 3:
            result = m.call(Bound(method, v))
            if result is v or (type(result) is Obj and class_of_next(result) is not None):
                following = class_of_next(result)
                return Iter(None, m.call(Bound(following, result))) if following is not None else Iter(None, UNKNOWN)
            return iterate(m, result, depth + 1)
        if "namedtuple" in v.type.traits:
            return Iter(tuple(v.slots.get(f, UNKNOWN) for f in v.type.keywords.get("fields", ())))
        method = class_attr(v.type, "__getitem__")
        if type(method) is Func:
            return Iter(None, m.call(Bound(method, v), (INT,)))
    for t in library_types(v):
        model = protocol.MODELS.get(f"{t}.__iter__")
        if model is not None:
            found = model(m, LibCall(f"{t}.__iter__", (), {}, v))
            if t == "torch.utils.data.DataLoader" and type(found) is Iter:
                return Iter(None, copies.batches(m, v, join_all([element(found)], UNKNOWN)))
            return found if type(found) is Iter else iterate(m, found, depth + 1)
    held = v.slots.get(ITEMS)
    if type(held) is Items:
        return Iter(held.items, held.elem)
    if "dict" in library_types(v):
        return Iter(*dict_keys(v))
    return Iter(None, UNKNOWN)


def class_of_next(v: Value) -> Func | None:
    """The `__next__` of an object's class."""
    if type(v) is Obj and isinstance(v.type, Class):
        method = class_attr(v.type, "__next__")
        return method if type(method) is Func else None
    return None


def dict_keys(v: Obj) -> tuple[tuple[Value, ...] | None, Value]:
    """The keys of a dict: all of them where they are known, else their join."""
    keys = tuple(key_value(k[1]) for k in v.slots if type(k) is tuple)
    if REST in v.slots or v.assumed:
        return None, join(join_all(keys), STR) if keys else (v.slots.get("<keys>") or UNKNOWN)
    return keys, UNKNOWN


def key_value(key: object) -> Value:
    """The abstract value of a dict's Python key."""
    if isinstance(key, tuple):
        return Tuple(tuple(key_value(k) for k in key))
    if isinstance(key, Obj):
        return key
    return const(key)


def dict_values(v: Obj) -> tuple[tuple[Value, ...] | None, Value]:
    """The values of a dict, in the order of `dict_keys`."""
    values = tuple(x for k, x in v.slots.items() if type(k) is tuple)
    if REST in v.slots or v.assumed:
        rest = v.slots.get(REST, UNKNOWN)
        return None, join_all([*values, rest])
    return values, UNKNOWN

"""Subscripts: reading, writing and deleting elements."""

from __future__ import annotations

from typing import Any

from syncwatch.static.infer import events, hazards
from syncwatch.static.infer.machine import Interpreter
from syncwatch.static.infer.operators import vague
from syncwatch.static.infer.types import class_attr, library_types
from syncwatch.static.library import protocol
from syncwatch.static.library.protocol import LibCall
from syncwatch.static.values import (
    FLOAT,
    INT,
    ITEMS,
    NONE,
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
    Lib,
    Obj,
    Range,
    Tensor,
    Tuple,
    Union,
    Value,
    element,
    join,
    join_all,
    members,
)

_MISSING = Const("NoneType", None)


def make_slice(lower: Value | None, upper: Value | None, step: Value | None) -> Tuple:
    """The value of `lower:upper:step`."""
    return Tuple(tuple(NONE if p is None else p for p in (lower, upper, step)), type="slice")


def is_slice(v: Value) -> bool:
    return type(v) is Tuple and v.type == "slice"


def index_of_tensor(index: Value) -> Value:
    """An index as a tensor takes it: a list that holds slices, None or an ellipsis counts as a tuple.

    Of a tuple of unknown length, parts that may be anything say nothing.
    """
    if type(index) is Union:
        return join_all([index_of_tensor(v) for v in index.members])
    if type(index) is Obj and index.type == "list" and type(held := index.slots.get(ITEMS)) is Items:
        if any(_is_basic(x) for p in _parts(held) for x in members(p)):
            index = Tuple(held.items, held.elem)
    if type(index) is not Tuple or is_slice(index):
        return index
    if index.items is not None:
        return Tuple(tuple(_flat(p) for p in index.items)) if any(type(p) is Tuple for p in index.items) else index
    parts = [_flat(x) for x in members(index.elem)]
    basic = [x for x in parts if is_slice(x)]
    if basic:
        return Tuple(None, basic[0])
    return Tuple(None, UNKNOWN) if UNKNOWN in parts else index


def _flat(part: Value) -> Value:
    """A part of an index; of several slices, which cannot be one part, the first."""
    if type(part) is not Tuple or is_slice(part):
        return part
    inner = [x for p in _parts(part) for x in members(p)]
    return next((x for x in inner if is_slice(x)), part)


def _parts(v: Items | Tuple) -> tuple[Value, ...]:
    return (v.elem,) if v.items is None else v.items


def _is_basic(v: Value) -> bool:
    return is_slice(v) or v == NONE or (type(v) is Const and v.kind == "ellipsis")


def get_item(m: Interpreter, value: Value, index: Value, node: Any) -> Value:
    """`value[index]`."""
    alternatives = members(value)
    if len(alternatives) == 1:
        return _get(m, value, index, node)
    with m.doubting(len([v for v in alternatives if v is not UNKNOWN and v != NONE]) > 1):
        found = [_get(m, v, index, node) for v in alternatives if v != NONE]
    return join_all(found)


def _get(m: Interpreter, v: Value, index: Value, node: Any) -> Value:
    kind = type(v)
    if kind is Tensor:
        if type(index) in (Const, Host) and index.kind == "str":
            return v if "open" in v.marks else UNKNOWN  # it is not a tensor after all
        index = index_of_tensor(index)
        events.ask(m, ("torch.Tensor.__getitem__",), (v, index), {}, via="subscript", node=getattr(node, "value", None))
        return vague(tensor_item(m, v, index), v)
    if kind is Obj:
        return _of_object(m, v, index, node)
    if kind is Tuple or kind is Iter:
        return _of_sequence(m, v.items, v.elem, index, node, kind is Tuple)
    if kind in (Lib, Class):
        return v  # a generic type with its arguments
    if kind is Array:
        read_index(m, index, node)
        if _scalar_index(index) and v.shape is not None and len(v.shape) == 1:
            return FLOAT if v.dtype == "float" else Array(v.type, (), v.dtype)
        return Array(v.type, None, v.dtype, v.marks)
    if kind in (Const, Host) and v.kind == "str":
        read_index(m, index, node)
        return STR
    if kind is Range:
        read_index(m, index, node)
        return v if is_slice(index) else INT
    if v is UNKNOWN and _is_mask(index):
        # only a tensor on the same device takes such an index
        return _get(m, Tensor("cuda", sure=False), index, node)
    if v is UNKNOWN and type(index) is Const and isinstance(index.value, str):
        from syncwatch.static.infer.attributes import assumed_attr

        return assumed_attr(m, index.value)
    return UNKNOWN


def _is_mask(index: Value) -> bool:
    parts = index.items or () if type(index) is Tuple else (index,)
    return any(type(p) is Tensor and p.device == "cuda" and p.dtype == "bool" for p in parts)


def _scalar_index(index: Value) -> bool:
    return type(index) in (Const, Host) and index.kind in ("int", "number")


def tensor_item(m: Interpreter, v: Tensor, index: Value) -> Value:
    """The tensor that indexing gives, by the library's model."""
    model = protocol.MODELS.get("torch.Tensor.__getitem__") or protocol.DEFAULTS.get("torch.Tensor.")
    if model is None:
        return Tensor(v.device, v.sure, None, v.dtype, requires_grad=v.requires_grad, marks=v.marks, index=v.index)
    made = model(m, LibCall("torch.Tensor.__getitem__", (index,), {}, v))
    return hazards.after(m, "torch.Tensor.__getitem__", (v, index), {}, made)


def _of_object(m: Interpreter, v: Obj, index: Value, node: Any) -> Value:
    if v.born < m.oldest:
        m.oldest = v.born
    if isinstance(v.type, Class):
        method = class_attr(v.type, "__getitem__")
        if type(method) is Func:
            return m.call(Bound(method, v), (index,))
        if "namedtuple" in v.type.traits:
            fields = v.type.keywords.get("fields", ())
            items = tuple(v.slots.get(f, UNKNOWN) for f in fields)
            return _of_sequence(m, items, UNKNOWN, index, node, True)
    for t in library_types(v):
        model = protocol.MODELS.get(f"{t}.__getitem__")
        if model is not None:
            return model(m, LibCall(f"{t}.__getitem__", (index,), {}, v))
    held = v.slots.get(ITEMS)
    if type(held) is Items:
        return _of_sequence(m, held.items, held.elem, index, node, False)
    if "dict" in library_types(v):
        return dict_item(m, v, index)
    if v.assumed and type(index) is Const and isinstance(index.value, str):
        return m.getattr(v, index.value)
    return UNKNOWN


def dict_item(m: Interpreter, v: Obj, index: Value, default: Value = None) -> Value:
    """The entry of a dict under a key."""
    slots = v.slots
    key = constant_key(index)
    if key is not None:
        found = slots.get(("key", key[0]))
        rest = slots.get(REST)
        if found is not None:
            return found
        if rest is not None:
            return rest if default is None else join(rest, default)
        if default is not None:
            return default
        factory = slots.get("default_factory")
        if factory is not None:
            value = m.call(factory)
            m.setattr(v, ("key", key[0]), value)
            return value
        return UNKNOWN
    factory = slots.get("default_factory")
    if factory is not None and REST not in slots:
        value = m.call(factory)
        m.setattr(v, REST, value, weak=True)
    found = join_all(
        [x for k, x in slots.items() if type(k) is tuple or k == REST], UNKNOWN if default is None else default
    )
    return found if default is None else join(found, default)


def constant_key(index: Value) -> tuple[Any] | None:
    """The Python key of a constant index, in a tuple of one; None where it is unknown."""
    if type(index) is Const:
        return (index.value,)
    if type(index) is Tuple and index.items is not None and all(type(i) is Const for i in index.items):
        return (tuple(i.value for i in index.items),)
    if type(index) is Obj and isinstance(index.type, Class) and "enum" in index.type.traits:
        return (index,)
    return None


def read_index(m: Interpreter, index: Value, node: Any) -> None:
    """A Python sequence is indexed: a tensor among the indices is read."""
    at = getattr(node, "index", None)
    if is_slice(index):
        for bound in index.items or ():
            m.implicit("torch.Tensor.__index__", bound, "slice", at)
    elif any(type(x) is Tensor for x in members(index)):
        m.implicit("torch.Tensor.__index__", index, "index", at)


def _of_sequence(
    m: Interpreter, items: tuple[Value, ...] | None, elem: Value, index: Value, node: Any, is_tuple: bool
) -> Value:
    read_index(m, index, node)
    if items is None:
        if is_slice(index):
            return Tuple(None, elem) if is_tuple else m.new_items("list", None, elem)
        return elem
    if type(index) is Const and isinstance(index.value, int):
        return items[index.value] if -len(items) <= index.value < len(items) else UNKNOWN
    if is_slice(index):
        bounds = [p.value if type(p) is Const else p for p in index.items or ()]
        if all(b is None or isinstance(b, int) for b in bounds) and bounds[2] != 0:
            part: tuple[Value, ...] | None = items[slice(*bounds)]
            elem = UNKNOWN
        else:
            part, elem = None, join_all(items)
        return Tuple(part, elem) if is_tuple else m.new_items("list", part, elem)
    return join_all(items)


def set_item(m: Interpreter, target: Value, index: Value, value: Value, node: Any) -> None:
    """`target[index] = value`."""
    alternatives = members(target)
    weak = len(alternatives) > 1
    with m.doubting(weak):
        for v in alternatives:
            _set(m, v, index, value, node, weak)


def _set(m: Interpreter, v: Value, index: Value, value: Value, node: Any, weak: bool) -> None:
    if type(v) is Tensor:
        if not (type(index) is Const and index.kind == "str"):
            events.ask(
                m,
                ("torch.Tensor.__setitem__",),
                (v, index_of_tensor(index), value),
                {},
                via="subscript",
                node=getattr(node, "value", None),
            )
        return
    if type(v) is not Obj:
        return
    if isinstance(v.type, Class):
        method = class_attr(v.type, "__setitem__")
        if type(method) is Func:
            m.call(Bound(method, v), (index, value))
            return
    for t in library_types(v):
        model = protocol.MODELS.get(f"{t}.__setitem__")
        if model is not None:
            model(m, LibCall(f"{t}.__setitem__", (index, value), {}, v))
            return
    held = v.slots.get(ITEMS)
    if type(held) is Items:
        read_index(m, index, node)
        m.setattr(v, ITEMS, _replaced(held, index, value), weak=weak)
        return
    key = constant_key(index)
    if v.label == "os.environ" and key == ("CUDA_LAUNCH_BLOCKING",) and type(value) is Const:
        if str(value.value) not in ("", "0"):
            events.launches_block(m, "os.environ.__setitem__")
    if key is not None:
        m.setattr(v, ("key", key[0]), value, weak=weak or v.many)
    else:
        m.setattr(v, REST, value, weak=True)


def _replaced(held: Items, index: Value, value: Value) -> Items:
    items = held.items
    if items is None:
        return Items(None, join(held.elem, value))
    if type(index) is Const and isinstance(index.value, int) and -len(items) <= index.value < len(items):
        i = index.value % len(items)
        return Items((*items[:i], value, *items[i + 1 :]))
    if is_slice(index):
        inner = element(value) if type(value) in (Tuple, Iter) else UNKNOWN
        found = element(held)
        return Items(None, join(found, inner) if inner is not None and found is not None else UNKNOWN)
    return Items(tuple(join(x, value) for x in items))


def del_item(m: Interpreter, target: Value, index: Value) -> None:
    """`del target[index]`."""
    for v in members(target):
        if type(v) is not Obj:
            continue
        key = constant_key(index)
        held = v.slots.get(ITEMS)
        if type(held) is Items:
            found = element(held)
            m.setattr(v, ITEMS, Items(None, UNKNOWN if found is None else found))
        elif key is not None and ("key", key[0]) in v.slots:
            m.journal.delete(v.slots, ("key", key[0]))

"""Lists, dicts, sets and deques: constructors and methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from syncwatch.static.infer.iteration import dict_keys, dict_values
from syncwatch.static.infer.python.builtins import _compare_all
from syncwatch.static.infer.subscripts import constant_key, dict_item
from syncwatch.static.library.protocol import BASES, LibCall, model
from syncwatch.static.values import (
    BOOL,
    INT,
    ITEMS,
    NONE,
    REST,
    UNKNOWN,
    Const,
    Items,
    Iter,
    Lib,
    Obj,
    Tensor,
    Tuple,
    Value,
    element,
    join,
    join_all,
    members,
)

BASES.update(
    {
        "dict": (),
        "list": (),
        "deque": (),
        "set": (),
        "frozenset": ("set",),
        "tuple": (),
        "collections.defaultdict": ("dict",),
        "collections.Counter": ("dict",),
        "collections.ChainMap": ("dict",),
    }
)
_LIMIT = 64


def contents(m: Any, v: Value) -> tuple[tuple[Value, ...] | None, Value]:
    """The elements of any iterable as (items, joined element)."""
    seq = m.iterate(v)
    return seq.items, seq.elem


@model("builtins.list", "builtins.set", "builtins.frozenset", "collections.deque")
def _make(m: Any, c: LibCall) -> Value:
    kind = c.name.rpartition(".")[2]
    if not c.args:
        return m.new_items(kind, ())
    items, elem = contents(m, c.args[0])
    return m.new_items(kind, items, elem)


@model("list.__init__", "set.__init__", "deque.__init__")
def _init_items(m: Any, c: LibCall) -> Value:
    items, elem = contents(m, c.args[0]) if c.args else ((), UNKNOWN)
    m.setattr(c.self, ITEMS, Items(items, elem))
    return NONE


@model("builtins.tuple")
def _tuple(m: Any, c: LibCall) -> Value:
    if not c.args:
        return Tuple(())
    items, elem = contents(m, c.args[0])
    return Tuple(items, elem)


@model("builtins.dict", "collections.OrderedDict", "collections.Counter", "types.SimpleNamespace")
def _dict(m: Any, c: LibCall) -> Value:
    if c.name == "types.SimpleNamespace":
        return m.new("types.SimpleNamespace", **c.kwargs)
    obj = m.dict({})
    _fill(m, obj, c)
    return obj


@model("dict.__init__")
def _init_dict(m: Any, c: LibCall) -> Value:
    _fill(m, c.self, c)
    return NONE


@model("collections.defaultdict")
def _defaultdict(m: Any, c: LibCall) -> Value:
    obj = m.allocate("collections.defaultdict")
    if c.args and c.args[0] != NONE:
        m.setattr(obj, "default_factory", c.args[0])
    _fill(m, obj, LibCall(c.name, c.args[1:], c.kwargs, None, c.has_star))
    return obj


def _fill(m: Any, obj: Obj, c: LibCall) -> None:
    from syncwatch.static.infer.expressions import merge_mapping, put

    for arg in c.args[:1]:
        for v in members(arg):
            if type(v) is Obj and (v.type == "dict" or REST in v.slots or any(type(k) is tuple for k in v.slots)):
                merge_mapping(m, obj, v)
                continue
            seq = m.iterate(v)
            for pair in seq.items if seq.items is not None else (seq.elem,):
                inner = m.iterate(pair)
                if inner.items is not None and len(inner.items) == 2 and seq.items is not None:
                    put(m, obj, inner.items[0], inner.items[1])
                else:
                    found = inner.items[1] if inner.items is not None and len(inner.items) == 2 else inner.elem
                    m.setattr(obj, REST, found, weak=True)
    for key, value in c.kwargs.items():
        m.setattr(obj, ("key", key), value)
    if c.has_star:
        m.setattr(obj, REST, UNKNOWN, weak=True)


@model("dict.fromkeys")
def _fromkeys(m: Any, c: LibCall) -> Value:
    obj = m.dict({})
    from syncwatch.static.infer.expressions import put

    value = c.arg(1, "value", NONE)
    seq = m.iterate(c.args[0]) if c.args else Iter(())
    for key in seq.items if seq.items is not None else (seq.elem,):
        put(m, obj, key, value)
    return obj


# ---------------------------------------------------------------------- lists, sets, deques


def _held(v: Value) -> Items:
    held = v.slots.get(ITEMS) if type(v) is Obj else None
    return held if type(held) is Items else Items(None, UNKNOWN)


def _many(m: Any, held: Items, new: Sequence[Value], unknown: bool = False) -> Items:
    if held.items is not None and not unknown and len(held.items) + len(new) <= _LIMIT:
        return Items((*held.items, *new))
    old = element(held)
    parts = [*([] if old is None else [old]), *new]
    return Items(None, join_all(parts))


@model("list.append", "deque.append", "deque.appendleft", "set.add")
def _append(m: Any, c: LibCall) -> Value:
    held = _held(c.self)
    if c.args:
        if c.name == "deque.appendleft" and held.items is not None:
            new = Items((c.args[0], *held.items))
        elif c.name == "set.add" and held.items is not None and c.args[0] in held.items:
            return NONE
        else:
            new = _many(m, held, [c.args[0]])
        m.setattr(c.self, ITEMS, new)
    return NONE


@model("list.insert")
def _insert(m: Any, c: LibCall) -> Value:
    held = _held(c.self)
    if len(c.args) == 2:
        where = c.args[0]
        if held.items is not None and type(where) is Const and isinstance(where.value, int):
            items = list(held.items)
            items.insert(where.value, c.args[1])
            m.setattr(c.self, ITEMS, Items(tuple(items)))
        else:
            m.setattr(c.self, ITEMS, _many(m, held, [c.args[1]], unknown=True))
    return NONE


@model("list.extend", "deque.extend", "deque.extendleft", "set.update")
def _extend(m: Any, c: LibCall) -> Value:
    for arg in c.args:
        seq = m.iterate(arg)
        held = _held(c.self)
        if seq.items is not None:
            m.setattr(c.self, ITEMS, _many(m, held, seq.items))
        else:
            m.setattr(c.self, ITEMS, _many(m, held, [seq.elem], unknown=True))
    return NONE


@model("list.pop", "deque.pop", "deque.popleft", "set.pop")
def _pop(m: Any, c: LibCall) -> Value:
    held = _held(c.self)
    if held.items is None:
        return held.elem
    if not held.items:
        return UNKNOWN
    where = c.arg(0, None, Const("int", 0 if c.name == "deque.popleft" else -1))
    if c.name == "set.pop":
        return join_all(held.items)
    if type(where) is Const and isinstance(where.value, int) and -len(held.items) <= where.value < len(held.items):
        items = list(held.items)
        value = items.pop(where.value)
        m.setattr(c.self, ITEMS, Items(tuple(items)))
        return value
    m.setattr(c.self, ITEMS, Items(None, join_all(held.items)))
    return join_all(held.items)


@model("list.clear", "deque.clear", "set.clear")
def _clear(m: Any, c: LibCall) -> Value:
    m.setattr(c.self, ITEMS, Items(()))
    return NONE


@model("list.copy", "deque.copy", "set.copy")
def _copy(m: Any, c: LibCall) -> Value:
    held = _held(c.self)
    return m.new_items(c.name.partition(".")[0], held.items, held.elem)


@model("list.sort")
def _sort(m: Any, c: LibCall) -> Value:
    held = _held(c.self)
    items = list(held.items) if held.items is not None else [held.elem]
    key = c.kwargs.get("key")
    keyed = [m.call(key, (x,)) for x in items] if key is not None and key != NONE else items
    _compare_all(m, keyed, "sorted")
    if held.items is not None:
        m.setattr(c.self, ITEMS, Items((join_all(items),) * len(items)))
    return NONE


@model("list.reverse")
def _reverse(m: Any, c: LibCall) -> Value:
    held = _held(c.self)
    if held.items is not None:
        m.setattr(c.self, ITEMS, Items(tuple(reversed(held.items))))
    return NONE


@model("list.index", "list.count", "tuple.index", "tuple.count", "list.remove", "list.__contains__", "deque.remove")
def _search(m: Any, c: LibCall) -> Value:
    items, elem = contents(m, c.self)
    for x in (*(items if items is not None else (elem,)), *c.args):
        if type(x) is Tensor and x.device == "cuda":
            m.implicit("torch.Tensor.__bool__", x, "in")
            break
    if c.name.endswith("remove") and type(c.self) is Obj:
        m.setattr(c.self, ITEMS, Items(None, join_all(items) if items is not None else elem))
    return INT


@model("set.union", "set.difference", "set.intersection", "set.symmetric_difference")
def _set_algebra(m: Any, c: LibCall) -> Value:
    held = _held(c.self)
    found = element(held)
    parts = [found] if found is not None else []
    for a in c.args:
        inner = element(m.iterate(a))
        if inner is not None:
            parts.append(inner)
    return m.new_items("set", None, join_all(parts))


@model("set.discard", "set.remove", "set.issubset", "set.issuperset", "set.isdisjoint")
def _set_other(m: Any, c: LibCall) -> Value:
    return BOOL


# ---------------------------------------------------------------------- dicts


@model("dict.keys")
def _keys(m: Any, c: LibCall) -> Value:
    return Iter(*dict_keys(c.self), type="dict_keys") if type(c.self) is Obj else Iter(None)


@model("dict.values")
def _values(m: Any, c: LibCall) -> Value:
    return Iter(*dict_values(c.self), type="dict_values") if type(c.self) is Obj else Iter(None)


@model("dict.items")
def _items(m: Any, c: LibCall) -> Value:
    if type(c.self) is not Obj:
        return Iter(None)
    keys, key = dict_keys(c.self)
    values, value = dict_values(c.self)
    if keys is not None and values is not None:
        return Iter(tuple(Tuple(pair) for pair in zip(keys, values, strict=True)), type="dict_items")
    return Iter(None, Tuple((key, value)), type="dict_items")


@model("dict.get", "dict.setdefault", "dict.pop")
def _get(m: Any, c: LibCall) -> Value:
    if not c.args or type(c.self) is not Obj:
        return UNKNOWN
    default = c.arg(1, "default", NONE if not c.name.endswith("pop") else None)
    value = dict_item(m, c.self, c.args[0], default)
    key = constant_key(c.args[0])
    if key is not None:
        where = ("key", key[0])
        if c.name == "dict.setdefault" and where not in c.self.slots and default is not None:
            m.setattr(c.self, where, value)
        elif c.name == "dict.pop" and where in c.self.slots:
            m.journal.delete(c.self.slots, where)
    elif c.name == "dict.setdefault" and default is not None:
        m.setattr(c.self, REST, default, weak=True)
    return value


@model("dict.update")
def _update(m: Any, c: LibCall) -> Value:
    if type(c.self) is Obj:
        _fill(m, c.self, c)
    return NONE


@model("dict.copy")
def _dict_copy(m: Any, c: LibCall) -> Value:
    from syncwatch.static.infer.expressions import merge_mapping

    obj = m.dict({})
    merge_mapping(m, obj, c.self)
    return obj


@model("dict.clear")
def _dict_clear(m: Any, c: LibCall) -> Value:
    for key in [k for k in c.self.slots if type(k) is tuple or k == REST]:
        m.journal.delete(c.self.slots, key)
    return NONE


@model("dict.popitem")
def _popitem(m: Any, c: LibCall) -> Value:
    _, value = dict_values(c.self)
    values, _ = dict_values(c.self)
    return Tuple((UNKNOWN, join_all(values) if values is not None else value))


@model("dict.move_to_end")
def _nothing(m: Any, c: LibCall) -> Value:
    return NONE


@model("collections.namedtuple")
def _namedtuple(m: Any, c: LibCall) -> Value:
    from syncwatch.static.infer.classes import make_class
    from syncwatch.static.values import Class

    name = c.arg(0, "typename")
    text = str(name.value) if type(name) is Const else "namedtuple"
    cls = Class(text, text, m.frame.module, None, ())
    make_class(cls, (Lib("typing.NamedTuple"),))
    fields = c.arg(1, "field_names")
    names: list[str] = []
    if type(fields) is Const and isinstance(fields.value, str):
        names = fields.value.replace(",", " ").split()
    elif fields is not None:
        names = [str(x.value) for x in m.iterate(fields).items or () if type(x) is Const]
    cls.keywords["fields"] = tuple(names)
    return cls


@model("copy.copy", "copy.deepcopy")
def _deepcopy(m: Any, c: LibCall) -> Value:
    if not c.args:
        return UNKNOWN
    deep = c.name.endswith("deepcopy")
    return m.each(c.args[0], lambda v: _copied(m, v, deep, {}))


def _copied(m: Any, v: Value, deep: bool, seen: dict[int, Obj]) -> Value:
    if type(v) is Tuple and v.items is not None and deep:
        return Tuple(tuple(_copied(m, x, deep, seen) for x in v.items), v.elem, v.type, v.names)
    if type(v) is Items and v.items is not None:
        return Items(tuple(_copied(m, x, deep, seen) if deep else x for x in v.items), v.elem)
    if type(v) is Items:
        return Items(None, _copied(m, v.elem, deep, seen) if deep else v.elem)
    if type(v) is not Obj or len(seen) > 200:
        return v
    known = seen.get(id(v))
    if known is not None:
        return known
    key = ("copy", m.frame.pos, m.frame.turn, id(v))
    new = m.frame.allocs.get(key)
    if new is None:
        new = m.frame.allocs[key] = Obj(v.type, assumed=v.assumed)
    seen[id(v)] = new
    for slot, value in list(v.slots.items()):
        m.journal.write(new.slots, slot, _copied(m, value, deep, seen) if deep or slot == ITEMS else value)
    return new


__all__ = ["contents", "join"]

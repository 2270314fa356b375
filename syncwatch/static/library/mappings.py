"""Reading dicts and iterables of pairs, for models that take mappings."""

from __future__ import annotations

from syncwatch.static.library.protocol import Machine
from syncwatch.static.values import (
    NONE,
    REST,
    UNKNOWN,
    Const,
    Iter,
    Obj,
    Tuple,
    Union,
    Value,
    join,
    join_all,
)


def entries_of(m: Machine, source: Value) -> tuple[dict[object, Value], Value | None]:
    """The entries of a mapping, or of an iterable of pairs; the second part joins those of unknown keys."""
    if type(source) is Union:
        parts = [entries_of(m, x) for x in source.members if x != NONE]
        values = [v for known, rest in parts for v in (*known.values(), rest) if v is not None]
        return {}, join_all(values) if values else None
    if type(source) is Obj and is_mapping(source):
        known = {k[1]: v for k, v in source.slots.items() if type(k) is tuple}
        return known, source.slots.get(REST, UNKNOWN if source.assumed else None)
    inner = m.iterate(source)
    if inner.items is not None:
        result: dict[object, Value] = {}
        rest: Value | None = None
        for pair in inner.items:
            key, value = _pair(m, pair)
            constant = key_of(key)
            if constant is None:
                rest = value if rest is None else join(rest, value)
            else:
                result[constant[0]] = value
        return result, rest
    _, value = _pair(m, inner.elem)
    return {}, value


def is_mapping(source: Obj) -> bool:
    """Whether an object holds entries as a dict does."""
    return source.type == "dict" or REST in source.slots or any(type(k) is tuple for k in source.slots)


def _pair(m: Machine, pair: Value) -> tuple[Value, Value]:
    parts = m.iterate(pair) if type(pair) in (Tuple, Obj) else Iter(None, UNKNOWN)
    if parts.items is not None and len(parts.items) == 2:
        return parts.items[0], parts.items[1]
    return UNKNOWN, UNKNOWN if parts.items is not None else parts.elem


def key_of(index: Value) -> tuple[object] | None:
    """The Python key of a constant, in a tuple of one; None where it is unknown."""
    if type(index) is Const:
        return (index.value,)
    if type(index) is Tuple and index.items is not None and all(type(i) is Const for i in index.items):
        return (tuple(i.value for i in index.items),)
    return None

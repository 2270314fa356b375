"""The builtin functions that make or read iterators."""

from __future__ import annotations

from typing import Any

from syncwatch.static.infer.python.builtins import elements
from syncwatch.static.infer.truth import truth_of
from syncwatch.static.library.protocol import LibCall, model
from syncwatch.static.values import (
    NONE,
    UNKNOWN,
    Bound,
    Class,
    Const,
    Host,
    Iter,
    Obj,
    Tuple,
    Value,
    const,
    element,
    join,
    join_all,
)


@model("builtins.iter")
def _iter(m: Any, c: LibCall) -> Value:
    if not c.args:
        return UNKNOWN
    v = c.args[0]
    if type(v) is Obj and isinstance(v.type, Class):
        from syncwatch.static.infer.iteration import class_of_next

        if class_of_next(v) is not None:
            return v
    seq = m.iterate(v)
    return Iter(None, join_all(seq.items, UNKNOWN) if seq.items is not None else seq.elem)


@model("builtins.next")
def _next(m: Any, c: LibCall) -> Value:
    if not c.args:
        return UNKNOWN
    from syncwatch.static.infer.iteration import class_of_next

    def one(v: Value) -> Value:
        following = class_of_next(v)
        if following is not None:
            return m.call(Bound(following, v))
        seq = m.iterate(v)
        found = element(seq)
        if seq.items:
            found = seq.items[0] if len(seq.items) == 1 or all(x == seq.items[0] for x in seq.items) else found
        return UNKNOWN if found is None else found

    value = m.each(c.args[0], one)
    default = c.arg(1)
    return value if default is None else join(value, default)


@model("builtins.enumerate")
def _enumerate(m: Any, c: LibCall) -> Value:
    if not c.args:
        return Iter(None)
    seq = m.iterate(c.args[0])
    start = c.arg(1, "start", const(0))
    if seq.items is not None and type(start) is Const and isinstance(start.value, int):
        return Iter(tuple(Tuple((const(start.value + i), x)) for i, x in enumerate(seq.items)))
    return Iter(None, Tuple((Host("int", "step"), seq.elem)))


@model("builtins.zip", "itertools.zip_longest")
def _zip(m: Any, c: LibCall) -> Value:
    seqs = [m.iterate(a) for a in c.args]
    if seqs and all(s.items is not None for s in seqs) and not c.has_star:
        shortest = min(len(s.items or ()) for s in seqs)
        return Iter(tuple(Tuple(tuple((s.items or ())[i] for s in seqs)) for i in range(shortest)))
    if c.has_star and len(seqs) == 1:
        # zip(*rows): columns of an unknown number of rows
        row = element(seqs[0])
        inner = m.iterate(row) if type(row) is Tuple else None
        if inner is not None and inner.items is not None:
            return Iter(tuple(Tuple(None, x) for x in inner.items))
        return Iter(None, Tuple(None, UNKNOWN if row is None else row))
    return Iter(
        None, Tuple(tuple(join_all([element(s)], UNKNOWN) if element(s) is not None else UNKNOWN for s in seqs))
    )


@model("builtins.reversed")
def _reversed(m: Any, c: LibCall) -> Value:
    seq = m.iterate(c.args[0]) if c.args else Iter(None)
    return Iter(tuple(reversed(seq.items))) if seq.items is not None else Iter(None, seq.elem)


@model("builtins.map")
def _map(m: Any, c: LibCall) -> Value:
    if len(c.args) < 2:
        return Iter(None)
    seqs = [m.iterate(a) for a in c.args[1:]]
    if all(s.items is not None and len(s.items) <= 8 for s in seqs):
        shortest = min(len(s.items or ()) for s in seqs)
        return Iter(tuple(m.call(c.args[0], tuple((s.items or ())[i] for s in seqs)) for i in range(shortest)))
    args = [element(s) for s in seqs]
    return Iter(None, m.call(c.args[0], tuple(UNKNOWN if a is None else a for a in args)))


@model("builtins.filter")
def _filter(m: Any, c: LibCall) -> Value:
    if len(c.args) < 2:
        return Iter(None)
    kept = []
    exact = True
    seq = m.iterate(c.args[1])
    for x in elements(m, c.args[1]):
        value = x if c.args[0] == NONE else m.call(c.args[0], (x,))
        verdict = truth_of(m, value, "filter", None)
        exact = exact and verdict is not None
        if verdict is not False:
            kept.append(x)
    if exact and seq.items is not None:
        return Iter(tuple(kept))
    return Iter(None, join_all(kept))

"""The builtin functions."""

from __future__ import annotations

from typing import Any

from syncwatch.static.infer.attributes import get_attr, set_attr
from syncwatch.static.infer.formatting import format_value, text_of
from syncwatch.static.infer.machine import Interpreter
from syncwatch.static.infer.truth import truth_of
from syncwatch.static.infer.types import class_attr, class_of, is_instance, library_types
from syncwatch.static.library.protocol import MODELS, LibCall, model
from syncwatch.static.values import (
    BOOL,
    FALSE,
    INT,
    ITEMS,
    NONE,
    REST,
    STR,
    TRUE,
    UNKNOWN,
    Array,
    Bound,
    Class,
    Const,
    Device,
    Func,
    Host,
    Items,
    Iter,
    Lib,
    Module,
    Obj,
    Partial,
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


def elements(m: Interpreter, v: Value) -> list[Value]:
    """The elements of an iterable, or their join alone where they are not known one by one."""
    seq = m.iterate(v)
    if seq.items is not None:
        return list(seq.items)
    return [seq.elem]


@model("builtins.max", "builtins.min")
def _extreme(m: Any, c: LibCall) -> Value:
    via = c.name.rpartition(".")[2]
    key = c.kwargs.get("key")
    several = len(c.args) > 1
    items = list(c.args) if several else elements(m, c.args[0]) if c.args else []
    seq_known = several or (bool(c.args) and m.iterate(c.args[0]).items is not None)
    keyed = [m.call(key, (x,)) for x in items] if key is not None and key != NONE else items
    if several and any(type(x) is Union for x in items):
        pass
    # one known element is compared with nothing
    if not (seq_known and len(items) < 2):
        _compare_all(m, keyed, via)
    default = c.kwargs.get("default")
    if default is not None:
        items = [*items, default]
    if all(type(x) is Const and x.kind in ("int", "float") for x in items) and items and seq_known:
        return const((max if via == "max" else min)(x.value for x in items))
    return join_all(items)


def _compare_all(m: Any, keyed: list[Value], via: str) -> None:
    """Comparing elements that are CUDA tensors (or tuples that begin with one) reads the outcome."""
    for v in keyed:
        for x in members(v):
            if type(x) is Tuple:
                first = x.elem if x.items is None else (x.items[0] if x.items else UNKNOWN)
                x = first
            if type(x) is Tensor and x.device == "cuda":
                m.implicit("torch.Tensor.__bool__", x, via)
                return
            if type(x) is Obj and isinstance(x.type, Class):
                method = class_attr(x.type, "__lt__") or class_attr(x.type, "__gt__")
                if type(method) is Func:
                    truth_of(m, m.call(Bound(method, x), (x,)), via, None)
                    return


@model("builtins.sorted")
def _sorted(m: Any, c: LibCall) -> Value:
    items = elements(m, c.args[0]) if c.args else []
    key = c.kwargs.get("key")
    keyed = [m.call(key, (x,)) for x in items] if key is not None and key != NONE else items
    _compare_all(m, keyed, "sorted")
    known = m.iterate(c.args[0]).items if c.args else ()
    if known is not None and key is None and all(type(x) is Const for x in items):
        try:
            ordered = sorted(items, key=lambda x: x.value, reverse=m.truth(c.kwargs.get("reverse", FALSE)) is True)
            return m.list(ordered)
        except TypeError:
            pass
    joined = join_all(items)
    return m.list([joined] * len(items) if known is not None else None, joined)


@model("builtins.any", "builtins.all")
def _any_all(m: Any, c: LibCall) -> Value:
    via = c.name.rpartition(".")[2]
    stop = via == "any"
    if not c.args:
        return BOOL
    if type(c.args[0]) is Tensor:
        m.implicit("torch.Tensor.__bool__", c.args[0], via)
        return BOOL
    seq = m.iterate(c.args[0])
    if seq.items is None:
        truth_of(m, seq.elem, via, None)
        return BOOL
    verdicts = []
    for x in seq.items:
        verdict = truth_of(m, x, via, None)
        if verdict is stop:
            return TRUE if stop else FALSE
        verdicts.append(verdict)
    return BOOL if None in verdicts else (FALSE if stop else TRUE)


@model("builtins.sum")
def _sum(m: Any, c: LibCall) -> Value:
    from syncwatch.static.infer.operators import binary

    if not c.args:
        return INT
    start = c.arg(1, "start", const(0))
    if type(c.args[0]) is Tensor:
        return binary(m, "+", start, elements(m, c.args[0])[0], None)
    seq = m.iterate(c.args[0])
    if seq.items is not None:
        total = start
        for x in seq.items[:16]:
            total = binary(m, "+", total, x, None)
        return total
    once = binary(m, "+", start, seq.elem, None)
    return once if type(once) is Tensor else join(start, once) if start == const(0) and once is not UNKNOWN else once


@model("builtins.len")
def _len(m: Any, c: LibCall) -> Value:
    return m.each(c.arg(0), lambda v: _length(m, v)) if c.args else INT


def _length(m: Any, v: Value) -> Value:
    kind = type(v)
    if kind is Tuple or kind is Iter:
        return const(len(v.items)) if v.items is not None else INT
    if kind is Tensor:
        return const(v.shape[0]) if v.shape and v.shape[0] is not None else INT
    if kind is Const and isinstance(v.value, str):
        return const(len(v.value))
    if kind is Range:
        return INT if v.length is None else const(v.length)
    if kind is Obj:
        if isinstance(v.type, Class):
            method = class_attr(v.type, "__len__")
            if type(method) is Func:
                return m.call(Bound(method, v))
        held = v.slots.get(ITEMS)
        if type(held) is Items:
            return const(len(held.items)) if held.items is not None else INT
        if v.type == "dict" and REST not in v.slots:
            return const(sum(type(k) is tuple for k in v.slots))
        for t in library_types(v):
            found = MODELS.get(f"{t}.__len__")
            if found is not None:
                return found(m, LibCall(f"{t}.__len__", (), {}, v))
    return INT


@model("builtins.range")
def _range(m: Any, c: LibCall) -> Value:
    for a in c.args:
        m.implicit("torch.Tensor.__index__", a, "range")
    if c.args and all(type(a) is Const and isinstance(a.value, int) for a in c.args):
        try:
            return Range(len(range(*(a.value for a in c.args))))
        except (TypeError, ValueError):
            return Range(None)
    return Range(None)


@model("builtins.slice")
def _slice(m: Any, c: LibCall) -> Value:
    bounds = (NONE, *c.args) if len(c.args) == 1 else c.args
    return Tuple(tuple([*bounds, NONE, NONE][:3]), type="slice")


@model("builtins.int", "builtins.float", "builtins.complex", "builtins.bool")
def _number(m: Any, c: LibCall) -> Value:
    kind = c.name.rpartition(".")[2]
    if not c.args:
        return const({"int": 0, "float": 0.0, "complex": 0j, "bool": False}[kind])
    return m.each(c.args[0], lambda v: _convert(m, v, kind, type(c.args[0]) is Union))


def _convert(m: Any, v: Value, kind: str, doubt: bool) -> Value:
    if type(v) is Tensor:
        with m.doubting(doubt):
            m.implicit(f"torch.Tensor.__{kind}__", v, kind)
        return Host(kind)
    if kind == "bool":
        verdict = truth_of(m, v, "bool", None)
        return BOOL if verdict is None else (TRUE if verdict else FALSE)
    if type(v) is Const and v.kind in ("int", "float", "bool", "str"):
        try:
            return const({"int": int, "float": float, "complex": complex}[kind](v.value))
        except (TypeError, ValueError, OverflowError):
            return Host(kind)
    if type(v) is Obj and isinstance(v.type, Class):
        method = class_attr(v.type, f"__{kind}__")
        if type(method) is Func:
            m.call(Bound(method, v))
    return Host(kind, v.names if type(v) is Host else "")


@model("builtins.str", "builtins.repr", "builtins.ascii")
def _text(m: Any, c: LibCall) -> Value:
    via = "str" if c.name == "builtins.str" else "repr"
    if not c.args:
        return const("")
    v = c.args[0]
    format_value(m, v, via, whole=True)
    if via == "str":
        texts = [text_of(x) for x in members(v)]
        if all(t is not None for t in texts):
            return join_all([const(t) for t in texts])
    return STR


@model("builtins.format")
def _format(m: Any, c: LibCall) -> Value:
    for a in c.args[:1]:
        format_value(m, a, "format")
    return STR


@model("builtins.print")
def _print(m: Any, c: LibCall) -> Value:
    for a in c.args:
        format_value(m, a, "print", whole=True)
    return NONE


@model("builtins.round", "builtins.abs", "builtins.divmod", "builtins.pow")
def _arithmetic(m: Any, c: LibCall) -> Value:
    name = c.name.rpartition(".")[2]
    if not c.args:
        return UNKNOWN
    if name == "pow" and len(c.args) > 1:
        from syncwatch.static.infer.operators import binary

        return binary(m, "**", c.args[0], c.args[1], None)

    def one(v: Value) -> Value:
        if type(v) is Tensor:
            method = {"abs": "abs", "round": "round"}.get(name)
            return m.method(v, method) if method else v
        if type(v) is Const and v.kind in ("int", "float") and name in ("abs", "round"):
            return const(abs(v.value)) if name == "abs" else Host("number")
        if name == "divmod":
            return Tuple((Host("number"), Host("number")))
        return v if type(v) in (Host, Array) else UNKNOWN

    return m.each(c.args[0], one)


@model("builtins.isinstance")
def _isinstance(m: Any, c: LibCall) -> Value:
    if len(c.args) < 2:
        return BOOL
    verdict = is_instance(m, c.args[0], c.args[1])
    return BOOL if verdict is None else (TRUE if verdict else FALSE)


@model("builtins.issubclass")
def _issubclass(m: Any, c: LibCall) -> Value:
    if len(c.args) == 2 and type(c.args[0]) is Class and type(c.args[1]) is Class:
        return TRUE if c.args[1] in c.args[0].mro else FALSE
    return BOOL


@model("builtins.callable")
def _callable(m: Any, c: LibCall) -> Value:
    if c.args and type(c.args[0]) in (Func, Class, Bound, Partial):
        return TRUE
    if c.args and type(c.args[0]) in (Const, Host, Tensor, Tuple):
        return FALSE
    return BOOL


@model("builtins.hasattr")
def _hasattr(m: Any, c: LibCall) -> Value:
    if len(c.args) < 2 or type(c.args[1]) is not Const:
        return BOOL
    return m.each(c.args[0], lambda v: _has(m, v, c.args[1].value))


def _has(m: Any, v: Value, name: str) -> Value:
    if type(v) in (Obj, Class, Module):
        if name in v.slots or (type(v) is Module and name in v.pending):
            return TRUE
        if type(v) is Obj and isinstance(v.type, Class):
            if class_attr(v.type, name) is not None:
                return TRUE
            foreign = any(type(b) is Lib and b.name != "builtins.object" for b in v.type.mro)
            return BOOL if foreign or v.assumed or class_attr(v.type, "__getattr__") is not None else FALSE
        if type(v) is Class:
            return TRUE if class_attr(v, name) is not None else BOOL
        return BOOL
    if type(v) is Tensor:
        return TRUE if f"torch.Tensor.{name}" in MODELS else BOOL
    if type(v) in (Const, Tuple, Host):
        found = any(f"{t}.{name}" in MODELS for t in library_types(v))
        return TRUE if found else (FALSE if type(v) is not Host else BOOL)
    return BOOL


@model("builtins.getattr")
def _getattr(m: Any, c: LibCall) -> Value:
    if len(c.args) < 2:
        return UNKNOWN
    default = c.arg(2)
    names = [x.value for x in members(c.args[1]) if type(x) is Const and isinstance(x.value, str)]
    if not names:
        # any attribute of the object
        if type(c.args[0]) is Obj:
            inside = [x for k, x in c.args[0].slots.items() if isinstance(k, str)]
            return join(join_all(inside), UNKNOWN) if len(inside) <= 6 else UNKNOWN
        return UNKNOWN
    found = join_all([get_attr(m, c.args[0], n) for n in names])
    if default is not None and m.truth(_hasattr(m, c)) is not True:
        if m.truth(_hasattr(m, c)) is False:
            return default
        return join(found, default)
    return found


@model("builtins.setattr")
def _setattr(m: Any, c: LibCall) -> Value:
    if len(c.args) == 3:
        for name in members(c.args[1]):
            if type(name) is Const and isinstance(name.value, str):
                set_attr(m, c.args[0], name.value, c.args[2])
    return NONE


@model("builtins.type")
def _type(m: Any, c: LibCall) -> Value:
    if len(c.args) == 1:
        return m.each(c.args[0], lambda v: class_of(m, v))
    if len(c.args) == 3 and type(c.args[0]) is Const:
        from syncwatch.static.infer.classes import make_class

        cls = Class(str(c.args[0].value), str(c.args[0].value), m.frame.module, None, ())
        bases = m.iterate(c.args[1])
        make_class(cls, tuple(b for b in bases.items or () if type(b) in (Class, Lib)))
        if type(c.args[2]) is Obj:
            for key, value in c.args[2].slots.items():
                if type(key) is tuple and isinstance(key[1], str):
                    m.journal.write(cls.slots, key[1], value)
        return cls
    return UNKNOWN


@model("builtins.vars")
def _vars(m: Any, c: LibCall) -> Value:
    if c.args and type(c.args[0]) is Obj:
        return m.dict({k: v for k, v in c.args[0].slots.items() if isinstance(k, str)})
    return UNKNOWN


@model("builtins.dir")
def _dir(m: Any, c: LibCall) -> Value:
    return m.list(None, STR)


@model("builtins.id", "builtins.hash", "builtins.ord")
def _integer(m: Any, c: LibCall) -> Value:
    return INT


@model("builtins.chr", "builtins.input", "builtins.bin", "builtins.hex")
def _string(m: Any, c: LibCall) -> Value:
    return STR


@model("builtins.open")
def _open(m: Any, c: LibCall) -> Value:
    return Host("io.IOBase")


@model("builtins.property")
def _property(m: Any, c: LibCall) -> Value:
    prop = Obj("property")
    prop.slots["fget"] = c.arg(0, "fget", UNKNOWN)
    setter = c.arg(1, "fset")
    if setter is not None and setter != NONE:
        prop.slots["fset"] = setter
    return prop


@model("builtins.staticmethod", "builtins.classmethod")
def _keep(m: Any, c: LibCall) -> Value:
    return c.arg(0, None, UNKNOWN)


@model("builtins.object")
def _object(m: Any, c: LibCall) -> Value:
    return m.new("object")


@model("builtins.super")
def _super(m: Any, c: LibCall) -> Value:
    return UNKNOWN


__all__ = ["Device", "elements"]

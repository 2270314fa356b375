"""Turning values into text: f-strings, `%`, str.format, print, and what calls `__repr__` on the way."""

from __future__ import annotations

import re
from typing import Any

from syncwatch.static import ir
from syncwatch.static.infer.machine import Interpreter
from syncwatch.static.infer.types import class_attr
from syncwatch.static.values import (
    ITEMS,
    REST,
    STR,
    Bound,
    Class,
    Const,
    Device,
    Func,
    Items,
    Iter,
    Lib,
    Obj,
    Tensor,
    Tuple,
    Union,
    Value,
    const,
)

_PERCENT = re.compile(r"%(?:\(([^)]*)\))?[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[hlL]?([diouxXeEfFgGcrsa%])")


def fstring(m: Interpreter, node: ir.FString) -> Value:
    """The text of an f-string; a constant where all parts are."""
    parts: list[str] | None = []
    for part in node.parts:
        if isinstance(part, str):
            if parts is not None:
                parts.append(part)
            continue
        value = m.eval(part.value)
        if part.spec is not None:
            m.eval(part.spec)
        m.frame.pos = part.pos if part.pos[0] else node.pos
        format_value(m, value, "f-string", node=part.value, whole=bool(part.conversion))
        shown = text_of(value)
        if parts is not None and shown is not None and part.spec is None and not part.conversion:
            parts.append(shown)
        else:
            parts = None
    if parts is None:
        return STR
    joined = "".join(parts)
    return const(joined) if len(joined) < 500 else STR


def text_of(v: Value) -> str | None:
    """`str(v)` where it is known."""
    if type(v) is Const and v.kind in ("str", "int", "bool", "NoneType"):
        return str(v.value)
    if type(v) is Device and v.type is not None:
        return v.type if v.index in (-1, None) else f"{v.type}:{v.index}"
    return None


def format_value(
    m: Interpreter, v: Value, via: str, *, node: Any = None, whole: bool = False, inner: bool = False, depth: int = 0
) -> None:
    """Asks about every tensor whose content becomes text.

    whole: `repr` is taken, not `format`. inner: the value is an element of something printed.
    """
    kind = type(v)
    if kind is Tensor:
        formats = via in ("f-string", "format") and not whole and not inner
        op = "torch.Tensor.__format__" if formats else "torch.Tensor.__repr__"
        m.implicit(op, v, via, node)
        return
    if depth > 4:
        return
    if kind is Union:
        with m.doubting(True):
            for x in v.members:
                format_value(m, x, via, node=node, whole=whole, inner=inner, depth=depth + 1)
    elif kind is Tuple or kind is Items:
        for x in v.items if v.items is not None else (v.elem,):
            format_value(m, x, via, node=node, inner=True, depth=depth + 1)
    elif kind is Iter:
        return  # an iterator shows its address only
    elif kind is Obj:
        _format_object(m, v, via, node, depth)


def _format_object(m: Interpreter, v: Obj, via: str, node: Any, depth: int) -> None:
    if isinstance(v.type, Class):
        for name in ("__format__", "__str__", "__repr__"):
            method = class_attr(v.type, name)
            if type(method) is Func and not (name == "__format__" and via not in ("f-string", "format")):
                m.call(Bound(method, v), (STR,) if name == "__format__" else ())
                return
        if "dataclass" in v.type.traits or "namedtuple" in v.type.traits:
            for key, x in list(v.slots.items()):
                if isinstance(key, str):
                    format_value(m, x, via, node=node, inner=True, depth=depth + 1)
            return
        if not any(type(b) is Lib and b.name in ("builtins.dict", "builtins.list") for b in v.type.mro):
            return
    held = v.slots.get(ITEMS)
    if type(held) is Items:
        format_value(m, held, via, node=node, inner=True, depth=depth + 1)
    elif isinstance(v.type, Class) or v.type == "dict":
        for key, x in list(v.slots.items()):
            if type(key) is tuple or key == REST:
                format_value(m, x, via, node=node, inner=True, depth=depth + 1)


def percent(m: Interpreter, template: Value, values: Value) -> Value:
    """`template % values`."""
    text = template.value if type(template) is Const else None
    args: tuple[Value, ...] | None
    if type(values) is Tuple:
        args = values.items if values.items is not None else (values.elem,)
    else:
        args = (values,)
    codes = [match[2] for match in _PERCENT.finditer(text) if match[2] != "%"] if isinstance(text, str) else []
    named = isinstance(text, str) and "%(" in text
    for i, value in enumerate(args):
        code = codes[i] if i < len(codes) and not named else "s"
        read_as(m, value, code)
    return STR


def read_as(m: Interpreter, value: Value, code: str, via: str = "%") -> None:
    """One value under a `%` code: `%f` reads it as a float, `%d` as an int, `%s` shows it."""
    if code in "eEfFgG":
        m.implicit("torch.Tensor.__float__", value, via)
    elif code in "diouxXc":
        m.implicit("torch.Tensor.__int__", value, via)
    else:
        format_value(m, value, via, whole=True)

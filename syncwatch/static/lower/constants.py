"""Literals: what of a value is kept in the intermediate form."""

from __future__ import annotations

from syncwatch.static.ir import Const, Pos

_INT64 = 1 << 63


def constant(pos: Pos, value: object) -> Const:
    """The node of a literal. Values that the cache cannot hold (huge integers, lone surrogates) become None."""
    if isinstance(value, str):
        return Const(pos, "str", value if _is_text(value) else None)
    if value is None:
        return Const(pos, "none", None)
    if isinstance(value, bool):
        return Const(pos, "bool", value)
    if isinstance(value, int):
        return Const(pos, "int", value if -_INT64 <= value < _INT64 else None)
    if isinstance(value, float):
        return Const(pos, "float", value)
    if isinstance(value, complex):
        return Const(pos, "complex", None)
    if value is ...:
        return Const(pos, "...", None)
    return Const(pos, "bytes", None)


def text(value: str) -> str:
    """A literal part of an f-string, fit for the cache."""
    return value if _is_text(value) else value.encode("utf-8", "replace").decode("utf-8")


def _is_text(value: str) -> bool:
    if value.isascii():
        return True
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True

"""Short source text of an expression, for messages."""

from __future__ import annotations

from typing import Any

from syncwatch.static import ir

_LIMIT = 60


def words(text: str) -> frozenset[str]:
    """The words of a text, for tables of names."""
    return frozenset(text.split())


def source_text(node: Any) -> str:
    """The expression as one would write it; long parts become `…`."""
    text = _text(node, 0)
    return text if len(text) <= _LIMIT else text[: _LIMIT - 1] + "…"


def _text(node: Any, depth: int) -> str:
    if depth > 12 or node is None:
        return "…"
    kind = type(node)
    if kind is ir.Name:
        return str(node.id)
    if kind is ir.Attr:
        return f"{_operand(node.value, depth + 1)}.{node.attr}"
    if kind is ir.Const:
        return "..." if node.kind == "..." else repr(node.value)
    if kind is ir.Call:
        inner = ", ".join(_argument(a, depth + 1) for a in node.args)
        return f"{_text(node.func, depth + 1)}({inner})"
    if kind is ir.Sub:
        return f"{_operand(node.value, depth + 1)}[{_text(node.index, depth + 1).strip('()')}]"
    if kind is ir.Binary:
        return f"{_operand(node.left, depth + 1)} {node.op} {_operand(node.right, depth + 1)}"
    if kind is ir.Unary:
        space = " " if node.op == "not" else ""
        return f"{node.op}{space}{_text(node.value, depth + 1)}"
    if kind is ir.Compare:
        rest = " ".join(f"{op} {_text(r, depth + 1)}" for op, r in zip(node.ops, node.rights, strict=True))
        return f"{_text(node.left, depth + 1)} {rest}"
    if kind is ir.Bool:
        return f" {node.op} ".join(_text(v, depth + 1) for v in node.values)
    if kind is ir.Seq:
        inner = ", ".join(_text(i, depth + 1) for i in node.items)
        return f"[{inner}]" if node.kind == "list" else f"({inner})"
    if kind is ir.Slice:
        return ":".join("" if p is None else _text(p, depth + 1) for p in (node.lower, node.upper))
    if kind is ir.Star:
        return f"*{_text(node.value, depth + 1)}"
    return "…"


def _operand(node: Any, depth: int) -> str:
    """An expression that an operator, a dot or a subscript follows: in brackets where it needs them."""
    text = _text(node, depth)
    loose = type(node) in (ir.Binary, ir.Compare, ir.Bool, ir.Unary, ir.IfExp)
    return f"({text})" if loose and text != "…" else text


def _argument(arg: ir.Arg, depth: int) -> str:
    value = _text(arg.value, depth)
    return f"{arg.name}={value}" if arg.name else f"{arg.star}{value}"

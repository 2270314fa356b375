"""String literals of libcst's tree: their values, and the parts of f-strings."""

from __future__ import annotations

import ast
import warnings
from typing import Any, Protocol

import libcst as cst

from syncwatch.static import ir
from syncwatch.static.lower.constants import text


class _Owner(Protocol):
    lines: list[str]

    def pos(self, node: cst.CSTNode) -> ir.Pos: ...
    def expr(self, node: cst.BaseExpression) -> ir.Expr: ...


def string_parts(owner: _Owner, node: Any) -> tuple[list[Any], bool]:
    """The parts of a literal or of adjacent ones, neighbouring texts joined, and whether it is an f-string.

    The one part of a bytes literal is its value.
    """
    parts: list[Any] = []
    formatted = False
    for piece in _pieces(node):
        if isinstance(piece, cst.FormattedString):
            formatted = True
            parts += _formatted(owner, piece.parts, piece.prefix, piece.quote)
        else:
            parts.append(evaluate(piece.value))
    return (_join(parts) if formatted else [_plain(parts)]), formatted


def evaluate(literal: str) -> Any:
    """The value of a string or bytes literal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes
        return ast.literal_eval(literal)


def _pieces(node: Any) -> list[Any]:
    pieces = []
    while isinstance(node, cst.ConcatenatedString):
        pieces.append(node.left)
        node = node.right
    return [*pieces, node]


def _plain(parts: list[Any]) -> Any:
    result = parts[0]
    for part in parts[1:]:
        result += part
    return result


def _formatted(owner: _Owner, nodes: Any, prefix: str, quote: str) -> list[str | ir.FPart]:
    parts: list[str | ir.FPart] = []
    for node in nodes:
        if isinstance(node, cst.FormattedStringText):
            parts.append(_text(node.value, prefix, quote))
            continue
        conversion = node.conversion or ""
        spec = None
        if node.format_spec is not None:
            pieces = _join(_formatted(owner, node.format_spec, prefix, quote))
            spec = ir.FString(owner.pos(node), tuple(pieces))
        if node.equal is not None:
            parts.append(_said(owner, node))
            conversion = conversion or ("" if spec else "r")
        parts.append(ir.FPart(owner.expr(node.expression), conversion, spec, owner.pos(node)))
    return parts


def _text(value: str, prefix: str, quote: str) -> str:
    value = value.replace("{{", "{").replace("}}", "}")
    if "r" in prefix.lower() or "\\" not in value:
        return value
    return str(evaluate(f"{quote}{value}{quote}"))


def _said(owner: _Owner, node: Any) -> str:
    """The text that `{x = }` writes before the value: all from the brace to after the equal sign."""
    line, column, end_line, end_column = owner.pos(node)
    if line == end_line:
        inside = owner.lines[line - 1][column + 1 : end_column - 1]
    else:
        last = owner.lines[end_line - 1][: end_column - 1]
        inside = "\n".join([owner.lines[line - 1][column + 1 :], *owner.lines[line : end_line - 1], last])
    start = inside.index("=", len(cst.Module([]).code_for_node(node.expression)))
    rest = inside[start + 1 :]
    return inside[: start + 1] + rest[: len(rest) - len(rest.lstrip())]


def _join(parts: list[Any]) -> list[str | ir.FPart]:
    joined: list[str | ir.FPart] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        elif part != "":
            joined.append(part)
    return [text(part) if isinstance(part, str) else part for part in joined]

"""Where the replacement fields of an f-string stand.

Before Python 3.12, `ast` places what is inside an f-string wrongly (PEP 701 mended it). There the fields are found in
the source text, and each expression is parsed by itself and put at its place.
"""

from __future__ import annotations

import ast
import re
import sys
from typing import Any, NamedTuple, Protocol

from syncwatch.static.ir import Pos
from syncwatch.static.lower.positions import PosOf, shift

_OPENING = re.compile(r"([A-Za-z]*)('''|\"\"\"|'|\")")
_BETWEEN = re.compile(r"(?:[\s\\]|#[^\n]*)*")


class _Text(Protocol):
    lines: list[str]

    @property
    def pos(self) -> PosOf: ...


class Field(NamedTuple):
    """Offsets in the text of the f-string: the braces, and the expression between them."""

    start: int
    end: int
    expression_start: int
    expression_end: int


class _Lost(Exception):
    """The text is not what an f-string looks like to this scanner."""


def place_fields(owner: _Text, node: ast.JoinedStr) -> None:
    """Gives the parts of an f-string their true places.

    Each FormattedValue below `node` gets an attribute `place` (braces included), and its expression is replaced by one
    with right positions. Does nothing where the running Python places them rightly.
    """
    if sys.version_info >= (3, 12):
        return
    whole = owner.pos(node)
    values = _formatted_values(node)
    try:
        text = _slice(owner.lines, whole)
        fields = scan(text)
        if len(fields) != len(values):
            raise _Lost
        parsed = [ast.parse(f"({text[f.expression_start : f.expression_end]}\n)", mode="eval").body for f in fields]
    except (_Lost, SyntaxError, ValueError, IndexError):
        for value in values:
            value.place = whole
        return
    for field, value, expression in zip(fields, values, parsed, strict=True):
        # A tuple or generator without parentheses took ours for its own.
        bare = (expression.lineno, expression.col_offset) == (1, 0)
        line, column = _locate(text, field.expression_start, whole)
        prefix = owner.lines[line - 1][:column]
        shift(expression, line, len(prefix.encode("utf-8", "surrogatepass")) - 1)
        if bare:
            written = text[field.expression_start : field.expression_end]
            start = field.expression_start + len(written) - len(written.lstrip())
            end = field.expression_start + len(written.rstrip())
            _place(owner.lines, expression, _locate(text, start, whole), _locate(text, end, whole))
        value.value = expression
        value.place = (*_locate(text, field.start, whole), *_locate(text, field.end, whole))


def scan(text: str) -> list[Field]:
    """The replacement fields in a text of one or several adjacent string literals, outer ones before inner ones."""
    fields: list[Field] = []
    at = _BETWEEN.match(text).end()  # type: ignore[union-attr]
    while at < len(text):
        opening = _OPENING.match(text, at)
        if opening is None:
            raise _Lost
        prefix, quote = opening[1].lower(), opening[2]
        at = _literal(text, opening.end(), quote, "f" in prefix, "r" in prefix, fields)
        at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]
    return fields


def _literal(text: str, at: int, quote: str, formatted: bool, raw: bool, fields: list[Field]) -> int:
    """Reads a literal whose quote has been opened; returns the offset after its closing quote."""
    while at < len(text):
        char = text[at]
        if char == "\\":
            if formatted and not raw and text.startswith("\\N{", at):
                at = text.index("}", at) + 1
            elif formatted and text[at + 1] in "{}":
                at += 1
            else:
                at += 2
        elif text.startswith(quote, at):
            return at + len(quote)
        elif formatted and char == "{":
            at = at + 2 if text.startswith("{{", at) else _field(text, at, fields)
        else:
            at += 1
    raise _Lost


def _field(text: str, start: int, fields: list[Field]) -> int:
    """Reads `{expression!r:specification}`; returns the offset after the closing brace."""
    end = _expression_end(text, start + 1)
    expression = text[start + 1 : end].rstrip()
    if expression.endswith("=") and expression[-2:-1] not in ("=", "!", "<", ">"):
        expression = expression[:-1]
    slot = len(fields)
    fields.append(Field(start, start, start + 1, start + 1 + len(expression)))
    at = end
    if text[at] == "!":
        at += 1
        while text[at] not in ":}":
            at += 1
    if text[at] == ":":
        at += 1
        while text[at] != "}":
            at = _field(text, at, fields) if text[at] == "{" else at + 1
    fields[slot] = fields[slot]._replace(end=at + 1)
    return at + 1


def _expression_end(text: str, at: int) -> int:
    depth = 0
    while True:
        char = text[at]
        if char in "'\"":
            opening = _OPENING.match(text, at)
            assert opening is not None
            at = _literal(text, opening.end(), opening[2], False, True, [])
            continue
        if char in "([{":
            depth += 1
        elif depth and char in ")]}":
            depth -= 1
        elif depth == 0 and (char in ":}" or (char == "!" and text[at + 1] != "=")):
            return at
        at += 1


def _place(lines: list[str], node: ast.expr, start: tuple[int, int], end: tuple[int, int]) -> None:
    """Gives a node a place that is known in characters."""
    node.lineno, column = start
    node.end_lineno, end_column = end
    node.col_offset = len(lines[start[0] - 1][:column].encode("utf-8", "surrogatepass"))
    node.end_col_offset = len(lines[end[0] - 1][:end_column].encode("utf-8", "surrogatepass"))


def _formatted_values(node: ast.JoinedStr) -> list[Any]:
    """The fields of an f-string, those of its format specifications included, in the order of the text."""
    result: list[Any] = []
    for value in node.values:
        if isinstance(value, ast.FormattedValue):
            result.append(value)
            if isinstance(value.format_spec, ast.JoinedStr):
                result.extend(_formatted_values(value.format_spec))
    return result


def _slice(lines: list[str], pos: Pos) -> str:
    line, column, end_line, end_column = pos
    if line == end_line:
        return lines[line - 1][column:end_column]
    return "\n".join([lines[line - 1][column:], *lines[line : end_line - 1], lines[end_line - 1][:end_column]])


def _locate(text: str, offset: int, whole: Pos) -> tuple[int, int]:
    """Line and column (in characters) of an offset in the text that begins where `whole` does."""
    newline = text.rfind("\n", 0, offset)
    if newline < 0:
        return whole[0], whole[1] + offset
    return whole[0] + text.count("\n", 0, offset), offset - newline - 1

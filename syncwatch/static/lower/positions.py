"""Positions in characters, from those of `ast`, which count UTF-8 bytes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, TypeAlias

from syncwatch.static.ir import Pos

PosOf: TypeAlias = Callable[[Any], Pos]


def position_reader(source: str, lines: list[str]) -> PosOf:
    """A function that gives a node's position, quick where the source is plain ASCII."""
    # One number object for each line, not two for each node: forms take a tenth less memory.
    numbers = list(range(len(lines) + 2))

    def ascii_position(node: Any) -> Pos:
        return (numbers[node.lineno], node.col_offset, numbers[node.end_lineno], node.end_col_offset)

    if source.isascii():
        return ascii_position
    wide = {number: line.encode("utf-8", "surrogatepass") for number, line in enumerate(lines, 1) if not line.isascii()}

    def position(node: Any) -> Pos:
        line, column, end_line, end_column = ascii_position(node)
        if line in wide:
            column = len(wide[line][:column].decode("utf-8", "replace"))
        if end_line in wide:
            end_column = len(wide[end_line][:end_column].decode("utf-8", "replace"))
        return (line, column, end_line, end_column)

    return position


def shift(tree: ast.AST, line: int, column: int) -> None:
    """Moves the nodes of a text that was parsed by itself to where it stands: its first character at (line, column).

    `column` counts bytes; the text's own first line starts at column 0.
    """
    for node in ast.walk(tree):
        if isinstance(node, (ast.expr, ast.keyword)):
            if node.lineno == 1:
                node.col_offset += column
            if node.end_lineno == 1 and node.end_col_offset is not None:
                node.end_col_offset += column
            node.lineno += line - 1
            if node.end_lineno is not None:
                node.end_lineno += line - 1

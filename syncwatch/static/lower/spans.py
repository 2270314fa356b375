"""The lines that statements span, for suppressions."""

from __future__ import annotations

import re

from syncwatch.static.ir import Pos

# What may stand between the last expression of a header and its colon: closing brackets, names, comments.
_TO_COLON = re.compile(r"(?:[^:#\n]|#[^\n]*|\n)*?:")


class Spans:
    """Notes the first and last line of every simple statement and of every compound statement's header."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.found: list[tuple[int, int]] = []

    def simple(self, pos: Pos) -> Pos:
        """Notes a simple statement; returns its position."""
        self.found.append((pos[0], pos[2]))
        return pos

    def header(self, pos: Pos, last: Pos | None, body_line: int, first: int = 0) -> Pos:
        """Notes the header of a compound statement; returns `pos`.

        `last` is the place of the last expression in the header, `body_line` the first line of the first statement of
        its body, `first` the line of the first decorator, where there is one.
        """
        line, column = (pos[0], pos[1]) if last is None else (last[2], last[3])
        if body_line > line:
            # Comments, docstrings or closing brackets may stand between: look for the colon.
            text = self.lines[line - 1]
            if not text.endswith(":"):
                rest = "\n".join([text[column:], *self.lines[line : body_line - 1]])
                found = _TO_COLON.match(rest)
                if found is not None:
                    line += rest.count("\n", 0, found.end())
        self.found.append((first or pos[0], line))
        return pos

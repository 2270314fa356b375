"""Comments that speak to a linter: `# syncwatch: …` and `# noqa…`."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right

from syncwatch.static.ir import Comment

_WORDS = re.compile(r"#[^\n]*(?:syncwatch|noqa)", re.IGNORECASE)
# Strings are matched too, so that a `#` inside one is not taken for a comment.
_TOKENS = re.compile(
    r"(?P<comment>#[^\n]*)"
    r'|"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'
    r"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"
    r'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'",
    re.DOTALL,
)


def find_comments(source: str, statements: tuple[tuple[int, int], ...]) -> tuple[Comment, ...]:
    """The comments of a file that name syncwatch or noqa, in order.

    `statements` are the lines that each statement spans, as in `ir.Module`. Most files have no such comment and are
    only searched for the words.
    """
    if _WORDS.search(source) is None:
        return ()
    spans = sorted(statements)
    starts = [first for first, _ in spans]
    result = []
    line, counted = 1, 0
    for token in _TOKENS.finditer(source):
        if token.lastgroup != "comment":
            continue
        text = token.group()
        if _WORDS.match(text) is None:
            continue
        start = token.start()
        line += source.count("\n", counted, start)
        counted = start
        column = start - (source.rfind("\n", 0, start) + 1)
        own_line = not source[start - column : start].strip()
        target = _next_statement(line, spans, starts) if own_line else line
        result.append(Comment(line, column, text, own_line, target))
    return tuple(result)


def _next_statement(line: int, spans: list[tuple[int, int]], starts: list[int]) -> int:
    """The first line of the statement after `line`, or `line` itself inside a statement and after the last one."""
    before = bisect_right(starts, line) - 1
    if before >= 0 and spans[before][1] >= line:
        return line
    after = bisect_left(starts, line)
    return starts[after] if after < len(starts) else line

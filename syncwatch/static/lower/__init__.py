"""From source text to the intermediate form.

The running Python's own parser reads a file ten times as fast as libcst. libcst is used where that parser is too old
for the syntax of a file; both ways give the same form.
"""

from __future__ import annotations

import ast
import gc
import sys
import warnings

from syncwatch.static import ir
from syncwatch.static.comments import find_comments
from syncwatch.static.errors import SyntaxProblem as SyntaxProblem
from syncwatch.static.lower.statements import StatementLowering

__all__ = ["SyntaxProblem", "lower"]

_NEWEST = (3, 14)  # the newest syntax that libcst reads
_DEEPEST = 100  # brackets within brackets; the parser of Python itself stops at 200
# What the parser says of Python 2, and of code that no later Python accepts either.
_HOPELESS = (
    "Missing parentheses",
    "too many nested",
    "unterminated",
    "was never closed",
    "unindent",
    "expected an ind",
)


def lower(source: str, path: str) -> ir.Module:
    """Turns the text of one file into the intermediate form.

    `path` goes into the result as it is; for a notebook `source` is the text made of its cells.
    Raises SyntaxProblem where the text cannot be parsed, or is nested too deeply.
    """
    source = source.replace("\r\n", "\n").replace("\r", "\n") if "\r" in source else source
    # Collecting garbage while millions of small nodes are made costs a fifth of the time and finds nothing.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _lower(source, path)
    except (RecursionError, MemoryError):
        raise SyntaxProblem(1, "the code is nested too deeply to be checked") from None
    finally:
        if collecting:
            gc.enable()


def _lower(source: str, path: str) -> ir.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in the user's strings
            tree = ast.parse(source)
    except SyntaxError as error:
        problem = SyntaxProblem(error.lineno or 1, f"not valid Python ({error.msg})")
        if not _may_be_newer(source, error):
            raise problem from None
        body, spans = _lower_newer(source, problem)
    except ValueError as error:  # null bytes, before 3.12
        raise SyntaxProblem(1, f"not valid Python ({error})") from None
    else:
        walk = StatementLowering(source)
        body, spans = walk.block(tree.body), walk.spans.found
    statements = tuple(spans)
    lines = source.count("\n") + (not source.endswith("\n") and source != "")
    return ir.Module(path, body, find_comments(source, statements), statements, lines)


def _may_be_newer(source: str, error: SyntaxError) -> bool:
    """Whether what this Python does not read may be syntax of a later one."""
    if sys.version_info[:2] >= _NEWEST or any(word in (error.msg or "") for word in _HOPELESS):
        return False
    depth = deepest = 0
    for char in source:
        if char in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in ")]}":
            depth -= 1
    return deepest <= _DEEPEST


def _lower_newer(source: str, problem: SyntaxProblem) -> tuple[ir.Block, list[tuple[int, int]]]:
    """Lowers by way of libcst. Raises `problem` where that cannot read the text either."""
    from libcst import CSTValidationError, ParserSyntaxError

    from syncwatch.static.lower.concrete_statements import parse_concrete
    from syncwatch.static.stack import on_deep_stack

    try:
        return on_deep_stack(lambda: parse_concrete(source))
    except (ParserSyntaxError, CSTValidationError, SyntaxError, ValueError, KeyError):
        # no Python at all, a bad escape in a string, or a node that this version does not know
        raise problem from None

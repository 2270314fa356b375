"""From source text to the intermediate form."""

from __future__ import annotations

import ast
import gc
import warnings

from syncwatch.static import ir
from syncwatch.static.comments import find_comments
from syncwatch.static.errors import SyntaxProblem as SyntaxProblem
from syncwatch.static.lower.statements import StatementLowering

__all__ = ["SyntaxProblem", "lower"]


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
    tree = _parse(source)
    walk = StatementLowering(source)
    body = walk.block(tree.body)
    statements = tuple(walk.statements)
    lines = len(walk.lines) - (walk.lines[-1] == "")
    return ir.Module(path, body, find_comments(source, statements), statements, lines)


def _parse(source: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in the user's strings
            return ast.parse(source)
    except SyntaxError as error:
        raise SyntaxProblem(error.lineno or 1, f"not valid Python ({error.msg})") from None
    except ValueError as error:  # null bytes, before 3.12
        raise SyntaxProblem(1, f"not valid Python ({error})") from None

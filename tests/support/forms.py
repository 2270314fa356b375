"""Reading the intermediate form in tests."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from syncwatch.static import ir
from syncwatch.static.lower import lower

# One of everything that Python's grammar has up to 3.10, for tests that walk the whole form.
EVERYTHING = '''\
"""Docstring."""
from __future__ import annotations
import os, torch.nn as nn
from ..pkg import (a as b, c)
from . import *

@deco.rator(1)
class Net(nn.Module, metaclass=Meta, **kw):
    field: int = 3
    other: "str"
    async def go(self, a, /, b: int = 1, *rest, c=2, **kwargs) -> None:
        async with lock as held, other:
            async for i in stream: await i
        return [x async for x in y if x if not z]

def gen(x, *, k):
    global g1, g2
    def inner():
        nonlocal x
        x = yield
    yield from inner()
    del x, k[0], (a, b)
    assert x, "message"
    raise ValueError(f"{x!r:>{width}} and {y=}") from None

if a < b <= c is not d: pass
elif not (a and b or c): x = y = (1, *z)
else:
    while True:
        break
    else:
        continue
for i, (j, *rest) in enumerate(items):
    x[i, 1:2:3, ...] += lambda q, *a, w=1: q @ w ** -2
try:
    total = sum(v for v in values)
except (A, B) as error: log(error)
except C:
    pass
else:
    ok()
finally:
    done()
with open("a") as f, g: f.read()
m = {"a": 1, **rest, b"c": 2.5j}, {1, 2}, {k: v for k, v in m.items()}, {v for v in m}, []
n = x if y else (z := 3)
match command:
    case [1, -2, *others] | (None, "x"): pass
    case {"k": value, **more} if value: pass
    case Point(0, y=yy) as p: pass
    case a.b | _: pass
print(f"é{x}", f'{a["k"]:.3f}' "tail", *args, sep="", **kw)
'''


def nodes(value: Any) -> Iterator[ir.Node]:
    """All nodes below a form, a block or a node."""
    waiting = [value.body if isinstance(value, ir.Module) else value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, tuple):
            waiting.extend(reversed(each))
        elif isinstance(each, ir.Node):
            yield each
            waiting.extend(getattr(each, name) for name in reversed(each.__struct_fields__))


def text_at(source: str | list[str], pos: ir.Pos) -> str:
    """The source text (or its lines) at a position."""
    lines = source.split("\n") if isinstance(source, str) else source
    line, column, end_line, end_column = pos
    if line == end_line:
        return lines[line - 1][column:end_column]
    return "\n".join([lines[line - 1][column:], *lines[line : end_line - 1], lines[end_line - 1][:end_column]])


def misplaced(source: str) -> list[str]:
    """What is not where its position says, one line for each such node; `source` must be valid Python."""
    wrong = []
    lines = source.split("\n")
    for node in nodes(lower(source, "a.py")):
        pos = getattr(node, "pos", None)
        if pos is not None and not _fits(node, text_at(lines, pos)):
            wrong.append(f"{node!r}: {text_at(lines, pos)!r}")
    return wrong


def _fits(node: ir.Node, text: str) -> bool:
    if isinstance(node, ir.Name):
        return text == node.id or not text.isascii()  # identifiers are normalised
    if isinstance(node, ir.Attr):
        return text.endswith(node.attr) or not text.isascii()
    if isinstance(node, ir.Const):
        if node.kind in ("str", "int", "float") and node.value is not None:
            return bool(ast.literal_eval(f"({text}\n)") == node.value)
        return True
    endings: dict[type, tuple[str, str]] = {
        ir.Call: ("", ")"),
        ir.Sub: ("", "]"),
        ir.FPart: ("{", "}"),
        ir.DictLit: ("{", "}"),
        ir.Function: ("", ""),
        ir.Class: ("class", ""),
        ir.Lambda: ("lambda", ""),
        ir.Await: ("await", ""),
        ir.Star: ("*", ""),
        ir.While: ("while", ""),
        ir.Try: ("try", ""),
        ir.Return: ("return", ""),
    }
    start, end = endings.get(type(node), ("", ""))
    return text.startswith(start) and text.endswith(end) and text == text.strip()

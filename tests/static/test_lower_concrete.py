"""libcst's way gives the same form as that of Python's own parser, and reads newer syntax."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

import syncwatch
from syncwatch.static import ir
from syncwatch.static.lower import lower
from syncwatch.static.lower.concrete_statements import parse_concrete
from syncwatch.static.source import decode

PACKAGE = sorted(Path(syncwatch.__file__).parent.rglob("*.py"))[::3]

SMALL = [
    "x = ((a, b), (c for c in d), (e))\n",
    "sum (x for x in y)\n",
    "f(\n  x for x in y\n)\n",
    "x[a, b], x[(a, b)], x[a:b, ::2], x[a,], x[(a), (b)], x[()]\n",
    "(a and b) and c or d and e and f\n",
    "((a) + (b)) * (c).d((e), *(f), g=(h))[(i)]\n",
    "((a)).b; (c)(d); (e)[f]; -(g); not (h)\n",
    "(yield)\n",
    "x = y = (z)\n",
    "del (a), (b, c)\n",
    "del (a, b)\n",
    "raise (A)(b) from (c)\n",
    "assert (a), (b)\n",
    "'a' f'{b}' 'c' f'd'\n",
    "f'{x = }{y=!r}{z=:>3}{{}}' rf'\\d{{{a}}}'\n",
    "b'a' b'b', 'a\\n' r'\\n', ''\n",
    "for (i) in (j): pass\n",
    "with (a) as (b), (c): pass\n",
    "with (a as b, c as d): pass\n",
    "match (x):\n    case [*_, a] | (b, *c) if (d): pass\n    case A.B(-1, c=None): pass\n    case (e): pass\n",
    "class A: 'doc'; x = 1\n",
    "@(a)\n@b.c(d)\nasync def f(a=(1), *, b: (int) = (2)) -> (x): ...\n",
    "try: pass\nexcept (A, B) as e: pass\nelse: pass\nfinally: pass\n",
    "lambda *a, b=(1), **c: (b)\n",
    "a < (b) <= c, a if (b) else (c), (d := (e)), await_(f)\n",
    "import a.b as c, d; from .. import e as f; from .g.h import *\n",
    "x: (int) = (1); x += (y); x: str\n",
    "1_000, 0xff, 1e5, 1j, ..., True, None\n",
    "ﬁ = 1\n",
]


def both(source: str) -> tuple[tuple[ir.Block, list[tuple[int, int]]], tuple[ir.Block, list[tuple[int, int]]]]:
    """The form and the lines of statements, by Python's parser and by libcst."""
    module = lower(source, "a.py")
    return (module.body, list(module.statements)), parse_concrete(source)


@pytest.mark.parametrize("source", SMALL)
def test_both_ways_agree_on_small_texts(source: str) -> None:
    ours, theirs = both(source)
    assert theirs == ours


def test_both_ways_agree_on_everything(forms: ModuleType) -> None:
    ours, theirs = both(forms.EVERYTHING)
    assert theirs == ours


@pytest.mark.parametrize("path", PACKAGE, ids=lambda path: path.stem)
def test_both_ways_agree_on_our_own_source(path: Path) -> None:
    ours, theirs = both(decode(path.read_bytes()))
    assert theirs == ours


@pytest.mark.parametrize(
    ("since", "source"),
    [
        ((3, 11), "try:\n    a()\nexcept* E as e:\n    x.item()\n"),
        ((3, 12), "def f[T: int](x: T) -> T:\n    return x.item()\n"),
        ((3, 12), "class A[T](B):\n    def f(self): return self.x.item()\n"),
        ((3, 12), "type X = list[int]\nx.item()\n"),
        ((3, 12), 'print(f"{d["k"]} {\'\\n\'.join(a)} {x.item()}")\n'),
        ((3, 13), "class A[T = int]: pass\nx.item()\n"),
        ((3, 14), "t'{x.item()}'\n"),
    ],
)
def test_syntax_newer_than_the_running_python_is_read(
    forms: ModuleType, monkeypatch: pytest.MonkeyPatch, since: tuple[int, int], source: str
) -> None:
    found = [node for node in forms.nodes(lower(source, "a.py")) if isinstance(node, ir.Attr) and node.attr == "item"]
    assert len(found) == 1
    assert forms.text_at(source, found[0].pos).endswith(".item")
    if sys.version_info >= since:  # then libcst's way is tried by itself
        assert parse_concrete(source)[0] == lower(source, "a.py").body

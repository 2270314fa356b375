"""Positions: the source text at a node's position is what the node stands for."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

import syncwatch
from syncwatch.static.source import decode

PACKAGE = sorted(Path(syncwatch.__file__).parent.rglob("*.py"))


def test_everything_is_where_it_says(forms: ModuleType) -> None:
    assert forms.misplaced(forms.EVERYTHING) == []


@pytest.mark.parametrize("path", PACKAGE, ids=lambda path: path.stem)
def test_our_own_source(forms: ModuleType, path: Path) -> None:
    assert forms.misplaced(decode(path.read_bytes())) == []


@pytest.mark.parametrize(
    "source",
    [
        "é = x.item(); ü = y\n",
        "x = '日本語' + loss.item()\n",
        "f'{é}{a:{é}}' 'ü' f'{ü.x}'\n",
        "a = '''\né''' + b.c\n",
        "if x:\n\f    y.z()\n",
        "x = a\\\n  .b\\\n  .c()\n",
        "x = (  # (\n    a.b\n    )  # )\n",
        "f'''{\n    a\n}{ b.c !r:>{ w }}'''\n",
        "f'{a!=b}{c==d}{x=}{ y = !s}{(lambda q: q)}{ {1: 2}[1] }'\n",
        r"rf'\{a}\N{b}' f'\N{EM DASH}{c}\{d}'" + "\n",
        "f'é{a, b.c}{ d, }{(e, f)}{g for g in h}'\n",
        "f'{{{a}}}' f\"{b['k']}{c[':']}\" f'{d:%H:%M}'\n",
    ],
)
def test_hard_cases(forms: ModuleType, source: str) -> None:
    assert forms.misplaced(source) == []

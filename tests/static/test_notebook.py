"""Notebooks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from syncwatch.static.engine import Analysis
from syncwatch.static.errors import SyntaxProblem
from syncwatch.static.notebook import Notebook, blank_magics, read_notebook

Write = Callable[[dict[str, str]], Path]


def notebook(*cells: str | tuple[str, str], language: str = "python") -> str:
    """The JSON of a notebook. A cell is its code, or (type, text)."""
    made = []
    for cell in cells:
        kind, text = ("code", cell) if isinstance(cell, str) else cell
        made.append({"cell_type": kind, "source": text.splitlines(keepends=True), "metadata": {}})
    return json.dumps({"cells": made, "metadata": {"language_info": {"name": language}}, "nbformat": 4})


def test_code_cells_are_joined_with_a_way_back() -> None:
    book = read_notebook(notebook("import torch\nx = 1", ("markdown", "# Text"), "", "y = 2").encode())
    assert book.source == "import torch\nx = 1\n\ny = 2\n"
    assert [book.locate(line) for line in (1, 2, 3, 4)] == [(1, 1), (1, 2), (3, 1), (4, 1)]


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("if x:\n    !pip install torch\ny = 1", "if x:\n    pass\ny = 1"),
        ("files = !ls *.py\nt = %timeit -o f()", "files = None\nt = None"),
        ("!pip install \\\n  torch \\\n  numpy\nx = 1", "pass\n\n\nx = 1"),
        ("%%time\nloss.item()", "\nloss.item()"),
        ("%%bash\necho hello\nls", "\n\n"),
        ("torch.nonzero?", "pass"),
        ("?torch", "pass"),
        ("x = a % b\nif a != b: pass", "x = a % b\nif a != b: pass"),
        ("x = (a\n  %b)", "x = (a\n  %b)"),
    ],
)
def test_magics_are_blanked(cell: str, code: str) -> None:
    assert blank_magics(cell) == code


@pytest.mark.parametrize("data", [b"no json", b"[]", b'{"cells": 3}', b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_notebook_is_told(data: bytes) -> None:
    with pytest.raises(SyntaxProblem, match="is no notebook"):
        read_notebook(data)


def test_a_notebook_in_another_language_has_no_cells() -> None:
    assert read_notebook(notebook("x <- 1", language="R").encode()) == Notebook("", ())


def test_old_notebooks_are_read() -> None:
    data = {"worksheets": [{"cells": [{"cell_type": "code", "input": ["x = 1\n", "y = 2"], "language": "python"}]}]}
    assert read_notebook(json.dumps(data).encode()).source == "x = 1\ny = 2\n"


def test_a_wait_in_a_notebook_has_a_cell_and_a_line(write: Write, check: Callable[..., Analysis]) -> None:
    code = 'x = torch.rand(3, device="cuda")\nfor i in range(3):\n    x.sum().item()'
    write({"a.ipynb": notebook("%pip install torch\nimport torch", ("markdown", "Text"), code)})
    analysis = check()
    (event,) = [each for each in analysis.events if each.op == "torch.Tensor.item"]
    assert analysis.cell("a.ipynb", event.site.line) == (3, 3)
    assert analysis.source("a.ipynb", event.site.line) == "    x.sum().item()"
    assert event.site.column == 5


def test_a_broken_cell_is_told_and_the_others_are_checked(write: Write, check: Callable[..., Analysis]) -> None:
    write({"a.ipynb": notebook("import torch", "x = (", 'y = torch.rand(3, device="cuda").sum().item()')})
    analysis = check()
    assert [analysis.cell("a.ipynb", each.line) for each in analysis.problems] == [(2, 1)]
    assert [analysis.cell("a.ipynb", each.site.line) for each in analysis.events] == [(3, 1)]

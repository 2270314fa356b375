"""Reading source files."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from syncwatch.static.errors import SyntaxProblem
from syncwatch.static.source import decode, display, names_torch, read


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("x = 'é'\n".encode(), "x = 'é'\n"),
        (codecs.BOM_UTF8 + b"x = 1\n", "x = 1\n"),
        (b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", "# -*- coding: latin-1 -*-\nx = 'é'\n"),
        (b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\n'\x80'", None),
        (b"a = 1\r\nb = 2\rc = 3\n", "a = 1\nb = 2\nc = 3\n"),
        (b"x = 1\n# coding: no-such-codec\n", "x = 1\n# coding: no-such-codec\n"),
        (b"", ""),
    ],
)
def test_text_is_decoded_as_python_does(data: bytes, text: str | None) -> None:
    decoded = decode(data)
    assert decoded == (text if text is not None else data.decode("cp1252"))


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"x = 1\ny = '\xe9'\n", 2, "not utf-8 text"),
        (b"# coding: ascii\nx = '\xe9'\n", 2, "not ascii text"),
        (b"# coding: klingon\n", 1, "'klingon'"),
        (b"# coding: hex\n", 1, "hex"),
        ("x = 1\n".encode("utf-16"), 1, "UTF-16"),
        (b"x = 1\n\0\n", 2, "null byte"),
    ],
)
def test_what_cannot_be_decoded_is_told(data: bytes, line: int, words: str) -> None:
    with pytest.raises(SyntaxProblem) as caught:
        decode(data)
    assert caught.value.line == line
    assert words in caught.value.message


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(SyntaxProblem, match=r"cannot be read \(No such file"):
        read(str(tmp_path / "absent.py"))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (b"import torch", True),
        (b"from pytorch_lightning import Trainer", True),
        (b"from transformers import AutoModel", True),
        (b"import diffusers", True),
        (b"import numpy as np", False),
        (b"x = 1", False),
    ],
)
def test_whether_a_text_names_torch(text: bytes, named: bool) -> None:
    assert names_torch(text) is named


def test_paths_are_shown_relative_to_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert display(tmp_path / "a" / "b.py") == "a/b.py"
    assert display("./a/../b.py") == "b.py"
    assert display(tmp_path) == "."
    assert display(tmp_path.parent / "other.py") == (tmp_path.parent / "other.py").as_posix()

"""Edits of source files: only what was meant changes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from syncwatch.model import BrokenFile
from syncwatch.repair import Edit, edited, repair, total


def removal(line: int, column: int, old: str, new: str = "", path: str = "a.py") -> Edit:
    return Edit(path, line, column, column + len(old), old, new)


@pytest.mark.parametrize(
    ("before", "edits", "after"),
    [
        ("x = 1  # gone\ny\n", [removal(1, 8, "# gone")], "x = 1\ny\n"),
        ("x = 1  # gone", [removal(1, 8, "# gone")], "x = 1"),
        ("    # gone\ny\n", [removal(1, 5, "# gone")], "y\n"),
        ("a\r\n# gone\r\nb\r\n", [removal(2, 1, "# gone")], "a\r\nb\r\n"),
        ("a # gone\rb\r", [removal(1, 3, "# gone")], "a\rb\r"),
        ("a\f # gone\n", [removal(1, 4, "# gone")], "a\n"),
        ("x  # one  # two\n", [removal(1, 4, "# one"), removal(1, 11, "# two")], "x\n"),
        ("x  # A, B\n", [removal(1, 4, "# A, B", "# A")], "x  # A\n"),
        ("ünï  # gone\n", [removal(1, 6, "# gone")], "ünï\n"),
    ],
)
def test_edits(before: str, edits: list[Edit], after: str) -> None:
    assert edited(before, edits) == (after, len(edits))


def test_an_edit_that_no_longer_fits_is_left_out() -> None:
    assert edited("x = 2  # other\n", [removal(1, 8, "# gone"), removal(9, 1, "# gone")]) == ("x = 2  # other\n", 0)


def test_files_keep_their_encoding_mode_and_links(tmp_path: Path) -> None:
    latin = tmp_path / "latin.py"
    latin.write_bytes(b"# -*- coding: latin-1 -*-\ns = '\xe9'  # gone\n")
    marked = tmp_path / "marked.py"
    marked.write_bytes(b"\xef\xbb\xbfs = 1  # gone\n")
    latin.chmod(0o750)
    link = tmp_path / "link.py"
    link.symlink_to(latin)
    done = repair([removal(2, 10, "# gone", path=str(link)), removal(1, 8, "# gone", path=str(marked))])
    assert total(done) == 2
    for each in done:
        each.write()
    assert latin.read_bytes() == b"# -*- coding: latin-1 -*-\ns = '\xe9'\n"
    assert marked.read_bytes() == b"\xef\xbb\xbfs = 1\n"
    assert link.is_symlink()
    assert stat.S_IMODE(latin.stat().st_mode) == 0o750
    assert sorted(os.listdir(tmp_path)) == ["latin.py", "link.py", "marked.py"]


def test_a_diff_names_the_file_and_the_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("x\ny  # gone")
    (done,) = repair([removal(2, 4, "# gone")])
    assert done.diff() == (
        "--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n x\n-y  # gone\n\\ No newline at end of file\n"
        "+y\n\\ No newline at end of file\n"
    )


def test_a_file_that_is_gone_is_passed_over_and_one_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    assert repair([removal(1, 1, "# gone", path=str(tmp_path / "none.py"))]) == []
    file = tmp_path / "a.py"
    file.write_text("# gone\n")
    (done,) = repair([removal(1, 1, "# gone", path=str(file))])
    file.unlink()
    with pytest.raises(BrokenFile, match=r"a.py: cannot be repaired \(No such file or directory\)"):
        done.write()

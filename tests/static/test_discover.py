"""Which files are checked."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from syncwatch.static.discover import discover

Write = Callable[[dict[str, str]], Path]
DEFAULT = (".git", ".venv", "build", "node_modules")


def test_folders_are_searched_in_a_stable_order(write: Write) -> None:
    write({"b.py": "", "a/z.py": "", "a/b/c.py": "", "a.py": "", "n.ipynb": "", "notes.txt": "", "w.pyw": ""})
    assert discover(["."]).files == ["a.py", "b.py", "n.ipynb", "w.pyw", "a/z.py", "a/b/c.py"]


def test_a_file_is_taken_once(write: Write) -> None:
    write({"a/b.py": "", "a/c.py": ""})
    os.symlink("b.py", "a/link.py")
    assert discover(["a/b.py", "a", "./a/../a"]).files == ["a/b.py", "a/c.py"]


def test_named_files_are_taken_whatever_they_are_called(write: Write) -> None:
    write({"script": "", "build/made.py": ""})
    assert discover(["script", "build/made.py"], exclude=DEFAULT).files == ["script", "build/made.py"]


def test_named_files_are_left_out_with_force_exclude(write: Write) -> None:
    write({"a.py": "", "build/made.py": "", "ignored.py": "", ".gitignore": "ignored.py\n", ".git/config": ""})
    found = discover(["a.py", "build/made.py", "ignored.py", "build"], exclude=DEFAULT, force_exclude=True)
    assert found.files == ["a.py"]


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("vendored", ["a.py", "sub/a.py", "sub/gen_x.py"]),
        ("gen_*.py", ["a.py", "sub/a.py", "sub/vendored/v.py", "vendored/v.py"]),
        ("/vendored", ["a.py", "sub/a.py", "sub/gen_x.py", "sub/vendored/v.py"]),
        ("sub/", ["a.py", "vendored/v.py"]),
        ("sub/vendored/v.py", ["a.py", "sub/a.py", "sub/gen_x.py", "vendored/v.py"]),
        ("**/a.py", ["sub/gen_x.py", "sub/vendored/v.py", "vendored/v.py"]),
    ],
)
def test_exclude_takes_gitignore_patterns(write: Write, pattern: str, left: list[str]) -> None:
    write({"a.py": "", "vendored/v.py": "", "sub/vendored/v.py": "", "sub/a.py": "", "sub/gen_x.py": ""})
    assert sorted(discover(["."], exclude=(pattern,)).files) == left
    assert sorted(discover(["."], extend_exclude=(pattern,)).files) == left


def test_patterns_refer_to_the_project_s_folder(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write({"src/old/a.py": "", "src/new/a.py": "", "old/a.py": ""})
    monkeypatch.chdir(root / "src")
    assert discover(["."], exclude=("/src/old",), root=root).files == ["new/a.py"]


def test_a_named_folder_is_searched_though_a_pattern_leaves_it_out(write: Write) -> None:
    write({"build/lib/a.py": "", "build/node_modules/b.py": ""})
    assert discover(["build"], exclude=DEFAULT).files == ["build/lib/a.py"]


def test_what_git_ignores_is_left_out(write: Write) -> None:
    write(
        {
            ".git/info/exclude": "secret.py\n",
            ".gitignore": "*.gen.py\n/out/\n!keep.gen.py\n",
            "a.py": "",
            "a.gen.py": "",
            "keep.gen.py": "",
            "out/b.py": "",
            "sub/out/c.py": "",
            "sub/.gitignore": "d.py\n!other.gen.py\n",
            "sub/d.py": "",
            "sub/other.gen.py": "",
            "secret.py": "",
        }
    )
    expected = ["a.py", "keep.gen.py", "sub/other.gen.py", "sub/out/c.py"]
    assert discover(["."]).files == expected
    assert discover(["sub"]).files == ["sub/other.gen.py", "sub/out/c.py"]
    assert len(discover(["."], respect_gitignore=False).files) == 8


def test_gitignore_files_are_read_as_git_reads_them(write: Write) -> None:
    patterns = "# a comment\n\n*.tmp.py\nlogs/\n!logs/keep.py\ndeep/**/x.py\na?.py\n\\#odd.py\n[bc].py\n"
    listed_names = "x.tmp.py logs/keep.py logs.py deep/x.py deep/a/b/x.py ab.py abc.py #odd.py b.py d.py"
    root = write({".gitignore": patterns, **dict.fromkeys(listed_names.split(), "")})
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    listed = subprocess.run(
        ["git", "ls-files", "-o", "--exclude-standard", "*.py"], cwd=root, check=True, capture_output=True, text=True
    )
    assert sorted(discover(["."]).files) == sorted(listed.stdout.split())


def test_patterns_that_are_no_patterns_are_passed_over(write: Write) -> None:
    write({".git/config": "", ".gitignore": "/\n!\n\nb.py\n\\", "a.py": "", "b.py": ""})
    assert discover(["."]).files == ["a.py"]


def test_loops_of_links_end(write: Write) -> None:
    write({"a/b.py": ""})
    os.symlink("..", "a/up")
    os.symlink("self.py", "a/self.py")
    os.symlink("absent.py", "a/dangling.py")
    found = discover(["."])
    assert (found.files, found.problems) == (["a/b.py"], [])


def test_a_path_that_is_not_there_is_told(write: Write) -> None:
    write({"a.py": ""})
    found = discover(["a.py", "absent.py"])
    assert found.files == ["a.py"]
    assert [(each.path, each.message) for each in found.problems] == [("absent.py", "no such file or folder")]
    (problem,) = discover([""]).problems
    assert problem.message == "an empty path names nothing; write . for this folder"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_named_pipe_is_told_and_not_waited_for(write: Write) -> None:
    folder = write({})
    os.mkfifo(folder / "pipe.py")
    found = discover(["pipe.py"])
    assert found.files == []
    assert "what a pipe gives can be checked with `-`" in found.problems[0].message


def test_a_folder_without_rights_is_told(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write({"a.py": "", "closed/b.py": "", "open/c.py": ""})
    scandir = os.scandir

    def refusing(path: str) -> Iterator[Any]:  # root may read everything, so rights alone do not show it
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    found = discover(["."])
    assert found.files == ["a.py", "open/c.py"]
    assert [(each.path, each.message) for each in found.problems] == [
        ("closed", "cannot be searched (Permission denied)")
    ]

"""`--diff-only REV`: only findings on lines that changed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from syncwatch.cli.changed import parse

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

OLD = """\
import torch

scores = torch.rand(1000, device="cuda")
for step in range(3):
    total = scores.sum().item()
"""
NEW = OLD + "    most = scores.max().item()\n"


@pytest.fixture
def git(project: Path) -> Callable[..., None]:
    def run(*words: str) -> None:
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *words], cwd=project, check=True, capture_output=True)

    run("init", "--quiet")
    return run


def test_only_changed_lines_and_new_files_are_shown(
    check: Callable[..., Any], project: Path, git: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "sub dir").mkdir()
    for name in ("train.py", "sub dir/ünï.py", "moved.py"):
        (project / name).write_text(OLD)
    git("add", ".")
    git("commit", "--quiet", "--message", "old")
    assert check("--diff-only", "HEAD").places == []

    for name in ("train.py", "sub dir/ünï.py"):
        (project / name).write_text(NEW)
    (project / "untracked.py").write_text(OLD)
    git("mv", "moved.py", "renamed.py")
    expected = ["sub dir/ünï.py:6 SW101", "train.py:6 SW101", "untracked.py:5 SW101"]
    assert check("--diff-only", "HEAD").places == expected

    git("add", ".")
    git("commit", "--quiet", "--message", "new")
    assert check("--diff-only", "HEAD").places == []
    assert check("--diff-only", "HEAD~1").places == expected

    monkeypatch.chdir(project / "sub dir")
    assert check("--diff-only", "HEAD~1").places == ["ünï.py:6 SW101"]


def test_an_unknown_revision_is_named(syncwatch: Callable[..., Any], project: Path, git: Callable[..., None]) -> None:
    ran = syncwatch("check", "--diff-only", "nothing")
    assert (ran.status, ran.err) == (2, "syncwatch: --diff-only: 'nothing' is no revision of this repository\n")


def test_hunks_are_read() -> None:
    diff = (
        "diff --git a.py a.py\n--- a.py\n+++ a.py\n@@ -3 +3,2 @@ def f():\n-old\n+new\n+more\n"
        "@@ -9,2 +10,0 @@\n-gone\n-gone\n"
        'diff --git "tab\\there.py" "tab\\there.py"\n--- /dev/null\n+++ "tab\\there.py"\n@@ -0,0 +1 @@\n+++ x\n'
        "diff --git d.py d.py\ndeleted file mode 100644\n--- d.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    )
    assert parse(diff) == {"a.py": [(3, 4)], "tab\there.py": [(1, 1)]}

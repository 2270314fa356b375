"""The hook, run by the real pre-commit on a scratch repository. Installs from the package index."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SHIPPED = ("syncwatch", "rules", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")

HELPER = """\
import torch


def batch(size):
    return torch.rand(size, device="cuda")
"""
CLEAN = """\
import torch

from helper import batch

total = 0
for step in range(100):
    total += batch(10).sum()
print(torch.as_tensor(total))
"""
HAZARD = CLEAN.replace(".sum()", ".sum().item()")


@pytest.fixture
def git(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs git in a folder with an environment in which pre-commit keeps its own things."""
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "PYTHON"))},
        "PRE_COMMIT_HOME": str(tmp_path / "pre-commit"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    for role in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{role}_NAME": "A", f"GIT_{role}_EMAIL": "a@example.org"}

    def run(folder: Path, *words: str, status: int | None = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
        assert status is None or done.returncode == status, f"{words}\n{done.stdout}\n{done.stderr}"
        return done

    return run


@pytest.fixture
def hook_repository(tmp_path: Path, git: Callable[..., subprocess.CompletedProcess[str]]) -> tuple[Path, str]:
    """A repository with this checkout as its only commit, and that commit."""
    folder = tmp_path / "syncwatch"
    folder.mkdir()
    for name in SHIPPED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    git(folder, "git", "init", "--quiet")
    git(folder, "git", "add", ".")
    git(folder, "git", "commit", "--quiet", "--message", "everything")
    return folder, git(folder, "git", "rev-parse", "HEAD").stdout.strip()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_hook_stops_a_hazard_and_lets_the_repair_pass(
    tmp_path: Path, git: Callable[..., subprocess.CompletedProcess[str]], hook_repository: tuple[Path, str]
) -> None:
    repository, revision = hook_repository
    project = tmp_path / "project"
    project.mkdir()
    (project / ".pre-commit-config.yaml").write_text(
        f"repos:\n  - repo: {repository.as_uri()}\n    rev: {revision}\n    hooks:\n      - id: syncwatch\n"
    )
    (project / "helper.py").write_text(HELPER)
    (project / "train.py").write_text(CLEAN)
    git(project, "git", "init", "--quiet")
    git(project, "git", "add", ".")
    git(project, "pre-commit", "install")
    git(project, "git", "commit", "--message", "clean")

    environments = list((tmp_path / "pre-commit").glob("repo*/py_env*"))
    assert len(environments) == 1, "the hook's environment was made"
    installed = {path.name for path in environments[0].rglob("site-packages/*")}
    assert "syncwatch" in installed
    assert not installed & {"torch", "numpy"}

    # Only train.py is handed to the hook; that `batch` returns a device tensor stands in helper.py.
    (project / "train.py").write_text(HAZARD)
    git(project, "git", "add", "train.py")
    stopped = git(project, "git", "commit", "--message", "hazard", status=1)
    said = stopped.stdout + stopped.stderr
    assert "train.py:7:14: SW101" in said
    assert "Found 1 finding in 1 of 1 file" in said

    (project / "train.py").write_text(CLEAN + "# once more\n")
    git(project, "git", "add", "train.py")
    git(project, "git", "commit", "--message", "repaired")
    assert git(project, "git", "log", "--format=%s").stdout.split("\n")[0] == "repaired"

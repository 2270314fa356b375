"""Which file an import means."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from syncwatch.static.options import Options
from syncwatch.static.project import Project

Write = Callable[[dict[str, str]], Path]

TREE = {
    "src/pkg/__init__.py": "",
    "src/pkg/util.py": "",
    "src/pkg/models/__init__.py": "",
    "src/pkg/models/vit.py": "",
    "src/pkg/models/layers/attention.py": "",  # a namespace folder
    "scripts/train.py": "",
    "scripts/helper.py": "",
    "tools/space/deep/job.py": "",
    "setup_env.py": "",
    "both.py": "",
    "both/__init__.py": "",
}


@pytest.mark.parametrize(
    ("importer", "dotted", "found"),
    [
        # absolute, in a package of the src layout
        ("src/pkg/models/vit.py", "pkg.util", "src/pkg/util.py"),
        ("src/pkg/models/vit.py", "pkg", "src/pkg/__init__.py"),
        ("src/pkg/models/vit.py", "pkg.models", "src/pkg/models/__init__.py"),
        ("src/pkg/models/vit.py", "pkg.models.layers.attention", "src/pkg/models/layers/attention.py"),
        ("src/pkg/models/vit.py", "pkg.absent", None),
        # relative
        ("src/pkg/models/vit.py", ".", "src/pkg/models/__init__.py"),
        ("src/pkg/models/vit.py", "..util", "src/pkg/util.py"),
        ("src/pkg/models/vit.py", ".layers.attention", "src/pkg/models/layers/attention.py"),
        ("src/pkg/models/__init__.py", ".vit", "src/pkg/models/vit.py"),
        ("src/pkg/models/__init__.py", ".", None),
        ("src/pkg/util.py", ".models.vit", "src/pkg/models/vit.py"),
        # a script imports its neighbours, the packages of the project, and what stands at its top
        ("scripts/train.py", "helper", "scripts/helper.py"),
        ("scripts/train.py", "pkg.models.vit", "src/pkg/models/vit.py"),
        ("scripts/train.py", "setup_env", "setup_env.py"),
        ("scripts/train.py", "tools.space.deep.job", "tools/space/deep/job.py"),
        # a package hides a module of its name; what is installed is no file of the project
        ("scripts/train.py", "both", "both/__init__.py"),
        ("scripts/train.py", "torch.nn", None),
        ("scripts/train.py", "os", None),
    ],
)
def test_find(write: Write, importer: str, dotted: str, found: str | None) -> None:
    write(TREE)
    assert Project(["scripts/train.py"]).find(dotted, importer) == found


def test_the_root_of_another_checked_file_is_searched_too(write: Write) -> None:
    write({"libs/one/src/one/__init__.py": "", "apps/main.py": ""})
    assert Project(["apps/main.py"]).find("one", "apps/main.py") is None
    both = Project(["apps/main.py", "libs/one/src/one/__init__.py"])
    assert both.find("one", "apps/main.py") == "libs/one/src/one/__init__.py"


def test_find_from_another_folder(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write(TREE)
    monkeypatch.chdir(root / "scripts")
    top = root.as_posix()
    project = Project(["train.py"], Options(root=str(root)))
    assert project.find("helper", "train.py") == "helper.py"
    assert project.find("pkg.util", "train.py") == f"{top}/src/pkg/util.py"
    assert project.find("..util", f"{top}/src/pkg/models/vit.py") == f"{top}/src/pkg/util.py"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("src/pkg/models/vit.py", "pkg.models.vit"),
        ("src/pkg/models/__init__.py", "pkg.models"),
        ("src/pkg/models/layers/attention.py", "attention"),
        ("scripts/train.py", "train"),
    ],
)
def test_name_of(write: Write, path: str, name: str) -> None:
    write(TREE)
    assert Project([]).name_of(path) == name


def test_modules_are_read_on_demand_and_once(write: Write) -> None:
    write({"a.py": "import b\n", "b.py": "x = 1\n", "bad.py": "x = (\n"})
    project = Project(["a.py"])
    path = project.find("b", "a.py")
    assert path == "b.py"
    module = project.module(path)
    assert module is not None
    assert module.path == "b.py"
    assert project.module("b.py") is module
    assert project.module("bad.py") is None
    assert [each.line for each in project.problems("bad.py")] == [1]
    assert project.module("absent.py") is None


def test_contents_stand_for_files(write: Write) -> None:
    write({"a.py": "old = 1\n"})
    project = Project(["a.py"], contents={"a.py": b"new = 1\n"})
    module = project.module("a.py")
    assert module is not None
    assert project.text("a.py") == "new = 1\n"
    assert module.body[0].targets[0].id == "new"  # type: ignore[union-attr]


def test_from_inside_a_package_its_own_name_is_known(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """`cd src/pkg; syncwatch check .`: the package's absolute imports of itself lead to the same files."""
    root = write(TREE)
    monkeypatch.chdir(root / "src" / "pkg")
    project = Project(["models/vit.py", "util.py"], Options(root="."))
    assert project.find("pkg.util", "models/vit.py") == "util.py"
    assert project.find("..util", "models/vit.py") == "util.py"
    assert project.find("pkg.models.vit", "util.py") == "models/vit.py"
    assert project.name_of("models/vit.py") == "pkg.models.vit"
    assert project.name_of("util.py") == "pkg.util"

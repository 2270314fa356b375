"""The cache: never wrong, never in the way."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import syncwatch.static.cache
import syncwatch.static.infer
import syncwatch.static.lower
from syncwatch.static.cache import FOLDER, clean, tool_key
from syncwatch.static.engine import analyse
from syncwatch.static.options import Options

Write = Callable[[dict[str, str]], Path]

MAIN = 'import torch\nfrom helper import read\nx = torch.rand(3, device="cuda").sum()\nread(x)\n'
READS = "def read(t):\n    return t.item()\n"
KEEPS = "def read(t):\n    return t + 1\n"


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The paths that were lowered and inferred since the last look; reading an entry empties it."""
    done: dict[str, list[str]] = {"lowered": [], "inferred": []}
    lower, infer_root = syncwatch.static.lower.lower, syncwatch.static.infer.infer_root

    def lowering(source, path):  # type: ignore[no-untyped-def]
        done["lowered"].append(path)
        return lower(source, path)

    def inferring(project, path):  # type: ignore[no-untyped-def]
        done["inferred"].append(path)
        return infer_root(project, path)

    monkeypatch.setattr(syncwatch.static.lower, "lower", lowering)
    monkeypatch.setattr(syncwatch.static.infer, "infer_root", inferring)
    return done


def run(*paths: str, **options: object) -> list[tuple[str, int]]:
    """Path and line of every event, with the cache."""
    analysis = analyse(paths or ["."], Options(**options))  # type: ignore[arg-type]
    assert analysis.problems == []
    return [(each.site.path, each.site.line) for each in analysis.events]


def took(work: dict[str, list[str]]) -> tuple[list[str], list[str]]:
    """What was lowered and inferred since the last call."""
    result = sorted(work["lowered"]), sorted(work["inferred"])
    work["lowered"].clear()
    work["inferred"].clear()
    return result


def test_a_second_run_parses_and_infers_nothing(write: Write, work: dict[str, list[str]]) -> None:
    write({"a.py": MAIN, "helper.py": READS})
    assert run() == [("helper.py", 2)]
    assert took(work) == (["a.py", "helper.py"], ["a.py"])
    assert run() == [("helper.py", 2)]
    assert took(work) == ([], [])


def test_a_change_costs_the_file_and_what_imports_it(write: Write, work: dict[str, list[str]]) -> None:
    write({"a.py": MAIN, "helper.py": KEEPS, "other.py": "import torch\ntorch.cuda.synchronize()\n"})
    assert run() == [("other.py", 2)]
    took(work)
    write({"helper.py": READS})
    assert run() == [("helper.py", 2), ("other.py", 2)]
    assert took(work) == (["helper.py"], ["a.py"])


def test_a_dependency_of_a_dependency_counts(write: Write, work: dict[str, list[str]]) -> None:
    write({"a.py": MAIN, "helper.py": "from deep import read\n", "deep.py": KEEPS})
    assert run() == []
    write({"deep.py": READS})
    assert run() == [("deep.py", 2)]


def test_a_file_that_appears_is_noticed(write: Write, work: dict[str, list[str]]) -> None:
    root = write({"a.py": MAIN, "lib/helper.py": READS})
    assert run("a.py") == []
    write({"helper.py": READS})
    assert run("a.py", "helper.py") == [("helper.py", 2)]
    (root / "helper.py").unlink()
    assert run("a.py") == []
    took(work)
    assert run("a.py") == []
    assert took(work) == ([], [])


def test_a_package_that_hides_a_module_is_noticed(write: Write) -> None:
    write({"a.py": MAIN, "helper.py": KEEPS})
    assert run() == []
    write({"helper/__init__.py": READS})
    assert run() == [("helper/__init__.py", 2)]


def test_problems_and_comments_are_kept(write: Write, work: dict[str, list[str]]) -> None:
    write({"a.py": MAIN + "# syncwatch: ignore-file\n", "helper.py": READS, "bad.py": "import torch\nx = (\n"})
    cold, warm = analyse(["."], Options()), analyse(["."], Options())
    assert (cold.events, cold.problems, cold.marks) == (warm.events, warm.problems, warm.marks)
    assert [each.path for each in warm.problems] == ["bad.py"]
    took(work)
    analyse(["."], Options())
    assert took(work) == ([], [])


def test_settings_that_matter_have_results_of_their_own(write: Write, work: dict[str, list[str]]) -> None:
    write({"a.py": MAIN, "helper.py": READS})
    run()
    took(work)
    run(hot=("read",))
    assert took(work) == ([], ["a.py"])
    run()
    run(hot=("read",), extend_exclude=("nothing",))
    assert took(work) == ([], [])


def test_a_test_checked_by_itself_and_among_others_has_results_of_its_own(write: Write) -> None:
    write(
        {"tests/test_speed.py": "import torch\nfor step in range(3):\n    torch.rand(2, device='cuda').sum().item()\n"}
    )
    write({"main.py": "import torch\n"})
    for paths, heat in ((["tests/test_speed.py"], "step"), (["."], "setup"), (["tests/test_speed.py"], "step")):
        assert [event.heat.value for event in analyse(paths, Options()).events] == [heat]


def test_another_version_of_the_tool_starts_afresh(
    write: Write, work: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    write({"a.py": MAIN, "helper.py": READS})
    run()
    took(work)
    monkeypatch.setattr(syncwatch.static.cache, "tool_key", lambda: "another")
    assert run() == [("helper.py", 2)]
    assert took(work) == (["a.py", "helper.py"], ["a.py"])


def test_the_tool_is_known_by_its_version_and_python_s() -> None:
    assert tool_key() == tool_key()
    assert f"py{sys.version_info[0]}{sys.version_info[1]}" in tool_key()


def test_no_cache_leaves_nothing(write: Write) -> None:
    root = write({"a.py": MAIN, "helper.py": READS})
    assert run(cache=False) == [("helper.py", 2)]
    assert not (root / FOLDER).exists()


def test_the_folder_ignores_itself_and_is_removed_by_clean(write: Write) -> None:
    root = write({"a.py": MAIN, "helper.py": READS})
    assert clean(".") is False
    run()
    assert "*" in (root / FOLDER / ".gitignore").read_text().splitlines()
    assert clean(".") is True
    assert not (root / FOLDER).exists()


def test_broken_records_count_as_absent(write: Write) -> None:
    root = write({"a.py": MAIN, "helper.py": READS})
    run()
    records = sorted(path for path in (root / FOLDER).rglob("*") if path.is_file() and path.name != ".gitignore")
    assert len(records) >= 5
    rng = random.Random(1)
    for path in records:
        good = path.read_bytes()
        for bad in (b"", good[: len(good) // 2], rng.randbytes(64), b"\x93\xa1x\xc0\x90", good + b"\0"):
            path.write_bytes(bad)
            assert run() == [("helper.py", 2)]
        path.unlink()
        path.mkdir()
        assert run() == [("helper.py", 2)]
        path.rmdir()


def test_a_folder_that_cannot_be_written_is_no_hindrance(write: Write) -> None:
    root = write({"a.py": MAIN, "helper.py": READS})
    (root / FOLDER).write_text("a file in the way")
    assert run() == [("helper.py", 2)]
    assert run() == [("helper.py", 2)]


def test_a_full_disk_is_no_hindrance(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write({"a.py": MAIN, "helper.py": READS})

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert run() == [("helper.py", 2)]
    left = [path for path in Path(FOLDER).rglob("*") if path.is_file() and path.name != ".gitignore"]
    assert left == []


def test_records_of_unused_versions_go(write: Write) -> None:
    root = write({"a.py": MAIN, "helper.py": READS})
    old, fresh = root / FOLDER / "old", root / FOLDER / "fresh"
    for folder in (old, fresh):
        folder.mkdir(parents=True)
    os.utime(old, (0, 0))
    run()
    assert not old.exists()
    assert fresh.exists()


def test_a_moved_project_keeps_its_records(
    write: Write, work: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write({"one/a.py": MAIN, "one/helper.py": READS})
    monkeypatch.chdir(root / "one")
    run()
    took(work)
    shutil.move(root / "one", root / "two")
    monkeypatch.chdir(root / "two")
    assert run() == [("helper.py", 2)]
    monkeypatch.chdir(root)
    assert run("two", root="two") == [("two/helper.py", 2)]
    assert took(work) == ([], [])


def test_parallel_runs_do_not_disturb_each_other(write: Write) -> None:
    files = {f"m{index}.py": MAIN for index in range(20)}
    root = write({**files, "helper.py": READS})
    code = (
        "from syncwatch.static.engine import analyse\nfrom syncwatch.static.options import Options\n"
        "for _ in range(3):\n    found = analyse(['.'], Options())\n"
        "    assert [each.site.path for each in found.events] == ['helper.py'], found.events\n"
        "    assert not found.problems\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    assert run() == [("helper.py", 2)]
    names = [path.name for path in (root / FOLDER).rglob("*") if path.is_file()]
    assert not [name for name in names if name.startswith("tmp")]


def test_warm_and_cold_agree_through_random_changes(write: Write) -> None:
    """Files are changed, added and removed at random; with the cache the result is that without it."""
    rng = random.Random(7)
    names = ["a", "b", "c", "d", "e", "pkg/__init__", "pkg/f", "pkg/g"]
    bodies = [
        "from {0} import *\nread(x)\n",
        "from {0} import read\nimport {1}\n",
        "def read(t):\n    return t.item()\n",
        "def read(t):\n    return t + 1\n",
        "x = torch.rand(3, device='cuda').sum()\ny = x.item()\n",
        "from . import {1}\n",
        "x = (\n",
    ]
    modules = ["a", "b", "c", "d", "e", "pkg", "pkg.f", "pkg.g"]
    root = write({})
    for _ in range(40):
        path = root / f"{rng.choice(names)}.py"
        if path.exists() and rng.random() < 0.3:
            path.unlink()
        else:
            path.parent.mkdir(exist_ok=True)
            parts = [rng.choice(bodies).format(rng.choice(modules), rng.choice(modules)) for _ in range(2)]
            path.write_text("import torch\n" + "".join(parts))
        cold, warm = analyse(["."], Options(cache=False)), analyse(["."], Options())
        assert (warm.events, warm.problems) == (cold.events, cold.problems)

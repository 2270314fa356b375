"""Which part of the package may import which, walked over the source."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import syncwatch

PACKAGE = Path(syncwatch.__file__).parent

# What each part may import of ours besides itself. A part is a module or a folder at the top of the package.
MAY_IMPORT: dict[str, set[str]] = {
    "model": set(),
    "facts": {"model"},
    "config": {"model"},
    "catalog": {"model"},
    "repair": {"model"},
    "baseline": {"model"},
    "select": {"model", "catalog", "config"},
    "suppress": {"model", "repair", "select"},
    "judge": {"model", "catalog", "config"},
    "proof": {"model", "catalog"},
    "static": {"model", "facts"},
    "runtime": {"model", "facts"},
    # the emulated device is one of the sources of waits that the recorder counts
    "emulator": {"model", "facts", "runtime"},
    "report": {"model", "catalog", "repair"},
    "checking": {"model", "config", "catalog", "select", "suppress", "baseline", "repair", "judge", "report", "static"},
}
# These may import anything of ours, except that nobody imports `cli`.
ANYTHING = {"cli", "pytest_plugin", "__init__", "__main__"}
TORCH = {"runtime", "emulator", "facts", "pytest_plugin", "cli"}


def sources() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)


def part_of(path: Path) -> str:
    """The part that a file belongs to: the name of its folder or module at the top of the package."""
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Every import of a file, also inside functions: the line and the dotted name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute here"
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"


def ours(name: str) -> str | None:
    """The part of ours that a dotted name lies in, or None."""
    words = name.split(".")
    if words[0] != "syncwatch":
        return None
    if len(words) > 1 and ((PACKAGE / words[1]).is_dir() or (PACKAGE / f"{words[1]}.py").exists()):
        return words[1]
    return "__init__"  # a public name, or the version


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_keep_their_direction(path: Path) -> None:
    part = part_of(path)
    assert part in MAY_IMPORT or part in ANYTHING, f"{part}: say in MAY_IMPORT what this part may import"
    for line, name in imports(path):
        other = ours(name)
        if other in (None, part) or (other == "__init__" and name == "syncwatch.__version__"):
            continue
        where = f"{path}:{line} imports {name}"
        if other == "cli":
            assert part == "__main__", f"{where}: nothing imports cli"
        if part not in ANYTHING:
            assert other in MAY_IMPORT[part], f"{where}: {part} may import {sorted(MAY_IMPORT[part])} only"


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_only_what_runs_programs_imports_torch(path: Path) -> None:
    for line, name in imports(path):
        if name.split(".")[0] in ("torch", "numpy"):
            assert part_of(path) in TORCH, f"{path}:{line} imports {name}"


def loaded_by(code: str, folder: Path) -> set[str]:
    """The modules that a fresh interpreter has loaded after running some code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint('LOADED', *sorted(sys.modules))"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    line = next(line for line in done.stdout.splitlines() if line.startswith("LOADED "))
    return set(line.split()[1:])


HAZARD = 'import torch\nx = torch.rand(3, device="cuda")\nfor step in range(3):\n    y = x.sum().item()\n'


def test_check_never_imports_torch(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(HAZARD)
    code = "from syncwatch.cli import main\nassert main(['check', 'train.py', '--no-cache']) in (0, 1)"
    loaded = loaded_by(code, tmp_path)
    assert "syncwatch.static.engine" in loaded, "the check did its work"
    assert not loaded & {"torch", "numpy"}
    assert "rich" not in loaded, "rich is for terminals"


def test_help_loads_next_to_nothing(tmp_path: Path) -> None:
    code = "from syncwatch.cli import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass"
    loaded = loaded_by(code, tmp_path)
    assert not loaded & {"torch", "rich", "libcst", "msgspec", "pathspec", "syncwatch.model", "syncwatch.cli.check"}


def test_importing_the_package_loads_nothing(tmp_path: Path) -> None:
    loaded = loaded_by("import syncwatch", tmp_path)
    assert {name for name in loaded if name.startswith("syncwatch")} == {"syncwatch"}
    assert not loaded & {"torch", "rich", "libcst", "msgspec"}


def test_files_stay_small() -> None:
    long = {str(path.relative_to(PACKAGE)): len(path.read_text().splitlines()) for path in sources()}
    assert {name: lines for name, lines in long.items() if lines > 500} == {}

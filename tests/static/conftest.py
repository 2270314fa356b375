"""Fixtures of the static engine's tests."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from syncwatch.static.engine import Analysis, analyse
from syncwatch.static.options import Options

SUPPORT = Path(__file__).parent.parent / "support"


def _support(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"support_{name}", SUPPORT / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def forms() -> ModuleType:
    """See tests/support/forms.py."""
    return _support("forms")


@pytest.fixture(scope="session")
def mutate() -> ModuleType:
    """See tests/support/mutate.py."""
    return _support("mutate")


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, str]], Path]:
    """Writes files (name to text) into a scratch folder, which becomes the current one."""
    monkeypatch.chdir(tmp_path)

    def writer(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return writer


@pytest.fixture
def check() -> Callable[..., Analysis]:
    """Checks paths in the current folder without the cache, unless options say otherwise."""

    def checker(*paths: str, contents: dict[str, bytes] | None = None, **options: object) -> Analysis:
        return analyse(paths or ["."], Options(**{"cache": False, **options}), contents)  # type: ignore[arg-type]

    return checker

"""Fixtures that several folders of tests share."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from syncwatch.model import Finding

SUPPORT = Path(__file__).parent / "support"


def support(name: str) -> ModuleType:
    """A module of tests/support, which is no package."""
    spec = importlib.util.spec_from_file_location(f"support_{name}", SUPPORT / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def load_support() -> Callable[[str], ModuleType]:
    """Loads a module of tests/support by name."""
    return support


@pytest.fixture(scope="session")
def make_finding() -> Callable[..., Finding]:
    """Makes a finding; see tests/support/findings.py."""
    made: Callable[..., Finding] = support("findings").finding
    return made

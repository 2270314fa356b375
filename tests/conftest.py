"""Fixtures that several folders of tests share."""

from __future__ import annotations

import importlib.util
import signal
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from syncwatch.model import Finding

SUPPORT = Path(__file__).parent / "support"
EMULATOR = Path(__file__).parent / "emulator"


def pytest_configure() -> None:
    """Ctrl-C reaches the programs that tests start, also where the shell has this process ignore it (`… &`)."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves the emulator's tests to a process of their own (test_emulator.py), unless they are asked for by path.

    The emulated device registers with torch for the life of a process, and other tests look at a torch without one.
    """
    if collection_path != EMULATOR:
        return None
    asked = (Path(argument.partition("::")[0]).absolute() for argument in config.args)
    return None if any(path.is_relative_to(EMULATOR) for path in asked) else True


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

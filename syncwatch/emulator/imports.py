"""Parts of torch that are imported late, and changed when they are."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

Change = Callable[[ModuleType], None]


class AfterImport(importlib.abc.MetaPathFinder):
    """Calls a function with a module as soon as it has been imported."""

    def __init__(self) -> None:
        self._changes: dict[str, Change] = {}

    def add(self, name: str, change: Change) -> None:
        """`change(module)` now where the module is imported already, else right after its import."""
        module = sys.modules.get(name)
        if module is not None:
            change(module)
        else:
            self._changes[name] = change

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module's own spec, with a loader that tells us."""
        change = self._changes.pop(fullname, None)
        if change is None:
            return None
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        load: Any = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            change(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

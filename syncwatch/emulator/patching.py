"""Attributes of torch that are replaced while the device is there, and put back exactly."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

from torch.jit import _builtins

from syncwatch.emulator.imports import AfterImport
from syncwatch.runtime import patching


class Patches(patching.Patches):
    """Replaced attributes, undone in reverse order."""

    def __init__(self) -> None:
        super().__init__()
        self._scripted: list[int] = []
        self._later: AfterImport | None = None

    def wrap(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Replaces `owner.name` by `make(original)`, where this torch has it."""
        original = getattr(owner, name, None)
        if original is not None:
            replacement = named_like(_own(make(original)), original)
            self.set(owner, name, replacement)
            self._tell_script(original, replacement)

    def replace(self, owner: Any, name: str, function: Any) -> None:
        """Replaces `owner.name` by a function that does not need the original, where this torch has it."""
        self.wrap(owner, name, lambda original: function)

    def after_import(self, module: str, change: Callable[[Any], None]) -> None:
        """`change(module)`, which may replace attributes of it, as soon as torch imports it; not after `undo`."""
        if self._later is None:
            self._later = AfterImport()
            sys.meta_path.insert(0, self._later)
        self._later.add(module, change)

    def _tell_script(self, original: Any, replacement: Any) -> None:
        """torch.jit.script knows torch's functions by identity: ours mean the same."""
        table = _builtins._get_builtin_table()
        if id(original) in table:
            table[id(replacement)] = table[id(original)]
            self._scripted.append(id(replacement))

    def undo(self) -> None:
        """See `runtime.patching.Patches.undo`."""
        if self._later is not None:
            sys.meta_path.remove(self._later)
            self._later = None
        super().undo()
        table = _builtins._get_builtin_table()
        while self._scripted:
            table.pop(self._scripted.pop(), None)


def _own(function: Any) -> Any:
    """A function of its own for each name: torch.compile wants no two names for one function."""
    if type(function) is not types.FunctionType:
        return function
    copy = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__dict__.update(function.__dict__)
    return copy


def named_like(function: Any, original: Any) -> Any:
    """Gives a replacement the name and documentation of what it replaces."""
    for attribute in ("__name__", "__qualname__", "__doc__", "__module__"):
        try:
            setattr(function, attribute, getattr(original, attribute))
        except (AttributeError, TypeError):
            continue
    return function

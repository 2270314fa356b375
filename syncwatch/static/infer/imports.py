"""What the interpreter asks of a project about its imports."""

from __future__ import annotations

from typing import Protocol

from syncwatch.static.outline import Outline
from syncwatch.static.values import Module

BEGINNING = 1 << 40  # on the interpreter's clock: when the program begins, after all that its imports made


class Imports(Protocol):
    """How imports lead to modules of the project. clock: when the last object of an import was made."""

    clock: int

    def find(self, name: str) -> Module | None:
        """The project's module of a dotted name as the present frame's module means it, or None."""

    def locate(self, name: str) -> str | None:
        """The path of that module, which is not read for it."""

    def outline(self, path: str) -> Outline:
        """A file from outside."""

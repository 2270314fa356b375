"""Attributes replaced while armed, and put back exactly."""

from __future__ import annotations

from typing import Any, Final, Protocol

from syncwatch.runtime.source import Sink

_ABSENT: Final = object()


def present(owner: Any, name: str) -> Any:
    """The attribute as it is now, None where there is none.

    On a class this is found without the look-up of Python, which numbers the state that it finds the class in: after
    a thousand states of one class Python remembers nothing more of it.
    """
    if isinstance(owner, type):
        for base in owner.__mro__:
            value = vars(base).get(name, _ABSENT)
            if value is not _ABSENT:
                return getattr(owner, name) if isinstance(value, (staticmethod, classmethod)) else value
        return None
    return getattr(owner, name, None)


class Hook(Protocol):
    """One source of truth about waits, such as the warnings of the sync debug mode. Reversible."""

    def install(self, sink: Sink) -> None:
        """Starts to report to `sink`."""

    def uninstall(self) -> None:
        """Puts back what `install` changed."""


class Patches:
    """Replaced attributes of modules and classes.

    An attribute that its owner only inherited is deleted again, so that the inherited one shows.
    """

    def __init__(self) -> None:
        self._saved: list[tuple[Any, str, Any, Any]] = []

    def set(self, owner: Any, name: str, value: Any) -> bool:
        """Replaces `owner.name`. False where the owner is an extension type that refuses."""
        before = vars(owner).get(name, _ABSENT)
        try:
            setattr(owner, name, value)
        except TypeError:
            return False
        self._saved.append((owner, name, before, value))
        return True

    def undo(self) -> None:
        """Puts everything back, unless somebody else has replaced it since."""
        while self._saved:
            owner, name, before, value = self._saved.pop()
            if vars(owner).get(name, _ABSENT) is not value:
                continue
            if before is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)

"""Attributes of torch that are replaced while the device is there, and put back exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from syncwatch.runtime import patching


class Patches(patching.Patches):
    """Replaced attributes, undone in reverse order."""

    def wrap(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Replaces `owner.name` by `make(original)`, where this torch has it."""
        original = getattr(owner, name, None)
        if original is not None:
            self.set(owner, name, named_like(make(original), original))


def named_like(function: Any, original: Any) -> Any:
    """Gives a replacement the name and documentation of what it replaces."""
    for attribute in ("__name__", "__qualname__", "__doc__", "__module__"):
        try:
            setattr(function, attribute, getattr(original, attribute))
        except (AttributeError, TypeError):
            continue
    return function

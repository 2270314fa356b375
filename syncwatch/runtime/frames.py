"""From a stack of frames to the user's line.

Every file belongs to one of four owners: the user, an installed library, torch, or this package. A wait is the
business of the innermost frame that is the user's. Files are classified once, by name.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from types import CodeType, FrameType

STACK_DEPTH = 8  # frames that a site keeps, at most


class Owner(Enum):
    USER = "user"
    LIBRARY = "library"
    TORCH = "torch"
    SELF = "syncwatch"


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the user's code, and the short stack that led from it to the wait, innermost frame first."""

    path: str
    line: int
    function: str
    stack: tuple[str, ...]


def _real(path: str) -> str:
    return os.path.realpath(path)


def _with_separator(path: str) -> str:
    return path.rstrip(os.sep) + os.sep


_OWN = _with_separator(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_STDLIB = tuple(
    {_with_separator(_real(sysconfig.get_path(name))) for name in ("stdlib", "platstdlib") if sysconfig.get_path(name)}
)
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


class Frames:
    """Classifies frames and names places.

    include: top-level names of installed packages that count as the user's code. root: paths below it are given
    relative to it.
    """

    def __init__(self, include: Iterable[str] = (), root: str | None = None) -> None:
        self._include: tuple[str, ...] = ()
        self.root = _with_separator(root or os.getcwd())
        self._owners: dict[str, Owner] = {}
        self.user_files: set[str] = set()  # of the files classified so far
        self.include(include)

    def include(self, packages: Iterable[str]) -> None:
        """Counts installed packages (their import names) as the user's code from now on."""
        self._include += tuple(os.sep + name.replace(".", os.sep) for name in packages)
        self._owners.clear()
        self.user_files.clear()

    def owner(self, code: CodeType) -> Owner:
        """Whose code this is."""
        return self.owner_of(code.co_filename)

    def owner_of(self, name: str) -> Owner:
        """Whose file this is."""
        found = self._owners.get(name)
        if found is None:
            found = self._owners[name] = self._classify(name)
            if found is Owner.USER:
                self.user_files.add(name)
        return found

    def is_user(self, code: CodeType) -> bool:
        """Whether this is the user's code."""
        return code.co_filename in self.user_files or self.owner(code) is Owner.USER

    def _classify(self, name: str) -> Owner:
        if name.startswith("<"):
            # <stdin> and notebook cells are typed by the user; <frozen …>, <string> and <eval_with_key> are not
            return Owner.USER if name.startswith(("<stdin>", "<ipython", "<doctest", "<console>")) else Owner.LIBRARY
        path = os.path.abspath(name)
        if path.startswith(_OWN):
            return Owner.SELF
        for marker in _INSTALLED:
            _, found, rest = path.rpartition(marker)
            if found:
                rest = os.sep + rest
                if any(rest.startswith((wanted + os.sep, wanted + ".")) for wanted in self._include):
                    return Owner.USER
                return Owner.TORCH if rest.startswith(f"{os.sep}torch{os.sep}") else Owner.LIBRARY
        if f"{os.sep}ipykernel_" in path:
            return Owner.USER
        torch = sys.modules.get("torch")
        home = getattr(torch, "__file__", None)
        if home and path.startswith(_with_separator(os.path.dirname(home))):
            return Owner.TORCH
        return Owner.LIBRARY if _real(path).startswith(_STDLIB) else Owner.USER

    def user_frame(self, frame: FrameType | None) -> FrameType | None:
        """The innermost frame of the user's code; where there is none, the outermost that is not ours."""
        last = None
        while frame is not None:
            owner = self.owner(frame.f_code)
            if owner is Owner.USER:
                return frame
            if owner is not Owner.SELF:
                last = frame
            frame = frame.f_back
        return last

    def place(
        self, inner: FrameType | None, user: FrameType, forward: str | None = None, backward: FrameType | None = None
    ) -> Place:
        """Describes the user's line `user`, with the stack from `inner` outwards.

        On a thread of autograd the stack goes on with the line of the forward pass, where it is known, and with the
        call of backward that set the thread to work.
        """
        stack = list(self._short_stack(inner, user))
        if forward is not None:
            stack.append(forward)
        if backward is not None:
            stack += self._short_stack(backward, self.user_frame(backward) or backward)
        return Place(
            path=self.shown_path(user.f_code.co_filename),
            line=user.f_lineno or 0,
            function=function_name(user.f_code),
            stack=tuple(stack[:STACK_DEPTH]),
        )

    def _short_stack(self, inner: FrameType | None, user: FrameType) -> Iterator[str]:
        left = STACK_DEPTH
        frame, beyond = inner, False
        while frame is not None and left:
            beyond = beyond or frame is user
            owner = self.owner(frame.f_code)
            # between the wait and the user's line, libraries matter; further out only the user's own frames do
            if frame is user or owner is Owner.USER or (not beyond and owner is Owner.LIBRARY):
                name = function_name(frame.f_code) or "<module>"
                yield f"{self.shown_path(frame.f_code.co_filename)}:{frame.f_lineno} {name}"
                left -= 1
            frame = frame.f_back

    def shown_path(self, name: str) -> str:
        """The path as reports show it: relative to the root where it lies below, with forward slashes."""
        if name.startswith("<"):
            return name
        path = os.path.abspath(name)
        if path.startswith(self.root):
            path = path[len(self.root) :]
        return path.replace(os.sep, "/")


def function_name(code: CodeType) -> str:
    """The qualified name inside the file, "" at module level."""
    name: str = getattr(code, "co_qualname", code.co_name)
    return "" if name == "<module>" else name.replace(".<locals>", "")

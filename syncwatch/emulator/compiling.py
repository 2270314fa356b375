"""torch.compile: the function runs as it is, since nothing here could run what a compiler for a GPU would make."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from syncwatch.emulator.patching import Patches

NOTICE = "syncwatch: torch.compile runs eagerly on the emulated device; a compiled program may wait less often"
_said: set[str] = set()


def compile(model: Any = None, **kwargs: Any) -> Any:
    """`torch.compile`, as a function or as a decorator."""
    if NOTICE not in _said:
        _said.add(NOTICE)
        print(NOTICE, file=sys.stderr)
    if model is None:
        return lambda decorated: decorated
    return model


def install(patches: Patches) -> None:
    """Replaces the compiler's entrances."""
    patches.replace(torch, "compile", compile)
    original: Callable[..., Any] = torch.nn.Module.compile

    def compile_in_place(self: torch.nn.Module, *args: Any, **kwargs: Any) -> None:
        compile(self)

    patches.wrap(torch.nn.Module, "compile", lambda _: compile_in_place)
    del original

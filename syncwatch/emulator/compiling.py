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
        return _compiled
    return _compiled(model)


class _AsItIs:
    """What torch's class for compiled modules asks to compile their calls."""

    _hooks = None

    def __call__(self, function: Any) -> Any:
        return function


def _compiled(model: Any) -> Any:
    """A module in the class that torch puts around compiled ones: programs unwrap it, and its state has other names."""
    if not isinstance(model, torch.nn.Module):
        return model
    from torch._dynamo import OptimizedModule

    made = OptimizedModule(model, _AsItIs())
    made._torchdynamo_orig_callable = model.forward
    return made


def _optimize(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """`torch._dynamo.optimize(backend)(function)`."""
    return compile


def install(patches: Patches) -> None:
    """Replaces the compiler's entrances."""
    patches.replace(torch, "compile", compile)

    def compile_in_place(self: torch.nn.Module, *args: Any, **kwargs: Any) -> None:
        compile(self)

    patches.wrap(torch.nn.Module, "compile", lambda _: compile_in_place)
    patches.after_import("torch._dynamo", lambda module: patches.replace(module, "optimize", _optimize))

"""Processes that the program starts: they find the emulated GPUs too, and device tensors travel between them.

A process that is forked inherits the device. One that is spawned begins with a fresh interpreter, whose command line
makes the device appear before the program is imported there. A device tensor on its way to another process is its
value in shared memory, so that both see what either writes, as with CUDA.
"""

from __future__ import annotations

import multiprocessing.spawn
import os
import sys
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import torch
from torch.multiprocessing import reductions

from syncwatch.emulator.gpus import GPUS
from syncwatch.emulator.layouts import LayoutTensor
from syncwatch.emulator.patching import Patches
from syncwatch.emulator.values import emulated, index_of, value_of

_ROOT = str(Path(__file__).parents[2])


def join(devices: int) -> None:
    """Makes the device appear in a process that the program has spawned."""
    from syncwatch.emulator.device import DEVICE

    DEVICE.on(devices)


def _command_line(original: Callable[..., list[str]]) -> Callable[..., list[str]]:
    def get_command_line(**kwds: Any) -> list[str]:
        command = original(**kwds)
        if "-c" not in command:  # a frozen program, which has no interpreter to tell
            return command
        path = [place or os.getcwd() for place in sys.path]
        if _ROOT not in path:
            path.append(_ROOT)
        start = f"import sys; sys.path[:] = {path!r}; from syncwatch.emulator import processes; "
        at = command.index("-c") + 1
        command[at] = f"{start}processes.join({GPUS.count}); {command[at]}"
        return command

    return get_command_line


def reduce(tensor: torch.Tensor) -> Any:
    """How a tensor is sent to another process."""
    value = value_of(tensor)
    if value is None or (tensor.requires_grad and not tensor.is_leaf):
        return reductions.reduce_tensor(tensor)
    torch.utils.hooks.warn_if_has_hooks(tensor)
    parameter = isinstance(tensor, torch.nn.Parameter)
    return (_rebuild, (*reductions.reduce_tensor(value), index_of(tensor), parameter, tensor.requires_grad))


def _rebuild(make: Any, args: Any, index: int, parameter: bool, requires_grad: bool) -> torch.Tensor:
    made = emulated(make(*args), index)
    return torch.nn.Parameter(made, requires_grad) if parameter else made.requires_grad_(requires_grad)


def install(patches: Patches) -> None:
    """Tells multiprocessing."""
    patches.wrap(multiprocessing.spawn, "get_command_line", _command_line)
    for kind in (torch.Tensor, torch.nn.Parameter, LayoutTensor):
        ForkingPickler.register(kind, reduce)  # leaves host tensors to torch; stays when the device is gone

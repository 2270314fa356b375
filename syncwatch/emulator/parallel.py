"""Models over several ranks, which ask torch's C++ for what a backend in Python cannot offer."""

from __future__ import annotations

import sys
import weakref
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from syncwatch.emulator.events import EVENTS
from syncwatch.emulator.patching import Patches, named_like
from syncwatch.emulator.pinned import is_pinned, pin
from syncwatch.model import Kind
from syncwatch.runtime.cuda.parallel import PASS_EVENTS
from syncwatch.runtime.steps import wrap_backward


class _Pinning(TorchDispatchMode):  # type: ignore[misc]
    """Makes pinned memory for C++ code that asks for it: a backend in Python cannot offer an allocator."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.ops.aten.is_pinned.default:
            return is_pinned(args[0])
        if not kwargs.get("pin_memory"):
            return func(*args, **kwargs)
        return pin(func(*args, **{**kwargs, "pin_memory": False}))


def _install_unused_parameters(patches: Patches) -> None:
    """DistributedDataParallel copies the map of used parameters through pinned memory at the end of backward."""
    reducers: weakref.WeakSet[Any] = weakref.WeakSet()
    ddp = torch.nn.parallel.DistributedDataParallel
    original_init = ddp.__init__

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original_init(self, *args, **kwargs)
        if self.find_unused_parameters:
            reducers.add(self)
        if self.device_type == "cuda":
            _passes[self.logger] = -1

    def pinning(original: Any) -> Any:
        def engine_run_backward(*args: Any, **kwargs: Any) -> Any:
            if not reducers:
                return original(*args, **kwargs)
            with _Pinning():
                return original(*args, **kwargs)

        return engine_run_backward

    patches.set(ddp, "__init__", named_like(init, original_init))
    wrap_backward(patches, pinning)


class _DeviceMeta(type):
    """`torch.device` where a number is a GPU's: torch takes it for one of its accelerator, which is our backend."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, torch.device)

    def __call__(cls, *args: Any, **kwargs: Any) -> torch.device:
        if len(args) == 1 and isinstance(args[0], int) and not kwargs:
            return torch.device("cuda", args[0])
        return torch.device(*args, **kwargs)


class _TorchWithNumbers:
    """torch, as modules should see it that name a device by its number alone."""

    device = _DeviceMeta("device", (), {})

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


def _install_device_numbers(patches: Patches) -> None:
    def change(module: Any) -> None:
        patches.set(module, "torch", _TorchWithNumbers())

    for name in ("torch.distributed.fsdp._init_utils", "torch.nn.parallel._functions"):
        patches.after_import(name, change)


_passes: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()  # of replicas' loggers, before this one


def _install_statistics(patches: Patches) -> None:
    """DistributedDataParallel reads the times of its last pass before the next.

    It does so in the first ten passes after the first, and in each hundredth.
    """
    logger = getattr(torch.distributed, "Logger", None)
    if logger is None:
        return

    def noted(original: Any) -> Any:
        def set_runtime_stats_and_log(self: Any) -> None:
            if self in _passes:
                done = _passes[self] = _passes[self] + 1
                if 0 < done <= 10 or (done and done % 100 == 0):
                    EVENTS.report(sys._getframe(0), PASS_EVENTS, Kind.EVENT_WAIT)
            original(self)

        return set_runtime_stats_and_log

    patches.wrap(logger, "set_runtime_stats_and_log", noted)


def install(patches: Patches) -> None:
    """Helps DataParallel, DistributedDataParallel and FullyShardedDataParallel."""
    _install_unused_parameters(patches)
    _install_statistics(patches)
    _install_device_numbers(patches)

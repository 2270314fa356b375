"""Page-locked host memory: ordinary memory that says it is pinned, as its storage remembers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from torch._C import TensorBase

from syncwatch.emulator.patching import Patches
from syncwatch.emulator.values import value_of

PINNED: Final = "_syncwatch_pinned"
_storage_of = TensorBase.untyped_storage

_FUNCTIONS = [
    "empty",
    "zeros",
    "ones",
    "full",
    "rand",
    "randn",
    "randint",
    "randperm",
    "arange",
    "linspace",
    "logspace",
    "eye",
    "empty_strided",
    "tensor",
    "empty_like",
    "zeros_like",
    "ones_like",
    "full_like",
    "rand_like",
    "randn_like",
    "randint_like",
    "scalar_tensor",
    "empty_permuted",
]
_METHODS = ["new_empty", "new_zeros", "new_ones", "new_full", "new_tensor", "new_empty_strided"]


def is_pinned(self: torch.Tensor, device: Any = None) -> bool:
    if self.layout is not torch.strided or value_of(self) is not None:
        return False
    return getattr(_storage_of(self), PINNED, False)


def pin(tensor: torch.Tensor) -> torch.Tensor:
    """Marks the tensor's memory as page-locked."""
    setattr(_storage_of(tensor), PINNED, True)
    return tensor


def pin_memory(self: torch.Tensor, device: Any = None) -> torch.Tensor:
    if value_of(self) is not None:
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    if is_pinned(self):
        return self
    if self.layout is not torch.strided:
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    copy = self.detach().clone(memory_format=torch.preserve_format)
    pin(copy)
    return copy.requires_grad_(self.requires_grad) if self.is_leaf else copy


def pinning(original: Callable[..., Any]) -> Callable[..., Any]:
    """`original`, with `pin_memory=True` done here."""

    def factory(*args: Any, **kwargs: Any) -> Any:
        if not kwargs.get("pin_memory"):
            return original(*args, **kwargs)
        kwargs["pin_memory"] = False
        made = original(*args, **kwargs)
        if made.is_cuda:
            raise RuntimeError("Only dense CPU tensors can be pinned")
        return pin(made)

    return factory


def install(patches: Patches) -> None:
    """Replaces what pins, and what asks."""
    patches.replace(torch.Tensor, "is_pinned", is_pinned)
    patches.replace(torch.Tensor, "pin_memory", pin_memory)
    for name in _FUNCTIONS:
        patches.wrap(torch, name, pinning)
    for name in _METHODS:
        patches.wrap(torch.Tensor, name, pinning)
    patches.set(torch.UntypedStorage, "is_pinned", lambda self, device="cuda": getattr(self, PINNED, False))

    def pin_storage(self: Any, device: Any = "cuda") -> Any:
        copy = self.clone()
        setattr(copy, PINNED, True)
        return copy

    patches.set(torch.UntypedStorage, "pin_memory", pin_storage)

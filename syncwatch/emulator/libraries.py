"""Operators that the program brings along: a kernel of theirs for CUDA is the emulated device's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from syncwatch.emulator.patching import Patches

# a key of CUDA's -> that of the emulated device
_KEYS = {
    "CUDA": "PrivateUse1",
    "AutogradCUDA": "AutogradPrivateUse1",
    "AutocastCUDA": "AutocastPrivateUse1",
    "SparseCUDA": "SparsePrivateUse1",
    "SparseCsrCUDA": "SparseCsrPrivateUse1",
}


def _impl(original: Callable[..., None]) -> Callable[..., None]:
    def impl(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **kwargs: Any) -> None:
        original(self, op_name, fn, dispatch_key, **kwargs)
        ours = _KEYS.get(dispatch_key or self.dispatch_key)
        if ours is not None:
            original(self, op_name, fn, ours, **{**kwargs, "allow_override": True})

    return impl


def install(patches: Patches) -> None:
    """Replaces what registers kernels."""
    patches.wrap(torch.library.Library, "impl", _impl)

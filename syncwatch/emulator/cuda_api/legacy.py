"""The old typed constructors, `torch.cuda.FloatTensor(…)`."""

from __future__ import annotations

from typing import Any

import torch

from syncwatch.emulator.patching import Patches

_TYPES = {
    "FloatTensor": torch.float32,
    "DoubleTensor": torch.float64,
    "HalfTensor": torch.float16,
    "BFloat16Tensor": torch.bfloat16,
    "LongTensor": torch.int64,
    "IntTensor": torch.int32,
    "ShortTensor": torch.int16,
    "CharTensor": torch.int8,
    "ByteTensor": torch.uint8,
    "BoolTensor": torch.bool,
}


class _Typed(type):
    dtype: torch.dtype

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, torch.Tensor) and bool(instance.is_cuda) and instance.dtype == cls.dtype

    def __call__(cls, *args: Any, **kwargs: Any) -> torch.Tensor:
        if len(args) == 1 and not isinstance(args[0], int):
            return torch.tensor(args[0], dtype=cls.dtype, device="cuda")
        return torch.empty(args, dtype=cls.dtype, device="cuda")


def install(patches: Patches) -> None:
    for name, dtype in _TYPES.items():
        patches.set(torch.cuda, name, _Typed(name, (), {"dtype": dtype, "__module__": "torch.cuda"}))

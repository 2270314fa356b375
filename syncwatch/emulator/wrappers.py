"""Tensors around device tensors: wrapper subclasses (DTensor, jagged, a program's own) and fake tensors.

Their makers name the device of what is inside, as the program sees it. Autograd asks torch for a guard of that device,
so that they must be of the device that torch knows; to the program they say `cuda`, like what they hold.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch._C import TensorBase

from syncwatch.emulator.patching import Patches
from syncwatch.emulator.tensor_api import number
from syncwatch.emulator.values import BACKEND, INDEX, NATIVE

_DEVICE_POSITION = 6  # of `_make_wrapper_subclass`, after the class


def _names_cuda(device: Any) -> bool:
    if isinstance(device, torch.device):
        return bool(device.type == "cuda")
    return isinstance(device, str) and device.partition(":")[0] == "cuda"


def make_wrapper_subclass(cls: Any, *args: Any, **kwargs: Any) -> torch.Tensor:
    """`torch.Tensor._make_wrapper_subclass`."""
    positional = len(args) > _DEVICE_POSITION
    device = args[_DEVICE_POSITION] if positional else kwargs.get("device")
    if not _names_cuda(device):
        return TensorBase._make_wrapper_subclass(cls, *args, **kwargs)
    if positional:
        args = (*args[:_DEVICE_POSITION], NATIVE, *args[_DEVICE_POSITION + 1 :])
    else:
        kwargs["device"] = NATIVE
    made = TensorBase._make_wrapper_subclass(cls, *args, **kwargs)
    if index := number(device):
        made.__dict__[INDEX] = index
    return made


def _fake_new(original: Callable[..., Any]) -> Callable[..., Any]:
    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        for name in ("device", "fake_device", "_fake_device"):
            if _names_cuda(kwargs.get(name)):
                kwargs[name] = NATIVE
        return original(cls, *(NATIVE if _names_cuda(arg) else arg for arg in args), **kwargs)

    return new


def _fake_device(original: Callable[[Any], torch.device]) -> Callable[[Any], torch.device]:
    def device(self: Any) -> torch.device:
        found = original(self)
        return torch.device("cuda", self.__dict__.get(INDEX, 0)) if found.type == BACKEND else found

    return device


def install(patches: Patches) -> None:
    """Replaces the makers of such tensors."""
    patches.set(torch.Tensor, "_make_wrapper_subclass", staticmethod(make_wrapper_subclass))
    fake = getattr(sys.modules.get("torch._subclasses.fake_tensor"), "FakeTensor", None)
    if fake is not None:
        patches.set(fake, "__new__", staticmethod(_fake_new(fake.__new__)))
        device = fake.__dict__["device"]
        patches.set(fake, "device", property(_fake_device(device.fget), device.fset))

"""Functions that build a tensor from host data, or take the default device: torch must be told its own device's name.

The other factories (`torch.zeros(…, device="cuda")`) reach the device's kernels by themselves.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils import _device
from torch.utils._device import DeviceContext

from syncwatch.emulator import placement
from syncwatch.emulator.events import EVENTS
from syncwatch.emulator.gpus import check_number
from syncwatch.emulator.patching import Patches
from syncwatch.emulator.placement import CURRENT
from syncwatch.emulator.tensor_api import native, number
from syncwatch.emulator.values import NATIVE, emulated, index_of, value_of
from syncwatch.model import Kind

_FUNCTIONS = (
    "tensor",
    "as_tensor",
    "asarray",
    "sparse_coo_tensor",
    "frombuffer",
)
# torch would make tensors of these layouts without asking the backend
_COMPRESSED = (
    "sparse_csr_tensor",
    "sparse_csc_tensor",
    "sparse_bsr_tensor",
    "sparse_bsc_tensor",
    "sparse_compressed_tensor",
)
_METHODS = ("new_tensor", "new")


@contextmanager
def current(index: int) -> Iterator[None]:
    """`index` as the GPU that a device without a number means."""
    before, CURRENT.index = CURRENT.index, index
    try:
        yield
    finally:
        CURRENT.index = before


def translated(original: Callable[..., Any]) -> Callable[..., Any]:
    """`original`, with the device it is given under the name that torch knows."""

    def factory(*args: Any, **kwargs: Any) -> Any:
        named = kwargs.get("device")
        if named is None:
            return original(*args, **kwargs)
        device = native(named)
        if device is not NATIVE:
            return original(*args, **kwargs)
        kwargs["device"] = NATIVE
        index = number(named)
        check_number(index)
        if not placement.several:
            return original(*args, **kwargs)
        with current(index):
            return original(*args, **kwargs)

    return factory


def _value(part: Any) -> Any:
    value = value_of(part) if isinstance(part, torch.Tensor) else None
    return part if value is None else value


def of_values(original: Callable[..., Any]) -> Callable[..., Any]:
    """`original`, made of the values of its arguments where these, or the device named, are the emulated one."""

    def factory(*args: Any, **kwargs: Any) -> Any:
        named = kwargs.get("device")
        parts = [*args, *kwargs.values()]
        held = any(isinstance(part, torch.Tensor) and value_of(part) is not None for part in parts)
        if native(named) is not NATIVE and (named is not None or not held):
            return original(*args, **kwargs)
        requires_grad = kwargs.pop("requires_grad", False)
        kwargs["device"] = "cpu"
        made = original(*map(_value, args), **{name: _value(part) for name, part in kwargs.items()})
        return emulated(made, number(named)).requires_grad_(requires_grad)

    return factory


def _nested(original: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.nested.nested_tensor`: torch makes strided ones in C++, without asking the backend."""

    def nested_tensor(tensor_list: Any, *args: Any, **kwargs: Any) -> Any:
        named = kwargs.get("device")
        if native(named) is not NATIVE or kwargs.get("layout") not in (None, torch.strided):
            return original(tensor_list, *args, **kwargs)
        requires_grad = kwargs.pop("requires_grad", False)
        kwargs["device"] = "cpu"
        made = original([_value(part) for part in tensor_list], *args, **kwargs)
        if any(not isinstance(part, torch.Tensor) or value_of(part) is None for part in tensor_list):
            EVENTS.report(sys._getframe(0), 1, Kind.UPLOAD)  # put together on the host, and copied at once
        return emulated(made, number(named)).requires_grad_(requires_grad)

    return nested_tensor


def _default_type(original: Callable[..., None]) -> Callable[..., None]:
    """`torch.set_default_tensor_type`: a type of CUDA's is a default device and a default dtype."""

    def set_default_tensor_type(t: Any) -> None:
        name = t if isinstance(t, str) else f"{t.__module__}.{t.__name__}"
        if not name.startswith("torch.cuda."):
            if torch.get_default_device().type == "cuda":
                torch.set_default_device(None)
            original(t)
            return
        original(getattr(torch, name.rpartition(".")[2]))
        torch.set_default_device("cuda")

    return set_default_tensor_type


def from_dlpack(original: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.from_dlpack`, which takes device tensors too: the result shares the memory of their values."""

    def shared(ext_tensor: Any, *args: Any, **kwargs: Any) -> Any:
        value = value_of(ext_tensor) if isinstance(ext_tensor, torch.Tensor) else None
        if value is None:
            return original(ext_tensor, *args, **kwargs)
        return emulated(value.detach(), index_of(ext_tensor))

    return shared


def install(patches: Patches) -> None:
    """Replaces the functions, and what `torch.set_default_device` does for them."""
    constructors = _device._device_constructors()  # filled with torch's own functions before any is replaced
    for name in _FUNCTIONS:
        patches.wrap(torch, name, translated)
    for name in _COMPRESSED:
        patches.wrap(torch, name, of_values)
    patches.wrap(torch, "from_dlpack", from_dlpack)
    patches.wrap(torch.utils.dlpack, "from_dlpack", from_dlpack)
    patches.wrap(torch.nested, "nested_tensor", _nested)
    patches.wrap(torch, "set_default_tensor_type", _default_type)
    for name in _METHODS:
        patches.wrap(torch.Tensor, name, translated)

    def for_default_device(
        self: DeviceContext, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func not in constructors or kwargs.get("device") is not None:
            return func(*args, **kwargs)
        device = self.device
        kwargs["device"] = native(device)
        if not placement.several or kwargs["device"] is not NATIVE:
            return func(*args, **kwargs)
        with current(number(device)):
            return func(*args, **kwargs)

    patches.replace(DeviceContext, "__torch_function__", for_default_device)

"""What a device tensor says of itself in Python, and how it moves: the methods of `torch.Tensor` that name a device.

Everything else about it is torch's own: its type, arithmetic, views, autograd, hooks.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._C import TensorBase

from syncwatch.emulator.gpus import check_number
from syncwatch.emulator.layouts import compressed_to_device, is_compressed
from syncwatch.emulator.patching import Patches
from syncwatch.emulator.placement import CURRENT
from syncwatch.emulator.values import BACKEND, NATIVE, VALUE, emulated, emulated_beside, index_of, take, value_of

_device_of = TensorBase.device.__get__
_is_cuda = TensorBase.is_cuda.__get__
_set_data = TensorBase.data.__set__
_native_is_shared = torch.Tensor.is_shared
_CUDA = [torch.device("cuda", index) for index in range(64)]


def public_device(tensor: torch.Tensor) -> torch.device:
    """The device that the program sees."""
    device: torch.device = _device_of(tensor)
    return _CUDA[index_of(tensor)] if device.type == BACKEND else device


def native(device: Any) -> Any:
    """The device to hand to torch for one that the program named: `cuda` is the emulated one."""
    if isinstance(device, str):
        return NATIVE if device.partition(":")[0] == "cuda" else device
    if isinstance(device, torch.device):
        return NATIVE if device.type == "cuda" else device
    if isinstance(device, int) and not isinstance(device, bool):
        return NATIVE
    return device


def number(device: Any) -> int:
    """The GPU that a device argument names; the current one where it names none."""
    if isinstance(device, int) and not isinstance(device, bool):
        return device
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device) and device.index is not None:
        return int(device.index)
    return CURRENT.index


def _is_device(argument: Any) -> bool:
    return isinstance(argument, (torch.device, str)) or (isinstance(argument, int) and not isinstance(argument, bool))


def to(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    named = kwargs.get("device")
    if named is None and args and _is_device(args[0]):
        named = args[0]
    if named is None:
        return TensorBase.to(self, *args, **kwargs)
    device = native(named)
    if device is not NATIVE:
        return TensorBase.to(self, *args, **kwargs)
    index = number(named)
    check_number(index)
    if is_compressed(self) and value_of(self) is None:
        return compressed_to_device(self, index, lambda part: to(part, *args, **kwargs))
    if kwargs.get("device") is not None:
        kwargs["device"] = NATIVE
    else:
        args = (NATIVE, *args[1:])
    return on_gpu(self, index, lambda: TensorBase.to(self, *args, **kwargs))


def on_gpu(tensor: torch.Tensor, index: int, move: Any) -> torch.Tensor:
    """`move()` with `index` as the GPU that torch's "our device" means."""
    from syncwatch.emulator import placement

    if not placement.several or (_device_of(tensor).type == BACKEND and index_of(tensor) == index):
        return move()
    if _device_of(tensor).type == BACKEND:  # from one GPU to another: torch sees one device, and would not copy
        moved = tensor.clone()
        value = value_of(moved)
        if value is None:  # a class around a device tensor, whose own conversion will come here
            return move()
        take(moved, value, index)
        return moved
    before, CURRENT.index = CURRENT.index, index
    try:
        return move()
    finally:
        CURRENT.index = before


def cuda(
    self: torch.Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = torch.preserve_format
) -> torch.Tensor:
    index = number(device)
    check_number(index)
    if is_compressed(self) and value_of(self) is None:
        return compressed_to_device(self, index, lambda part: cuda(part, device, non_blocking))
    return on_gpu(
        self, index, lambda: TensorBase.to(self, NATIVE, non_blocking=non_blocking, memory_format=memory_format)
    )


def numpy(self: torch.Tensor, *, force: bool = False) -> Any:
    if _device_of(self).type == BACKEND:
        if not force:
            raise TypeError(
                f"can't convert {public_device(self)} device type tensor to numpy. Use Tensor.cpu() to copy the tensor "
                "to host memory first."
            )
        return self.detach().cpu().resolve_conj().resolve_neg().numpy()
    return TensorBase.numpy(self, force=force)


def set_data(self: torch.Tensor, new: torch.Tensor) -> None:
    """`tensor.data = new`, between devices too, as CUDA and CPU tensors allow."""
    here, there = value_of(self), value_of(new)
    if here is None and there is None:
        _set_data(self, new)
    elif here is not None and there is not None:
        if self.is_inference() is not new.is_inference():
            new = emulated_beside(self, there, index_of(new))  # torch allows this for backends of its own alone
        _set_data(self, new)
        self.__dict__[VALUE] = there.detach()
        _same_index(self, new)
    else:
        _exchange(self, new.detach())


def _same_index(self: torch.Tensor, new: torch.Tensor) -> None:
    from syncwatch.emulator.values import INDEX

    index = index_of(new)
    if index:
        self.__dict__[INDEX] = index
    else:
        self.__dict__.pop(INDEX, None)


def _exchange(self: torch.Tensor, new: torch.Tensor) -> None:
    """Gives `self` the implementation of `new`, which is on the other device: torch's own setter refuses that."""
    from syncwatch.emulator.values import INDEX

    grad = self.grad
    new.requires_grad_(self.requires_grad)
    held, fresh = self.__dict__, new.__dict__
    value = value_of(new)
    index = index_of(new) if value is not None else 0
    torch._C._swap_tensor_impl(self, new)
    for name in (VALUE, INDEX):
        held.pop(name, None)
        fresh.pop(name, None)
    if value is not None:
        held[VALUE] = value
        if index:
            held[INDEX] = index
    if grad is not None:  # torch wants it where its tensor is; a program that moves one moves the other next
        gradient = value_of(grad)
        if (gradient is None) != (value is None):
            _exchange(grad, emulated(grad.detach().clone(), index) if gradient is None else gradient.clone())
        self.grad = grad


def setitem(self: torch.Tensor, index: Any, value: Any) -> None:
    # torch makes a number that is stored into a CUDA tensor on the host first; for other devices it fills
    if isinstance(value, (bool, int, float, complex)) and _device_of(self).type == BACKEND:
        value = torch._C._VariableFunctions.scalar_tensor(value, dtype=self.dtype, device="cpu")
    TensorBase.__setitem__(self, index, value)


def type_(self: torch.Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    if _device_of(self).type == BACKEND or _names_cuda(dtype):
        name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", "")
        if dtype is None:
            value = value_of(self)
            assert value is not None
            return str(TensorBase.type(value)).replace("torch.", "torch.cuda.", 1)
        if isinstance(dtype, torch.dtype):
            return self.to(dtype, non_blocking=non_blocking)
        scalar = getattr(torch, name.rpartition(".")[2], None)
        target = getattr(scalar, "dtype", self.dtype)
        device = (
            public_device(self) if ".cuda." in f".{dtype if isinstance(dtype, str) else dtype.__module__}." else "cpu"
        )
        if device != "cpu" and _device_of(self).type != BACKEND:
            device = _CUDA[CURRENT.index]
        return self.to(device, target, non_blocking=non_blocking)
    if dtype is None:
        return TensorBase.type(self)
    return TensorBase.type(self, dtype, non_blocking, **kwargs)


def _names_cuda(dtype: Any) -> bool:
    if isinstance(dtype, str):
        return dtype.startswith("torch.cuda.")
    return isinstance(dtype, type) and dtype.__module__ == "torch.cuda"


def get_device(self: torch.Tensor) -> int:
    index: int = index_of(self) if _device_of(self).type == BACKEND else TensorBase.get_device(self)
    return index


def data_ptr(self: torch.Tensor) -> int:
    value = value_of(self)
    address: int = TensorBase.data_ptr(self if value is None else value)
    return address


def is_shared(self: torch.Tensor) -> bool:
    return bool(_device_of(self).type == BACKEND or _native_is_shared(self))


def install(patches: Patches) -> None:
    """Replaces the methods and properties."""
    tensor = torch.Tensor
    patches.set(tensor, "device", property(public_device))
    patches.set(tensor, "is_cuda", property(lambda self: _device_of(self).type == BACKEND or _is_cuda(self)))
    patches.set(tensor, "data", property(TensorBase.data.__get__, set_data))
    for name, function in (
        ("to", to),
        ("cuda", cuda),
        ("numpy", numpy),
        ("__setitem__", setitem),
        ("type", type_),
        ("get_device", get_device),
        ("data_ptr", data_ptr),
        ("is_shared", is_shared),
    ):
        patches.replace(tensor, name, function)
    patches.wrap(torch, "_has_compatible_shallow_copy_type", _compatible)
    patches.wrap(tensor, "tolist", _tolist)


def _compatible(original: Any) -> Any:
    # torch.compile checks the names of the parameters against its own
    def _has_compatible_shallow_copy_type(input: torch.Tensor, from_: torch.Tensor) -> bool:
        if value_of(input) is None and value_of(from_) is None:
            return bool(original(input, from_))
        return input.layout is torch.strided and from_.layout is torch.strided

    return _has_compatible_shallow_copy_type


def _tolist(original: Any) -> Any:
    def tolist(self: torch.Tensor) -> Any:
        if _device_of(self).type == BACKEND:
            if self.dim() == 0:
                return self.item()
            return self.detach().cpu().tolist()
        return original(self)

    return tolist


__all__ = ["emulated", "install", "native", "number", "public_device"]

"""Device tensors and the values they stand for.

A device tensor is a plain `torch.Tensor` of torch's PrivateUse1 device, with sizes and strides but no memory. The
memory is that of a CPU tensor, its *value*, which hangs on the Python object. Objects that torch makes itself (a
detached alias, an unpacked saved variable) come without one: they share their storage with an object that has it, so
the value is also kept on the storage.
"""

from __future__ import annotations

from typing import Any, Final

import torch
from torch._C import TensorBase

VALUE: Final = "_syncwatch_value"
INDEX: Final = "_syncwatch_index"  # on an object or storage: the number of the GPU, where it is not 0

_device_of = TensorBase.device.__get__
_storage_of = TensorBase.untyped_storage
_set_data = TensorBase.data.__set__
_create: Any = getattr(getattr(torch._C, "_acc", None), "create_empty_tensor", None)
_meta_keys = torch._C.DispatchKeySet(torch._C.DispatchKey.Meta)
_no_dispatch = torch.Tensor.__torch_dispatch__
_is_transformed = torch._C._functorch.is_functorch_wrapped_tensor
_unwrapped = torch._C._functorch.get_unwrapped
_as_strided = torch.ops.aten.as_strided.default._handle.redispatch_boxed


def _native_device() -> torch.device:
    name = torch._C._get_privateuse1_backend_name()
    return torch.device(name, 0)  # the number stays the same when the backend gets its name


BACKEND: Final = "emulated_cuda"
NATIVE: Final = _native_device()  # what torch itself calls the emulated device


def is_emulated(tensor: Any) -> bool:
    """Whether this is a tensor of the emulated device."""
    return VALUE in tensor.__dict__ or _device_of(tensor).type == BACKEND


LARGE: Final = 1 << 20  # bytes: CUDA's allocator keeps larger blocks in segments of their own


class _Allocated:
    """What has been made on the device so far."""

    large = 0  # bytes of the large device tensors
    any = False  # a tensor, since the cache was last emptied, or it was not empty then


ALLOCATED = _Allocated()


def emulated(value: torch.Tensor, index: int = 0) -> torch.Tensor:
    """A new device tensor, on GPU number `index`, that stands for `value`, a CPU tensor without gradient."""
    if value.layout is not torch.strided or value.is_quantized or value.is_nested:
        from syncwatch.emulator.layouts import emulated_layout

        return emulated_layout(value, index)
    if value.nbytes > LARGE:
        ALLOCATED.large += value.nbytes
    ALLOCATED.any = True
    outer: torch.Tensor = _create(value.shape, value.dtype)
    if outer.stride() != value.stride() or value.storage_offset():
        outer = _as_strided(_meta_keys, outer, value.shape, value.stride(), value.storage_offset())
    if value.dtype.is_complex and value.is_conj():
        torch._C._set_conj(outer, True)
    if value.is_neg():
        torch._C._set_neg(outer, True)
    outer.__dict__[VALUE] = value
    storage = _storage_of(outer)
    setattr(storage, VALUE, value)
    if index:
        outer.__dict__[INDEX] = index
        setattr(storage, INDEX, index)
    return outer


def emulated_beside(base: torch.Tensor, value: torch.Tensor, index: int = 0) -> torch.Tensor:
    """`emulated`, for a view of `base` or what `base` is to become: an inference tensor just where `base` is one."""
    inference = base.is_inference()
    if inference is torch.is_inference_mode_enabled():
        return emulated(value, index)
    with torch.inference_mode(inference):
        return emulated(value, index)


def value_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """The CPU tensor that a device tensor stands for; None for any other tensor, such as one around a device tensor."""
    value: torch.Tensor | None = tensor.__dict__.get(VALUE)
    if value is not None:
        return value
    if _device_of(tensor).type != BACKEND:
        return None
    return _recover(tensor)


def _recover(tensor: torch.Tensor) -> torch.Tensor | None:
    try:
        storage = _storage_of(tensor)
    except NotImplementedError:
        if not _is_transformed(tensor):
            raise
        return None  # functional transforms put a tensor around the one with the value
    found: torch.Tensor | None = getattr(storage, VALUE, None)
    if found is None:
        if type(tensor).__torch_dispatch__ is not _no_dispatch or torch._is_functional_tensor(tensor):
            return None  # a class that holds device tensors and says what they do
        raise RuntimeError(
            "syncwatch: torch made a tensor of the emulated device without going through it, so that it has no value; "
            "please report the program"
        )
    same = (
        found.shape == tensor.shape
        and found.stride() == tensor.stride()
        and found.storage_offset() == tensor.storage_offset()
    )
    if found.dtype != tensor.dtype:
        found = found.view(tensor.dtype)
    value = found.detach() if same else found.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    tensor.__dict__[VALUE] = value
    index = getattr(storage, INDEX, 0)
    if index:
        tensor.__dict__[INDEX] = index
    return value


def index_of(tensor: torch.Tensor) -> int:
    """The number of the GPU that a device tensor, or one around a device tensor, is on."""
    held = tensor.__dict__
    if VALUE not in held and INDEX not in held and _recover(tensor) is None:
        if _is_transformed(tensor):
            return index_of(_unwrapped(tensor))
        if torch._is_functional_tensor(tensor):
            return index_of(torch._from_functional_tensor(tensor))
        if hasattr(tensor, "__tensor_flatten__"):
            return index_of(getattr(tensor, tensor.__tensor_flatten__()[0][0]))
    found: int = held.get(INDEX, 0)
    return found


def take(tensor: torch.Tensor, value: torch.Tensor, index: int = 0) -> None:
    """Makes an existing device tensor stand for `value`, with its sizes and strides."""
    _set_data(tensor, emulated_beside(tensor, value, index))
    held = tensor.__dict__
    held[VALUE] = value
    if index:
        held[INDEX] = index
    else:
        held.pop(INDEX, None)


def refresh(tensor: torch.Tensor) -> None:
    """Gives a device tensor the sizes and strides of its value, after the value has changed them in place."""
    value = tensor.__dict__[VALUE]
    if (
        value.shape != tensor.shape
        or value.stride() != tensor.stride()
        or value.storage_offset() != tensor.storage_offset()
    ):
        take(tensor, value, index_of(tensor))

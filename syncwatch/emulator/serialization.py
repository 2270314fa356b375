"""Copies, pickles and files of device tensors: as CUDA's, so that a file written here loads anywhere."""

from __future__ import annotations

import copy
import sys
from collections import OrderedDict
from typing import Any, Final

import torch
from torch import serialization
from torch._C import TensorBase

from syncwatch.emulator.events import EVENTS
from syncwatch.emulator.gpus import GPUS
from syncwatch.emulator.layouts import LayoutTensor
from syncwatch.emulator.patching import Patches
from syncwatch.emulator.placement import CURRENT
from syncwatch.emulator.tensor_api import number
from syncwatch.emulator.values import VALUE, emulated, index_of, value_of
from syncwatch.model import Kind

GPU: Final = "_syncwatch_gpu"  # on the memory of a value while it travels: the number of its GPU
_storage_of = TensorBase.untyped_storage


def deepcopy(self: torch.Tensor, memo: dict[int, Any]) -> Any:
    value = value_of(self)
    if value is None or (type(self) is not torch.Tensor and torch.overrides.has_torch_function_unary(self)):
        return _native_deepcopy(self, memo)
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
            "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
            "see https://github.com/pytorch/pytorch/pull/103001"
        )
    if id(self) in memo:
        return memo[id(self)]
    with torch.no_grad():
        made = emulated(copy.deepcopy(value, memo), index_of(self))
        if type(self) is torch.nn.Parameter:
            made = torch.nn.Parameter(made, requires_grad=self.requires_grad)
        else:
            if type(self) is not torch.Tensor and not isinstance(self, LayoutTensor):
                made = made.as_subclass(type(self))
            made.requires_grad_(self.requires_grad)
        if self.grad is not None:
            made.grad = copy.deepcopy(self.grad, memo)
        for name, held in self.__dict__.items():
            if not name.startswith("_syncwatch_"):
                made.__dict__[name] = copy.deepcopy(held, memo)
    memo[id(self)] = made
    return made


_native_deepcopy = torch.Tensor.__deepcopy__
_native_reduce = torch.Tensor.__reduce_ex__


def reduce(self: torch.Tensor, proto: int) -> Any:
    """A device tensor is pickled as a CUDA tensor is: a storage that says `cuda:0`, and how the tensor lies in it."""
    value = value_of(self)
    if value is None:
        return _native_reduce(self, proto)
    if value.layout is not torch.strided:
        return (_rebuild_other, (value, index_of(self), self.requires_grad))
    storage = torch.storage.TypedStorage(
        wrap_storage=_marked(_storage_of(value), index_of(self)), dtype=value.dtype, _internal=True
    )
    torch.utils.hooks.warn_if_has_hooks(self)
    state = torch._utils._get_obj_state(self)
    args: tuple[Any, ...] = (
        storage,
        value.storage_offset(),
        tuple(value.size()),
        value.stride(),
        self.requires_grad,
        OrderedDict(),
    )
    if type(self) is not torch.Tensor or state:
        return (
            torch._tensor._rebuild_from_type_v2,
            (torch._utils._rebuild_tensor_v2, type(self), args, state),
        )
    return (torch._utils._rebuild_tensor_v2, args)


def _rebuild_other(value: torch.Tensor, index: int, requires_grad: bool) -> torch.Tensor:
    return emulated(value, index).requires_grad_(requires_grad)


def _marked(storage: Any, index: int) -> Any:
    setattr(storage, GPU, index)
    return storage


def _copy(storage: Any) -> Any:
    return torch.UntypedStorage(storage.nbytes()).copy_(storage)


def _tag(storage: Any) -> str | None:
    index = getattr(storage, GPU, None)
    return None if index is None else f"cuda:{index}"


def _restore(storage: Any, location: str) -> Any:
    from syncwatch.emulator.device import active

    if not active() or not location.startswith("cuda"):
        return None
    _, _, named = location.partition(":")
    index = int(named) if named else CURRENT.index
    if index >= GPUS.count:
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {index} but torch.cuda.device_count() is {GPUS.count}. "
            "Please use torch.load with map_location to map your storages to an existing device."
        )
    if storage.nbytes():
        EVENTS.report(sys._getframe(0), 1, Kind.UPLOAD)
    return _marked(storage, index)


_registered = False


def _register_location() -> None:
    """Tells torch.save and torch.load of memory that is on the emulated device; they ask in the order of priorities."""
    global _registered
    if not _registered:
        _registered = True
        serialization.register_package(5, _tag, _restore)


def _without_ours(original: Any) -> Any:
    """What a tensor's object holds besides the tensor: our marks are none of the program's business."""

    def state_of(obj: Any) -> Any:
        state = original(obj)
        if isinstance(obj, torch.Tensor) and isinstance(state, dict):
            return {name: held for name, held in state.items() if not name.startswith("_syncwatch_")}
        return state

    return state_of


def _rebuild_tensor(original: Any) -> Any:
    def rebuild(storage: Any, storage_offset: Any, size: Any, stride: Any) -> torch.Tensor:
        untyped = getattr(storage, "_untyped_storage", storage)
        index = getattr(untyped, GPU, None)
        if index is None:
            return original(storage, storage_offset, size, stride)
        value = torch.empty(0, dtype=storage.dtype)
        value.set_(untyped, storage_offset, size, stride)
        return emulated(value, index)

    return rebuild


def _reads_storages(original: Any, op: str) -> Any:
    """CUDA's storages are copied to the host one by one when they are written to a file."""

    def save(*args: Any, **kwargs: Any) -> Any:
        if not EVENTS.listening:
            return original(*args, **kwargs)
        SAVING.storages = set()
        try:
            return original(*args, **kwargs)
        finally:
            count, SAVING.storages = len(SAVING.storages), None
            if count:
                EVENTS.report(sys._getframe(0), count, Kind.TENSOR_READ)

    return save


class _Saving:
    storages: set[int] | None = None


SAVING = _Saving()


def storage(self: torch.Tensor) -> Any:
    """`Tensor.untyped_storage()`: the memory of the value, which says that it is on the device."""
    value = value_of(self)
    if value is None:
        return _storage_of(self)
    return _marked(_storage_of(value), index_of(self))


def install(patches: Patches) -> None:
    """Replaces what copies and pickles, and tells torch.save and torch.load of the device."""
    _register_location()
    patches.replace(torch.Tensor, "__deepcopy__", deepcopy)
    patches.replace(torch.Tensor, "__reduce_ex__", reduce)
    patches.replace(torch.Tensor, "untyped_storage", storage)
    patches.wrap(torch._utils, "_rebuild_tensor", _rebuild_tensor)
    patches.wrap(torch._utils, "_get_obj_state", _without_ours)
    device_of = torch._C.StorageBase.device.__get__

    def device(self: Any) -> torch.device:
        index = getattr(self, GPU, None)
        return device_of(self) if index is None else torch.device("cuda", index)

    patches.set(torch.UntypedStorage, "device", property(device))
    patches.set(torch.UntypedStorage, "is_cuda", property(lambda self: getattr(self, GPU, None) is not None))

    def to_host(self: Any) -> Any:
        if getattr(self, GPU, None) is None:
            return self
        if SAVING.storages is None:
            EVENTS.report(sys._getframe(0), 1, Kind.TENSOR_READ)
        elif self.nbytes():
            SAVING.storages.add(self._cdata)
        return _copy(self)

    original_tolist = torch.UntypedStorage.tolist

    def tolist(self: Any) -> Any:
        if getattr(self, GPU, None) is not None:
            EVENTS.report(sys._getframe(0), len(self), Kind.STREAM_WAIT)  # byte by byte
        return original_tolist(self)

    original_cuda = torch.UntypedStorage.cuda

    def to_device(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
        if getattr(self, GPU, None) is None and self.nbytes():
            EVENTS.report(sys._getframe(0), 1, Kind.STREAM_WAIT)
        return original_cuda(self, device, non_blocking)

    patches.set(torch.UntypedStorage, "tolist", tolist)
    patches.set(torch.UntypedStorage, "cuda", to_device)

    def clone(self: Any) -> Any:
        made, index = _copy(self), getattr(self, GPU, None)
        return made if index is None else _marked(made, index)

    make = torch.UntypedStorage.__new__

    def new(cls: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        if device is None or torch.device(device).type != "cuda":
            return make(cls, *args, **kwargs, **({} if device is None else {"device": device}))
        return _marked(make(cls, *args, **kwargs), number(device))

    patches.set(torch.UntypedStorage, "__new__", new)
    write_file = torch.UntypedStorage._write_file

    def write(self: Any, *args: Any) -> Any:  # what pickle uses
        if SAVING.storages is not None and getattr(self, GPU, None) is not None and self.nbytes():
            SAVING.storages.add(self._cdata)
        return write_file(self, *args)

    patches.set(torch.UntypedStorage, "_write_file", write)
    patches.set(torch.UntypedStorage, "cpu", to_host)
    patches.set(torch.UntypedStorage, "clone", clone)
    patches.set(torch, "save", _saved(torch.save))
    patches.set(serialization, "save", torch.save)


def _saved(original: Any) -> Any:
    from syncwatch.emulator.patching import named_like

    return named_like(_reads_storages(original, "torch.save"), original)


__all__ = ["VALUE", "deepcopy", "install", "reduce"]

"""Device tensors that are not strided: sparse, nested and quantized ones.

These need a class of their own: torch makes plain tensors of the backend with strides only.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._C import TensorBase

from syncwatch.emulator.values import INDEX, NATIVE, VALUE

_make = TensorBase._make_wrapper_subclass


class LayoutTensor(torch.Tensor):  # type: ignore[misc]
    """A device tensor with a layout other than strided."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @property
    def layout(self) -> torch.layout:
        layout: torch.layout = self.__dict__[VALUE].layout
        return layout

    @property
    def is_sparse(self) -> bool:
        return self.layout is torch.sparse_coo

    @property
    def is_sparse_csr(self) -> bool:
        return self.layout is torch.sparse_csr

    def to_sparse(self, *args: Any, layout: torch.layout | None = None, **kwargs: Any) -> torch.Tensor:
        """`Tensor.to_sparse`, by the tensor's own layout."""
        if args:
            return TensorBase.to_sparse(self, *args)
        wanted = torch.sparse_coo if layout is None else layout
        return self if self.layout is wanted else torch.ops.aten._to_sparse.default(self, layout=wanted, **kwargs)

    @property
    def is_nested(self) -> bool:
        return bool(self.__dict__[VALUE].is_nested)

    @classmethod
    def __torch_dispatch__(cls, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from syncwatch.emulator.kernels import kernel_of

        return kernel_of(op)(*args, **(kwargs or {}))


LayoutTensor.__name__ = "tensor"  # what its repr begins with


def emulated_layout(value: torch.Tensor, index: int) -> torch.Tensor:
    """See `values.emulated`."""
    if value.is_nested:
        outer = _make(LayoutTensor, _bounding_size(value), dtype=value.dtype, device=NATIVE, requires_grad=False)
    elif value.layout is torch.strided:
        outer = _make(LayoutTensor, value.shape, dtype=value.dtype, device=NATIVE, requires_grad=False)
    else:
        # for torch itself every sparse one is of coordinates: it has no other layout for tensors like these
        outer = _make(
            LayoutTensor, value.shape, dtype=value.dtype, layout=torch.sparse_coo, device=NATIVE, requires_grad=False
        )
    outer.__dict__[VALUE] = value
    if index:
        outer.__dict__[INDEX] = index
    return outer


def _bounding_size(value: torch.Tensor) -> list[int]:
    """The size that holds every part of a nested tensor: torch cannot make one of a backend in Python."""
    sizes = value._nested_tensor_size()
    return [value.size(0), *(sizes.max(0).values.tolist() if sizes.numel() else [])]

"""Device tensors that are not strided: sparse, nested and quantized ones.

These need a class of their own: torch makes plain tensors of the backend with strides only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch._C import TensorBase

from syncwatch.emulator.values import INDEX, NATIVE, VALUE
from syncwatch.model import Kind

_PRODUCTS = frozenset([torch.ops.aten.mm.default, torch.ops.aten.addmm.default])
_to_copy = torch.ops.aten._to_copy.default
_make = TensorBase._make_wrapper_subclass


_COMPRESSED = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)


def is_compressed(tensor: torch.Tensor) -> bool:
    """Whether the tensor is sparse, with its rows or columns compressed."""
    return tensor.layout in _COMPRESSED


def compressed_to_device(
    tensor: torch.Tensor, index: int, move: Callable[[torch.Tensor], torch.Tensor]
) -> torch.Tensor:
    """A compressed sparse host tensor on GPU `index`, by its three parts, as torch copies it; `move` takes the values.

    torch would put it together in C++, where our backend has no such tensors.
    """
    by_rows = tensor.layout in (torch.sparse_csr, torch.sparse_bsr)
    ends, places = (
        (tensor.crow_indices(), tensor.col_indices()) if by_rows else (tensor.ccol_indices(), tensor.row_indices())
    )
    parts = [ends.cuda(index), places.cuda(index), move(tensor.detach().values())]
    made = torch.sparse_compressed_tensor(*parts, size=tensor.shape, layout=tensor.layout)
    return made.requires_grad_(tensor.requires_grad and tensor.is_leaf)


# operations that turn one layout into another
CONVERSIONS = frozenset(
    [
        "aten._to_sparse.default",
        "aten._to_sparse.sparse_dim",
        "aten._to_sparse_csr.default",
        "aten._to_sparse_csc.default",
    ]
)


def conversion_waits(name: str, tensor: torch.Tensor) -> int | None:
    """How often the host waits while a sparse tensor gets another layout, as measured; None for dense ones.

    Only between rows and columns does the number of elements have to be counted.
    """
    if tensor.layout is torch.strided or tensor.layout in (torch.sparse_bsr, torch.sparse_bsc):
        return None
    across = {torch.sparse_csr: "_csc", torch.sparse_csc: "_csr"}.get(tensor.layout)
    return int(across is not None and name.startswith(f"aten._to_sparse{across}"))


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
        from syncwatch.emulator.events import EVENTS
        from syncwatch.emulator.kernels import kernel_of

        kwargs = kwargs or {}
        if op is _to_copy and kwargs.get("layout") is torch.sparse_coo and isinstance(args[0], cls):
            kwargs = {**kwargs, "layout": args[0].layout}  # torch knows of one sparse layout: see emulated_layout
        if op in _PRODUCTS and any(isinstance(arg, cls) and arg.layout is torch.sparse_csc for arg in args):
            EVENTS.report(sys._getframe(0), 1, Kind.STREAM_WAIT)  # it is turned into rows first, as measured
        return kernel_of(op)(*args, **kwargs)


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

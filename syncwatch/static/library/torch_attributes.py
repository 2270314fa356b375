"""Attributes of tensors, devices and types, and the methods that answer from metadata on the host."""

from __future__ import annotations

import msgspec

from syncwatch.static.library.protocol import LibCall, Machine, Model, attribute, model
from syncwatch.static.library.tensors import axes, given, integer, replaced, spread, uniform, view
from syncwatch.static.library.torch_views import rows, turned
from syncwatch.static.values import (
    BOOL,
    FALSE,
    HISTORY,
    INT,
    NONE,
    STR,
    UNKNOWN,
    Device,
    Dtype,
    Host,
    Tensor,
    Tuple,
    Value,
    const,
    join,
)


def number(value: int | None) -> Value:
    """A host integer, known or not."""
    return INT if value is None else const(value)


def _device(t: Tensor) -> Device:
    return Device(t.device, t.index if t.index is not None else (None if t.device == "cuda" else -1), t.sure)


def _size(t: Tensor) -> Value:
    if t.shape is None:
        return Tuple(None, INT, type="torch.Size")
    return Tuple(tuple(number(n) for n in t.shape), type="torch.Size")


@attribute("torch.Tensor.shape")
def _shape(m: Machine, t: Value, name: str) -> Value:
    return _size(t)


@attribute("torch.Tensor.device")
def _device_of(m: Machine, t: Value, name: str) -> Value:
    return _device(t)


@attribute("torch.Tensor.dtype")
def _dtype(m: Machine, t: Value, name: str) -> Value:
    return Dtype({"float": "float32", "int": "int64", "complex": "complex64"}.get(t.dtype, t.dtype or ""))


@attribute("torch.Tensor.layout")
def _layout(m: Machine, t: Value, name: str) -> Value:
    return Host("torch.layout")


@attribute("torch.Tensor.is_cuda")
def _is_cuda(m: Machine, t: Value, name: str) -> Value:
    return BOOL if t.device is None or not t.sure else const(t.device == "cuda")


@attribute("torch.Tensor.is_cpu", "torch.Tensor.is_meta")
def _is_kind(m: Machine, t: Value, name: str) -> Value:
    return BOOL if t.device is None or not t.sure else const(t.device == name[3:])


@attribute("torch.Tensor.is_sparse", "torch.Tensor.is_sparse_csr")
def _is_sparse(m: Machine, t: Value, name: str) -> Value:
    return BOOL if "sparse" in t.marks else FALSE


@attribute(
    "torch.Tensor.is_quantized",
    "torch.Tensor.is_nested",
    "torch.Tensor.is_mkldnn",
    "torch.Tensor.is_mps",
    "torch.Tensor.is_xpu",
    "torch.Tensor.retains_grad",
    "torch.Tensor.is_shared",
)
def _never(m: Machine, t: Value, name: str) -> Value:
    return BOOL


@attribute("torch.Tensor.requires_grad")
def _requires_grad(m: Machine, t: Value, name: str) -> Value:
    return BOOL if t.requires_grad is None else const(t.requires_grad)


@attribute("torch.Tensor.is_leaf")
def _is_leaf(m: Machine, t: Value, name: str) -> Value:
    return BOOL


@attribute("torch.Tensor.grad_fn")
def _grad_fn(m: Machine, t: Value, name: str) -> Value:
    return NONE if t.requires_grad is False else UNKNOWN


@attribute("torch.Tensor.grad")
def _grad(m: Machine, t: Value, name: str) -> Value:
    kept = frozenset(t.marks & {"sparse"})
    gradient = replaced(t, requires_grad=False, parameter=False, marks=kept, pinned=False)
    return join(gradient, NONE)


@attribute("torch.Tensor.data")
def _data(m: Machine, t: Value, name: str) -> Value:
    return replaced(t, requires_grad=False, parameter=False, marks=t.marks - HISTORY)


@attribute("torch.Tensor.T", "torch.Tensor.mT", "torch.Tensor.H", "torch.Tensor.mH")
def _transposed(m: Machine, t: Value, name: str) -> Value:
    shape = None if t.shape is None else t.shape[::-1] if len(t.shape) <= 2 else (*t.shape[:-2], *t.shape[-2:][::-1])
    return turned(view(t, shape, dense=t.dense))


@attribute("torch.Tensor.real", "torch.Tensor.imag")
def _part(m: Machine, t: Value, name: str) -> Value:
    return replaced(view(t, t.shape), dtype="float")


@attribute(
    "torch.Tensor.ndim",
    "torch.Tensor.itemsize",
    "torch.Tensor.nbytes",
    "torch.Tensor.output_nr",
    "torch.Tensor._version",
)
def _count(m: Machine, t: Value, name: str) -> Value:
    return number(len(t.shape)) if name == "ndim" and t.shape is not None else INT


@attribute("torch.Tensor.name", "torch.Tensor.names")
def _name(m: Machine, t: Value, name: str) -> Value:
    return STR


def _metadata(function: Model) -> Model:
    spreading = spread(function)

    def run(m: Machine, call: LibCall) -> Value:
        return spreading(m, uniform(call))

    return run


@model("torch.Tensor.size")
@_metadata
def _size_method(m: Machine, call: LibCall) -> Value:
    x, dim = call.args[0] if call.args else UNKNOWN, call.arg(1, "dim")
    if type(x) is not Tensor:
        return UNKNOWN
    if not given(dim):
        return _size(x)
    if not x.shape:
        return INT
    at = axes(dim, len(x.shape))
    return number(x.shape[at[0]]) if at else INT


@model("torch.Tensor.dim", "torch.Tensor.ndimension")
@_metadata
def _dim(m: Machine, call: LibCall) -> Value:
    x = call.args[0] if call.args else UNKNOWN
    return number(len(x.shape)) if type(x) is Tensor and x.shape is not None else INT


@model("torch.Tensor.numel", "torch.numel", "torch.Tensor.nelement")
@_metadata
def _numel(m: Machine, call: LibCall) -> Value:
    x = call.args[0] if call.args else UNKNOWN
    if type(x) is not Tensor or x.shape is None or None in x.shape:
        return INT
    total = 1
    for n in x.shape:
        total *= n or 0
    return const(total)


@model(
    "torch.Tensor.stride",
    "torch.Tensor.storage_offset",
    "torch.Tensor.element_size",
    "torch.Tensor.data_ptr",
    "torch.Tensor.get_device",
    "torch.Tensor._nnz",
    "torch.Tensor.sparse_dim",
    "torch.Tensor.dense_dim",
    "torch.Tensor.__hash__",
)
def _int(m: Machine, call: LibCall) -> Value:
    if call.name == "torch.Tensor.stride" and not call.args:
        return Tuple(None, INT)
    return INT


@model(
    "torch.Tensor.is_contiguous",
    "torch.Tensor.is_coalesced",
    "torch.Tensor.is_inference",
    "torch.Tensor.is_shared",
    "torch.Tensor.is_signed",
    "torch.is_inference",
    "torch.is_tensor",
    "torch.is_storage",
    "torch.is_complex",
    "torch.Tensor.is_complex",
    "torch.Tensor.is_conj",
    "torch.is_conj",
    "torch.Tensor.is_neg",
)
def _bool(m: Machine, call: LibCall) -> Value:
    if call.name == "torch.is_tensor":
        verdict = m.isinstance(call.arg(0, "obj", UNKNOWN), "torch.Tensor")
        return BOOL if verdict is None else const(verdict)
    return BOOL


@model("torch.is_floating_point", "torch.Tensor.is_floating_point")
@_metadata
def _is_floating(m: Machine, call: LibCall) -> Value:
    x = call.args[0] if call.args else UNKNOWN
    return BOOL if type(x) is not Tensor or x.dtype is None else const(x.dtype == "float")


@model("torch.Tensor.is_pinned")
@_metadata
def _is_pinned(m: Machine, call: LibCall) -> Value:
    x = call.args[0] if call.args else UNKNOWN
    return BOOL if type(x) is not Tensor or x.pinned is None else const(x.pinned)


@model("torch.device")
def _device_made(m: Machine, call: LibCall) -> Value:
    """`torch.device("cuda", 0)`, `torch.device(f"cuda:{rank}")`, `torch.device(device)`."""
    name, index = call.arg(0, "type", call.kwargs.get("device", UNKNOWN)), call.arg(1, "index")

    def one(x: Value) -> Value:
        device = m.device_of(x)
        if device is None:
            return Device(None)
        if given(index):
            return msgspec.structs.replace(device, index=integer(index))
        return device

    return m.each(name, one)


@attribute("torch.finfo.*", "torch.iinfo.*")
def _limits(m: Machine, value: Value, name: str) -> Value:
    return STR if name == "dtype" else Host("float")


@model("torch.finfo", "torch.iinfo")
def _info(m: Machine, call: LibCall) -> Value:
    return Host(call.name)


@model(
    "torch.promote_types",
    "torch.result_type",
    "torch.get_default_dtype",
    "torch.get_autocast_gpu_dtype",
    "torch.get_autocast_dtype",
)
def _some_dtype(m: Machine, call: LibCall) -> Value:
    return Dtype("")


@model("torch.Size")
def _size_made(m: Machine, call: LibCall) -> Value:
    inner = m.iterate(call.arg(0, None, UNKNOWN))
    return Tuple(inner.items, inner.elem, type="torch.Size")


@model("torch.Size.numel")
def _size_numel(m: Machine, call: LibCall) -> Value:
    return INT


@model("torch.Tensor.__iter__")
def _iterate(m: Machine, call: LibCall) -> Value:
    return m.each(call.self, lambda x: rows(m, x))


@model("torch.Tensor.data=")
def _set_data(m: Machine, call: LibCall) -> Value:
    return NONE

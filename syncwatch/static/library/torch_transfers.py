"""Copies between host and device, reads into Python, and what keeps the memory as it is."""

from __future__ import annotations

from syncwatch.static.library.protocol import LibCall, Machine, Model, model
from syncwatch.static.library.tensors import (
    HOST,
    NOWHERE,
    Where,
    dtype_named,
    flag,
    given,
    on,
    register,
    replaced,
    result,
    spread,
    uniform,
)
from syncwatch.static.values import (
    FALSE,
    FLOAT,
    HISTORY,
    INT,
    NONE,
    NUMBER,
    STR,
    UNKNOWN,
    Array,
    Const,
    Dtype,
    Host,
    Obj,
    Tensor,
    Value,
)

_NUMBERS = {"bool": Host("bool"), "uint8": INT, "int": INT, "float": FLOAT, "complex": Host("complex")}


def _x(call: LibCall) -> Value:
    return call.args[0] if call.args else UNKNOWN


def scalar(sort: str | None) -> Value:
    """The Python number that a tensor of this class holds."""
    return NUMBER if sort is None else _NUMBERS[sort]


def moved(
    m: Machine, x: Tensor, place: Where | None, sort: str | None, *, non_blocking: bool | None, copy: bool
) -> Value:
    """`x` at `place` (None: where it is), as a new tensor unless nothing changes."""
    same_place = place is None or (place.device == x.device and place.device is not None)
    same_type = sort is None or sort == x.dtype
    if same_place and same_type and not copy:
        if place is not None and place.index is not None and place.index != x.index:
            return replaced(x, index=place.index, parameter=False)
        return x if sort is None or x.dtype is not None else replaced(x, dtype=sort, parameter=False)
    if place is None or same_place:
        kept = Where(x.device, x.sure, x.index)
        return replaced(
            result([x], x.shape, sort or x.dtype, place=kept, dense=x.dense, grad=x.requires_grad),
            stream=None,
        )
    # a tensor that came from an assumed device is on the new one for sure if that is sure
    return replaced(
        result([x], x.shape, sort or x.dtype, place=place, dense=x.dense, grad=x.requires_grad),
        marks=x.marks & (HISTORY | {"sparse"}),
    )


def _to(m: Machine, call: LibCall) -> Value:
    """All forms of `to`: device, type, device and type, another tensor."""
    x = _x(call)
    if type(x) is not Tensor:
        return x if type(x) in (Array, Obj) else UNKNOWN
    place: Where | None = None
    sort: str | None = None
    changes_type = False
    flags: list[Value] = []
    for value in (*call.args[1:], *(v for k, v in call.kwargs.items() if k in ("device", "dtype", "other"))):
        kind = type(value)
        if kind is Dtype:
            sort, changes_type = value.sort, True
        elif kind is Tensor:
            place, sort, changes_type = Where(value.device, value.sure, value.index), value.dtype, True
        elif value == NONE:
            continue
        elif (kind is Const and value.kind == "bool") or (kind is Host and value.kind == "bool"):
            flags.append(value)
        else:
            device = m.device_of(value)
            place = NOWHERE if device is None else on(device)
    if call.has_star and place is None and not changes_type:
        place = NOWHERE
    non_blocking = flag(flags[0] if flags else call.kwargs.get("non_blocking"))
    copy = flag(flags[1] if len(flags) > 1 else call.kwargs.get("copy")) is True
    if changes_type and sort is None and place is None:
        return replaced(result([x], x.shape, None, dense=x.dense), parameter=False)
    if changes_type and sort is None:
        value = moved(m, x, place, None, non_blocking=non_blocking, copy=copy)
        return replaced(value, dtype=None, parameter=False) if type(value) is Tensor else value
    return moved(m, x, place, sort, non_blocking=non_blocking, copy=copy)


def _cuda(m: Machine, call: LibCall) -> Value:
    x = _x(call)
    if type(x) is not Tensor:
        return x
    where = call.arg(1, "device")
    device = m.device_of(where) if given(where) else None
    index = None if device is None or device.index is None or device.index < 0 else device.index
    if x.device == "cuda":
        return x if index is None else replaced(x, index=index)
    return moved(m, x, Where("cuda", True, index), None, non_blocking=False, copy=False)


def _cpu(m: Machine, call: LibCall) -> Value:
    x = _x(call)
    if type(x) is not Tensor:
        return x
    return moved(m, x, HOST, None, non_blocking=False, copy=False)


def _cast(sort: str) -> Model:
    def rule(m: Machine, call: LibCall) -> Value:
        x = _x(call)
        if type(x) is not Tensor:
            return x
        if x.dtype == sort and sort != "float" and sort != "int":
            return x
        return replaced(result([x], x.shape, sort, dense=x.dense), pinned=None if x.dtype in (sort, None) else False)

    return rule


def _type(m: Machine, call: LibCall) -> Value:
    x, wanted = _x(call), call.arg(1, "dtype")
    if not given(wanted):
        return STR
    if type(x) is not Tensor:
        return UNKNOWN
    if type(wanted) is Const and wanted.kind == "str":
        name = str(wanted.value)
        place = Where("cuda") if ".cuda." in name else (HOST if name.startswith("torch.") else None)
        sort = Dtype(name.rpartition(".")[2].replace("Tensor", "").lower()).sort
        return moved(m, x, place, sort, non_blocking=False, copy=False)
    return moved(m, x, None, dtype_named(m, wanted), non_blocking=False, copy=False)


def _item(m: Machine, call: LibCall) -> Value:
    x = _x(call)
    return scalar(x.dtype if type(x) is Tensor or type(x) is Array else None)


def _tolist(m: Machine, call: LibCall) -> Value:
    x = _x(call)
    if type(x) is not Tensor and type(x) is not Array:
        return UNKNOWN
    inner = scalar(x.dtype)
    if x.shape == ():
        return inner
    if x.shape is None:
        return m.list(None, UNKNOWN)
    if len(x.shape) == 1:
        size = x.shape[0]
        return m.list((inner,) * size) if size is not None and size <= 8 else m.list(None, inner)
    with m.part("row"):
        row = m.list(None, UNKNOWN if len(x.shape) > 2 else inner)
    return m.list(None, row)


def _numpy(m: Machine, call: LibCall) -> Value:
    x = _x(call)
    return Array("numpy.ndarray", x.shape, x.dtype) if type(x) is Tensor else UNKNOWN


def _detach(m: Machine, call: LibCall) -> Value:
    x = _x(call)
    if type(x) is not Tensor:
        return x
    return replaced(x, requires_grad=False, parameter=False, marks=x.marks - HISTORY)


def _clone(m: Machine, call: LibCall) -> Value:
    x = _x(call)
    if type(x) is not Tensor:
        return x
    return result([x], x.shape, x.dtype, dense=x.dense)


def _pin(m: Machine, call: LibCall) -> Value:
    x = _x(call)
    if type(x) is not Tensor:
        return UNKNOWN
    return replaced(x, pinned=True, parameter=False, marks=x.marks - {"pinned-source", "host-made"})


def _same(m: Machine, call: LibCall) -> Value:
    return _x(call)


def _requires_grad(m: Machine, call: LibCall) -> Value:
    x = _x(call)
    return replaced(x, requires_grad=flag(call.arg(1, "requires_grad"), True)) if type(x) is Tensor else x


def _none(m: Machine, call: LibCall) -> Value:
    return NONE


def _copy_(m: Machine, call: LibCall) -> Value:
    x, source = _x(call), call.arg(1, "src", call.kwargs.get("other", UNKNOWN))
    if type(x) is Tensor and type(source) is Tensor and "permuted" in x.marks ^ source.marks:
        # layouts differ: the copy goes through a temporary in pageable memory
        flags = {"non_blocking": call.arg(2, "non_blocking", FALSE)}
        m.ask("torch.Tensor.copy_", [x, replaced(source, dense=False)], flags, via="call")
    if type(x) is Tensor and type(source) is Tensor and source.requires_grad and not x.requires_grad:
        return replaced(x, requires_grad=True)
    return x


def _dense(m: Machine, call: LibCall) -> Value:
    x = _x(call)
    if type(x) is not Tensor:
        return UNKNOWN
    return replaced(result([x], x.shape, x.dtype), marks=x.marks - {"sparse"})


def _sparse(m: Machine, call: LibCall) -> Value:
    x = _x(call)
    if type(x) is not Tensor:
        return UNKNOWN
    return replaced(result([x], x.shape, x.dtype), marks=x.marks | {"sparse"})


METHODS = ("torch.Tensor.",)
register(["to"], _to, METHODS)
register(["cuda"], _cuda, METHODS)
register(["cpu"], _cpu, METHODS)
for _names, _sort in (
    ("float double half bfloat16", "float"),
    ("int long short char", "int"),
    ("bool", "bool"),
    ("byte", "uint8"),
    ("cfloat cdouble chalf", "complex"),
):
    register(_names.split(), _cast(_sort), METHODS)
register(["type"], _type, METHODS)
register(["type_as"], _to, METHODS)
register(["item"], _item, METHODS)
register(["tolist"], _tolist, METHODS)
register(["numpy", "__array__"], _numpy, METHODS)
register(["detach", "detach_"], _detach)
register(["clone", "__copy__", "__deepcopy__"], _clone)
register(["pin_memory"], _pin, METHODS)
register(["requires_grad_"], _requires_grad, METHODS)
register(["copy_"], _copy_, METHODS)
register(["to_dense"], _dense, METHODS)
register(["to_sparse", "to_sparse_coo", "to_sparse_csr", "coalesce"], _sparse, METHODS)
register(["share_memory_", "retain_grad", "record_stream", "zero_grad"], _same, METHODS)
register(["retain_grad", "record_stream"], _none, METHODS)
register(["to_device"], _same, METHODS)
register(["__float__"], lambda m, call: FLOAT, METHODS)
register(["__int__", "__index__", "__len__"], lambda m, call: INT, METHODS)
register(["__bool__", "__contains__"], lambda m, call: Host("bool"), METHODS)
register(["__complex__"], lambda m, call: Host("complex"), METHODS)
register(["__format__", "__repr__", "__str__"], lambda m, call: STR, METHODS)


@model(
    "torch.Tensor.indices",
    "torch.Tensor._indices",
    "torch.Tensor.values",
    "torch.Tensor._values",
    "torch.Tensor.crow_indices",
    "torch.Tensor.col_indices",
)
def _parts(m: Machine, call: LibCall) -> Value:
    def rule(m: Machine, call: LibCall) -> Value:
        x = _x(call)
        if type(x) is not Tensor:
            return UNKNOWN
        indices = "indices" in call.name
        value = result([x], (None, None) if indices else (None,), "int" if indices else x.dtype)
        return replaced(value, marks=value.marks - {"sparse"})

    return spread(rule)(m, uniform(call))


@model("torch.Tensor.new_tensor")
def _new_tensor(m: Machine, call: LibCall) -> Value:
    from syncwatch.static.library.torch_factories import from_data

    return m.each(call.self, lambda x: from_data(m, call, 0, like=x))


__all__ = ["moved", "scalar"]

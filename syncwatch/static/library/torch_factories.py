"""Functions of torch that make tensors: on `device=`, else on the default device, from sizes or from host data."""

from __future__ import annotations

from syncwatch.static.library.protocol import LibCall, Machine, model
from syncwatch.static.library.tensors import (
    NOWHERE,
    Shape,
    Where,
    contents,
    dtype_named,
    elements,
    flag,
    given,
    integer,
    is_number,
    on,
    promote,
    register,
    replaced,
    shape_of,
    sizes,
    sort_of,
    spread,
    where,
)
from syncwatch.static.values import UNKNOWN, Array, Const, Tensor, Value

_SIZED_TEXT = "zeros ones empty rand randn"
_SIZED = _SIZED_TEXT.split()
_DEVICE_POSITION = {"tensor": None, "as_tensor": 2, "asarray": None}


def place_of(m: Machine, call: LibCall, like: Value = None) -> Where:
    """Where a factory puts its result: `device=`, else beside `like`, else on the default device."""
    value = call.kwargs.get("device")
    if not given(value):
        if call.has_star and value is None:
            return NOWHERE
        if type(like) is Tensor:
            return Where(like.device, like.sure, like.index)
        if like is not None:
            return NOWHERE
        return on(m.default_device())
    device = m.device_of(value)
    if device is None:
        return NOWHERE
    if device.type == "cuda" and not device.sure and device.index is None:
        return Where("cuda", False)
    return on(device)


def made(m: Machine, call: LibCall, shape: Shape, sort: str | None, like: Value = None) -> Tensor:
    """A new tensor, as the arguments `device`, `dtype`, `requires_grad` and `pin_memory` ask for it."""
    place = place_of(m, call, like)
    named = call.kwargs.get("dtype")
    if given(named):
        sort = dtype_named(m, named)
    marks = frozenset({"host-made"}) if place.device == "cpu" else frozenset()
    return Tensor(
        device=place.device,
        sure=place.sure,
        shape=shape,
        dtype=sort,
        pinned=flag(call.kwargs.get("pin_memory"), False),
        dense=True,
        requires_grad=flag(call.kwargs.get("requires_grad"), False),
        index=place.index,
        marks=marks,
    )


def _size(call: LibCall, skip: int = 0) -> Shape:
    rest = call.args[skip:]
    if rest:
        return sizes(rest)
    return sizes([call.kwargs.get("size", UNKNOWN)])


def _sized(m: Machine, call: LibCall) -> Value:
    return made(m, call, _size(call), "float")


def _like(m: Machine, call: LibCall) -> Value:
    x = call.args[0] if call.args else UNKNOWN
    sort = sort_of(x)
    value = made(m, call, shape_of(x), sort, like=x)
    return replaced(value, marks=value.marks - {"host-made"})


def _new(m: Machine, call: LibCall) -> Value:
    x = call.args[0] if call.args else UNKNOWN
    return made(m, call, _size(call, 1), sort_of(x), like=x)


def _full(m: Machine, call: LibCall) -> Value:
    fill = call.arg(1, "fill_value", UNKNOWN)
    return made(m, call, sizes([call.arg(0, "size", UNKNOWN)]), promote([fill]))


def _new_full(m: Machine, call: LibCall) -> Value:
    x = call.args[0] if call.args else UNKNOWN
    return made(m, call, sizes([call.arg(1, "size", UNKNOWN)]), sort_of(x), like=x)


def _arange(m: Machine, call: LibCall) -> Value:
    bounds = [*call.args, *(v for k, v in call.kwargs.items() if k in ("start", "end", "step"))]
    sort = promote(bounds) if bounds else None
    low, high, step = Const("int", 0), call.arg(0, "end"), call.arg(2, "step", Const("int", 1))
    if len(call.args) > 1 or "start" in call.kwargs or "end" in call.kwargs:
        low, high = call.arg(0, "start", low), call.arg(1, "end")
    first, last, stride = integer(low), integer(high), integer(step)
    length = None
    if first is not None and last is not None and stride:
        length = len(range(first, last, stride))
    return made(m, call, (length,), "int" if sort in (None, "bool", "int") else sort)


def _linspace(m: Machine, call: LibCall) -> Value:
    return made(m, call, (integer(call.arg(2, "steps")),), "float")


def _eye(m: Machine, call: LibCall) -> Value:
    rows = integer(call.arg(0, "n"))
    columns = call.arg(1, "m")
    return made(m, call, (rows, integer(columns) if given(columns) else rows), "float")


def _randint(m: Machine, call: LibCall) -> Value:
    positional = [a for a in call.args if not is_number(a)]
    size = call.kwargs.get("size", positional[0] if positional else UNKNOWN)
    return made(m, call, sizes([size]), "int")


def _randperm(m: Machine, call: LibCall) -> Value:
    return made(m, call, (integer(call.arg(0, "n")),), "int")


def _indices(m: Machine, call: LibCall) -> Value:
    return made(m, call, (2, None), "int")


def _normal(m: Machine, call: LibCall) -> Value:
    """`normal(mean, std)` follows its tensors, `normal(0.0, 1.0, size)` is a factory."""
    values = [call.arg(0, "mean", UNKNOWN), call.arg(1, "std", UNKNOWN)]
    size = call.arg(2, "size")
    like = next((v for v in values if type(v) is Tensor), None)
    if like is not None:
        return made(m, call, shape_of(like), "float", like=like)
    return made(m, call, sizes([size]) if given(size) else None, "float")


def _data_shape(value: Value, depth: int = 0) -> Shape:
    """The shape that nested host data has."""
    if type(value) is Tensor or type(value) is Array:
        return value.shape
    if is_number(value):
        return ()
    items = elements(value)
    if items is None:
        inner = next((v for v in contents(value) if v is not value), None)
        if is_number(inner):
            return (None,)
        return None
    if depth > 4:
        return None
    if not items:
        return (0,)
    inner_shape = _data_shape(items[0], depth + 1)
    return None if inner_shape is None else (len(items), *inner_shape)


def from_data(m: Machine, call: LibCall, position: int, like: Value = None) -> Value:
    """A tensor of given data; host data becomes a host tensor unless `device=` names another place."""
    data = call.arg(position, "data", call.kwargs.get("obj", UNKNOWN))
    leaves = list(contents(data))
    sort = promote(leaves) if leaves else "float"
    kind = type(data)
    keeps = kind is Tensor and not given(call.kwargs.get("device"))
    value = made(m, call, _data_shape(data), sort, like=data if keeps else like)
    if like is None and kind is not Tensor and "device" not in call.kwargs and m.default_device().type == "cuda":
        # the call does not name the device: set_default_device or `with torch.device` does
        m.ask(call.name, call.args, {**call.kwargs, "device": m.default_device()}, via="call")
    if kind is Tensor:
        if data.requires_grad is None and "requires_grad" not in call.kwargs and not call.name.endswith("tensor"):
            value = replaced(value, requires_grad=None)
        return replaced(value, marks=value.marks - {"host-made"})
    if kind is Array or not all(type(v) is Const for v in leaves):
        # the data came from somewhere: it is the caller's, not made here
        return replaced(value, marks=value.marks - {"host-made"})
    return value


@model("torch.tensor", "torch.sparse.as_tensor")
def _tensor(m: Machine, call: LibCall) -> Value:
    return spread(lambda m, call: from_data(m, call, 0))(m, call)


@model("torch.as_tensor", "torch.asarray")
def _as_tensor(m: Machine, call: LibCall) -> Value:
    """Host data as by `tensor`; a tensor is passed through, or moved."""

    def rule(m: Machine, call: LibCall) -> Value:
        data = call.arg(0, "data", call.kwargs.get("obj", UNKNOWN))
        positional = dict(zip(("dtype", "device"), call.args[1:], strict=False))
        call = LibCall(call.name, call.args[:1], {**positional, **call.kwargs}, None, call.has_star)
        if type(data) is Tensor:
            from syncwatch.static.library.torch_transfers import moved

            wanted = call.kwargs.get("device")
            place = place_of(m, call, data) if given(wanted) else None
            return moved(m, data, place, dtype_named(m, call.kwargs.get("dtype")), non_blocking=False, copy=False)
        return from_data(m, call, 0)

    return spread(rule)(m, call)


@model("torch.from_numpy", "torch.frombuffer", "torch.from_dlpack", "torch.utils.dlpack.from_dlpack")
def _from_numpy(m: Machine, call: LibCall) -> Value:
    data = call.arg(0, "ndarray", UNKNOWN)

    def one(x: Value) -> Value:
        if type(x) is Tensor:
            return x
        sort = x.dtype if type(x) is Array else None
        device = None if "dlpack" in call.name else "cpu"
        return Tensor(device, shape=shape_of(x), dtype=sort, pinned=False, requires_grad=False, dense=None)

    return m.each(data, one)


@model("torch.scalar_tensor")
def _scalar_tensor(m: Machine, call: LibCall) -> Value:
    return made(m, call, (), promote([call.arg(0, "s", UNKNOWN)]))


@model("torch.sparse_coo_tensor", "torch.sparse_csr_tensor", "torch.sparse_compressed_tensor")
def _sparse(m: Machine, call: LibCall) -> Value:
    values = call.arg(1 if call.name == "torch.sparse_coo_tensor" else 2, "values", UNKNOWN)
    if not given(call.kwargs.get("device")):
        place = where([*call.args])
        value = replaced(made(m, call, None, sort_of(values)), device=place.device, sure=place.sure)
    else:
        value = made(m, call, None, sort_of(values))
    size = call.arg(2, "size")
    return replaced(value, marks=frozenset({"sparse"}), shape=sizes([size]) if given(size) else None)


@model("torch.complex", "torch.polar")
def _complex(m: Machine, call: LibCall) -> Value:
    from syncwatch.static.library.tensors import result

    return spread(
        lambda m, c: result([*c.args, *c.kwargs.values()], shape_of(c.args[0]) if c.args else None, "complex")
    )(m, call)


@model("torch.empty_strided", "torch.empty_permuted")
def _strided(m: Machine, call: LibCall) -> Value:
    return made(m, call, sizes([call.arg(0, "size", UNKNOWN)]), "float")


@model(
    "torch.Tensor",
    "torch.FloatTensor",
    "torch.DoubleTensor",
    "torch.HalfTensor",
    "torch.LongTensor",
    "torch.IntTensor",
    "torch.BoolTensor",
    "torch.ByteTensor",
    "torch.cuda.FloatTensor",
    "torch.cuda.LongTensor",
    "torch.cuda.HalfTensor",
    "torch.cuda.BoolTensor",
    "torch.cuda.ByteTensor",
    "torch.cuda.IntTensor",
)
def _typed(m: Machine, call: LibCall) -> Value:
    """The old constructors: sizes, or data."""
    name = call.name.rpartition(".")[2].replace("Tensor", "").lower()
    sort = {"long": "int", "int": "int", "bool": "bool", "byte": "uint8"}.get(name, "float")
    device = "cuda" if ".cuda." in call.name else "cpu"
    if call.args and not is_number(call.args[0]):
        shape = _data_shape(call.args[0]) if len(call.args) == 1 else None
    else:
        shape = sizes(call.args)
    return Tensor(device, shape=shape, dtype=sort, pinned=False, dense=True, requires_grad=False)


FUNCTIONS = ("torch.",)
register(_SIZED, _sized, FUNCTIONS)
register([f"{n}_like" for n in (*_SIZED, "full", "randint")], _like, FUNCTIONS)
register(["new_zeros", "new_ones", "new_empty"], _new, ("torch.Tensor.",))
register(["new_full"], _new_full, ("torch.Tensor.",))
register(["full"], _full, FUNCTIONS)
register(["arange", "range"], _arange, FUNCTIONS)
register(["linspace", "logspace"], _linspace, FUNCTIONS)
register(["eye"], _eye, FUNCTIONS)
register(["randint"], _randint, FUNCTIONS)
register(["randperm"], _randperm, FUNCTIONS)
register(["tril_indices", "triu_indices"], _indices, FUNCTIONS)
register(["normal"], _normal, FUNCTIONS)
register(
    ["hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window"],
    lambda m, call: made(m, call, (integer(call.arg(0, "window_length")),), "float"),
    FUNCTIONS,
)

__all__ = ["from_data", "made", "place_of"]

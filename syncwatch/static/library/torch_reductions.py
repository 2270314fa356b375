"""Reductions, searches and sorts of torch, and operations whose size depends on data."""

from __future__ import annotations

from collections.abc import Sequence

from syncwatch.static.library.protocol import LibCall, Machine, Model
from syncwatch.static.library.tensors import (
    Shape,
    axes,
    dtype_named,
    flag,
    given,
    integer,
    is_number,
    multiplied,
    named,
    operands,
    promote,
    reduced,
    register,
    replaced,
    result,
    shape_of,
    sort_of,
)
from syncwatch.static.values import BOOL, UNKNOWN, Array, Tensor, Tuple, Value

# name → type class of the result: "sum" (integers become int), "same", "float", "bool", "int"
_REDUCTIONS = {
    "sum": "sum",
    "nansum": "sum",
    "prod": "sum",
    "mean": "same",
    "nanmean": "same",
    "amax": "same",
    "amin": "same",
    "std": "same",
    "var": "same",
    "norm": "same",
    "logsumexp": "same",
    "all": "bool",
    "any": "bool",
    "count_nonzero": "int",
    "argmax": "int",
    "argmin": "int",
    "max": "same",
    "min": "same",
    "median": "same",
    "nanmedian": "same",
}
_WITH_INDICES = frozenset({"max", "min", "median", "nanmedian"})
_PARAM = {"std": 1, "var": 1, "norm": 2}


def _x(call: LibCall) -> Value:
    return call.args[0] if call.args else UNKNOWN


def _name(call: LibCall) -> str:
    return call.name.rpartition(".")[2]


def _reduce(m: Machine, call: LibCall) -> Value:
    x = _x(call)
    if type(x) is Array or is_number(x):
        return UNKNOWN
    name = _name(call)
    second = call.arg(1, "other")
    if name in ("max", "min") and type(second) is Tensor:  # element-wise maximum
        from syncwatch.static.library.tensors import broadcast

        return result([x, second], broadcast(shape_of(x), shape_of(second)), promote([x, second]))
    dim = _dim(call, _PARAM.get(name, 1))
    keepdim = flag(call.arg(_PARAM.get(name, 1) + 1, "keepdim"), False)
    if name in ("std", "var"):
        keepdim = flag(call.kwargs.get("keepdim"), False)
    sort = _reduced_sort(m, call, x, _REDUCTIONS[name])
    shape = reduced(shape_of(x), dim, keepdim)
    if not given(dim) and call.has_star:
        shape = None
    value = result([x], shape, sort)
    if name == "prod":
        return multiplied(x, value)
    if name in _WITH_INDICES and given(dim):
        return named(name, ("values", "indices"), (value, replaced(value, dtype="int", requires_grad=False)))
    return value


def _dim(call: LibCall, position: int) -> Value:
    for key in ("dim", "axis"):
        if key in call.kwargs:
            return call.kwargs[key]
    value = call.arg(position, None)
    # std(x, True) and var(x, False) give `unbiased`; x.max(other) was seen before
    if value is not None and getattr(value, "kind", "") == "bool":
        return None
    return value


def _reduced_sort(m: Machine, call: LibCall, x: Value, rule: str) -> str | None:
    if "dtype" in call.kwargs and given(call.kwargs["dtype"]):
        return dtype_named(m, call.kwargs["dtype"])
    sort = sort_of(x)
    if rule == "sum":
        return "int" if sort in ("bool", "uint8") else sort
    if rule == "bool":
        return "uint8" if sort == "uint8" else "bool"
    return sort if rule == "same" else rule


def _pair(fields: tuple[str, str] = ("values", "indices"), keep_shape: bool = False) -> Model:
    def rule(m: Machine, call: LibCall) -> Value:
        x = _x(call)
        shape = shape_of(x)
        name = _name(call)
        if not keep_shape:
            position = 2 if name == "kthvalue" else 1
            dim = call.arg(position, "dim")
            keep = flag(call.arg(position + 1, "keepdim"), False)
            shape = reduced(shape, dim if given(dim) else _LAST, keep)
        value = result([x], shape, sort_of(x))
        return named(name, fields, (value, replaced(value, dtype="int", requires_grad=False)))

    return rule


def _last() -> Value:
    from syncwatch.static.values import const

    return const(-1)


_LAST = _last()


def _topk(m: Machine, call: LibCall) -> Value:
    x = _x(call)
    shape = shape_of(x)
    count = integer(call.arg(1, "k"))
    dim = call.arg(2, "dim")
    if shape:
        gone = axes(dim if given(dim) else _LAST, len(shape))
        shape = (None,) * len(shape) if gone is None else tuple(count if i in gone else n for i, n in enumerate(shape))
    value = result([x], shape, sort_of(x))
    return named("topk", ("values", "indices"), (value, replaced(value, dtype="int", requires_grad=False)))


def _indices(m: Machine, call: LibCall) -> Value:
    x = _x(call)
    return result([x], shape_of(x), "int")


def _aminmax(m: Machine, call: LibCall) -> Value:
    x = _x(call)
    value = result([x], reduced(shape_of(x), call.kwargs.get("dim"), flag(call.kwargs.get("keepdim"))), sort_of(x))
    return named("aminmax", ("min", "max"), (value, value))


def _std_mean(m: Machine, call: LibCall) -> Value:
    x = _x(call)
    dim = _dim(call, 1)
    value = result([x], reduced(shape_of(x), dim, flag(call.kwargs.get("keepdim"))), sort_of(x))
    return Tuple((value, value))


def positions(m: Machine, call: LibCall) -> Value:
    """`torch.where(condition)`, or `nonzero(as_tuple=True)`: one index vector for each dimension."""
    x = _x(call)
    shape = shape_of(x)
    each = result([x], (None,), "int")
    if shape is None:
        return Tuple(None, each)
    return Tuple((each,) * max(len(shape), 1))


def _nonzero(m: Machine, call: LibCall) -> Value:
    if flag(call.kwargs.get("as_tuple")):
        return positions(m, call)
    x = _x(call)
    shape = shape_of(x)
    rows = integer(call.kwargs.get("size")) if _name(call) == "nonzero_static" else None
    return result([x], (rows, None if shape is None else len(shape)), "int")


def _unique(m: Machine, call: LibCall) -> Value:
    x = _x(call)
    shape = shape_of(x)
    consecutive = _name(call) == "unique_consecutive"
    dim = call.arg(3 if consecutive else 4, "dim")
    size: Shape = (None,)
    if given(dim):
        size = None if shape is None else (None,) * len(shape)
    value = result([x], size, sort_of(x))
    inverse = flag(call.arg(1 if consecutive else 2, "return_inverse"))
    counts = flag(call.arg(2 if consecutive else 3, "return_counts"))
    if inverse is False and counts is False:
        return value
    parts: list[Value] = [value]
    if inverse is not False:
        parts.append(result([x], shape if not given(dim) else (None,), "int"))
    if counts is not False:
        parts.append(result([x], (None,), "int"))
    return Tuple(tuple(parts)) if inverse is not None and counts is not None else UNKNOWN


def _vector(sort: str | None = None) -> Model:
    def rule(m: Machine, call: LibCall) -> Value:
        values: Sequence[Value] = operands(call)
        return result(list(values), (None,), sort or sort_of(_x(call)))

    return rule


def _bincount(m: Machine, call: LibCall) -> Value:
    weights = call.arg(1, "weights")
    return result(list(operands(call)), (None,), "float" if given(weights) else "int")


def _histc(m: Machine, call: LibCall) -> Value:
    bins = call.arg(1, "bins")
    return result([_x(call)], (integer(bins) if given(bins) else 100,), sort_of(_x(call)), grad=False)


def _scalar(sort: str | None = None) -> Model:
    def rule(m: Machine, call: LibCall) -> Value:
        return result(list(operands(call)), (), sort or sort_of(_x(call)))

    return rule


def _verdict(m: Machine, call: LibCall) -> Value:
    return BOOL


def _elementwise_bool(m: Machine, call: LibCall) -> Value:
    return result(list(operands(call)), shape_of(call.arg(0, "elements", UNKNOWN)), "bool")


def _quantile(m: Machine, call: LibCall) -> Value:
    x, q = _x(call), call.arg(1, "q")
    inner = reduced(shape_of(x), call.arg(2, "dim"), flag(call.arg(3, "keepdim")))
    if inner is not None and not is_number(q):
        outer = shape_of(q)
        inner = None if outer is None else (*outer, *inner)
    return result([x], inner, sort_of(x))


def _searchsorted(m: Machine, call: LibCall) -> Value:
    values = list(operands(call))
    values += [UNKNOWN] * (2 - len(values))
    of = values[0] if _name(call) == "bucketize" else values[1]
    return result(values, shape_of(of), "int")


def _same_tensor(m: Machine, call: LibCall) -> Value:
    x = _x(call)
    return x if type(x) is Tensor else UNKNOWN


register(_REDUCTIONS, _reduce)
register(["kthvalue", "mode"], _pair())
register(["sort", "cummax", "cummin"], _pair(keep_shape=True))
register(["topk"], _topk)
register(["argsort", "msort_indices"], _indices)
register(["aminmax"], _aminmax)
register(["std_mean", "var_mean"], _std_mean)
register(["nonzero", "argwhere", "nonzero_static"], _nonzero)
register(["unique", "unique_consecutive"], _unique)
register(["masked_select"], _vector())
register(["bincount"], _bincount)
register(["histc"], _histc)
register(["dist", "trace", "dot", "vdot"], _scalar())
register(["equal", "allclose", "is_nonzero", "is_same_size", "is_set_to"], _verdict)
register(["isin"], _elementwise_bool)
register(["quantile", "nanquantile"], _quantile)
register(["searchsorted", "bucketize"], _searchsorted)

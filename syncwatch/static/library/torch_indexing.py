"""What indexing a tensor gives: a view for numbers and slices, a copy for masks, index tensors and lists."""

from __future__ import annotations

from collections.abc import Sequence

from syncwatch.static.library.protocol import LibCall, Machine
from syncwatch.static.library.tensors import Shape, broadcast, elements, integer, register, replaced, result, view
from syncwatch.static.values import NONE, UNKNOWN, Array, Const, Host, Obj, Range, Tensor, Tuple, Value

_HOST_INTS = ("int", "number")


def _is_mask(index: Value) -> bool:
    return type(index) in (Tensor, Array) and index.dtype in ("bool", "uint8")


def _is_int(index: Value) -> bool:
    return type(index) in (Const, Host) and index.kind in _HOST_INTS


def _is_slice(index: Value) -> bool:
    return (type(index) is Tuple and index.type == "slice") or (type(index) is Host and index.kind == "slice")


def _indices(index: Value) -> tuple[Value, ...] | None:
    if type(index) is Tuple and index.type != "slice":
        return index.items
    return (index,)


def _sliced(size: int | None, index: Value) -> int | None:
    """The size that a slice leaves of a dimension."""
    if type(index) is not Tuple or index.items is None:
        return None
    bounds: list[int | None] = []
    for part in index.items:
        if part == NONE:
            bounds.append(None)
            continue
        number = integer(part)
        if number is None:
            return None
        bounds.append(number)
    if size is None:
        # x[:n] of an unknown size has at most n rows; x[:] keeps all
        return None
    if bounds[2] == 0:
        return None
    return len(range(size)[slice(*bounds)])


def _consumed(index: Value) -> int:
    """How many dimensions of the tensor an index uses up."""
    if index == NONE or (type(index) is Const and index.kind in ("ellipsis", "bool")):
        return 0
    if _is_mask(index):
        return 1 if index.shape is None else len(index.shape)
    return 1


def _is_ellipsis(index: Value) -> bool:
    return type(index) is Const and index.kind == "ellipsis"


def indexed_shape(shape: Shape, indices: Sequence[Value]) -> Shape:
    """The shape of `x[indices]`; None where an index is unknown."""
    if any(_is_mask(i) and i.shape is None and shape is not None and len(indices) == 1 for i in indices):
        return None
    if shape is None:
        # one mask of the tensor's own shape gives a vector
        return None
    used = sum(_consumed(i) for i in indices)
    if used > len(shape):
        return None
    rest = len(shape) - used
    if any(_is_ellipsis(i) for i in indices):
        expanded: list[Value] = []
        for i in indices:
            expanded.extend([None] * rest if _is_ellipsis(i) else [i])
    else:
        expanded = [*indices, *([None] * rest)]
    out: list[int | None] = []
    advanced: list[Shape] = []
    place = 0
    at = 0
    split = False
    last = -2
    for n, i in enumerate(expanded):
        if i is None:
            out.append(shape[at])
            at += 1
        elif i == NONE:
            out.append(1)
        elif _is_slice(i):
            out.append(_sliced(shape[at], i))
            at += 1
        elif _is_int(i):
            at += 1
        else:
            inner = _advanced_shape(i)
            if advanced and last != n - 1:
                split = True
            last = n
            if not advanced:
                place = len(out)
            advanced.append(inner)
            at += _consumed(i)
    if advanced:
        together = broadcast(*advanced)
        if together is None:
            return None
        if split:
            place = 0
        out[place:place] = together
    return tuple(out)


def _advanced_shape(index: Value) -> Shape:
    if _is_mask(index):
        return (None,)
    if type(index) is Tensor or type(index) is Array:
        return index.shape
    if type(index) is Range:
        return (index.length,)
    items = elements(index)
    if items is not None:
        if items and elements(items[0]) is not None and type(items[0]) is not Tensor:
            return None
        if any(type(i) is Const and i.kind == "bool" for i in items):
            return (None,)
        return (len(items),)
    return (None,) if type(index) is Obj else None


def _dense(x: Tensor, indices: Sequence[Value]) -> bool | None:
    """Whether a view by numbers and slices has no gaps: only the first dimension that is larger than one may be cut."""
    if not x.dense:
        return x.dense
    for n, i in reversed(list(enumerate(indices))):
        if i == NONE or _is_ellipsis(i):
            continue
        size = x.shape[n] if x.shape is not None and n < len(x.shape) else None
        if _is_slice(i):
            kept = type(i) is Tuple and i.items is not None and all(b == NONE for b in i.items)
            if kept or (size is not None and _sliced(size, i) == size):
                continue
            if type(i) is Tuple and i.items is not None and i.items[2] not in (NONE, Const("int", 1)):
                return False
        if n > 0 and size != 1 and not all(_leads(j) for j in indices[:n]):
            # rows are cut short, and more than one row is left
            return False if all(_is_slice(j) or j == NONE or _leads(j) for j in indices[:n]) else None
    return True


def _leads(index: Value) -> bool:
    """An index that leaves one element of its dimension."""
    return _is_int(index) or index == NONE


def _is_host_index(index: Value) -> bool:
    return type(index) is Tensor and index.device == "cpu" and index.dtype == "int" and index.shape != ()


def _get(m: Machine, call: LibCall) -> Value:
    x, index = call.arg(0, None, UNKNOWN), call.arg(1, None, UNKNOWN)
    if type(x) is not Tensor:
        return x
    indices = _indices(index)
    if indices is None:
        return result([x], None, x.dtype)
    shape = indexed_shape(x.shape, indices)
    if x.shape is None and len(indices) == 1 and _is_mask(indices[0]) and indices[0].shape is None:
        shape = None
    plain = all(_is_int(i) or _is_slice(i) or i == NONE or _is_ellipsis(i) for i in indices)
    if plain:
        return view(x, shape, dense=_dense(x, indices))
    value = result([x], shape, x.dtype)
    masked = [i for i in indices if _is_mask(i)]
    if masked and x.requires_grad is not False and x.device == "cuda":
        value = replaced(value, marks=value.marks | {"mask-gather"})
    if x.requires_grad is True and x.device == "cuda" and any(_is_host_index(i) for i in indices):
        value = replaced(value, marks=value.marks | {"host-index"})
    return value


register(["__getitem__"], _get, ("torch.Tensor.",))

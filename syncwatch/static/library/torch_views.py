"""Operations that give a tensor another shape, join tensors or take parts of them."""

from __future__ import annotations

from math import prod

from syncwatch.static.library.protocol import LibCall, Machine
from syncwatch.static.library.tensors import (
    Shape,
    axes,
    broadcast,
    contents,
    elements,
    flag,
    given,
    integer,
    is_number,
    operands,
    promote,
    register,
    replaced,
    result,
    shape_of,
    sizes,
    sort_of,
    view,
)
from syncwatch.static.values import UNKNOWN, Iter, Tensor, Tuple, Value

_MAX_PARTS = 16


def _x(call: LibCall) -> Value:
    return call.args[0] if call.args else UNKNOWN


def _name(call: LibCall) -> str:
    return call.name.rpartition(".")[2]


def _viewed(call: LibCall, shape: Shape, dense: bool | None = None) -> Value:
    x = _x(call)
    if type(x) is not Tensor:
        return result(list(operands(call)), shape)
    return view(x, shape, dense=x.dense if dense is None else dense)


def _turned(call: LibCall, shape: Shape) -> Value:
    """A view with dimensions in another order: dense still, but laid out unlike a new tensor of its shape."""
    value = _viewed(call, shape)
    return turned(value) if type(value) is Tensor else value


def turned(value: Tensor) -> Tensor:
    """Marks a transposed tensor; twice is as before."""
    return replaced(value, marks=value.marks ^ {"permuted"})


def _reshape(m: Machine, call: LibCall) -> Value:
    wanted = sizes(call.args[1:]) if len(call.args) > 1 else sizes([call.kwargs.get("shape", UNKNOWN)])
    if len(call.args) == 2 and type(call.args[1]).__name__ == "Dtype":  # x.view(dtype) reads the bits anew
        return _viewed(call, shape_of(_x(call)))
    return _viewed(call, _solved(wanted, shape_of(_x(call))))


def _solved(wanted: Shape, old: Shape) -> Shape:
    """The wanted sizes with -1 worked out."""
    if wanted is None or -1 not in wanted:
        return wanted
    rest = [n for n in wanted if n != -1]
    if old is None or None in old or None in rest:
        return tuple(None if n == -1 else n for n in wanted)
    known = prod(n for n in rest if n is not None)
    total = prod(n for n in old if n is not None)
    return tuple((total // known if known else None) if n == -1 else n for n in wanted)


def _expand(m: Machine, call: LibCall) -> Value:
    wanted = sizes(call.args[1:]) if len(call.args) > 1 else sizes([call.kwargs.get("size", UNKNOWN)])
    old = shape_of(_x(call))
    if wanted is not None and old is not None and len(old) <= len(wanted):
        padded = (1,) * (len(wanted) - len(old)) + old
        wanted = tuple(b if a == -1 else a for a, b in zip(wanted, padded, strict=True))
    return _viewed(call, wanted, False)


def _like_other(m: Machine, call: LibCall) -> Value:
    other = call.arg(1, "other", UNKNOWN)
    return _viewed(call, shape_of(other), False if _name(call) == "expand_as" else None)


def _flatten(m: Machine, call: LibCall) -> Value:
    shape = shape_of(_x(call))
    if shape is None:
        return _viewed(call, (None,) if len(call.args) == 1 and not call.kwargs else None)
    if _name(call) == "ravel" or not shape:
        return _viewed(call, (_product(shape),))
    first, last = integer(call.arg(1, "start_dim")), integer(call.arg(2, "end_dim"))
    if (given(call.arg(1, "start_dim")) and first is None) or (given(call.arg(2, "end_dim")) and last is None):
        return _viewed(call, None)
    a = (first or 0) % len(shape)
    b = (-1 if last is None else last) % len(shape)
    if b < a:
        return _viewed(call, None)
    return _viewed(call, (*shape[:a], _product(shape[a : b + 1]), *shape[b + 1 :]))


def _product(shape: tuple[int | None, ...]) -> int | None:
    known = [n for n in shape if n is not None]
    return prod(known) if len(known) == len(shape) else None


def _unflatten(m: Machine, call: LibCall) -> Value:
    shape = shape_of(_x(call))
    inner = sizes([call.arg(2, "sizes", UNKNOWN)])
    at = axes(call.arg(1, "dim", UNKNOWN), len(shape)) if shape else None
    if shape is None or inner is None or at is None:
        return _viewed(call, None)
    inner = tuple(None if n == -1 else n for n in inner)
    return _viewed(call, (*shape[: at[0]], *inner, *shape[at[0] + 1 :]))


def _swap(m: Machine, call: LibCall) -> Value:
    shape = shape_of(_x(call))
    if shape is None:
        return _turned(call, None)
    name = _name(call)
    if name in ("t", "mT", "adjoint"):
        return _turned(call, (*shape[:-2], *shape[-2:][::-1]) if len(shape) >= 2 else shape)
    a = axes(call.arg(1, "dim0", call.kwargs.get("axis0", UNKNOWN)), len(shape))
    b = axes(call.arg(2, "dim1", call.kwargs.get("axis1", UNKNOWN)), len(shape))
    if not a or not b:
        return _turned(call, (None,) * len(shape))
    sizes_ = list(shape)
    if sizes_:
        sizes_[a[0]], sizes_[b[0]] = sizes_[b[0]], sizes_[a[0]]
    return _turned(call, tuple(sizes_))


def _permute(m: Machine, call: LibCall) -> Value:
    shape = shape_of(_x(call))
    order = sizes(call.args[1:]) if len(call.args) > 1 else sizes([call.kwargs.get("dims", UNKNOWN)])
    if shape is None or order is None or None in order or len(order) != len(shape):
        return _turned(call, None if shape is None else (None,) * len(shape))
    return _turned(call, tuple(shape[n] for n in order if n is not None and -len(shape) <= n < len(shape)))


def _moved(m: Machine, call: LibCall) -> Value:
    shape = shape_of(_x(call))
    return _turned(call, None if shape is None else (None,) * len(shape))


def _squeeze(m: Machine, call: LibCall) -> Value:
    shape = shape_of(_x(call))
    dim = call.arg(1, "dim")
    if shape is None:
        return _viewed(call, None)
    if not given(dim):
        return _viewed(call, None if None in shape else tuple(n for n in shape if n != 1))
    at = axes(dim, len(shape))
    if at is None or any(shape[i] is None for i in at if i < len(shape)):
        # writing squeeze(dim) says that the dimension has one element
        return _viewed(call, None if at is None else tuple(n for i, n in enumerate(shape) if i not in at))
    return _viewed(call, tuple(n for i, n in enumerate(shape) if not (i in at and n == 1)))


def _unsqueeze(m: Machine, call: LibCall) -> Value:
    shape = shape_of(_x(call))
    if shape is None:
        return _viewed(call, None)
    at = axes(call.arg(1, "dim", UNKNOWN), len(shape) + 1)
    if not at:
        return _viewed(call, (None,) * (len(shape) + 1))
    return _viewed(call, (*shape[: at[0]], 1, *shape[at[0] :]))


def _narrow(m: Machine, call: LibCall) -> Value:
    shape = shape_of(_x(call))
    if shape is None:
        return _viewed(call, None)
    at = axes(call.arg(1, "dim", UNKNOWN), len(shape))
    length = integer(call.arg(3, "length"))
    if not at:
        return _viewed(call, (None,) * len(shape))
    return _viewed(call, tuple(length if i == at[0] else n for i, n in enumerate(shape)), None)


def _select(m: Machine, call: LibCall) -> Value:
    shape = shape_of(_x(call))
    if not shape:
        return _viewed(call, None)
    at = axes(call.arg(1, "dim", UNKNOWN), len(shape))
    if not at:
        return _viewed(call, (None,) * (len(shape) - 1))
    return _viewed(call, tuple(n for i, n in enumerate(shape) if i != at[0]))


def _diagonal(m: Machine, call: LibCall) -> Value:
    shape = shape_of(_x(call))
    name = _name(call)
    if shape is None:
        return _viewed(call, None)
    if name == "diag":
        return _viewed(call, (None,) if len(shape) == 2 else (None, None))
    change = {"diagonal": -1, "diag_embed": 1, "diagflat": 2 - len(shape), "unfold": 1}[name]
    return _viewed(call, (None,) * (len(shape) + change))


def _index_select(m: Machine, call: LibCall) -> Value:
    x, index = _x(call), call.arg(2, "index", UNKNOWN)
    shape, count = shape_of(x), shape_of(index)
    if shape is not None:
        at = axes(call.arg(1, "dim", UNKNOWN), len(shape))
        number = count[0] if count else None
        shape = (None,) * len(shape) if not at else tuple(number if i == at[0] else n for i, n in enumerate(shape))
    return result([x, index], shape, sort_of(x))


def _gather(m: Machine, call: LibCall) -> Value:
    x, index = _x(call), call.arg(2, "index", UNKNOWN)
    return result([x, index], shape_of(index), sort_of(x))


def _take(m: Machine, call: LibCall) -> Value:
    x, index = _x(call), call.arg(1, "index", call.kwargs.get("indices", UNKNOWN))
    shape = shape_of(index)
    if _name(call) == "take_along_dim" and not given(call.arg(2, "dim")):
        shape = (None,)
    return result([x, index], shape, sort_of(x))


def _joined(m: Machine, call: LibCall) -> Value:
    """`cat` and its kin: one tensor from a sequence."""
    given_ = call.arg(0, "tensors", UNKNOWN)
    values = [v for v in contents(given_) if type(v) is Tensor or v is UNKNOWN]
    known = elements(given_)
    shapes = [shape_of(v) for v in values]
    shape: Shape = None
    name = _name(call)
    dim = call.arg(1, "dim", call.kwargs.get("axis"))
    if shapes and all(s is not None and len(s) == len(shapes[0] or ()) for s in shapes):
        first = shapes[0] or ()
        if name in ("cat", "concat", "concatenate") and first:
            at = axes(dim, len(first)) if given(dim) else [0]
            total = _sum([s[at[0]] if s and at else None for s in shapes]) if known is not None and at else None
            shape = tuple(total if at and i == at[0] else _agreed(shapes, i) for i in range(len(first)))
            if not at:
                shape = (None,) * len(first)
        elif name == "stack":
            at = axes(dim, len(first) + 1) if given(dim) else [0]
            inner = tuple(_agreed(shapes, i) for i in range(len(first)))
            shape = (
                (None,) * (len(first) + 1)
                if not at
                else (*inner[: at[0]], len(known) if known is not None else None, *inner[at[0] :])
            )
    return result(values, shape, promote(values) if values else None)


def _sum(numbers: list[int | None]) -> int | None:
    known = [n for n in numbers if n is not None]
    return sum(known) if len(known) == len(numbers) else None


def _agreed(shapes: list[Shape], i: int) -> int | None:
    found = {s[i] for s in shapes if s is not None}
    return found.pop() if len(found) == 1 else None


def _split(m: Machine, call: LibCall) -> Value:
    """A tuple of views: as many as the sizes tell, else any number."""
    x = _x(call)
    shape = shape_of(x)
    name = _name(call)
    amount = call.arg(1, "split_size", call.kwargs.get("chunks", call.kwargs.get("split_size_or_sections", UNKNOWN)))
    if name == "tensor_split" or name in ("hsplit", "vsplit", "dsplit"):
        amount = call.arg(1, "indices_or_sections", call.kwargs.get("sections", UNKNOWN))
    dim = call.arg(2, "dim")
    at = axes(dim, len(shape)) if shape and given(dim) else ([0] if shape else None)
    part = _viewed(
        call, None if shape is None else tuple(None if not at or i == at[0] else n for i, n in enumerate(shape))
    )
    number = _parts(name, amount, shape, at)
    if number is None or number > _MAX_PARTS:
        return Tuple(None, part)
    return Tuple((part,) * number)


def _parts(name: str, amount: Value, shape: Shape, at: list[int] | None) -> int | None:
    count = integer(amount)
    given_sizes = elements(amount)
    if given_sizes is not None:
        return len(given_sizes) + (1 if name == "tensor_split" or name.endswith("vsplit") else 0)
    if count is None or count <= 0:
        return None
    if name in ("chunk", "tensor_split", "hsplit", "vsplit", "dsplit", "unsafe_chunk"):
        return count
    size = shape[at[0]] if shape and at else None
    return None if size is None else -(-size // count)


def _unbind(m: Machine, call: LibCall) -> Value:
    shape = shape_of(_x(call))
    if not shape:
        return Tuple(None, _viewed(call, None))
    dim = call.arg(1, "dim")
    at = axes(dim, len(shape)) if given(dim) else [0]
    part = _viewed(call, tuple(n for i, n in enumerate(shape) if not at or i != at[0])[: len(shape) - 1])
    size = shape[at[0]] if at else None
    return Tuple(None, part) if size is None or size > _MAX_PARTS else Tuple((part,) * size)


def _repeat(m: Machine, call: LibCall) -> Value:
    x = _x(call)
    counts = sizes(call.args[1:]) if len(call.args) > 1 else sizes([call.kwargs.get("repeats", UNKNOWN)])
    shape = shape_of(x)
    if shape is None or counts is None:
        return result([x], None, sort_of(x))
    rank = max(len(shape), len(counts))
    padded = (1,) * (rank - len(shape)) + shape
    times = (1,) * (rank - len(counts)) + counts
    return result([x], tuple(_times(a, b) for a, b in zip(padded, times, strict=True)), sort_of(x))


def _times(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a * b


def _repeat_interleave(m: Machine, call: LibCall) -> Value:
    x = _x(call)
    shape = shape_of(x)
    if len(call.args) == 1 and "repeats" not in call.kwargs:
        return result([x], (None,), "int")
    if not given(call.arg(2, "dim")):
        shape = (None,)
    elif shape is not None:
        at = axes(call.arg(2, "dim"), len(shape))
        shape = tuple(None if not at or i == at[0] else n for i, n in enumerate(shape))
    return result(list(operands(call)), shape, sort_of(x))


def _broadcast_to(m: Machine, call: LibCall) -> Value:
    return _viewed(call, sizes([call.arg(1, "size", call.kwargs.get("shape", UNKNOWN))]), False)


def _broadcast_tensors(m: Machine, call: LibCall) -> Value:
    values = [v for a in call.args for v in contents(a)]
    shape = broadcast(*(shape_of(v) for v in values))
    if _name(call) == "meshgrid":
        shape = (None,) * len(values)
    elif _name(call).startswith("atleast_"):
        shape = None
    parts = tuple(view(v, shape) if type(v) is Tensor else UNKNOWN for v in values)
    if len(parts) == 1 and _name(call).startswith("atleast_"):
        return parts[0]
    if any(elements(a) is None and not isinstance(a, Tensor) for a in call.args):
        return Tuple(None, parts[0] if parts else UNKNOWN)
    return Tuple(parts)


def _window(m: Machine, call: LibCall) -> Value:
    """`unfold(dim, size, step)` as a view."""
    if call.name.startswith("torch.Tensor."):
        return _diagonal(m, call)
    return result([_x(call)], None, sort_of(_x(call)))


def _same(m: Machine, call: LibCall) -> Value:
    return _viewed(call, shape_of(_x(call)))


def _resized(m: Machine, call: LibCall) -> Value:
    return _viewed(call, sizes(call.args[1:]) if len(call.args) > 1 and is_number(call.args[1]) else None)


def _contiguous(m: Machine, call: LibCall) -> Value:
    """The tensor itself where it is contiguous already, else a copy in ordinary memory."""
    x = _x(call)
    if type(x) is not Tensor or (x.dense and "permuted" not in x.marks):
        return x
    return result([x], x.shape, x.dtype)


def _flag_unused(value: Value) -> bool | None:
    return flag(value)


register(["view", "reshape"], _reshape)
register(["expand"], _expand)
register(["expand_as", "view_as", "reshape_as"], _like_other)
register(["flatten", "ravel"], _flatten)
register(["unflatten"], _unflatten)
register(["transpose", "swapaxes", "swapdims", "t", "adjoint"], _swap)
register(["permute"], _permute)
register(["movedim", "moveaxis"], _moved)
register(["squeeze"], _squeeze)
register(["unsqueeze"], _unsqueeze)
register(["narrow", "narrow_copy"], _narrow)
register(["select"], _select)
register(["diagonal", "diag", "diag_embed", "diagflat"], _diagonal)
register(["unfold"], _window)
register(["index_select"], _index_select)
register(["gather"], _gather)
register(["take", "take_along_dim"], _take)
register(
    ["cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack", "row_stack", "column_stack", "block_diag"],
    _joined,
)
register(
    [
        "split",
        "chunk",
        "tensor_split",
        "hsplit",
        "vsplit",
        "dsplit",
        "split_with_sizes",
        "unsafe_chunk",
        "unsafe_split",
    ],
    _split,
)
register(["unbind"], _unbind)
register(["repeat", "tile"], _repeat)
register(["repeat_interleave"], _repeat_interleave)
register(["broadcast_to"], _broadcast_to)
register(["broadcast_tensors", "meshgrid", "atleast_1d", "atleast_2d", "atleast_3d"], _broadcast_tensors)
register(
    ["view_as_real", "view_as_complex", "as_strided", "pixel_shuffle", "pixel_unshuffle"],
    lambda m, call: _viewed(call, None),
)
register(["positive", "alias", "refine_names", "align_to"], _same)
register(["contiguous"], _contiguous)


def rows(m: Machine, x: Value) -> Value:
    """What iterating over a tensor gives: views of its rows."""
    if type(x) is not Tensor:
        return UNKNOWN
    part = view(x, None if x.shape is None else x.shape[1:])
    size = x.shape[0] if x.shape else None
    if size is None or size > 8:
        return Iter(None, part)
    return Iter((part,) * size)

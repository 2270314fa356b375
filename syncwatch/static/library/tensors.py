"""What tensor operations have in common: the device, shape and type of a result follow from those of the operands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from syncwatch.static.library.protocol import MODELS, LibCall, Machine, Model
from syncwatch.static.values import (
    HISTORY,
    ITEMS,
    NONE,
    REST,
    UNKNOWN,
    Array,
    Const,
    Device,
    Dtype,
    Host,
    Items,
    Iter,
    Obj,
    Range,
    Tensor,
    Tuple,
    Union,
    Value,
    join_all,
)

Shape: TypeAlias = "tuple[int | None, ...] | None"
_ORDER: Final = ("bool", "uint8", "int", "float", "complex")
_LIMIT: Final = 12
_DEPTH: Final = 3


# ---------------------------------------------------------------------------------------- reading arguments


def uniform(call: LibCall) -> LibCall:
    """The call with the receiver, or `input=`, as the first positional argument."""
    if call.self is not None:
        return LibCall(call.name, (call.self, *call.args), call.kwargs, None, call.has_star)
    if not call.args:
        for name in ("input", "self"):
            if name in call.kwargs:
                rest = {k: v for k, v in call.kwargs.items() if k != name}
                return LibCall(call.name, (call.kwargs[name],), rest, None, call.has_star)
    return call


def spread(function: Model) -> Model:
    """A model that sees every alternative of its arguments on its own; the results are joined."""

    def run(m: Machine, call: LibCall) -> Value:
        count = 1
        devices = False
        for value in (call.self, *call.args, *call.kwargs.values()):
            if type(value) is Union:
                if _names_devices(value):
                    devices = True
                else:
                    count *= len(value.members)
        if devices:
            call = LibCall(
                call.name,
                tuple(_one_device(m, a) for a in call.args),
                {k: _one_device(m, v) for k, v in call.kwargs.items()},
                call.self,
                call.has_star,
            )
        if count == 1:
            return function(m, call)
        if count > _LIMIT:
            call = LibCall(
                call.name,
                tuple(_likeliest(a) for a in call.args),
                {k: _likeliest(v) for k, v in call.kwargs.items()},
                call.self,
                call.has_star,
            )
        ones = list(_alternatives(call))
        return join_all(function(m, one) for one in [one for one in ones if not _mixes(one)] or ones)

    return run


# Operations that take tensors of the host and of the device together.
_MIXING = re.compile(
    r"\.(__[gs]etitem__|index\w*|copy_?|to|type_as|new_\w+|\w+_like|set_?|put_|expand_as|view_as|to_\w+)$"
)


def _mixes(call: LibCall) -> bool:
    """Whether a call would fail for operands on the host and on the device: such alternatives never meet."""
    devices = {
        v.device
        for arg in (call.self, *call.args, *call.kwargs.values())
        for v in (arg, *(elements(arg) or ()))
        if type(v) is Tensor and v.shape != ()
    }
    return {"cpu", "cuda"} <= devices and _MIXING.search(call.name) is None


def _names_devices(value: Union) -> bool:
    """Whether the alternatives are devices, or None for "where it is"."""
    return any(type(v) is Device for v in value.members) and all(
        type(v) is Device or v == NONE or (type(v) is Const and v.kind == "str") for v in value.members
    )


def _one_device(m: Machine, value: Value) -> Value:
    """One device for several: `device=None` and its default stand for one place in the whole function, so that telling
    them apart would only mix what never meets."""
    if type(value) is Union and _names_devices(value):
        found = m.device_of(value)
        return value if found is None else found
    return value


def _alternatives(call: LibCall) -> Iterator[LibCall]:
    if type(call.self) is Union:
        for member in call.self.members:
            yield from _alternatives(LibCall(call.name, call.args, call.kwargs, member, call.has_star))
        return
    for i, value in enumerate(call.args):
        if type(value) is Union:
            for member in value.members:
                args = (*call.args[:i], member, *call.args[i + 1 :])
                yield from _alternatives(LibCall(call.name, args, call.kwargs, call.self, call.has_star))
            return
    for name, value in call.kwargs.items():
        if type(value) is Union:
            for member in value.members:
                kwargs = {**call.kwargs, name: member}
                yield from _alternatives(LibCall(call.name, call.args, kwargs, call.self, call.has_star))
            return
    yield call


def _likeliest(value: Value) -> Value:
    """The alternative that matters most: a CUDA tensor, any tensor, anything known."""
    if type(value) is not Union:
        return value
    return min(value.members, key=_rank)


def _rank(value: Value) -> int:
    if type(value) is Tensor:
        return 0 if value.device == "cuda" else 1
    return 3 if value is UNKNOWN else 2


def integer(value: Value) -> int | None:
    """The number, where a host integer is known."""
    return value.value if type(value) is Const and value.kind == "int" else None


def flag(value: Value, default: bool = False) -> bool | None:
    """The truth of an argument that is a flag; None where it is passed and not known."""
    if value is None:
        return default
    if type(value) is Const:
        return bool(value.value)
    return None


def given(value: Value) -> bool:
    """Whether an argument was passed, and is not None."""
    return value is not None and value != NONE


def elements(value: Value) -> tuple[Value, ...] | None:
    """The elements of a tuple or list of known length."""
    kind = type(value)
    if kind is Tuple or kind is Items or kind is Iter:
        return value.items  # type: ignore[no-any-return]
    if kind is Obj:
        held = value.slots.get(ITEMS)
        if type(held) is Items:
            return held.items
    return None


def contents(value: Value, depth: int = 0) -> Iterator[Value]:
    """The value, or what a tuple, list, set, dict or iterator holds, all the way down."""
    kind = type(value)
    if depth > _DEPTH:
        return
    if kind is Union:
        for member in value.members:
            yield from contents(member, depth)
    elif kind in (Tuple, Items, Iter):
        for item in value.items if value.items is not None else (value.elem,):
            yield from contents(item, depth + 1)
    elif kind is Obj and (ITEMS in value.slots or value.type in ("dict", "collections.OrderedDict")):
        for key, item in list(value.slots.items()):
            if key in (ITEMS, REST) or type(key) is tuple:
                yield from contents(item, depth + 1)
    else:
        yield value


def tensors(values: Iterable[Value]) -> list[Tensor]:
    """All tensors among the values and inside their containers."""
    return [v for value in values for v in contents(value) if type(v) is Tensor]


def operands(call: LibCall) -> tuple[Value, ...]:
    """Everything that was passed, except the arguments that only name a device or a type."""
    values = (call.self, *call.args) if call.self is not None else call.args
    return (*values, *(v for k, v in call.kwargs.items() if k not in ("device", "dtype")))


# ---------------------------------------------------------------------------------------- shapes and types


def shape_of(value: Value) -> Shape:
    """The shape of an operand; a host number is as good as 0-d."""
    if type(value) is Tensor or type(value) is Array:
        return value.shape
    if is_number(value):
        return ()
    return None


def is_number(value: Value) -> bool:
    return type(value) in (Const, Host) and value.kind in ("int", "float", "number", "bool", "complex")


def sort_of(value: Value) -> str | None:
    """The class of an operand's element type."""
    if type(value) is Tensor or type(value) is Array:
        return value.dtype
    if is_number(value):
        return None if value.kind == "number" else str(value.kind)
    return None


def broadcast(*shapes: Shape) -> Shape:
    """The shape of an element-wise result."""
    result: Shape = ()
    for shape in shapes:
        if shape is None or result is None:
            return None
        if len(shape) > len(result):
            shape, result = result, shape
        padded = (1,) * (len(result) - len(shape)) + shape
        result = tuple(_wider(a, b) for a, b in zip(result, padded, strict=True))
    return result


def _wider(a: int | None, b: int | None) -> int | None:
    if a == 1:
        return b
    if b == 1 or a == b:
        return a
    return None if a is None or b is None else max(a, b)


def promote(values: Sequence[Value]) -> str | None:
    """The type class of an arithmetic result: host numbers count only where their class is higher."""
    best: int | None = None
    for value in values:
        if type(value) not in (Tensor, Array, Const, Host):
            if value is UNKNOWN:
                return None
            continue
        sort = sort_of(value)
        if sort is None:
            return None
        if sort in _ORDER and (best is None or _ORDER.index(sort) > best):
            best = _ORDER.index(sort)
    return None if best is None else _ORDER[best]


def sizes(values: Sequence[Value]) -> Shape:
    """The shape that size arguments name: `(2, 3)`, `[2, 3]`, or `2, 3`."""
    if len(values) == 1 and not is_number(values[0]):
        value = values[0]
        items = elements(value)
        if items is None:
            if type(value) is Tensor and value.shape == ():
                return (None,)
            return None
        values = items
    if any(type(v) is Range for v in values):
        return None
    return tuple(integer(v) for v in values)


def axes(value: Value, rank: int) -> list[int] | None:
    """The dimensions that a `dim` argument names, from 0; None where unknown."""
    one = integer(value)
    named = [one] if one is not None else None
    if named is None:
        items = elements(value)
        if items is None:
            return None
        if not items:
            return list(range(rank))
        named = [n for n in (integer(i) for i in items) if n is not None]
        if len(named) != len(items):
            return None
    result = [n + rank if n < 0 else n for n in named]
    return result if all(0 <= n < max(rank, 1) for n in result) else None


def reduced(shape: Shape, dim: Value, keepdim: bool | None) -> Shape:
    """The shape after a reduction over `dim` (not given: over everything)."""
    if not given(dim):
        return () if keepdim is False else (None if shape is None or keepdim is None else (1,) * len(shape))
    if shape is None or keepdim is None:
        return None
    if not shape:
        return ()
    gone = axes(dim, len(shape))
    if gone is None:
        # one dimension goes whichever it is
        return (None,) * (len(shape) - 1) if is_number(dim) and not keepdim else None
    if keepdim:
        return tuple(1 if i in gone else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in gone)


# ---------------------------------------------------------------------------------------- results


class Where(msgspec.Struct, frozen=True):
    """Where the result of an operation is."""

    device: str | None = None
    sure: bool = True
    index: int | None = None


NOWHERE: Final = Where()
HOST: Final = Where("cpu")


def where(values: Iterable[Value]) -> Where:
    """Where a result is: with the tensors among the operands; a 0-d CPU tensor may stand beside CUDA tensors."""
    found = tensors(values)
    cuda = [t for t in found if t.device == "cuda"]
    if cuda:
        index = cuda[0].index if all(t.index == cuda[0].index for t in cuda) else None
        return Where("cuda", any(t.sure for t in cuda), index)
    devices = {t.device for t in found}
    if "meta" in devices:
        return Where("meta")
    if not found or None in devices:
        return NOWHERE
    return Where("cpu", all(t.sure for t in found))


def result(
    values: Sequence[Value],
    shape: Shape = None,
    dtype: str | None = None,
    *,
    place: Where | None = None,
    grad: bool | None = None,
    dense: bool | None = True,
) -> Tensor:
    """A new tensor computed from `values`. Grad is joined from the operands unless it is given."""
    found = tensors(values)
    place = where(values) if place is None else place
    if grad is None:
        grad = _grad(found)
    if dtype in ("bool", "uint8", "int"):
        grad = False
    kept = frozenset[str]()
    if grad is not False:
        kept = frozenset(mark for t in found for mark in t.marks & HISTORY)
    if any("sparse" in t.marks for t in found[:1]):
        kept |= {"sparse"}
    if place.device == "cpu" and any(t.pinned or "pinned-source" in t.marks for t in found):
        kept |= {"pinned-source"}
    if place.device == "cpu" and any("host-made" in t.marks for t in found):
        kept |= {"host-made"}
    return Tensor(
        device=place.device,
        sure=place.sure,
        index=place.index,
        shape=shape,
        dtype=dtype,
        pinned=False,
        dense=dense,
        requires_grad=grad,
        marks=kept,
    )


def multiplied(x: Value, made: Tensor) -> Tensor:
    """The product of the elements of `x`: its backward looks for zeros among them on the host."""
    if type(x) is Tensor and x.device == "cuda" and x.requires_grad is True:
        return replaced(made, marks=made.marks | {"product"})
    return made


def _grad(found: Sequence[Tensor]) -> bool | None:
    if any(t.requires_grad is True for t in found):
        return True
    return False if found and all(t.requires_grad is False for t in found) else None


def view(tensor: Tensor, shape: Shape = None, *, dense: bool | None = None) -> Tensor:
    """The same memory under another shape: pinned, pending and stream stay."""
    return msgspec.structs.replace(tensor, shape=shape, dense=dense, parameter=False)


def replaced(tensor: Tensor, **changes: object) -> Tensor:
    """The tensor with some fields changed."""
    return msgspec.structs.replace(tensor, **changes)


def on(device: Device) -> Where:
    """Where a `device=` argument puts a tensor."""
    index = device.index if device.index is not None and device.index >= 0 else None
    return Where(device.type, device.sure, index)


def named(type: str, names: Sequence[str], items: Sequence[Value]) -> Tuple:
    """A named tuple of torch.return_types."""
    return Tuple(tuple(items), type=f"torch.return_types.{type}", names=tuple(names))


def dtype_named(m: Machine, value: Value) -> str | None:
    """The type class that a `dtype=` argument names."""
    if type(value) is Dtype:
        return value.sort
    if type(value) is Const and value.kind == "str":
        return Dtype(str(value.value).rpartition(".")[2]).sort
    return None


# ---------------------------------------------------------------------------------------- registering

Rule: TypeAlias = Callable[[Machine, LibCall], Value]


def register(names: Iterable[str], rule: Rule, prefixes: Sequence[str] = ("torch.", "torch.Tensor.")) -> None:
    """Registers a rule for functions and methods alike: it sees the receiver as the first argument, and no unions."""
    spreading = spread(rule)

    def run(m: Machine, call: LibCall) -> Value:
        return spreading(m, uniform(call))

    for name in names:
        for prefix in prefixes:
            MODELS.setdefault(prefix + name, run)


def in_place(rule: Rule) -> Rule:
    """The rule of `op_`: it writes into its first argument and returns it."""

    def run(m: Machine, call: LibCall) -> Value:
        first = call.args[0] if call.args else UNKNOWN
        if type(first) is not Tensor:
            return rule(m, call)
        computed = rule(m, call)
        if type(computed) is Tensor:
            changes: dict[str, object] = {}
            if computed.requires_grad and not first.requires_grad:
                changes["requires_grad"] = True
            if computed.marks - first.marks - {"pinned-source"}:
                changes["marks"] = first.marks | (computed.marks - {"pinned-source"})
            return replaced(first, **changes) if changes else first
        return first

    return run


def keywords(call: LibCall, names: Mapping[str, int]) -> dict[str, Value]:
    """The arguments under their names; positions count the receiver."""
    return {name: call.arg(position, name) for name, position in names.items()}

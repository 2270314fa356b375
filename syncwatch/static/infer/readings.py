"""From abstract values to the facts: how a call is described to them, and what they say of all its readings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from syncwatch import facts
from syncwatch.facts.describe import UNKNOWN as NO_ARG
from syncwatch.facts.describe import Arg, Call
from syncwatch.static.library.protocol import lineage
from syncwatch.static.values import (
    ITEMS,
    REST,
    UNKNOWN,
    Array,
    Class,
    Const,
    Device,
    Dtype,
    Host,
    Items,
    Iter,
    Lib,
    Obj,
    Range,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    element,
)

_NUMBERS = frozenset({"int", "float", "complex", "number"})
_MAX_COMBINATIONS = 12
_DEPTH = 3


def describe(v: Value, depth: int = 0, *, index: bool = False) -> Arg:
    """What the facts may know of a value. index: the value is an index, whose tuples are lists of indices."""
    kind = type(v)
    if kind is Tensor:
        return _tensor(v)
    if kind is Const:
        return _const(v)
    if kind is Host:
        if v.kind in _NUMBERS:
            return _NUMBER
        return _SORTS.get(v.kind, _OBJECT if "." in v.kind else NO_ARG)
    if kind is Tuple:
        if v.type == "slice":
            return Arg("slice", items=tuple(describe(_first(i), depth + 1) for i in v.items or ()))
        return _sequence(v.items, v.elem, depth, "tuple" if index else "sequence")
    if kind is Device:
        return Arg("device", device=v.type)
    if kind is Dtype:
        return Arg("dtype", dtype=v.sort, value=v.name)
    if kind is Array:
        if v.shape == ():
            return _NUMBER
        return Arg("ndarray", dtype=v.dtype, dim=None if v.shape is None else len(v.shape), device="cpu")
    if kind is Obj:
        return _object(v, depth)
    if kind is Range:
        return Arg("sequence", items=(_NUMBER,))
    if kind is Iter:
        return _sequence(v.items, v.elem, depth, "sequence")
    return NO_ARG


_NUMBER = Arg("number")
_OBJECT = Arg("object")
_SORTS = {
    "bool": Arg("bool"),
    "str": Arg("str"),
    "bytes": Arg("str"),
    "NoneType": Arg("none"),
    "slice": Arg("slice"),
}
_CONSTS: dict[Const, Arg] = {}


def _const(v: Const) -> Arg:
    known = _CONSTS.get(v)
    if known is None:
        if v.kind in _NUMBERS:
            known = Arg("number", value=v.value)
        elif v.kind == "NoneType":
            known = Arg("none", value=None)
        elif v.kind == "ellipsis":
            known = Arg("ellipsis")
        else:
            known = Arg(v.kind if v.kind in ("bool", "str") else "str", value=v.value)
        if len(_CONSTS) < 4096:
            _CONSTS[v] = known
    return known


def _tensor(v: Tensor) -> Arg:
    attrs: dict[str, Arg] = dict.fromkeys(v.marks, _TRUE) if v.marks else {}
    nbytes = v.nbytes
    if nbytes is not None:
        attrs["itemsize"] = Arg("number", value=v.itemsize)
    return Arg(
        "tensor",
        device=v.device,
        dim=v.dim,
        dtype=v.dtype,
        nbytes=nbytes,
        pinned=v.pinned,
        dense=v.dense,
        requires_grad=v.requires_grad,
        attrs=attrs,
    )


_TRUE = Arg("bool", value=True)


def _sequence(items: tuple[Value, ...] | None, elem: Value, depth: int, sort: str) -> Arg:
    if depth >= _DEPTH:
        return Arg(sort)
    if items is not None:
        return Arg(sort, items=tuple(describe(_first(i), depth + 1) for i in items[:64]))
    if elem is UNKNOWN:
        return Arg(sort)
    return Arg(sort, items=(describe(_first(elem), depth + 1),))


def _first(v: Value) -> Value:
    """The member of a union that matters most to the facts."""
    if type(v) is not Union:
        return v
    for m in v.members:
        if type(m) is Tensor and m.device == "cuda":
            return m
    for m in v.members:
        if m is not UNKNOWN:
            return m
    return UNKNOWN


def _object(v: Obj, depth: int) -> Arg:
    kind = v.type
    if kind in ("list", "set", "frozenset", "deque", "collections.deque"):
        held = v.slots.get(ITEMS)
        if type(held) is Items:
            return _sequence(held.items, held.elem, depth, "sequence")
        return Arg("sequence")
    types = _types(v)
    if "dict" in types:
        values = [x for k, x in v.slots.items() if type(k) is tuple or k == REST]
        return Arg(
            "mapping", items=tuple(describe(_first(x), depth + 1) for x in values[:32]) if depth < _DEPTH else None
        )
    if "torch.Generator" in types:
        return Arg("generator")
    attrs: dict[str, Arg] = {}
    if depth < _DEPTH:
        for name, value in v.slots.items():
            if type(name) is str and type(value) in (Const, Tensor, Host) and name[:1] != "<":
                attrs[name] = describe(value, depth + 1)
    if "torch.nn.Module" in types:
        tensors = module_tensors(v)
        devices = {t.device for t in tensors}
        attrs["tensors"] = Arg("number", value=len(tensors)) if tensors else Arg("number")
        device = devices.pop() if len(devices) == 1 else None
        return Arg("module", device=device, attrs=attrs)
    if "torch.optim.Optimizer" in types:
        held = v.slots.get("<tensors>")
        found = [t for t in held.items or () if type(t) is Tensor] if type(held) is Items else []
        rate = _learning_rate(v)
        if rate is not None:
            attrs["lr"] = describe(rate)
        if found:
            device = "cuda" if any(t.device == "cuda" for t in found) else found[0].device
            return Arg("object", device=device, attrs=attrs)
    return Arg("object", attrs=attrs)


def _learning_rate(v: Obj) -> Tensor | None:
    """The first learning rate of an optimizer's groups that is a tensor."""
    groups = v.slots.get("param_groups")
    listed = groups.slots.get(ITEMS) if type(groups) is Obj else None
    if type(listed) is Items:
        for group in listed.items or (listed.elem,):
            rate = group.slots.get(("key", "lr")) if type(group) is Obj else None
            if type(rate) is Tensor:
                return rate
    return None


def module_tensors(v: Obj, seen: set[int] | None = None) -> list[Tensor]:
    """The parameters and buffers of a module and its submodules."""
    seen = set() if seen is None else seen
    if id(v) in seen:
        return []
    seen.add(id(v))
    found: list[Tensor] = []
    stack: list[Value] = list(v.slots.values())
    while stack:
        x = stack.pop()
        if type(x) is Tensor:
            found.append(x)
        elif type(x) is Union:
            stack.extend(x.members)
        elif type(x) is Items:
            stack.extend(x.items if x.items is not None else (x.elem,))
        elif type(x) is Obj and "torch.nn.Module" in _types(x):
            found.extend(module_tensors(x, seen))
    return found


def _types(v: Obj) -> tuple[str, ...]:
    """The library types that an object has, its own or those that its class derives from."""
    kind = v.type
    if isinstance(kind, str):
        return lineage(kind)
    if isinstance(kind, Class):
        found: list[str] = []
        for c in kind.mro:
            if not isinstance(c, Class):
                found.extend(lineage(c.name))
        return tuple(found)
    return ()


class Verdict(NamedTuple):
    """What the facts say of a call: the prediction that counts, how many readings of the arguments wait and of how
    many, and whether those that wait rest on no assumption."""

    best: Any
    hits: int
    total: int
    sure: bool


_VERDICTS: dict[Any, Verdict] = {}
_KEPT = 20_000


def verdict(op: str, args: Sequence[Value], kwargs: Mapping[str, Value], has_star: bool) -> Verdict:
    """Asks the facts about every reading of the arguments; the answer is kept where they cannot change."""
    if not all(_lasts(a) for a in args) or not all(_lasts(a) for a in kwargs.values()):
        return _judge(op, args, kwargs, has_star)
    key = (op, tuple(args), tuple(kwargs.items()), has_star)
    known = _VERDICTS.get(key)
    if known is None:
        if len(_VERDICTS) >= _KEPT:
            _VERDICTS.clear()
        known = _VERDICTS[key] = _judge(op, args, kwargs, has_star)
    return known


_LASTING = frozenset({Tensor, Const, Host, Unknown, Device, Dtype, Array, Range, Lib})


def _lasts(v: Value) -> bool:
    if type(v) in _LASTING:
        return True
    if type(v) is Tuple:
        return v.items is not None and all(_lasts(x) for x in v.items)
    return type(v) is Union and all(_lasts(x) for x in v.members)


def _judge(op: str, args: Sequence[Value], kwargs: Mapping[str, Value], has_star: bool) -> Verdict:
    slots: list[tuple[Value, ...]] = [_alternatives(a) for a in (*args, *kwargs.values())]
    if math.prod(len(s) for s in slots) > _MAX_COMBINATIONS:
        slots = [(_first(Union(s)),) if len(s) > 1 else s for s in slots]
    combinations = list(_combinations(slots))
    total = len(combinations)
    names = list(kwargs)
    indexing = op.endswith(("__getitem__", "__setitem__", "__delitem__"))
    best: Any = None
    hits = 0
    sure = True
    for combination in combinations:
        described = tuple(describe(v, index=indexing and i == 1) for i, v in enumerate(combination))
        call = Call(described[: len(args)], dict(zip(names, described[len(args) :], strict=True)), has_star)
        prediction = facts.predict(op, call)
        if prediction is None or prediction.kind is None:
            continue
        if prediction.blocks is True or (prediction.blocks is False and not prediction.kind.blocks):
            hits += 1
            sure = sure and all_sure(combination)
            if best is None or best.blocks is None:
                best = prediction
        elif prediction.blocks is None and best is None:
            best = prediction
    return Verdict(best, hits, total, sure)


def _combinations(slots: Sequence[tuple[Value, ...]]) -> Iterator[tuple[Value, ...]]:
    """What the arguments can be together: those that are open in the same way come from one decision (`-v, v`)."""
    decisions = [tuple(type(v) for v in s) for s in slots]
    for picked in product(*slots):
        taken: dict[tuple[type, ...], type] = {}
        if all(taken.setdefault(kinds, type(v)) is type(v) for kinds, v in zip(decisions, picked, strict=True)):
            yield picked


_KNOWN: dict[str, bool] = {}


def known(ops: Sequence[str]) -> str | None:
    """The first name that the facts have a row for."""
    for op in ops:
        verdict = _KNOWN.get(op)
        if verdict is None:
            verdict = _KNOWN[op] = facts.predict(op, Call()) is not None
        if verdict:
            return op
    return None


def _alternatives(v: Value) -> tuple[Value, ...]:
    if type(v) is Union:
        return tuple(x for x in v.members if x is not UNKNOWN) or (UNKNOWN,)
    return (v,)


def all_sure(values: Sequence[Value]) -> bool:
    """Whether no device among the values is an assumption."""
    for v in values:
        if type(v) in (Tensor, Device):
            if not v.sure:
                return False
        elif type(v) in (Tuple, Iter):
            inner = element(v)
            if type(inner) is Union:
                if not all_sure(inner.members):
                    return False
            elif type(inner) is Tensor and not inner.sure:
                return False
        elif type(v) is Obj and v.assumed:
            return False
    return True


def cuda_inside(v: Value, depth: int = 0) -> bool:
    """Whether a CUDA tensor is among a value and its elements."""
    kind = type(v)
    if kind is Tensor:
        return bool(v.device == "cuda")
    if depth > _DEPTH:
        return False
    if kind is Union:
        return any(cuda_inside(x, depth) for x in v.members)
    if kind is Tuple or kind is Iter or kind is Items:
        return any(cuda_inside(x, depth + 1) for x in (v.items if v.items is not None else (v.elem,)))
    if kind is Obj and isinstance(v.type, str) and (v.type in ("list", "set", "dict") or ITEMS in v.slots):
        return any(cuda_inside(x, depth + 1) for x in v.slots.values())
    return isinstance(v, Device) and v.type == "cuda"

"""Doubts: what is only held for a tensor, where it is read as a number, a size or a truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from syncwatch.model import Kind
from syncwatch.static.values import Const, Tensor, Tuple, Union, Value

READS = frozenset({Kind.SCALAR_READ, Kind.TENSOR_READ})
# What is only held for a tensor: entries of a dictionary by its annotation, and parameters that have none.
VAGUE = frozenset({"coarse", "guessed"})


def is_vague(op: str, kind: Kind, args: Sequence[Value], kwargs: Mapping[str, Value]) -> bool:
    """Whether what is read, as a size, an element or a truth, is rather a number or a list than a tensor."""
    if kind not in READS:
        return False
    marks = VAGUE if kind is Kind.SCALAR_READ else frozenset({"coarse"})
    asked = args if op.rpartition(".")[2] in _ASKED else args[1:]
    return any(not marks.isdisjoint(v.marks) for v in _numbers((*asked, *kwargs.values())))


def _numbers(values: Sequence[Value]) -> Iterator[Tensor]:
    """The tensors among arguments, and among the parts of an index."""
    for v in values:
        if type(v) is Tensor:
            yield v
        elif type(v) is Tuple:
            yield from _numbers((v.elem,) if v.items is None else v.items)


def starts_as_number(op: str, args: Sequence[Value]) -> bool:
    """Whether an element is set to what is a device tensor by then, and only began as a number (`total = 0`)."""
    if not op.endswith("__setitem__") or len(args) < 3 or type(args[2]) is not Union:
        return False
    held = args[2].members
    return any(type(v) is Const for v in held) and any(type(v) is Tensor and v.device == "cuda" for v in held)


# Operations whose first argument is what is read.
_ASKED = frozenset(
    {"__bool__", "__index__", "__contains__", "__format__"}
    | {"zeros", "ones", "empty", "full", "rand", "randn", "randint", "randperm", "arange", "linspace", "eye", "range"}
)

"""How an engine describes a call to the facts, and what the facts answer.

Everything may be unknown (None): the static engine often knows little, a running program knows all. An unknown
argument makes a condition unknown, never true.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from syncwatch.model import Kind


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()  # no constant value is known


class Arg(msgspec.Struct, frozen=True):
    """One argument of a call, or the receiver of a method.

    sort: "tensor", "ndarray", "number", "bool", "none", "str", "sequence" (list, set), "tuple" (matters for an
        index: x[1, 2] and x[[1, 2]] differ), "mapping", "slice" (its items are start, stop, step), "ellipsis",
        "device", "dtype", "generator" (a torch.Generator), "module", "object", or "unknown".
    device: of a tensor, or the device that a "device" argument names: "cuda", "cpu", "meta", or None (unknown).
    dim: number of dimensions. nbytes: size of the data. dtype: "bool", "uint8", "int", "float", "complex".
    dense: contiguous, or a permutation of a contiguous tensor (a copy needs no packing). pinned: page-locked host
    memory. value: a host constant, or MISSING. items: elements of a sequence. attrs: what is known of an object
    (an optimizer's `fused`, a distribution's `validate_args`, a module's `training`).
    """

    sort: str = "unknown"
    device: str | None = None
    dim: int | None = None
    dtype: str | None = None
    nbytes: int | None = None
    pinned: bool | None = None
    dense: bool | None = None
    requires_grad: bool | None = None
    value: object = MISSING
    items: tuple[Arg, ...] | None = None
    attrs: Mapping[str, Arg] = msgspec.field(default_factory=dict)


UNKNOWN: Final = Arg()


class Call(msgspec.Struct, frozen=True):
    """A call as written: the receiver of a method is the first of `args`.

    `has_star` says that `*args` or `**kwargs` of unknown content were passed, so that an absent argument may be there.
    """

    args: tuple[Arg, ...] = ()
    kwargs: Mapping[str, Arg] = msgspec.field(default_factory=dict)
    has_star: bool = False


class Prediction(msgspec.Struct, frozen=True):
    """What the table says of one call.

    blocks: True, False, or None where it depends on an argument that is not known. `kind` is set unless `blocks` is
    False; then it is None, or a hazard that does not stop the host by itself (pageable-async). `waits` is how many
    times the host waits (None where it depends on the data). `explicit`: the code asks for the wait in so many words.
    `reported`: the sync debug mode warns of it. `why` says in words which condition holds; `instead` names the
    non-blocking alternative. `measured` lists the versions of torch it was measured on; `facts.predict` leaves
    it empty, for speed: ask `facts.measured_on`.
    """

    op: str
    blocks: bool | None
    kind: Kind | None = None
    waits: int | None = None
    explicit: bool = False
    reported: bool = True
    why: str = ""
    instead: str = ""
    measured: tuple[str, ...] = ()

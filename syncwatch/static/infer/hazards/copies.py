"""Copies between host and device: read too early, overwritten too early, made in vain, from unpinned loaders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from syncwatch.model import Certainty, Kind
from syncwatch.static import ir
from syncwatch.static.infer import events
from syncwatch.static.infer.text import words
from syncwatch.static.values import (
    FALSE,
    NONE,
    TRUE,
    UNKNOWN,
    Array,
    Lib,
    Obj,
    Tensor,
    Union,
    Value,
    members,
)

if TYPE_CHECKING:
    from syncwatch.static.infer.machine import Interpreter

IN_FLIGHT = "in-flight"  # an asynchronous upload from it may still run
COLLECTIVE = "collective"  # an asynchronous collective may still write it
FROM_DEVICE = "from-device"  # its data was copied from the device before
LOADER = "loader:"  # a batch of the loader with this number

# Operations that give another view of the same memory, and those that only look at a tensor's form.
_VIEWS = words(
    "view reshape __getitem__ squeeze unsqueeze t transpose permute flatten detach narrow select expand unbind "
    "split chunk __iter__ view_as movedim swapaxes"
)
_FORM = words(
    "size dim numel element_size data_ptr is_pinned is_contiguous stride type record_stream pin_memory "
    "share_memory_ requires_grad_ to cuda cpu copy_ __len__ wait"
)
_OVERWRITES = words("copy_ fill_ zero_ normal_ uniform_ random_ __setitem__ set_ index_copy_ add_ mul_ sub_ div_")


def used(m: Interpreter, name: str, v: Tensor, position: int, via: str, node: Any) -> None:
    """A tensor with an asynchronous copy or collective on it is used before anything has waited."""
    if v.pending != m.waits:
        return
    short = name.rpartition(".")[2]
    if IN_FLIGHT in v.marks:
        if position == 0 and short in _OVERWRITES:
            events.record(m, Kind.EARLY_READ, name, Certainty.LIKELY, False, "reuse", "", node)
        return
    if COLLECTIVE in v.marks:
        if not name.startswith("torch.distributed.") and short not in _FORM:
            op = "torch.distributed.all_reduce"
            events.record(m, Kind.EARLY_READ, op, Certainty.LIKELY, False, "call", "", node)
        return
    if v.device == "cpu" and short not in _VIEWS and short not in _FORM:
        events.record(m, Kind.EARLY_READ, name, Certainty.LIKELY, False, via, "", node)


def derived(m: Interpreter, name: str, args: Sequence[Value], kwargs: Mapping[str, Value], result: Any) -> Any:
    """The result with what it inherits: a running copy through a view, its origin on the device."""
    short = name.rpartition(".")[2]
    source = args[0] if args else None
    if type(source) is Tensor:
        if source.pending and short in _VIEWS and type(result) is Tensor:
            kept = source.marks & {IN_FLIGHT, COLLECTIVE}
            result = msgspec.structs.replace(result, pending=source.pending, marks=result.marks | kept)
        if source.device == "cuda" and short in ("to", "cpu") and type(result) is Tensor and result.device == "cpu":
            pending = m.waits if kwargs.get("non_blocking") == TRUE or TRUE in args[1:] else 0
            result = msgspec.structs.replace(result, pending=pending, marks=result.marks | {FROM_DEVICE})
    if type(result) is Tensor and "host-made" in result.marks and m.frame.heat != "step":
        # made before the steps that upload it: the copy is the fault, not where the tensor was made
        result = msgspec.structs.replace(result, marks=result.marks - {"host-made"})
    if type(result) is Tensor and result.device == "cuda":
        return result
    for arg in args:
        for v in members(arg):
            if type(v) in (Tensor, Array) and FROM_DEVICE in v.marks and FROM_DEVICE not in result.marks:
                return msgspec.structs.replace(result, marks=result.marks | {FROM_DEVICE})
    return result


def upload_via(m: Interpreter, op: str, args: Sequence[Value], via: str) -> str:
    """How an upload came about: from a tensor made on the host for it, or by a round trip."""
    if via != "call" or not args:
        return via
    short = op.rpartition(".")[2]
    for v in members(args[0]):
        if type(v) in (Tensor, Array):
            if FROM_DEVICE in v.marks:
                return "round-trip"
            if "host-made" in v.marks and short in ("to", "cuda"):
                return "host-created"
    return via


_NOTED = frozenset({"copy_", "to", "cuda", "record_stream"})


def wrote(m: Interpreter, node: ir.Call, func: Value, args: Sequence[Value], kwargs: Mapping[str, Value]) -> None:
    """Notes in the variables concerned that a copy or collective on them began, or that a stream knows of them."""
    if type(func) is Lib:
        if func.name.startswith("torch.distributed.") and kwargs.get("async_op") == TRUE and args and node.args:
            from syncwatch.static.infer.calls import assign

            target = node.args[0].value
            if type(args[0]) is Tensor and type(target) in (ir.Name, ir.Attr):
                new = msgspec.structs.replace(args[0], pending=m.waits, marks=args[0].marks | {COLLECTIVE})
                assign(m, target, new)
        return
    if type(func.self) is not Tensor or type(node.func) is not ir.Attr or node.func.attr not in _NOTED:
        return
    from syncwatch.static.infer.calls import assign

    v, target = func.self, node.func.value
    if type(target) not in (ir.Name, ir.Attr):
        return
    asynchronous = kwargs.get("non_blocking") == TRUE or TRUE in args[1:]
    name = node.func.attr
    if name == "copy_" and v.device == "cpu":
        source = args[0] if args else NONE
        if type(source) is Tensor and source.device == "cuda" and asynchronous:
            assign(m, target, msgspec.structs.replace(v, pending=m.waits, marks=v.marks - {IN_FLIGHT}))
        elif v.pending:
            assign(m, target, msgspec.structs.replace(v, pending=0, marks=v.marks - {IN_FLIGHT}))
    elif name in ("to", "cuda") and asynchronous and v.device == "cpu" and v.pinned:
        where = m.device_of(args[0]) if args else None
        if name == "cuda" or (where is not None and where.type == "cuda"):
            assign(m, target, msgspec.structs.replace(v, pending=m.waits, marks=v.marks | {IN_FLIGHT}))
    elif name == "record_stream":
        assign(m, target, msgspec.structs.replace(v, marks=v.marks | {"recorded"}))


def batches(m: Interpreter, loader: Obj, elem: Value) -> Value:
    """The batches of a loader that does not pin its memory, marked with where it was made.

    Where the dataset says nothing of its samples, a batch is something on the host that can be moved.
    """
    if elem is UNKNOWN:
        elem = Obj("syncwatch.Batch", assumed=True)
    if loader.slots.get("pin_memory", FALSE) != FALSE or id(loader) not in m.made:
        return elem
    return _mark(elem, f"{LOADER}{id(loader)}", 0)


def _mark(v: Value, mark: str, depth: int) -> Value:
    from syncwatch.static.values import ITEMS, REST, Items, Tuple

    if type(v) is Tensor and v.device == "cpu":
        return msgspec.structs.replace(v, marks=v.marks | {mark})
    if depth > 3:
        return v
    if type(v) is Tuple and v.items is not None:
        return Tuple(tuple(_mark(x, mark, depth + 1) for x in v.items), v.elem, v.type, v.names)
    if type(v) is Items:
        if v.items is not None:
            return Items(tuple(_mark(x, mark, depth + 1) for x in v.items), v.elem)
        return Items(None, _mark(v.elem, mark, depth + 1))
    if type(v) is Union:
        return Union(tuple(_mark(x, mark, depth + 1) for x in v.members))
    if type(v) is Obj and (ITEMS in v.slots or v.type == "dict"):
        for key, x in v.slots.items():
            if key in (ITEMS, REST) or type(key) is tuple:
                v.slots[key] = _mark(x, mark, depth + 1)
    return v


def moved(m: Interpreter, args: Sequence[Value]) -> None:
    """A host tensor goes to the device: if it is a batch of an unpinned loader, the loader is at fault."""
    for v in members(args[0]) if args else ():
        if type(v) is not Tensor:
            continue
        for mark in v.marks:
            if mark.startswith(LOADER):
                made = m.made.get(int(mark[len(LOADER) :]))
                if made is not None:
                    with m.standing_at(made):
                        op = "torch.utils.data.DataLoader"
                        events.record(m, Kind.UNPINNED_LOADER, op, Certainty.LIKELY, False, "call", "", made.node)

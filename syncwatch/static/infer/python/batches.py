"""Batches of loaders whose datasets say nothing of their samples: of any structure, on the host until moved."""

from __future__ import annotations

from typing import Any

from syncwatch.static.library.protocol import BASES, LibCall, attribute, default, model
from syncwatch.static.values import UNKNOWN, Bound, Iter, Lib, Tensor, Tuple, Value

BATCH = "syncwatch.Batch"
BASES[BATCH] = ()
_METHODS = frozenset({"to", "cuda", "items", "values", "keys", "pin_memory", "size", "dim", "get", "pop"})


@attribute(f"{BATCH}.*")
def _part(m: Any, v: Value, name: str) -> Value:
    """A method that batches may have, else a part, which is a batch as well."""
    return Bound(Lib(f"{BATCH}.{name}"), v) if name in _METHODS else UNKNOWN if name.startswith("_") else v


@model(f"{BATCH}.__getitem__", f"{BATCH}.get", f"{BATCH}.pop", f"{BATCH}.pin_memory")
def _item(m: Any, c: LibCall) -> Value:
    return c.self


@model(f"{BATCH}.__iter__", f"{BATCH}.values")
def _parts(m: Any, c: LibCall) -> Value:
    return Iter(None, c.self)


@model(f"{BATCH}.items")
def _items(m: Any, c: LibCall) -> Value:
    return Iter(None, Tuple((UNKNOWN, c.self)))


@model(f"{BATCH}.to", f"{BATCH}.cuda")
def _move(m: Any, c: LibCall) -> Value:
    """To a device it travels as a host tensor does."""
    where = m.accelerator() if c.name.endswith("cuda") else m.device_of(c.arg(0, "device", UNKNOWN))
    if where is None or where.type is None:
        return c.self
    host = Tensor("cpu", sure=False, marks=getattr(c.self, "slots", {}).get("<marks>", frozenset()))
    m.ask(f"torch.Tensor.{c.name.rpartition('.')[2]}", (host, *c.args), c.kwargs, via="call")
    return Tensor(where.type, sure=False) if where.type == "cuda" else c.self


@default(f"{BATCH}.")
def _other(m: Any, c: LibCall) -> Value:
    return UNKNOWN


__all__ = ["BATCH"]

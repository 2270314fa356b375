"""Methods of mappings, called on what may be a tensor or a mapping of tensors (see `infer.unknown`)."""

from __future__ import annotations

from syncwatch.static.library.protocol import LibCall, Machine, model
from syncwatch.static.values import STR, UNKNOWN, Iter, Tensor, Tuple, Value


@model(*(f"syncwatch.Open.{name}" for name in ("items", "keys", "values", "get", "pop")))
def _mapping(m: Machine, call: LibCall) -> Value:
    verb = call.name.rpartition(".")[2]
    held = call.self
    if verb == "keys":
        return Iter(None, STR)
    if type(held) is not Tensor:
        return UNKNOWN
    if verb == "items":
        return Iter(None, Tuple((STR, held)))
    return Iter(None, held) if verb == "values" else held

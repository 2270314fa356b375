"""What waits too little, or prepares too little: hazards that one operation alone does not show.

`before` sees every operation that the facts are asked about, `after` its result; `copies.wrote` sees the expressions
whose values an operation changed. Each kind of hazard has a watcher of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from syncwatch.static.infer.hazards import copies, ranks, streams
from syncwatch.static.values import Array, Iter, Tensor, Tuple, Union, Value

if TYPE_CHECKING:
    from syncwatch.static.infer.machine import Interpreter


def before(m: Interpreter, name: str, args: Sequence[Value], kwargs: Mapping[str, Value], via: str, node: Any) -> None:
    """Called before the facts are asked about an operation."""
    for i, arg in enumerate(args):
        for v in arg.members if type(arg) is Union else (arg,):
            if type(v) is not Tensor:
                continue
            if v.pending:
                copies.used(m, name, v, i, via, node)
            if v.device == "cuda":
                m.worked(name)
                if v.stream is not None:
                    streams.used(m, name, v, node)
    if m.layers is not None and args and name.endswith(".__call__"):
        m.layers.append(args[0])
    ranks.called(m, name, args, kwargs)
    if name.startswith(("torch.cuda.", "torch.Stream", "torch.Event")):
        streams.called(m, name, args, kwargs)


def after(m: Interpreter, name: str, args: Sequence[Value], kwargs: Mapping[str, Value], result: Value) -> Value:
    """The result of an operation, marked with what later operations must know of it."""
    kind = type(result)
    if kind is Union:
        parts = [after(m, name, args, kwargs, v) for v in result.members]
        if all(a is b for a, b in zip(parts, result.members, strict=True)):
            return result
        return Union(tuple(parts))
    if kind is Tuple and result.items is not None and any(type(v) is Tensor for v in result.items):
        items = tuple(after(m, name, args, kwargs, v) for v in result.items)
        return Tuple(items, result.elem, result.type, result.names)
    if kind is Tensor or kind is Array:
        result = copies.derived(m, name, args, kwargs, result)
        if kind is Tensor and result.device == "cuda":
            m.worked(name)
            result = streams.produced(m, result)
    return result


__all__ = ["Iter", "after", "before"]

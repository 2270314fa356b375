"""What `torch.nn.Module` does with its parameters, buffers and submodules, for library modules and the project's own.

A module keeps parameters, buffers and submodules as slots under their names; a buffer is told from a plain attribute by
a further slot "<buffer>name". Sequential and ModuleList hold their modules as Items, ModuleDict under ("key", name).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from syncwatch.static.library.protocol import BASES, PREFIX_BASES, Machine, lineage
from syncwatch.static.library.tensors import HOST, Where, given, on, replaced
from syncwatch.static.values import (
    FALSE,
    REST,
    TRUE,
    Class,
    Device,
    Items,
    Lib,
    Obj,
    Tensor,
    Union,
    Value,
    join_all,
    members,
)

PREFIX_BASES.append(("torch.nn.", "torch.nn.Module"))
BASES["torch.nn.Module"] = ()
BASES["torch.nn.Parameter"] = ("torch.Tensor",)
BASES["torch.nn.Buffer"] = ("torch.Tensor",)
BUFFER = "<buffer>"


def types_of(obj: Obj) -> tuple[str, ...]:
    """The library types of an object."""
    if isinstance(obj.type, str):
        return lineage(obj.type)
    if isinstance(obj.type, Class):
        return tuple(t for base in obj.type.mro if type(base) is Lib for t in lineage(base.name))
    return ()


def is_module(value: Value) -> bool:
    return type(value) is Obj and "torch.nn.Module" in types_of(value)


def own_tensors(obj: Obj) -> Iterator[tuple[Any, Value]]:
    """The parameters and buffers that a module itself registers, under their slots."""
    for key, value in list(obj.slots.items()):
        if any(type(v) is Tensor and (v.parameter or f"{BUFFER}{key}" in obj.slots) for v in members(value)) or (
            type(value) is Items and any(type(v) is Tensor for v in (value.items or (value.elem,)))
        ):
            yield key, value


def is_buffer(obj: Obj, key: Any) -> bool:
    return f"{BUFFER}{key}" in obj.slots


def own_modules(obj: Obj) -> Iterator[tuple[Any, Obj]]:
    """The direct submodules with their names."""
    for key, value in list(obj.slots.items()):
        if type(value) is Items:
            for i, item in enumerate(value.items if value.items is not None else (value.elem,)):
                for v in members(item):
                    if is_module(v):
                        yield (str(i) if value.items is not None else None), v
        elif (isinstance(key, str) and key[:1] != "<") or type(key) is tuple or key == REST:
            for v in members(value):
                if is_module(v):
                    yield (key[1] if type(key) is tuple else key), v


def all_modules(obj: Obj, prefix: str = "", seen: set[int] | None = None) -> Iterator[tuple[str | None, Obj]]:
    """The module and everything below it, each once, with dotted names (None where unknown)."""
    seen = set() if seen is None else seen
    if id(obj) in seen:
        return
    seen.add(id(obj))
    yield prefix, obj
    for name, child in own_modules(obj):
        if prefix is None or name is None:
            inner = None
        else:
            inner = f"{prefix}.{name}" if prefix else str(name)
        yield from all_modules(child, inner, seen)  # type: ignore[arg-type]


def all_tensors(obj: Obj, *, parameters: bool = True, buffers: bool = True) -> list[tuple[str | None, Tensor]]:
    """Every parameter and buffer with its dotted name."""
    found: list[tuple[str | None, Tensor]] = []
    for prefix, module in all_modules(obj):
        for key, value in own_tensors(module):
            wanted = buffers if is_buffer(module, key) else parameters
            if not wanted:
                continue
            inner = value.items or (value.elem,) if type(value) is Items else (value,)
            for item in inner:
                for v in members(item):
                    if type(v) is Tensor:
                        name = None if prefix is None else (f"{prefix}.{key}" if prefix else str(key))
                        found.append((name, v))
    return found


def convert(m: Machine, obj: Obj, change: Callable[[Tensor], Tensor]) -> None:
    """Replaces every parameter and buffer, as `module.to` does."""

    def changed(value: Value) -> Value:
        if type(value) is Tensor:
            return change(value)
        if type(value) is Items:
            items = None if value.items is None else tuple(changed(v) for v in value.items)
            return Items(items, changed(value.elem))
        if type(value) is Union:
            return join_all(changed(v) for v in value.members)
        return value

    for _, module in list(all_modules(obj)):
        for key, value in own_tensors(module):
            m.setattr(module, key, changed(value))
        m.setattr(module, "<moved>", TRUE)


def place(tensor: Tensor, where: Where) -> Tensor:
    """A parameter or buffer on another device."""
    return replaced(
        tensor,
        device=where.device,
        sure=where.sure,
        index=where.index,
        pinned=False,
        marks=tensor.marks - {"host-made", "pinned-source"},
    )


def move(m: Machine, obj: Obj, device: Device) -> None:
    """Moves a module with everything that it registers to a device."""
    target = on(device)
    convert(m, obj, lambda t: place(t, target))


def where_of(obj: Obj) -> Where | None:
    """Where a module's parameters are; None where it has none."""
    found = [t for _, t in all_tensors(obj)]
    if not found:
        return None
    first = next((t for t in found if t.device == "cuda"), found[0])
    return Where(first.device, first.sure, first.index)


def loaded(m: Machine, type_: str, device: Value = None) -> Obj:
    """A model that was loaded: its parameters are on the host, unless `device` puts them elsewhere."""
    made = m.new(type_)
    named = m.device_of(device) if given(device) else None
    where = on(named) if named is not None else HOST
    weights = Tensor(where.device, where.sure, None, "float", pinned=False, requires_grad=True, parameter=True)
    m.setattr(made, "training", FALSE)
    m.setattr(made, "<weights>", replaced(weights, index=where.index))
    return made

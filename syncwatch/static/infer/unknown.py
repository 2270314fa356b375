"""What is known of values that nothing is known of: by their names, and by where they were sent.

A loader's batches are on the host. What is moved to the device is there. What a model is called with on the device
gives something on the device. Such values are "open": a tensor, or a structure whose entries and attributes are tensors
as it is. They are never more than likely, and doubted where they are tested or used as numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from syncwatch.static import ir
from syncwatch.static.infer.types import device_of
from syncwatch.static.library.protocol import ATTRIBUTES, MODELS
from syncwatch.static.values import (
    UNKNOWN,
    Bound,
    Const,
    Device,
    Iter,
    Lib,
    Tensor,
    Value,
    members,
)

if TYPE_CHECKING:
    from syncwatch.static.infer.machine import Interpreter

_OPEN = frozenset({"open", "guessed"})
_LOADER = re.compile(
    r"(^|_)(data_?)?loader(_?(train|val|valid|test|eval|iter))?$|(train|val|valid|test|eval|data)_?loader$"
    r"|(^|_)(train|val|valid|test|eval)_?dl$|^dl$",
    re.I,
)
_MODEL = re.compile(
    r"(^|_)(model|net|network|backbone|generator|discriminator|critic|actor|policy|classifier|unet|vae|student|"
    r"teacher|encoder|decoder|transformer|module|engine|learner|task)(_?\d+|_(ema|s|t|q|k|old|ref|target))?$|^net[A-Z]$",
    re.I,
)
_LOSS = re.compile(r"(^|_)(criterion|loss_(fn|func|function))(_?\w+)?$|^loss_?computer?$", re.I)
_RUNS = re.compile(
    r"^(module|forward\w*|encode\w*|decode\w*|generate\w*|sample\w*|get_\w+_features|extract_\w+|predict\w*|embed\w*|"
    r"infer\w*|log_prob|q_sample|training_step|compute_loss|loss)$"
)
_MAPPING = frozenset({"items", "keys", "values", "get", "pop"})


def is_open(v: Value) -> bool:
    """Whether a value may as well be a structure of tensors."""
    return type(v) is Tensor and "open" in v.marks


def thing(device: str, index: int | None = None) -> Tensor:
    """A tensor, or a structure of tensors, on a device."""
    return Tensor(device, False, index=index, marks=_OPEN)


def last_name(node: Any) -> str:
    """The name that an expression ends in."""
    if type(node) is ir.Name:
        return node.id
    if type(node) is ir.Attr:
        return node.attr
    return last_name(node.value) if type(node) is ir.Sub else ""


def named(m: Interpreter, name: str) -> Value:
    """A value of which the name alone is known."""
    if _LOADER.search(name) and not m.preparing:
        return Iter(None, thing("cpu"), type="batches")
    return UNKNOWN


def called(m: Interpreter, func: Value, node: ir.Call, args: Sequence[Value]) -> Value:
    """The result of a call that gives something unknown: models and losses give tensors where their arguments are."""
    from syncwatch.static.infer.readings import cuda_inside

    if m.preparing or not (is_open(func) or _runs(node.func)):
        return UNKNOWN
    return thing("cuda") if any(type(v) is not Device and cuda_inside(v) for v in args) else UNKNOWN


def _runs(node: Any) -> bool:
    """Whether a call of the expression runs a model or a loss."""
    name = last_name(node)
    if _MODEL.search(name) or _LOSS.search(name):
        return True
    return type(node) is ir.Attr and _RUNS.match(name) is not None and _MODEL.search(last_name(node.value)) is not None


def moved(m: Interpreter, node: ir.Attr, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    """`x.cuda()`, `x.to(device)` of something unknown: a tensor or a batch is there afterwards.

    Models are left unknown: what they give is known by their names.
    """
    if m.preparing or node.attr not in ("cuda", "to") or _MODEL.search(last_name(node.value)):
        return UNKNOWN
    place = m.accelerator() if node.attr == "cuda" else None
    for v in (*args[:1], *(v for k, v in kwargs.items() if k == "device")):
        if isinstance(v, Device) or (type(v) is Const and v.kind in ("str", "int")):
            place = device_of(m, v) or place
    if place is None or place.type != "cuda" or m.frame.setup or m.frame.heat == "setup":
        return UNKNOWN
    return thing("cuda", place.index)


def attribute(m: Interpreter, v: Tensor, name: str) -> Value:
    """An attribute of something open; None where it has none but a tensor's."""
    if name in _MAPPING:
        return Bound(Lib(f"syncwatch.Open.{name}"), v)
    if name.startswith("_") or f"torch.Tensor.{name}" in ATTRIBUTES or f"torch.Tensor.{name}" in MODELS:
        return None
    if name in ("parameters", "state_dict", "named_parameters", "train", "eval", "modules", "children", "device"):
        return UNKNOWN
    return v


def stored(m: Interpreter, target: ir.Sub, owner: Value, value: Value) -> bool:
    """`batch[key] = value` of an open mapping: it is where its entries are from now on."""
    if not any(map(is_open, members(owner))):
        return False
    if type(value) is Tensor and value.device is not None and type(target.value) is ir.Name:
        m.store(target.value.id, thing(value.device, value.index))
    return True

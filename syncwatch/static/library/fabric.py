"""Lightning Fabric: what it sets up is on the device, and its loaders deliver their batches there, without waiting."""

from __future__ import annotations

from syncwatch.static.library.frameworks import prepared
from syncwatch.static.library.protocol import ALIASES, BASES, LibCall, Machine, attribute, model
from syncwatch.static.library.tensors import on, result, tensors
from syncwatch.static.values import INT, NONE, TRUE, UNKNOWN, Host, Obj, Tuple, Value

_FABRIC = "lightning.Fabric"
BASES[_FABRIC] = ()
for _root in ("lightning.fabric", "lightning_fabric", "lightning.fabric.fabric", "lightning_fabric.fabric"):
    ALIASES[f"{_root}.Fabric"] = _FABRIC


@attribute(f"{_FABRIC}.device")
def _device(m: Machine, obj: Value, name: str) -> Value:
    return m.accelerator()


@attribute(f"{_FABRIC}.is_global_zero", f"{_FABRIC}.global_rank", f"{_FABRIC}.local_rank")
def _rank(m: Machine, obj: Value, name: str) -> Value:
    return Host("bool" if name == "is_global_zero" else "int", "rank")


@attribute(f"{_FABRIC}.world_size")
def _size(m: Machine, obj: Value, name: str) -> Value:
    return INT


@model(
    f"{_FABRIC}.setup",
    f"{_FABRIC}.setup_module",
    f"{_FABRIC}.setup_optimizers",
    f"{_FABRIC}.setup_dataloaders",
    f"{_FABRIC}.to_device",
)
def _setup(m: Machine, call: LibCall) -> Value:
    """Models move to the device; loaders are wrapped so that their batches arrive there."""
    if call.has_star:
        return UNKNOWN
    values = tuple(prepared(m, call.self, v) for v in call.args)
    for value in values:
        if type(value) is Obj and value.type == "accelerate.PreparedLoader":
            m.setattr(value, "<non_blocking>", TRUE)
    return values[0] if len(values) == 1 else Tuple(values)


@model(f"{_FABRIC}.backward")
def _backward(m: Machine, call: LibCall) -> Value:
    return m.method(call.arg(0, "tensor", UNKNOWN), "backward")


@model(f"{_FABRIC}.all_gather", f"{_FABRIC}.all_reduce", f"{_FABRIC}.broadcast")
def _collective(m: Machine, call: LibCall) -> Value:
    """Of a tensor, a tensor; numbers are sent to the device first."""
    value = call.arg(0, "data", UNKNOWN)
    if tensors([value]):
        return value
    if type(value) is Host and value.kind in ("int", "float", "number"):
        place = on(m.accelerator())
        m.ask("torch.tensor", [value], {"device": m.accelerator()})
        return result([], None, "float", place=place, grad=False)
    return UNKNOWN


@model(f"{_FABRIC}.print")
def _print(m: Machine, call: LibCall) -> Value:
    for value in call.args:
        m.format(value, "print")
    return NONE

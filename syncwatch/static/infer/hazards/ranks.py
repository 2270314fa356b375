"""Programs of several ranks: the wrong device, and process groups before their device is set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from syncwatch.model import Certainty, Kind
from syncwatch.static.infer import events
from syncwatch.static.values import FALSE, NONE, TRUE, Const, Value

if TYPE_CHECKING:
    from syncwatch.static.infer.machine import Interpreter

_FIRST_ARGUMENT = frozenset({"torch.device", "torch.Tensor.to", "torch.Tensor.cuda", "torch.nn.Module.to"})


def called(m: Interpreter, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> None:
    """Looks at the devices that a call names, and at the making of process groups."""
    if name == "torch.distributed.init_process_group":
        _group(m, args, kwargs)
        return
    if m.mode("ranks") != TRUE:
        return
    if name == "torch.distributed.Work.wait":
        m.waited()
        return
    device = kwargs.get("device")
    if device is None and name in _FIRST_ARGUMENT:
        position = 0 if name == "torch.device" else 1
        device = args[position] if len(args) > position else None
    if type(device) is Const and device.value == "cuda:0":
        events.record(m, Kind.DEFAULT_DEVICE, name, Certainty.LIKELY, False, "call", "")


def _group(m: Interpreter, args: Sequence[Value], kwargs: Mapping[str, Value]) -> None:
    m.journal.write(m.world, "ranks", TRUE)
    backend = args[0] if args else kwargs.get("backend", NONE)
    if type(backend) is Const and backend.value is not None and "nccl" not in str(backend.value):
        return
    if m.mode("set_device") in (None, FALSE, NONE) and kwargs.get("device_id", NONE) == NONE:
        op = "torch.distributed.init_process_group"
        events.record(m, Kind.DEFAULT_DEVICE, op, Certainty.LIKELY, False, "call", "")

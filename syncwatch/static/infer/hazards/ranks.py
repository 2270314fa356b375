"""Programs of several ranks: the wrong device, and process groups before their device is set."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from syncwatch.model import Certainty, Kind
from syncwatch.static.infer import events
from syncwatch.static.values import FALSE, NONE, TRUE, Const, Value, members

if TYPE_CHECKING:
    from syncwatch.static.infer.machine import Interpreter

_STARTS = re.compile(r"main|worker|train|run|fit|launch", re.I)
_GROUP = "torch.distributed.init_process_group"
_SET_DEVICE = frozenset(
    {"torch.cuda.set_device", "torch.accelerator.set_device_index", "torch.accelerator.set_device_idx"}
)
_FIRST_ARGUMENT = frozenset({"torch.device", "torch.Tensor.to", "torch.Tensor.cuda", "torch.nn.Module.to"})


def called(m: Interpreter, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> None:
    """Looks at the devices that a call names, and at the making of process groups."""
    if name == _GROUP:
        _group(m, args, kwargs)
        return
    if name in _SET_DEVICE:
        # in time: NCCL connects at the first collective, not when the group is made
        m.recorder.forget(Kind.DEFAULT_DEVICE, _GROUP)
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
    if not all(type(v) is Const and (v.value is None or "nccl" in str(v.value)) for v in members(backend)):
        return
    if not m.in_program and not _STARTS.search(m.frame.qualname):
        return  # a helper: what calls it may have set the device
    if m.mode("set_device") in (None, FALSE, NONE) and kwargs.get("device_id", NONE) == NONE:
        events.record(m, Kind.DEFAULT_DEVICE, _GROUP, Certainty.LIKELY, False, "call", "")

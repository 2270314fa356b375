"""The source of waits of the emulated device, for watches and recorded sessions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache

from syncwatch.emulator.device import DEVICE
from syncwatch.emulator.events import EVENTS
from syncwatch.emulator.gpus import NAME
from syncwatch.runtime.cuda.clocks import ClockHook
from syncwatch.runtime.cuda.device import clocked_ops as watched_by_recorder
from syncwatch.runtime.patching import Hook
from syncwatch.runtime.source import Sink
from syncwatch.runtime.steps import BackwardHook, StepHook

LIMIT = "counted on an emulated device: waits are those of the facts table, and none is timed"


# With a method of its own for it, Python takes every tensor for a sequence, and torch.tensor([scalar tensors]) fails.
_NO_CLOCK = frozenset({"torch.Tensor.__getitem__"})


def clocked_ops() -> Iterator[str]:
    """The operations that get a wrapper: those of the recorder."""
    return (op for op in watched_by_recorder() if op not in _NO_CLOCK)


class EmulatedSource:
    """Reports what would have made the host wait on a GPU. The device must be there: see `device.emulate`."""

    device = "emulated"
    device_name = NAME

    def __init__(self) -> None:
        # the wrappers hold each operation's public name and arguments while it runs
        self._hooks: list[Hook] = [StepHook(), BackwardHook(), ClockHook(clocked_ops(), time.perf_counter)]
        self._installed: list[Hook] = []

    def install(self, sink: Sink) -> None:
        """See `runtime.source.Source.install`."""
        from syncwatch.runtime.recorder import RECORDER

        for hook in self._hooks:
            hook.install(sink)
            self._installed.append(hook)
        EVENTS.listen(sink, RECORDER.frames)
        sink.limit(LIMIT)

    def uninstall(self, *, again: bool = False) -> None:
        """See `runtime.source.Source.uninstall`."""
        EVENTS.stop()
        while self._installed:
            self._installed.pop().uninstall()


@cache
def shared() -> EmulatedSource:
    """The one source of this process: torch.jit.script keeps what it learns of the wrappers by their identity."""
    return EmulatedSource()


def source(devices: int = 1) -> EmulatedSource:
    """Makes the device appear for the rest of the process, and returns its source: what `syncwatch run` arms.

    Raises EmulationUnavailable where that cannot be.
    """
    DEVICE.on(devices)
    return shared()

"""The emulated device, there or not: `emulate` and what it switches on."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from syncwatch.emulator.patching import Patches


class _Device:
    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._users = 0
        self._patches = Patches()

    def on(self, devices: int) -> None:
        """One more user; the first makes the device appear."""
        from syncwatch.emulator import backend, placement
        from syncwatch.emulator.gpus import GPUS

        if not isinstance(devices, int) or not 1 <= devices <= 64:
            raise ValueError(f"devices is the number of GPUs to emulate, 1 to 64, not {devices!r}")
        with self._lock:
            if not self._users:
                backend.register()
                GPUS.count = devices
                placement.several = devices > 1
                placement.CURRENT.index = 0
                self._install()
                placement.there = True
            self._users += 1

    def _install(self) -> None:
        from syncwatch.emulator import (
            autocast,
            collectives,
            compiling,
            cuda_api,
            factories,
            libraries,
            pinned,
            processes,
            recurrent,
            serialization,
            tensor_api,
            wrappers,
        )

        try:
            for area in (
                tensor_api,
                wrappers,
                factories,
                pinned,
                cuda_api,
                serialization,
                processes,
                libraries,
                autocast,
                collectives,
                compiling,
                recurrent,
            ):
                area.install(self._patches)
        except BaseException:
            self._patches.undo()
            raise

    def off(self) -> None:
        """One user less; with the last the device is gone."""
        from syncwatch.emulator import placement

        with self._lock:
            self._users -= 1
            if not self._users:
                placement.there = False
                self._patches.undo()
                rules = sys.modules.get("torch._dynamo.trace_rules")
                if rules is not None:  # what torch.compile knows of torch's functions, it may have learnt from ours
                    rules.get_torch_obj_rule_map.cache_clear()

    @property
    def users(self) -> int:
        return self._users


DEVICE = _Device()


def active() -> bool:
    """Whether the emulated device is there now."""
    return DEVICE.users > 0


@contextmanager
def emulate(*, devices: int = 1) -> Iterator[None]:
    """Emulates CUDA devices in this block: programs find `devices` GPUs, whose tensors are computed on the CPU.

        with syncwatch.emulate(), syncwatch.watch() as report:
            train_step(model.to("cuda"), batch)

    Watches inside the block count the waits that a GPU would have caused. Tensors of the device are of no use after
    the block; move them to the CPU inside it.

    Raises EmulationUnavailable where the process ran backward() before its first `emulate()`, or torch is too old,
    and ValueError where `devices` is no number from 1 to 64.
    """
    from syncwatch.emulator.counting import shared
    from syncwatch.runtime.source import use_source

    DEVICE.on(devices)
    try:
        with use_source(shared()):
            yield
    finally:
        DEVICE.off()

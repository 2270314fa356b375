"""Runs `syncwatch` with a device that exists only here: `import fakegpu; fakegpu.item()` makes the host wait.

usage: python fake_run.py ARGUMENT...     the arguments of syncwatch; --device emulated picks the fake
"""

import sys
import types

from syncwatch.model import Kind


class FakeSource:
    device = "emulated"
    device_name = "fake device"
    sink = None

    def install(self, sink):
        self.sink = sink

    def uninstall(self, *, again=False):
        self.sink = None


SOURCE = FakeSource()
gpu = types.ModuleType("fakegpu")


def item(wait_ms=1.0):
    if SOURCE.sink is not None:
        SOURCE.sink.occurred(
            Kind.SCALAR_READ, "torch.Tensor.item", explicit=True, wait_ms=wait_ms, frame=sys._getframe(1)
        )


def nonzero():
    if SOURCE.sink is not None:
        SOURCE.sink.occurred(Kind.DYNAMIC_SHAPE, "torch.nonzero", wait_ms=None, frame=sys._getframe(1))


class Optimizer:
    def step(self):
        if SOURCE.sink is not None:
            SOURCE.sink.step_ended(self)


gpu.item, gpu.nonzero, gpu.Optimizer = item, nonzero, Optimizer
sys.modules["fakegpu"] = gpu
emulator = types.ModuleType("syncwatch.emulator")
emulator.source = lambda devices=1: SOURCE
sys.modules["syncwatch.emulator"] = emulator
import syncwatch  # noqa: E402

syncwatch.emulator = emulator

from syncwatch.cli import main  # noqa: E402

sys.exit(main())

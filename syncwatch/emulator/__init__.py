"""The device that isn't there: CUDA on a machine without a GPU, with real values, and the waits that it would cause.

A backend of torch written in Python (`backend`) whose tensors stand for CPU tensors (`values`); kernels that run each
operation on these (`kernels`); what names the device in Python, replaced reversibly (`tensor_api`, `factories`,
`cuda_api`, …); and the waits, by the facts (`events`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from syncwatch.emulator.backend import EmulationUnavailable as EmulationUnavailable
    from syncwatch.emulator.counting import source as source
    from syncwatch.emulator.device import active as active
    from syncwatch.emulator.device import emulate as emulate
    from syncwatch.emulator.stops import EmulationStopped as EmulationStopped

_HOMES = {
    "EmulationStopped": "stops",
    "EmulationUnavailable": "backend",
    "active": "device",
    "emulate": "device",
    "source": "counting",
}

__all__ = ["EmulationStopped", "EmulationUnavailable", "active", "emulate", "source"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"syncwatch.emulator.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'syncwatch.emulator' has no attribute {name!r}")

"""`torch.accelerator`: the accelerator is the emulated GPU, and is called cuda."""

from __future__ import annotations

from typing import Any

import torch

from syncwatch.emulator.capture import CAPTURE
from syncwatch.emulator.cuda_api import devices, memory, streams
from syncwatch.emulator.events import EVENTS
from syncwatch.emulator.patching import Patches
from syncwatch.emulator.placement import CURRENT


class device_index:
    """`with torch.accelerator.device_index(1):`"""

    def __init__(self, device: int | None, /) -> None:
        self.idx = device
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx is not None:
            self.prev_idx = devices.exchange_device(self.idx)

    def __exit__(self, *error: Any) -> None:
        if self.idx is not None:
            devices.exchange_device(self.prev_idx)


def synchronize(device: Any = None, /) -> None:
    CAPTURE.refuse_waits()
    EVENTS.api("torch.accelerator.synchronize")


def install(patches: Patches) -> None:
    accelerator = torch.accelerator
    functions: dict[str, Any] = {
        "is_available": devices.is_available,
        "device_count": devices.device_count,
        "current_accelerator": lambda check_available=False: torch.device("cuda"),
        "current_device_index": lambda: CURRENT.index,
        "current_device_idx": lambda: CURRENT.index,
        "set_device_index": devices.set_device,
        "set_device_idx": devices.set_device,
        "current_stream": streams.current_stream,
        "set_stream": streams.set_stream,
        "synchronize": synchronize,
        "device_index": device_index,
        "empty_cache": memory.empty_cache,
        "memory_stats": memory.memory_stats,
        "memory_allocated": memory.memory_allocated,
        "max_memory_allocated": memory.max_memory_allocated,
        "memory_reserved": memory.memory_reserved,
        "max_memory_reserved": memory.max_memory_reserved,
        "reset_peak_memory_stats": memory.reset_peak_memory_stats,
        "reset_accumulated_memory_stats": lambda device=None: None,
        "get_memory_info": memory.mem_get_info,
    }
    owners = [accelerator]
    if hasattr(accelerator, "memory"):
        owners.append(accelerator.memory)
    for name, function in functions.items():
        for owner in owners:
            if hasattr(owner, name):
                patches.replace(owner, name, function)
    # C++ asks the backend, which names itself
    patches.wrap(torch._C, "_accelerator_getAccelerator", lambda original: lambda: torch.device("cuda"))
    patches.wrap(torch._C, "_get_accelerator", lambda original: lambda *args: torch.device("cuda"))

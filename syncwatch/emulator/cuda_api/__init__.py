"""`torch.cuda` and `torch.accelerator` of the emulated device: one file per area, all replaced reversibly."""

from __future__ import annotations

from syncwatch.emulator.patching import Patches


def install(patches: Patches) -> None:
    """Replaces what a build without CUDA lacks."""
    from syncwatch.emulator.cuda_api import (
        accelerator,
        comm,
        devices,
        graphs,
        legacy,
        memory,
        native,
        rng,
        streams,
    )

    for area in (devices, streams, memory, rng, accelerator, graphs, legacy, comm, native):
        area.install(patches)

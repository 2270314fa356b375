"""The emulated GPUs: how many there are, and what they say of themselves."""

from __future__ import annotations

import os
from typing import NamedTuple


class Properties(NamedTuple):
    """What `torch.cuda.get_device_properties` answers: the figures of an 80 GB data-centre card."""

    name: str
    major: int = 9
    minor: int = 0
    total_memory: int = 80 << 30
    multi_processor_count: int = 132
    is_integrated: int = 0
    is_multi_gpu_board: int = 0
    max_threads_per_multi_processor: int = 2048
    max_threads_per_block: int = 1024
    regs_per_multiprocessor: int = 65536
    warp_size: int = 32
    shared_memory_per_block: int = 49152
    shared_memory_per_block_optin: int = 232448
    shared_memory_per_multiprocessor: int = 233472
    L2_cache_size: int = 50 << 20
    gcnArchName: str = ""
    uuid: str = "00000000-0000-0000-0000-000000000000"
    pci_bus_id: int = 0
    pci_device_id: int = 0
    pci_domain_id: int = 0


NAME = "emulated CUDA device"


class _Gpus:
    count = 1
    in_use = False  # the program has come so far that CUDA would be initialized
    lost = False  # this process was forked from one that had initialized CUDA

    def properties(self, index: int) -> Properties:
        return Properties(NAME)

    def use(self) -> None:
        """The program needs CUDA initialized. Raises what CUDA raises in a child that was forked after that."""
        if self.lost:
            raise RuntimeError(
                "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the "
                "'spawn' start method"
            )
        self.in_use = True

    def after_fork_in_child(self) -> None:
        self.lost = self.in_use


GPUS = _Gpus()


def check_number(index: int) -> None:
    """Raises what CUDA raises where there is no such GPU."""
    if not 0 <= index < GPUS.count:
        import torch

        raise getattr(torch, "AcceleratorError", RuntimeError)("CUDA error: invalid device ordinal")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=GPUS.after_fork_in_child)

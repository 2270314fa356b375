"""The allocator's figures, counted from the device tensors that are alive.

The device has no allocator of its own: figures are worked out when somebody asks. A peak is the largest figure seen
when somebody asked.
"""

from __future__ import annotations

import collections
import gc
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch._C import TensorBase

from syncwatch.emulator.events import EVENTS
from syncwatch.emulator.gpus import GPUS
from syncwatch.emulator.patching import Patches
from syncwatch.emulator.tensor_api import number
from syncwatch.emulator.values import ALLOCATED, INDEX, LARGE, VALUE

_BLOCK = 512  # CUDA's allocator rounds every block up to this
_SEGMENT = 2 << 20


class _Figures:
    def __init__(self) -> None:
        self.peak: dict[int, int] = {}
        self.reserved: dict[int, int] = {}
        self.large_then = 0  # bytes of large tensors alive when the cache was last emptied
        self.allocated_then = 0  # bytes of large tensors ever made at that time


FIGURES = _Figures()


def _storages(index: int) -> dict[int, int]:
    """The storages that device tensors on this GPU keep alive, with their sizes as CUDA's allocator rounds them."""
    sizes: dict[int, int] = {}
    for thing in gc.get_objects():
        if not issubclass(type(thing), TensorBase):  # isinstance would ask odd objects for their class
            continue
        held = thing.__dict__
        value = held.get(VALUE)
        if value is None or held.get(INDEX, 0) != index or value.layout is not torch.strided:
            continue
        storage = TensorBase.untyped_storage(value)
        sizes[storage._cdata] = -(-storage.nbytes() // _BLOCK) * _BLOCK
    return sizes


def _live_bytes(index: int) -> int:
    """Bytes that device tensors on this GPU keep alive."""
    total = sum(_storages(index).values())
    FIGURES.peak[index] = max(FIGURES.peak.get(index, 0), total)
    segments = -(-total // _SEGMENT) * _SEGMENT
    FIGURES.reserved[index] = max(FIGURES.reserved.get(index, 0), segments)
    return total


def memory_allocated(device: Any = None) -> int:
    return _live_bytes(number(device))


def max_memory_allocated(device: Any = None) -> int:
    index = number(device)
    _live_bytes(index)
    return FIGURES.peak[index]


def memory_reserved(device: Any = None) -> int:
    index = number(device)
    _live_bytes(index)
    return FIGURES.reserved[index]


max_memory_reserved = memory_reserved


def empty_cache() -> None:
    sizes = [size for index in range(GPUS.count) for size in _storages(index).values()]
    large = sum(size for size in sizes if size > LARGE)
    # Large tensors that are gone have left segments in the cache that can be given back. Small ones share theirs,
    # which are surely free once all of them are gone.
    gone = FIGURES.large_then + ALLOCATED.large - FIGURES.allocated_then > large
    if gone or (ALLOCATED.any and not sizes):
        EVENTS.api("torch.cuda.empty_cache")
    FIGURES.large_then, FIGURES.allocated_then = large, ALLOCATED.large
    ALLOCATED.any = bool(sizes)
    FIGURES.reserved.clear()


def memory_stats(device: Any = None) -> dict[str, Any]:
    index = number(device)
    current = _live_bytes(index)
    stats: dict[str, Any] = collections.OrderedDict()
    for name, now, peak in (
        ("allocated_bytes", current, FIGURES.peak[index]),
        ("active_bytes", current, FIGURES.peak[index]),
        ("requested_bytes", current, FIGURES.peak[index]),
        ("reserved_bytes", FIGURES.reserved[index], FIGURES.reserved[index]),
        ("inactive_split_bytes", 0, 0),
        ("allocation", 0, 0),
        ("segment", FIGURES.reserved[index] // _SEGMENT, FIGURES.reserved[index] // _SEGMENT),
        ("active", 0, 0),
        ("inactive_split", 0, 0),
    ):
        for pool in ("all", "large_pool", "small_pool"):
            stats[f"{name}.{pool}.current"] = now
            stats[f"{name}.{pool}.peak"] = peak
            stats[f"{name}.{pool}.allocated"] = peak
            stats[f"{name}.{pool}.freed"] = peak - now
    stats.update(num_alloc_retries=0, num_ooms=0, num_device_alloc=0, num_device_free=0, num_sync_all_streams=0)
    for name in ("oversize_allocations", "oversize_segments"):
        for word in ("current", "peak", "allocated", "freed"):
            stats[f"{name}.{word}"] = 0
    return stats


def mem_get_info(device: Any = None) -> tuple[int, int]:
    index = number(device)
    total = GPUS.properties(index).total_memory
    _live_bytes(index)
    return total - FIGURES.reserved[index], total


def reset_peak_memory_stats(device: Any = None) -> None:
    FIGURES.peak.pop(number(device), None)


class MemPool:
    """`torch.cuda.MemPool`: there is one allocator, and it has no pools."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.id = (0, id(self))

    def use_count(self) -> int:
        return 1

    def snapshot(self, *args: Any, **kwargs: Any) -> list[Any]:
        return []


@contextmanager
def use_mem_pool(pool: MemPool, device: Any = None) -> Iterator[None]:
    yield


def _nested_stats(device: Any = None) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for name, figure in memory_stats(device).items():
        *outer, last = name.split(".")
        place = nested
        for part in outer:
            place = place.setdefault(part, {})
        place[last] = figure
    return nested


def _snapshot(*args: Any, **kwargs: Any) -> dict[str, Any]:
    """What `torch.cuda.memory._snapshot` says where nothing was recorded."""
    return {"segments": [], "device_traces": [[] for _ in range(GPUS.count)]}


def _dump_snapshot(filename: str = "dump_snapshot.pickle", *args: Any, **kwargs: Any) -> None:
    Path(filename).write_bytes(pickle.dumps(_snapshot()))


def install(patches: Patches) -> None:
    from torch.cuda import memory

    functions = {
        "memory_allocated": memory_allocated,
        "max_memory_allocated": max_memory_allocated,
        "memory_reserved": memory_reserved,
        "max_memory_reserved": max_memory_reserved,
        "memory_cached": memory_reserved,
        "max_memory_cached": memory_reserved,
        "memory_stats": memory_stats,
        "mem_get_info": mem_get_info,
        "empty_cache": empty_cache,
        "reset_peak_memory_stats": reset_peak_memory_stats,
        "reset_max_memory_allocated": reset_peak_memory_stats,
        "reset_max_memory_cached": reset_peak_memory_stats,
        "reset_accumulated_memory_stats": lambda device=None: None,
        "set_per_process_memory_fraction": lambda fraction, device=None: None,
        "get_per_process_memory_fraction": lambda device=None: 1.0,
        "memory_snapshot": lambda *args, **kwargs: [],
        "memory_stats_as_nested_dict": _nested_stats,
        "_record_memory_history": lambda *args, **kwargs: None,
        "_snapshot": _snapshot,
        "_dump_snapshot": _dump_snapshot,
        "device_memory_used": memory_reserved,
        "use_mem_pool": use_mem_pool,
    }
    for name, function in functions.items():
        for owner in (torch.cuda, memory):
            if hasattr(owner, name):
                patches.replace(owner, name, function)
    for owner in (torch.cuda, memory):
        patches.set(owner, "MemPool", MemPool)

"""Explicit waits, the allocator, and what torch.cuda does."""

from __future__ import annotations

from syncwatch.facts.conditions import always
from syncwatch.facts.table import Case, fact
from syncwatch.model import Kind

ORDER = "let the device wait: event.wait(stream) or stream.wait_event(event)"

_waits = always("it waits by definition")

_CUDA_SILENT = """
Event Stream stream current_stream default_stream set_stream mem_get_info memory_allocated max_memory_allocated
memory_reserved max_memory_reserved memory_stats memory_summary reset_peak_memory_stats get_device_properties
get_device_name get_device_capability is_available is_initialized device_count current_device set_device device
ipc_collect manual_seed manual_seed_all seed initial_seed get_rng_state is_bf16_supported set_sync_debug_mode
get_sync_debug_mode nvtx.range_push nvtx.range_pop nvtx.range nvtx.mark reset_max_memory_allocated
"""


FACTS = (
    fact(
        ("torch.cuda.synchronize", "torch.accelerator.synchronize"),
        "device",
        Case(Kind.DEVICE_WAIT, _waits, 1, explicit=True, reported=False),
        instead=f"remove it, or {ORDER}",
    ),
    fact(
        ("torch.cuda.Stream.synchronize", "torch.Stream.synchronize", "torch.cuda.ExternalStream.synchronize"),
        "stream",
        Case(Kind.STREAM_WAIT, _waits, 1, explicit=True),
        instead=ORDER,
    ),
    fact(
        ("torch.cuda.Event.synchronize", "torch.Event.synchronize"),
        "event",
        Case(Kind.EVENT_WAIT, _waits, 1, explicit=True, reported=False),
        instead=f"{ORDER}; or ask event.query()",
    ),
    fact(
        ("torch.cuda.Event.elapsed_time", "torch.Event.elapsed_time"),
        "event end_event",
        note="Raises where an event has not completed: the wait is the synchronize before it.",
    ),
    fact(
        ("torch.cuda.empty_cache", "torch.cuda.memory.empty_cache", "torch.accelerator.empty_cache"),
        "",
        Case(
            Kind.ALLOCATOR, always("cached memory goes back with cudaFree, which waits for the device"), reported=False
        ),
        instead="leave the cache alone: memory freed by Python is reused without it",
        note="Without anything cached there is nothing to free, and no wait.",
    ),
    fact(
        (
            *(f"torch.cuda.{kind}.{name}" for kind in ("Event",) for name in ("query", "record", "wait")),
            *(f"torch.Event.{name}" for name in ("query", "record", "wait")),
            *(
                f"{kind}.{name}"
                for kind in ("torch.cuda.Stream", "torch.Stream")
                for name in ("query", "wait_event", "wait_stream", "record_event")
            ),
            *(f"torch.cuda.{name}" for name in _CUDA_SILENT.split()),
            "torch.Event",
            "torch.Stream",
            "torch.Generator",
            "torch.Generator.manual_seed",
            "torch.manual_seed",
            "torch.seed",
            "torch.initial_seed",
            "gc.collect",
        ),
        "",
    ),
)

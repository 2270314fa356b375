"""What to write instead of an operation that waits: the facts' word on it, else a sentence for the kind."""

from __future__ import annotations

from functools import lru_cache

from syncwatch.model import Kind

_BY_KIND = {
    Kind.SCALAR_READ: "keep the value on the device and read it once, after the loop or every N steps",
    Kind.TENSOR_READ: "copy with non_blocking=True into pinned memory, and wait for an event before reading",
    Kind.UPLOAD: "pin the memory and copy with non_blocking=True, or create the tensor on the device",
    Kind.PAGEABLE_ASYNC: "pin the memory: non_blocking has no effect on a large copy from pageable memory",
    Kind.DYNAMIC_SHAPE: "keep a fixed size and a mask (torch.where), or pass the size where it is known",
    Kind.DEVICE_WAIT: "remove it, or let the device wait for an event",
    Kind.STREAM_WAIT: "let the device wait: stream.wait_event(event)",
    Kind.EVENT_WAIT: "let the device wait: event.wait(stream)",
    Kind.ALLOCATOR: "leave the cache alone: memory freed by Python is reused without it",
    Kind.SOLVER: "use the variant without checks (the _ex functions), and test the info tensor later",
    Kind.COLLECTIVE: "let the streams order the ranks: collectives on device tensors do not block the host",
}


@lru_cache(maxsize=1024)
def remedy(op: str, kind: Kind) -> str:
    """What to write instead of `op`, as a phrase; "" where nothing is known."""
    from syncwatch.facts import predict
    from syncwatch.facts.describe import Call

    known = predict(op, Call())
    if known is not None and known.instead:
        return known.instead
    return _BY_KIND.get(kind, "")

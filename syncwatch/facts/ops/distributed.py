"""Collectives: which hold the host. Measured with NCCL; the others only order streams on the device."""

from __future__ import annotations

from syncwatch.facts.conditions import always
from syncwatch.facts.table import Case, fact
from syncwatch.model import Kind

_OBJECTS = always("objects are pickled and uploaded, and their sizes and bytes are read on the host")

FACTS = (
    fact(
        ("torch.distributed.barrier", "torch.distributed.distributed_c10d.barrier"),
        "group async_op device_ids",
        Case(
            Kind.COLLECTIVE,
            always("the host waits until the device and all other ranks have come to the barrier"),
            1,
            explicit=True,
            reported=False,
        ),
        instead="leave it out: collectives order the ranks on the device",
    ),
    fact(
        ("torch.distributed.all_gather_object",),
        "object_list obj group",
        Case(Kind.COLLECTIVE, _OBJECTS, None),
        instead="gather tensors: all_gather_into_tensor",
    ),
    fact(
        ("torch.distributed.broadcast_object_list",),
        "object_list src group device",
        Case(Kind.COLLECTIVE, _OBJECTS, None),
        instead="broadcast a tensor",
    ),
    fact(
        ("torch.distributed.gather_object", "torch.distributed.scatter_object_list"),
        "first second",
        Case(Kind.COLLECTIVE, _OBJECTS, None),
        instead="gather or scatter tensors",
        note="As all_gather_object and broadcast_object_list, by PyTorch's source; not measured by themselves.",
    ),
    fact(
        ("torch.distributed.all_reduce", "torch.distributed.all_gather_into_tensor"),
        "tensor",
        note="With NCCL a collective on a stream of its own; the current stream waits for it, the host does not.",
    ),
)

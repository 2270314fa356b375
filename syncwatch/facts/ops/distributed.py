"""Collectives and their wrappers: which hold the host.

With NCCL they only order streams on the device; Gloo carries device tensors through host memory.
"""

from __future__ import annotations

from syncwatch.facts.conditions import (
    Bound,
    Condition,
    Verdict,
    all_of,
    always,
    attr,
    flag,
    is_cuda,
    on_cuda,
    told,
)
from syncwatch.facts.table import Case, copies_out, fact, reads
from syncwatch.model import Kind

GATHER = "gather tensors: all_gather_into_tensor"
_FSDP = "torch.distributed.fsdp.FullyShardedDataParallel"
_DDP = "torch.nn.parallel.DistributedDataParallel"

# The default group is taken to be the device's: a group of another kind has to be named.
_gloo = told("group", "backend", "gloo", words="the group is Gloo's", otherwise="the group is NCCL's", unknown=False)

_objects = (~_gloo).described(
    "objects are pickled and uploaded, and their sizes and bytes are read on the host",
    "the group is Gloo's, where objects stay in host memory",
)

# name: the parameters in order
_COLLECTIVES = {
    "all_reduce": "first op group async_op",
    "broadcast": "first src group async_op",
    "reduce": "first dst op group async_op",
    "all_gather": "first second group async_op",
    "all_gather_into_tensor": "first second group async_op",
    "reduce_scatter": "first second op group async_op",
    "reduce_scatter_tensor": "first second op group async_op",
    "all_to_all_single": "first second output_split_sizes input_split_sizes group async_op",
    "gather": "first gather_list dst group async_op",
    "scatter": "first scatter_list src group async_op",
}
_through_host = (_gloo & on_cuda("first", "second", "tensor") & ~flag("async_op")).described(
    "Gloo carries device tensors through host memory, and the call ends when they have arrived",
    "the group is NCCL's, or the call is asynchronous",
)


def _unused(bound: Bound) -> Verdict:
    """A parameter has no part in the pass, and the replicas look for such: known from the passes before."""
    module = bound.get("module")
    if module is None:
        return None
    told_to_look = attr("module", "find_unused_parameters", False)(bound)
    syncs = attr("module", "syncs", True, unknown=True)(bound)
    return all_of(iter((told_to_look, attr("module", "unused", False)(bound), syncs)))


def _by_gloo(bound: Bound) -> Verdict:
    module = bound.get("module")
    backend = told("module", "backend", "gloo", words="", otherwise="", unknown=False)(bound)
    on_device = None if module is None else (is_cuda(module) if module.device is not None else True)
    syncs = attr("module", "syncs", True, unknown=True)(bound)
    return all_of(iter((backend, on_device, syncs)))


FACTS = (
    fact(
        ("torch.distributed.barrier", "torch.distributed.distributed_c10d.barrier"),
        "group async_op device_ids",
        Case(
            Kind.COLLECTIVE,
            (~_gloo & ~flag("async_op")).described(
                "the host waits until the device and all other ranks have come to the barrier",
                "the group is Gloo's, which asks no device, or async_op=True",
            ),
            1,
            explicit=True,
            reported=False,
        ),
        instead="leave it out: collectives order the ranks on the device",
    ),
    fact(
        ("torch.distributed.all_gather_object",),
        "object_list obj group",
        Case(Kind.COLLECTIVE, _objects, None),
        instead=GATHER,
    ),
    fact(
        ("torch.distributed.broadcast_object_list",),
        "object_list src group device",
        Case(Kind.COLLECTIVE, _objects, None),
        instead="broadcast a tensor",
    ),
    fact(
        ("torch.distributed.gather_object",),
        "obj object_gather_list dst group",
        Case(Kind.COLLECTIVE, _objects, None),
        instead=GATHER,
    ),
    fact(
        ("torch.distributed.scatter_object_list",),
        "scatter_object_output_list scatter_object_input_list src group",
        Case(Kind.COLLECTIVE, _objects, None),
        instead="scatter a tensor",
    ),
    *(
        fact(
            (f"torch.distributed.{name}",),
            params,
            Case(Kind.COLLECTIVE, _through_host, None, reported=False),
            instead="an NCCL group for device tensors",
            note="With NCCL a collective on a stream of its own; the current stream waits for it, the host does not.",
        )
        for name, params in _COLLECTIVES.items()
    ),
    fact(
        (f"{_DDP}.forward", f"{_DDP}.__call__"),
        "module",
        copies_out(
            Condition(
                "find_unused_parameters=True and a parameter has no part in the result, so that the backward pass "
                "copies the list of used parameters to the host",
                _unused,
                "every parameter is used, or unused ones are not looked for",
            ),
            waits=None,
            reported=False,
            instead="give every parameter a part in the result, or static_graph=True",
        ),
        Case(
            Kind.COLLECTIVE,
            Condition(
                "the group is Gloo's, which carries the gradients through host memory", _by_gloo, "the group is NCCL's"
            ),
            None,
            reported=False,
            instead="an NCCL group",
        ),
        note="It is the backward pass that waits. The second one waits once, to lay out its buckets of gradients.",
    ),
    fact(
        (_DDP, f"{_DDP}.__init__"),
        "module",
        Case(
            Kind.COLLECTIVE,
            always("the ranks compare their parameters and copy those of the first"),
            None,
            reported=False,
        ),
        instead="wrap the module once, before the loop",
    ),
    fact(
        (f"{_FSDP}.clip_grad_norm_",),
        "module max_norm norm_type",
        reads(always("the sum over the ranks goes through host memory")),
        instead="fully_shard and torch.nn.utils.clip_grad_norm_, which stay on the device",
    ),
    fact(
        (f"{_FSDP}.state_dict",),
        "module",
        Case(
            Kind.DEVICE_WAIT, always("the device is synchronized before the shards are gathered"), None, reported=False
        ),
        instead="save every N steps",
    ),
    fact(
        ("torch.distributed.checkpoint.save",),
        "state_dict",
        copies_out(always("all tensors are copied to the host and written"), waits=None, explicit=True),
        instead="torch.distributed.checkpoint.async_save every N steps",
    ),
    fact(
        ("torch.distributed.checkpoint.state_dict.get_model_state_dict",),
        "model submodules options",
        copies_out(
            attr("options", "cpu_offload", False, unknown=False).described(
                "cpu_offload=True copies all tensors to the host", "the tensors stay where they are"
            ),
            waits=None,
            explicit=True,
        ),
        instead="do it every N steps",
    ),
    fact(
        ("torch.distributed.optim.ZeroRedundancyOptimizer.consolidate_state_dict",),
        "optimizer to",
        Case(Kind.COLLECTIVE, always("the states of the ranks are pickled and sent, and their sizes read"), None),
        instead="do it every N steps",
    ),
    fact(
        (
            f"{_FSDP}.forward",
            "torch.distributed.all_to_all",
            "torch.distributed.new_group",
            "torch.distributed.tensor.DTensor.full_tensor",
            "torch.distributed.tensor.DTensor.to_local",
            "torch.distributed.optim.ZeroRedundancyOptimizer.step",
        ),
        "module",
    ),
)

"""torch.distributed: ranks, collectives and their handles; modules that run on several devices."""

from __future__ import annotations

from syncwatch.static.library.protocol import ALIASES, BASES, PREFIX_BASES, LibCall, Machine, attribute, default, model
from syncwatch.static.library.tensors import flag, tensors
from syncwatch.static.values import (
    BOOL,
    FALSE,
    INT,
    NONE,
    STR,
    TRUE,
    UNKNOWN,
    Host,
    Obj,
    Value,
)

ALIASES["torch.distributed.distributed_c10d"] = "torch.distributed"
ALIASES["torch.nn.parallel.distributed.DistributedDataParallel"] = "torch.nn.parallel.DistributedDataParallel"
ALIASES["torch.nn.parallel.data_parallel.DataParallel"] = "torch.nn.DataParallel"
ALIASES["torch.nn.parallel.DataParallel"] = "torch.nn.DataParallel"
ALIASES["torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel"] = (
    "torch.distributed.fsdp.FullyShardedDataParallel"
)
_WRAPPERS = (
    "torch.nn.parallel.DistributedDataParallel",
    "torch.nn.DataParallel",
    "torch.distributed.fsdp.FullyShardedDataParallel",
)
for _name in _WRAPPERS:
    BASES[_name] = ("torch.nn.Module",)
BASES["torch.distributed.Work"] = BASES["torch.distributed.ProcessGroup"] = ()
PREFIX_BASES.append(("torch.distributed.fsdp.", "object"))


@model(
    "torch.distributed.get_rank",
    "torch.distributed.get_node_local_rank",
    "torch.distributed.get_group_rank",
    "torch.distributed.get_global_rank",
)
def _rank(m: Machine, call: LibCall) -> Value:
    return Host("int", "rank")


@model("torch.distributed.get_world_size", "torch.distributed.group.size")
def _world_size(m: Machine, call: LibCall) -> Value:
    return INT


@model(
    "torch.distributed.is_initialized",
    "torch.distributed.is_available",
    "torch.distributed.is_torchelastic_launched",
    "torch.distributed.is_nccl_available",
    "torch.distributed.is_gloo_available",
)
def _is(m: Machine, call: LibCall) -> Value:
    return TRUE if call.name.endswith("is_available") else BOOL


@model("torch.distributed.get_backend")
def _backend(m: Machine, call: LibCall) -> Value:
    return STR


@model("torch.distributed.init_process_group", "torch.distributed.destroy_process_group")
def _group(m: Machine, call: LibCall) -> Value:
    return NONE


_COLLECTIVES = """all_reduce broadcast reduce all_gather all_gather_into_tensor gather scatter reduce_scatter
    reduce_scatter_tensor all_to_all all_to_all_single isend irecv all_reduce_coalesced all_gather_coalesced barrier
    monitored_barrier batch_isend_irecv send recv"""


def _collective(m: Machine, call: LibCall) -> Value:
    """Collectives write into their arguments; asynchronous ones return a handle."""
    name = call.name.rpartition(".")[2]
    starts = flag(call.kwargs.get("async_op"), False)
    if name in ("isend", "irecv") or starts is True:
        work = m.new("torch.distributed.Work")
        m.setattr(work, "<tensors>", call.args[0] if call.args else next(iter(call.kwargs.values()), NONE))
        return work
    if name == "batch_isend_irecv":
        return m.list(None, m.new("torch.distributed.Work"))
    if starts is None:
        return UNKNOWN
    return NONE


for _name in _COLLECTIVES.split():
    model(f"torch.distributed.{_name}")(_collective)


@model("torch.distributed.Work.wait", "torch.distributed.Work.is_completed", "torch.distributed.Work.synchronize")
def _wait(m: Machine, call: LibCall) -> Value:
    return BOOL


@model("torch.distributed.Work.get_future")
def _future(m: Machine, call: LibCall) -> Value:
    return m.new("torch.futures.Future")


@model(
    "torch.distributed.broadcast_object_list",
    "torch.distributed.all_gather_object",
    "torch.distributed.gather_object",
    "torch.distributed.scatter_object_list",
)
def _objects(m: Machine, call: LibCall) -> Value:
    return NONE


@default("torch.distributed.")
def _other(m: Machine, call: LibCall) -> Value:
    return UNKNOWN


@model(
    "torch.distributed.nn.all_reduce",
    "torch.distributed.nn.functional.all_reduce",
    "torch.distributed._functional_collectives.all_reduce",
    "torch.distributed.nn.functional.broadcast",
)
def _functional(m: Machine, call: LibCall) -> Value:
    found = tensors(call.args[:1])
    return found[0] if found else UNKNOWN


# ---------------------------------------------------------------------------------------- modules


@model(*(f"{name}.__init__" for name in _WRAPPERS))
def _wrap(m: Machine, call: LibCall) -> Value:
    obj = call.self
    if type(obj) is Obj:
        m.setattr(obj, "module", call.arg(0, "module", UNKNOWN))
        m.setattr(obj, "training", TRUE)
        m.setattr(obj, "find_unused_parameters", call.kwargs.get("find_unused_parameters", FALSE))
    return NONE


@model(*(f"{name}.{method}" for name in _WRAPPERS for method in ("__call__", "forward")))
def _call(m: Machine, call: LibCall) -> Value:
    inner = call.self.slots.get("module", UNKNOWN) if type(call.self) is Obj else UNKNOWN
    return m.call(inner, call.args, dict(call.kwargs))


@model(
    "torch.nn.parallel.DistributedDataParallel.no_sync",
    "torch.nn.parallel.DistributedDataParallel.join",
    "torch.distributed.fsdp.FullyShardedDataParallel.no_sync",
)
def _no_sync(m: Machine, call: LibCall) -> Value:
    return m.new("torch.nn.parallel.no_sync_context")


@model("torch.nn.parallel.DistributedDataParallel.register_comm_hook")
def _comm_hook(m: Machine, call: LibCall) -> Value:
    return NONE


@model(
    "torch.distributed.fsdp.fully_shard",
    "torch.distributed._composable.fsdp.fully_shard",
    "torch.distributed._composable.replicate",
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm",
    "torch.distributed.tensor.parallel.parallelize_module",
    "torch.nn.utils.convert_conv2d_weight_memory_format",
    "torch.distributed.algorithms._checkpoint.checkpoint_wrapper.checkpoint_wrapper",
)
def _same_module(m: Machine, call: LibCall) -> Value:
    return call.arg(0, "module", UNKNOWN)


@attribute("torch.nn.DataParallel.device_ids", "torch.nn.parallel.DistributedDataParallel.device_ids")
def _device_ids(m: Machine, value: Value, name: str) -> Value:
    return m.list(None, INT)

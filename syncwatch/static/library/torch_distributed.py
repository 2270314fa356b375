"""torch.distributed: ranks, collectives and their handles; modules that run on several devices."""

from __future__ import annotations

from syncwatch.static.library.protocol import ALIASES, BASES, PREFIX_BASES, LibCall, Machine, attribute, default, model
from syncwatch.static.library.tensors import contents, flag, replaced, tensors
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
    Tensor,
    Tuple,
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
    looks = type(call.self) is Obj and call.self.slots.get("find_unused_parameters") == TRUE
    if type(inner) is not Obj or not looks or m.mode("no_sync") == TRUE:
        return m.call(inner, call.args, dict(call.kwargs))
    with m.watched_layers() as called:
        result = m.call(inner, call.args, dict(call.kwargs))
    if not called or not _leaves_out(inner, {id(layer) for layer in called}, set()):
        return result
    return _marked(result)


def _leaves_out(module: Obj, called: set[int], seen: set[int]) -> bool:
    """Whether a layer with parameters of its own, somewhere in the module, was not called."""
    if id(module) in called or id(module) in seen:
        return False
    seen.add(id(module))
    values = [v for name, v in module.slots.items() if not (isinstance(name, str) and name.startswith("<"))]
    if isinstance(module.type, str) and not module.many:
        kind = module.type.rpartition(".")[2]
        if kind not in _CONTAINERS and module.type.startswith("torch.nn.") and any(type(v) is Tensor for v in values):
            return True
    held = [item for value in values for item in (contents(value) if type(value) is not Obj else (value,))]
    return any(_leaves_out(v, called, seen) for v in held if type(v) is Obj)


_CONTAINERS = ("Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict")


def _marked(value: Value) -> Value:
    """The result of replicas that look for unused parameters, and find some: their backward pass waits."""
    if type(value) is Tensor:
        return replaced(value, marks=value.marks | {"left-out"})
    if type(value) is Tuple and value.items is not None:
        return Tuple(tuple(_marked(v) for v in value.items), value.elem, value.type, value.names)
    return value


@model(
    "torch.nn.parallel.DistributedDataParallel.no_sync",
    "torch.nn.parallel.DistributedDataParallel.join",
    "torch.distributed.fsdp.FullyShardedDataParallel.no_sync",
)
def _no_sync(m: Machine, call: LibCall) -> Value:
    context = m.new("torch.nn.parallel.no_sync_context")
    m.setattr(context, "skips", FALSE if call.name.endswith(".join") else TRUE)
    return context


BASES["torch.nn.parallel.no_sync_context"] = ("syncwatch.mode",)


@model("torch.nn.parallel.no_sync_context.__enter__", "torch.nn.parallel.no_sync_context.__exit__")
def _accumulating(m: Machine, call: LibCall) -> Value:
    """Inside, the replicas leave the gradients to a later pass, and look for nothing."""
    if type(call.self) is Obj and call.self.slots.get("skips") == TRUE:
        m.set_mode("no_sync", TRUE if call.name.endswith("enter__") else FALSE)
    return NONE


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

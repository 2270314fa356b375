"""torch.save and load, checkpointing, compilation, torch.func, torch.nn.utils and init, profilers and loggers."""

from __future__ import annotations

from syncwatch.static.library.mappings import entries_of, is_mapping
from syncwatch.static.library.modules import all_tensors, is_module, loaded
from syncwatch.static.library.protocol import ALIASES, BASES, LibCall, Machine, default, model
from syncwatch.static.library.tensors import (
    contents,
    given,
    operands,
    replaced,
    result,
    shape_of,
    sort_of,
    tensors,
)
from syncwatch.static.values import (
    FLOAT,
    INT,
    NONE,
    STR,
    UNKNOWN,
    Device,
    Lib,
    Obj,
    Partial,
    Tensor,
    Tuple,
    Value,
)

# ---------------------------------------------------------------------------------------- saving and loading


@model(
    "torch.save",
    "pickle.dump",
    "pickle.dumps",
    "safetensors.torch.save_file",
    "safetensors.torch.save",
    "accelerate.utils.save",
    "torch.distributed.checkpoint.save",
)
def _save(m: Machine, call: LibCall) -> Value:
    """Every device tensor inside the object is copied to the host."""
    obj = call.arg(0, "obj", UNKNOWN)
    held = _reachable(obj)
    on_gpu = [t for t in held if t.device == "cuda"]
    if on_gpu:
        op = "torch.save" if call.name in ("torch.save", "accelerate.utils.save") else "torch.Tensor.cpu"
        op = call.name if call.name.startswith("pickle.") else op
        m.ask(op, [on_gpu[0]], via="call")
    return UNKNOWN if call.name.endswith("dumps") else NONE


def _reachable(value: Value, depth: int = 0) -> list[Tensor]:
    found: list[Tensor] = []
    for v in contents(value):
        if type(v) is Tensor:
            found.append(v)
        elif is_module(v):
            found.extend(t for _, t in all_tensors(v))
        elif type(v) is Obj and depth < 3 and isinstance(v.type, str) and not is_mapping(v):
            found.extend(tensors(v.slots.values()))
    return found


@model(
    "torch.load",
    "torch.hub.load_state_dict_from_url",
    "safetensors.torch.load_file",
    "safetensors.torch.load",
    "torch.utils.model_zoo.load_url",
    "torch.distributed.checkpoint.load",
)
def _load(m: Machine, call: LibCall) -> Value:
    """A state dict on the device that `map_location` names; what else a file holds is unknown."""
    where = call.arg(1, "map_location", call.kwargs.get("device"))
    device: Device | None = Device("cpu") if "safetensors" in call.name else None
    if given(where):
        device = m.device_of(where)
    if device is None:
        return UNKNOWN
    return m.dict({}, UNKNOWN)


@model("torch.hub.load", "torch.hub.download_url_to_file", "torch.hub.get_dir", "torch.hub.set_dir")
def _hub(m: Machine, call: LibCall) -> Value:
    if call.name.endswith("hub.load"):
        return loaded(m, "torch.nn.Module")
    return UNKNOWN


@model("torch.nn.Module.load_state_dict")
def _load_state(m: Machine, call: LibCall) -> Value:
    """Copies each entry into its parameter: from the host that is an upload."""
    module, state = call.self, call.arg(0, "state_dict", UNKNOWN)
    if type(module) is Obj and is_module(module):
        own = [t for _, t in all_tensors(module)]
        known, rest = entries_of(m, state) if type(state) is Obj else ({}, None)
        sources = tensors([*known.values(), rest] if rest is not None else list(known.values()))
        if own and sources:
            m.ask("torch.Tensor.copy_", [own[0], sources[0]], via="library")
    names = ("missing_keys", "unexpected_keys")
    with m.part("missing"):
        missing = m.list(None, STR)
    return Tuple((missing, m.list(None, STR)), type="torch.nn.IncompatibleKeys", names=names)


# ---------------------------------------------------------------------------------------- wrappers of callables

_SAME = """torch.compile torch.jit.script torch.jit.ignore torch.jit.unused torch.jit.export torch.jit.script_method
    torch.compiler.disable torch._dynamo.disable torch._dynamo.optimize torch.compiler.allow_in_graph torch.jit.freeze
    torch.jit.optimize_for_inference torch.fx.symbolic_trace torch.fx.wrap torch.fx.GraphModule torch.jit.interface
    torch.func.functionalize torch.jit.trace torch.jit.trace_module torch.cuda.amp.custom_fwd
    torch.cuda.amp.custom_bwd
    torch.amp.custom_fwd torch.amp.custom_bwd torch.autograd.function.once_differentiable torch.jit._overload_method
    torch.export.export torch.quantization.prepare torch.quantization.convert torch.ao.quantization.prepare
    torch.nn.utils.parametrizations.weight_norm torch.nn.utils.parametrizations.spectral_norm
    torch.nn.utils.weight_norm
    torch.nn.utils.spectral_norm torch.nn.utils.remove_weight_norm torch.nn.utils.parametrizations.orthogonal
    torch.nn.utils.fusion.fuse_conv_bn_eval torch.nn.utils.skip_init torch.library.custom_op
    torch.library.register_fake
    torch.compiler.assume_constant_result torch._dynamo.allow_in_graph torch.compiler.set_stance"""


@model(*_SAME.split())
def _same(m: Machine, call: LibCall) -> Value:
    """What is compiled, scripted or wrapped behaves as it did; with options alone this is a decorator."""
    first = call.arg(0, "model", call.kwargs.get("fn", call.kwargs.get("func")))
    if type(first).__name__ in ("Func", "Bound", "Partial", "Class", "Obj", "Lib", "Union"):
        return first
    return Lib("syncwatch.identity")


@model(
    "torch.compiler.reset",
    "torch._dynamo.reset",
    "torch._dynamo.mark_dynamic",
    "torch.compiler.cudagraph_mark_step_begin",
    "torch._dynamo.graph_break",
    "torch._dynamo.maybe_mark_dynamic",
    "torch._check",
    "torch._assert",
    "torch._check_is_size",
)
def _nothing(m: Machine, call: LibCall) -> Value:
    return NONE


@model("torch.jit.load")
def _jit_load(m: Machine, call: LibCall) -> Value:
    return loaded(m, "torch.nn.Module", call.arg(1, "map_location"))


@model("torch.jit.annotate", "torch.jit.fork", "torch.jit.wait")
def _jit_call(m: Machine, call: LibCall) -> Value:
    if call.name.endswith("fork"):
        return m.call(call.arg(0, None, UNKNOWN), call.args[1:], dict(call.kwargs))
    return call.args[-1] if call.args else UNKNOWN


@model("torch.utils.checkpoint.checkpoint", "torch.distributed.algorithms._checkpoint.checkpoint")
def _checkpoint(m: Machine, call: LibCall) -> Value:
    """Calls the function; the options are its own."""
    own = ("use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop")
    kwargs = {k: v for k, v in call.kwargs.items() if k not in own}
    return m.call(call.arg(0, "function", UNKNOWN), call.args[1:], kwargs)


@model("torch.utils.checkpoint.checkpoint_sequential")
def _checkpoint_sequential(m: Machine, call: LibCall) -> Value:
    value = call.arg(2, "input", UNKNOWN)
    functions = call.arg(0, "functions", UNKNOWN)
    if is_module(functions):
        return m.call(functions, (value,))
    inner = m.iterate(functions)
    for function in inner.items if inner.items is not None else (inner.elem,):
        value = m.call(function, (value,))
    return value


@model(
    "torch.func.vmap",
    "torch.vmap",
    "torch.func.grad",
    "torch.func.jacrev",
    "torch.func.jacfwd",
    "torch.func.hessian",
    "torch.func.grad_and_value",
)
def _transform(m: Machine, call: LibCall) -> Value:
    name = call.name.rpartition(".")[2]
    return Partial(Lib(f"syncwatch.{'vmap' if name == 'vmap' else name}"), call.args[:1])


@model("syncwatch.vmap")
def _vmapped(m: Machine, call: LibCall) -> Value:
    """The function sees slices; its result gains the mapped dimension."""

    def sliced(v: Value) -> Value:
        return replaced(v, shape=None if not v.shape else v.shape[1:]) if type(v) is Tensor else v

    value = m.call(call.arg(0, None, UNKNOWN), tuple(sliced(a) for a in call.args[1:]), dict(call.kwargs))

    def stacked(v: Value) -> Value:
        if type(v) is Tensor:
            return replaced(v, shape=None if v.shape is None else (None, *v.shape))
        if type(v) is Tuple and v.items is not None:
            return Tuple(tuple(stacked(i) for i in v.items), v.elem, v.type, v.names)
        return v

    return m.each(value, stacked)


@model("syncwatch.grad", "syncwatch.jacrev", "syncwatch.jacfwd", "syncwatch.hessian", "syncwatch.grad_and_value")
def _gradient(m: Machine, call: LibCall) -> Value:
    value = m.call(call.arg(0, None, UNKNOWN), call.args[1:], dict(call.kwargs))
    first = call.arg(1, None, UNKNOWN)
    gradient: Value = result([first], shape_of(first), sort_of(first)) if type(first) is Tensor else first
    return Tuple((gradient, value)) if call.name.endswith("grad_and_value") else gradient


@model("torch.func.functional_call", "torch.nn.utils.stateless.functional_call")
def _functional_call(m: Machine, call: LibCall) -> Value:
    args = call.arg(2, "args", Tuple(()))
    inner = m.iterate(args) if type(args) is Tuple else None
    values = (inner.items or ()) if inner is not None else (args,)
    return m.call(call.arg(0, "module", UNKNOWN), values)


# ---------------------------------------------------------------------------------------- torch.nn.utils, init


@model(
    "torch.nn.utils.clip_grad_norm_",
    "torch.nn.utils.clip_grad_norm",
    "torch.nn.utils.get_total_norm",
    "torch.nn.utils.clip_grad.clip_grad_norm_",
)
def _clip(m: Machine, call: LibCall) -> Value:
    """The total norm, on the parameters' device."""
    params = call.arg(0, "parameters", UNKNOWN)
    inner = m.iterate(params) if type(params) is not Tensor else None
    found = tensors([params] if inner is None else list(inner.items if inner.items is not None else (inner.elem,)))
    return result(found, (), "float", grad=False) if found else Tensor(None, shape=(), dtype="float")


@model("torch.nn.utils.clip_grad_value_", "torch.nn.utils.clip_grads_with_norm_", "torch.nn.utils.vector_to_parameters")
def _clip_value(m: Machine, call: LibCall) -> Value:
    return NONE


@model("torch.nn.utils.parameters_to_vector")
def _vector(m: Machine, call: LibCall) -> Value:
    inner = m.iterate(call.arg(0, "parameters", UNKNOWN))
    return result(tensors(inner.items if inner.items is not None else (inner.elem,)), (None,), "float")


def _first_tensor(m: Machine, call: LibCall) -> Value:
    return call.arg(0, "tensor", UNKNOWN)


_NAMES = """uniform_ normal_ constant_ ones_ zeros_ eye_ dirac_ xavier_uniform_ xavier_normal_ kaiming_uniform_
        kaiming_normal_ trunc_normal_ orthogonal_ sparse_ xavier_uniform xavier_normal kaiming_uniform
        kaiming_normal"""
for _name in _NAMES.split():
    model(f"torch.nn.init.{_name}")(_first_tensor)


@model("torch.nn.init.calculate_gain", "torch.nn.init._calculate_fan_in_and_fan_out")
def _gain(m: Machine, call: LibCall) -> Value:
    return FLOAT if call.name.endswith("gain") else Tuple((INT, INT))


# ---------------------------------------------------------------------------------------- packed sequences

_PACKED = "torch.nn.utils.rnn.PackedSequence"
BASES[_PACKED] = ()


@model("torch.nn.utils.rnn.pack_padded_sequence", "torch.nn.utils.rnn.pack_sequence")
def _pack(m: Machine, call: LibCall) -> Value:
    data, lengths = call.arg(0, "input", UNKNOWN), call.arg(1, "lengths", UNKNOWN)
    found = tensors([data])
    whole = result(found, None, "float") if found else UNKNOWN
    packed = m.new(_PACKED)
    sizes = Tensor("cpu", shape=(None,), dtype="int", requires_grad=False)
    unsorted = call.kwargs.get("enforce_sorted")
    order: Value = NONE
    if unsorted is not None and getattr(unsorted, "value", None) is False and found:
        order = result(found, (None,), "int")
    for name, value in (
        ("data", whole),
        ("batch_sizes", sizes),
        ("sorted_indices", order),
        ("unsorted_indices", order),
    ):
        m.setattr(packed, name, value)
    del lengths
    return packed


@model("torch.nn.utils.rnn.pad_packed_sequence")
def _pad_packed(m: Machine, call: LibCall) -> Value:
    """The padded batch, and the lengths on the host: an order that lives on the device is read for them."""
    packed = call.arg(0, "sequence", UNKNOWN)
    data = packed.slots.get("data", UNKNOWN) if type(packed) is Obj else UNKNOWN
    order = packed.slots.get("unsorted_indices", NONE) if type(packed) is Obj else NONE
    if type(order) is Tensor:
        m.ask("torch.Tensor.cpu", [order], via="library")
    found = tensors([data])
    padded: Value = result(found, (None, None, None), "float") if found else UNKNOWN
    return Tuple((padded, Tensor("cpu", shape=(None,), dtype="int", pinned=False, requires_grad=False)))


@model("torch.nn.utils.rnn.pad_sequence", "torch.nn.utils.rnn.unpad_sequence", "torch.nn.utils.rnn.unpack_sequence")
def _pad(m: Machine, call: LibCall) -> Value:
    inner = m.iterate(call.arg(0, "sequences", UNKNOWN))
    found = tensors(inner.items if inner.items is not None else (inner.elem,))
    if "pad_sequence" not in call.name or "unpad" in call.name:
        return m.list(None, found[0] if found else UNKNOWN)
    if not found:
        return UNKNOWN
    shape = found[0].shape
    return result(found, None if shape is None else (None, *(None,) * len(shape)), found[0].dtype)


@model(f"{_PACKED}.to", f"{_PACKED}.cuda", f"{_PACKED}.cpu", f"{_PACKED}.pin_memory")
def _move_packed(m: Machine, call: LibCall) -> Value:
    if type(call.self) is not Obj:
        return UNKNOWN
    moved = m.new(_PACKED)
    for key, value in list(call.self.slots.items()):
        same = key == "batch_sizes" or type(value) is not Tensor
        m.setattr(
            moved, key, value if same else m.method(value, call.name.rpartition(".")[2], call.args, dict(call.kwargs))
        )
    return moved


# ---------------------------------------------------------------------------------------- profilers, loggers, testing


@model(
    "torch.profiler.profile",
    "torch.profiler.record_function",
    "torch.autograd.profiler.profile",
    "torch.profiler.schedule",
    "torch.profiler.tensorboard_trace_handler",
    "torch.autograd.profiler.record_function",
)
def _profiler(m: Machine, call: LibCall) -> Value:
    return m.new(call.name)


@model("torch.profiler.profile.step", "torch.profiler.profile.start", "torch.profiler.profile.stop")
def _profiler_step(m: Machine, call: LibCall) -> Value:
    return NONE


ALIASES["tensorboardX.SummaryWriter"] = "torch.utils.tensorboard.SummaryWriter"
ALIASES["torch.utils.tensorboard.writer.SummaryWriter"] = "torch.utils.tensorboard.SummaryWriter"
BASES["torch.utils.tensorboard.SummaryWriter"] = ()


@model(
    "torch.utils.tensorboard.SummaryWriter.add_scalar",
    "torch.utils.tensorboard.SummaryWriter.add_scalars",
    "torch.utils.tensorboard.SummaryWriter.add_histogram",
    "torch.utils.tensorboard.SummaryWriter.add_image",
    "torch.utils.tensorboard.SummaryWriter.add_images",
    "torch.utils.tensorboard.SummaryWriter.add_embedding",
    "torch.utils.tensorboard.SummaryWriter.add_video",
    "torch.utils.tensorboard.SummaryWriter.add_tensor",
    "torch.utils.tensorboard.SummaryWriter.add_pr_curve",
)
def _add(m: Machine, call: LibCall) -> Value:
    """Each converts what it is given with `x.detach().cpu().numpy()`."""
    name = call.name.rpartition(".")[2]
    values = [call.arg(1, "scalar_value", call.kwargs.get("values", UNKNOWN))]
    if name in ("add_image", "add_images"):
        values = [call.arg(1, "img_tensor", UNKNOWN)]
    elif name == "add_pr_curve":
        values = list(operands(call))
    for value in values:
        for t in contents(value):
            if type(t) is Tensor:
                m.ask("torch.Tensor.cpu", [t], via="experiment-logger")
    return NONE


@default(
    "torch.utils.tensorboard.",
    "torch.profiler.",
    "torch.utils.",
    "torch.onnx.",
    "torch.library.",
    "torch.ops.",
    "torch.testing.",
    "torch.fx.",
    "torch.jit.",
    "torch.func.",
    "torch.export.",
    "torch.hub.",
    "torch.quantization.",
    "torch.ao.",
    "torch.nn.utils.",
    "torch.nn.init.",
    "torch.multiprocessing.",
    "torch.package.",
    "torch.futures.",
    "torch.compiler.",
    "torch._dynamo.",
    "torch._inductor.",
    "torch._C.",
    "torch.random.",
)
def _quiet(m: Machine, call: LibCall) -> Value:
    return UNKNOWN


@model("torch.random.initial_seed", "torch.random.seed")
def _seed(m: Machine, call: LibCall) -> Value:
    return INT


@model("torch.testing.assert_close")
def _assert_close(m: Machine, call: LibCall) -> Value:
    return NONE

"""einops, launchers, configuration, loggers, meters and attention kernels that training programs lean on."""

from __future__ import annotations

from syncwatch.static.library.protocol import ALIASES, BASES, LibCall, Machine, attribute, default, model
from syncwatch.static.library.tensors import (
    Shape,
    contents,
    result,
    shape_of,
    sort_of,
    spread,
    tensors,
    uniform,
)
from syncwatch.static.values import (
    FLOAT,
    INT,
    NONE,
    UNKNOWN,
    Array,
    Const,
    Host,
    Iter,
    Lib,
    Obj,
    Tensor,
    Tuple,
    Value,
    element,
)

# ---------------------------------------------------------------------------------------- einops


def _axes(pattern: Value) -> Shape:
    """The number of dimensions that the right side of an einops pattern names."""
    if type(pattern) is not Const or not isinstance(pattern.value, str) or "->" not in pattern.value:
        return None
    right = pattern.value.split("->")[1]
    if "..." in right or "*" in right:
        return None
    count, depth = 0, 0
    for token in right.replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            count, depth = count + 1, depth + 1
        elif token == ")":
            depth -= 1
        elif depth == 0:
            count += 1
    return (None,) * count


@model("einops.rearrange", "einops.reduce", "einops.repeat", "einops.einsum")
def _rearrange(m: Machine, call: LibCall) -> Value:
    """A tensor beside its operands; the pattern says how many dimensions it has."""

    def rule(m: Machine, call: LibCall) -> Value:
        patterns = [a for a in call.args if type(a) is Const and isinstance(a.value, str) and "->" in a.value]
        pattern = patterns[0] if patterns else call.kwargs.get("pattern", UNKNOWN)
        values = [v for a in call.args for v in contents(a) if type(v) is Tensor]
        if not values:
            return next((a for a in call.args if type(a) is Array), UNKNOWN)
        return result(values, _axes(pattern), values[0].dtype, dense=None)

    return spread(rule)(m, uniform(call))


@model("einops.layers.torch.Rearrange.__call__", "einops.layers.torch.Reduce.__call__")
def _rearrange_layer(m: Machine, call: LibCall) -> Value:
    pattern = call.self.slots.get("pattern", UNKNOWN) if type(call.self) is Obj else UNKNOWN
    found = tensors(call.args[:1])
    return result(found, _axes(pattern), found[0].dtype, dense=None) if found else UNKNOWN


@model("einops.layers.torch.Rearrange.__init__", "einops.layers.torch.Reduce.__init__")
def _rearrange_init(m: Machine, call: LibCall) -> Value:
    if type(call.self) is Obj:
        m.setattr(call.self, "pattern", call.arg(0, "pattern", UNKNOWN))
    return NONE


for _name in ("Rearrange", "Reduce"):
    BASES[f"einops.layers.torch.{_name}"] = ("torch.nn.Module",)


@model("einops.pack")
def _pack(m: Machine, call: LibCall) -> Value:
    found = tensors(call.args[:1])
    packed: Value = result(found, None, found[0].dtype) if found else UNKNOWN
    return Tuple((packed, UNKNOWN))


@model("einops.unpack")
def _unpack(m: Machine, call: LibCall) -> Value:
    found = tensors(call.args[:1])
    return m.list(None, result(found, None, found[0].dtype) if found else UNKNOWN)


# ---------------------------------------------------------------------------------------- attention kernels


@model(
    "flash_attn.flash_attn_func",
    "flash_attn.flash_attn_varlen_func",
    "flash_attn.flash_attn_qkvpacked_func",
    "flash_attn.flash_attn_with_kvcache",
    "flash_attn.flash_attn_interface.flash_attn_func",
    "xformers.ops.memory_efficient_attention",
    "torch.nn.attention.flex_attention.flex_attention",
)
def _attention(m: Machine, call: LibCall) -> Value:
    """The attention's output has the shape of the queries."""
    found = tensors([*call.args, *call.kwargs.values()])
    return result(found, found[0].shape, found[0].dtype) if found else UNKNOWN


@default(
    "kornia.", "torch_scatter.", "torch_cluster.", "torch_sparse.", "pytorch3d.", "monai.", "torchaudio.functional."
)
def _tensor_library(m: Machine, call: LibCall) -> Value:
    """Libraries whose functions compute where their operands are."""
    name = call.name.rpartition(".")[2]
    found = tensors([*call.args, *call.kwargs.values()])
    return result(found, None, None) if found and name.islower() and call.self is None else UNKNOWN


# ---------------------------------------------------------------------------------------- launchers


@model("torch.multiprocessing.spawn", "torch.multiprocessing.start_processes", "torch.multiprocessing.spawn.spawn")
def _spawn(m: Machine, call: LibCall) -> Value:
    """Calls the function with the rank, in as many processes."""
    args = call.arg(1, "args")
    inner = m.iterate(args) if args is not None else Iter(())
    m.call(call.arg(0, "fn", UNKNOWN), (Host("int", "rank"), *(inner.items or ())))
    return NONE


@model("accelerate.notebook_launcher", "accelerate.debug_launcher")
def _launcher(m: Machine, call: LibCall) -> Value:
    args = call.arg(1, "args")
    inner = m.iterate(args) if args is not None else Iter(())
    m.call(call.arg(0, "function", UNKNOWN), inner.items or ())
    return NONE


@model("torch.multiprocessing.Process.__init__", "multiprocessing.Process.__init__")
def _process(m: Machine, call: LibCall) -> Value:
    if type(call.self) is Obj:
        for name, value in call.kwargs.items():
            m.setattr(call.self, name, value)
    return NONE


@model("torch.multiprocessing.Process.start", "multiprocessing.Process.start")
def _start(m: Machine, call: LibCall) -> Value:
    if type(call.self) is Obj and "target" in call.self.slots:
        inner = m.iterate(call.self.slots.get("args", Tuple(())))
        m.call(call.self.slots["target"], inner.items or ())
    return NONE


# ---------------------------------------------------------------------------------------- configuration


@model(
    "pydantic.BaseModel.__init__",
    "pydantic.v1.BaseModel.__init__",
    "attr.define",
    "transformers.PretrainedConfig.__init__",
)
def _fields(m: Machine, call: LibCall) -> Value:
    """Keeps its keyword arguments as attributes."""
    if type(call.self) is Obj:
        for name, value in call.kwargs.items():
            m.setattr(call.self, name, value)
    return NONE


BASES["pydantic.BaseModel"] = BASES["pydantic.v1.BaseModel"] = BASES["transformers.PretrainedConfig"] = ()


@model(
    "hydra.main",
    "click.command",
    "click.group",
    "click.option",
    "click.argument",
    "typer.Typer.command",
    "fire.decorators.SetParseFns",
    "numba.jit",
    "numba.njit",
    "beartype.beartype",
    "jaxtyping.jaxtyped",
    "tenacity.retry",
    "ray.remote",
)
def _decorator(m: Machine, call: LibCall) -> Value:
    """Decorators that keep the function; with arguments they return such a decorator."""
    first = call.arg(0)
    return first if type(first).__name__ in ("Func", "Class", "Bound", "Partial") else Lib("syncwatch.identity")


@model("fire.Fire", "absl.app.run", "typer.run", "simple_parsing.parse")
def _run(m: Machine, call: LibCall) -> Value:
    """Calls the program's main function with arguments of the command line."""
    target = call.arg(0, "component", UNKNOWN)
    if type(target).__name__ not in ("Func", "Bound"):
        return UNKNOWN
    return m.call(target, (UNKNOWN,) if call.name == "absl.app.run" else ())


# ---------------------------------------------------------------------------------------- loggers and meters


@model(
    *(f"loguru.logger.{name}" for name in ("trace", "debug", "info", "success", "warning", "error", "critical", "log"))
)
def _loguru(m: Machine, call: LibCall) -> Value:
    """Formats its arguments at once: all levels are on unless the program removes the handler."""
    for value in (*call.args[1:], *call.kwargs.values()):
        m.format(value, "logging")
    if call.args and type(call.args[0]) is Tensor:
        m.format(call.args[0], "logging")
    return NONE


@model("rich.progress.track", "rich.progress.Progress.track", "alive_progress.alive_it", "fastprogress.progress_bar",
       "tqdm.contrib.tenumerate", "tqdm.contrib.concurrent.thread_map")  # fmt: skip
def _track(m: Machine, call: LibCall) -> Value:
    """Iterates over what it is given."""
    source = call.arg(0, "sequence", UNKNOWN)
    if call.name.endswith("thread_map"):
        found = element(m.iterate(call.arg(1, "iterable", UNKNOWN)))
        return m.list(None, UNKNOWN if found is None else m.call(source, (found,)))
    inner = m.iterate(source)
    if call.name.endswith("tenumerate"):
        found = element(inner)
        return Iter(None, Tuple((INT, UNKNOWN if found is None else found)))
    return inner


ALIASES["timm.utils.metrics.AverageMeter"] = "timm.utils.AverageMeter"
BASES["timm.utils.AverageMeter"] = ()


@model("timm.utils.AverageMeter.__init__", "timm.utils.AverageMeter.reset")
def _meter(m: Machine, call: LibCall) -> Value:
    if type(call.self) is Obj:
        for name in ("val", "avg", "sum", "count"):
            m.setattr(call.self, name, INT)
    return NONE


@model("timm.utils.AverageMeter.update")
def _meter_update(m: Machine, call: LibCall) -> Value:
    """Sums what it is given: a tensor stays where it is."""
    value = call.arg(0, "val", UNKNOWN)
    if type(call.self) is Obj:
        for name in ("val", "avg", "sum"):
            m.setattr(call.self, name, result([value], (), "float") if type(value) is Tensor else FLOAT)
    return NONE


@model("timm.utils.accuracy", "timm.utils.metrics.accuracy")
def _accuracy(m: Machine, call: LibCall) -> Value:
    found = tensors(call.args[:2])
    return m.list(None, result(found, (), "float", grad=False) if found else UNKNOWN)


@model("timm.utils.reduce_tensor", "timm.utils.distributed.reduce_tensor")
def _reduce(m: Machine, call: LibCall) -> Value:
    found = tensors(call.args[:1])
    return result(found, shape_of(found[0]), sort_of(found[0]), grad=False) if found else UNKNOWN


# ---------------------------------------------------------------------------------------- datasets


@model("datasets.load_dataset", "datasets.Dataset.from_dict", "datasets.load_from_disk", "datasets.Dataset.from_pandas")
def _load_dataset(m: Machine, call: LibCall) -> Value:
    """Rows of host data, under unknown keys."""
    return m.new("datasets.Dataset")


@model(*(f"datasets.Dataset.{name}" for name in (
    "map", "filter", "shuffle", "select", "with_format", "set_format", "remove_columns", "rename_column", "cast_column",
    "train_test_split", "with_transform", "__getitem__")))  # fmt: skip
def _dataset(m: Machine, call: LibCall) -> Value:
    if call.name.endswith("__getitem__"):
        index = call.arg(0)
        if type(index) is Const and isinstance(index.value, str):
            return call.receiver  # a split, or a column
        return m.dict({}, UNKNOWN)
    if call.name.endswith("set_format"):
        return NONE
    return call.receiver


# ---------------------------------------------------------------------------------------- deepspeed

BASES["deepspeed.Engine"] = ("torch.nn.Module",)


@model("deepspeed.initialize")
def _deepspeed(m: Machine, call: LibCall) -> Value:
    """(engine, optimizer, loader, scheduler): the model is moved to the rank's GPU."""
    from syncwatch.static.library.modules import is_module, move

    inner = call.kwargs.get("model", call.arg(1, "model", UNKNOWN))
    if is_module(inner):
        move(m, inner, m.accelerator())
    engine = m.new("deepspeed.Engine")
    m.setattr(engine, "module", inner)
    m.setattr(engine, "device", m.accelerator())
    optimizer = call.kwargs.get("optimizer", UNKNOWN)
    return Tuple((engine, optimizer, UNKNOWN, UNKNOWN))


@model("deepspeed.Engine.__call__", "deepspeed.Engine.forward")
def _engine(m: Machine, call: LibCall) -> Value:
    inner = call.self.slots.get("module", UNKNOWN) if type(call.self) is Obj else UNKNOWN
    return m.call(inner, call.args, dict(call.kwargs))


@model("deepspeed.Engine.backward")
def _engine_backward(m: Machine, call: LibCall) -> Value:
    return m.method(call.arg(0, "loss", UNKNOWN), "backward")


@model("deepspeed.Engine.step", "deepspeed.Engine.save_checkpoint", "deepspeed.init_distributed")
def _engine_none(m: Machine, call: LibCall) -> Value:
    return NONE


@attribute("deepspeed.Engine.local_rank", "deepspeed.Engine.global_rank")
def _engine_rank(m: Machine, obj: Value, name: str) -> Value:
    return Host("int", "rank")

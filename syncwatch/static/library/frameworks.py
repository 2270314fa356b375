"""accelerate, Lightning and ignite: what they prepare, and what their hooks receive."""

from __future__ import annotations

from syncwatch.static.library.modules import convert, is_module, place, types_of
from syncwatch.static.library.protocol import ALIASES, BASES, LibCall, Machine, attribute, default, model
from syncwatch.static.library.tensors import Where, contents, on, replaced, tensors
from syncwatch.static.library.torch_data import LOADER
from syncwatch.static.library.torch_optimizers import is_optimizer
from syncwatch.static.values import (
    BOOL,
    FALSE,
    INT,
    ITEMS,
    NONE,
    REST,
    STR,
    TRUE,
    UNKNOWN,
    Device,
    Host,
    Items,
    Iter,
    Lib,
    Obj,
    Tensor,
    Tuple,
    Union,
    Value,
    join_all,
)


def to_device(m: Machine, value: Value, where: Where, depth: int = 0) -> Value:
    """The same structure with its tensors on a device, as batches arrive in a hook."""
    kind = type(value)
    if depth > 5:
        return value
    if kind is Tensor:
        if value.device == "cuda":
            return value
        return replaced(
            value,
            device=where.device,
            sure=where.sure,
            index=where.index,
            pinned=False,
            pending=0,
            marks=value.marks - {"host-made", "pinned-source"},
        )
    if kind is Tuple:
        items = None if value.items is None else tuple(to_device(m, v, where, depth + 1) for v in value.items)
        return Tuple(items, to_device(m, value.elem, where, depth + 1), value.type, value.names)
    if kind is Union:
        return join_all(to_device(m, v, where, depth + 1) for v in value.members)
    if kind is Iter:
        items = None if value.items is None else tuple(to_device(m, v, where, depth + 1) for v in value.items)
        return Iter(items, to_device(m, value.elem, where, depth + 1), value.type)
    if kind is Obj and (type(value.slots.get(ITEMS)) is Items or value.type == "dict" or REST in value.slots):
        with m.part(("moved", depth, str(value.type))):
            made = m.new(value.type)
        for key, inner in list(value.slots.items()):
            if key == ITEMS:
                items = None if inner.items is None else tuple(to_device(m, v, where, depth + 1) for v in inner.items)
                m.setattr(made, ITEMS, Items(items, to_device(m, inner.elem, where, depth + 1)))
            else:
                m.setattr(made, key, to_device(m, inner, where, depth + 1))
        return made
    return value


def device_batch(m: Machine) -> Value:
    """A batch of unknown structure on the accelerator: a tensor, or what unpacking and keys give are tensors."""
    return UNKNOWN


# ---------------------------------------------------------------------------------------- accelerate

_ACCELERATOR = "accelerate.Accelerator"
ALIASES["accelerate.accelerator.Accelerator"] = _ACCELERATOR
BASES[_ACCELERATOR] = ()
BASES["accelerate.PreparedLoader"] = (LOADER,)


@model(f"{_ACCELERATOR}.__init__", "accelerate.PartialState.__init__", "accelerate.state.PartialState.__init__")
def _accelerator(m: Machine, call: LibCall) -> Value:
    if type(call.self) is Obj and call.kwargs.get("cpu") == TRUE:
        m.setattr(call.self, "device", Device("cpu"))
    return NONE


def _where(m: Machine, obj: Value) -> Where:
    found = m.getattr(obj, "device")
    return on(found) if type(found) is Device else on(m.accelerator())


@attribute(f"{_ACCELERATOR}.device", "accelerate.PartialState.device", "accelerate.state.PartialState.device")
def _device(m: Machine, obj: Value, name: str) -> Value:
    return m.accelerator()


@attribute(
    f"{_ACCELERATOR}.is_main_process",
    f"{_ACCELERATOR}.is_local_main_process",
    f"{_ACCELERATOR}.is_last_process",
    "accelerate.PartialState.is_main_process",
    "accelerate.PartialState.is_local_main_process",
)
def _is_main(m: Machine, obj: Value, name: str) -> Value:
    return Host("bool", "rank")


@attribute(f"{_ACCELERATOR}.process_index", f"{_ACCELERATOR}.local_process_index")
def _index(m: Machine, obj: Value, name: str) -> Value:
    return Host("int", "rank")


@attribute(f"{_ACCELERATOR}.num_processes", f"{_ACCELERATOR}.gradient_accumulation_steps")
def _number(m: Machine, obj: Value, name: str) -> Value:
    return INT


@attribute(
    f"{_ACCELERATOR}.sync_gradients", f"{_ACCELERATOR}.optimizer_step_was_skipped", f"{_ACCELERATOR}.use_distributed"
)
def _flag(m: Machine, obj: Value, name: str) -> Value:
    return BOOL


@attribute(f"{_ACCELERATOR}.mixed_precision")
def _text(m: Machine, obj: Value, name: str) -> Value:
    return STR


def prepared(m: Machine, obj: Value, value: Value) -> Value:
    """A model moves to the device, a loader delivers its batches there, all else stays what it is."""
    where = _where(m, obj)
    if type(value) is Union:
        return join_all(prepared(m, obj, v) for v in value.members)
    if type(value) is Iter and value.type == "batches":
        with m.part(("prepared", "batches")):
            made = m.new("accelerate.PreparedLoader")
        m.setattr(made, "<batches>", value)
        m.setattr(made, "<device>", Tensor(where.device, where.sure, index=where.index))
        return made
    if type(value) is Obj:
        if LOADER in types_of(value):
            with m.part(("prepared", id(value) % 4096)):
                made = m.new("accelerate.PreparedLoader")
            for key, inner in list(value.slots.items()):
                m.setattr(made, key, inner)
            m.setattr(made, "<device>", Tensor(where.device, where.sure, index=where.index))
            return made
        if is_module(value):
            convert(m, value, lambda t: place(t, where))
        elif is_optimizer(value):
            held = value.slots.get("<tensors>")
            if type(held) is Items and held.items is not None:
                m.setattr(value, "<tensors>", Items(tuple(place(t, where) for t in held.items if type(t) is Tensor)))
    return value


@model(
    f"{_ACCELERATOR}.prepare",
    f"{_ACCELERATOR}.prepare_model",
    f"{_ACCELERATOR}.prepare_data_loader",
    f"{_ACCELERATOR}.prepare_optimizer",
    f"{_ACCELERATOR}.prepare_scheduler",
)
def _prepare(m: Machine, call: LibCall) -> Value:
    if call.has_star:
        return UNKNOWN
    values = tuple(prepared(m, call.self, v) for v in call.args)
    return values[0] if len(values) == 1 else Tuple(values)


@model("accelerate.PreparedLoader.__iter__")
def _prepared_batches(m: Machine, call: LibCall) -> Value:
    from syncwatch.static.library.protocol import MODELS

    slots = call.self.slots if type(call.self) is Obj else {}
    inner = slots.get("<batches>")
    if inner is None:
        inner = MODELS[f"{LOADER}.__iter__"](m, LibCall(f"{LOADER}.__iter__", (), {}, call.self))
    held = slots.get("<device>")
    if type(held) is Tensor and type(inner) is Iter:
        if "<non_blocking>" not in slots:
            m.call(Lib("accelerate.PreparedLoader.move"), (inner, held), repeated=True)
        return to_device(m, inner, Where(held.device, held.sure, held.index))
    return inner


@model("accelerate.PreparedLoader.move")
def _move_batch(m: Machine, call: LibCall) -> Value:
    """Every batch is copied to the device, tensor by tensor, and the host waits for each."""
    batches, held = call.arg(0, None, UNKNOWN), call.arg(1, None, UNKNOWN)
    found = next((t for t in tensors([batches]) if t.device == "cpu"), None)
    if found is not None:
        m.ask("torch.Tensor.to", [found, held])
    return NONE


@model(f"{_ACCELERATOR}.backward")
def _backward(m: Machine, call: LibCall) -> Value:
    return m.method(call.arg(0, "loss", UNKNOWN), "backward")


@model(
    f"{_ACCELERATOR}.gather",
    f"{_ACCELERATOR}.gather_for_metrics",
    f"{_ACCELERATOR}.reduce",
    f"{_ACCELERATOR}.pad_across_processes",
    f"{_ACCELERATOR}.unwrap_model",
    "accelerate.utils.gather",
    "accelerate.utils.reduce",
    "accelerate.utils.extract_model_from_parallel",
)
def _gather(m: Machine, call: LibCall) -> Value:
    return call.arg(0, "tensor", call.kwargs.get("input_data", UNKNOWN))


@model("accelerate.utils.send_to_device", "accelerate.utils.operations.send_to_device")
def _send(m: Machine, call: LibCall) -> Value:
    """Moves every tensor of a structure, blocking unless `non_blocking=True`."""
    value, device = call.arg(0, "tensor", UNKNOWN), call.arg(1, "device", UNKNOWN)
    named = m.device_of(device)
    if named is None:
        return value
    first = next((t for t in contents(value) if type(t) is Tensor), None)
    if first is not None:
        flags = {"non_blocking": call.arg(2, "non_blocking", FALSE)}
        m.ask("torch.Tensor.to", [first, device], flags, via="call")
    return to_device(m, value, on(named))


@model(f"{_ACCELERATOR}.clip_grad_norm_", f"{_ACCELERATOR}.clip_grad_value_")
def _clip(m: Machine, call: LibCall) -> Value:
    where = _where(m, call.self)
    if call.name.endswith("value_"):
        return NONE
    return Tensor(where.device, where.sure, (), "float", requires_grad=False)


@model(
    f"{_ACCELERATOR}.accumulate",
    f"{_ACCELERATOR}.autocast",
    f"{_ACCELERATOR}.no_sync",
    f"{_ACCELERATOR}.profile",
    f"{_ACCELERATOR}.main_process_first",
    f"{_ACCELERATOR}.local_main_process_first",
    f"{_ACCELERATOR}.split_between_processes",
    f"{_ACCELERATOR}.join_uneven_inputs",
)
def _context(m: Machine, call: LibCall) -> Value:
    return m.new("accelerate.Context")


@model(f"{_ACCELERATOR}.log")
def _log(m: Machine, call: LibCall) -> Value:
    return NONE


@model(f"{_ACCELERATOR}.print")
def _print(m: Machine, call: LibCall) -> Value:
    for value in call.args:
        m.format(value, "print")
    return NONE


@model(
    f"{_ACCELERATOR}.wait_for_everyone",
    f"{_ACCELERATOR}.free_memory",
    f"{_ACCELERATOR}.end_training",
    f"{_ACCELERATOR}.init_trackers",
    f"{_ACCELERATOR}.save_state",
    f"{_ACCELERATOR}.load_state",
    f"{_ACCELERATOR}.register_for_checkpointing",
    f"{_ACCELERATOR}.skip_first_batches_none",
    "accelerate.utils.set_seed",
)
def _none(m: Machine, call: LibCall) -> Value:
    if call.name.endswith("wait_for_everyone"):
        m.ask("torch.distributed.barrier", [])
    return NONE


@model(f"{_ACCELERATOR}.skip_first_batches", "accelerate.skip_first_batches")
def _skip(m: Machine, call: LibCall) -> Value:
    return call.arg(0, "dataloader", UNKNOWN)


@model(f"{_ACCELERATOR}.get_state_dict")
def _state_dict(m: Machine, call: LibCall) -> Value:
    return m.method(call.arg(0, "model", UNKNOWN), "state_dict")


@model(f"{_ACCELERATOR}.save")
def _save(m: Machine, call: LibCall) -> Value:
    from syncwatch.static.library.protocol import MODELS

    return MODELS["torch.save"](m, LibCall("torch.save", call.args))


@default("accelerate.")
def _other(m: Machine, call: LibCall) -> Value:
    return UNKNOWN


@model("accelerate.logging.get_logger")
def _get_logger(m: Machine, call: LibCall) -> Value:
    return m.new("logging.Logger")

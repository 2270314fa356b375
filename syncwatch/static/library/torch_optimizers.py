"""Optimizers, learning-rate schedulers and averaged models."""

from __future__ import annotations

from syncwatch.static.library.modules import all_tensors, is_module, types_of
from syncwatch.static.library.protocol import (
    ALIASES,
    BASES,
    MODELS,
    PREFIX_BASES,
    LibCall,
    Machine,
    Model,
    attribute,
    model,
)
from syncwatch.static.library.tensors import HOST, Where, contents, given, replaced
from syncwatch.static.library.torch_layers import arguments
from syncwatch.static.values import (
    FALSE,
    FLOAT,
    INT,
    ITEMS,
    NONE,
    REST,
    TRUE,
    UNKNOWN,
    Items,
    Iter,
    Obj,
    Tensor,
    Tuple,
    Value,
    element,
    join_all,
)

OPTIMIZER = "torch.optim.Optimizer"
_SCHEDULER = "torch.optim.lr_scheduler.LRScheduler"

# parameters of the constructors after `params`, and the defaults that decide what a step reads
_OPTIMIZERS = {
    "Adam": "lr betas eps weight_decay amsgrad foreach maximize capturable differentiable fused",
    "AdamW": "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable fused",
    "Adamax": "lr betas eps weight_decay foreach maximize differentiable capturable",
    "NAdam": "lr betas eps weight_decay momentum_decay decoupled_weight_decay foreach maximize capturable "
    "differentiable",
    "RAdam": "lr betas eps weight_decay decoupled_weight_decay foreach maximize capturable differentiable",
    "SparseAdam": "lr betas eps maximize",
    "Adagrad": "lr lr_decay weight_decay initial_accumulator_value eps foreach maximize differentiable fused",
    "Adadelta": "lr rho eps weight_decay foreach capturable maximize differentiable",
    "RMSprop": "lr alpha eps weight_decay momentum centered capturable foreach maximize differentiable",
    "Rprop": "lr etas step_sizes capturable foreach maximize differentiable",
    "SGD": "lr momentum dampening weight_decay nesterov maximize foreach differentiable fused",
    "ASGD": "lr lambd alpha t0 weight_decay foreach maximize differentiable capturable",
    "LBFGS": "lr max_iter max_eval tolerance_grad tolerance_change history_size line_search_fn",
    "Adafactor": "lr beta2_decay eps d weight_decay foreach maximize",
    "Muon": "lr weight_decay momentum nesterov ns_coefficients eps ns_steps",
}
_STATE = {
    "Adam": ("step exp_avg exp_avg_sq", True),
    "AdamW": ("step exp_avg exp_avg_sq", True),
    "NAdam": ("step mu_product exp_avg exp_avg_sq", True),
    "RAdam": ("step exp_avg exp_avg_sq", True),
    "Adamax": ("step exp_avg exp_inf", True),
    "Adagrad": ("step sum", True),
    "RMSprop": ("step square_avg", True),
    "Adadelta": ("step square_avg acc_delta", True),
    "Rprop": ("step prev step_size", True),
    "SGD": ("momentum_buffer", False),
}
for _name in _OPTIMIZERS:
    BASES[f"torch.optim.{_name}"] = (OPTIMIZER,)
PREFIX_BASES.append(("torch.optim.lr_scheduler.", _SCHEDULER))
BASES[OPTIMIZER] = BASES[_SCHEDULER] = ()
ALIASES["torch.optim.optimizer.Optimizer"] = OPTIMIZER
ALIASES["torch.optim.lr_scheduler._LRScheduler"] = _SCHEDULER
for _name in _OPTIMIZERS:
    ALIASES[f"torch.optim.{_name.lower()}.{_name}"] = f"torch.optim.{_name}"


def is_optimizer(value: Value) -> bool:
    return type(value) is Obj and OPTIMIZER in types_of(value)


def _parameters(m: Machine, params: Value, depth: int = 0) -> list[Tensor]:
    """The tensors that an optimizer was given: parameters, or groups of them."""
    found: list[Tensor] = []
    if depth > 4:
        return found
    if is_module(params):
        return [t for _, t in all_tensors(params, buffers=False)]
    if type(params) is Tensor:
        return [params]
    if type(params) is Obj and params.type == "dict":
        inner = params.slots.get(("key", "params"))
        return _parameters(m, inner, depth + 1) if inner is not None else []
    if type(params) in (Tuple, Iter) or type(params) is Obj:
        seq = m.iterate(params)
        for item in seq.items if seq.items is not None else (seq.elem,):
            for value in contents(item):
                if type(value) is Tensor:
                    found.append(value)
            if type(item) is Obj and item.type == "dict":
                found.extend(_parameters(m, item, depth + 1))
            elif type(item) is Tuple and item.items is not None and len(item.items) == 2:
                found.extend(t for t in contents(item.items[1]) if type(t) is Tensor and t not in found)
    return found


def _begin(m: Machine, obj: Obj, params: Value, found: dict[str, Value], state: tuple[str, bool]) -> None:
    tensors = _parameters(m, params)
    unique = list(dict.fromkeys(tensors))
    m.setattr(obj, "<tensors>", Items(tuple(unique[:16])))
    for name in ("fused", "capturable", "foreach", "differentiable", "maximize"):
        m.setattr(obj, name, found.get(name, FALSE))
    held = join_all(unique)
    groups: list[Value] = []
    source = m.iterate(params)
    defaults: dict[object, Value] = {k: v for k, v in found.items() if k not in ("params", "defaults")}
    defaults.setdefault("lr", FLOAT)
    given_groups = [g for g in (source.items or ()) if type(g) is Obj and g.type == "dict"]
    if given_groups:
        for i, group in enumerate(given_groups[:8]):
            with m.part(("group", i)):
                entries: dict[object, Value] = dict(defaults)
                entries.update({k[1]: v for k, v in group.slots.items() if type(k) is tuple})
                groups.append(m.dict(entries))
    else:
        with m.part("params"):
            inner = (
                m.list(tuple(tensors), held)
                if 0 < len(tensors) <= 16 and source.items is not None
                else m.list(None, held)
            )
        with m.part("group"):
            groups.append(m.dict({"params": inner, **defaults}))
    with m.part("groups"):
        m.setattr(obj, "param_groups", m.list(tuple(groups)))
    names, steps = state
    with m.part("entry"):
        state_entries: dict[object, Value] = {}
        for name in names.split():
            if name == "step" and steps:
                fused = found.get("fused") == TRUE or found.get("capturable") == TRUE
                place = _place(unique) if fused else HOST
                state_entries[name] = Tensor(place.device, place.sure, (), "float", requires_grad=False)
            elif unique:
                moment = replaced(unique[0], requires_grad=False, parameter=False, shape=None)
                state_entries[name] = moment
        entry = m.dict(state_entries) if state_entries else UNKNOWN
    with m.part("state"):
        m.setattr(obj, "state", m.dict({}, entry))
    m.setattr(obj, "defaults", m.dict(defaults))


def _place(found: list[Tensor]) -> Where:
    cuda = next((t for t in found if t.device == "cuda"), None)
    first = cuda or (found[0] if found else None)
    return HOST if first is None else Where(first.device, first.sure, first.index)


def _init(name: str, params: str) -> Model:
    def init(m: Machine, call: LibCall) -> Value:
        if type(call.self) is Obj:
            found = arguments(call, f"params {params}")
            _begin(m, call.self, found.get("params", UNKNOWN), found, _STATE.get(name, ("", False)))
        return NONE

    return init


for _name, _params in _OPTIMIZERS.items():
    MODELS[f"torch.optim.{_name}.__init__"] = _init(_name, _params)


@model("torch.optim.Optimizer.__init__")
def _base_init(m: Machine, call: LibCall) -> Value:
    """The project's own optimizers call it with the parameters and a dict of defaults."""
    if type(call.self) is Obj:
        defaults = call.arg(1, "defaults")
        found = {}
        if type(defaults) is Obj:
            found = {k[1]: v for k, v in defaults.slots.items() if type(k) is tuple and isinstance(k[1], str)}
        _begin(m, call.self, call.arg(0, "params", UNKNOWN), found, ("", False))
        with m.part("entry"):
            entry = m.dict({}, UNKNOWN)
        with m.part("state"):
            m.setattr(call.self, "state", m.dict({}, entry))
    return NONE


@model("torch.optim.Optimizer.step")
def _step(m: Machine, call: LibCall) -> Value:
    """Runs the closure; reads the step counter where it has come to the device although no kernel needs it there."""
    obj = call.self
    closure = call.arg(0, "closure")
    value = m.call(closure, repeated=True) if given(closure) else NONE
    if type(obj) is Obj and obj.slots.get("fused") == FALSE and obj.slots.get("capturable") == FALSE:
        state = obj.slots.get("state")
        if type(state) is Obj:
            for key, entry in list(state.slots.items()):
                if (key == REST or type(key) is tuple) and type(entry) is Obj:
                    counter = entry.slots.get(("key", "step"))
                    if counter is not None:
                        m.ask("torch.Tensor.item", [counter], via="library")
    return value


@model("torch.optim.SparseAdam.step")
def _sparse_step(m: Machine, call: LibCall) -> Value:
    """Sums the rows that a sparse gradient holds several times: their number depends on the data."""
    held = call.self.slots.get("<tensors>") if type(call.self) is Obj else None
    for t in (held.items or ()) if type(held) is Items else ():
        if type(t) is Tensor and t.device == "cuda":
            gradient = replaced(t, marks=frozenset({"sparse"}), parameter=False, requires_grad=False)
            m.ask("torch.Tensor.coalesce", [gradient], via="library")
            break
    return _step(m, call)


@model(
    "torch.optim.Optimizer.zero_grad",
    "torch.optim.Optimizer.load_state_dict",
    "torch.optim.Optimizer.register_step_pre_hook",
    "torch.optim.Optimizer.register_step_post_hook",
)
def _none(m: Machine, call: LibCall) -> Value:
    return NONE


@model("torch.optim.Optimizer.add_param_group")
def _add_group(m: Machine, call: LibCall) -> Value:
    obj, group = call.self, call.arg(0, "param_group", UNKNOWN)
    if type(obj) is Obj:
        groups = obj.slots.get("param_groups")
        if type(groups) is Obj and type(groups.slots.get(ITEMS)) is Items:
            held = groups.slots[ITEMS]
            found = element(held)
            m.setattr(groups, ITEMS, Items(None, group if found is None else join_all((found, group))))
        old = obj.slots.get("<tensors>")
        kept = old.items if type(old) is Items and old.items is not None else ()
        m.setattr(obj, "<tensors>", Items((*kept, *_parameters(m, group))[:16]))
    return NONE


@model("torch.optim.Optimizer.state_dict")
def _state_dict(m: Machine, call: LibCall) -> Value:
    if type(call.self) is not Obj:
        return UNKNOWN
    return m.dict(
        {"state": call.self.slots.get("state", UNKNOWN), "param_groups": call.self.slots.get("param_groups", UNKNOWN)}
    )


# ---------------------------------------------------------------------------------------- schedulers


@model(f"{_SCHEDULER}.__init__")
def _scheduler(m: Machine, call: LibCall) -> Value:
    if type(call.self) is Obj:
        m.setattr(call.self, "optimizer", call.arg(0, "optimizer", UNKNOWN))
        m.setattr(call.self, "last_epoch", INT)
        m.setattr(call.self, "base_lrs", m.list(None, FLOAT))
    return NONE


@model(f"{_SCHEDULER}.step", f"{_SCHEDULER}.load_state_dict")
def _scheduler_step(m: Machine, call: LibCall) -> Value:
    return NONE


@model(f"{_SCHEDULER}.get_last_lr", f"{_SCHEDULER}.get_lr")
def _last_lr(m: Machine, call: LibCall) -> Value:
    return m.list(None, FLOAT)


@model(f"{_SCHEDULER}.state_dict")
def _scheduler_state(m: Machine, call: LibCall) -> Value:
    return m.dict({}, UNKNOWN)


# ---------------------------------------------------------------------------------------- averaging

_AVERAGED = "torch.optim.swa_utils.AveragedModel"
BASES[_AVERAGED] = ("torch.nn.Module",)


@model(f"{_AVERAGED}.__init__")
def _averaged(m: Machine, call: LibCall) -> Value:
    """A copy of the model, with a counter of updates as a buffer on `device=`."""
    obj = call.self
    if type(obj) is not Obj:
        return NONE
    with m.part("copy"):
        copied = MODELS["copy.deepcopy"](m, LibCall("copy.deepcopy", (call.arg(0, "model", UNKNOWN),)))
    device = call.arg(1, "device")
    place = HOST
    if given(device):
        named = m.device_of(device)
        place = HOST if named is None else Where(named.type, named.sure)
        copied = m.method(copied, "to", (device,))
    m.setattr(obj, "module", copied)
    m.setattr(obj, "training", TRUE)
    m.setattr(obj, "n_averaged", Tensor(place.device, place.sure, (), "int", requires_grad=False))
    m.setattr(obj, "<buffer>n_averaged", TRUE)
    m.setattr(obj, "use_buffers", call.kwargs.get("use_buffers", FALSE))
    return NONE


@model(f"{_AVERAGED}.update_parameters")
def _update(m: Machine, call: LibCall) -> Value:
    return NONE


@model(f"{_AVERAGED}.forward", f"{_AVERAGED}.__call__")
def _averaged_call(m: Machine, call: LibCall) -> Value:
    return (
        m.call(call.self.slots.get("module", UNKNOWN), call.args, dict(call.kwargs))
        if type(call.self) is Obj
        else UNKNOWN
    )


@model("torch.optim.swa_utils.update_bn")
def _update_bn(m: Machine, call: LibCall) -> Value:
    return NONE


@model(
    "torch.optim.swa_utils.get_ema_multi_avg_fn",
    "torch.optim.swa_utils.get_swa_multi_avg_fn",
    "torch.optim.swa_utils.get_ema_avg_fn",
    "torch.optim.swa_utils.get_swa_avg_fn",
)
def _average_function(m: Machine, call: LibCall) -> Value:
    return UNKNOWN


@attribute(f"{OPTIMIZER}.param_groups")
def _groups(m: Machine, value: Value, name: str) -> Value:
    found = value.slots.get("param_groups") if type(value) is Obj else None
    if found is not None:
        return found
    with m.part("assumed-groups"):
        return m.list(None, m.dict({"lr": FLOAT}, UNKNOWN))

"""The methods of `torch.nn.Module`, and parameters."""

from __future__ import annotations

from syncwatch.static.library.modules import (
    BUFFER,
    all_modules,
    all_tensors,
    convert,
    is_buffer,
    is_module,
    own_modules,
    own_tensors,
    place,
    where_of,
)
from syncwatch.static.library.protocol import LibCall, Machine, Model, attribute, model
from syncwatch.static.library.tensors import HOST, Where, flag, given, on, replaced, spread
from syncwatch.static.values import (
    FALSE,
    HISTORY,
    NONE,
    STR,
    TRUE,
    UNKNOWN,
    Const,
    Dtype,
    Items,
    Iter,
    Lib,
    Obj,
    Partial,
    Tensor,
    Tuple,
    Value,
    const,
    join_all,
)

# ---------------------------------------------------------------------------------------- methods


@model("torch.nn.Module.__init__")
def _init(m: Machine, call: LibCall) -> Value:
    if type(call.self) is Obj:
        m.setattr(call.self, "training", TRUE)
    return NONE


@model("torch.nn.Module.to", "torch.nn.Module.to_empty")
def _to(m: Machine, call: LibCall) -> Value:
    obj = call.self
    target: Where | None = None
    sort: str | None = None
    for value in (*call.args, *(v for k, v in call.kwargs.items() if k in ("device", "dtype"))):
        if type(value) is Dtype:
            sort = value.sort
        elif type(value) is Tensor:
            target = Where(value.device, value.sure, value.index)
        elif value != NONE and not (type(value) is Const and value.kind == "bool"):
            device = m.device_of(value)
            target = Where(None) if device is None else on(device)
    if type(obj) is Obj and is_module(obj):

        def change(t: Tensor) -> Tensor:
            moved = t if target is None else place(t, target)
            return replaced(moved, dtype=sort) if sort is not None and moved.dtype == "float" else moved

        if target is not None or sort is not None:
            convert(m, obj, change)
    return call.receiver


@model("torch.nn.Module.cuda", "torch.nn.Module.cpu", "torch.nn.Module.xpu", "torch.nn.Module.ipu")
def _cuda(m: Machine, call: LibCall) -> Value:
    if type(call.self) is Obj:
        target = HOST
        if not call.name.endswith("cpu"):
            value = call.arg(0, "device")
            device = m.device_of(value) if given(value) else None
            index = None if device is None or device.index is None or device.index < 0 else device.index
            target = Where("cuda", True, index)
        convert(m, call.self, lambda t: place(t, target))
    return call.receiver


@model(
    "torch.nn.Module.half",
    "torch.nn.Module.float",
    "torch.nn.Module.double",
    "torch.nn.Module.bfloat16",
    "torch.nn.Module.type",
    "torch.nn.Module.requires_grad_",
    "torch.nn.Module.share_memory",
    "torch.nn.Module.compile",
    "torch.nn.Module.add_module",
    "torch.nn.Module.register_module",
    "torch.nn.Module._apply",
)
def _chained(m: Machine, call: LibCall) -> Value:
    name = call.name.rpartition(".")[2]
    if type(call.self) is Obj:
        if name == "requires_grad_":
            wanted = flag(call.arg(0, "requires_grad"), True)
            convert(m, call.self, lambda t: replaced(t, requires_grad=wanted) if t.parameter else t)
        elif name in ("add_module", "register_module"):
            key, child = call.arg(0, "name", UNKNOWN), call.arg(1, "module", UNKNOWN)
            if type(key) is Const:
                m.setattr(call.self, key.value, child)
            else:
                old = call.self.slots.get("<modules>")
                held = old if type(old) is Items else Items(())
                m.setattr(
                    call.self,
                    "<modules>",
                    Items(None, join_all([*(held.items or (held.elem,)), child]) if held.items != () else child),
                )
            return NONE
        elif name == "compile":
            return NONE
    return call.receiver


@model("torch.nn.Module.train", "torch.nn.Module.eval")
def _train(m: Machine, call: LibCall) -> Value:
    if type(call.self) is Obj:
        mode = FALSE if call.name.endswith("eval") else call.arg(0, "mode", TRUE)
        for _, module in list(all_modules(call.self)):
            m.setattr(module, "training", mode)
    return call.receiver


def _named(pairs: list[tuple[str | None, Value]]) -> Value:
    """An iterator of (name, value)."""
    if any(name is None for name, _ in pairs) or len(pairs) > 64:
        return Iter(None, Tuple((STR, join_all(v for _, v in pairs))))
    return Iter(tuple(Tuple((const(name), v)) for name, v in pairs))


def _listed(values: list[Value], known: bool) -> Value:
    if not known or len(values) > 64:
        return Iter(None, join_all(values))
    return Iter(tuple(values))


@model(
    "torch.nn.Module.parameters",
    "torch.nn.Module.buffers",
    "torch.nn.Module.named_parameters",
    "torch.nn.Module.named_buffers",
)
def _parameters(m: Machine, call: LibCall) -> Value:
    name = call.name.rpartition(".")[2]
    obj = call.self
    wanted = "buffer" in name
    if type(obj) is not Obj:
        return UNKNOWN
    pairs = all_tensors(obj, parameters=not wanted, buffers=wanted)
    if not pairs:
        # the parameters of a module that was not seen being built are on the device that its class is assumed on
        if wanted and not obj.assumed:
            return Iter(())
        device = _assumed(m, obj)
        value: Value = (
            UNKNOWN
            if device is None
            else Tensor(
                device.device, device.sure, None, "float", pinned=False, requires_grad=not wanted, parameter=not wanted
            )
        )
        return Iter(None, Tuple((STR, value)) if name.startswith("named") else value)
    if name.startswith("named"):
        return _named(list(pairs))
    return _listed([t for _, t in pairs], all(n is not None for n, _ in pairs))


def _assumed(m: Machine, obj: Obj) -> Where | None:
    """Where the unseen parameters of a module are taken to be."""
    stored = obj.slots.get("<place>")
    if type(stored) is Tensor:
        return Where(stored.device, stored.sure, stored.index)
    return on(m.accelerator()) if obj.assumed else None


@model(
    "torch.nn.Module.modules",
    "torch.nn.Module.children",
    "torch.nn.Module.named_modules",
    "torch.nn.Module.named_children",
)
def _modules(m: Machine, call: LibCall) -> Value:
    name = call.name.rpartition(".")[2]
    obj = call.self
    if type(obj) is not Obj:
        return UNKNOWN
    pairs: list[tuple[str | None, Value]] = list(own_modules(obj) if "children" in name else all_modules(obj))
    known = all(n is not None for n, _ in pairs) and not obj.assumed
    if not known:
        pairs.append((None, UNKNOWN))
    return _named(pairs) if name.startswith("named") else _listed([v for _, v in pairs], known)


@model("torch.nn.Module.state_dict")
def _state_dict(m: Machine, call: LibCall) -> Value:
    if type(call.self) is not Obj:
        return UNKNOWN
    pairs = all_tensors(call.self)
    kept = [(n, replaced(t, requires_grad=False, parameter=False)) for n, t in pairs]
    if pairs and all(n is not None for n, _ in pairs) and len(pairs) <= 64:
        return m.dict(dict(kept))
    device = _assumed(m, call.self) or where_of(call.self)
    if device is None:
        return m.dict({})
    return m.dict(
        {},
        join_all(t for _, t in kept) if kept else Tensor(device.device, device.sure, None, None, requires_grad=False),
    )


@model("torch.nn.Module.register_buffer")
def _register_buffer(m: Machine, call: LibCall) -> Value:
    name, value = call.arg(0, "name", UNKNOWN), call.arg(1, "tensor", NONE)
    if type(call.self) is Obj and type(name) is Const:
        if type(value) is Tensor:
            value = replaced(value, marks=value.marks - {"host-made"})
        m.setattr(call.self, name.value, value)
        m.setattr(call.self, f"{BUFFER}{name.value}", TRUE)
    return NONE


@model("torch.nn.Module.register_parameter")
def _register_parameter(m: Machine, call: LibCall) -> Value:
    name, value = call.arg(0, "name", UNKNOWN), call.arg(1, "param", NONE)
    if type(call.self) is Obj and type(name) is Const:
        m.setattr(call.self, name.value, value)
    return NONE


@model("torch.nn.Module.get_parameter", "torch.nn.Module.get_buffer", "torch.nn.Module.get_submodule")
def _lookup(m: Machine, call: LibCall) -> Value:
    target = call.arg(0, "target", UNKNOWN)
    if type(target) is not Const or not isinstance(target.value, str):
        return UNKNOWN
    value: Value = call.self
    for part in target.value.split(".") if target.value else ():
        value = m.getattr(value, part)
    return value


@model("torch.nn.Module.apply")
def _apply(m: Machine, call: LibCall) -> Value:
    if type(call.self) is Obj:
        func = call.arg(0, "fn", UNKNOWN)
        for _, module in list(all_modules(call.self))[:32]:
            m.call(func, (module,))
    return call.receiver


def _hook(slot: str) -> Model:
    def run(m: Machine, call: LibCall) -> Value:
        handle = m.new("torch.utils.hooks.RemovableHandle")
        if type(call.self) is Obj:
            func = call.arg(0, "hook", UNKNOWN)
            if call.kwargs.get("with_kwargs") == TRUE:
                func = Partial(Lib("syncwatch.hook_with_kwargs"), (func,))
            old = call.self.slots.get(slot)
            held = old.items if type(old) is Items and old.items is not None else ()
            if func not in held:
                m.setattr(call.self, slot, Items((*held, func)))
            m.setattr(handle, "<module>", call.self)
            m.setattr(handle, "<hook>", func)
            m.setattr(handle, "<slot>", const(slot))
        return handle

    return run


model("torch.nn.Module.register_forward_hook")(_hook("<forward_hooks>"))
model("torch.nn.Module.register_forward_pre_hook")(_hook("<forward_pre_hooks>"))


@model("syncwatch.hook_with_kwargs")
def _with_kwargs(m: Machine, call: LibCall) -> Value:
    if not call.args:
        return UNKNOWN
    hook, *rest = call.args
    return m.call(hook, (*rest[:2], m.dict({}, UNKNOWN), *rest[2:]))


@model(
    "torch.nn.Module.register_full_backward_hook",
    "torch.nn.Module.register_full_backward_pre_hook",
    "torch.nn.Module.register_backward_hook",
)
def _backward_hook(m: Machine, call: LibCall) -> Value:
    """Called during backward, with gradients on the module's device."""
    module = call.self
    found = where_of(module) if type(module) is Obj else None
    gradient: Value = UNKNOWN
    if found is not None:
        gradient = Tensor(found.device, found.sure, None, "float", requires_grad=False)
    m.call(
        call.arg(0, "hook", UNKNOWN),
        (module, Tuple((gradient,)), Tuple((gradient,)))[: 2 if "pre" in call.name else 3],
        repeated=True,
    )
    return m.new("torch.utils.hooks.RemovableHandle")


@model("torch.Tensor.register_hook", "torch.Tensor.register_post_accumulate_grad_hook")
def _tensor_hook(m: Machine, call: LibCall) -> Value:
    def one(t: Value) -> Value:
        if type(t) is Tensor:
            gradient = replaced(t, requires_grad=False, parameter=False)
            m.call(call.arg(0, "hook", UNKNOWN), (t if "post" in call.name else gradient,), repeated=True)
        return m.new("torch.utils.hooks.RemovableHandle")

    return m.each(call.self, one)


@model("torch.utils.hooks.RemovableHandle.remove")
def _remove(m: Machine, call: LibCall) -> Value:
    handle = call.self
    if type(handle) is Obj:
        module, func, slot = (handle.slots.get(k) for k in ("<module>", "<hook>", "<slot>"))
        if type(module) is Obj and slot is not None:
            held = module.slots.get(slot.value)
            if type(held) is Items and held.items is not None:
                kept = tuple(f for f in held.items if f is not func and f != func)
                m.setattr(module, slot.value, Items(kept))
    return NONE


@model(
    "torch.nn.Module.zero_grad",
    "torch.nn.Module.set_extra_state",
    "torch.nn.Module.register_state_dict_pre_hook",
    "torch.nn.Module.register_load_state_dict_post_hook",
    "torch.nn.Module._register_load_state_dict_pre_hook",
    "torch.nn.Module.set_submodule",
)
def _no_result(m: Machine, call: LibCall) -> Value:
    return NONE


@model("torch.nn.Module.extra_repr", "torch.nn.Module._get_name", "torch.nn.Module.__repr__")
def _text(m: Machine, call: LibCall) -> Value:
    return STR


@attribute("torch.nn.Module._parameters", "torch.nn.Module._buffers", "torch.nn.Module._modules")
def _registry(m: Machine, obj: Value, name: str) -> Value:
    if type(obj) is not Obj:
        return UNKNOWN
    if name == "_modules":
        return m.dict({k: v for k, v in own_modules(obj) if k is not None})
    return m.dict(
        {k: v for k, v in own_tensors(obj) if isinstance(k, str) and is_buffer(obj, k) == (name == "_buffers")}
    )


# ---------------------------------------------------------------------------------------- parameters


def _parameter(m: Machine, call: LibCall) -> Value:
    data = call.arg(0, "data")
    grad = flag(call.arg(1, "requires_grad"), True)
    if type(data) is Tensor:
        return replaced(
            data, requires_grad=grad, parameter=True, marks=data.marks - HISTORY - {"host-made"}, pinned=False
        )
    return Tensor("cpu" if data is None else None, shape=None, requires_grad=grad, parameter=True)


model("torch.nn.Parameter", "torch.nn.UninitializedParameter")(spread(_parameter))


@model("torch.nn.Buffer")
def _buffer(m: Machine, call: LibCall) -> Value:
    return m.each(
        call.arg(0, "data", UNKNOWN),
        lambda t: (
            replaced(t, marks=t.marks - {"host-made"}, parameter=True, requires_grad=False) if type(t) is Tensor else t
        ),
    )

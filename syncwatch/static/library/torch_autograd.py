"""Gradients: backward passes, gradient modes and custom functions; autocast and gradient scaling."""

from __future__ import annotations

from syncwatch.static.library.protocol import ALIASES, BASES, LibCall, Machine, attribute, model
from syncwatch.static.library.tensors import contents, given, replaced, tensors
from syncwatch.static.values import (
    BOOL,
    FALSE,
    FLOAT,
    NONE,
    TRUE,
    UNKNOWN,
    Const,
    Func,
    Obj,
    Tensor,
    Tuple,
    Value,
)


def _through(m: Machine, roots: list[Tensor]) -> None:
    """What the host waits for inside a backward pass from these tensors."""
    for t in roots[:4]:
        if "mask-gather" in t.marks and t.device == "cuda":
            # the backward of a boolean gather counts the mask again
            mask = Tensor(t.device, t.sure, None, "bool", requires_grad=False)
            m.ask("torch.nonzero", [mask], via="library")
        if "host-index" in t.marks and t.device == "cuda":
            index = Tensor("cpu", True, (None,), "int", pinned=False)
            m.ask("torch.Tensor.index_put_", [replaced(t, marks=frozenset()), Tuple((index,)), t], via="library")
        if "product" in t.marks and t.device == "cuda":
            m.ask("torch.Tensor.__bool__", [Tensor(t.device, t.sure, (), "bool")], via="library")
        if "left-out" in t.marks and t.device == "cuda":
            replicas = m.new("torch.nn.parallel.DistributedDataParallel", find_unused_parameters=TRUE, unused=TRUE)
            m.ask("torch.nn.parallel.DistributedDataParallel.__call__", [replicas], via="library")
        anomaly = m.mode("anomaly")
        if anomaly is not None and anomaly != FALSE and t.device == "cuda":
            m.ask("torch.Tensor.backward", [t], {"anomaly": anomaly}, via="library")


@model("torch.Tensor.backward")
def _backward(m: Machine, call: LibCall) -> Value:
    _through(m, tensors([call.self]))
    return NONE


@model("torch.autograd.backward")
def _backward_function(m: Machine, call: LibCall) -> Value:
    _through(m, tensors([call.arg(0, "tensors", UNKNOWN)]))
    return NONE


@model("torch.autograd.grad")
def _grad(m: Machine, call: LibCall) -> Value:
    _through(m, tensors([call.arg(0, "outputs", UNKNOWN)]))
    inputs = call.arg(1, "inputs", UNKNOWN)
    found = list(contents(inputs))
    keeps = call.kwargs.get("create_graph", FALSE)

    def gradient(t: Value) -> Value:
        if type(t) is not Tensor:
            return UNKNOWN
        return replaced(t, parameter=False, requires_grad=None if keeps != FALSE else False, marks=frozenset())

    known = m.iterate(inputs).items if type(inputs) is not Tensor else (inputs,)
    if known is None:
        return Tuple(None, gradient(found[0]) if found else UNKNOWN)
    return Tuple(tuple(gradient(t) for t in known))


# ---------------------------------------------------------------------------------------- modes

_CONTEXTS = """torch.no_grad torch.enable_grad torch.inference_mode torch.set_grad_enabled torch.autograd.no_grad
    torch.autograd.enable_grad torch.autograd.inference_mode torch.autograd.set_grad_enabled
    torch.autograd.grad_mode.no_grad
    torch.autograd.profiler.record_function torch.autograd.graph.save_on_cpu torch.autograd.graph.saved_tensors_hooks
    torch.autocast torch.amp.autocast torch.cuda.amp.autocast torch.amp.autocast_mode.autocast
    torch.random.fork_rng torch.sparse.check_sparse_tensor_invariants torch.nn.attention.sdpa_kernel
    torch.backends.cuda.sdp_kernel torch.backends.cudnn.flags torch.nn.utils.parametrize.cached
    torch.nn.utils.skip_init.context torch.autograd.forward_ad.dual_level torch.autograd.profiler.emit_nvtx"""


@model(*_CONTEXTS.split())
def _context(m: Machine, call: LibCall) -> Value:
    """A context manager or, with a function as its argument, a decorator that leaves it as it is."""
    first = call.arg(0)
    if type(first).__name__ in ("Func", "Bound", "Partial", "Class"):
        return first
    return m.new(call.name)


for _name in _CONTEXTS.split():
    BASES[_name] = ("syncwatch.mode",)


@model("syncwatch.mode.__call__")
def _decorate(m: Machine, call: LibCall) -> Value:
    return call.arg(0, None, UNKNOWN)


@model("syncwatch.mode.__enter__", "syncwatch.mode.__exit__")
def _enter(m: Machine, call: LibCall) -> Value:
    return call.receiver if call.name.endswith("enter__") else NONE


@model(
    "torch.autograd.set_detect_anomaly",
    "torch.autograd.detect_anomaly",
    "torch.autograd.anomaly_mode.set_detect_anomaly",
    "torch.autograd.anomaly_mode.detect_anomaly",
)
def _anomaly(m: Machine, call: LibCall) -> Value:
    """Switched on by the call itself; as a context it is switched back afterwards."""
    context = m.new("torch.autograd.set_detect_anomaly")
    m.setattr(context, "<before>", m.mode("anomaly") or FALSE)
    wanted = TRUE if call.name.endswith(".detect_anomaly") else call.arg(0, "mode", TRUE)
    checks = call.kwargs.get("check_nan", TRUE)
    m.set_mode("anomaly", wanted if checks == TRUE else checks if wanted == TRUE else wanted)
    return context


@model("torch.autograd.set_detect_anomaly.__exit__")
def _anomaly_off(m: Machine, call: LibCall) -> Value:
    if type(call.self) is Obj:
        m.set_mode("anomaly", call.self.slots.get("<before>", FALSE))
    return NONE


@model(
    "torch.is_grad_enabled",
    "torch.is_inference_mode_enabled",
    "torch.is_autocast_enabled",
    "torch.is_anomaly_enabled",
    "torch.is_autocast_cpu_enabled",
    "torch.are_deterministic_algorithms_enabled",
)
def _mode(m: Machine, call: LibCall) -> Value:
    return BOOL


# ---------------------------------------------------------------------------------------- custom functions


@model("torch.autograd.Function.apply")
def _apply(m: Machine, call: LibCall) -> Value:
    """`F.apply(...)` runs `F.forward(ctx, ...)`; `F.backward(ctx, ...)` runs in the backward pass, once for each."""
    cls = call.self
    with m.part("ctx"):
        ctx = m.new("torch.autograd.function.FunctionCtx")
    forward = m.getattr(cls, "forward")
    context = m.getattr(cls, "setup_context")
    if type(context) is Func:
        output = m.call(forward, call.args, dict(call.kwargs))
        m.call(context, (ctx, Tuple(call.args), output))
    else:
        output = m.call(forward, (ctx, *call.args), dict(call.kwargs))
    backward = m.getattr(cls, "backward")
    if type(backward) is Func and type(ctx) is Obj:
        m.setattr(ctx, "saved_tensors", ctx.slots.get("saved_tensors", Tuple(())))
        results = output.items if type(output) is Tuple and output.items is not None else (output,)
        m.call(backward, (ctx, *(_gradient_of(r) for r in results)))
    return output


def _gradient_of(value: Value) -> Value:
    """The gradient that a backward pass hands over for a result."""
    if type(value) is Tensor:
        return replaced(value, requires_grad=False, parameter=False, marks=frozenset())
    return UNKNOWN


@model(
    "torch.autograd.function.FunctionCtx.save_for_backward",
    "torch.autograd.function.FunctionCtx.mark_dirty",
    "torch.autograd.function.FunctionCtx.mark_non_differentiable",
    "torch.autograd.function.FunctionCtx.set_materialize_grads",
)
def _save(m: Machine, call: LibCall) -> Value:
    if type(call.self) is Obj and call.name.endswith("save_for_backward"):
        m.setattr(call.self, "saved_tensors", Tuple(call.args))
    return NONE


@attribute("torch.autograd.function.FunctionCtx.needs_input_grad")
def _needs(m: Machine, value: Value, name: str) -> Value:
    return Tuple(None, BOOL)


ALIASES["torch.autograd.function.Function"] = "torch.autograd.Function"


# ---------------------------------------------------------------------------------------- gradient scaling

ALIASES["torch.cuda.amp.GradScaler"] = "torch.amp.GradScaler"
ALIASES["torch.cuda.amp.grad_scaler.GradScaler"] = "torch.amp.GradScaler"
ALIASES["torch.amp.grad_scaler.GradScaler"] = "torch.amp.GradScaler"
ALIASES["torch.cuda.amp.autocast_mode.autocast"] = "torch.cuda.amp.autocast"


@model("torch.amp.GradScaler.__init__")
def _scaler(m: Machine, call: LibCall) -> Value:
    if type(call.self) is Obj:
        m.setattr(call.self, "enabled", call.kwargs.get("enabled", TRUE))
    return NONE


@model("torch.amp.GradScaler.scale")
def _scale(m: Machine, call: LibCall) -> Value:
    return m.each(call.arg(0, "outputs", UNKNOWN), lambda t: replaced(t, parameter=False) if type(t) is Tensor else t)


@model("torch.amp.GradScaler.step")
def _scaler_step(m: Machine, call: LibCall) -> Value:
    closure = call.args[1] if len(call.args) > 1 else call.kwargs.get("closure")
    return m.call(closure) if given(closure) else NONE


@model("torch.amp.GradScaler.update", "torch.amp.GradScaler.unscale_", "torch.amp.GradScaler.load_state_dict")
def _scaler_none(m: Machine, call: LibCall) -> Value:
    return NONE


@model("torch.amp.GradScaler.get_scale", "torch.amp.GradScaler.get_growth_factor")
def _get_scale(m: Machine, call: LibCall) -> Value:
    return FLOAT


@model("torch.amp.GradScaler.is_enabled")
def _is_enabled(m: Machine, call: LibCall) -> Value:
    found = call.self.slots.get("enabled") if type(call.self) is Obj else None
    return found if type(found) is Const else BOOL


@model("torch.amp.GradScaler.state_dict")
def _scaler_state(m: Machine, call: LibCall) -> Value:
    return m.dict({"scale": FLOAT}, UNKNOWN)

"""torch.distributions: parameters as attributes, samples on the parameters' device."""

from __future__ import annotations

from syncwatch.static.library.protocol import (
    BASES,
    IMPLIED,
    MODELS,
    PREFIX_BASES,
    LibCall,
    Machine,
    Model,
    attribute,
    model,
)
from syncwatch.static.library.tensors import (
    NOWHERE,
    Shape,
    broadcast,
    given,
    result,
    shape_of,
    sizes,
    tensors,
)
from syncwatch.static.library.torch_layers import arguments
from syncwatch.static.values import (
    FALSE,
    NONE,
    TRUE,
    UNKNOWN,
    Const,
    Obj,
    Tensor,
    Tuple,
    Value,
)

_BASE = "torch.distributions.Distribution"
PREFIX_BASES.append(("torch.distributions.", _BASE))
BASES[_BASE] = ()
IMPLIED["torch.distributions."] = ("validate_args", "validate_args")

# class: (parameters, batch dimensions that the last axis of a parameter does not add, class of a sample)
_CLASSES = {
    "Normal": ("loc scale", 0, "float"),
    "LogNormal": ("loc scale", 0, "float"),
    "HalfNormal": ("scale", 0, "float"),
    "Laplace": ("loc scale", 0, "float"),
    "Cauchy": ("loc scale", 0, "float"),
    "HalfCauchy": ("scale", 0, "float"),
    "Gumbel": ("loc scale", 0, "float"),
    "StudentT": ("df loc scale", 0, "float"),
    "Beta": ("concentration1 concentration0", 0, "float"),
    "Gamma": ("concentration rate", 0, "float"),
    "Chi2": ("df", 0, "float"),
    "Exponential": ("rate", 0, "float"),
    "Poisson": ("rate", 0, "float"),
    "Pareto": ("scale alpha", 0, "float"),
    "Weibull": ("scale concentration", 0, "float"),
    "Uniform": ("low high", 0, "float"),
    "VonMises": ("loc concentration", 0, "float"),
    "Bernoulli": ("probs logits", 0, "float"),
    "Geometric": ("probs logits", 0, "float"),
    "Categorical": ("probs logits", 1, "int"),
    "OneHotCategorical": ("probs logits", 0, "float"),
    "Multinomial": ("total_count probs logits", 0, "float"),
    "Binomial": ("total_count probs logits", 0, "float"),
    "NegativeBinomial": ("total_count probs logits", 0, "float"),
    "Dirichlet": ("concentration", 0, "float"),
    "ContinuousBernoulli": ("probs logits", 0, "float"),
    "RelaxedBernoulli": ("temperature probs logits", 0, "float"),
    "MultivariateNormal": ("loc covariance_matrix precision_matrix scale_tril", 0, "float"),
    "Independent": ("base_distribution reinterpreted_batch_ndims", 0, "float"),
    "TransformedDistribution": ("base_distribution transforms", 0, "float"),
    "MixtureSameFamily": ("mixture_distribution component_distribution", 0, "float"),
}
_NORMALS = ("Normal", "LogNormal", "HalfNormal")


def _init(params: str) -> Model:
    def init(m: Machine, call: LibCall) -> Value:
        obj = call.self
        if type(obj) is not Obj:
            return NONE
        found = arguments(call, f"{params} validate_args")
        for name, value in found.items():
            m.setattr(obj, name, value)
        if "validate_args" not in found or found["validate_args"] == NONE:
            # the default holds unless it was set once for all
            m.setattr(obj, "validate_args", m.mode("validate_args") or TRUE)
        given_tensors = [v for k, v in found.items() if k != "validate_args" and type(v) is Tensor]
        m.setattr(obj, "<shape>", result(given_tensors, broadcast(*(shape_of(t) for t in given_tensors)), "float"))
        for one, other in (("probs", "logits"), ("logits", "probs")):
            if given(found.get(one)) and not given(found.get(other)) and f" {other}" in f" {params}":
                m.setattr(obj, other, found[one])
        return NONE

    return init


for _name, (_params, _less, _sort) in _CLASSES.items():
    BASES[f"torch.distributions.{_name}"] = (_BASE,)
    MODELS[f"torch.distributions.{_name}.__init__"] = _init(_params)


@model(f"{_BASE}.__init__")
def _base_init(m: Machine, call: LibCall) -> Value:
    if type(call.self) is Obj:
        m.setattr(call.self, "validate_args", call.kwargs.get("validate_args", TRUE))
    return NONE


def _kind(obj: Value) -> tuple[int, str, str]:
    name = obj.type.rpartition(".")[2] if type(obj) is Obj and isinstance(obj.type, str) else ""
    _, less, sort = _CLASSES.get(name, ("", 0, "float"))
    return less, sort, name


def _base(obj: Value) -> Tensor:
    """A tensor with the device and shape of the parameters."""
    if type(obj) is Obj:
        inner = obj.slots.get("base_distribution", obj.slots.get("component_distribution"))
        if type(inner) is Obj:
            return _base(inner)
        held = obj.slots.get("<shape>")
        if type(held) is Tensor:
            return held
        found = tensors([v for k, v in obj.slots.items() if isinstance(k, str) and k[:1] != "<"])
        if found:
            return result(found, None, "float")
    return Tensor(NOWHERE.device)


def _inner_kind(obj: Value) -> tuple[int, str, str]:
    if type(obj) is Obj:
        inner = obj.slots.get("base_distribution", obj.slots.get("component_distribution"))
        if type(inner) is Obj:
            return _inner_kind(inner)
    return _kind(obj)


@model(f"{_BASE}.sample", f"{_BASE}.rsample", f"{_BASE}.sample_n")
def _sample(m: Machine, call: LibCall) -> Value:
    obj = call.self
    less, sort, name = _inner_kind(obj)
    base = _base(obj)
    if name in _NORMALS and call.name.endswith(".sample"):
        inner = obj
        while type(inner) is Obj and type(inner.slots.get("base_distribution")) is Obj:
            inner = inner.slots["base_distribution"]
        scale = inner.slots.get("scale", UNKNOWN) if type(inner) is Obj else UNKNOWN
        loc = inner.slots.get("loc", base) if type(inner) is Obj else base
        m.ask("torch.normal", [loc, scale], via="library")
    extra = call.arg(0, "sample_shape")
    prefix: Shape = () if not given(extra) else sizes([extra])
    shape = None if base.shape is None or prefix is None else (*prefix, *base.shape[: len(base.shape) - less])
    grad = None if call.name.endswith("rsample") else False
    return result([base], shape, sort, grad=grad)


@model(f"{_BASE}.log_prob", f"{_BASE}.cdf", f"{_BASE}.icdf")
def _log_prob(m: Machine, call: LibCall) -> Value:
    value = call.arg(0, "value", UNKNOWN)
    base = _base(call.self)
    less, _, name = _inner_kind(call.self)
    own = base.shape[: len(base.shape) - less] if base.shape is not None else None
    shape = broadcast(own, shape_of(value))
    if name in ("MultivariateNormal", "Dirichlet", "OneHotCategorical", "Multinomial") or (
        type(call.self) is Obj and call.self.type == "torch.distributions.Independent"
    ):
        shape = shape[:-1] if shape else None
    return result([base, value], shape, "float")


@model(f"{_BASE}.entropy", f"{_BASE}.perplexity")
def _entropy(m: Machine, call: LibCall) -> Value:
    base = _base(call.self)
    less, _, _ = _inner_kind(call.self)
    return result([base], None if base.shape is None else base.shape[: len(base.shape) - less], "float")


@model(f"{_BASE}.expand", f"{_BASE}.to_event")
def _expand(m: Machine, call: LibCall) -> Value:
    return call.receiver


@model(f"{_BASE}.enumerate_support")
def _support(m: Machine, call: LibCall) -> Value:
    return result([_base(call.self)], None, None)


@attribute(
    f"{_BASE}.mean",
    f"{_BASE}.variance",
    f"{_BASE}.stddev",
    f"{_BASE}.mode",
    f"{_BASE}.loc",
    f"{_BASE}.scale",
    f"{_BASE}.probs",
    f"{_BASE}.logits",
)
def _moment(m: Machine, obj: Value, name: str) -> Value:
    found = obj.slots.get(name) if type(obj) is Obj else None
    return found if found is not None else result([_base(obj)], _base(obj).shape, "float")


@attribute(f"{_BASE}.batch_shape", f"{_BASE}.event_shape")
def _shape(m: Machine, obj: Value, name: str) -> Value:
    return Tuple(None, UNKNOWN, type="torch.Size")


@model(f"{_BASE}.set_default_validate_args", "torch.distributions.Distribution.set_default_validate_args")
def _set_default(m: Machine, call: LibCall) -> Value:
    # called on the class: the value is what looks like the receiver
    value = call.args[0] if call.args else call.self
    m.set_mode("validate_args", value if type(value) is Const else FALSE)
    return NONE


@model("torch.distributions.kl_divergence", "torch.distributions.kl.kl_divergence")
def _kl(m: Machine, call: LibCall) -> Value:
    base = _base(call.arg(0, "p", UNKNOWN))
    less, _, _ = _inner_kind(call.arg(0, "p", UNKNOWN))
    return result([base], None if base.shape is None else base.shape[: len(base.shape) - less], "float")

"""torch.distributions: every class and method, validated or not, with kl divergence and transforms."""

# mypy: disable-error-code="misc, no-untyped-call, no-any-return"
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import distributions as D

from syncwatch.facts.measure.probes import Program, probe
from syncwatch.facts.measure.probes.distributions import parameters_of
from syncwatch.facts.ops.distributions import CHECKED

METHODS = "rsample entropy cdf icdf expand enumerate_support perplexity"
FURTHER = """
FisherSnedecor GeneralizedPareto Independent InverseGamma Kumaraswamy LKJCholesky LogisticNormal
LowRankMultivariateNormal MixtureSameFamily OneHotCategoricalStraightThrough RelaxedBernoulli RelaxedOneHotCategorical
TransformedDistribution Wishart
"""


_COMPARED = """
Bernoulli Beta Binomial Categorical Dirichlet Exponential Gamma Geometric Gumbel Laplace MultivariateNormal
OneHotCategorical Pareto Poisson Uniform Independent
"""


def parameters(name: str, where: str) -> dict[str, Any]:
    """Valid parameters of any class."""
    value = torch.full((4,), 0.5, device=where)
    if name in CHECKED:
        return parameters_of(name, where)
    square = torch.eye(4, device=where)
    return {
        "FisherSnedecor": {"df1": value + 4, "df2": value + 4},
        "GeneralizedPareto": {"loc": value, "scale": value, "concentration": value / 2},
        "Independent": {"base_distribution": None, "reinterpreted_batch_ndims": 1},
        "InverseGamma": {"concentration": value + 2, "rate": value},
        "Kumaraswamy": {"concentration1": value + 1, "concentration0": value + 1},
        "LKJCholesky": {"dim": 3, "concentration": torch.tensor(0.5, device=where)},
        "LogisticNormal": {"loc": value, "scale": value},
        "LowRankMultivariateNormal": {"loc": value, "cov_factor": square[:, :2], "cov_diag": value},
        "MixtureSameFamily": {"mixture_distribution": None, "component_distribution": None},
        "OneHotCategoricalStraightThrough": {"probs": value},
        "RelaxedBernoulli": {"temperature": value[0], "probs": value},
        "RelaxedOneHotCategorical": {"temperature": value[0], "probs": value},
        "TransformedDistribution": {"base_distribution": None, "transforms": [D.transforms.TanhTransform()]},
        "Wishart": {"df": torch.tensor(6.0, device=where), "covariance_matrix": square},
    }[name]


def make(name: str, where: str, **options: Any) -> tuple[Any, dict[str, Any]]:
    """The class and what it is made of; inner distributions are made here, unmeasured."""
    given = parameters(name, where)
    value = torch.full((4,), 0.5, device=where)
    for key in given:
        if given[key] is None:
            given[key] = (
                D.Categorical(value, **options) if key == "mixture_distribution" else D.Normal(value, value, **options)
            )
    return getattr(D, name), {**given, **options}


def programs(device: str) -> Iterator[Program]:
    for name in (*CHECKED, *FURTHER.split()):
        if hasattr(D, name):
            yield from _of_class(name, device)
    yield from _pairs(device)
    yield from _transforms(device)


def _works(name: str, act: Callable[[Any, Any], Any]) -> bool:
    """Whether the class has this method at all, tried on the host."""
    try:
        kind, given = make(name, "cpu")
        act(kind(**given), kind(**given).sample())
    except (NotImplementedError, AttributeError, RuntimeError, ValueError):
        return False
    return True


def _of_class(name: str, device: str) -> Iterator[Program]:
    def built(where: str, **options: Any) -> tuple[Any, torch.Tensor]:
        kind, given = make(name, where, **options)
        made = kind(**given)
        return made, made.sample()

    sides: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("", device, {}),
        (", unchecked", device, {"validate_args": False}),
        (" host", "cpu", {}),
    )
    acts: dict[str, Callable[[Any, Any], Any]] = {}
    for method in METHODS.split():
        if method in ("cdf", "icdf"):
            acts[method] = lambda d, x, m=method: getattr(d, m)(x if m == "cdf" else torch.full_like(x, 0.5))
        elif method == "expand":
            acts[method] = lambda d, x: d.expand((2, *d.batch_shape))
        else:
            acts[method] = lambda d, x, m=method: getattr(d, m)()
    acts["sample of a shape"] = lambda d, x: d.sample((3,))
    if name not in CHECKED:
        acts |= {"sample": lambda d, x: d.sample(), "log_prob": lambda d, x: d.log_prob(x)}
    for shown, act in acts.items():
        if _works(name, act):
            for side, where, options in sides:
                yield probe(f"{name}.{shown}{side}", lambda w=where, o=options: built(w, **o), act)
    if name in CHECKED:
        return
    for side, where, options in sides:

        def constructor(where: str = where, options: dict[str, Any] = options) -> Any:
            kind, given = make(name, where, **options)
            return lambda: kind(**given)

        yield f"{name}(){side}", constructor


def _pairs(device: str) -> Iterator[Program]:
    for name in _COMPARED.split():
        for side, where in (("", device), (" host", "cpu")):

            def two(where: str = where, name: str = name) -> tuple[Any, Any]:
                (kind, given), (_, other) = make(name, where), make(name, where)
                return kind(**given), kind(**other)

            yield probe(f"kl_divergence of {name}{side}", two, lambda p, q: D.kl_divergence(p, q))


def _transforms(device: str) -> Iterator[Program]:
    transforms = D.transforms
    kinds: dict[str, Callable[[], Any]] = {
        "AffineTransform": lambda: transforms.AffineTransform(0.0, 2.0),
        "ExpTransform": transforms.ExpTransform,
        "SigmoidTransform": transforms.SigmoidTransform,
        "TanhTransform": transforms.TanhTransform,
        "SoftmaxTransform": transforms.SoftmaxTransform,
        "SoftplusTransform": transforms.SoftplusTransform,
        "PowerTransform": lambda: transforms.PowerTransform(2.0),
        "PowerTransform by device number": lambda: transforms.PowerTransform(torch.tensor(2.0, device=device)),
        "StickBreakingTransform": transforms.StickBreakingTransform,
        "ComposeTransform": lambda: transforms.ComposeTransform(
            [transforms.ExpTransform(), transforms.TanhTransform()]
        ),
    }
    for name, kind in kinds.items():

        def ready(kind: Callable[[], Any] = kind) -> tuple[Any, torch.Tensor]:
            return kind(), torch.rand(4, device=device)

        yield probe(f"{name}()", ready, lambda t, x: t(x))
        if name != "SoftmaxTransform":
            yield probe(f"{name}.inv", ready, lambda t, x: t.inv(t(x)))
            yield probe(f"{name}.log_abs_det_jacobian", ready, lambda t, x: t.log_abs_det_jacobian(x, t(x)))
    yield probe("constraints.positive.check", lambda: torch.rand(3, device=device), D.constraints.positive.check)
    yield probe("constraints.simplex.check", lambda: torch.rand(3, device=device), D.constraints.simplex.check)
    yield probe(
        "constraints.positive_definite.check",
        lambda: torch.eye(3, device=device),
        D.constraints.positive_definite.check,
    )
    yield probe(
        "constraints.lower_cholesky.check", lambda: torch.eye(3, device=device), D.constraints.lower_cholesky.check
    )
    yield probe("biject_to", lambda: torch.rand(3, device=device), lambda x: D.biject_to(D.constraints.positive)(x))

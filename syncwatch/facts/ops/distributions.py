"""torch.distributions: validation reads one value for each checked parameter."""

from __future__ import annotations

from syncwatch.facts.conditions import Bound, Condition, all_of, any_of, attr, flag, is_cuda, on_cuda
from syncwatch.facts.table import Fact, fact, reads, uploads

NO_VALIDATION = "validate_args=False, or torch.distributions.Distribution.set_default_validate_args(False) once"

# class: (parameters in order, waits with validation, waits without, waits of sample, waits of log_prob)
# Without validation a class that builds another distribution inside still waits: the inner one is validated.
CHECKED = {
    "Bernoulli": ("probs logits", 1, 0, 0, 1),
    "Beta": ("concentration1 concentration0", 3, 0, 0, 2),
    "Binomial": ("total_count probs logits", 2, 0, 0, 1),
    "Categorical": ("probs logits", 1, 0, 0, 1),
    "Cauchy": ("loc scale", 2, 0, 0, 1),
    "Chi2": ("df", 2, 1, 0, 1),
    "ContinuousBernoulli": ("probs logits", 1, 1, 0, 1),
    "Dirichlet": ("concentration", 1, 0, 0, 1),
    "Exponential": ("rate", 1, 0, 0, 1),
    "Gamma": ("concentration rate", 2, 0, 0, 1),
    "Geometric": ("probs logits", 2, 0, 0, 1),
    "Gumbel": ("loc scale", 4, 0, 0, 1),
    "HalfCauchy": ("scale", 2, 1, 0, 1),
    "HalfNormal": ("scale", 2, 1, 2, 1),
    "Laplace": ("loc scale", 2, 0, 0, 1),
    "LogNormal": ("loc scale", 4, 0, 2, 2),
    "Multinomial": ("total_count probs logits", 6, 4, 0, 1),
    "MultivariateNormal": ("loc covariance_matrix precision_matrix scale_tril", 5, 1, 0, 1),
    "NegativeBinomial": ("total_count probs logits", 2, 0, 0, 1),
    "Normal": ("loc scale", 2, 0, 2, 1),
    "OneHotCategorical": ("probs logits", 3, 1, 0, 2),
    "Pareto": ("scale alpha", 3, 0, 0, 2),
    "Poisson": ("rate", 1, 0, 0, 1),
    "StudentT": ("df loc scale", 5, 2, 0, 1),
    "Uniform": ("low high", 2, 0, 0, 1),
    "VonMises": ("loc concentration", 2, 0, None, 1),
    "Weibull": ("scale concentration", 3, 0, 0, 2),
}
# a host number beside a CUDA tensor becomes a CUDA tensor first
_NAMES = """
Normal LogNormal Laplace Cauchy Gumbel StudentT Gamma Beta Pareto Weibull Uniform VonMises
"""
BROADCAST = frozenset(_NAMES.split())
_INNER = frozenset({"OneHotCategorical"})  # log_prob asks an inner distribution, which validates on its own
# Others are not measured: some count or pick by mask (Binomial.entropy, StudentT.variance).
_SILENT = """
Normal.icdf Normal.rsample Normal.entropy Categorical.entropy
"""
_CDF = """
Cauchy Exponential HalfNormal Laplace Normal Uniform
"""


def _any_cuda(names: tuple[str, ...]) -> Condition:
    return Condition(
        "its parameters are on the GPU",
        lambda bound: any_of(is_cuda(bound.get(param)) for param in names),
        "its parameters are in host memory",
    )


def _constructor(name: str, params: str, checked: int, unchecked: int) -> Fact:
    names = tuple(params.split())
    cuda = _any_cuda(names)
    validated = (cuda & flag("validate_args", True)).described(
        "its parameters are on the GPU, and are validated on the host",
        "validate_args=False, or the parameters are in host memory",
    )
    cases = [reads(validated, waits=checked)]
    if unchecked:
        inner = (cuda & ~flag("validate_args", True)).described(
            "a distribution that it builds inside validates its parameters all the same",
            "the parameters are in host memory",
        )
        cases.append(reads(inner, waits=unchecked))
    if name in BROADCAST:
        cases.append(
            uploads(
                Condition(
                    "a number beside CUDA tensors is uploaded",
                    lambda bound: all_of(iter((cuda(bound), _numbers(bound, names) > 0))),
                    "its parameters are all tensors, or all numbers",
                ),
                waits=lambda bound: _numbers(bound, names),
                instead="give all parameters as tensors on the device",
            )
        )
    return fact(
        (f"torch.distributions.{name}", f"torch.distributions.{name}.__init__"),
        f"{params} validate_args",
        *cases,
        instead=NO_VALIDATION,
    )


def _numbers(bound: Bound, names: tuple[str, ...]) -> int:
    return sum((arg := bound.get(name)) is not None and arg.sort in ("number", "bool") for name in names)


def _method(method: str, classes: list[str], waits: int) -> Fact:
    return fact(
        tuple(f"torch.distributions.{name}.{method}" for name in classes),
        "distribution value",
        reads(
            (on_cuda("value") & attr("distribution", "validate_args", True)).described(
                "the value is on the GPU, and is validated on the host",
                "validate_args=False, or the value is in host memory",
            ),
            waits=waits,
        ),
        instead=NO_VALIDATION,
    )


def _by_log_prob(waits: int) -> list[str]:
    return [name for name, row in CHECKED.items() if row[4] == waits and name not in _INNER]


def _samplers(waits: int | None) -> tuple[str, ...]:
    return tuple(f"torch.distributions.{name}.sample" for name, row in CHECKED.items() if row[3] == waits)


_on_gpu = on_cuda("distribution").described(
    "it is on the GPU, where drawing reads its standard deviation or counts what was accepted",
    "its parameters are in host memory",
)

FACTS = (
    *(_constructor(name, row[0], row[1], row[2]) for name, row in CHECKED.items()),
    _method("log_prob", [*_by_log_prob(1), "Distribution"], 1),
    _method("log_prob", _by_log_prob(2), 2),
    _method("cdf", _CDF.split(), 1),
    fact(
        tuple(f"torch.distributions.{name}.log_prob" for name in sorted(_INNER)),
        "distribution value",
        reads(
            on_cuda("value").described(
                "an inner distribution validates the value on the host", "the value is in host memory"
            ),
            waits=lambda bound: 1 if attr("distribution", "validate_args", True)(bound) is False else 2,
        ),
    ),
    fact(
        _samplers(2),
        "distribution sample_shape",
        reads(_on_gpu, waits=2),
        instead="rsample, under torch.no_grad() where no gradient is wanted",
    ),
    fact(_samplers(None), "distribution sample_shape", reads(_on_gpu, waits=None)),
    fact((*_samplers(0), "torch.distributions.Distribution.sample"), "distribution"),
    fact(
        tuple(f"torch.distributions.{name}" for name in _SILENT.split()),
        "distribution",
    ),
    fact(("torch.distributions.kl_divergence", "torch.distributions.kl.kl_divergence"), "p q"),
)

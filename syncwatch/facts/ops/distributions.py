"""torch.distributions: validation reads one value for each checked parameter."""

from __future__ import annotations

from syncwatch.facts.conditions import Bound, Condition, all_of, any_of, attr, flag, is_cuda, on_cuda, told
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
_INNER = frozenset({"OneHotCategorical", "OneHotCategoricalStraightThrough", "RelaxedBernoulli"})  # validate inside
# class: (parameters in order, waits with validation, waits without)
FURTHER = {
    "FisherSnedecor": ("df1 df2", 6, 4),
    "GeneralizedPareto": ("loc scale concentration", 3, 0),
    "InverseGamma": ("concentration rate", 4, 0),
    "Kumaraswamy": ("concentration1 concentration0", 4, 0),
    "LKJCholesky": ("dim concentration", 4, 3),
    "LogisticNormal": ("loc scale", 4, 0),
    "LowRankMultivariateNormal": ("loc cov_factor cov_diag", 4, 1),
    "RelaxedBernoulli": ("temperature probs logits", 3, 1),
    "RelaxedOneHotCategorical": ("temperature probs logits", 5, 1),
    "Wishart": ("df covariance_matrix precision_matrix scale_tril", 9, 5),
}
# made of others, which were validated when they were made
_COMPOSED = "Independent MixtureSameFamily TransformedDistribution"
_LOG_PROB = {
    1: "FisherSnedecor GeneralizedPareto Independent LKJCholesky LowRankMultivariateNormal",
    2: "InverseGamma Kumaraswamy LogisticNormal MixtureSameFamily RelaxedOneHotCategorical TransformedDistribution",
    3: "Wishart",
}
_CDF = {
    1: """Cauchy Chi2 ContinuousBernoulli Exponential Gamma GeneralizedPareto HalfCauchy HalfNormal Laplace
        MixtureSameFamily Normal Uniform""",
    2: "Gumbel InverseGamma Kumaraswamy LogNormal Pareto TransformedDistribution Weibull",
}
# methods that wait whether the parameters are validated or not: (with validation, without)
_COUNTING = {
    "Binomial.entropy": (5, 4),
    "Binomial.perplexity": (5, 4),
    "Binomial.enumerate_support": (2, 2),
    "Multinomial.entropy": (3, 3),
    "Multinomial.perplexity": (3, 3),
    "VonMises.expand": (2, 0),
    "Wishart.entropy": (1, 1),
    "Wishart.perplexity": (1, 1),
    "Wishart.expand": (2, 2),
    "Wishart.rsample": (None, None),
    "Wishart.sample": (None, None),
}
# torch.normal, which draws these, checks the standard deviation on the host
_BY_NORMAL = ("Normal", "LogNormal", "HalfNormal")


_on_gpu = on_cuda("distribution")


def _any_cuda(names: tuple[str, ...]) -> Condition:
    return Condition(
        "its parameters are on the GPU",
        lambda bound: any_of(is_cuda(bound.get(param)) for param in names),
        "its parameters are in host memory",
    )


def _constructor(name: str, params: str, checked: int, unchecked: int) -> Fact:
    names = tuple(params.split())
    alike = ("OneHotCategoricalStraightThrough",) if name == "OneHotCategorical" else ()
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
        tuple(f"torch.distributions.{kind}{end}" for kind in (name, *alike) for end in ("", ".__init__")),
        f"{params} validate_args",
        *cases,
        instead=NO_VALIDATION,
    )


def _numbers(bound: Bound, names: tuple[str, ...]) -> int:
    return sum((arg := bound.get(name)) is not None and arg.sort in ("number", "bool") for name in names)


def _counting(method: str, checked: int | None, unchecked: int | None) -> Fact:
    validated = attr("distribution", "validate_args", True)
    when = _on_gpu if unchecked != 0 else _on_gpu & validated
    return fact(
        (f"torch.distributions.{method}",),
        "distribution",
        reads(
            when.described(
                "its parameters are on the GPU, where values are counted, checked or picked by a mask",
                "its parameters are in host memory" if unchecked != 0 else "validate_args=False, or host parameters",
            ),
            waits=lambda bound: unchecked if validated(bound) is False else checked,
        ),
        instead="compute it rarely, or on the host beside the step",
    )


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


_drawn = on_cuda("distribution").described(
    "it is on the GPU, where drawing reads its standard deviation or counts what was accepted",
    "its parameters are in host memory",
)
_drawn_inside = (
    on_cuda("distribution") & told("distribution", "base", *_BY_NORMAL, words="its samples are normal", otherwise="")
).described(
    "its samples come from a normal distribution on the GPU, whose standard deviation is read",
    "its samples come from another distribution, or its parameters are in host memory",
)


def _silent() -> tuple[str, ...]:
    """Methods that were measured and wait under no condition."""
    waiting = {*_COUNTING, *(f"{name}.cdf" for names in _CDF.values() for name in names.split())}
    methods = "rsample entropy cdf icdf expand enumerate_support perplexity"
    names = [f"{name}.{method}" for name in (*CHECKED, *FURTHER, *_COMPOSED.split()) for method in methods.split()]
    return tuple(f"torch.distributions.{name}" for name in names if name not in waiting)


FACTS = (
    *(_constructor(name, row[0], row[1], row[2]) for name, row in CHECKED.items()),
    *(_constructor(name, *row) for name, row in FURTHER.items()),
    _method("log_prob", [*_by_log_prob(1), *_LOG_PROB[1].split(), "Distribution"], 1),
    _method("log_prob", [*_by_log_prob(2), *_LOG_PROB[2].split()], 2),
    _method("log_prob", _LOG_PROB[3].split(), 3),
    *(_method("cdf", names.split(), waits) for waits, names in _CDF.items()),
    *(_counting(method, *waits) for method, waits in _COUNTING.items()),
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
        (*_samplers(2), "torch.distributions.LogisticNormal.sample"),
        "distribution sample_shape",
        reads(_drawn, waits=2),
        instead="rsample, under torch.no_grad() where no gradient is wanted",
    ),
    fact(_samplers(None), "distribution sample_shape", reads(_drawn, waits=None)),
    fact(
        tuple(f"torch.distributions.{name}.sample" for name in _COMPOSED.split()),
        "distribution sample_shape",
        reads(_drawn_inside, waits=2),
        instead="rsample, under torch.no_grad() where no gradient is wanted",
    ),
    fact(
        (
            *_samplers(0),
            *(f"torch.distributions.{name}.sample" for name in FURTHER if name not in ("LogisticNormal", "Wishart")),
            "torch.distributions.OneHotCategoricalStraightThrough.sample",
            "torch.distributions.Distribution.sample",
        ),
        "distribution",
    ),
    fact((*_silent(), *(f"torch.distributions.{name}" for name in _COMPOSED.split())), "distribution"),
    fact(
        ("torch.distributions.kl_divergence", "torch.distributions.kl.kl_divergence"),
        "p q",
        reads(
            (
                on_cuda("p") & told("p", "kind", "Binomial", words="both are binomial", otherwise="", unknown=False)
            ).described(
                "two binomial distributions on the GPU, whose counts are compared on the host",
                "the distributions are of another kind, or in host memory",
            ),
            waits=3,
        ),
    ),
)

"""torch.distributions: validation reads one value for each checked parameter."""

from __future__ import annotations

from syncwatch.facts.conditions import Bound, Condition, Verdict, all_of, any_of, attr, flag, is_cuda, on_cuda
from syncwatch.facts.table import Fact, fact, reads

NO_VALIDATION = "validate_args=False, or torch.distributions.Distribution.set_default_validate_args(False) once"

# class: (parameters in order, how many of them are checked one by one)
CHECKED = {
    "Normal": ("loc scale", 2),
    "LogNormal": ("loc scale", 2),
    "HalfNormal": ("scale", 1),
    "Laplace": ("loc scale", 2),
    "Cauchy": ("loc scale", 2),
    "HalfCauchy": ("scale", 1),
    "Gumbel": ("loc scale", 2),
    "StudentT": ("df loc scale", 3),
    "Beta": ("concentration1 concentration0", 2),
    "Gamma": ("concentration rate", 2),
    "Chi2": ("df", 1),
    "Exponential": ("rate", 1),
    "Poisson": ("rate", 1),
    "Pareto": ("scale alpha", 2),
    "Weibull": ("scale concentration", 2),
    "Uniform": ("low high", 2),
    "VonMises": ("loc concentration", 2),
    "Bernoulli": ("probs logits", 1),
    "Geometric": ("probs logits", 1),
    "Categorical": ("probs logits", 1),
    "OneHotCategorical": ("probs logits", 1),
    "Multinomial": ("total_count probs logits", 1),
    "Binomial": ("total_count probs logits", 2),
    "NegativeBinomial": ("total_count probs logits", 2),
    "Dirichlet": ("concentration", 1),
    "ContinuousBernoulli": ("probs logits", 1),
    "MultivariateNormal": ("loc covariance_matrix precision_matrix scale_tril", 2),
}
_METHODS = ("log_prob", "cdf", "icdf")
_SILENT = ("sample", "rsample", "entropy", "mean", "variance", "stddev", "expand", "perplexity", "enumerate_support")


def _constructor(name: str, params: str, checked: int) -> Fact:
    names = tuple(params.split())

    def any_cuda(bound: Bound) -> Verdict:
        return any_of(is_cuda(bound.get(param)) for param in names)

    validates = flag("validate_args", True)
    return fact(
        (f"torch.distributions.{name}", f"torch.distributions.{name}.__init__"),
        f"{params} validate_args",
        reads(
            Condition(
                "its parameters are on the GPU, and are validated on the host",
                lambda bound: all_of(iter((any_cuda(bound), validates(bound)))),
                "validate_args=False, or the parameters are in host memory",
            ),
            waits=checked,
        ),
        instead=NO_VALIDATION,
    )


FACTS = (
    *(_constructor(name, params, checked) for name, (params, checked) in CHECKED.items()),
    fact(
        tuple(f"torch.distributions.{name}.{method}" for name in (*CHECKED, "Distribution") for method in _METHODS),
        "distribution value",
        reads(
            (on_cuda("value") & attr("distribution", "validate_args", True)).described(
                "the value is on the GPU, and is validated on the host",
                "validate_args=False, or the value is in host memory",
            )
        ),
        instead=NO_VALIDATION,
    ),
    fact(
        tuple(f"torch.distributions.{name}.{method}" for name in (*CHECKED, "Distribution") for method in _SILENT),
        "distribution",
    ),
    fact(("torch.distributions.kl_divergence", "torch.distributions.kl.kl_divergence"), "p q"),
)

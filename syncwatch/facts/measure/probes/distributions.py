"""torch.distributions with and without validation."""

# mypy: disable-error-code="misc, no-untyped-call, no-any-return"
from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import distributions as D

from syncwatch.facts.measure.probes import Program, probe
from syncwatch.facts.ops.distributions import CHECKED


def parameters_of(name: str, device: str) -> dict[str, torch.Tensor]:
    """Valid parameters: positive numbers, probabilities, a covariance."""
    value = torch.full((4,), 0.5, device=device)
    if name == "MultivariateNormal":
        return {"loc": value, "covariance_matrix": torch.eye(4, device=device)}
    if name == "Uniform":
        return {"low": value, "high": value + 1}
    parameters = dict.fromkeys(CHECKED[name][0].split(), value)
    if "probs" in parameters:
        del parameters["logits"]
    if "total_count" in parameters:
        parameters["total_count"] = torch.full((4,), 3.0, device=device)
    if name == "Multinomial":
        return {"probs": value}
    return parameters


def programs(device: str) -> Iterator[Program]:
    for name in CHECKED:
        kind = getattr(D, name)

        def parameters(name: str = name) -> dict[str, torch.Tensor]:
            return parameters_of(name, device)

        def made(name: str = name, kind: type = kind, validate: bool = True) -> tuple[D.Distribution, torch.Tensor]:
            made = kind(**parameters_of(name, device), validate_args=validate)
            return made, made.sample()

        yield (
            f"{name}()",
            lambda p=parameters, k=kind: (lambda kwargs: lambda: k(**kwargs))(p()),
        )
        yield (
            f"{name}(validate_args=False)",
            lambda p=parameters, k=kind: (lambda kwargs: lambda: k(**kwargs, validate_args=False))(p()),
        )
        yield probe(f"{name}.sample", lambda m=made: m()[0], lambda d: d.sample())
        yield probe(f"{name}.log_prob", made, lambda d, x: d.log_prob(x))
        yield probe(f"{name}.log_prob unvalidated", lambda m=made: m(validate=False), lambda d, x: d.log_prob(x))
    yield probe("Normal() host", lambda: torch.ones(2), lambda x: D.Normal(x, x))
    yield probe("Normal(number, device)", lambda: torch.ones(2, device=device), lambda x: D.Normal(0.0, x))
    yield probe("Normal.rsample", lambda: D.Normal(torch.ones(2, device=device), 1.0), lambda d: d.rsample())
    yield probe("Normal.entropy", lambda: D.Normal(torch.ones(2, device=device), 1.0), lambda d: d.entropy())
    yield probe(
        "Normal.cdf",
        lambda: (D.Normal(torch.ones(2, device=device), 1.0), torch.ones(2, device=device)),
        lambda d, x: d.cdf(x),
    )
    yield probe(
        "Normal.icdf",
        lambda: (D.Normal(torch.ones(2, device=device), 1.0), torch.ones(2, device=device) / 2),
        lambda d, x: d.icdf(x),
    )
    yield probe("Categorical(logits)", lambda: torch.randn(4, device=device), lambda x: D.Categorical(logits=x))
    yield probe("Categorical.entropy", lambda: D.Categorical(torch.ones(4, device=device)), lambda d: d.entropy())
    yield probe(
        "kl_divergence",
        lambda: (D.Normal(torch.ones(2, device=device), 1.0), D.Normal(torch.zeros(2, device=device), 1.0)),
        lambda p, q: D.kl_divergence(p, q),
    )
    yield probe("Independent", lambda: D.Normal(torch.ones(2, device=device), 1.0), lambda d: D.Independent(d, 1))
    yield probe(
        "TransformedDistribution",
        lambda: D.Normal(torch.ones(2, device=device), 1.0),
        lambda d: D.TransformedDistribution(d, [D.transforms.TanhTransform()]),
    )
    yield probe(
        "MixtureSameFamily",
        lambda: (D.Categorical(torch.ones(3, device=device)), D.Normal(torch.ones(3, device=device), 1.0)),
        lambda m, c: D.MixtureSameFamily(m, c),
    )

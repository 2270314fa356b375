"""The remaining sides of conditions: what the other areas do not reach."""

# mypy: disable-error-code="misc, no-untyped-call, no-any-return"
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import distributions as D

from syncwatch.facts.measure.probes import Program, probe
from syncwatch.facts.measure.probes.distributions import parameters_of
from syncwatch.facts.ops.distributions import BROADCAST, CHECKED


def programs(device: str) -> Iterator[Program]:
    yield from _numbers(device)
    for side, where in (("", device), (" host", "cpu")):
        yield from _everywhere(side, where)
    yield from _distributions(device)


def _numbers(device: str) -> Iterator[Program]:
    def three() -> torch.Tensor:
        return torch.tensor(3, device=device)

    def with_vector() -> tuple[torch.Tensor, torch.Tensor]:
        return torch.rand(12, device=device), three()

    yield probe("cuda(non_blocking), 64 MB", lambda: torch.zeros(1 << 24), lambda x: x.cuda(non_blocking=True))
    yield probe("cuda.FloatTensor of a list", lambda: (), lambda: torch.cuda.FloatTensor([1.0, 2.0]))
    yield probe("cuda.FloatTensor of a size", lambda: (), lambda: torch.cuda.FloatTensor(3, 2))
    yield probe("scalar_tensor of a device number", three, lambda n: torch.scalar_tensor(n, device=device))
    yield probe("nonzero_static of device size", with_vector, lambda x, n: torch.nonzero_static(x, size=n))
    yield probe("torch.reshape by device number", with_vector, lambda x, n: torch.reshape(x, (n, -1)))
    yield probe("randperm of device number", three, lambda n: torch.randperm(n, device=device))
    yield probe("norm along device number", with_vector, lambda x, n: x.norm(dim=n - 3))
    yield probe("norm along number", with_vector, lambda x, n: x.norm(dim=0))
    yield probe("norm, nuclear", lambda: torch.rand(4, 4, device=device), lambda x: torch.norm(x, "nuc"))
    yield probe("tensor of -inf", lambda: (), lambda: torch.tensor(float("-inf"), device=device))
    yield probe(
        "to(cpu) of a module, non_blocking",
        lambda: torch.nn.Linear(2, 2).to(device),
        lambda m: m.to("cpu", non_blocking=True),
    )


def _everywhere(side: str, where: str) -> Iterator[Program]:
    def wide() -> torch.Tensor:
        return torch.rand(3, 5, device=where)

    def square() -> torch.Tensor:
        return torch.eye(5, device=where) * 2

    def spectrum() -> torch.Tensor:
        return torch.stft(torch.rand(64, device=where), 16, window=torch.ones(16, device=where), return_complex=True)

    yield probe(f"cov of a matrix{side}", wide, torch.cov)
    yield probe(
        f"cov with weights{side}",
        lambda: (wide(), torch.rand(5, device=where)),
        lambda x, w: torch.cov(x, aweights=w),
    )
    yield probe(
        f"unravel_index{side}",
        lambda: torch.arange(6, device=where),
        lambda i: torch.unravel_index(i, (2, 3)),
    )
    yield probe(
        f"istft{side}",
        lambda: (spectrum(), torch.ones(16, device=where)),
        lambda s, w: torch.istft(s, 16, window=w),
    )
    yield probe(f"linalg.solve_ex checked{side}", square, lambda a: torch.linalg.solve_ex(a, a, check_errors=True))
    yield probe(f"linalg.lu of wide matrices{side}", wide, torch.linalg.lu)
    yield probe(f"linalg.lu of tall matrices{side}", lambda: wide().T.contiguous(), torch.linalg.lu)
    yield probe(f"linalg.lu of a wide batch{side}", lambda: torch.rand(4, 3, 5, device=where), torch.linalg.lu)
    yield probe(f"linalg.lu_factor_ex of wide matrices{side}", wide, torch.linalg.lu_factor_ex)
    yield probe(f"linalg.lu_factor_ex checked{side}", square, lambda a: torch.linalg.lu_factor_ex(a, check_errors=True))
    yield probe(
        f"linalg.ldl_solve{side}",
        lambda: (*torch.linalg.ldl_factor(square()), square()),
        lambda ld, pivots, b: torch.linalg.ldl_solve(ld, pivots, b),
    )
    yield probe(f"set_detect_anomaly{side}", lambda: wide().requires_grad_().sum(), _anomaly)
    yield probe(f"set_detect_anomaly off{side}", lambda: wide().requires_grad_().sum(), _no_anomaly)
    yield probe(f"masked.sum{side}", lambda: (wide(), wide() > 0.5), lambda x, m: torch.masked.sum(x, mask=m))
    yield probe(
        f"masked.softmax{side}", lambda: (wide(), wide() > 0.5), lambda x, m: torch.masked.softmax(x, 1, mask=m)
    )
    yield probe(
        f"is_nonzero by aten{side}", lambda: torch.ones((), device=where), lambda x: torch.ops.aten.is_nonzero(x)
    )
    yield probe(f"new_tensor of numbers{side}", wide, lambda x: x.new_tensor(1.0))
    yield probe(f"diff{side}", wide, torch.diff)
    yield probe(f"gradient{side}", lambda: wide()[0], torch.gradient)
    yield probe(f"block mask{side}", wide, lambda x: x.unfold(1, 2, 1))
    yield probe(f"histogram bins{side}", wide, lambda x: torch.histc(x, bins=4, min=0, max=1))
    yield probe(f"cumulative trapezoid{side}", wide, torch.cumulative_trapezoid)


def _anomaly(loss: torch.Tensor) -> None:
    with torch.autograd.set_detect_anomaly(True):
        loss.backward()


def _no_anomaly(loss: torch.Tensor) -> None:
    with torch.autograd.set_detect_anomaly(False):
        loss.backward()


def _distributions(device: str) -> Iterator[Program]:
    for name in CHECKED:
        kind: Any = getattr(D, name)

        def make(where: str, name: str = name, kind: Any = kind, **options: Any) -> tuple[D.Distribution, torch.Tensor]:
            made = kind(**parameters_of(name, where), **options)
            return made, made.sample()

        yield (
            f"{name}() host",
            lambda name=name, kind=kind: (lambda given: lambda: kind(**given))(parameters_of(name, "cpu")),
        )
        yield probe(f"{name}.log_prob host", lambda make=make: make("cpu"), lambda d, x: d.log_prob(x))
        yield probe(f"{name}.sample host", lambda make=make: make("cpu")[0], lambda d: d.sample())
        if name in BROADCAST:
            yield f"{name}() with a number", lambda name=name, kind=kind: _with_number(name, kind, device)
            yield (
                f"{name}() with a number, unchecked",
                lambda name=name, kind=kind: _with_number(name, kind, device, validate_args=False),
            )
    for name in ("Cauchy", "Exponential", "HalfNormal", "Laplace", "Uniform"):
        kind = getattr(D, name)

        def pair(where: str, name: str = name, kind: Any = kind, **options: Any) -> tuple[D.Distribution, torch.Tensor]:
            made = kind(**parameters_of(name, where), **options)
            return made, made.sample()

        yield probe(f"{name}.cdf", lambda pair=pair: pair(device), lambda d, x: d.cdf(x))
        yield probe(f"{name}.cdf host", lambda pair=pair: pair("cpu"), lambda d, x: d.cdf(x))
        yield probe(f"{name}.cdf unchecked", lambda pair=pair: pair(device, validate_args=False), lambda d, x: d.cdf(x))


def _with_number(name: str, kind: Any, device: str, **options: Any) -> Any:
    given: dict[str, Any] = parameters_of(name, device)
    first = next(iter(given))
    given[first] = 0.25
    return lambda: kind(**given, **options)

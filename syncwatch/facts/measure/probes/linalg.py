"""Linear algebra on the device and on the host."""

# mypy: disable-error-code="misc, no-untyped-call, no-any-return"
from __future__ import annotations

from collections.abc import Iterator

import torch

from syncwatch.facts.measure.probes import Program, probe

_ONE = (
    "inv", "det", "slogdet", "cholesky", "eigh", "eigvalsh", "svd", "svdvals", "qr", "pinv", "matrix_rank", "lu_factor",
    "lu", "matrix_exp", "cond", "norm", "eigvals", "eig", "inv_ex", "cholesky_ex", "ldl_factor", "ldl_factor_ex",
    "lu_factor_ex", "vector_norm", "matrix_norm", "vander", "multi_dot",
)  # fmt: skip
_TWO = ("solve", "solve_ex", "lstsq", "matmul", "vecdot", "cross")


def programs(device: str) -> Iterator[Program]:
    for side, where in (("", device), (" host", "cpu")):

        def positive(size: int = 64, where: str = where) -> torch.Tensor:
            matrix = torch.randn(size, size, device=where)
            return matrix @ matrix.T + size * torch.eye(size, device=where)

        def batch(where: str = where) -> torch.Tensor:
            return torch.eye(6, device=where).repeat(4, 1, 1) * 2

        def pair(where: str = where) -> tuple[torch.Tensor, torch.Tensor]:
            return positive(63, where), torch.randn(63, 3, device=where)

        for name in _ONE:
            function = getattr(torch.linalg, name)
            if name == "multi_dot":
                yield probe(
                    f"linalg.{name}{side}", lambda p=positive: [[p(), p()]], lambda xs: torch.linalg.multi_dot(xs[0])
                )
            else:
                yield probe(f"linalg.{name}{side}", positive, function)
                if name not in ("vander",):
                    yield probe(f"linalg.{name} of a batch{side}", batch, function)
        for name in _TWO:
            function = getattr(torch.linalg, name)
            if name in ("vecdot", "cross"):
                yield probe(
                    f"linalg.{name}{side}",
                    lambda w=where: (torch.randn(5, 3, device=w), torch.randn(5, 3, device=w)),
                    function,
                )
            else:
                yield probe(f"linalg.{name}{side}", pair, function)
        yield probe(f"linalg.pinv hermitian{side}", positive, lambda x: torch.linalg.pinv(x, hermitian=True))
        yield probe(
            f"linalg.matrix_rank hermitian{side}", positive, lambda x: torch.linalg.matrix_rank(x, hermitian=True)
        )
        yield probe(f"linalg.cond p=1{side}", positive, lambda x: torch.linalg.cond(x, 1))
        yield probe(f"linalg.norm nuclear{side}", positive, lambda x: torch.linalg.norm(x, "nuc"))
        yield probe(f"linalg.norm 2{side}", positive, lambda x: torch.linalg.norm(x, 2))
        yield probe(f"linalg.matrix_norm 2{side}", positive, lambda x: torch.linalg.matrix_norm(x, 2))
        yield probe(f"linalg.matrix_power 3{side}", positive, lambda x: torch.linalg.matrix_power(x, 3))
        yield probe(f"linalg.matrix_power -1{side}", positive, lambda x: torch.linalg.matrix_power(x, -1))
        yield probe(
            f"linalg.tensorinv{side}",
            lambda w=where: torch.eye(4, device=w).view(4, 2, 2),
            lambda x: torch.linalg.tensorinv(x, ind=1),
        )
        yield probe(
            f"linalg.tensorsolve{side}",
            lambda w=where: (torch.eye(4, device=w), torch.randn(4, device=w)),
            torch.linalg.tensorsolve,
        )
        yield probe(f"linalg.eigh of 600{side}", lambda p=positive: p(600), torch.linalg.eigh)
        yield probe(f"linalg.eigh of 3 by 3{side}", lambda p=positive: p(3), torch.linalg.eigh)
        yield probe(f"linalg.svd of 3 by 3{side}", lambda p=positive: p(3), torch.linalg.svd)
        yield probe(f"linalg.svd of nothing{side}", lambda w=where: torch.ones(0, 3, device=w), torch.linalg.svd)
        yield probe(
            f"linalg.solve_triangular{side}", pair, lambda a, b: torch.linalg.solve_triangular(a, b, upper=True)
        )
        yield probe(
            f"linalg.cholesky_ex checked{side}", positive, lambda x: torch.linalg.cholesky_ex(x, check_errors=True)
        )
        yield probe(f"linalg.inv_ex checked{side}", positive, lambda x: torch.linalg.inv_ex(x, check_errors=True))
        yield probe(
            f"linalg.lu_factor batch no pivot{side}", batch, lambda x: torch.linalg.lu_factor_ex(x, pivot=False)
        )
        yield probe(f"cholesky{side}", positive, torch.cholesky)
        yield probe(f"inverse{side}", positive, torch.inverse)
        yield probe(f"Tensor.inverse{side}", positive, lambda x: x.inverse())
        yield probe(f"logdet{side}", positive, torch.logdet)
        yield probe(f"det{side}", positive, lambda x: x.det())
        yield probe(f"pinverse{side}", positive, torch.pinverse)
        yield probe(f"svd{side}", positive, torch.svd)
        yield probe(f"qr{side}", positive, torch.qr)
        yield probe(f"lu{side}", positive, lambda x: torch.lu(x))
        yield probe(f"matrix_exp{side}", positive, torch.matrix_exp)
        yield probe(f"matrix_exp small norm{side}", lambda p=positive: p() * 1e-6, torch.matrix_exp)
        yield probe(f"cholesky_solve{side}", pair, lambda a, b: torch.cholesky_solve(b, a))
        yield probe(f"cholesky_inverse{side}", positive, torch.cholesky_inverse)
        yield probe(
            f"lu_solve{side}",
            lambda p=pair: (p()[1], *torch.linalg.lu_factor(p()[0])),
            lambda b, lu, piv: torch.linalg.lu_solve(lu, piv, b),
        )
        yield probe(f"geqrf{side}", positive, torch.geqrf)
        yield probe(f"svd_lowrank{side}", positive, lambda x: torch.svd_lowrank(x, 3))
        yield probe(f"pca_lowrank{side}", positive, lambda x: torch.pca_lowrank(x, 3))
        yield probe(f"lobpcg{side}", positive, lambda x: torch.lobpcg(x, k=1, niter=2))
        yield probe(f"nuclear_norm{side}", positive, torch.nuclear_norm)
        yield probe(
            f"backward of inv{side}",
            lambda p=positive: torch.linalg.inv(p().requires_grad_()).sum(),
            lambda x: x.backward(),
        )
        yield probe(
            f"backward of eigh{side}",
            lambda p=positive: torch.linalg.eigvalsh(p().requires_grad_()).sum(),
            lambda x: x.backward(),
        )

"""Linear algebra: solvers that check for errors or wait inside cuSOLVER."""

from __future__ import annotations

from syncwatch.facts.conditions import Condition, on_cuda
from syncwatch.facts.table import Case, fact, solves

EX = "the _ex form (with check_errors=False) returns the error code on the device"

_cuda = on_cuda("input")


def _checks(words: str = "the error code is read on the host") -> Condition:
    return _cuda.described(words, "the tensor is in host memory")


def _inside(waits: int | None = None) -> Case:
    """The library waits on its own; the sync debug mode sees only some of its waits."""
    return solves(_cuda.described("the solver waits inside its library", "the tensor is in host memory"), waits=waits)


_DECOMPOSITIONS = """
torch.linalg.svd torch.linalg.svdvals torch.svd torch.Tensor.svd torch.linalg.cond torch.linalg.matrix_rank
torch.linalg.pinv torch.pinverse torch.Tensor.pinverse torch.svd_lowrank torch.pca_lowrank torch.nuclear_norm
"""

_SILENT = """
torch.linalg.inv_ex torch.linalg.cholesky_ex torch.linalg.solve_ex torch.linalg.det torch.linalg.slogdet
torch.linalg.qr torch.linalg.norm torch.linalg.vector_norm torch.linalg.matrix_norm
torch.linalg.solve_triangular torch.linalg.matmul torch.linalg.multi_dot torch.linalg.cross torch.linalg.vecdot
torch.linalg.diagonal torch.linalg.vander torch.linalg.householder_product torch.linalg.lu_solve torch.logdet
torch.Tensor.logdet torch.det torch.Tensor.det torch.slogdet torch.Tensor.slogdet torch.qr torch.Tensor.qr
torch.cholesky_solve torch.Tensor.cholesky_solve torch.cholesky_inverse torch.Tensor.cholesky_inverse
torch.geqrf torch.ormqr torch.linalg.matrix_power torch.matrix_power torch.Tensor.matrix_power
"""


FACTS = (
    fact(
        ("torch.linalg.inv", "torch.inverse", "torch.Tensor.inverse"),
        "input",
        solves(_checks()),
        instead=f"torch.linalg.inv_ex: {EX}",
    ),
    fact(("torch.linalg.cholesky",), "input", solves(_checks()), instead=f"torch.linalg.cholesky_ex: {EX}"),
    fact(
        ("torch.cholesky", "torch.Tensor.cholesky"),
        "input upper",
        solves(_checks()),
        instead=f"torch.linalg.cholesky_ex: {EX}",
    ),
    fact(("torch.linalg.solve",), "input other", solves(_checks()), instead=f"torch.linalg.solve_ex: {EX}"),
    fact(
        ("torch.linalg.lu_factor", "torch.lu", "torch.Tensor.lu"),
        "input",
        solves(_checks()),
        instead=f"torch.linalg.lu_factor_ex: {EX}",
    ),
    fact(("torch.linalg.lu",), "input", _inside()),
    fact(("torch.linalg.ldl_factor",), "input", solves(_checks())),
    fact(("torch.linalg.tensorinv", "torch.linalg.tensorsolve"), "input", solves(_checks())),
    fact(
        ("torch.linalg.eigh", "torch.linalg.eigvalsh"),
        "input UPLO",
        _inside(),
        instead="do it rarely, or on the host beside the step",
    ),
    fact(
        ("torch.linalg.eig", "torch.linalg.eigvals"), "input", _inside(), instead="eigh where the matrix is symmetric"
    ),
    fact(
        _DECOMPOSITIONS.split(),
        "input",
        _inside(),
        instead="do it rarely, or on the host beside the step",
    ),
    fact(("torch.linalg.lstsq",), "input other", solves(_checks())),
    fact(
        ("torch.linalg.matrix_exp", "torch.matrix_exp", "torch.Tensor.matrix_exp"),
        "input",
        solves(_checks("the norm decides on the host which approximation is used"), waits=None),
    ),
    fact(("torch.lobpcg",), "input", _inside()),
    fact(
        _SILENT.split(),
        "input",
    ),
)

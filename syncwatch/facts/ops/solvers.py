"""Linear algebra: solvers that check for errors or wait inside cuSOLVER."""

from __future__ import annotations

from syncwatch.facts.conditions import Bound, Condition, Verdict, attr, equals, filled, flag, on_cuda
from syncwatch.facts.table import Case, fact, solves

EX = "the _ex form (with check_errors=False) returns the error code on the device"
RARELY = "do it rarely, or on the host beside the step"

_filled = on_cuda("input") & filled("input")
_host = "the tensor is in host memory, or empty"

_SILENT = """
torch.linalg.det torch.linalg.slogdet torch.linalg.qr torch.linalg.vector_norm torch.linalg.solve_triangular
torch.linalg.matmul torch.linalg.multi_dot torch.linalg.cross torch.linalg.vecdot torch.linalg.diagonal
torch.linalg.vander torch.linalg.householder_product torch.linalg.lu_solve torch.logdet torch.Tensor.logdet torch.det
torch.Tensor.det torch.slogdet torch.Tensor.slogdet torch.qr torch.Tensor.qr torch.cholesky_solve
torch.Tensor.cholesky_solve torch.cholesky_inverse torch.Tensor.cholesky_inverse torch.geqrf torch.Tensor.geqrf
torch.ormqr torch.Tensor.ormqr torch.lu_solve torch.Tensor.lu_solve torch.lu_unpack torch.triangular_solve
torch.Tensor.triangular_solve
"""


def _checks(words: str = "the error code is read on the host") -> Condition:
    return on_cuda("input").described(words, "the tensor is in host memory")


def _inside(waits: int | None = None, reported: bool = True) -> Case:
    """The library waits on its own; the sync debug mode sees only some of its waits."""
    return solves(_filled.described("the solver waits inside its library", _host), waits=waits, reported=reported)


def _decomposes(waits: int = 2) -> Case:
    """Through a singular value decomposition, or one of a symmetric matrix."""

    def number(bound: Bound) -> int | None:
        hermitian = bound.get("hermitian")
        return 1 if hermitian is not None and hermitian.value is True else waits

    return solves(_filled.described("the solver waits inside its library", _host), waits=number)


def _norm_by_svd(order: str) -> Condition:
    """Matrix norms that need singular values."""
    return (
        _filled & equals(order, 2, -2, "nuc", default="fro") & Condition("", _matrix, "the input is a vector")
    ).described(f"`{order}` asks for singular values", f"`{order}` is a norm of the elements, rows or columns")


def _matrix(bound: Bound) -> Verdict:
    arg = bound.get("input")
    return None if arg is None or arg.dim is None else arg.dim >= 2


def _rectangular() -> Case:
    return solves(
        (_filled & ~attr("input", "square", True)).described(
            "the matrices are not square, which takes a path that waits", "the matrices are square"
        ),
        reported=False,
    )


def _on_request(name: str) -> Case:
    return solves((_filled & flag(name)).described(f"`{name}=True` reads the error code", f"`{name}` is not set"))


_negative = Condition(
    "a negative power inverts the matrix, and reads the error code",
    lambda bound: None if (n := bound.get("n")) is None or not isinstance(n.value, int) else n.value < 0,
    "the power is not negative",
)

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
        solves(_filled.described("the error code is read on the host", _host)),
        instead=f"torch.linalg.cholesky_ex: {EX}",
    ),
    fact(("torch.linalg.solve",), "input other", solves(_checks()), instead=f"torch.linalg.solve_ex: {EX}"),
    fact(("torch.linalg.lu_factor",), "input", solves(_checks()), instead=f"torch.linalg.lu_factor_ex: {EX}"),
    fact(("torch.linalg.inv_ex", "torch.linalg.cholesky_ex"), "input", _on_request("check_errors")),
    fact(("torch.linalg.solve_ex",), "input other", _on_request("check_errors")),
    fact(
        ("torch.linalg.lu", "torch.lu", "torch.Tensor.lu", "torch.linalg.lu_factor_ex"),
        "input",
        _rectangular(),
        _on_request("check_errors"),
    ),
    fact(("torch.linalg.ldl_factor",), "input", solves(_checks(), waits=None)),
    fact(("torch.linalg.ldl_factor_ex",), "input", _inside(reported=False)),
    fact(("torch.linalg.ldl_solve",), "input pivots B", _inside(reported=False)),
    fact(("torch.linalg.tensorinv", "torch.linalg.tensorsolve"), "input", solves(_checks())),
    fact(("torch.linalg.eigh", "torch.linalg.eigvalsh"), "input UPLO", _inside(), instead=RARELY),
    fact(
        ("torch.linalg.eig", "torch.linalg.eigvals"),
        "input",
        solves(_checks("the solver waits inside its library"), waits=None),
        instead="eigh where the matrix is symmetric",
    ),
    fact(
        ("torch.linalg.svd", "torch.linalg.svdvals", "torch.svd", "torch.Tensor.svd"),
        "input",
        _inside(),
        instead=RARELY,
    ),
    fact(
        ("torch.linalg.matrix_rank", "torch.linalg.pinv", "torch.pinverse", "torch.Tensor.pinverse"),
        "input",
        _decomposes(),
        instead=RARELY,
    ),
    fact(("torch.svd_lowrank", "torch.pca_lowrank", "torch.nuclear_norm"), "input", _inside(), instead=RARELY),
    fact(
        ("torch.linalg.cond",),
        "input p",
        solves(
            (_filled & equals("p", None, 2, -2, "nuc", default=None)).described(
                "the condition number comes from singular values", "`p` is a norm of the elements, rows or columns"
            ),
            waits=2,
        ),
        instead=RARELY,
    ),
    fact(("torch.linalg.norm",), "input ord", solves(_norm_by_svd("ord"), waits=2), instead=RARELY),
    fact(("torch.linalg.matrix_norm",), "input ord", solves(_norm_by_svd("ord"), waits=2), instead=RARELY),
    fact(
        ("torch.norm", "torch.Tensor.norm"),
        "input p dim",
        solves(
            (_filled & equals("p", "nuc", default="fro")).described("the nuclear norm needs singular values"), waits=2
        ),
        instead=RARELY,
    ),
    fact(("torch.linalg.lstsq",), "input other", solves(_checks())),
    fact(
        ("torch.linalg.matrix_exp", "torch.matrix_exp", "torch.Tensor.matrix_exp"),
        "input",
        solves(_checks("the norm decides on the host which approximation is used"), waits=None),
    ),
    fact(
        ("torch.linalg.matrix_power", "torch.matrix_power", "torch.Tensor.matrix_power"),
        "input n",
        solves(on_cuda("input") & _negative),
        instead="invert with torch.linalg.inv_ex",
    ),
    fact(_SILENT.split(), "input"),
)

"""Matrix products, linear algebra, Fourier transforms and `torch.nn.functional`; and what all other functions give."""

from __future__ import annotations

from syncwatch.static.library.protocol import MODELS, LibCall, Machine, default, model
from syncwatch.static.library.tensors import (
    Rule,
    Shape,
    broadcast,
    flag,
    given,
    integer,
    named,
    operands,
    promote,
    register,
    replaced,
    result,
    shape_of,
    sort_of,
    spread,
    tensors,
    uniform,
)
from syncwatch.static.values import UNKNOWN, Array, Const, Tensor, Tuple, Value, const


def _x(call: LibCall) -> Value:
    return call.args[0] if call.args else UNKNOWN


def _name(call: LibCall) -> str:
    return call.name.rpartition(".")[2]


def _matmul_shape(a: Shape, b: Shape) -> Shape:
    if a is None or b is None:
        return None
    if len(a) == 1 and len(b) == 1:
        return ()
    if not a or not b:
        return None
    if len(a) == 1:
        return (*b[:-2], b[-1])
    if len(b) == 1:
        return a[:-1]
    batch = broadcast(a[:-2], b[:-2])
    return None if batch is None else (*batch, a[-2], b[-1])


def _matmul(m: Machine, call: LibCall) -> Value:
    values = list(operands(call))[:2]
    if any(type(v) is Array for v in values) and not tensors(values):
        return UNKNOWN
    a, b = ([*values, UNKNOWN, UNKNOWN])[:2]
    if "__r" in call.name:
        a, b = b, a
    return result(values, _matmul_shape(shape_of(a), shape_of(b)), promote(values))


def _addmm(m: Machine, call: LibCall) -> Value:
    values = list(operands(call))[:3]
    a, b = (values + [UNKNOWN] * 3)[1:3]
    return result(values, _matmul_shape(shape_of(a), shape_of(b)), promote(values))


def _einsum(m: Machine, call: LibCall) -> Value:
    values = list(operands(call))
    shape: Shape = None
    if values and type(values[0]) is Const and isinstance(values[0].value, str) and "->" in values[0].value:
        out = values[0].value.split("->")[1].replace(" ", "")
        shape = None if "." in out else (None,) * len(out)
    found = tensors(values[1:])
    return result(values[1:], shape, promote(found) if found else None)


def _outer(m: Machine, call: LibCall) -> Value:
    values = list(operands(call))[:2]
    return result(values, (None, None), promote(values))


def _same(m: Machine, call: LibCall) -> Value:
    x = _x(call)
    return result(list(operands(call)), shape_of(x), sort_of(x))


def _unknown_shape(m: Machine, call: LibCall) -> Value:
    return result(list(operands(call)), None, sort_of(_x(call)))


def _same_rank(m: Machine, call: LibCall) -> Value:
    shape = shape_of(_x(call))
    value = result(list(operands(call)), None if shape is None else (None,) * len(shape), sort_of(_x(call)))
    if call.kwargs.get("return_indices") is not None and flag(call.kwargs["return_indices"]):
        return Tuple((value, replaced(value, dtype="int", requires_grad=False)))
    return value


# ---------------------------------------------------------------------------------------- linear algebra

_PARTS = {
    "svd": ("U", "S", "Vh"),
    "qr": ("Q", "R"),
    "eigh": ("eigenvalues", "eigenvectors"),
    "eig": ("eigenvalues", "eigenvectors"),
    "lu": ("P", "L", "U"),
    "lu_factor": ("LU", "pivots"),
    "lu_factor_ex": ("LU", "pivots", "info"),
    "slogdet": ("sign", "logabsdet"),
    "lstsq": ("solution", "residuals", "rank", "singular_values"),
    "inv_ex": ("inverse", "info"),
    "cholesky_ex": ("L", "info"),
    "solve_ex": ("result", "info"),
    "ldl_factor": ("LD", "pivots"),
    "ldl_factor_ex": ("LD", "pivots", "info"),
    "svd_lowrank": ("U", "S", "V"),
    "pca_lowrank": ("U", "S", "V"),
    "geqrf": ("a", "tau"),
}
_LESS_ONE = "eigvals eigvalsh svdvals"
_LESS_TWO = "det matrix_rank logdet cond"


def _parts(m: Machine, call: LibCall) -> Value:
    name = _name(call)
    x = _x(call)
    fields = _PARTS[name]
    shape = shape_of(x)
    less = None if shape is None else shape[:-2]
    whole = None if shape is None else (None,) * len(shape)
    parts = []
    for f in fields:
        value = result([x], None, sort_of(x))
        if f in ("info", "pivots", "rank"):
            value = replaced(value, dtype="int", requires_grad=False)
        elif name == "lstsq" and f != "solution":
            value = replaced(value, requires_grad=None)
        if f in ("sign", "logabsdet", "info", "rank"):
            value = replaced(value, shape=less)
        elif f in ("S", "eigenvalues", "singular_values", "pivots"):
            value = replaced(value, shape=None if shape is None else (None,) * (len(shape) - 1))
        elif f != "residuals":
            value = replaced(value, shape=whole)
        parts.append(value)
    return named(f"linalg_{name}", fields, parts)


def _less(number: int) -> Rule:
    def rule(m: Machine, call: LibCall) -> Value:
        shape = shape_of(_x(call))
        sort = "int" if _name(call) == "matrix_rank" else sort_of(_x(call))
        return result([_x(call)], None if shape is None else shape[: max(len(shape) - number, 0)], sort)

    return rule


def _norm(m: Machine, call: LibCall) -> Value:
    from syncwatch.static.library.tensors import reduced

    x = _x(call)
    position = 2
    dim = call.arg(position, "dim", call.kwargs.get("axis"))
    if _name(call) == "matrix_norm" and not given(dim):
        shape = shape_of(x)
        return result([x], None if shape is None else shape[:-2], sort_of(x))
    return result([x], reduced(shape_of(x), dim, flag(call.arg(3, "keepdim"))), sort_of(x))


def _solve(m: Machine, call: LibCall) -> Value:
    values = list(operands(call))[:2]
    return result(values, shape_of(values[1]) if len(values) > 1 else None, promote(values[:1]))


def _complex_same(m: Machine, call: LibCall) -> Value:
    name = _name(call)
    shape = shape_of(_x(call))
    out = None if shape is None else (None,) * len(shape)
    sort = "float" if name.startswith(("irfft", "hfft", "fftfreq", "rfftfreq")) else "complex"
    if name.endswith("shift"):
        sort = sort_of(_x(call)) or sort
    return result([_x(call)], out, sort)


def _pairwise(m: Machine, call: LibCall) -> Value:
    """`cdist`: one distance for each pair of rows."""
    values = list(operands(call))[:2]
    a, b = (shape_of(v) for v in ([*values, UNKNOWN, UNKNOWN])[:2])
    shape = None if not a or not b else (*a[:-2], a[-2] if len(a) > 1 else None, b[-2] if len(b) > 1 else None)
    return result(values, shape, "float")


_TORCH = ("torch.", "torch.Tensor.")
_LINALG = ("torch.linalg.",)
register(["matmul", "mm", "bmm", "mv", "__matmul__", "__rmatmul__", "inner", "chain_matmul"], _matmul)
register(["addmm", "addmv", "baddbmm", "addbmm"], _addmm)
register(["einsum", "tensordot"], _einsum, ("torch.",))
register(["outer", "ger"], _outer)
register(
    [
        "kron",
        "cartesian_prod",
        "combinations",
        "cov",
        "corrcoef",
        "stft",
        "istft",
        "trapezoid",
        "trapz",
        "gradient",
        "bilinear",
        "cumulative_trapezoid",
        "diff",
        "vander",
        "segment_reduce",
        "multinomial",
    ],
    _unknown_shape,
)
register(
    [
        "cross",
        "poisson",
        "addr",
        "msort",
        "rms_norm",
        "layer_norm",
        "group_norm",
        "batch_norm",
        "instance_norm",
        "_softmax",
    ],
    _same,
)
register(["cdist"], _pairwise, ("torch.",))
register(_PARTS, _parts, (*_TORCH, *_LINALG))
register(_LESS_TWO.split(), _less(2), (*_TORCH, *_LINALG))
register(_LESS_ONE.split(), _less(1), _LINALG)
register(
    [
        "inv",
        "inverse",
        "pinv",
        "pinverse",
        "cholesky",
        "matrix_exp",
        "matrix_power",
        "cholesky_inverse",
        "lu_solve",
        "householder_product",
        "cross",
        "solve_triangular",
        "tensorinv",
    ],
    _same,
    (*_TORCH, *_LINALG),
)
register(["norm", "vector_norm", "matrix_norm"], _norm, _LINALG)
register(["solve", "cholesky_solve", "tensorsolve"], _solve, (*_TORCH, *_LINALG))
register(["matmul", "vecdot", "multi_dot"], _matmul, _LINALG)
_FOURIER = """fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn hfft ihfft fftshift ifftshift"""
register(
    _FOURIER.split(),
    _complex_same,
    ("torch.fft.",),
)


@model("torch.multinomial", "torch.Tensor.multinomial")
def _multinomial(m: Machine, call: LibCall) -> Value:
    def rule(m: Machine, call: LibCall) -> Value:
        shape = shape_of(_x(call))
        count = integer(call.arg(1, "num_samples"))
        return result([_x(call)], None if not shape else (*shape[:-1], count), "int")

    return spread(rule)(m, uniform(call))


# ---------------------------------------------------------------------------------------- torch.nn.functional

_F_SAME = """relu relu6 relu_ gelu silu mish elu elu_ selu celu leaky_relu leaky_relu_ prelu rrelu hardtanh hardtanh_
    hardswish
    hardsigmoid hardshrink softplus softsign softshrink tanh tanhshrink sigmoid logsigmoid softmax log_softmax softmin
    gumbel_softmax dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout batch_norm instance_norm
    layer_norm group_norm rms_norm local_response_norm normalize threshold threshold_ channel_shuffle
    scaled_dot_product_attention"""
_F_RANK = """conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d avg_pool1d avg_pool2d avg_pool3d
    max_pool1d
    max_pool2d max_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d
    adaptive_max_pool2d adaptive_max_pool3d lp_pool1d lp_pool2d pad interpolate upsample grid_sample pixel_shuffle
    pixel_unshuffle glu max_unpool1d max_unpool2d max_unpool3d fractional_max_pool2d"""
_F_LOSS = """cross_entropy nll_loss binary_cross_entropy binary_cross_entropy_with_logits mse_loss l1_loss
    smooth_l1_loss
    huber_loss kl_div poisson_nll_loss cosine_embedding_loss hinge_embedding_loss margin_ranking_loss
    triplet_margin_loss triplet_margin_with_distance_loss multi_margin_loss multilabel_margin_loss
    multilabel_soft_margin_loss soft_margin_loss gaussian_nll_loss ctc_loss"""
_F = ("torch.nn.functional.",)


def _linear(m: Machine, call: LibCall) -> Value:
    values = list(operands(call))
    shape, weight = shape_of(_x(call)), shape_of(call.arg(1, "weight", UNKNOWN))
    width = weight[0] if weight and len(weight) == 2 else None
    return result(values, None if not shape else (*shape[:-1], width), sort_of(_x(call)))


def _embedding(m: Machine, call: LibCall) -> Value:
    shape, weight = shape_of(_x(call)), call.arg(1, "weight", UNKNOWN)
    width = shape_of(weight)
    out: Shape = None if shape is None else (*shape, width[-1] if width else None)
    return result(list(operands(call)), out, sort_of(weight) or "float")


def _loss(m: Machine, call: LibCall) -> Value:
    values = list(operands(call))
    reduction = call.kwargs.get("reduction")
    shape: Shape = ()
    if reduction is not None and reduction != const("mean") and reduction != const("sum"):
        shape = None
        if reduction == const("none"):
            of = call.arg(1, "target", UNKNOWN) if _name(call) in ("cross_entropy", "nll_loss") else _x(call)
            shape = shape_of(of)
    elif call.has_star:
        shape = None
    return result(values, shape, "float")


def _one_hot(m: Machine, call: LibCall) -> Value:
    shape = shape_of(_x(call))
    return result([_x(call)], None if shape is None else (*shape, integer(call.arg(1, "num_classes"))), "int")


def _along(m: Machine, call: LibCall) -> Value:
    values = list(operands(call))[:2]
    inner = broadcast(*(shape_of(v) for v in values))
    return result(values, inner[:-1] if inner else None, "float")


def _functional_other(m: Machine, call: LibCall) -> Value:
    return result(list(operands(call)), None, "float")


register(_F_SAME.split(), _same, _F)
register(_F_RANK.split(), _same_rank, _F)
register(_F_LOSS.split(), _loss, _F)
register(["linear"], _linear, _F)
register(["embedding"], _embedding, _F)
register(["one_hot"], _one_hot, (*_F, "torch."))
register(["cosine_similarity", "pairwise_distance"], _along, (*_F, "torch."))


@model("torch.nn.functional.multi_head_attention_forward")
def _attention(m: Machine, call: LibCall) -> Value:
    value = spread(_same)(m, uniform(call))
    return Tuple((value, value))


@default("torch.nn.functional.", "torch.special.", "torch.linalg.", "torch.fft.")
def _other_function(m: Machine, call: LibCall) -> Value:
    same = MODELS.get(f"torch.{_name(call)}")
    if same is not None:
        return same(m, call)
    return spread(_functional_other)(m, uniform(call))


@default("torch.Tensor.")
def _other_method(m: Machine, call: LibCall) -> Value:
    """A method that no model describes: a tensor beside the receiver; `name_` gives the receiver itself."""
    name = _name(call)

    def rule(m: Machine, call: LibCall) -> Value:
        x = _x(call)
        if name.startswith("__") or type(x) is not Tensor:
            return UNKNOWN
        if name.startswith("is_"):
            return UNKNOWN
        return x if name.endswith("_") else result(list(operands(call)), None, None)

    return spread(rule)(m, uniform(call))


@default("torch.")
def _other(m: Machine, call: LibCall) -> Value:
    """A function of the top level that no model describes gives a tensor beside its operands."""
    name = call.name
    if name.count(".") != 1 or call.self is not None or not name[6:7].islower() or name[6:].startswith("_"):
        return UNKNOWN
    if not tensors(operands(call)):
        return UNKNOWN
    return spread(lambda m, call: result(list(operands(call)), None, None))(m, uniform(call))

"""Public names that no other area and no test input of PyTorch calls: operators, forms in place, attributes."""

# mypy: disable-error-code="misc, no-untyped-call, no-any-return"
from __future__ import annotations

import copy
import io
import operator
import pickle
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F

from syncwatch.facts.measure.probes import Program, probe

_IN_PLACE = """
abs ceil exp neg relu sqrt square zero clamp_max clamp_min fill floor round log sigmoid tanh sin cos rsqrt
reciprocal trunc frac erf asin
"""
_TYPES = "bfloat16 bool cfloat double float half int long short cdouble chalf char byte"
_QUERIES = """
element_size get_device is_complex is_contiguous is_floating_point is_shared is_signed nelement size storage_offset
stride untyped_storage dim numel data_ptr ndimension is_inference is_conj is_neg has_names requires_grad_ retain_grad
type dense_dim sparse_dim is_same_size is_set_to storage_type rename refine_names
"""
_ATTRIBUTES = "H T mT mH data device dtype grad is_leaf is_cuda shape ndim layout real itemsize nbytes is_sparse"
_PRIVATE = """
_conj_physical _linalg_det _linalg_slogdet
"""
_OPERATORS = """
add sub mul truediv floordiv mod pow matmul eq ne lt le gt ge
"""
_BITWISE = "and_ or_ xor lshift rshift"


def programs(device: str) -> Iterator[Program]:
    def matrix() -> torch.Tensor:
        return torch.rand(4, 4, device=device)

    def bits() -> torch.Tensor:
        return torch.ones(4, dtype=torch.long, device=device)

    for name in _IN_PLACE.split():
        function = getattr(torch, f"{name}_", None)
        arguments = {"clamp_max": (0.5,), "clamp_min": (0.5,), "fill": (0.5,)}.get(name, ())
        if function is not None:
            yield probe(f"torch.{name}_", matrix, lambda x, f=function, a=arguments: f(x, *a))
        yield probe(f"Tensor.{name}_", matrix, lambda x, n=name, a=arguments: getattr(x, f"{n}_")(*a))
    for name in _TYPES.split():
        yield probe(f"Tensor.{name}", matrix, lambda x, n=name: getattr(x, n)())
    for name in _QUERIES.split():
        if hasattr(torch.Tensor, name) and name not in ("is_same_size", "is_set_to", "rename", "refine_names"):
            yield probe(
                f"Tensor.{name}",
                lambda: (lambda x: x * 1)(matrix().requires_grad_()),
                lambda x, n=name: getattr(x, n)(),
            )
    for name in _ATTRIBUTES.split():
        yield probe(f"Tensor.{name}", matrix, lambda x, n=name: getattr(x, n))
    for name in _PRIVATE.split():
        yield probe(f"torch.{name}", matrix, lambda x, n=name: getattr(torch, n)(x))
    for name in _OPERATORS.split():
        function = getattr(operator, name)
        yield probe(f"x {name} x", lambda: (matrix(), matrix()), lambda x, y, f=function: f(x, y))
        if name != "matmul":
            yield probe(f"x {name} number", matrix, lambda x, f=function: f(x, 2.0))
            yield probe(f"number {name} x", matrix, lambda x, f=function: f(2.0, x))
        in_place = getattr(operator, f"i{name}", None)
        if in_place is not None and name != "matmul":
            yield probe(f"x i{name} number", matrix, lambda x, f=in_place: f(x, 2.0))
    for name in _BITWISE.split():
        function = getattr(operator, name)
        yield probe(f"bits {name} bits", bits, lambda x, f=function: f(x, x))
        yield probe(f"bits {name} number", bits, lambda x, f=function: f(x, 1))
        yield probe(f"number {name} bits", bits, lambda x, f=function: f(1, x))
        in_place = getattr(operator, f"i{name.rstrip('_')}")
        yield probe(f"bits i{name} number", bits, lambda x, f=in_place: f(x, 1))
    yield probe("+x", matrix, operator.pos)
    yield probe("-x", matrix, operator.neg)
    yield probe("~x", bits, operator.invert)
    yield from _functions(device)
    yield from _methods(device)
    yield from _foreach(device)
    yield from _reads(device)


def _functions(device: str) -> Iterator[Program]:
    def matrix() -> torch.Tensor:
        return torch.rand(4, 4, device=device)

    def image() -> torch.Tensor:
        return torch.rand(1, 4, 8, 8, device=device)

    def scores() -> tuple[torch.Tensor, torch.Tensor]:
        return matrix(), (matrix() > 0.5).float()

    yield probe("chain_matmul", matrix, lambda x: torch.chain_matmul(x, x, x))
    yield probe("torch.celu", matrix, torch.celu)
    yield probe("torch.selu", matrix, torch.selu)
    yield probe("torch.relu", matrix, torch.relu)
    yield probe("torch.threshold", matrix, lambda x: torch.threshold(x, 0.5, 0.0))
    yield probe("torch.dropout", matrix, lambda x: torch.dropout(x, 0.5, True))
    yield probe("torch.native_dropout", matrix, lambda x: torch.native_dropout(x, 0.5, True))
    yield probe(
        "torch.embedding", matrix, lambda x: torch.embedding(x, torch.zeros(2, dtype=torch.long, device=x.device))
    )
    yield probe("torch.bce_with_logits", scores, torch.binary_cross_entropy_with_logits)
    yield probe(
        "torch.convolution", image, lambda x: torch.convolution(x, x, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    )
    yield probe("torch.randn_like", matrix, torch.randn_like)
    yield probe("torch.randint_like", matrix, lambda x: torch.randint_like(x, 9))
    yield probe("torch.empty_strided", tuple, lambda: torch.empty_strided((2, 3), (3, 1), device=device))
    yield probe("torch.rand", tuple, lambda: torch.rand(3, device=device))
    yield probe("torch.range", tuple, lambda: torch.range(0, 3, device=device))
    yield probe("torch.vander", lambda: matrix()[0], torch.vander)
    yield probe("torch.resize_as_", lambda: (matrix(), matrix()), torch.resize_as_)
    yield probe("torch.detach", matrix, torch.detach)
    yield probe("torch.detach_", matrix, torch.detach_)
    yield probe("torch.clamp_", matrix, lambda x: torch.clamp_(x, 0.0, 1.0))
    yield probe("torch.result_type", matrix, lambda x: torch.result_type(x, 1))
    yield probe("torch.is_complex", matrix, lambda x: (torch.is_complex(x), torch.is_signed(x), torch.numel(x)))
    yield probe("torch._assert_async", lambda: torch.ones((), device=device), lambda x: torch._assert_async(x))
    yield probe("torch._safe_softmax", matrix, lambda x: torch._safe_softmax(x, 0))
    yield probe("torch._foreach_norm", lambda: [[matrix(), matrix()]], lambda xs: torch._foreach_norm(xs[0]))
    yield probe("torch.svd_lowrank", lambda: torch.rand(8, 8, device=device), lambda x: torch.svd_lowrank(x, 2))
    yield probe("torch.pca_lowrank", lambda: torch.rand(8, 8, device=device), lambda x: torch.pca_lowrank(x, 2))
    yield probe("torch.lobpcg", lambda: torch.eye(12, device=device) * 2, lambda x: torch.lobpcg(x, 2, niter=2))
    yield probe("torch.slogdet", matrix, torch.slogdet)
    yield probe("torch.frombuffer", tuple, lambda: torch.frombuffer(bytearray(8), dtype=torch.float32))
    yield probe("torch.tensordot", lambda: (matrix(), matrix()), torch.tensordot)
    yield probe(
        "torch.tensordot by device axes",
        lambda: (matrix(), torch.tensor([[0], [1]], device=device)),
        lambda x, d: torch.tensordot(x, x, dims=d),
    )
    yield probe("torch.histogram", lambda: torch.rand(9), lambda x: torch.histogram(x, 3))
    yield probe(
        "F.affine_grid",
        lambda: torch.rand(1, 2, 3, device=device),
        lambda x: F.affine_grid(x, [1, 1, 4, 4], align_corners=False),
    )
    yield probe("F.channel_shuffle", image, lambda x: F.channel_shuffle(x, 2))
    yield probe("F.fold", lambda: torch.rand(1, 12, 12, device=device), lambda x: F.fold(x, (4, 5), (2, 2)))
    yield probe("F.unfold", image, lambda x: F.unfold(x, 2))
    yield probe(
        "F.fractional_max_pool3d",
        lambda: torch.rand(1, 1, 8, 8, 8, device=device),
        lambda x: F.fractional_max_pool3d(x, 2, output_size=3),
    )
    yield probe("F.hardshrink", matrix, F.hardshrink)
    yield probe("F.pixel_shuffle", image, lambda x: F.pixel_shuffle(x, 2))
    yield probe("F.pixel_unshuffle", image, lambda x: F.pixel_unshuffle(x, 2))
    yield probe("F.prelu", lambda: (matrix(), torch.ones(1, device=device)), F.prelu)
    yield probe("F.rrelu", matrix, F.rrelu)
    yield probe("F.sigmoid", matrix, F.sigmoid)
    yield probe("F.tanh", matrix, F.tanh)
    yield probe("F.upsample", image, lambda x: F.upsample(x, scale_factor=2))
    for name in ("dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"):
        dims = {"dropout1d": 3, "dropout2d": 4, "dropout3d": 5}.get(name, 2)
        shape = (2,) * dims
        yield probe(f"F.{name}", lambda s=shape: torch.rand(s, device=device), lambda x, n=name: getattr(F, n)(x, 0.5))
        yield probe(
            f"F.{name}, device number",
            lambda s=shape: (torch.rand(s, device=device), torch.tensor(0.5, device=device)),
            lambda x, p, n=name: getattr(F, n)(x, p),
        )
    yield probe("sparse.addmm", lambda: (matrix(), matrix().to_sparse(), matrix()), torch.sparse.addmm)

    def axis() -> tuple[torch.Tensor, torch.Tensor]:
        return matrix(), torch.tensor(0, device=device)

    def attended() -> tuple[torch.Tensor, torch.Tensor]:
        return torch.rand(2, 2, 8, 16, device=device), torch.tensor(0.5, device=device)

    host = lambda: torch.rand(4, 4).to_sparse()  # noqa: E731
    yield probe("unbind along device number", axis, lambda x, n: x.unbind(n))
    yield probe("index_select along device number", axis, lambda x, n: x.index_select(n, n[None]))
    yield probe("sdpa, device scale", attended, lambda q, n: F.scaled_dot_product_attention(q, q, q, scale=n))
    yield probe("sparse.softmax host", host, lambda x: torch.sparse.softmax(x, 1))
    yield probe("sparse.sum along dim host", host, lambda x: torch.sparse.sum(x, 0))
    yield probe("sparse.softmax", lambda: matrix().to_sparse(), lambda x: torch.sparse.softmax(x, 1))
    yield probe("sparse.log_softmax", lambda: matrix().to_sparse(), lambda x: torch.sparse.log_softmax(x, 1))
    yield probe("sparse.sum", lambda: matrix().to_sparse(), torch.sparse.sum)
    yield probe("sparse.sum along dim", lambda: matrix().to_sparse(), lambda x: torch.sparse.sum(x, 0))
    yield probe("sparse.spdiags", tuple, lambda: torch.sparse.spdiags(torch.ones(2, 3), torch.tensor([0, 1]), (3, 3)))
    yield probe("to_sparse_coo", matrix, lambda x: x.to_sparse_coo())
    yield probe("to_sparse_bsr", matrix, lambda x: x.to_sparse_bsr((2, 2)))
    yield probe("to_sparse_bsc", matrix, lambda x: x.to_sparse_bsc((2, 2)))
    yield probe("sparse_mask", lambda: (matrix(), matrix().to_sparse()), lambda x, y: x.sparse_mask(y))
    yield probe("sparse + sparse", lambda: (matrix().to_sparse(), matrix().to_sparse()), operator.add)
    yield probe("sparse @ dense", lambda: (matrix().to_sparse(), matrix()), operator.matmul)
    yield probe("csr @ dense", lambda: (matrix().to_sparse_csr(), matrix()), operator.matmul)
    yield probe("csr @ csr", lambda: (matrix().to_sparse_csr(), matrix().to_sparse_csr()), operator.matmul)
    yield probe("csr to_dense", lambda: matrix().to_sparse_csr(), lambda x: x.to_dense())
    yield probe("coo to_sparse_csr", lambda: matrix().to_sparse(), lambda x: x.to_sparse_csr())
    yield probe("sparse indices", lambda: matrix().to_sparse(), lambda x: x.indices())
    yield probe("sparse values", lambda: matrix().to_sparse(), lambda x: x.values())
    yield probe("sparse transpose", lambda: matrix().to_sparse(), lambda x: x.t())
    yield probe("sparse * number", lambda: matrix().to_sparse(), lambda x: x * 2)
    yield probe(
        "sparse index_select",
        lambda: matrix().to_sparse(),
        lambda x: x.index_select(0, torch.zeros(1, dtype=torch.long, device=x.device)),
    )
    yield probe("sparse x[0]", lambda: matrix().to_sparse(), lambda x: x[0])
    yield probe("sparse_csr_tensor", matrix, _csr)
    yield probe("sparse clone", lambda: matrix().to_sparse(), lambda x: x.clone())
    yield probe("sparse cat", lambda: (matrix().to_sparse(), matrix().to_sparse()), lambda x, y: torch.cat([x, y]))


def _csr(x: torch.Tensor) -> torch.Tensor:
    rows = torch.arange(0, 9, 2, device=x.device)
    columns = torch.tensor([0, 1] * 4, device=x.device) if x.device.type == "cpu" else rows[:4].repeat(2) % 4
    return torch.sparse_csr_tensor(rows, columns, x.flatten()[:8], (4, 4))


def _methods(device: str) -> Iterator[Program]:
    def matrix() -> torch.Tensor:
        return torch.rand(4, 4, device=device)

    yield probe("Tensor.__iter__", matrix, lambda x: list(iter(x)))
    yield probe("Tensor.__hash__", matrix, hash)
    yield probe("Tensor.bernoulli", matrix, lambda x: x.bernoulli())
    yield probe("Tensor.multinomial", matrix, lambda x: x.multinomial(2))
    yield probe("Tensor.prelu", lambda: (matrix(), torch.ones(1, device=device)), lambda x, w: x.prelu(w))
    yield probe("Tensor.hardshrink", matrix, lambda x: x.hardshrink())
    yield probe("Tensor.positive", matrix, lambda x: x.positive())
    yield probe("Tensor.imag", lambda: matrix().to(torch.complex64), lambda x: (x.real, x.imag))
    yield probe("Tensor.register_hook", lambda: matrix().requires_grad_(), lambda x: x.register_hook(lambda g: g))
    yield probe("Tensor.set_", lambda: (matrix(), matrix()), lambda x, y: x.set_(y))
    yield probe("Tensor.resize_", matrix, lambda x: x.resize_(2, 2))
    yield probe("Tensor.share_memory_", matrix, lambda x: x.share_memory_())
    yield probe("Tensor.new", matrix, lambda x: x.new(3))
    yield probe("Tensor.new_empty_strided", matrix, lambda x: x.new_empty_strided((2,), (1,)))
    yield probe("Tensor.is_same_size", matrix, lambda x: x.is_same_size(x))
    yield probe("Tensor.__cuda_array_interface__", matrix, lambda x: getattr(x, "__cuda_array_interface__", None))
    yield probe("Tensor.__dlpack__", matrix, lambda x: torch.from_dlpack(x))
    yield probe("utils.dlpack", matrix, lambda x: torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x)))
    yield probe("Tensor.storage", matrix, lambda x: x.storage())
    yield probe(
        "untyped_storage copy_",
        lambda: (matrix(), torch.rand(4, 4)),
        lambda x, y: x.untyped_storage().copy_(y.untyped_storage()),
    )
    yield probe(
        "Tensor.index_put",
        lambda: (matrix(), torch.zeros(1, dtype=torch.long, device=device)),
        lambda x, i: x.index_put((i,), x[0]),
    )
    yield probe(
        "PackedSequence.to",
        lambda: [torch.nn.utils.rnn.pack_padded_sequence(torch.rand(4, 2, 3), [4, 2])],
        lambda p: p[0].to(device),
    )
    yield probe("copy.deepcopy", matrix, copy.deepcopy)
    yield probe("copy.deepcopy of a module", lambda: torch.nn.Linear(2, 2).to(device), copy.deepcopy)
    yield probe("copy.copy", matrix, copy.copy)


def _foreach(device: str) -> Iterator[Program]:
    def lists() -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        return [torch.rand(3, device=device) for _ in range(3)], [torch.rand(3, device=device) for _ in range(3)]

    def number() -> torch.Tensor:
        return torch.tensor(2.0, device=device)

    yield probe("_foreach_add", lists, lambda xs, ys: torch._foreach_add(xs, ys))
    yield probe("_foreach_add_", lists, lambda xs, ys: torch._foreach_add_(xs, ys, alpha=2))
    yield probe("_foreach_sub_", lists, lambda xs, ys: torch._foreach_sub_(xs, ys))
    yield probe("_foreach_mul", lists, lambda xs, ys: torch._foreach_mul(xs, ys))
    yield probe(
        "_foreach_mul by device number", lambda: (*lists(), number()), lambda xs, ys, n: torch._foreach_mul_(xs, n)
    )
    yield probe("_foreach_div_", lists, lambda xs, ys: torch._foreach_div_(xs, ys))
    yield probe("_foreach_sqrt", lists, lambda xs, ys: torch._foreach_sqrt(xs))
    yield probe("_foreach_zero_", lists, lambda xs, ys: torch._foreach_zero_(xs))
    yield probe("_foreach_copy_", lists, lambda xs, ys: torch._foreach_copy_(xs, ys))
    yield probe("_foreach_lerp_", lists, lambda xs, ys: torch._foreach_lerp_(xs, ys, 0.5))
    yield probe(
        "_foreach_lerp_ by device number",
        lambda: (*lists(), number()),
        lambda xs, ys, n: torch._foreach_lerp_(xs, ys, n),
    )
    yield probe("_foreach_addcdiv_", lists, lambda xs, ys: torch._foreach_addcdiv_(xs, ys, ys, 1.0))
    yield probe("_foreach_addcmul_", lists, lambda xs, ys: torch._foreach_addcmul_(xs, ys, ys, 1.0))
    yield probe(
        "_foreach_addcdiv_ by host scalars",
        lambda: (*lists(), torch.ones(3)),
        lambda xs, ys, n: torch._foreach_addcdiv_(xs, ys, ys, n),
    )
    yield probe("_foreach_pow", lists, lambda xs, ys: torch._foreach_pow(xs, 2.0))
    yield probe("_foreach_clamp_max_", lists, lambda xs, ys: torch._foreach_clamp_max_(xs, 1.0))
    yield probe("_foreach_max", lists, lambda xs, ys: torch._foreach_max(xs))


def _reads(device: str) -> Iterator[Program]:
    for side, where in (("", device), (" host", "cpu")):

        def number(where: str = where) -> torch.Tensor:
            return torch.rand((), device=where)

        def vector(where: str = where) -> torch.Tensor:
            return torch.rand(4, device=where)

        yield probe(f"storage to host{side}", vector, lambda x: x.untyped_storage().cpu())
        yield probe(f"storage to list{side}", vector, lambda x: x.storage().tolist())
        yield probe(f"pickle.dump{side}", vector, lambda x: pickle.dump(x, io.BytesIO()))
        yield probe(f"__reduce_ex__{side}", vector, lambda x: x.__reduce_ex__(2))
        yield probe(f"str of a vector{side}", vector, str)
        yield probe(f"testing.assert_close{side}", lambda v=vector: (v(), v()), _compared)
        yield probe(
            f"save of a module{side}",
            lambda w=where: torch.nn.Linear(2, 2).to(w),
            lambda m: torch.save(m.state_dict(), io.BytesIO()),
        )
        yield probe(f"load{side}", lambda v=vector: _stored(v()), lambda f: torch.load(f))
        yield probe(f"load to host{side}", lambda v=vector: _stored(v()), lambda f: torch.load(f, map_location="cpu"))
        yield probe(
            f"load to device{side}", lambda v=vector: _stored(v()), lambda f: torch.load(f, map_location=device)
        )
    for name in [
        "DoubleTensor",
        "HalfTensor",
        "BFloat16Tensor",
        "LongTensor",
        "IntTensor",
        "ShortTensor",
        "CharTensor",
        "ByteTensor",
        "BoolTensor",
    ]:
        yield probe(f"cuda.{name} of a list", tuple, lambda n=name: getattr(torch.cuda, n)([1, 0]))
        yield probe(f"cuda.{name} of a size", tuple, lambda n=name: getattr(torch.cuda, n)(3))


def _compared(x: torch.Tensor, y: torch.Tensor) -> None:
    torch.testing.assert_close(x, y, atol=2.0, rtol=1.0)


def _stored(x: Any) -> io.BytesIO:
    stream = io.BytesIO()
    torch.save(x, stream)
    stream.seek(0)
    return stream

"""Operations that only enqueue work, as users write them: proofs that they do not wait."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from syncwatch.facts.measure.probes import Program, probe

_METHODS = """
abs neg exp log sqrt square sin cos tanh sigmoid relu floor ceil round sum mean std var max min argmax argmin any all
cumsum cumprod sort argsort median logsumexp softmax flip roll tril triu diag clone detach contiguous t flatten
unsqueeze squeeze isnan isinf isfinite nan_to_num logical_not amax amin aminmax count_nonzero norm prod unbind
half float double long int bool zero_ abs_ neg_ exponential_ normal_ uniform_ mode kthvalue topk cummax
"""
_ARGUMENTS = {"cumsum": (0,), "cumprod": (0,), "logsumexp": (0,), "softmax": (0,), "unsqueeze": (0,), "kthvalue": (2,),
              "topk": (2,), "cummax": (0,), "flip": (0,), "roll": (1,)}  # fmt: skip


def programs(device: str) -> Iterator[Program]:
    def matrix() -> torch.Tensor:
        return torch.rand(8, 8, device=device)

    def vector() -> torch.Tensor:
        return torch.rand(10, device=device)

    def places() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return torch.rand(10, device=device), torch.arange(5, device=device), torch.rand(5, device=device)

    for name in _METHODS.split():
        yield probe(f"Tensor.{name}", matrix, lambda x, n=name: getattr(x, n)(*_ARGUMENTS.get(n, ())))
    for symbol, act in {
        "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b,
        "//": lambda a, b: a // b, "%": lambda a, b: a % b, "**": lambda a, b: a**b, "@": lambda a, b: a @ b,
        "==": lambda a, b: a == b, "<": lambda a, b: a < b, "&": lambda a, b: (a > 0) & (b > 0),
    }.items():  # fmt: skip
        yield probe(f"a {symbol} b", lambda: (matrix(), matrix()), act)
    yield probe("x + host scalar", lambda: (matrix(), torch.tensor(2.0)), lambda x, s: x + s)
    yield probe("x += host scalar", lambda: (matrix(), torch.tensor(2.0)), lambda x, s: x.add_(s))
    yield probe("x * number", matrix, lambda x: x * 2)
    yield probe("cat", lambda: (matrix(), matrix()), lambda a, b: torch.cat([a, b]))
    yield probe("stack", lambda: (matrix(), matrix()), lambda a, b: torch.stack([a, b]))
    yield probe("einsum", lambda: (matrix(), matrix()), lambda a, b: torch.einsum("ij,jk->ik", a, b))
    yield probe("matmul", lambda: (matrix(), matrix()), torch.matmul)
    yield probe("isclose", lambda: (matrix(), matrix()), torch.isclose)
    yield probe("cdist", lambda: (matrix(), matrix()), torch.cdist)
    yield probe("fft", vector, torch.fft.fft)
    yield probe("rfft2", matrix, torch.fft.rfft2)
    yield probe("gather", places, lambda x, i, v: x.gather(0, i))
    yield probe("take", places, lambda x, i, v: x.take(i))
    yield probe("index_select", places, lambda x, i, v: x.index_select(0, i))
    yield probe("take_along_dim", places, lambda x, i, v: x.take_along_dim(i, 0))
    yield probe("scatter_", places, lambda x, i, v: x.scatter_(0, i, v))
    yield probe("scatter_ number", places, lambda x, i, v: x.scatter_(0, i, 1.0))
    yield probe("scatter_add_", places, lambda x, i, v: x.scatter_add_(0, i, v))
    yield probe("scatter_reduce", places, lambda x, i, v: x.scatter_reduce(0, i, v, "amax"))
    yield probe("index_add_", places, lambda x, i, v: x.index_add_(0, i, v))
    yield probe("index_copy_", places, lambda x, i, v: x.index_copy_(0, i, v))
    yield probe("put_", places, lambda x, i, v: x.put_(i, v))
    yield probe("searchsorted", vector, lambda x: torch.searchsorted(x, x))
    yield probe("bucketize", vector, lambda x: torch.bucketize(x, x))
    yield probe("block_diag", lambda: (matrix(), matrix()), torch.block_diag)
    yield probe("cartesian_prod", lambda: (vector(), vector()), torch.cartesian_prod)
    yield probe("tril_indices", lambda: (), lambda: torch.tril_indices(5, 5, device=device))
    yield probe("meshgrid", lambda: (vector(), vector()), lambda a, b: torch.meshgrid(a, b, indexing="ij"))
    yield probe("renorm", matrix, lambda x: x.renorm(2, 0, 1.0))
    yield probe("vmap", matrix, lambda x: torch.vmap(torch.sum)(x))
    yield probe("trapezoid", vector, torch.trapezoid)
    yield probe("cov", matrix, torch.cov)
    yield probe("pad", matrix, lambda x: F.pad(x, (1, 1)))
    yield probe("rand_like", matrix, torch.rand_like)
    yield probe("randint", lambda: (), lambda: torch.randint(0, 9, (10,), device=device))
    yield probe("arange", lambda: (), lambda: torch.arange(10, device=device))
    yield probe("full", lambda: (), lambda: torch.full((10,), 3.0, device=device))
    yield probe("linspace", lambda: (), lambda: torch.linspace(0, 1, 10, device=device))
    yield probe("eye", lambda: (), lambda: torch.eye(10, device=device))
    yield probe(
        "interpolate", lambda: torch.rand(1, 3, 8, 8, device=device), lambda x: F.interpolate(x, scale_factor=2)
    )
    yield probe(
        "grid_sample",
        lambda: (torch.rand(1, 3, 8, 8, device=device), torch.rand(1, 8, 8, 2, device=device)),
        lambda x, g: F.grid_sample(x, g, align_corners=False),
    )
    yield probe(
        "conv2d", lambda: (torch.rand(1, 3, 8, 8, device=device), torch.rand(4, 3, 3, 3, device=device)), F.conv2d
    )
    yield probe("normalize", matrix, F.normalize)
    yield probe("cosine_similarity", lambda: (matrix(), matrix()), F.cosine_similarity)
    yield probe("foreach", lambda: [[matrix(), matrix()]], lambda xs: torch._foreach_mul_(xs[0], 2.0))
    yield probe("foreach norm", lambda: [[matrix(), matrix()]], lambda xs: torch._foreach_norm(xs[0]))

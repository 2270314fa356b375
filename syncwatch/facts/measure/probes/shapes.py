"""Sizes that depend on data, host numbers given as CUDA tensors, random numbers, sparse and nested tensors."""

# mypy: disable-error-code="misc, no-untyped-call, no-any-return"
from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from syncwatch.facts.measure.probes import Program, probe


def programs(device: str) -> Iterator[Program]:
    yield from _dynamic(device)
    yield from _host_numbers(device)
    yield from _sparse(device)


def _dynamic(device: str) -> Iterator[Program]:
    for side, where in (("", device), (" host", "cpu")):

        def vector(where: str = where) -> torch.Tensor:
            return torch.randn(1000, device=where)

        def labels(where: str = where) -> torch.Tensor:
            return torch.arange(10, device=where)

        def masked(where: str = where) -> tuple[torch.Tensor, torch.Tensor]:
            return torch.randn(1000, device=where), torch.rand(1000, device=where) > 0.5

        def few(where: str = where) -> tuple[torch.Tensor, torch.Tensor]:
            return torch.randn(1000, device=where), torch.randn(3, device=where)

        def many(where: str = where) -> tuple[torch.Tensor, torch.Tensor]:
            return torch.randn(1000, device=where), torch.randn(500, device=where)

        yield probe(f"nonzero{side}", vector, torch.nonzero)
        yield probe(f"Tensor.nonzero{side}", vector, lambda x: x.nonzero())
        yield probe(f"nonzero as_tuple{side}", vector, lambda x: torch.nonzero(x, as_tuple=True))
        yield probe(f"argwhere{side}", vector, torch.argwhere)
        yield probe(f"where of one{side}", masked, lambda x, m: torch.where(m))
        yield probe(f"where{side}", masked, lambda x, m: torch.where(m, x, x))
        yield probe(f"Tensor.where{side}", masked, lambda x, m: x.where(m, 0.0))
        yield probe(f"where with numbers{side}", masked, lambda x, m: torch.where(m, 1.0, 0.0))
        yield probe(f"masked_select{side}", masked, torch.masked_select)
        yield probe(f"masked_scatter{side}", masked, lambda x, m: x.masked_scatter(m, x))
        yield probe(f"unique{side}", labels, torch.unique)
        yield probe(f"unique with counts{side}", labels, lambda x: torch.unique(x, return_counts=True))
        yield probe(f"unique along dim{side}", lambda w=where: torch.ones(5, 2, device=w), lambda x: x.unique(dim=0))
        yield probe(f"unique_consecutive{side}", labels, torch.unique_consecutive)
        yield probe(f"repeat_interleave{side}", labels, lambda x: x.repeat_interleave(x))
        yield probe(f"repeat_interleave of repeats{side}", labels, torch.repeat_interleave)
        yield probe(f"repeat_interleave by number{side}", labels, lambda x: x.repeat_interleave(2))
        yield probe(
            f"repeat_interleave output_size{side}", labels, lambda x: torch.repeat_interleave(x, x, output_size=45)
        )
        yield probe(f"bincount{side}", labels, torch.bincount)
        yield probe(f"bincount minlength{side}", labels, lambda x: torch.bincount(x, minlength=20))
        yield probe(f"histc{side}", vector, lambda x: torch.histc(x, 10))
        yield probe(f"histc with bounds{side}", vector, lambda x: torch.histc(x, 10, -1, 1))
        yield probe(f"histc with equal bounds{side}", vector, lambda x: torch.histc(x, 10, 0, 0))
        yield probe(f"one_hot{side}", labels, F.one_hot)
        yield probe(f"one_hot num_classes{side}", labels, lambda x: F.one_hot(x, 12))
        yield probe(f"one_hot num_classes=-1{side}", labels, lambda x: F.one_hot(x, num_classes=-1))
        yield probe(f"isin few{side}", few, torch.isin)
        yield probe(f"isin many{side}", many, torch.isin)
        yield probe(f"isin many assume_unique{side}", many, lambda x, y: torch.isin(x, y, assume_unique=True))
        yield probe(f"isin number{side}", vector, lambda x: torch.isin(x, 3))
        yield probe(f"corrcoef{side}", lambda w=where: torch.randn(3, 9, device=w), torch.corrcoef)
        yield probe(f"combinations{side}", labels, torch.combinations)
        yield probe(f"count_nonzero{side}", vector, torch.count_nonzero)
        yield probe(f"nonzero_static{side}", vector, lambda x: torch.nonzero_static(x, size=1000))
        yield probe(
            f"segment_reduce{side}",
            lambda w=where: (torch.randn(10, device=w), torch.tensor([5, 5], device=w)),
            lambda x, n: torch.segment_reduce(x, "sum", lengths=n),
        )
        yield probe(
            f"segment_reduce unsafe{side}",
            lambda w=where: (torch.randn(10, device=w), torch.tensor([5, 5], device=w)),
            lambda x, n: torch.segment_reduce(x, "sum", lengths=n, unsafe=True),
        )
        yield probe(f"multinomial{side}", lambda v=vector: v().abs(), lambda p: torch.multinomial(p, 3))
        yield probe(f"bernoulli{side}", lambda w=where: torch.rand(9, device=w), torch.bernoulli)
        yield probe(f"poisson{side}", lambda w=where: torch.rand(9, device=w), torch.poisson)
        yield probe(f"randperm{side}", lambda: (), lambda w=where: torch.randperm(100, device=w))
        yield probe(f"normal of tensors{side}", lambda v=vector: (v(), v().abs()), torch.normal)
        yield probe(f"normal of tensor and number{side}", vector, lambda m: torch.normal(m, 1.0))
        yield probe(f"normal of number and tensor{side}", lambda v=vector: v().abs(), lambda s: torch.normal(0.0, s))
        yield probe(f"tensor_split numbers{side}", vector, lambda x: x.tensor_split([100, 200]))
        yield probe(f"split{side}", vector, lambda x: x.split(100))
        yield probe(f"median{side}", vector, torch.median)
        yield probe(f"quantile{side}", vector, lambda x: x.quantile(0.5))
        yield probe(f"histogramdd bins{side}", vector, lambda x: torch.bucketize(x, torch.ones(3, device=x.device)))
    yield probe(
        "tensor_split host tensor",
        lambda: (torch.randn(100, device=device), torch.tensor([10, 20])),
        lambda x, i: x.tensor_split(i),
    )
    yield probe("nonzero of nothing", lambda: torch.ones(0, device=device), torch.nonzero)
    yield probe("unique of nothing", lambda: torch.ones(0, device=device), torch.unique)
    yield probe(
        "masked_select of nothing",
        lambda: (torch.ones(0, device=device), torch.ones(0, device=device) > 0),
        torch.masked_select,
    )
    yield probe(
        "where host number tensor",
        lambda: (torch.randn(9, device=device), torch.tensor(0.0)),
        lambda x, s: torch.where(x > 0, x, s),
    )
    yield probe(
        "where device number tensor",
        lambda: (torch.randn(9, device=device), torch.tensor(0.0, device=device)),
        lambda x, s: torch.where(x > 0, x, s),
    )


def _host_numbers(device: str) -> Iterator[Program]:
    """Each operation with a host number and with a number on the device."""

    def vector() -> torch.Tensor:
        return torch.randn(12, device=device)

    def three(on_device: bool) -> object:
        return torch.tensor(3, device=device) if on_device else 3

    def half(on_device: bool) -> object:
        return torch.tensor(0.5, device=device) if on_device else 0.5

    for side, on_device in ((", device number", True), (", host number", False)):

        def size(on: bool = on_device) -> tuple[torch.Tensor, object]:
            return vector(), three(on)

        def value(on: bool = on_device) -> tuple[torch.Tensor, object]:
            return vector(), half(on)

        yield probe(f"x[:n]{side}", size, lambda x, n: x[:n])
        yield probe(f"view{side}", size, lambda x, n: x.view(n, 4))
        yield probe(f"reshape{side}", size, lambda x, n: x.reshape(n, -1))
        yield probe(f"expand{side}", size, lambda x, n: x.expand(n, 12))
        yield probe(f"repeat{side}", size, lambda x, n: x.repeat(n))
        yield probe(f"narrow{side}", size, lambda x, n: x.narrow(0, 0, n))
        yield probe(f"narrow from{side}", size, lambda x, n: x.narrow(0, n, 1))
        yield probe(f"split by{side}", size, lambda x, n: x.split(n))
        yield probe(f"chunk{side}", size, lambda x, n: x.chunk(n))
        yield probe(f"topk{side}", size, lambda x, n: x.topk(n))
        yield probe(f"roll{side}", size, lambda x, n: x.roll(n))
        yield probe(f"select{side}", size, lambda x, n: x.select(0, n))
        yield probe(f"zeros{side}", size, lambda x, n: torch.zeros(n, device=device))
        yield probe(f"ones of two{side}", size, lambda x, n: torch.ones(n, n, device=device))
        yield probe(f"randn{side}", size, lambda x, n: torch.randn((n, 2), device=device))
        yield probe(f"arange{side}", size, lambda x, n: torch.arange(n, device=device))
        yield probe(f"arange from{side}", size, lambda x, n: torch.arange(0, n, device=device))
        yield probe(f"eye{side}", size, lambda x, n: torch.eye(n, device=device))
        yield probe(f"linspace{side}", size, lambda x, n: torch.linspace(0, n, 5, device=device))
        yield probe(f"linspace between{side}", size, lambda x, n: torch.linspace(n, n, 5, device=device))
        yield probe(f"logspace{side}", size, lambda x, n: torch.logspace(0, n, 5, device=device))
        yield probe(f"full size{side}", size, lambda x, n: torch.full((n,), 1.0, device=device))
        yield probe(f"new_zeros{side}", size, lambda x, n: x.new_zeros(n))
        yield probe(
            f"one_hot classes{side}", size, lambda x, n: F.one_hot(torch.zeros(2, dtype=torch.long, device=device), n)
        )
        yield probe(f"full{side}", value, lambda x, v: torch.full((3,), v, device=device))
        yield probe(f"full_like{side}", value, lambda x, v: torch.full_like(x, v))
        yield probe(f"new_full{side}", value, lambda x, v: x.new_full((3,), v))
        yield probe(f"fill_{side}", value, lambda x, v: x.fill_(v))
        yield probe(f"masked_fill{side}", value, lambda x, v: x.masked_fill(x > 0, v))
        yield probe(f"masked_fill_{side}", value, lambda x, v: x.masked_fill_(x > 0, v))
        yield probe(f"torch.masked_fill{side}", value, lambda x, v: torch.masked_fill(x, x > 0, v))
        yield probe(
            f"index_fill{side}", value, lambda x, v: x.index_fill(0, torch.zeros(1, dtype=torch.long, device=device), v)
        )
        yield probe(f"add alpha{side}", value, lambda x, v: torch.add(x, x, alpha=v))
        yield probe(f"sub alpha{side}", value, lambda x, v: x.sub(x, alpha=v))
        yield probe(f"add{side}", value, lambda x, v: x + v)
        yield probe(f"mul{side}", value, lambda x, v: x * v)
        yield probe(f"pow{side}", value, lambda x, v: x**v)
        yield probe(f"lerp{side}", value, lambda x, v: torch.lerp(x, x, v))
        yield probe(f"clamp max{side}", value, lambda x, v: x.clamp(max=v))
        yield probe(f"clamp min{side}", value, lambda x, v: torch.clamp(x, min=v))
        yield probe(f"clamp number and{side}", value, lambda x, v: x.clamp(0.1, v))
        yield probe(f"clamp_ number and{side}", value, lambda x, v: x.clamp_(0.1, v))
        yield probe(f"clamp both{side}", value, lambda x, v: x.clamp(v, v))
        yield probe(f"where{side}", value, lambda x, v: torch.where(x > 0, x, v))
        yield probe(f"addcmul value{side}", value, lambda x, v: torch.addcmul(x, x, x, value=v))
        yield probe(f"addmm beta{side}", value, lambda x, v: torch.addmm(x[:3], x.view(3, 4), x.view(4, 3), beta=v))
        yield probe(
            f"cumsum dim{side}",
            lambda o=on_device: (vector(), torch.tensor(0, device=device) if o else 0),
            lambda x, d: x.cumsum(d),
        )
        yield probe(
            f"sum dim{side}",
            lambda o=on_device: (vector(), torch.tensor(0, device=device) if o else 0),
            lambda x, d: x.sum(d),
        )
        yield probe(
            f"scatter value{side}", value, lambda x, v: x.scatter(0, torch.zeros(1, dtype=torch.long, device=device), v)
        )
        yield probe(f"leaky_relu slope{side}", value, lambda x, v: F.leaky_relu(x, v))
        yield probe(f"dropout p{side}", value, lambda x, v: F.dropout(x, v))
        yield probe(f"quantile at{side}", value, lambda x, v: x.quantile(v))
        yield probe(f"layer_norm eps{side}", value, lambda x, v: F.layer_norm(x, (12,), eps=v))
        yield probe(f"softmax temperature{side}", value, lambda x, v: torch.softmax(x / v, 0))
        yield probe(f"interpolate scale{side}", size, lambda x, n: F.interpolate(x.view(1, 1, 12), scale_factor=n))
        yield probe(f"pad by{side}", size, lambda x, n: F.pad(x, (n, n)))
        yield probe(f"bernoulli_ p{side}", value, lambda x, v: x.bernoulli_(v))
        yield probe(f"normal_ std{side}", value, lambda x, v: x.normal_(0.0, v))
        yield probe(f"uniform_ to{side}", value, lambda x, v: x.uniform_(0.0, v))
        yield probe(f"random_ to{side}", size, lambda x, n: x.random_(0, n))
        yield probe(f"randint{side}", size, lambda x, n: torch.randint(0, n, (3,), device=device))


def _sparse(device: str) -> Iterator[Program]:
    for side, where in (("", device), (" host", "cpu")):

        def dense(where: str = where) -> torch.Tensor:
            return torch.eye(8, device=where)

        def parts(where: str = where) -> tuple[torch.Tensor, torch.Tensor]:
            return torch.tensor([[0, 1], [1, 0]], device=where), torch.ones(2, device=where)

        def ragged(where: str = where) -> list[list[torch.Tensor]]:
            return [[torch.randn(3, 2, device=where), torch.randn(4, 2, device=where)]]

        yield probe(f"to_sparse{side}", dense, lambda x: x.to_sparse())
        yield probe(f"to_sparse_csr{side}", dense, lambda x: x.to_sparse_csr())
        yield probe(f"to_sparse_csc{side}", dense, lambda x: x.to_sparse_csc())
        yield probe(f"to_dense{side}", lambda d=dense: d().to_sparse(), lambda x: x.to_dense())
        yield probe(f"sparse.mm{side}", lambda d=dense: (d().to_sparse(), d()), torch.sparse.mm)
        yield probe(f"sparse_coo_tensor{side}", parts, torch.sparse_coo_tensor)
        yield probe(f"sparse_coo_tensor size{side}", parts, lambda i, v: torch.sparse_coo_tensor(i, v, (3, 3)))
        yield probe(
            f"sparse_coo_tensor size unchecked{side}",
            parts,
            lambda i, v: torch.sparse_coo_tensor(i, v, (3, 3), check_invariants=False),
        )
        yield probe(
            f"sparse_coo_tensor size checked{side}",
            parts,
            lambda i, v: torch.sparse_coo_tensor(i, v, (3, 3), check_invariants=True),
        )
        yield probe(f"coalesce{side}", lambda p=parts: torch.sparse_coo_tensor(*p(), (3, 3)), lambda x: x.coalesce())
        yield probe(
            f"coalesce again{side}",
            lambda p=parts: torch.sparse_coo_tensor(*p(), (3, 3)).coalesce(),
            lambda x: x.coalesce(),
        )
        yield probe(f"nested_tensor{side}", ragged, lambda x: torch.nested.nested_tensor(x[0]))
        yield probe(
            f"nested_tensor jagged{side}", ragged, lambda x: torch.nested.nested_tensor(x[0], layout=torch.jagged)
        )
        yield probe(f"as_nested_tensor{side}", ragged, lambda x: torch.nested.as_nested_tensor(x[0]))
        yield probe(
            f"as_nested_tensor jagged{side}", ragged, lambda x: torch.nested.as_nested_tensor(x[0], layout=torch.jagged)
        )
        yield probe(
            f"nested_tensor_from_jagged{side}",
            lambda w=where: (torch.randn(7, 2, device=w), torch.tensor([0, 3, 7], device=w)),
            torch.nested.nested_tensor_from_jagged,
        )
        yield probe(
            f"to_padded_tensor{side}",
            lambda r=ragged: torch.nested.nested_tensor(r()[0]),
            lambda x: torch.nested.to_padded_tensor(x, 0.0),
        )

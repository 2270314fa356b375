"""Reads of values and contents."""

from __future__ import annotations

import copy
import io
import math
import pickle
from collections.abc import Iterator

import numpy as np
import torch

from syncwatch.facts.measure.probes import Program, probe


def programs(device: str) -> Iterator[Program]:
    for side, where in (("", device), (" host", "cpu")):
        yield from _everywhere(side, where)
    yield from _once(device)


def _everywhere(side: str, where: str) -> Iterator[Program]:
    def scalar() -> torch.Tensor:
        return torch.randn((), device=where).abs() + 0.5

    def vector() -> torch.Tensor:
        return torch.randn(1000, device=where)

    def count() -> torch.Tensor:
        return torch.tensor(3, device=where)

    sink = io.StringIO()
    yield probe(f"item{side}", scalar, lambda x: x.item())
    yield probe(f"tolist scalar{side}", scalar, lambda x: x.tolist())
    yield probe(f"tolist vector{side}", vector, lambda x: x.tolist())
    yield probe(f"float{side}", scalar, float)
    yield probe(f"int{side}", scalar, int)
    yield probe(f"complex{side}", scalar, complex)
    yield probe(f"bool{side}", scalar, bool)
    yield probe(f"not{side}", scalar, lambda x: not x)
    yield probe(f"while{side}", scalar, lambda x: 1 if x else 0)
    yield probe(f"is_nonzero{side}", scalar, torch.is_nonzero)
    yield probe(f"Tensor.is_nonzero{side}", scalar, lambda x: x.is_nonzero())
    yield probe(f"index a list{side}", count, lambda i: [0, 1, 2, 3][i])
    yield probe(f"range{side}", count, lambda i: list(range(i)))
    yield probe(f"math.sqrt{side}", scalar, math.sqrt)
    yield probe(f"f-string{side}", scalar, lambda x: f"{x}")
    yield probe(f"f-string with format{side}", scalar, lambda x: f"{x:.3f}")
    yield probe(f"f-string vector{side}", lambda: vector()[:20], lambda x: f"{x}")
    yield probe(f"percent format{side}", scalar, lambda x: "%.3f" % x)  # noqa: UP031
    yield probe(f"str{side}", scalar, str)
    yield probe(f"repr vector{side}", lambda: vector()[:50], repr)
    yield probe(f"repr integers{side}", lambda: torch.arange(50, device=where), repr)
    yield probe(f"print{side}", scalar, lambda x: print(x, file=sink))
    yield probe(f"contains{side}", vector, lambda x: 1.0 in x)
    yield probe(f"equal{side}", lambda: (vector(), vector()), torch.equal)
    yield probe(f"Tensor.equal{side}", lambda: (vector(), vector()), lambda a, b: a.equal(b))
    yield probe(f"equal of other shapes{side}", lambda: (vector(), vector()[:5]), torch.equal)
    yield probe(f"equal to itself{side}", vector, lambda x: torch.equal(x, x))
    yield probe(f"allclose{side}", lambda: (vector(), vector()), torch.allclose)
    yield probe(f"cpu{side}", vector, lambda x: x.cpu())
    yield probe(f"numpy force{side}", vector, lambda x: x.numpy(force=True))
    yield probe(f"save{side}", vector, lambda x: torch.save(x, io.BytesIO()))
    yield probe(f"save a dict{side}", lambda: {"a": vector(), "b": vector()}, lambda x: torch.save(x, io.BytesIO()))
    yield probe(f"pickle{side}", vector, lambda x: pickle.dumps(x))
    yield probe(f"deepcopy{side}", vector, copy.deepcopy)
    yield probe(f"assert_close{side}", vector, lambda x: torch.testing.assert_close(x, x.clone()))
    yield probe(f"max of two{side}", lambda: (scalar(), scalar()), max)
    yield probe(f"min of three{side}", lambda: (scalar(), scalar(), scalar()), min)
    yield probe(f"sorted{side}", lambda: [[scalar(), scalar(), scalar()]], lambda xs: sorted(xs[0]))
    yield probe(f"sum of three{side}", lambda: [[scalar(), scalar(), scalar()]], lambda xs: sum(xs[0]))
    yield probe(f"any of a list{side}", lambda: [[scalar(), scalar()]], lambda xs: any(xs[0]))
    yield probe(f"chained comparison{side}", scalar, lambda x: 0 < x < 10)
    yield probe(f"list.index{side}", lambda: (scalar(), [scalar(), scalar()]), lambda x, xs: x in xs)


def _once(device: str) -> Iterator[Program]:
    yield probe("numpy.asarray of host", lambda: torch.randn(10), np.asarray)
    yield probe("numpy of host", lambda: torch.randn(10), lambda x: x.numpy())
    yield probe("abs", lambda: torch.randn((), device=device), abs)
    yield probe("len", lambda: torch.randn(9, device=device), len)
    yield probe("hash", lambda: torch.randn(9, device=device), hash)
    yield probe("iterate", lambda: torch.randn(9, device=device), lambda x: list(x))
    yield probe("unpack", lambda: torch.randn(2, device=device), lambda x: (lambda a, b: a)(*x))
    yield probe("reversed", lambda: torch.randn(9, device=device), reversed)
    yield probe("shape in f-string", lambda: torch.randn(9, device=device), lambda x: f"{x.shape} {x.dtype} {x.device}")
    yield probe("data_ptr", lambda: torch.randn(9, device=device), lambda x: x.data_ptr())
    yield probe("is_pinned", lambda: torch.randn(9, device=device), lambda x: x.is_pinned())

"""Indexing reads and writes with every kind of index and value."""

# mypy: disable-error-code="misc, no-untyped-call, no-any-return"
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from syncwatch.facts.measure.probes import Program, probe

Make = Callable[[], Any]


def _indices(device: str) -> dict[str, Make]:
    """Indices for a tensor of shape (6, 4)."""

    def on(values: Any) -> torch.Tensor:
        return torch.tensor(values, device=device)

    mask = [True, False, True, False, False, True]
    return {
        "number": lambda: 1,
        "negative number": lambda: -1,
        "two numbers": lambda: (1, 2),
        "slice": lambda: slice(1, 3),
        "stepped slice": lambda: slice(0, 6, 2),
        "slice and number": lambda: (slice(None), 1),
        "number and slice": lambda: (1, slice(1, 3)),
        "ellipsis": lambda: ...,
        "ellipsis and number": lambda: (..., 0),
        "None": lambda: None,
        "True": lambda: True,
        "None and number": lambda: (None, 1),
        "list": lambda: [0, 2],
        "list of booleans": lambda: mask,
        "tuple of lists": lambda: ([0, 1], [1, 2]),
        "list and slice": lambda: ([0, 2], slice(None)),
        "range as list": lambda: list(range(3)),
        "array": lambda: np.array([0, 2]),
        "array of booleans": lambda: np.array(mask),
        "numpy integer": lambda: np.int64(2),
        "host index": lambda: torch.tensor([0, 2]),
        "host number": lambda: torch.tensor(1),
        "host mask": lambda: torch.tensor(mask),
        "device index": lambda: on([0, 2]),
        "device indices": lambda: (on([0, 1]), on([1, 2])),
        "device index and slice": lambda: (on([0, 2]), slice(1, 3)),
        "slice and device index": lambda: (slice(None), on([0, 2])),
        "device index and number": lambda: (on([0, 2]), 1),
        "device number": lambda: on(1),
        "device number and number": lambda: (on(1), 2),
        "two device numbers": lambda: (on(1), on(2)),
        "device number and slice": lambda: (on(1), slice(None)),
        "device index and device number": lambda: (on([0, 2]), on(1)),
        "device mask": lambda: on(mask),
        "device mask of bytes": lambda: on(mask).to(torch.uint8),
        "device mask and slice": lambda: (on(mask), slice(1, 3)),
        "slice and device mask": lambda: (slice(None), on([True, False, True, True])),
        "device mask and number": lambda: (on(mask), 1),
        "number and device mask": lambda: (1, on([True, False, True, True])),
        "device mask and device index": lambda: (on(mask), on([0, 1, 2])),
        "full device mask": lambda: torch.ones(6, 4, dtype=torch.bool, device=device),
        "device mask without dimensions": lambda: on(True),
        "device mask and list": lambda: (on(mask), [0, 1, 2]),
        "slice up to device number": lambda: slice(None, on(2)),
        "slice between device numbers": lambda: slice(on(1), on(3)),
        "device range": lambda: torch.arange(3, device=device),
    }


def _values(device: str) -> dict[str, Callable[[torch.Tensor], Any]]:
    """Values to write where the indexing gives `picked`."""
    return {
        "number": lambda picked: 1.0,
        "integer": lambda picked: 0,
        "boolean": lambda picked: True,
        "host scalar": lambda picked: torch.tensor(1.0),
        "device scalar": lambda picked: torch.tensor(1.0, device=device),
        "device values": lambda picked: torch.ones_like(picked),
        "host values": lambda picked: torch.ones(picked.shape),
        "one host value": lambda picked: torch.ones(1),
        "one device value": lambda picked: torch.ones(1, device=device),
    }


def _write(target: torch.Tensor, index: Any, value: Any) -> None:
    target[index] = value


def programs(device: str) -> Iterator[Program]:
    def matrix() -> torch.Tensor:
        return torch.randn(6, 4, device=device)

    for name, index in _indices(device).items():
        yield probe(f"x[{name}]", lambda index=index: (matrix(), index()), lambda x, i: x[i])
        for value_name, value in _values(device).items():

            def inputs(index: Make = index, value: Callable[..., Any] = value) -> tuple[Any, ...]:
                target, where = matrix(), index()
                return target, where, value(target[where])

            yield probe(f"x[{name}] = {value_name}", inputs, _write)
    yield from _vectors(device)


def _vectors(device: str) -> Iterator[Program]:
    def vector() -> torch.Tensor:
        return torch.randn(8, device=device)

    def host() -> torch.Tensor:
        return torch.randn(8)

    def number() -> torch.Tensor:
        return torch.tensor(2, device=device)

    def scalar() -> torch.Tensor:
        return torch.tensor(2.0, device=device)

    yield probe("v[0]", vector, lambda x: x[0])
    yield probe("v[0] = number", vector, lambda x: _write(x, 0, 1.0))
    yield probe("v[0] = device scalar", lambda: (vector(), scalar()), lambda x, s: _write(x, 0, s))
    yield probe("v[0] += number", vector, lambda x: _write(x, 0, x[0] + 1))
    yield probe("v[device number] = number", lambda: (vector(), number()), lambda x, i: _write(x, i, 1.0))
    yield probe("v[:3] = number", vector, lambda x: _write(x, slice(0, 3), 1.0))
    yield probe("v[0:1] = number", vector, lambda x: _write(x, slice(0, 1), 1.0))
    yield probe("v[...] = number", vector, lambda x: _write(x, ..., 1.0))
    yield probe("v[..., 0] = number", vector, lambda x: _write(x, (..., 0), 1.0))
    yield probe("v[v > 0] += 1", vector, lambda x: _write(x, x > 0, x[x > 0] + 1))
    yield probe("v[v > 0] = number", vector, lambda x: _write(x, x > 0, 0.0))
    yield probe("0-d[()] = number", scalar, lambda x: _write(x, (), 1.0))
    yield probe("0-d[...] = number", scalar, lambda x: _write(x, ..., 1.0))
    yield probe("host[device number]", lambda: (host(), number()), lambda x, i: x[i])
    yield probe("host[:device number]", lambda: (host(), number()), lambda x, i: x[:i])
    yield probe("host[number]", host, lambda x: x[2])
    yield probe("host[list]", host, lambda x: x[[1, 2]])
    yield probe("host[host mask]", host, lambda x: x[x > 0])
    yield probe("host[0] = device scalar", lambda: (host(), scalar()), lambda x, s: _write(x, 0, s))
    yield probe("host[:] = device values", lambda: (host(), vector()), lambda x, v: _write(x, slice(None), v))
    yield probe("host[0] = number", host, lambda x: _write(x, 0, 1.0))
    yield probe("host[device number] = number", lambda: (host(), number()), lambda x, i: _write(x, i, 1.0))
    yield probe(
        "index_put_ device index, device value",
        lambda: (vector(), number()[None], scalar()[None]),
        lambda x, i, v: x.index_put_((i,), v),
    )
    yield probe(
        "index_put_ device index, host scalar",
        lambda: (vector(), number()[None], torch.tensor(1.0)),
        lambda x, i, v: x.index_put_((i,), v),
    )
    yield probe(
        "index_put_ mask, host scalar",
        lambda: (vector(), vector() > 0, torch.tensor(1.0)),
        lambda x, m, v: x.index_put_((m,), v),
    )
    yield probe(
        "index_put_ mask, device scalar",
        lambda: (vector(), vector() > 0, scalar()),
        lambda x, m, v: x.index_put_((m,), v),
    )
    yield probe(
        "index_put_ host index",
        lambda: (vector(), torch.tensor([1]), scalar()),
        lambda x, i, v: x.index_put_((i,), v),
    )
    yield probe(
        "index_put_ accumulate",
        lambda: (vector(), number()[None], scalar()[None]),
        lambda x, i, v: x.index_put_((i,), v, accumulate=True),
    )
    yield probe(
        "index_put_ mask accumulate, host scalar",
        lambda: (vector(), vector() > 0, torch.tensor(1.0)),
        lambda x, m, v: x.index_put_((m,), v, accumulate=True),
    )
    yield probe(
        "backward of x[mask]",
        lambda: (lambda x: x[x > 0].sum())(vector().requires_grad_()),
        lambda loss: loss.backward(),
    )
    yield probe(
        "backward of x[index]",
        lambda: (lambda x: x[number()[None]].sum())(vector().requires_grad_()),
        lambda loss: loss.backward(),
    )

"""Rare calls: averaged models, learning rates on the device, both sides of leaf operations."""

# mypy: disable-error-code="misc, no-untyped-call, no-any-return"
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from syncwatch.facts.measure.probes import Program, probe
from syncwatch.facts.measure.witness import Action


def programs(device: str) -> Iterator[Program]:
    for side, where in (("", device), (" host", "cpu")):
        yield from _everywhere(side, where)
        yield from _leaves(side, where)
    yield from _modules(device)
    yield from _ctc(device)


def _everywhere(side: str, where: str) -> Iterator[Program]:
    def square() -> torch.Tensor:
        return torch.eye(5, device=where) * 2

    def number() -> torch.Tensor:
        return torch.tensor(0.5, device=where)

    def vector() -> torch.Tensor:
        return torch.rand(12, device=where)

    def places() -> torch.Tensor:
        return torch.zeros(1, dtype=torch.long, device=where)

    for options in ({}, {"foreach": False}, {"momentum": 0.9}):
        shown = "".join(f", {key}={value}" for key, value in options.items())
        yield f"SGD(lr=tensor{shown}).step{side}", lambda options=options: _sgd(where, number(), options)
        yield f"SGD(lr=number{shown}).step{side}", lambda options=options: _sgd(where, 0.1, options)
    yield probe(f"masked_fill by a tensor{side}", lambda: (vector(), number()), lambda x, v: x.masked_fill(x > 0, v))
    yield probe(
        f"index_fill by a tensor{side}", lambda: (vector(), places(), number()), lambda x, i, v: x.index_fill(0, i, v)
    )
    yield probe(f"linspace to a tensor{side}", number, lambda n: torch.linspace(n, n, 4, device=where))
    yield probe(f"logspace to a tensor{side}", number, lambda n: torch.logspace(n, n, 4, device=where))
    yield probe(f"reshape{side}", vector, lambda x: torch.reshape(x, (3, 4)))
    yield probe(f"eig{side}", square, torch.linalg.eig)
    yield probe(f"inv_ex checked{side}", square, lambda a: torch.linalg.inv_ex(a, check_errors=True))
    yield probe(f"inv_ex{side}", square, torch.linalg.inv_ex)
    yield probe(f"cholesky_ex checked{side}", square, lambda a: torch.linalg.cholesky_ex(a, check_errors=True))
    yield probe(f"lu of squares{side}", square, torch.linalg.lu)
    yield probe(f"lu_factor_ex of squares{side}", square, torch.linalg.lu_factor_ex)
    yield probe(
        f"ctc_loss of one{side}",
        lambda: (torch.randn(9, 1, 5, device=where).log_softmax(2), torch.ones(1, 3, dtype=torch.long, device=where)),
        lambda x, y: F.ctc_loss(x, y, [9], [3]),
    )
    yield probe(
        f"BatchNorm1d momentum=None{side}",
        lambda: (nn.BatchNorm1d(4, momentum=None).to(where), torch.rand(3, 4, device=where)),
        lambda m, x: m(x),
    )
    yield probe(
        f"BatchNorm1d momentum=None, eval{side}",
        lambda: (nn.BatchNorm1d(4, momentum=None).to(where).eval(), torch.rand(3, 4, device=where)),
        lambda m, x: m(x),
    )
    yield probe(
        f"TransformerEncoder, padded, eval{side}",
        lambda: (
            nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, batch_first=True), 2).to(where).eval(),
            torch.rand(4, 10, 8, device=where),
            torch.zeros(4, 10, dtype=torch.bool, device=where),
        ),
        lambda m, x, k: m(x, src_key_padding_mask=k),
    )


def _leaves(side: str, where: str) -> Iterator[Program]:
    """Operations of the dispatcher that are composed of others, called by themselves."""
    aten = torch.ops.aten
    yield probe(f"one_hot by aten{side}", lambda: torch.arange(3, device=where), lambda x: aten.one_hot(x))
    yield probe(f"one_hot by aten, classes{side}", lambda: torch.arange(3, device=where), lambda x: aten.one_hot(x, 5))

    def padded() -> tuple[torch.Tensor, torch.Tensor]:
        return torch.rand(2, 3, 4, device=where), torch.tensor([[1, 1, 0], [1, 0, 0]], device=where) > 0

    yield probe(f"_nested_tensor_from_mask{side}", padded, lambda x, m: aten._nested_tensor_from_mask(x, m))
    yield probe(
        f"_nested_tensor_from_mask_left_aligned{side}",
        padded,
        lambda x, m: aten._nested_tensor_from_mask_left_aligned(x, m),
    )
    yield probe(f"allclose by aten{side}", lambda: torch.rand(3, device=where), lambda x: aten.allclose(x, x))
    yield probe(f"item by aten{side}", lambda: torch.rand((), device=where), lambda x: aten.item(x))
    yield probe(f"nonzero_numpy by aten{side}", lambda: torch.rand(3, device=where), lambda x: aten.nonzero_numpy(x))
    yield probe(f"argwhere by aten{side}", lambda: torch.rand(3, device=where), lambda x: aten.argwhere(x))
    yield probe(
        f"to_padded_tensor by aten{side}",
        lambda: torch.nested.nested_tensor([torch.rand(3, 2, device=where), torch.rand(4, 2, device=where)]),
        lambda x: aten.to_padded_tensor(x, 0.0),
    )


def _ctc(device: str) -> Iterator[Program]:
    """ctc_loss: where its targets and lengths may be, and what the cuDNN kernel asks for."""
    for shape in ("matrix", "concatenated"):
        for targets in ("device", "host"):
            for lengths in ("device", "host", "list"):
                for dtype in (torch.long, torch.int32):
                    yield probe(
                        f"ctc_loss, {shape}, targets: {targets}, lengths: {lengths}, {dtype}",
                        lambda s=shape, t=targets, n=lengths, d=dtype: _ctc_inputs(device, s, t, n, d),
                        F.ctc_loss,
                    )
    for name, options in {"blank last": {"blank": 19}, "zero_infinity": {"zero_infinity": True}}.items():
        yield probe(
            f"ctc_loss, {name}",
            lambda: _ctc_inputs(device, "concatenated", "host", "host", torch.int32),
            lambda x, y, n, m, options=options: F.ctc_loss(x, y, n, m, **options),
        )
    yield probe(
        "ctc_loss, short inputs",
        lambda: (*_ctc_inputs(device, "concatenated", "host", "list", torch.int32)[:2], [50, 40, 30, 20], [10] * 4),
        F.ctc_loss,
    )
    yield probe(
        "ctc_loss, deterministic cuDNN",
        lambda: _ctc_inputs(device, "concatenated", "host", "host", torch.int32),
        _deterministic_ctc,
    )
    yield probe(
        "CTCLoss, concatenated host targets",
        lambda: (nn.CTCLoss(), *_ctc_inputs(device, "concatenated", "host", "host", torch.int32)),
        lambda m, *inputs: m(*inputs),
    )
    yield probe(
        "ctc_loss backward",
        lambda: F.ctc_loss(
            torch.randn(50, 4, 20, device=device, requires_grad=True).log_softmax(2),
            *_ctc_inputs(device, "matrix", "device", "list", torch.long)[1:],
        ),
        lambda loss: loss.backward(),
    )


def _ctc_inputs(device: str, shape: str, targets: str, lengths: str, dtype: torch.dtype) -> tuple[Any, ...]:
    where = {"device": device, "host": "cpu"}
    labels = torch.randint(1, 19, (4, 10) if shape == "matrix" else (40,), device=where[targets], dtype=dtype)
    counts: tuple[Any, Any] = ([50] * 4, [10] * 4)
    if lengths != "list":
        counts = tuple(torch.tensor(count, device=where[lengths], dtype=dtype) for count in counts)
    return (torch.randn(50, 4, 20, device=device).log_softmax(2), labels, *counts)


def _deterministic_ctc(*inputs: Any) -> torch.Tensor:
    with torch.backends.cudnn.flags(enabled=True, deterministic=True):
        return F.ctc_loss(*inputs)


def _sgd(where: str, rate: Any, options: dict[str, Any]) -> Action:
    weights = [torch.rand(3, device=where, requires_grad=True) for _ in range(3)]
    optimizer = torch.optim.SGD(weights, lr=rate, **options)
    torch.stack(weights).sum().backward()
    optimizer.step()
    return lambda: optimizer.step()


def _modules(device: str) -> Iterator[Program]:
    def decoder() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
        made = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, batch_first=True), 1).to(device)
        mask = nn.Transformer.generate_square_subsequent_mask(10, device=device)
        return made, torch.rand(4, 10, 8, device=device), mask

    yield probe("TransformerDecoder, told", decoder, lambda m, x, k: m(x, x, tgt_mask=k, tgt_is_causal=True))
    yield probe("TransformerDecoder, no mask", decoder, lambda m, x, k: m(x, x))
    yield probe(
        "GradScaler.state_dict disabled", lambda: torch.amp.GradScaler(device, enabled=False), lambda s: s.state_dict()
    )
    averaged = torch.optim.swa_utils.AveragedModel

    def counter_on(where: str) -> tuple[Any, nn.Module]:
        model = nn.Linear(4, 4).to(device)
        average = averaged(model)
        if where != "cpu":
            average.to(where)
        average.update_parameters(model)
        return average, model

    yield probe("AveragedModel, counter on the host", lambda: counter_on("cpu"), lambda a, m: a.update_parameters(m))
    yield probe("AveragedModel, counter on the device", lambda: counter_on(device), lambda a, m: a.update_parameters(m))
    yield probe(
        "AveragedModel on the host",
        lambda: (lambda m: (averaged(m), m))(nn.Linear(4, 4)),
        lambda a, m: a.update_parameters(m),
    )

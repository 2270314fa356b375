"""Rare calls: averaged models, learning rates on the device, process groups of one, host sides of leaf operations."""

# mypy: disable-error-code="misc, no-untyped-call, no-any-return"
from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from syncwatch.facts.measure.probes import Program, probe
from syncwatch.facts.measure.witness import Action


def programs(device: str) -> Iterator[Program]:
    for side, where in (("", device), (" host", "cpu")):
        yield from _everywhere(side, where)
    yield from _modules(device)
    if torch.distributed.is_available() and device == "cuda":
        yield from _ranks(device)


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


def _ranks(device: str) -> Iterator[Program]:
    """A process group of one rank: what the host does is the same as in a large one."""
    distributed = torch.distributed

    def joined(setup: Callable[[], Any]) -> Callable[[], Any]:
        def make() -> Any:
            if not distributed.is_initialized():
                store = distributed.FileStore(tempfile.mktemp(), 1)
                distributed.init_process_group(
                    "nccl", store=store, rank=0, world_size=1, device_id=torch.device(device, 0)
                )
            return setup()

        return make

    def vector() -> torch.Tensor:
        return torch.rand(12, device=device)

    yield probe("barrier", joined(lambda: ()), lambda: distributed.barrier())
    yield probe("all_reduce", joined(vector), lambda x: distributed.all_reduce(x))
    yield probe("all_reduce async", joined(vector), lambda x: distributed.all_reduce(x, async_op=True))
    yield probe("all_reduce async, waited", joined(vector), lambda x: distributed.all_reduce(x, async_op=True).wait())
    yield probe("broadcast", joined(vector), lambda x: distributed.broadcast(x, 0))
    yield probe("all_gather", joined(lambda: (vector(), vector())), lambda x, y: distributed.all_gather([y], x))
    yield probe(
        "reduce_scatter_tensor",
        joined(lambda: (vector(), vector())),
        lambda x, y: distributed.reduce_scatter_tensor(y, x),
    )
    yield probe("all_gather_object", joined(lambda: ()), lambda: distributed.all_gather_object([None], {"a": 1}))
    yield probe("broadcast_object_list", joined(lambda: ()), lambda: distributed.broadcast_object_list([{"a": 1}], 0))
    yield probe("gather_object", joined(lambda: ()), lambda: distributed.gather_object({"a": 1}, [None], 0))

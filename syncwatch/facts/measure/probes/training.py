"""Optimizers, schedulers, clipping, scaling, anomaly mode."""

# mypy: disable-error-code="misc, no-untyped-call, no-any-return"
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from syncwatch.facts.measure.probes import Program, probe
from syncwatch.facts.measure.witness import Action

_OPTIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "SGD": ({}, {"momentum": 0.9}, {"fused": True}, {"foreach": False}, {"nesterov": True, "momentum": 0.9}),
    "Adam": ({}, {"fused": True}, {"foreach": False}, {"capturable": True}, {"amsgrad": True}),
    "AdamW": ({}, {"fused": True}, {"foreach": False}, {"capturable": True}),
    "RMSprop": ({}, {"foreach": False}, {"capturable": True}, {"centered": True, "momentum": 0.9}),
    "Adagrad": ({}, {"foreach": False}),
    "Adamax": ({}, {"foreach": False}, {"capturable": True}),
    "NAdam": ({}, {"foreach": False}, {"capturable": True}),
    "RAdam": ({}, {"foreach": False}, {"capturable": True}),
    "Rprop": ({}, {"foreach": False}, {"capturable": True}),
    "ASGD": ({}, {"foreach": False}, {"capturable": True}),
    "Adadelta": ({}, {"foreach": False}, {"capturable": True}),
    "Adafactor": ({}, {"foreach": False}),
    "LBFGS": ({}, {"line_search_fn": "strong_wolfe"}),
}


def _model(device: str) -> nn.Module:
    return nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4)).to(device)


def _stepped(device: str, name: str, options: dict[str, Any]) -> Action:
    model = _model(device)
    optimizer = getattr(torch.optim, name)(model.parameters(), lr=1e-3, **options)
    batch = torch.randn(8, 16, device=device)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(batch).square().sum()
        loss.backward()
        return loss

    closure()
    optimizer.step(closure)
    if name == "LBFGS":
        return lambda: optimizer.step(closure)
    return lambda: optimizer.step()


def _scaled(device: str, **options: Any) -> tuple[Any, Any]:
    model = _model(device)
    optimizer = torch.optim.AdamW(model.parameters(), **options)
    scaler = torch.amp.GradScaler(device)
    for _ in range(2):
        optimizer.zero_grad()
        scaler.scale(model(torch.randn(8, 16, device=device)).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    optimizer.zero_grad()
    scaler.scale(model(torch.randn(8, 16, device=device)).sum()).backward()
    return scaler, optimizer


def _with_gradients(device: str) -> nn.Module:
    model = _model(device)
    model(torch.randn(8, 16, device=device)).sum().backward()
    return model


def programs(device: str) -> Iterator[Program]:
    for side, where in (("", device), (" host", "cpu")):
        for name, variants in _OPTIONS.items():
            for options in variants:
                if where == "cpu" and options.get("capturable"):
                    continue
                shown = ", ".join(f"{key}={value}" for key, value in options.items())
                yield (
                    f"{name}({shown}).step{side}",
                    lambda n=name, o=options, w=where: _stepped(w, n, o),
                )
        for shown, options in (("", {}), (" error_if_nonfinite", {"error_if_nonfinite": True})):
            yield probe(
                f"clip_grad_norm_{shown}{side}",
                lambda w=where: _with_gradients(w),
                lambda m, o=options: nn.utils.clip_grad_norm_(m.parameters(), 1.0, **o),
            )
            yield probe(
                f"clip_grad_norm_ of a list{shown}{side}",
                lambda w=where: [list(_with_gradients(w).parameters())],
                lambda ps, o=options: nn.utils.clip_grad_norm_(ps[0], 1.0, **o),
            )
        yield probe(
            f"clip_grad_value_{side}",
            lambda w=where: _with_gradients(w),
            lambda m: nn.utils.clip_grad_value_(m.parameters(), 1.0),
        )
        yield probe(f"zero_grad{side}", lambda w=where: _with_gradients(w), lambda m: m.zero_grad())
        yield probe(
            f"backward{side}", lambda w=where: _model(w)(torch.ones(2, 16, device=w)).sum(), lambda x: x.backward()
        )
        yield probe(f"detect_anomaly{side}", lambda w=where: _model(w)(torch.ones(2, 16, device=w)).sum(), _anomaly)
        yield probe(
            f"detect_anomaly check_nan=False{side}",
            lambda w=where: _model(w)(torch.ones(2, 16, device=w)).sum(),
            _anomaly_unchecked,
        )
        yield probe(
            f"ReduceLROnPlateau.step{side}",
            lambda w=where: (_plateau(w), torch.tensor(1.0, device=w)),
            lambda s, loss: s.step(loss),
        )
        yield probe(
            f"checkpoint{side}",
            lambda w=where: torch.randn(4, 4, device=w, requires_grad=True),
            lambda x: torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False).sum().backward(),
        )
        yield probe(
            f"vector_to_parameters{side}",
            lambda w=where: _model(w),
            lambda m: nn.utils.vector_to_parameters(nn.utils.parameters_to_vector(m.parameters()), m.parameters()),
        )
    yield from _scalers(device)
    for name, make in _schedulers().items():
        yield probe(f"{name}.step", lambda make=make: make(_optimizer(device)), lambda s: s.step())


def _scalers(device: str) -> Iterator[Program]:
    yield probe("GradScaler.step", lambda: _scaled(device), lambda s, o: s.step(o))
    yield probe("GradScaler.step fused", lambda: _scaled(device, fused=True), lambda s, o: s.step(o))
    yield probe("GradScaler.unscale_", lambda: _scaled(device), lambda s, o: s.unscale_(o))

    def stepped() -> Any:
        scaler, optimizer = _scaled(device)
        scaler.step(optimizer)
        return scaler

    yield probe("GradScaler.update", stepped, lambda s: s.update())
    yield probe("GradScaler.update(number)", stepped, lambda s: s.update(2.0))
    yield probe("GradScaler.get_scale", stepped, lambda s: s.get_scale())
    yield probe("GradScaler.state_dict", stepped, lambda s: s.state_dict())
    yield probe("GradScaler.scale", stepped, lambda s: s.scale(torch.ones((), device=device)))

    def disabled() -> Any:
        return torch.amp.GradScaler(device, enabled=False), _optimizer(device)

    yield probe("GradScaler.step disabled", disabled, lambda s, o: s.step(o))
    yield probe("GradScaler.get_scale disabled", disabled, lambda s, o: s.get_scale())


def _optimizer(device: str) -> torch.optim.Optimizer:
    optimizer = torch.optim.SGD(_with_gradients(device).parameters(), lr=0.1)
    optimizer.step()
    return optimizer


def _plateau(device: str) -> Any:
    return torch.optim.lr_scheduler.ReduceLROnPlateau(_optimizer(device))


def _schedulers() -> dict[str, Callable[[torch.optim.Optimizer], Any]]:
    lr = torch.optim.lr_scheduler
    return {
        "StepLR": lambda o: lr.StepLR(o, 1),
        "LambdaLR": lambda o: lr.LambdaLR(o, lambda epoch: 0.9),
        "ExponentialLR": lambda o: lr.ExponentialLR(o, 0.9),
        "CosineAnnealingLR": lambda o: lr.CosineAnnealingLR(o, 10),
        "OneCycleLR": lambda o: lr.OneCycleLR(o, 0.1, total_steps=10),
        "LinearLR": lambda o: lr.LinearLR(o),
        "CosineAnnealingWarmRestarts": lambda o: lr.CosineAnnealingWarmRestarts(o, 3),
        "CyclicLR": lambda o: lr.CyclicLR(o, 0.01, 0.1),
    }


def _anomaly(loss: torch.Tensor) -> None:
    with torch.autograd.detect_anomaly():
        loss.backward()


def _anomaly_unchecked(loss: torch.Tensor) -> None:
    with torch.autograd.detect_anomaly(check_nan=False):
        loss.backward()

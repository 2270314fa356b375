"""Torch's own test inputs: the operator, module and optimizer databases of torch.testing."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import torch

from syncwatch.facts.measure.witness import Action, Maker

_DTYPES = (torch.float32, torch.complex64, torch.int64, torch.bool)


def operators(device: str, per_operator: int = 6) -> Iterator[tuple[str, Maker]]:
    """(name, maker) of the samples of op_db, in the first of the usual types that an operator supports, and in int64
    as well; and one sample each for its other names: the method, the form in place, the aliases.

    Raises ImportError where torch.testing lacks its requirements (the package expecttest)."""
    from torch.testing._internal.common_methods_invocations import op_db

    for op in op_db:
        supported = op.supported_dtypes(torch.device(device).type)
        chosen = [dtype for dtype in _DTYPES if dtype in supported][:1]
        if torch.int64 in supported and torch.int64 not in chosen:
            chosen.append(torch.int64)
        for number, dtype in enumerate(chosen):
            count = per_operator if number == 0 else 2
            name = f"{op.name} {str(dtype).removeprefix('torch.')}"
            try:
                inputs = list(
                    itertools.islice(op.sample_inputs(torch.device(device), dtype, requires_grad=False), count)
                )
            except Exception:  # some inputs need a library that this build lacks
                continue
            for sample in inputs:
                yield name, _bound(op.op, sample)
            if number == 0 and inputs:
                for form, function in _other_names(op):
                    yield f"{name} {form}", _bound(function, inputs[0])


def _other_names(op: Any) -> Iterator[tuple[str, Any]]:
    """Further functions that do the same."""
    forms = {
        "method": op.method_variant,
        "in place": op.inplace_variant,
        "operator": op.operator_variant,
        "operator in place": op.inplace_operator_variant,
    }
    yield from ((form, function) for form, function in forms.items() if function is not None)
    for alias in op.aliases:
        for form, function in (
            ("alias", alias.op),
            ("method of alias", alias.method_variant),
            ("alias in place", alias.inplace_variant),
        ):
            if function is not None:
                yield f"{form} {alias.name}", function


def _bound(function: Any, sample: Any) -> Maker:
    def make() -> Action:
        given = sample.input.clone() if isinstance(sample.input, torch.Tensor) else sample.input  # some write to it
        return lambda: function(given, *sample.args, **sample.kwargs)

    return make


def modules(device: str, per_module: int = 3) -> Iterator[tuple[str, Maker]]:
    """(name, maker) of the samples of module_db, in training and in evaluation mode."""
    from torch.testing._internal.common_modules import module_db

    for info in module_db:
        for training in (True, False):
            try:
                inputs = info.module_inputs_func(
                    info, device=torch.device(device), dtype=torch.float32, requires_grad=False, training=training
                )
                for given in itertools.islice(inputs, per_module):
                    if given.forward_input is None:
                        continue
                    module = info.module_cls(*given.constructor_input.args, **given.constructor_input.kwargs).to(device)
                    module.train(training)
                    yield f"{info.name} {'train' if training else 'eval'}", _called(module, given.forward_input)
            except Exception:
                continue


def _called(module: torch.nn.Module, given: Any) -> Maker:
    return lambda: lambda: module(*given.args, **given.kwargs)


def optimizers(device: str) -> Iterator[tuple[str, Maker]]:
    """(name, maker) of the samples of optim_db: a second step of each."""
    from torch.testing._internal.common_optimizers import optim_db

    for info in optim_db:
        for given in info.optim_inputs_func(device=torch.device(device)):
            yield f"{info.optim_cls.__name__} {given.desc}", _stepping(info.optim_cls, given.kwargs, device)


def _stepping(kind: type, options: dict[str, Any], device: str) -> Maker:
    def make() -> Action:
        parameters = [torch.nn.Parameter(torch.rand(4, 3, device=device)) for _ in range(3)]
        optimizer = kind(parameters, **options)

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            loss = sum((p.square().sum() for p in parameters), torch.zeros((), device=device))
            loss.backward()
            return loss

        closure()
        optimizer.step(closure)
        if kind is torch.optim.LBFGS:
            return lambda: optimizer.step(closure)
        return lambda: optimizer.step()

    return make


def seed() -> None:
    """Makes the samples the same each time."""
    random.seed(0)
    torch.manual_seed(0)

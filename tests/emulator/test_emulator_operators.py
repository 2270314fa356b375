"""torch's own sample inputs: an operator's result on the emulated device is that of the CPU."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_flatten, tree_map

pytest.importorskip("expecttest", reason="torch's sample inputs need it")
# The module asks what the machine has, once, when it is imported: before a device is emulated.
invocations = pytest.importorskip("torch.testing._internal.common_methods_invocations")

DTYPES = (torch.float32, torch.bool, torch.int64)
SAMPLES = 2  # for each operator and type

# Operators whose samples say something else here, each with the reason.
LEFT_OUT = {
    "to": "its samples name the CPU as target",
    "tensor_split": "its samples hold the split points on the device, which CUDA refuses too",
    "as_strided": "its samples reach beyond the view, into memory that a move leaves behind",
}


def to_device(value: Any) -> Any:
    return value.detach().to("cuda").requires_grad_(value.requires_grad) if isinstance(value, torch.Tensor) else value


def strided(values: Any) -> bool:
    return all(leaf.layout is torch.strided for leaf in tree_flatten(values)[0] if isinstance(leaf, torch.Tensor))


def samples(op: Any, dtype: torch.dtype, *, requires_grad: bool = False) -> Iterator[tuple[Any, Any]]:
    """Samples with the result of the CPU, those that it refuses left out."""
    torch.manual_seed(0)
    for sample in itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=requires_grad), SAMPLES):
        torch.manual_seed(1)
        try:
            expected = op(sample.input, *sample.args, **sample.kwargs)
        except (AssertionError, RuntimeError, ValueError, IndexError, TypeError):
            continue
        if strided((sample.input, sample.args, sample.kwargs, expected)):
            yield sample, expected


def on_device(op: Any, sample: Any) -> Any:
    moved = tree_map(to_device, (sample.input, sample.args, sample.kwargs))
    if "device" in moved[2]:
        moved[2]["device"] = "cuda"
    torch.manual_seed(1)
    return moved, op(moved[0], *moved[1], **moved[2])


def same(op: Any, expected: Any, found: Any) -> str:
    """What differs, "" if nothing."""
    for mine, theirs in zip(tree_flatten(found)[0], tree_flatten(expected)[0], strict=True):
        if not isinstance(theirs, torch.Tensor):
            if mine != theirs and theirs == theirs and not callable(theirs):
                return f"{mine} instead of {theirs}"
            continue
        if not mine.is_cuda:
            return "the result is not on the device"
        if (mine.shape, mine.stride(), mine.dtype) != (theirs.shape, theirs.stride(), theirs.dtype):
            return "shape, strides or type"
        if "empty" in op.name:
            continue
        try:
            torch.testing.assert_close(mine.detach().cpu(), theirs.detach(), equal_nan=True)
        except AssertionError:
            return "values"
    return ""


@pytest.mark.usefixtures("device")
def test_forward_of_every_operator():
    tried, failures = 0, []
    for op in invocations.op_db:
        if op.name in LEFT_OUT:
            continue
        for dtype in DTYPES:
            if dtype not in op.dtypes:
                continue
            for sample, expected in samples(op, dtype):
                tried += 1
                try:
                    wrong = same(op, expected, on_device(op, sample)[1])
                except Exception as error:  # counted, not raised: the share that passes is the result
                    wrong = f"{type(error).__name__}: {error}"
                if wrong:
                    failures.append(f"{op.name} {op.variant_test_name} {dtype}: {wrong[:200]}")
    assert tried > 2000
    assert len(failures) <= tried * 0.01, "\n".join(failures)


@pytest.mark.usefixtures("device")
def test_backward_of_a_sample_of_150_operators():
    ops = [
        op
        for op in invocations.op_db
        if op.supports_autograd and torch.float32 in op.dtypes and op.name not in LEFT_OUT
    ]
    tried, failures = 0, []
    for op in ops[:: max(1, len(ops) // 150)][:150]:
        for sample, expected in itertools.islice(samples(op, torch.float32, requires_grad=True), 1):
            leaves = [
                leaf for leaf in tree_flatten(expected)[0] if isinstance(leaf, torch.Tensor) and leaf.requires_grad
            ]
            if not leaves or not all(leaf.is_floating_point() for leaf in leaves):
                continue
            tried += 1
            try:
                moved, found = on_device(op, sample)
                mine = [
                    leaf for leaf in tree_flatten(found)[0] if isinstance(leaf, torch.Tensor) and leaf.requires_grad
                ]
                sources = _sources((sample.input, sample.args, sample.kwargs))
                targets = _sources(moved)
                plain = torch.autograd.grad([leaf.sum() for leaf in leaves], sources, allow_unused=True)
                emulated = torch.autograd.grad([leaf.sum() for leaf in mine], targets, allow_unused=True)
                for one, other in zip(emulated, plain, strict=True):
                    assert (one is None) == (other is None)
                    if one is not None:
                        torch.testing.assert_close(one.cpu(), other, equal_nan=True)
            except Exception as error:
                failures.append(f"{op.name} {op.variant_test_name}: {type(error).__name__}: {str(error)[:200]}")
    assert tried > 100
    assert len(failures) <= 1, "\n".join(failures)


def _sources(values: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_flatten(values)[0] if isinstance(leaf, torch.Tensor) and leaf.requires_grad]

"""Values are followed the way a reader follows them."""

from __future__ import annotations

HEAD = """
import torch
x = torch.rand(8, 4, device="cuda")
"""


def test_names_tuples_and_swaps(check):
    check(
        HEAD
        + """
h = torch.rand(3)
for step in range(3):
    a, b = h, x.sum()
    a.sum().item()
    b.item()  # sync
    a, b = b, a
    a.item()  # sync
    b.sum().item()
    first, *rest = (x.mean(), h, 2)
    float(first)  # sync
    float(rest[0].sum())
"""
    )


def test_lists_dicts_and_comprehensions(check):
    check(
        HEAD
        + """
for step in range(3):
    losses = {"a": x.mean(), "n": 3}
    losses["b"] = torch.zeros(())
    losses["n"] + 1
    float(losses["b"])
    losses["a"].item()  # sync
    logs = {k: float(v) for k, v in losses.items()}  # sync
    parts = [row.sum() for row in x]
    sum(parts)
    [p.item() for p in parts]  # sync
    kept = []
    kept.append(x.max())
    kept[-1].item()  # sync
    print(len(parts), len(kept))
"""
    )


def test_dataclasses_and_named_tuples(check):
    check(
        HEAD
        + """
from collections import namedtuple
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass
class Out:
    loss: torch.Tensor
    host: torch.Tensor = field(default_factory=lambda: torch.zeros(()))
    name: str = "out"


class Pair(NamedTuple):
    left: torch.Tensor
    right: int = 0


Point = namedtuple("Point", "u v")

for step in range(3):
    out = Out(x.mean())
    out.loss.item()  # sync
    out.host.item()
    pair = Pair(x.sum())
    left, right = pair
    left.item()  # sync
    point = Point(u=torch.zeros(1), v=x.min())
    point.u.item()
    point[1].item()  # sync
"""
    )


def test_attributes_across_methods_and_base_classes(check):
    check(
        HEAD
        + """
class Meter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.total = 0.0

    @property
    def mean(self):
        return self.total / 4


class Tracker(Meter):
    def update(self, value):
        self.total = self.total + value.detach()


tracker, counter = Tracker(), Meter()
for step in range(3):
    tracker.update(x.mean())
    float(tracker.mean)  # sync
    float(counter.mean)
"""
    )


def test_closures_defaults_partials_and_lambdas(check):
    check(
        HEAD
        + """
from functools import partial


def scaled(factor, value=x.mean()):
    return value * factor


def make():
    kept = x.max()

    def read():
        return kept.item()  # sync

    return read


half = partial(scaled, 0.5)
read = make()
norm = lambda t: t.norm()
for step in range(3):
    float(half())  # sync
    float(scaled(2.0, 3.0))
    read()
    norm(x).item()  # sync
    list(map(float, [x.sum(), 1.0]))  # sync
"""
    )


def test_star_arguments(check):
    check(
        HEAD
        + """
def first(*args, **kwargs):
    return args[0]


def named(*, loss, other):
    return loss, other


for step in range(3):
    first(x.sum(), 1).item()  # sync
    values = (torch.zeros(1), x.sum())
    first(*values).item()
    loss, other = named(**{"loss": x.mean(), "other": torch.ones(())})
    loss.item()  # sync
    other.item()
"""
    )


def test_decorators_keep_or_wrap(check):
    check(
        HEAD
        + """
import functools
from contextlib import contextmanager


def logged(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        result = f(*args, **kwargs)
        result.item()  # sync
        return result
    return wrapper


@logged
def loss():
    return x.mean()


@torch.no_grad()
def quiet():
    return x.mean()


@contextmanager
def using(t):
    yield t.sum()


for step in range(3):
    loss()
    float(quiet())  # sync
    with using(x) as total:
        total.item()  # sync
"""
    )


def test_generators_and_async(check):
    check(
        HEAD
        + """
import asyncio


def batches(n):
    for _ in range(n):
        yield x * 2, torch.ones(3)


def chained():
    yield from batches(2)


async def fetch():
    return x.mean()


async def main():
    for _ in range(3):
        value = await fetch()
        value.item()  # sync


for data, host in chained():
    data.sum().item()  # sync
    host.sum().item()
asyncio.run(main())
"""
    )


def test_methods_of_a_known_class_win_over_tensor_methods(check):
    check(
        HEAD
        + """
class Slot:
    def __init__(self, v):
        self.v = v

    def item(self):
        return self.v

    def cpu(self):
        return self


slot = Slot(3)
for step in range(3):
    slot.item()
    slot.cpu().item()
    {"a": 1}.items()
"""
    )


def test_dispatch_on_the_class_that_was_made(check):
    check(
        HEAD
        + """
class Base:
    def value(self):
        return 1.0

    def read(self):
        return float(self.value())  # sync


class Device(Base):
    def value(self):
        return x.mean()


objects = {"host": Base(), "device": Device()}
for step in range(3):
    objects["host"].read()
    objects["device"].read()
"""
    )


def test_across_modules_and_reexports(check):
    check(
        """
        import torch
        from pkg import Trainer, helper
        from pkg.tools import DEVICE as where

        trainer = Trainer(torch.rand(4, device=where))
        for step in range(3):
            trainer.step()
            helper(torch.rand(3, device=where))
            helper(torch.rand(3))
        """,
        **{
            "pkg/__init__": """
        from .loop import *
        from .tools import helper
        __all__ = ["Trainer", "helper"]
        """,
            "pkg/loop": """
        from . import tools

        class Trainer:
            def __init__(self, data):
                self.data = data

            def step(self):
                return tools.read(self.data)
        """,
            "pkg/tools": """
        import torch
        DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

        def read(t):
            return t.max().item()  # sync

        def helper(t):
            return t.sum().tolist()  # sync
        """,
        },
    )


def test_recursion_through_containers(check):
    check(
        """
        import torch

        def move(obj, device):
            if torch.is_tensor(obj):
                return obj.to(device)  # sync
            if isinstance(obj, dict):
                return {k: move(v, device) for k, v in obj.items()}
            if isinstance(obj, (list, tuple)):
                return type(obj)(move(v, device) for v in obj)
            return obj

        for step in range(3):
            batch = move({"x": torch.rand(3), "y": [torch.rand(2), 1]}, "cuda")
            batch["y"][0].sum().item()  # sync
            batch["y"][1] + 1
        """
    )


def test_enums_and_match(check):
    check(
        HEAD
        + """
from enum import Enum


class Mode(Enum):
    HOST = "host"
    DEVICE = "device"


def pick(mode):
    match mode:
        case Mode.HOST:
            return torch.zeros(())
        case Mode.DEVICE:
            return x.sum()


for step in range(3):
    pick(Mode.HOST).item()
    pick(Mode.DEVICE).item()  # sync
"""
    )


def test_named_tuples_with_a_field_replaced(check):
    check(
        """
        from typing import NamedTuple
        import torch

        class Batch(NamedTuple):
            x: torch.Tensor
            host: torch.Tensor

        for step in range(3):
            batch = Batch(torch.rand(3, device="cuda"), torch.rand(3))
            batch = batch._replace(x=batch.x * 2)
            batch.x.sum().item()  # sync
            batch.host.sum().item()
        """
    )


def test_host_data_on_the_default_device(check):
    check(
        """
        import torch

        torch.set_default_device("cuda")
        for step in range(3):
            torch.tensor([1.0, 2.0])  # sync
            torch.tensor([1.0, 2.0], device="cpu")
            torch.zeros(3)
        """
    )


def test_two_arguments_of_one_decision(check):
    """`clamp` waits for a number and a tensor together; here both bounds are numbers, or both are tensors."""
    check(
        """
        import sys
        import torch

        x = torch.rand(3, device="cuda")
        limit = torch.ones((), device="cuda") if len(sys.argv) > 1 else 0.5
        for step in range(3):
            x.clamp_(-limit, limit)
            x.clamp_(0.0, torch.ones((), device="cuda"))  # sync
        """
    )


def test_a_tensor_class_of_the_project_stays_silent(check):
    check(
        """
        import torch

        class Quantised(torch.nn.Parameter):
            pass

        for step in range(3):
            weight = Quantised(torch.rand(3))
            print(weight.shape[0], weight.device)
            torch.rand(3, device="cuda").sum().item()  # sync
        """
    )

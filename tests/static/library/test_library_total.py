"""Models are total: whatever they are called with, they return a value and raise nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from syncwatch.static.infer.machine import Interpreter
from syncwatch.static.library import load
from syncwatch.static.library.protocol import ATTRIBUTES, MODELS, LibCall
from syncwatch.static.outline import Outline
from syncwatch.static.values import (
    INT,
    ITEMS,
    NONE,
    REST,
    STR,
    UNKNOWN,
    Array,
    Device,
    Dtype,
    Host,
    Items,
    Iter,
    Lib,
    Obj,
    Range,
    Tensor,
    Tuple,
    Union,
    Value,
    const,
)

load()


class _NoProject:
    """Imports that lead to no module of a project."""

    clock = 0

    def find(self, name: str) -> None:
        return None

    def locate(self, name: str) -> None:
        return None

    def outline(self, path: str) -> Outline:
        raise AssertionError(path)


def odd_values() -> Iterator[Value]:
    """Values of every sort, known and unknown."""
    yield UNKNOWN
    yield NONE
    yield from (const(0), const(-1), const(2.5), const("cuda"), const("no device at all"), const(True))
    yield from (INT, STR, Host("number"), Host("torch.layout"))
    yield Tensor("cuda", shape=(), dtype="float", requires_grad=True)
    yield Tensor("cpu", shape=(2, 3), dtype="int", pinned=True, dense=True)
    yield Tensor(None)
    yield from (
        Array(),
        Array("numpy.generic", (), "float"),
        Device("cuda", 0),
        Dtype("float16"),
        Range(None),
        Range(3),
    )
    yield from (Tuple(()), Tuple(None, INT), Tuple((const(1), Tensor("cuda"))), Iter(None, UNKNOWN), Iter(()))
    held = Obj("list")
    held.slots[ITEMS] = Items(None, Tensor("cuda", shape=(3,)))
    yield held
    mapping = Obj("dict")
    mapping.slots[("key", "a")] = Tensor("cpu")
    mapping.slots[REST] = UNKNOWN
    yield mapping
    itself = Obj("list")
    itself.slots[ITEMS] = Items((itself,))
    yield itself
    yield from (Obj("torch.nn.Linear"), Obj("torch.nn.Sequential"), Obj("torch.optim.Adam", assumed=True))
    yield Obj("torch.utils.data.DataLoader")
    yield Obj("torch.distributions.Normal")
    yield from (Lib("torch.relu"), Lib("builtins.list"))
    yield Union((const(1), Tensor("cuda"), NONE))


def calls(name: str) -> Iterator[LibCall]:
    values = list(odd_values())
    yield LibCall(name)
    yield LibCall(name, has_star=True)
    for v in values:
        yield LibCall(name, (v,))
        yield LibCall(name, (values[11], v, v, v))
        yield LibCall(name, (), {}, v)
        yield LibCall(name, (v, v), {"dim": v, "device": v, "dtype": v, "keepdim": v, "out": v}, values[11])


@pytest.mark.parametrize("letter", sorted({name.rpartition(".")[2][:1] for name in MODELS}))
def test_models_take_anything(letter: str) -> None:
    m = Interpreter(_NoProject(), strict=True)
    faults: list[str] = []
    for name in sorted(MODELS):
        if name.rpartition(".")[2][:1] != letter or not MODELS[name].__module__.startswith("syncwatch.static.library"):
            continue
        for call in calls(name):
            try:
                result = MODELS[name](m, call)
            except Exception as fault:
                faults.append(f"{name}{call.args, dict(call.kwargs), call.self}: {type(fault).__name__}: {fault}")
            else:
                if result is None:
                    faults.append(f"{name}{call.args, call.self} gives None")
    assert not faults, faults[:20]


def test_attributes_of_anything() -> None:
    m = Interpreter(_NoProject(), strict=True)
    for name, attribute in ATTRIBUTES.items():
        if not attribute.__module__.startswith("syncwatch.static.library"):
            continue
        of_tensor = name.startswith("torch.Tensor.")
        for v in odd_values():
            if isinstance(v, Tensor) is of_tensor:
                assert attribute(m, v, name.rpartition(".")[2]) is not None, name

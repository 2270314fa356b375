"""What PyTorch's operations do to the host: one measured table that all engines read.

`predict(op, call)` is the one question; `by_name` and `by_leaf` look a row up. Nothing here imports torch, except the
measuring script (`python -m syncwatch.facts.measure`) and `observe`, which describes real arguments.
"""

from __future__ import annotations

from functools import cache

from syncwatch.facts.describe import Call, Prediction
from syncwatch.facts.ops import silent
from syncwatch.facts.table import Fact, Table, judge

__all__ = [
    "Call",
    "Fact",
    "Prediction",
    "by_leaf",
    "by_name",
    "canonical",
    "measured_on",
    "predict",
    "predict_leaf",
    "table",
]


@cache
def table() -> Table:
    """The table, read once."""
    from syncwatch.facts.ops import areas

    read = Table()
    for facts in areas():
        read.add(facts)
    return read


@cache
def by_name(name: str) -> Fact | None:
    """The row of a public operation (`torch.Tensor.item`), under any of its names; None where the table has none."""
    found = table().public.get(name) or silent.lookup(name)
    if found is None and name.startswith(("torch.ops.aten.", "torch._ops.aten.")):
        return by_leaf(name.replace("_ops.", "ops."))
    return found


@cache
def by_leaf(name: str) -> Fact | None:
    """The row of a dispatcher's operation, with or without overload: `aten.index_put_.default`, `aten::index_put_`.

    None where the table has none.
    """
    leaves = table().leaves
    plain = name.replace("::", ".").removeprefix("torch.ops.").removesuffix(".default")
    base = plain.rpartition(".")[0] if plain.count(".") > 1 else plain
    if base.startswith("aten._foreach_"):
        base = (
            "aten._foreach"  # lists of tensors, with host numbers or device tensors: all measured ones return at once
        )
    return leaves.get(plain) or leaves.get(base) or silent.lookup(base)


def canonical(name: str) -> str:
    """The first name of the operation's row, or `name` itself where the table does not know it."""
    fact = by_name(name)
    return name if fact is None else fact.name


def predict(op: str, call: Call) -> Prediction | None:
    """What the table says of one call of a public operation; None where it does not know the operation.

    Operations that Python syntax implies have the method's name: `torch.Tensor.__bool__`.
    """
    fact = by_name(op)
    return None if fact is None else judge(fact, op, call)


def measured_on(op: str) -> tuple[str, ...]:
    """The versions of torch on which the operation was measured, under any of its names. Raises BrokenFile.

    Reads `measured.json` at the first call; `Prediction.measured` is left empty by `predict`, which is called often.
    """
    from syncwatch.facts import store

    fact = by_name(op) or by_leaf(op)
    return store.measured_on(fact.names if fact is not None and op in fact.names else (op,))


def predict_leaf(op: str, call: Call) -> Prediction | None:
    """The same for an operation of the dispatcher (`aten.nonzero.default`); waits count per leaf."""
    fact = by_leaf(op)
    return None if fact is None else judge(fact, op, call)

"""The rows of the table, the binding of arguments, and the registry behind the look-ups."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from syncwatch.facts.conditions import Bound, Condition, Verdict, always, any_of
from syncwatch.facts.describe import Arg, Call, Prediction
from syncwatch.model import Kind

Waits: TypeAlias = "int | Callable[[Bound], int | None] | None"
ENQUEUES = "it only enqueues work"
Binder: TypeAlias = Callable[[Call], Bound]


class Case(msgspec.Struct, frozen=True):
    """One reason to wait. Several reasons can hold at once; then the waits add up and the first gives the kind.

    kind: None where the operation is known to return at once.
    silent: a hazard that does not stop the host (kind is given, blocks is False).
    reported: the sync debug mode warns of it. waits: None where the number depends on the data.
    """

    kind: Kind | None
    when: Condition
    waits: Waits = 1
    explicit: bool = False
    reported: bool = True
    instead: str = ""
    silent: bool = False


class Fact(msgspec.Struct, frozen=True):
    """What is known of one operation: its names (the first is the canonical one), parameters and reasons to wait.

    `leaf` is true of an operation of the dispatcher (`aten.nonzero`). `note` says what a reader should know.
    """

    names: tuple[str, ...]
    params: tuple[str, ...]
    cases: tuple[Case, ...]
    instead: str = ""
    note: str = ""
    binder: Binder | None = None
    leaf: bool = False

    @property
    def name(self) -> str:
        return self.names[0]

    def bind(self, call: Call) -> Bound:
        return self.binder(call) if self.binder is not None else bind(self.params, call)


def bind(params: tuple[str, ...], call: Call) -> Bound:
    """Gives the arguments the names of the parameters.

    A parameter written `size*` takes all remaining positional arguments, as one sequence unless it is one already.
    """
    values: dict[str, Arg] = {}
    rest = call.args
    for position, param in enumerate(params):
        if position >= len(rest):
            break
        if param.endswith("*"):
            taken = rest[position:]
            values[param[:-1]] = (
                taken[0] if len(taken) == 1 and taken[0].sort in ("sequence", "tuple") else Arg("sequence", items=taken)
            )
            break
        values[param] = rest[position]
    for name, value in call.kwargs.items():
        values[_SPELLINGS.get(name, name)] = value
    return Bound(values, not call.has_star)


_SPELLINGS = {"self": "input", "axis": "dim", "x": "input"}


class Table:
    """The registry: facts by public name and by leaf operation."""

    def __init__(self) -> None:
        self.public: dict[str, Fact] = {}
        self.leaves: dict[str, Fact] = {}

    def add(self, facts: Iterable[Fact]) -> None:
        """Raises ValueError where a name is entered twice."""
        for fact in facts:
            names = self.leaves if fact.leaf else self.public
            for name in fact.names:
                if name in names:
                    raise ValueError(f"the table holds {name} twice: in {names[name].name} and {fact.name}")
                names[name] = fact

    def __len__(self) -> int:
        return len({id(fact) for names in (self.public, self.leaves) for fact in names.values()})


def judge(fact: Fact, op: str, call: Call) -> Prediction:
    """What the fact says of one call."""
    if not fact.cases:
        return Prediction(op, False, waits=0, why=ENQUEUES)
    bound = fact.bind(call)
    verdicts = [(case, case.when(bound)) for case in fact.cases]
    blocking = [(case, verdict) for case, verdict in verdicts if not case.silent]
    blocks: Verdict = any_of(verdict for _, verdict in blocking)
    if blocks is False:
        hazard = next((case for case, verdict in verdicts if case.silent and verdict is not False), None)
        if hazard is not None:
            return Prediction(
                op, False, hazard.kind, 0, reported=False, why=hazard.when.words, instead=hazard.instead or fact.instead
            )
        return Prediction(op, False, waits=0, why=_contrary(fact))
    holding = [(case, verdict) for case, verdict in blocking if verdict is blocks]
    case = holding[0][0]
    waits: int | None = 0
    for other, verdict in blocking:
        if verdict is False:
            continue
        number = other.waits(bound) if callable(other.waits) else other.waits
        waits = None if verdict is None or number is None or waits is None else waits + number
    return Prediction(
        op,
        blocks,
        case.kind,
        waits,
        case.explicit,
        any(other.reported for other, _ in holding),
        _why([held for held, _ in holding]),
        case.instead or fact.instead,
    )


def _why(cases: list[Case]) -> str:
    return "; ".join(dict.fromkeys(case.when.words for case in cases))


def _contrary(fact: Fact) -> str:
    return "; ".join(dict.fromkeys(filter(None, (case.when.otherwise for case in fact.cases if not case.silent))))


# ------------------------------------------------------------------------------------------- writing rows


def both(*names: str) -> tuple[str, ...]:
    """`torch.NAME` and `torch.Tensor.NAME`: the function and the method are one operation."""
    return tuple(prefix + name for name in names for prefix in ("torch.", "torch.Tensor."))


def methods(*names: str) -> tuple[str, ...]:
    return tuple("torch.Tensor." + name for name in names)


def functions(*names: str) -> tuple[str, ...]:
    return tuple("torch." + name for name in names)


def functional(*names: str) -> tuple[str, ...]:
    return tuple("torch.nn.functional." + name for name in names)


def fact(
    names: Iterable[str],
    params: str,
    *cases: Case,
    instead: str = "",
    note: str = "",
    binder: Binder | None = None,
    leaf: bool = False,
) -> Fact:
    """One row. `params` lists the parameters in order, separated by spaces."""
    return Fact(tuple(names), tuple(params.split()), cases, instead, note, binder, leaf)


def leaf(names: str, params: str, *cases: Case, instead: str = "", note: str = "") -> Fact:
    """A row of the dispatcher's operations: names without `aten.`, separated by spaces."""
    return Fact(tuple(f"aten.{name}" for name in names.split()), tuple(params.split()), cases, instead, note, leaf=True)


def reads(when: Condition, **more: object) -> Case:
    return replace(Case(Kind.SCALAR_READ, when), **more)


def copies_out(when: Condition, **more: object) -> Case:
    return replace(Case(Kind.TENSOR_READ, when), **more)


def uploads(when: Condition, **more: object) -> Case:
    return replace(Case(Kind.UPLOAD, when), **more)


def sizes_by_data(when: Condition, **more: object) -> Case:
    return replace(Case(Kind.DYNAMIC_SHAPE, when), **more)


def solves(when: Condition, **more: object) -> Case:
    return replace(Case(Kind.SOLVER, when), **more)


__all__ = [
    "Case",
    "Fact",
    "Table",
    "always",
    "bind",
    "both",
    "copies_out",
    "fact",
    "functional",
    "functions",
    "judge",
    "leaf",
    "methods",
    "reads",
    "sizes_by_data",
    "solves",
    "uploads",
]

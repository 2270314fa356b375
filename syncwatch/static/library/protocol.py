"""How the interpreter and the models of libraries talk to each other.

A library name is met as `Lib("torch.zeros")`. When it is called, the interpreter first describes the call to the facts
(and records the event if it waits), and then asks the library for the abstract result:

1. `MODELS[name]`, the model of exactly that function, method or constructor;
2. for a class: a new `Obj` of that type, initialised by the first `MODELS[f"{base}.__init__"]` along `lineage(name)`;
3. for a method of an object of type T: the first `MODELS[f"{base}.{method}"]` along `lineage(T)`;
4. the default with the longest matching prefix in `DEFAULTS` ("torch.", "torch.Tensor.", "numpy.");
5. Unknown.

Names are canonical: the interpreter passes every dotted name through `canonical` first, which knows re-exports
("torch.optim.adam.Adam" → "torch.optim.Adam") and short paths ("np" is resolved by the import itself).

Special methods are models like others: "T.__call__" (calling an instance), "T.__enter__", "T.__iter__" (returns an
Iter), "T.__getitem__", "T.__len__", "T.__bool__". Attributes of library objects that are not slots are asked of
`ATTRIBUTES` along the lineage, then of the default for the prefix.

Models must be total: whatever the arguments are, they return a Value and raise nothing. An argument may be a Union; use
`members`, or `m.each` to map a function over its alternatives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol, TypeAlias

from syncwatch.static.values import UNKNOWN, Device, Iter, Obj, Value


@dataclass(frozen=True, slots=True)
class LibCall:
    """A call of a library function. Of a method, `self` is the receiver and `args` holds the rest.

    `has_star`: `*args` or `**kwargs` of unknown content were passed as well.
    """

    name: str
    args: tuple[Value, ...] = ()
    kwargs: Mapping[str, Value] = field(default_factory=dict)
    self: Value = None
    has_star: bool = False

    @property
    def receiver(self) -> Value:
        """The receiver of a method, Unknown for a function."""
        return UNKNOWN if self.self is None else self.self

    def arg(self, position: int | None, name: str | None = None, default: Value = None) -> Value:
        """The argument given by position (receiver not counted) or by name, else `default`."""
        if position is not None and position < len(self.args):
            return self.args[position]
        if name is not None and name in self.kwargs:
            return self.kwargs[name]
        return default


class Machine(Protocol):
    """What a model may ask of the interpreter. All positions are those of the call being interpreted."""

    def call(
        self,
        func: Value,
        args: Sequence[Value] = (),
        kwargs: Mapping[str, Value] | None = None,
        *,
        repeated: bool = False,
    ) -> Value:
        """Calls any callable value. repeated: the library calls it at every step (a training hook), so it is hot."""

    def method(
        self, value: Value, name: str, args: Sequence[Value] = (), kwargs: Mapping[str, Value] | None = None
    ) -> Value:
        """Calls `value.name(...)`; Unknown where there is no such method."""

    def getattr(self, value: Value, name: str) -> Value:
        """The attribute as Python finds it (slots, class, library attribute)."""

    def setattr(self, obj: Obj, name: object, value: Value, *, weak: bool = False) -> None:
        """Writes a slot. weak: the old value stays possible."""

    def new(self, type: object, /, **slots: Value) -> Obj:
        """A new object of a library type (dotted name) or Class, identified by the place of the call."""

    def part(self, name: object) -> AbstractContextManager[None]:
        """Objects made inside are told apart by `name`: for a model that makes several of one type in one call."""

    def list(self, items: Sequence[Value] | None, elem: Value = ...) -> Obj:
        """A new list: of these items, or of an unknown number of `elem`."""

    def dict(self, entries: Mapping[object, Value], rest: Value = None) -> Obj:
        """A new dict with Python constants as keys; `rest` is the join of entries under unknown keys."""

    def iterate(self, value: Value) -> Iter:
        """What iterating over the value yields (iterating a CUDA tensor gives its rows, a DataLoader its batches)."""

    def truth(self, value: Value) -> bool | None:
        """Whether a host value is true, None where unknown. Reports nothing."""

    def each(self, value: Value, function: Callable[[Value], Value]) -> Value:
        """The join of function(alternative) over the alternatives of a Union."""

    def isinstance(self, value: Value, type: str) -> bool | None:
        """Whether a value is of the library type (dotted name), None where unknown."""

    def default_device(self) -> Device:
        """Where factories without `device=` put tensors: cpu, unless set_default_device or `with torch.device` "
        "differs."""

    def set_default_device(self, value: Value) -> None:
        """Effect of torch.set_default_device."""

    def device_of(self, value: Value) -> Device | None:
        """What a `device=` argument names: from a Device, a str, an int, a Tensor or a module; None if it is None or no
        device. Unknown gives Device(None)."""

    def accelerator(self) -> Device:
        """The assumed device of code whose device is a parameter: Device("cuda", None, sure=False)."""

    def ask(
        self, op: str, args: Sequence[Value], kwargs: Mapping[str, Value] | None = None, *, via: str = "library"
    ) -> None:
        """Asks the facts about a further operation that the library does here, and records the event if it waits.
        Example: `m.ask("torch.Tensor.__float__", [metric])` for a scheduler that calls float(metrics)."""

    def format(self, value: Value, via: str) -> None:
        """The library turns the value into text now: asks about `__format__` or `__repr__` of all tensors inside it."""

    def mode(self, name: str) -> Value:
        """A mode of the process ("anomaly"), as `set_mode` left it at this point; None where it was never set."""

    def set_mode(self, name: str, value: Value) -> None:
        """Sets a mode of the process; branches that differ are joined."""

    def others_run(self) -> None:
        """Other tasks or threads run now: what is empty, and shared with them, may be filled."""

    def watched_layers(self) -> AbstractContextManager[Sequence[Value]]:
        """Collects the library modules that are called inside."""

    def waited(self) -> None:
        """The host has waited for the device: asynchronous copies so far are complete."""


Model: TypeAlias = Callable[[Machine, LibCall], Value]
Attribute: TypeAlias = Callable[[Machine, Value, str], Value]
Assumption: TypeAlias = Callable[[Machine, Obj, str], Value]

MODELS: dict[str, Model] = {}
DEFAULTS: dict[str, Model] = {}
ATTRIBUTES: dict[str, Attribute] = {}
ATTRIBUTE_DEFAULTS: dict[str, Attribute] = {}
ASSUMPTIONS: dict[str, Assumption] = {}
HOT: set[str] = set()
BASES: dict[str, tuple[str, ...]] = {}
ALIASES: dict[str, str] = {}
PREFIX_BASES: list[tuple[str, str]] = []
# prefix of names → (an argument, the mode that gives it where a call does not)
IMPLIED: dict[str, tuple[str, str]] = {}


def model(*names: str) -> Callable[[Model], Model]:
    """Registers the model of functions, methods or constructors by dotted name."""

    def register(function: Model) -> Model:
        for name in names:
            MODELS[name] = function
        return function

    return register


def default(*prefixes: str) -> Callable[[Model], Model]:
    """Registers what calls of all other names under a prefix return."""

    def register(function: Model) -> Model:
        for prefix in prefixes:
            DEFAULTS[prefix] = function
        return function

    return register


def attribute(*names: str) -> Callable[[Attribute], Attribute]:
    """Registers attributes ("torch.Tensor.shape"); "T.*" is the default for a type or a prefix."""

    def register(function: Attribute) -> Attribute:
        for name in names:
            if name.endswith(".*"):
                ATTRIBUTE_DEFAULTS[name[:-1]] = function
            else:
                ATTRIBUTES[name] = function
        return function

    return register


def assumes(*names: str, hot: bool = False) -> Callable[[Assumption], Assumption]:
    """Registers what a hook's arguments are when the library calls it.

    `names` are methods of library base classes ("lightning.LightningModule.training_step"); the function gets the
    object and a parameter's name. hot: the library calls the hook at every step.
    """

    def register(function: Assumption) -> Assumption:
        for name in names:
            ASSUMPTIONS[name] = function
            if hot:
                HOT.add(name)
        return function

    return register


def bases(**named: Sequence[str]) -> None:
    """Convenience for names without dots; most callers update BASES directly."""
    BASES.update({k: tuple(v) for k, v in named.items()})


@lru_cache(maxsize=50_000)
def canonical(name: str) -> str:
    """The public name of a library object, whatever path it was imported by."""
    known = ALIASES.get(name)
    if known is not None:
        return known
    head, dot, _ = name.rpartition(".")
    while dot:
        target = ALIASES.get(head)
        if target is not None:
            return f"{target}.{name[len(head) + 1 :]}"
        head, dot, _ = head.rpartition(".")
    return name


_LINEAGES: dict[str, tuple[str, ...]] = {}


def lineage(type: str) -> tuple[str, ...]:
    """The type and its base types, nearest first; the last is "object"."""
    known = _LINEAGES.get(type)
    if known is None:
        found: list[str] = []
        queue = [type]
        while queue:
            name = queue.pop(0)
            if name in found:
                continue
            found.append(name)
            direct = BASES.get(name)
            if direct is None:
                direct = tuple(
                    b for prefix, b in PREFIX_BASES if name.startswith(prefix) and name != b and _is_class(name)
                )
            queue.extend(direct)
        known = _LINEAGES[type] = (*found, "object")
    return known


def _is_class(name: str) -> bool:
    return name.rpartition(".")[2][:1].isupper()


def is_class(name: str) -> bool:
    """Whether a library name is a class: it has known bases, or looks like one."""
    return name in BASES or f"{name}.__init__" in MODELS or (_is_class(name) and not name.rpartition(".")[2].isupper())


def find(table: Mapping[str, object], type: str, member: str) -> object | None:
    """The first entry f"{base}.{member}" along the lineage of `type`."""
    for base in lineage(type):
        entry = table.get(f"{base}.{member}")
        if entry is not None:
            return entry
    return None


def by_prefix(table: Mapping[str, object], name: str) -> object | None:
    """The entry with the longest prefix of `name` (prefixes end in a dot)."""
    key = (id(table), name)
    if key not in _PREFIXES:
        if len(_PREFIXES) >= 50_000:
            _PREFIXES.clear()
        _PREFIXES[key] = _longest(table, name)
    return _PREFIXES[key]


_PREFIXES: dict[tuple[int, str], object | None] = {}  # by the table's id: the tables live as long as the process


def forget() -> None:
    """Drops what was looked up before all models were there."""
    canonical.cache_clear()
    _PREFIXES.clear()


def _longest(table: Mapping[str, object], name: str) -> object | None:
    head = name
    while True:
        head, dot, _ = head.rpartition(".")
        if not dot:
            return None
        entry = table.get(head + ".")
        if entry is not None:
            return entry

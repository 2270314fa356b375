"""The mutable state of an abstract execution: scopes, frames, and the journal that undoes and joins branches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from syncwatch.static.ir import Pos
from syncwatch.static.values import NONE, Value, join

ABSENT: Final = None  # a slot never holds None, so None says "not bound"

# What a stretch of execution wrote: (id of slots, key) → (slots, key, value at its end, value before it)
Delta: TypeAlias = "dict[tuple[int, Any], tuple[dict[Any, Value], Any, Value, Value]]"


class Journal:
    """Every write to anything that outlives a branch, so that the branch can be undone."""

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: list[tuple[dict[Any, Value], Any, Value]] = []

    def write(self, slots: dict[Any, Value], key: Any, value: Value) -> None:
        old = slots.get(key)
        if old is value:
            return
        self.entries.append((slots, key, old))
        slots[key] = value

    def delete(self, slots: dict[Any, Value], key: Any) -> None:
        if key in slots:
            self.entries.append((slots, key, slots[key]))
            del slots[key]

    def mark(self) -> int:
        return len(self.entries)

    def delta(self, mark: int) -> Delta:
        """What was written since `mark`, with final and original values."""
        result: Delta = {}
        for slots, key, old in self.entries[mark:]:
            where = (id(slots), key)
            if where not in result:
                result[where] = (slots, key, slots.get(key), old)
        return result

    def undo(self, mark: int) -> None:
        entries = self.entries
        while len(entries) > mark:
            slots, key, old = entries.pop()
            if old is ABSENT:
                slots.pop(key, None)
            else:
                slots[key] = old

    def apply(self, delta: Delta) -> None:
        for slots, key, value, _ in delta.values():
            if value is ABSENT:
                self.delete(slots, key)
            else:
                self.write(slots, key, value)

    def merge(self, deltas: Sequence[Delta]) -> bool:
        """Writes the join of several continuations of the present state; an empty delta is the state itself.

        Returns whether anything differs from the present state.
        """
        if len(deltas) == 1:
            self.apply(deltas[0])
            return bool(deltas[0])
        changed = False
        keys: dict[tuple[int, Any], tuple[dict[Any, Value], Any]] = {}
        for delta in deltas:
            for where, (slots, key, _, _) in delta.items():
                keys[where] = (slots, key)
        for where, (slots, key) in keys.items():
            base = slots.get(key)
            joined: Value = None
            for delta in deltas:
                entry = delta.get(where)
                value = base if entry is None else entry[2]
                if value is not None:
                    joined = value if joined is None else join(joined, value)
            if joined is None:
                self.delete(slots, key)
            elif joined is not base and joined != base:
                changed = True
                self.write(slots, key, joined)
        return changed


class Scope:
    """Variables of a function activation; `parent` is the scope that encloses the function's definition."""

    __slots__ = ("parent", "slots")

    def __init__(self, parent: Scope | None = None) -> None:
        self.slots: dict[Any, Value] = {}
        self.parent = parent


class Loop:
    """An enclosing loop: where its body began, and the states of `break` and `continue`."""

    __slots__ = ("breaks", "continues", "mark", "start")

    def __init__(self, mark: int) -> None:
        self.start = mark  # where the loop began
        self.mark = mark  # where the present turn began
        self.breaks: list[Delta] = []
        self.continues: list[Delta] = []


class Frame:
    """One activation of a function, a class body or a module body."""

    __slots__ = (
        "after_batches",
        "allocs",
        "class_slots",
        "func",
        "globals",
        "guarded",
        "heat",
        "loops",
        "mark",
        "module",
        "nonlocals",
        "on_yield",
        "owner",
        "pos",
        "qualname",
        "receiver",
        "result",
        "returns",
        "scope",
        "setup",
        "turn",
        "yields",
        "yields_known",
    )

    def __init__(self, module: Any, scope: Scope | None, qualname: str, mark: int) -> None:
        self.module = module
        self.scope = scope
        self.qualname = qualname
        self.mark = mark
        self.func: Any = None
        self.receiver: Value = None
        self.class_slots: dict[Any, Value] | None = None
        self.globals: frozenset[str] = frozenset()
        self.nonlocals: frozenset[str] = frozenset()
        self.result: Value = None
        self.returns: list[Delta] = []
        self.loops: list[Loop] = []
        self.yields: list[Value] = []
        self.yields_known = True
        self.pos: Pos = (0, 0, 0, 0)
        self.allocs: dict[Any, Any] = {}
        self.turn: tuple[Any, ...] = ()
        self.heat = "setup"
        self.guarded = ""  # "", "rank", "periodic" or "other", as heat.guard_kind says
        self.after_batches = False
        self.setup = False
        self.owner: Any = None
        self.on_yield: Any = None  # what runs at a `yield`: the body of the `with` that the generator manages

    def returned(self, value: Value, state: Delta) -> None:
        """Notes a `return` and the state that it leaves behind."""
        self.result = value if self.result is None else join(self.result, value)
        self.returns.append(state)

    def value(self, falls_through: bool) -> Value:
        """What a call of the function gives."""
        if falls_through:
            return NONE if self.result is None else join(self.result, NONE)
        return self.result

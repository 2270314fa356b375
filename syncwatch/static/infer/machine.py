"""The interpreter: its state, and what models of libraries may ask of it (`library.protocol.Machine`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from syncwatch.static import ir
from syncwatch.static.infer import events, text
from syncwatch.static.infer.configured import Configured
from syncwatch.static.infer.imports import BEGINNING, Imports
from syncwatch.static.infer.state import Frame, Journal, Scope
from syncwatch.static.options import Options
from syncwatch.static.values import (
    FALSE,
    ITEMS,
    REST,
    TRUE,
    UNKNOWN,
    Class,
    Const,
    Device,
    Func,
    Items,
    Iter,
    Module,
    Obj,
    Tensor,
    Tuple,
    Union,
    Value,
    join,
    join_all,
    members,
)

_NO_KWARGS: Mapping[str, Value] = {}
CPU = Device("cpu")
ACCELERATOR = Device("cuda", None, sure=False)


class OutOfSteps(Exception):
    """The budget of the present root is spent; what was found so far stands."""


class Made(NamedTuple):
    """Where an object was made."""

    module: Any
    qualname: str
    pos: ir.Pos
    heat: str
    guarded: Any
    node: Any


class Interpreter:
    """Executes the intermediate form over abstract values.

    strict: faults of the interpreter itself are raised (tests) instead of making the construct unknown.
    """

    def __init__(self, imports: Imports, *, strict: bool = False) -> None:
        self.imports = imports
        self.find = imports.find
        self.strict = strict
        self.journal = Journal()
        self.recorder = events.Recorder()
        self.frame = Frame(Module("", "", None), None, "", 0)
        self.stack: list[Any] = []  # nodes of the functions being executed
        self.steps = 0
        self.limit = 1 << 60
        self.muted = 0
        self.probing = False  # the first event ends the execution
        self.unsure = 0
        self.reached: set[int] = set()  # ids of function nodes that were executed
        self.calls: dict[int, int] = {}  # executions per function node under the present root
        self.results: dict[int, Value] = {}  # what the last call of a function gave, by its node
        self.world: dict[Any, Value] = {"device": CPU, "waits": Const("int", 1)}
        self.faults: list[str] = []
        self.loop_depth = 0
        self.root_key = ""  # the path of the root, relative to the project
        self.in_program = True  # what runs now is reached from the root's own body
        self.preparing = False  # the function entered prepares data
        self.clock = BEGINNING
        self.oldest = 1 << 60  # the oldest object that the present call read or wrote
        self.asked = 0  # events so far, recorded or not
        self.ran: list[tuple[int, int]] = []  # functions executed so far, by node id, and how often
        self.memo: dict[Any, Any] = {}  # calls that depend on their arguments alone → functions.Known
        self.made: dict[int, Made] = {}  # where loaders were made, by id
        self.assumed: dict[int, Obj] = {}  # class → its assumed instance
        self.layers: list[Value] | None = None  # modules of libraries called so far, while somebody watches
        self.hot_names: frozenset[str] = frozenset()
        self.device_names: frozenset[str] = frozenset()
        self.configured = Configured(Options())
        self.names_devices = False  # whether the configuration names devices at all

    # ------------------------------------------------------------------ evaluation

    def eval(self, node: Any) -> Value:
        """The abstract value of an expression."""
        self.steps += 1
        if self.steps > self.limit:
            raise OutOfSteps
        return _EVAL[type(node)](self, node)

    def exec_block(self, block: ir.Block) -> bool:
        """Executes statements; False where control never reaches the end."""
        frame = self.frame
        guarded = frame.guarded
        for statement in block:
            self.steps += 1
            if self.steps > self.limit:
                raise OutOfSteps
            try:
                falls = _EXEC[type(statement)](self, statement)
            except (OutOfSteps, RecursionError):
                raise
            except Exception as fault:
                if self.strict:
                    raise
                self.faults.append(f"{self.frame.module.path}:{statement.pos[0]}: {type(fault).__name__}: {fault}")
                continue
            if not falls:
                frame.guarded = guarded
                return False
        frame.guarded = guarded
        return True

    # ------------------------------------------------------------------ variables

    def load(self, name: str) -> Value:
        """The value of a variable: class body, function scopes, module, builtins."""
        frame = self.frame
        if frame.class_slots is not None:
            value = frame.class_slots.get(name)
            if value is not None:
                return value
        scope = frame.scope
        if name in frame.globals:
            scope = None
        while scope is not None:
            value = scope.slots.get(name)
            if value is not None:
                return value
            scope = scope.parent
        module = frame.module
        value = module.slots.get(name)
        if value is not None:
            return value
        if name in module.pending:
            from syncwatch.static.infer.modules import fetch

            return fetch(self, module, name)
        return builtin(name)

    def store(self, name: str, value: Value) -> None:
        """Assigns a variable of the present frame."""
        self.journal.write(self.slots_for(name), name, value)

    def slots_for(self, name: str) -> dict[Any, Value]:
        """Where an assignment to `name` goes."""
        frame = self.frame
        if name in frame.globals:
            slots: dict[Any, Value] = frame.module.slots
            return slots
        if name in frame.nonlocals and frame.scope is not None:
            scope = frame.scope.parent
            while scope is not None:
                if name in scope.slots:
                    return scope.slots
                scope = scope.parent
        if frame.class_slots is not None:
            return frame.class_slots
        if frame.scope is not None:
            return frame.scope.slots
        globals_: dict[Any, Value] = frame.module.slots
        return globals_

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A scope of its own for a comprehension."""
        frame = self.frame
        outer = frame.scope
        class_slots = frame.class_slots
        inner = Scope(outer)
        if class_slots is not None:
            inner.slots.update(class_slots)
            frame.class_slots = None
        frame.scope = inner
        try:
            yield
        finally:
            frame.scope = outer
            frame.class_slots = class_slots

    # ------------------------------------------------------------------ branches

    def alternatives(self, runs: Sequence[Callable[[], Value]]) -> Value:
        """Runs several continuations from the present state and joins states and values."""
        if len(runs) == 1:
            return runs[0]()
        result: Value = None
        deltas = []
        mark = self.journal.mark()
        for run in runs:
            value = run()
            deltas.append(self.journal.delta(mark))
            self.journal.undo(mark)
            if value is not None:
                result = value if result is None else join(result, value)
        self.journal.merge(deltas)
        return UNKNOWN if result is None else result

    # ------------------------------------------------------------------ the machine that models see

    def call(
        self,
        func: Value,
        args: Sequence[Value] = (),
        kwargs: Mapping[str, Value] | None = None,
        *,
        repeated: bool = False,
    ) -> Value:
        from syncwatch.static.infer.calls import call

        frame = self.frame
        if not repeated:
            return call(self, func, tuple(args), kwargs or _NO_KWARGS)
        heat, guarded, setup = frame.heat, frame.guarded, frame.setup
        frame.heat, frame.setup = "step", False
        try:
            return call(self, func, tuple(args), kwargs or _NO_KWARGS)
        finally:
            frame.heat, frame.guarded, frame.setup = heat, guarded, setup

    def method(
        self, value: Value, name: str, args: Sequence[Value] = (), kwargs: Mapping[str, Value] | None = None
    ) -> Value:
        return self.call(self.getattr(value, name), args, kwargs)

    def getattr(self, value: Value, name: str) -> Value:
        from syncwatch.static.infer.attributes import get_attr

        return get_attr(self, value, name)

    def setattr(self, obj: Obj, name: object, value: Value, *, weak: bool = False) -> None:
        if weak:
            value = join(obj.slots.get(name), value)
        if obj.born < self.oldest:
            self.oldest = obj.born
        self.journal.write(obj.slots, name, value)

    def new(self, type: object, /, **slots: Value) -> Obj:
        obj = self.allocate(type)
        for name, value in slots.items():
            self.journal.write(obj.slots, name, value)
        return obj

    def allocate(self, type: object) -> Obj:
        """The object made at the present place: the same one whenever this activation comes by again."""
        frame = self.frame
        key = (frame.pos, frame.turn, type if isinstance(type, str) else id(type))
        obj = frame.allocs.get(key)
        if obj is None:
            obj = frame.allocs[key] = Obj(type)
            obj.born = self.clock
        else:
            obj.born = self.clock
            obj.many = True
            for name in list(obj.slots):
                self.journal.delete(obj.slots, name)
        if frame.heat == "step":
            obj.label = "step"
        return obj

    @contextmanager
    def part(self, name: object) -> Iterator[None]:
        """Objects made inside are told apart by `name`."""
        frame = self.frame
        turn = frame.turn
        frame.turn = (*turn, name)
        try:
            yield
        finally:
            frame.turn = turn

    def list(self, items: Sequence[Value] | None, elem: Value = UNKNOWN) -> Obj:
        return self.new_items("list", None if items is None else tuple(items), elem)

    def new_items(self, type: str, items: tuple[Value, ...] | None, elem: Value = UNKNOWN) -> Obj:
        """A list, set or deque with these contents."""
        obj = self.allocate(type)
        self.journal.write(obj.slots, ITEMS, Items(items, elem))
        return obj

    def dict(self, entries: Mapping[object, Value], rest: Value = None) -> Obj:
        obj = self.allocate("dict")
        for key, value in entries.items():
            self.journal.write(obj.slots, ("key", key), value)
        if rest is not None:
            self.journal.write(obj.slots, REST, rest)
        return obj

    def iterate(self, value: Value) -> Iter:
        from syncwatch.static.infer.iteration import iterate

        return iterate(self, value)

    def truth(self, value: Value) -> bool | None:
        from syncwatch.static.infer.truth import truth

        return truth(self, value)

    def each(self, value: Value, function: Callable[[Value], Value]) -> Value:
        if type(value) is not Union:
            return function(value)
        return join_all([function(v) for v in value.members])

    def isinstance(self, value: Value, type: str) -> bool | None:
        from syncwatch.static.infer.types import is_instance_of

        verdicts = {is_instance_of(v, type) for v in members(value)}
        return verdicts.pop() if len(verdicts) == 1 else None

    def default_device(self) -> Device:
        found = self.world["device"]
        if found is not CPU:
            self.oldest = 0
        return found if isinstance(found, Device) else Device(None)

    def set_default_device(self, value: Value) -> None:
        self.oldest = 0
        self.journal.write(self.world, "device", self.device_of(value) or CPU)

    def device_of(self, value: Value) -> Device | None:
        from syncwatch.static.infer.types import device_of

        return device_of(self, value)

    def accelerator(self) -> Device:
        return ACCELERATOR

    def mode(self, name: str) -> Value:
        return self.world.get(name)

    def set_mode(self, name: str, value: Value) -> None:
        self.oldest = 0
        self.journal.write(self.world, name, value)

    def ask(
        self, op: str, args: Sequence[Value], kwargs: Mapping[str, Value] | None = None, *, via: str = "library"
    ) -> None:
        events.ask(self, (op,), args, kwargs or _NO_KWARGS, via=via)

    def implicit(self, op: str, value: Value, via: str, node: Any = None) -> None:
        """Asks about an operation that syntax or a builtin implies, for each CUDA tensor among the alternatives."""
        for v in members(value):
            if type(v) is Tensor and (v.device == "cuda" or v.pending):
                pos = getattr(node, "pos", None)
                with self.doubting(type(value) is Union):
                    events.ask(self, (op,), (v,), _NO_KWARGS, via=via, node=node, pos=pos)

    @contextmanager
    def doubting(self, doubt: bool) -> Iterator[None]:
        """Events inside are likely at most."""
        self.unsure += doubt
        try:
            yield
        finally:
            self.unsure -= doubt

    def format(self, value: Value, via: str) -> None:
        from syncwatch.static.infer.formatting import format_value

        format_value(self, value, via)

    @property
    def waits(self) -> int:
        """How often the host has waited so far, counted from 1; 0 where branches differ."""
        count = self.world["waits"]
        return count.value if type(count) is Const else 0

    def worked(self, name: str) -> None:
        """The device has work that the host has not waited for."""
        if self.world.get("since clock") is not TRUE:
            self.journal.write(self.world, "since clock", TRUE)
        if self.world.get("unfinished") is not TRUE:
            self.journal.write(self.world, "unfinished", TRUE)

    @contextmanager
    def watched_layers(self) -> Iterator[Sequence[Value]]:
        """See `Machine.watched_layers`."""
        outer, self.layers = self.layers, []
        yield self.layers
        if outer is not None:
            outer.extend(self.layers)
        self.layers = outer

    @contextmanager
    def standing_at(self, made: Made) -> Iterator[None]:
        """Events inside belong to another place."""
        outer = self.frame
        frame = Frame(made.module, None, made.qualname, 0)
        frame.pos, frame.heat, frame.guarded = made.pos, made.heat, made.guarded
        self.frame = frame
        try:
            yield
        finally:
            self.frame = outer

    def waited(self) -> None:
        self.oldest = 0
        self.journal.write(self.world, "unfinished", FALSE)
        self.journal.write(self.world, "waited since clock", TRUE)
        count = self.world["waits"]
        self.journal.write(self.world, "waits", Const("int", count.value + 1 if isinstance(count, Const) else 1))

    def others_run(self) -> None:
        frame = self.frame
        owners = [frame.module.slots]
        if type(frame.receiver) is Obj:
            owners.append(frame.receiver.slots)
        for slots in owners:
            for held in list(slots.values()):
                if type(held) is Obj and held.slots.get(ITEMS) == Items(()):
                    self.oldest = min(self.oldest, held.born)
                    self.journal.write(held.slots, ITEMS, Items(None, UNKNOWN))

    # ------------------------------------------------------------------ short hands

    def tuple(self, *items: Value) -> Tuple:
        return Tuple(items)

    def text(self, node: Any) -> str:
        return text.source_text(node)


def builtin(name: str) -> Value:
    """A name of the builtins module, Unknown for any other."""
    known = _BUILTINS.get(name)
    return UNKNOWN if known is None else known


def _builtins() -> dict[str, Value]:
    import builtins

    from syncwatch.static.values import FALSE, NONE, TRUE, Lib

    names: dict[str, Value] = {name: Lib(f"builtins.{name}") for name in dir(builtins) if not name.startswith("_")}
    names |= {"None": NONE, "True": TRUE, "False": FALSE, "__name__": Const("str", "__main__")}
    return names


_BUILTINS = _builtins()
_EVAL: dict[type, Callable[[Interpreter, Any], Value]] = {}
_EXEC: dict[type, Callable[[Interpreter, Any], bool]] = {}


def evaluates(kind: type) -> Callable[[Callable[[Interpreter, Any], Value]], Callable[[Interpreter, Any], Value]]:
    """Registers the evaluation of a kind of expression."""

    def register(function: Callable[[Interpreter, Any], Value]) -> Callable[[Interpreter, Any], Value]:
        _EVAL[kind] = function
        return function

    return register


def executes(kind: type) -> Callable[[Callable[[Interpreter, Any], bool]], Callable[[Interpreter, Any], bool]]:
    """Registers the execution of a kind of statement."""

    def register(function: Callable[[Interpreter, Any], bool]) -> Callable[[Interpreter, Any], bool]:
        _EXEC[kind] = function
        return function

    return register


__all__ = ["ACCELERATOR", "CPU", "Class", "Func", "Interpreter", "OutOfSteps", "builtin", "evaluates", "executes"]

"""Roots: executes a file as a program, then enters what the program did not reach."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from syncwatch.model import Event, Heat, Kind
from syncwatch.static import ir, library
from syncwatch.static.infer import assumptions, functions, heat, instances
from syncwatch.static.infer import modules as imports
from syncwatch.static.infer.configured import Configured
from syncwatch.static.infer.machine import Interpreter, OutOfSteps
from syncwatch.static.infer.state import Frame
from syncwatch.static.infer.types import class_attr, class_library_types
from syncwatch.static.library import modules
from syncwatch.static.outline import Outline, is_program
from syncwatch.static.values import (
    NONE,
    UNKNOWN,
    Bound,
    Class,
    Const,
    Func,
    Module,
    Obj,
    Tuple,
    Value,
    members,
)

if TYPE_CHECKING:
    from syncwatch.static.project import Project

_MAIN_STEPS = 250_000
_ENTRY_STEPS = 8_000  # of a hot function
_COLD_STEPS = 1_500  # of any other that holds a loop, and of making an assumed instance
_PLAIN_STEPS = 600  # of what holds no loop, so that only what it calls could run at every step
_LINE_STEPS = 25  # of a whole file, per line, on top of _FILE_STEPS
_FILE_STEPS = 20_000
_DEPTH_OF_CALLERS = 3  # calls between an inherited method and the one that a class overrides
_TEST_STEPS = 15_000


@dataclass
class Result:
    """What inference with one file as root found. `dependencies`: the files of the project that it read."""

    events: list[Event] = field(default_factory=list)
    dependencies: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    steps: int = 0


def infer_root(project: Project, path: str, *, strict: bool = False) -> Result:
    """Infers the events of a program that starts with the file `path`.

    Raises nothing for what it does not understand; strict makes faults of the interpreter itself raise.
    """
    library.load()
    form = project.module(path)
    if form is None:
        return Result()
    finder = _Finder(project)
    m = Interpreter(finder, strict=strict)
    finder.machine = m
    options = project.options
    m.hot_names = frozenset(options.hot)
    m.device_names = frozenset(options.device_names)
    m.configured = Configured(options)
    m.names_devices = bool(options.device_names)
    m.root_key = project.key(path)
    m.memo = project.shared.setdefault("memo", {})
    is_test = project.is_test(path)
    main = _run(m, finder, path, form, _TEST_STEPS if is_test else _MAIN_STEPS)
    m.in_program = False
    if not is_test:
        _enter_rest(m, main)
    m.journal.undo(0)
    finder.seen.add(path)
    events = list(m.recorder.events.values())
    if is_test:
        events = [msgspec.structs.replace(e, heat=Heat.SETUP) for e in events if e.kind is not Kind.DEFAULT_DEVICE]
    return Result(events, finder.seen, m.faults, m.steps)


def _run(m: Interpreter, finder: _Finder, path: str, form: ir.Module, steps: int) -> Module:
    """Executes the root as a program; the module that it leaves behind.

    Where that cannot make the host wait, it is what an import would give, and shared with all that import it.
    """
    shared = finder.module(path)
    program = is_program(form)
    if shared.state == "new" and not program:
        imports.probe(m, shared, steps)
    if shared.state == "done" and shared.quiet and not program:
        imports.run_module(m, shared)
        m.reached |= shared.reached
        finder.note(path)
        m.frame = Frame(shared, None, "", m.journal.mark())
        return shared
    main = Module(finder.project.name_of(path), path, form, path.endswith("__init__.py"))
    main.slots["__name__"] = Const("str", "__main__")
    main.slots["__file__"] = Const("str", path)
    main.state = "running"
    imports.note_late(m, main)
    m.frame = Frame(main, None, "", 0)
    m.limit = m.steps + steps
    _guarded_run(m, lambda: m.exec_block(form.body))
    return main


class _Finder:
    """Resolves imports to modules that all roots share."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.machine: Interpreter | None = None
        self.seen: set[str] = set()
        self.modules: dict[str, Module] = project.shared.setdefault("modules", {})
        # which files a module read when it was first imported
        self.needs: dict[str, set[str]] = project.shared.setdefault("needs", {})

    @property
    def clock(self) -> int:
        clock: int = self.project.shared.get("clock", 0)
        return clock

    @clock.setter
    def clock(self, value: int) -> None:
        self.project.shared["clock"] = value

    def locate(self, name: str) -> str | None:
        return self.project.find(name, self._importer())

    def outline(self, path: str) -> Outline:
        self.note(path)
        self.needs.setdefault(self._importer(), set()).add(path)
        return self.project.outline(path)

    def find(self, name: str) -> Module | None:
        path = self.locate(name)
        if path is None:
            return None
        self.needs.setdefault(self._importer(), set()).add(path)
        self.note(path)
        return self.module(path)

    def module(self, path: str) -> Module:
        """The module of a file, shared by all that import it."""
        module = self.modules.get(path)
        if module is None:
            form = self.project.module(path)
            module = Module(self.project.name_of(path), path, form, path.endswith("__init__.py"))
            if form is None:
                module.state = "done"
            self.modules[path] = module
        return module

    def note(self, path: str) -> None:
        """The root depends on a file, and on all that was read when it was imported."""
        stack = [path]
        while stack:
            p = stack.pop()
            if p not in self.seen:
                self.seen.add(p)
                stack.extend(self.needs.get(p, ()))

    def _importer(self) -> str:
        return self.machine.frame.module.path if self.machine is not None else ""


def _guarded_run(m: Interpreter, run: Any) -> None:
    """Runs a root; running out of steps or of stack ends it, and what was found stands."""
    frame = m.frame
    try:
        run()
    except (OutOfSteps, RecursionError):
        m.frame = frame
        m.stack.clear()
        m.unsure = m.loop_depth = 0
        frame.loops.clear()
    except Exception as fault:
        if m.strict:
            raise
        m.frame = frame
        m.stack.clear()
        m.unsure = m.loop_depth = 0
        m.faults.append(f"{frame.module.path}: {type(fault).__name__}: {fault}")


def _enter_rest(m: Interpreter, main: Module) -> None:
    """Enters every function and method of the file that was not executed yet, the hot ones first."""
    work = list(_functions(main))
    called = {name for func, _ in work for name in heat.called_names(func.node.body)}
    passed = {name for func, _ in work for name in heat.passed_names(func.node.body)}

    def rank(entry: tuple[Func, Class | None]) -> int:
        """The hot ones first; helpers that others of the file call after them, if they are still to be seen."""
        name = entry[0].name
        return 0 if m.configured.hot(entry[0]) or heat.is_hot_name(m, name) else 1 if name not in called else 2

    work.sort(key=rank)
    end = m.steps + _FILE_STEPS + _LINE_STEPS * main.ir.lines
    for func, cls in work:
        if m.steps > end:
            break
        if id(func.node) in m.reached or "overload" in func.decorated:
            continue
        private = cls is None and func.name.startswith("_") and not heat.is_hot_name(m, func.name)
        if private and not func.node.decorators and func.name not in passed:
            continue  # a private function is seen where it is called, with the arguments that it gets there
        if cls is not None and not heat.is_hot_name(m, func.name):
            for caller in _callers_in_bases(cls, func.name):
                _enter(m, main, caller, cls)
            if id(func.node) in m.reached:
                continue
        _enter(m, main, func, cls)


def _callers_in_bases(cls: Class, name: str) -> list[Func]:
    """The outermost public methods that a class inherits and that come to the method `name`, which it overrides.

    They say what it is called with better than its own annotations do.
    """
    bases = [b for b in cls.mro if type(b) is Class and b is not cls]
    if not any(name in b.slots for b in bases):
        return []
    inherited = (f for b in bases for f in b.slots.values())
    methods: list[Func] = [f for f in inherited if isinstance(f, Func) and id(class_attr(cls, f.name)) == id(f)]
    names = {name}
    found: dict[int, Func] = {}
    for _ in range(_DEPTH_OF_CALLERS):
        for f in methods:
            if id(f.node) not in found and f.name not in names and names & heat.called_names(f.node.body):
                found[id(f.node)] = f
                names = names | {f.name}
    inner = {n for f in found.values() for n in heat.called_names(f.node.body)}
    return [f for f in found.values() if not f.name.startswith("_") and f.name not in inner]


def _functions(main: Module) -> Iterator[tuple[Func, Class | None]]:
    for value in list(main.slots.values()):
        func = _plain(main, value)
        if func is not None:
            if func.module is main:
                yield func, None
        elif type(value) is Class and value.module is main:
            yield from _methods(value)


def _methods(cls: Class, depth: int = 0) -> Iterator[tuple[Func, Class | None]]:
    for value in list(cls.slots.values()):
        func = _plain(cls.module, value)
        if func is None and type(value) is Obj and value.type == "property":
            func = _plain(cls.module, value.slots.get("fget"))
        if func is not None:
            if func.module is cls.module:
                yield func, cls
        elif type(value) is Class and depth < 2 and value.module is cls.module:
            yield from _methods(value, depth + 1)


def _plain(module: Module, value: Value) -> Func | None:
    """The function behind a value: of a decorator's wrapper, which takes any arguments, the one that it wraps."""
    if type(value) is Bound:
        value = value.func
    if type(value) is not Func:
        return None
    return module.wrapped[id(value)][1] if id(value) in module.wrapped else value


def _enter(m: Interpreter, main: Module, func: Func, cls: Class | None) -> None:
    """Executes a function with assumed arguments."""
    frame = Frame(main, None, "", m.journal.mark())
    frame.heat = "setup"
    m.frame = frame
    m.calls.clear()
    m.limit = 1 << 60
    m.preparing = assumptions.may_stay_on_host(m.root_key, func, cls)
    receiver: Value = None
    args: list[Value] = []
    params = list(func.node.params)
    # assumed instances are made before the mark, so that all entries share them
    if cls is not None and "staticmethod" not in func.decorated and params:
        receiver = cls if "classmethod" in func.decorated else assumed_instance(m, cls)
        args.append(receiver)
        params = params[1:]
    for p in params:
        _prepare(m, p.annotation)
    base = m.journal.mark()

    def run() -> None:
        m.limit = m.steps + _ENTRY_STEPS
        m.frame.pos = func.node.pos
        kwargs: dict[str, Value] = {}
        for p in params:
            if p.kind == "*":
                args.append(_Rest(p))
            elif p.kind == "**":
                continue
            else:
                kwargs[p.name] = assumptions.of_parameter(m, func, cls, p, receiver)
        frame.heat = _entry_heat(m, func, cls, kwargs)
        if frame.heat == "setup":
            m.limit = m.steps + (_COLD_STEPS if heat.holds_loop(func.node.body) else _PLAIN_STEPS)
        frame.setup = frame.heat == "setup" and (
            heat.is_setup_name(func.name) or (cls is not None and _PREPARES.search(cls.name) is not None)
        )
        positional = [a for a in args if type(a) is not _Rest]
        functions.call_function(m, func, tuple(positional), kwargs, star=False, receiver=receiver)

    _guarded_run(m, run)
    m.journal.undo(base)


# Files whose functions look at results or make other files, and are no part of a step.
_ASIDE = re.compile(
    r"(^|/)(\w*plot\w*|\w*visuali\w*|exports?|exporters?|benchmarks?|convert\w*|profil\w*|jupyter\w*|scripts|tools)(/|\.py$)"
)
# Classes whose methods drive loops or are called once for a whole result.
_DRIVER = re.compile(
    r"Pipeline|Step$|Blocks?$|Pipe$|Runner$|App$|Sampler$|Mixin$|Loader$|Manager$|Downloader$|Model$|Solution$|Builder$|Factory$|"
    r"(Image|Video|Audio)\w*Processor$"
)
# Those among them that make ready, once, what the steps use.
_PREPARES = re.compile(r"Prepare|SetTimesteps|Input(Step|Block)s?$|Builder$|Factory$")
_STORED = re.compile(r"state_dict|checkpoint|weights?$|^sd$|^ckpt")


class _Rest:
    """`*args` of an entered function: nothing is known of it."""

    def __init__(self, param: ir.Param) -> None:
        self.param = param


def _entry_heat(m: Interpreter, func: Func, cls: Class | None, kwargs: dict[str, Value]) -> str:
    name = func.name
    if m.configured.hot(func):
        return "step"
    if _ASIDE.search(m.root_key) or heat.is_setup_name(name):
        return "setup"
    is_module = cls is not None and "torch.nn.Module" in class_library_types(cls)
    if cls is not None and not is_module and _DRIVER.search(cls.name):
        # it drives a loop of its own, or is called once for a whole result
        drives = _PREPARES.search(cls.name) or not heat.is_hot_name(m, name) or name == "__call__"
        return "setup" if drives else "step"
    if heat.is_hot_name(m, name):
        return "epoch" if heat.holds_batch_loop(func.node.body) else "step"
    if any(_tensor_inside(v) for k, v in kwargs.items() if not _STORED.search(k)):
        return "step"
    return "setup"


def _tensor_inside(v: Value) -> bool:
    from syncwatch.static.infer.readings import cuda_inside

    return any(type(x).__name__ != "Device" and cuda_inside(x) for x in members(v))


def _prepare(m: Interpreter, annotation: Any) -> None:
    """Makes assumed instances of the project's classes that an annotation names."""
    stack = [annotation]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is ir.Sub:
            stack += [node.index] if type(node.index) is not ir.Seq else list(node.index.items)
        elif kind is ir.Binary:
            stack += [node.left, node.right]
        elif kind in (ir.Name, ir.Attr):
            value = assumptions._lookup(m, node)
            if type(value) is Class:
                assumed_instance(m, value)


def assumed_instance(m: Interpreter, cls: Class) -> Obj:
    """An instance of a class of the project made with assumed arguments; a module is on the accelerator."""
    known = m.assumed.get(id(cls))
    if known is not None:
        return known
    obj = Obj(cls, assumed=True)
    m.assumed[id(cls)] = obj
    if "enum" in cls.traits or "protocol" in cls.traits:
        return obj
    limit, m.limit = m.limit, m.steps + _COLD_STEPS
    outer = m.frame
    m.frame = Frame(outer.module, None, "", m.journal.mark())
    m.frame.setup = True
    m.frame.pos = cls.node.pos if cls.node is not None else (0, 0, 0, 0)
    m.muted += 1
    depth = list(m.stack)
    try:
        init = class_attr(cls, "__init__")
        kwargs: dict[str, Value] = {}
        if type(init) is Func:
            for p in init.node.params[1:]:
                if p.kind not in ("*", "**"):
                    kwargs[p.name] = assumptions.of_parameter(m, init, cls, p, obj)
        elif "dataclass" in cls.traits or "namedtuple" in cls.traits:
            for name, annotation in instances.fields_of(cls).items():
                kwargs[name] = assumptions.of_annotation(m, annotation, name)
        try:
            instances.initialise(m, obj, cls, (), kwargs, star=False)
            assumptions.forget_set_up(m, obj, cls)
        finally:
            # what was made of it until the steps ran out is on the accelerator too
            if "torch.nn.Module" in class_library_types(cls):
                # past an override of `to`, which may do more than move
                modules.move(m, obj, m.accelerator())
    except (OutOfSteps, RecursionError):
        pass
    except Exception as fault:
        if m.strict:
            raise
        m.faults.append(f"{cls.qualname}: {type(fault).__name__}: {fault}")
    finally:
        m.stack = depth
        m.muted -= 1
        m.frame = outer
        m.limit = limit
    return obj


__all__ = ["NONE", "UNKNOWN", "Result", "Tuple", "infer_root"]

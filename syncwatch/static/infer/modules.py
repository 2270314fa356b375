"""Imports: modules of the project run once, when something of them is needed; everything else is a library name."""

from __future__ import annotations

from syncwatch.static import ir
from syncwatch.static.infer.imports import BEGINNING
from syncwatch.static.infer.machine import Interpreter, OutOfSteps
from syncwatch.static.infer.state import Frame
from syncwatch.static.library.protocol import canonical
from syncwatch.static.outline import late_imports
from syncwatch.static.values import ITEMS, REST, UNION_LIMIT, UNKNOWN, Const, Items, Lib, Module, Obj, Value

_IMPORT_STEPS = 300_000
_EMPTY = Items(())


def run_module(m: Interpreter, module: Module) -> None:
    """Executes a module's body, once. Its effects are permanent, whatever branch imported it.

    Events inside are not recorded: the module is checked as a root of its own.
    """
    if module.state == "new" and module.ir is not None:
        m.muted += 1
        try:
            execute(m, module, _IMPORT_STEPS)
        finally:
            m.muted -= 1
    if module.device is not None:
        m.journal.write(m.world, "device", module.device)


def probe(m: Interpreter, module: Module, steps: int) -> None:
    """Executes the body of a module as an import would, but gives up, and leaves it as new, where it may wait."""
    execute(m, module, steps, probing=True)
    if not module.quiet:
        module.state = "new"
        module.slots.clear()
        module.pending.clear()


def execute(m: Interpreter, module: Module, steps: int, *, probing: bool = False) -> None:
    """Executes the body of a module that other modules may hold on to; fills in what is known of it afterwards."""
    module.state = "running"
    module.slots["__name__"] = Const("str", module.name)
    module.slots["__file__"] = Const("str", module.path)
    note_late(m, module)
    caller, world = m.frame, dict(m.world)
    mark = m.journal.mark()
    m.frame = Frame(module, None, "", mark)
    started, limit = m.steps, m.limit
    m.limit = m.steps + steps
    stack, m.stack = m.stack, []
    calls, m.calls, ran = m.calls, {}, len(m.ran)
    reached, m.reached = m.reached, set()
    asked, oldest = m.asked, m.oldest
    outer, m.probing = m.probing, probing
    program, m.in_program = m.in_program, True  # loops count as in a program, so that `quiet` holds for one
    depth, m.loop_depth, unsure, m.unsure = m.loop_depth, 0, m.unsure, 0
    clock, m.clock = m.clock, m.imports.clock if m.clock >= BEGINNING else m.clock
    try:
        m.exec_block(module.ir.body)
        module.quiet = m.asked == asked
    except (OutOfSteps, RecursionError):
        pass
    finally:
        module.state = "done"
        module.reached = frozenset(m.reached)
        if m.world["device"] != world["device"]:
            module.device = m.world["device"]
        _open_empty(module)
        m.probing, m.in_program, m.loop_depth, m.unsure = outer, program, depth, unsure
        m.stack, m.calls, m.reached, m.asked, m.oldest, m.frame = stack, calls, reached, asked, oldest, caller
        del m.ran[ran:]
        m.steps, m.limit = started, limit  # an import is not charged to the root that happens to need it first
        del m.journal.entries[mark:]
        m.world.clear()
        m.world.update(world)
        m.imports.clock = m.clock
        if clock >= BEGINNING:
            m.clock = clock


def _open_empty(module: Module) -> None:
    """What is empty when its module has been imported is there to be filled by others."""
    for value in module.slots.values():
        if type(value) is Obj and type(value.type) is str:
            if value.type == "dict" and not value.slots:
                value.slots[REST] = UNKNOWN
            elif value.slots.get(ITEMS) == _EMPTY:
                value.slots[ITEMS] = Items(None, UNKNOWN)


def note_late(m: Interpreter, module: Module) -> None:
    """Notes the imports that may be carried out when one of their names is asked for (see `outline`).

    An import that may register something is carried out at once, but not where a module has more of them than a union
    keeps apart: what is registered there is not told apart anyway.
    """
    inner = m.frame
    m.frame = Frame(module, None, "", m.journal.mark())
    own = [(s, path) for s in late_imports(module.ir) for path in [m.imports.locate("." * s.level + s.module)] if path]
    m.frame = inner
    many = len(own) > UNION_LIMIT
    module.late = frozenset(id(s) for s, path in own if many or not m.imports.outline(path).registers)


def fetch(m: Interpreter, module: Module, name: str) -> Value:
    """Carries out an import that was put off; the name is bound for good."""
    dotted, member = module.pending.pop(name)
    outer, m.frame = m.frame, Frame(module, None, "", m.journal.mark())
    m.frame.setup = True
    m.muted += 1
    try:
        source = m.find(dotted)
        if source is not None:
            run_module(m, source)
        value = _member(m, source, dotted, member)
        inner = m.find(f".{name}") if value is UNKNOWN and module.is_package else None
        if inner is not None:  # modules of a package that import one another through it
            run_module(m, inner)
            value = inner
    finally:
        m.muted -= 1
        m.frame = outer
    module.slots[name] = value
    return value


def import_module(m: Interpreter, name: str, alias: str) -> None:
    """`import a.b.c [as alias]`."""
    parts = name.split(".")
    found: list[Module | None] = []
    for i in range(len(parts)):
        module = m.find(".".join(parts[: i + 1]))
        if module is not None:
            run_module(m, module)
        found.append(module)
    for i in range(1, len(parts)):
        outer, inner = found[i - 1], found[i]
        if outer is not None and inner is not None:
            outer.slots.setdefault(parts[i], inner)
    if alias:
        m.store(alias, _value(found[-1], name))
    else:
        m.store(parts[0], _value(found[0], parts[0]))


def _value(module: Module | None, name: str) -> Value:
    return module if module is not None else Lib(canonical(name))


def import_from(m: Interpreter, s: ir.ImportFrom) -> None:
    """`from ..a import b as c`."""
    dotted = "." * s.level + s.module
    if id(s) in m.frame.module.late and _put_off(m, m.frame.module, s, dotted):
        return
    module = m.find(dotted)
    if module is not None:
        run_module(m, module)
    for name, alias in s.names:
        if name == "*":
            if module is not None:
                _import_star(m, module)
            continue
        m.store(alias or name, _member(m, module, dotted, name))


def _put_off(m: Interpreter, module: Module, s: ir.ImportFrom, dotted: str) -> bool:
    """Binds the names of an import when they are asked for; False where its names are not known."""
    for name, alias in s.names:
        if name != "*":
            module.pending[alias or name] = (dotted, name)
            continue
        path = m.imports.locate(dotted)
        exports = m.imports.outline(path).exports if path else None
        if exports is None:
            return False
        for exported in exports:
            module.slots.pop(exported, None)
            module.pending[exported] = (dotted, exported)
    return True


def _import_star(m: Interpreter, module: Module) -> None:
    exported = module.slots.get("__all__")
    names = None
    if exported is not None:
        inner = m.iterate(exported)
        if inner.items is not None:
            names = [x.value for x in inner.items if type(x) is Const]
    for key in [*module.slots, *module.pending]:
        if isinstance(key, str) and (key in names if names is not None else not key.startswith("_")):
            m.store(key, _member(m, module, module.name, key))
    for name in names or ():
        if name not in module.slots:
            m.store(name, _member(m, module, module.name, name))


def _member(m: Interpreter, module: Module | None, dotted: str, name: str) -> Value:
    if module is not None:
        value = module.slots.get(name)
        if value is not None:
            return value
        if name in module.pending:
            return fetch(m, module, name)
        sub = m.find(f"{dotted}{name}" if dotted.endswith(".") else f"{dotted}.{name}")
        if sub is not None:
            run_module(m, sub)
            return sub
        getter = module.slots.get("__getattr__")
        if getter is not None:
            return m.call(getter, (Const("str", name),))
        return UNKNOWN
    if dotted.startswith("."):
        return UNKNOWN
    from syncwatch.static.infer.attributes import get_attr

    return get_attr(m, Lib(canonical(dotted)), name)

"""Imports: modules of the project run once, everything else is a library name."""

from __future__ import annotations

from syncwatch.static import ir
from syncwatch.static.infer.machine import Interpreter, OutOfSteps
from syncwatch.static.infer.state import Frame
from syncwatch.static.library.protocol import canonical
from syncwatch.static.values import UNKNOWN, Const, Lib, Module, Value

_IMPORT_STEPS = 300_000


def run_module(m: Interpreter, module: Module, name: str | None = None) -> None:
    """Executes a module's body, once. Its effects are permanent, whatever branch imported it.

    Events inside are not recorded: the module is checked as a root of its own.
    """
    if module.state != "new" or module.ir is None:
        return
    module.state = "running"
    module.slots["__name__"] = Const("str", name or module.name)
    module.slots["__file__"] = Const("str", module.path)
    caller, limit = m.frame, m.limit
    mark = m.journal.mark()
    m.frame = Frame(module, None, "", mark)
    m.frame.setup = True
    m.muted += 1
    m.limit = m.steps + _IMPORT_STEPS
    stack, m.stack = m.stack, []
    calls, m.calls, ran = m.calls, {}, len(m.ran)
    try:
        m.exec_block(module.ir.body)
    except (OutOfSteps, RecursionError):
        pass
    finally:
        m.stack = stack
        m.calls = calls
        del m.ran[ran:]
        m.muted -= 1
        # an import is not charged to the root that happens to need it first
        m.limit = limit + (m.steps - (m.limit - _IMPORT_STEPS))
        m.frame = caller
        module.state = "done"
        del m.journal.entries[mark:]


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
    module = m.find(dotted)
    if module is not None:
        run_module(m, module)
    for name, alias in s.names:
        if name == "*":
            if module is not None:
                _import_star(m, module)
            continue
        m.store(alias or name, _member(m, module, dotted, name))


def _import_star(m: Interpreter, module: Module) -> None:
    exported = module.slots.get("__all__")
    names = None
    if exported is not None:
        inner = m.iterate(exported)
        if inner.items is not None:
            names = [x.value for x in inner.items if type(x) is Const]
    for key, value in list(module.slots.items()):
        if isinstance(key, str) and (key in names if names is not None else not key.startswith("_")):
            m.store(key, value)
    for name in names or ():
        if name not in module.slots:
            m.store(name, _member(m, module, module.name, name))


def _member(m: Interpreter, module: Module | None, dotted: str, name: str) -> Value:
    if module is not None:
        value = module.slots.get(name)
        if value is not None:
            return value
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

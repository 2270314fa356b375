"""What the statements of a module itself say, read without executing them: names it binds, and what its import does."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from syncwatch.static import ir

_REGISTERS = re.compile(r"regist", re.I)
# Calls of these as statements do nothing that another module could see.
_HARMLESS = frozenset(
    {"logging", "logger", "log", "LOGGER", "LOG", "warnings", "print", "sys", "os", "np", "plt", "matplotlib"}
)


class Outline(msgspec.Struct, frozen=True, array_like=True):
    """A module from outside.

    exports: the names that a star import binds, None where only execution can tell. registers: whether its import may
    change what others hold (decorators that register, calls as statements, attributes and entries set elsewhere).
    """

    exports: tuple[str, ...] | None
    registers: bool


def outline_of(module: ir.Module) -> Outline:
    """The outline of a file."""
    return Outline(_exports(module.body), _registers(module.body, _own_names(module.body)))


def is_program(module: ir.Module) -> bool:
    """Whether a module asks if it is the program itself."""
    return any(type(s) is ir.If and _names_main(s.test) for s in module.body)


def late_imports(module: ir.Module) -> list[ir.ImportFrom]:
    """The `from … import …` statements that may be carried out when a name is asked for.

    They stand in no branch but `if TYPE_CHECKING:`, and nothing else in the module binds their names.
    """
    bound = Counter(_bound(module.body))
    found: list[ir.ImportFrom] = []
    for statement in module.body:
        inner: ir.Block = (statement,)
        if type(statement) is ir.If and _last(statement.test) == "TYPE_CHECKING":
            inner = statement.body
        for s in inner:
            if type(s) is ir.ImportFrom and all(bound[alias or name] == 1 or name == "*" for name, alias in s.names):
                found.append(s)
    return found


def bound_names(module: ir.Module) -> frozenset[str]:
    """The names that a module's own statements bind, star imports left out."""
    return frozenset(_bound(module.body))


def _names_main(test: Any) -> bool:
    if type(test) is ir.Compare:
        return any(type(x) is ir.Name and x.id == "__name__" for x in (test.left, *test.rights))
    return type(test) is ir.Bool and any(_names_main(x) for x in test.values)


def _exports(body: ir.Block) -> tuple[str, ...] | None:
    names = Counter(_bound(body))
    if names["__all__"]:
        return _literal_all(body) if names["__all__"] == 1 else None
    if any(type(s) is ir.ImportFrom and s.names[0][0] == "*" for s in statements(body)):
        return None
    return tuple(name for name in names if not name.startswith("_"))


def _literal_all(body: ir.Block) -> tuple[str, ...] | None:
    if any(type(s) is ir.ExprStmt and _root(s.value) == "__all__" for s in statements(body)):
        return None  # __all__.extend(…)
    for s in body:
        if type(s) is ir.Assign and type(s.value) is ir.Seq:
            if any(type(t) is ir.Name and t.id == "__all__" for t in s.targets):
                names = [x.value for x in s.value.items if type(x) is ir.Const and isinstance(x.value, str)]
                return tuple(names) if len(names) == len(s.value.items) else None
    return None


def statements(block: ir.Block) -> Iterator[Any]:
    """The statements of a block and of the blocks in it, bodies of functions and classes left out."""
    for s in block:
        yield s
        for inner in _inner(s):
            yield from statements(inner)


def _inner(s: Any) -> list[ir.Block]:
    kind = type(s)
    if kind is ir.If or kind is ir.ForStmt or kind is ir.While:
        return [s.body, s.orelse]
    if kind is ir.With:
        return [s.body]
    if kind is ir.Try:
        return [s.body, *[h.body for h in s.handlers], s.orelse, s.final]
    if kind is ir.Match:
        return [case.body for case in s.cases]
    return []


def _bound(block: ir.Block) -> Iterator[str]:
    for s in statements(block):
        kind = type(s)
        if kind is ir.Function or kind is ir.Class:
            yield s.name
        elif kind is ir.ImportFrom:
            yield from (alias or name for name, alias in s.names if name != "*")
        elif kind is ir.Import:
            yield from (alias or name.partition(".")[0] for name, alias in s.names)
        elif kind is ir.Assign or kind is ir.Delete:
            for target in s.targets:
                yield from _targets(target)
        elif kind is ir.AugAssign or kind is ir.AnnAssign or kind is ir.ForStmt:
            yield from _targets(s.target)
        elif kind is ir.With:
            for item in s.items:
                yield from _targets(item.target)
        elif kind is ir.Try:
            yield from (h.name for h in s.handlers if h.name)


def _targets(target: Any) -> Iterator[str]:
    if type(target) is ir.Name:
        yield target.id
    elif type(target) is ir.Seq:
        for item in target.items:
            yield from _targets(item)
    elif type(target) is ir.Star:
        yield from _targets(target.value)


def _own_names(body: ir.Block) -> frozenset[str]:
    """The names of what a module makes itself, as against what it imports."""
    imported: set[str] = set()
    for s in statements(body):
        if type(s) in (ir.Import, ir.ImportFrom):
            imported.update(alias or name.partition(".")[0] for name, alias in s.names)
    return frozenset(_bound(body)) - imported


def _registers(body: ir.Block, own: frozenset[str]) -> bool:
    for s in statements(body):
        kind = type(s)
        if kind is ir.Function or kind is ir.Class:
            if any(_REGISTERS.search(_dotted(d)) for d in s.decorators):
                return True
        elif kind is ir.ExprStmt:
            called = _dotted(s.value) if type(s.value) is ir.Call else ""
            if _REGISTERS.search(called) or (called and called.partition(".")[0] not in _HARMLESS | own):
                return True
        elif kind is ir.Assign or kind is ir.AugAssign:
            targets = s.targets if kind is ir.Assign else (s.target,)
            if any(type(t) in (ir.Attr, ir.Sub) and _root(t) not in own for t in targets):
                return True
    return False


def _root(node: Any) -> str:
    """The name that a chain of attributes, entries and calls begins with."""
    while type(node) is not ir.Name:
        if type(node) is ir.Call:
            node = node.func
        elif type(node) in (ir.Attr, ir.Sub):
            node = node.value
        else:
            return ""
    name: str = node.id
    return name


def _last(node: Any) -> str:
    return node.id if type(node) is ir.Name else node.attr if type(node) is ir.Attr else ""


def _dotted(node: Any) -> str:
    kind = type(node)
    if kind is ir.Name:
        return str(node.id)
    if kind is ir.Attr:
        return f"{_dotted(node.value)}.{node.attr}"
    if kind is ir.Call:
        return _dotted(node.func)
    return ""

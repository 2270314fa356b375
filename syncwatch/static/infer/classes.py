"""Class statements: bases, resolution order, the body, and what decorators and bases make of a class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from syncwatch.static import ir
from syncwatch.static.infer.machine import Interpreter
from syncwatch.static.infer.state import Frame
from syncwatch.static.library.protocol import lineage
from syncwatch.static.values import Bound, Class, Const, Func, Lib, Obj, Union, Value

_ENUMS = frozenset({"enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag", "enum.IntFlag"})


def define_class(m: Interpreter, s: ir.Class) -> None:
    """Executes a class statement."""
    frame = m.frame
    bases: list[Value] = []
    keywords: dict[str, Value] = {}
    for arg in s.bases:
        value = m.eval(arg.value)
        if arg.name:
            keywords[arg.name] = value
        elif arg.star != "**":
            bases.extend(_bases(value))
    qualname = f"{frame.qualname}.{s.name}" if frame.qualname else s.name
    key = ("class", s.pos, frame.turn)
    cls = frame.allocs.get(key)
    if cls is None:
        cls = frame.allocs[key] = Class(s.name, qualname, frame.module, s, ())
    make_class(cls, tuple(bases))
    cls.keywords.update(keywords)
    inner = Frame(frame.module, frame.scope, qualname, m.journal.mark())
    inner.class_slots = cls.slots
    inner.owner = cls
    inner.heat, inner.guarded, inner.setup = frame.heat, frame.guarded, frame.setup
    inner.allocs = frame.allocs.setdefault(("body", s.pos, frame.turn), {})
    m.frame = inner
    try:
        m.exec_block(s.body)
    finally:
        m.frame = frame
    if "enum" in cls.traits:
        _make_members(m, cls)
    if "namedtuple" in cls.traits and "fields" not in cls.keywords:
        from syncwatch.static.infer.instances import fields_of

        cls.keywords["fields"] = tuple(fields_of(cls))
    made: Value = cls
    for node in reversed(s.decorators):
        made = _decorate(m, node, made)
    for base in cls.mro[1:]:
        hook = base.slots.get("__init_subclass__") if type(base) is Class else None
        if type(hook) is Func:
            m.call(Bound(hook, cls))
            break
    m.store(s.name, made)


def _bases(value: Value) -> list[Value]:
    if type(value) is Union:
        known = [v for v in value.members if type(v) in (Class, Lib)]
        return known[:1]
    if type(value) in (Class, Lib):
        return [value]
    return [Lib("unknown.Base")]


def make_class(cls: Class, bases: tuple[Value, ...]) -> None:
    """Sets bases, resolution order and traits."""
    cls.bases = bases
    cls.mro = (cls, *_linearise([_mro_of(b) for b in bases], list(bases)))
    for base in cls.mro[1:]:
        if type(base) is Class:
            cls.traits |= base.traits
        elif type(base) is Lib:
            if base.name in _ENUMS:
                cls.traits.add("enum")
            elif base.name == "typing.NamedTuple":
                cls.traits.add("namedtuple")
            elif base.name.rpartition(".")[2] in ("BaseModel", "BaseSettings", "Struct") and "torch" not in base.name:
                cls.traits.add("dataclass")


def _mro_of(base: Value) -> list[Value]:
    return list(base.mro) if type(base) is Class else [base]


def _linearise(sequences: list[list[Value]], bases: list[Value]) -> list[Value]:
    """C3; where it has no answer, the order of first appearance."""
    work = [list(s) for s in sequences if s] + ([list(bases)] if bases else [])
    result: list[Value] = []
    while work:
        head = None
        for seq in work:
            candidate = seq[0]
            if not any(_in(candidate, other[1:]) for other in work):
                head = candidate
                break
        if head is None:
            for seq in work:
                for c in seq:
                    if not _in(c, result):
                        result.append(c)
            return result
        result.append(head)
        work = [[c for c in seq if not _is(c, head)] for seq in work]
        work = [seq for seq in work if seq]
    return result


def _is(a: Value, b: Value) -> bool:
    return a is b or (type(a) is Lib and a == b)


def _in(v: Value, values: Sequence[Value]) -> bool:
    return any(_is(v, x) for x in values)


def _decorate(m: Interpreter, node: Any, value: Value) -> Value:
    decorator = m.eval(node)
    m.frame.pos = node.pos
    name = _name(decorator) or _text(node)
    if name.rpartition(".")[2] in ("dataclass", "dataclass_transform", "attrs", "define", "frozen", "s", "mutable"):
        if type(value) is Class:
            value.traits.add("dataclass")
        return value
    if type(decorator) in (Func, Bound):
        result = m.call(decorator, (value,))
        return result if type(result) is Class else value
    return value


def _name(v: Value) -> str:
    return v.name if type(v) is Lib else ""


def _text(node: Any) -> str:
    if type(node) is ir.Call:
        return _text(node.func)
    if type(node) is ir.Attr:
        return str(node.attr)
    return node.id if type(node) is ir.Name else ""


def _make_members(m: Interpreter, cls: Class) -> None:
    """The plain values in the body of an enumeration become its members."""
    for key, value in list(cls.slots.items()):
        if isinstance(key, str) and not key.startswith("_") and type(value) not in (Func, Class, Bound):
            if type(value) is Obj and value.type == "property":
                continue
            member = Obj(cls)
            member.slots["_value_"] = value
            member.slots["_name_"] = Const("str", key)
            m.journal.write(cls.slots, key, member)


def library_lineage(cls: Class) -> tuple[str, ...]:
    """All library types that a class derives from."""
    return tuple(t for b in cls.mro if type(b) is Lib for t in lineage(b.name))

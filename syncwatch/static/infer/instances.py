"""Making instances: of the project's classes, of library classes; dataclasses, named tuples, enums."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from syncwatch.static import ir
from syncwatch.static.infer import functions
from syncwatch.static.infer.machine import Interpreter, Made
from syncwatch.static.infer.types import class_attr, class_library_types, type_name
from syncwatch.static.library import protocol
from syncwatch.static.library.protocol import MODELS, LibCall
from syncwatch.static.values import (
    NONE,
    UNKNOWN,
    Bound,
    Class,
    Const,
    Func,
    Lib,
    Obj,
    Union,
    Value,
    join,
)

Kwargs = Mapping[str, Value]


def instantiate(m: Interpreter, cls: Class, args: tuple[Value, ...], kwargs: Kwargs, star: bool) -> Value:
    """`cls(...)`."""
    if "enum" in cls.traits:
        return _enum_member(cls, args)
    meta = cls.keywords.get("metaclass")
    if type(meta) is Class:
        method = class_attr(meta, "__call__")
        if type(method) is Func:
            made = m.call(Bound(method, cls), args, kwargs)
            if made is not UNKNOWN:
                return made
    pos = m.frame.pos
    new = class_attr(cls, "__new__")
    if type(new) is Func:
        made = functions.call_function(m, new, (cls, *args), kwargs, star)
        if type(made) is not Obj or made.type is not cls:
            if made is not UNKNOWN and not (type(made) is Union and UNKNOWN in made.members):
                return made
            made = m.allocate(cls)
        obj = made
        m.frame.pos = pos
    else:
        obj = m.allocate(cls)
    obj.born = 1 << 60  # what its own __init__ does to it concerns nobody else
    initialise(m, obj, cls, args, kwargs, star)
    obj.born = m.clock
    return obj


def initialise(m: Interpreter, obj: Obj, cls: Class, args: tuple[Value, ...], kwargs: Kwargs, star: bool) -> None:
    """Runs `__init__`, or what stands for it."""
    for c in cls.mro:
        if type(c) is Class:
            init = c.slots.get("__init__")
            if type(init) is Func:
                functions.call_function(m, init, (obj, *args), kwargs, star, receiver=obj)
                return
            if "dataclass" in c.traits or "namedtuple" in c.traits:
                _fill_fields(m, obj, c, args, kwargs, star)
                return
        elif type(c) is Lib:
            type_ = type_name(c.name)
            if type_ == "object":
                continue
            model = protocol.find(MODELS, type_, "__init__")
            if model is not None:
                from syncwatch.static.infer.calls import plain_args

                values, spread = plain_args(args)
                model(m, LibCall(f"{type_}.__init__", values, kwargs, obj, star or spread))  # type: ignore[operator]
                return


def _enum_member(cls: Class, args: tuple[Value, ...]) -> Value:
    """`Color(value)`: the member with the value where it is known, else any."""
    found = [x for x in cls.slots.values() if type(x) is Obj and x.type is cls]
    if args and type(args[0]) is Const:
        for x in found:
            if x.slots.get("_value_") == args[0]:
                return x
    if args and type(args[0]) is Obj and args[0].type is cls:
        return args[0]
    result: Value = None
    for x in found:
        result = x if result is None else join(result, x)
    return UNKNOWN if result is None else result


def fields_of(cls: Class) -> dict[str, Any]:
    """The annotated fields of a dataclass or named tuple in order, bases first: name → annotation node."""
    names: dict[str, Any] = {}
    for c in reversed(cls.mro):
        if type(c) is not Class or c.node is None:
            continue
        for statement in c.node.body:
            if type(statement) is ir.AnnAssign and type(statement.target) is ir.Name:
                if not _is_class_var(statement.annotation):
                    names[statement.target.id] = statement.annotation
    return names


def _is_class_var(annotation: Any) -> bool:
    base = annotation.value if type(annotation) is ir.Sub else annotation
    return (type(base) is ir.Name and base.id == "ClassVar") or (type(base) is ir.Attr and base.attr == "ClassVar")


def _fill_fields(m: Interpreter, obj: Obj, cls: Class, args: tuple[Value, ...], kwargs: Kwargs, star: bool) -> None:
    from syncwatch.static.infer.calls import plain_args

    args, spread = plain_args(args)
    named = cls.keywords.get("fields")
    names = list(named) if named else list(fields_of(cls))
    position = 0
    for name in names:
        default = class_attr(cls, name)
        keyword_only = False
        factory: Value = None
        if type(default) is Obj and default.type == "dataclasses.Field":
            factory = default.slots.get("default_factory")
            keyword_only = default.slots.get("init") == Const("bool", False)
            default = default.slots.get("default")
        if not keyword_only and position < len(args):
            value = args[position]
            position += 1
        elif name in kwargs:
            value = kwargs[name]
        elif factory is not None:
            value = m.call(factory)
        elif default is not None:
            value = join(default, UNKNOWN) if star or spread else default
        else:
            value = UNKNOWN
        m.setattr(obj, name, value)
    post = class_attr(cls, "__post_init__")
    if type(post) is Func:
        extra = tuple(kwargs[k] for k in kwargs if k not in names)
        m.call(Bound(post, obj), extra)


def instantiate_library(m: Interpreter, name: str, args: tuple[Value, ...], kwargs: Kwargs, star: bool) -> Value:
    """Calls a class of a library that has no model of its own as a function."""
    type_ = type_name(name)
    obj = m.allocate(type_)
    if type_ == "torch.utils.data.DataLoader":
        frame = m.frame
        m.made[id(obj)] = Made(frame.module, frame.qualname, frame.pos, frame.heat, frame.guarded, None)
    model = protocol.find(MODELS, type_, "__init__")
    if model is not None:
        model(m, LibCall(f"{type_}.__init__", args, kwargs, obj, star))  # type: ignore[operator]
        return obj
    # nothing is known of the class: its objects are opaque, their attributes follow from their names
    obj.assumed = True
    return obj


__all__ = ["NONE", "class_library_types", "fields_of", "initialise", "instantiate", "instantiate_library"]

"""Calls: evaluation of call expressions, dispatch on what is called, and library functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from syncwatch.static import ir
from syncwatch.static.infer import attributes, events, functions, hazards, instances, unknown
from syncwatch.static.infer.hazards import copies
from syncwatch.static.infer.machine import Interpreter, OutOfSteps
from syncwatch.static.infer.types import class_attr, library_types, type_name
from syncwatch.static.library import protocol
from syncwatch.static.library.protocol import DEFAULTS, MODELS, LibCall, by_prefix, canonical, lineage
from syncwatch.static.values import (
    ITEMS,
    NONE,
    REST,
    UNKNOWN,
    Bound,
    Class,
    Const,
    Func,
    Items,
    Lib,
    Obj,
    Partial,
    Super,
    Tensor,
    Tuple,
    Union,
    Value,
    element,
    join,
    join_all,
    members,
)

Args = tuple[Value, ...]
Kwargs = Mapping[str, Value]


def eval_call(m: Interpreter, node: ir.Call) -> Value:
    """The value of a call expression."""
    func_node = node.func
    if type(func_node) is ir.Name and func_node.id == "super" and m.load("super") == Lib("builtins.super"):
        return _super(m, node)
    func = m.eval(func_node)
    args: list[Value] = []
    kwargs: dict[str, Value] = {}
    mappings: list[Value] = []
    star = False
    for arg in node.args:
        value = m.eval(arg.value)
        if arg.star == "*":
            inner = m.iterate(value)
            if inner.items is None:
                star = True
                args.append(_Spread(inner.elem))
            else:
                args.extend(inner.items)
        elif arg.star == "**":
            star = _spread_mapping(value, kwargs) or star
            mappings.append(value)
        elif arg.name:
            kwargs[arg.name] = value
        else:
            args.append(value)
    m.frame.pos = node.pos
    if func is UNKNOWN and type(func_node) is ir.Attr and func_node.attr in ("to", "cuda"):
        return unknown.moved(m, func_node, args, kwargs)
    m.configured.called(m, node, func)
    value = call(m, func, tuple(args), kwargs, star, node)
    if value is UNKNOWN:
        value = unknown.called(m, func, node, (*args, *kwargs.values(), *mappings))
    value = m.configured.returned(m, node, func, args, value)
    if type(func) in (Bound, Lib):
        copies.wrote(m, node, func, args, kwargs)
    return value


class _Spread:
    """An argument that stands for any number of positional ones."""

    __slots__ = ("elem",)

    def __init__(self, elem: Value) -> None:
        self.elem = elem


def _spread_mapping(value: Value, kwargs: dict[str, Value]) -> bool:
    """Adds the entries of `**value`; returns whether there may be others."""
    unknown = False
    for v in members(value):
        if type(v) is Obj and ("dict" in library_types(v)):
            for key, x in v.slots.items():
                if type(key) is tuple and isinstance(key[1], str):
                    kwargs[key[1]] = x if not isinstance(value, Union) else join(kwargs.get(key[1]), x)
                elif key == REST:
                    unknown = True
        elif v != NONE:
            unknown = True
    return unknown


def _super(m: Interpreter, node: ir.Call) -> Value:
    frame = m.frame
    if len(node.args) == 2:
        owner, instance = m.eval(node.args[0].value), m.eval(node.args[1].value)
        return Super(owner, instance)
    if frame.func is None or frame.func.owner is None or frame.receiver is None:
        return UNKNOWN
    return Super(frame.func.owner, frame.receiver)


def call(m: Interpreter, func: Value, args: Args, kwargs: Kwargs, star: bool = False, node: Any = None) -> Value:
    """Calls a value."""
    kind = type(func)
    if kind is Func:
        return functions.call_function(m, func, args, kwargs, star)
    if kind is Bound:
        target = func.func
        if type(target) is Func:
            return functions.call_function(m, target, (func.self, *args), kwargs, star, receiver=func.self)
        if type(target) is Lib:
            return call_library_method(m, target.name, func.self, args, kwargs, star, node)
        return call(m, target, (func.self, *args), kwargs, star, node)
    if kind is Lib:
        return call_library(m, func.name, args, kwargs, star, node)
    if kind is Class:
        return instances.instantiate(m, func, args, kwargs, star)
    if kind is Partial:
        return call(m, func.func, (*func.args, *args), {**dict(func.kwargs), **kwargs}, star, node)
    if kind is Obj:
        return _call_object(m, func, args, kwargs, star, node)
    if kind is Union:
        return _call_union(m, func, args, kwargs, star, node)
    return UNKNOWN


def _call_union(m: Interpreter, func: Union, args: Args, kwargs: Kwargs, star: bool, node: Any) -> Value:
    targets = [f for f in func.members if f is not UNKNOWN and type(f) is not Const]
    if not targets:
        return UNKNOWN
    pos = m.frame.pos

    def run(target: Value) -> Any:
        def go() -> Value:
            m.frame.pos = pos
            return call(m, target, args, kwargs, star, node)

        return go

    with m.doubting(len(targets) > 1):
        result = m.alternatives([run(t) for t in targets[:6]])
    if len(targets) < len(func.members) and UNKNOWN in func.members:
        return join(result, UNKNOWN)
    return result


def _call_object(m: Interpreter, obj: Obj, args: Args, kwargs: Kwargs, star: bool, node: Any) -> Value:
    cls = obj.type
    types = library_types(obj)
    if isinstance(cls, Class):
        method = class_attr(cls, "__call__")
        if type(method) is Func:
            return functions.call_function(m, method, (obj, *args), kwargs, star, receiver=obj)
        if "torch.nn.Module" in types:
            return call_module(m, obj, args, kwargs, star, node)
    elif "torch.nn.Module" in types:
        return call_module(m, obj, args, kwargs, star, node)
    return call_library_method(m, f"{types[0]}.__call__", obj, args, kwargs, star, node)


def call_module(m: Interpreter, obj: Obj, args: Args, kwargs: Kwargs, star: bool, node: Any) -> Value:
    """`module(...)`: hooks and `forward`."""
    pos = m.frame.pos
    for hook in _hooks(m, obj, "<forward_pre_hooks>"):
        m.frame.pos = pos
        m.call(hook, (obj, Tuple(tuple(a for a in args if type(a) is not _Spread))))
    m.frame.pos = pos
    forward = attributes.get_attr(m, obj, "forward")
    if type(forward) is Bound and type(forward.func) is Lib:
        result = call_library_method(m, f"{library_types(obj)[0]}.__call__", obj, args, kwargs, star, node)
    elif forward is UNKNOWN or forward is None:
        result = UNKNOWN
    else:
        result = call(m, forward, args, kwargs, star, node)
    for hook in _hooks(m, obj, "<forward_hooks>"):
        m.frame.pos = pos
        inputs = Tuple(tuple(a for a in args if type(a) is not _Spread))
        replaced = m.call(hook, (obj, inputs, result))
        if replaced is not UNKNOWN and replaced != NONE:
            result = join(result, replaced) if type(replaced) is Union else replaced
    return result


def _hooks(m: Interpreter, obj: Obj, slot: str) -> list[Value]:
    held = obj.slots.get(slot)
    if type(held) is not Items:
        return []
    if held.items is not None:
        return list(held.items)
    found = element(held)
    return [] if found is None else [found]


def plain_args(args: Args) -> tuple[Args, bool]:
    """The arguments without spread ones, and whether there were any."""
    if any(type(a) is _Spread for a in args):
        return tuple(a.elem if type(a) is _Spread else a for a in args), True
    return args, False


def call_library(m: Interpreter, name: str, args: Args, kwargs: Kwargs, star: bool, node: Any) -> Value:
    """Calls a function or class of a library."""
    name = canonical(name)
    args, spread = plain_args(args)
    star = star or spread
    _touch(m, args, kwargs)
    owner, _, method = name.rpartition(".")
    if args and name not in MODELS and protocol.is_class(owner) and not protocol.is_class(name):
        if method in ("from_pretrained", "from_config"):
            return call_library_method(m, f"{owner}.{method}", Lib(owner), args, kwargs, star, node)
        # an unbound method: torch.Tensor.item(x), nn.Module.__init__(self)
        return call_library_method(
            m, f"{type_name(owner)}.{method}", args[0], args[1:], kwargs, star, node, unbound=True
        )
    if name == "type" or name.startswith("builtins."):
        return _run(m, name, None, args, kwargs, star)
    kwargs = _implied(m, name, kwargs)
    events.ask(m, (name,), args, kwargs, via="call", node=_subject(node), has_star=star)
    model = MODELS.get(name)
    if model is not None:
        return hazards.after(m, name, args, kwargs, run_model(m, model, LibCall(name, args, kwargs, None, star)))
    if protocol.is_class(name):
        return instances.instantiate_library(m, name, args, kwargs, star)
    return hazards.after(m, name, args, kwargs, _run(m, name, None, args, kwargs, star))


def _implied(m: Interpreter, name: str, kwargs: Kwargs) -> Kwargs:
    """The arguments with one that a mode of the process gives, where the call leaves it out."""
    found: tuple[str, str] | None = by_prefix(protocol.IMPLIED, name)  # type: ignore[assignment]
    if found is not None and found[0] not in kwargs:
        value = m.mode(found[1])
        if value is not None:
            return {**kwargs, found[0]: value}
    return kwargs


def call_library_method(
    m: Interpreter,
    name: str,
    receiver: Value,
    args: Args,
    kwargs: Kwargs,
    star: bool = False,
    node: Any = None,
    *,
    unbound: bool = False,
) -> Value:
    """Calls a method of a library type (or inherited from one); `name` is "T.method"."""
    args, spread = plain_args(args)
    star = star or spread
    _touch(m, (receiver, *args), kwargs)
    if type(receiver) is Union:
        with m.doubting(True):
            found = [call_library_method(m, name, r, args, kwargs, star, node) for r in receiver.members]
        result: Value = None
        for f in found:
            result = join(result, f)
        return result
    type_, _, method = name.rpartition(".")
    types = library_types(receiver)
    if types[0] == "object" or type_ not in types:
        types = lineage(type_)
    pos = m.frame.pos
    if types[0].startswith("torch") or "." in types[0]:
        written = node is not None and type(node.func) is ir.Attr and not unbound
        subject = node.func.value if written else _subject(node)
        ops = [f"{t}.{method}" for t in types]
        if method == "__call__":
            ops += [f"{t}.forward" for t in types[:1]]
        events.ask(m, ops, (receiver, *args), kwargs, via="call", node=subject, has_star=star)
    for t in types:
        model = MODELS.get(f"{t}.{method}")
        if model is not None:
            m.frame.pos = pos
            made = run_model(m, model, LibCall(f"{t}.{method}", args, kwargs, receiver, star))
            return hazards.after(m, f"{t}.{method}", (receiver, *args), kwargs, made)
    if method == "__init__":
        return NONE
    made = _run(m, f"{types[0]}.{method}", receiver, args, kwargs, star)
    return hazards.after(m, f"{types[0]}.{method}", (receiver, *args), kwargs, made)


def _touch(m: Interpreter, args: Args, kwargs: Kwargs) -> None:
    """A model may read and write the objects that it is given."""
    for a in (*args, *kwargs.values()):
        if type(a) is Obj and a.born < m.oldest:
            m.oldest = a.born
        elif type(a) is Union and any(type(x) is Obj for x in a.members):
            m.oldest = 0


def _run(m: Interpreter, name: str, receiver: Value, args: Args, kwargs: Kwargs, star: bool) -> Value:
    model = MODELS.get(name)
    if model is None:
        model = by_prefix(DEFAULTS, name)  # type: ignore[assignment]
    if model is None:
        return UNKNOWN
    return run_model(m, model, LibCall(name, args, kwargs, receiver, star))


def run_model(m: Interpreter, model: Any, call_: LibCall) -> Value:
    """What a model says; Unknown where it fails."""
    try:
        return model(m, call_)
    except (OutOfSteps, RecursionError):
        raise
    except Exception as fault:
        if m.strict:
            raise
        m.faults.append(f"{m.frame.module.path}:{m.frame.pos[0]}: {call_.name}: {type(fault).__name__}: {fault}")
        return UNKNOWN


def _subject(node: Any) -> Any:
    if type(node) is ir.Call and node.args and not node.args[0].star:
        return node.args[0].value
    return None


def assign(m: Interpreter, target: Any, value: Value) -> None:
    """Assigns to a target: name, attribute, subscript, or a sequence of them."""
    kind = type(target)
    if kind is ir.Name:
        m.store(target.id, value)
    elif kind is ir.Seq:
        _unpack(m, target.items, value)
    elif kind is ir.Attr:
        owner = m.eval(target.value)
        m.frame.pos = target.pos
        attributes.set_attr(m, owner, target.attr, value)
    elif kind is ir.Sub:
        from syncwatch.static.infer.subscripts import set_item

        owner, index = m.eval(target.value), m.eval(target.index)
        m.frame.pos = target.pos
        if not unknown.stored(m, target, owner, value):
            set_item(m, owner, index, value, target)
    elif kind is ir.Star:
        assign(m, target.value, value)


def _unpack(m: Interpreter, targets: tuple[Any, ...], value: Value) -> None:
    if type(value) is Tensor and m.frame.pos:
        events.ask(m, ("torch.Tensor.__iter__",), (value,), {}, via="iteration")
    star = next((i for i, t in enumerate(targets) if type(t) is ir.Star), None)
    if type(value) is Union and star is None:
        _unpack_each(m, targets, value)
        return
    seq = m.iterate(value)
    if seq.items is None:
        for i, t in enumerate(targets):
            assign(m, t, m.list(None, seq.elem) if i == star else seq.elem)
        return
    items = seq.items
    if star is None:
        for i, t in enumerate(targets):
            assign(m, t, items[i] if i < len(items) else UNKNOWN)
        return
    after = len(targets) - star - 1
    for i, t in enumerate(targets[:star]):
        assign(m, t, items[i] if i < len(items) else UNKNOWN)
    middle = items[star : len(items) - after] if len(items) >= star + after else ()
    assign(m, targets[star].value, m.new_items("list", middle))
    for i, t in enumerate(targets[star + 1 :]):
        j = len(items) - after + i
        assign(m, t, items[j] if 0 <= j < len(items) else UNKNOWN)


def _unpack_each(m: Interpreter, targets: tuple[Any, ...], value: Union) -> None:
    """Unpacks each alternative by itself, so that its parts stay apart; one of another length cannot be meant."""
    parts = [m.iterate(v) for v in value.members if v != NONE]
    fitting = [p for p in parts if p.items is None or len(p.items) == len(targets)] or parts
    for i, t in enumerate(targets):
        assign(m, t, join_all([p.elem if p.items is None or i >= len(p.items) else p.items[i] for p in fitting]))


__all__ = ["ITEMS", "Partial", "_Spread", "assign", "call", "call_library", "call_library_method", "eval_call"]

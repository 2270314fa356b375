"""Calls of the project's functions: binding of arguments, execution of the body, decorators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from syncwatch.static import ir
from syncwatch.static.infer import heat
from syncwatch.static.infer.machine import Interpreter
from syncwatch.static.infer.state import Frame, Scope
from syncwatch.static.values import (
    ITEMS,
    NONE,
    REST,
    UNKNOWN,
    Array,
    Bound,
    Class,
    Const,
    Device,
    Dtype,
    Func,
    Host,
    Items,
    Iter,
    Lib,
    Module,
    Obj,
    Range,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    join,
    join_all,
)

_DEPTH = 40
_SAME = 3  # activations of one function on the stack
_CALLS = 48  # executions of one function under one root


CONTEXT = "contextlib._GeneratorContextManager"
DEFERRED = "<deferred>"


class Deferred(NamedTuple):
    """The call of a generator function that makes a context manager."""

    func: Func
    args: tuple[Value, ...]
    kwargs: Mapping[str, Value]
    star: bool
    receiver: Value


class Known(NamedTuple):
    """What a call gave, and what it took: steps, and how often each function was executed (by the id of its node)."""

    value: Value
    steps: int
    ran: tuple[tuple[int, int], ...]

    def repeat(self, m: Interpreter) -> bool:
        """Accounts for the call as if it were executed again, so that a root finds the same whatever ran before it.

        False where a limit would end it half-way: then it must be executed.
        """
        if m.steps + self.steps > m.limit or any(m.calls.get(key, 0) + count > _CALLS for key, count in self.ran):
            return False
        m.steps += self.steps
        for key, count in self.ran:
            m.calls[key] = m.calls.get(key, 0) + count
            m.reached.add(key)
        m.ran.extend(self.ran)
        return True


def call_function(
    m: Interpreter,
    func: Func,
    args: tuple[Value, ...],
    kwargs: Mapping[str, Value],
    star: bool = False,
    receiver: Value = None,
    on_yield: Callable[[Value], None] | None = None,
) -> Value:
    """Executes a function of the project (or a lambda) with abstract arguments."""
    node = func.node
    if receiver is None and args and func.owner is not None:
        receiver = args[0]
    if on_yield is None and node.__class__ is ir.Function and "contextmanager" in func.decorated:
        # it runs when it is entered, around what it manages
        made = m.allocate(CONTEXT)
        made.slots[DEFERRED] = Deferred(func, args, kwargs, star, receiver)
        return made
    key = id(node)
    call = memo_key(func, args, kwargs, star) if on_yield is None else None
    if call is not None:
        known = m.memo.get(call)
        if known is not None and known.repeat(m):
            return known.value
    count = m.calls.get(key, 0)
    if len(m.stack) > _DEPTH or m.stack.count(key) >= _SAME or count >= _CALLS:
        return m.results.get(key, UNKNOWN)
    m.calls[key] = count + 1
    m.reached.add(key)
    left, ran = m.limit - m.steps, len(m.ran)
    m.ran.append((key, 1))
    variables = bind(m, func, args, kwargs, star)
    caller = m.frame
    scope = Scope(func.env)
    scope.slots = variables
    frame = Frame(func.module, scope, func.qualname, m.journal.mark())
    frame.func = func
    frame.receiver = receiver
    frame.on_yield = on_yield
    frame.heat, frame.guarded, frame.setup = heat.inherited(m, caller, func)
    if "cached" in func.decorated:
        frame.guarded = "other"  # it runs once for each set of arguments
    activation = (caller.pos, caller.turn, key)
    allocs = caller.allocs.get(activation)
    if allocs is None:
        allocs = caller.allocs[activation] = {}
    frame.allocs = allocs
    m.frame = frame
    m.stack.append(key)
    m.clock += 1
    started, asked, oldest, m.oldest = m.clock, m.asked, m.oldest, 1 << 60
    try:
        if type(node) is ir.Lambda:
            value = m.eval(node.body)
        else:
            falls = m.exec_block(node.body)
            value = finish(m, frame, falls)
            if node.is_generator:
                value = _generator(frame, value)
    finally:
        m.frame = caller
        m.stack.pop()
        touched = m.oldest
        m.oldest = min(touched, oldest)
    if value is None:
        return UNKNOWN  # it never returns
    if call is not None and touched >= started and asked == m.asked and is_plain(value):
        m.memo[call] = Known(value, left - (m.limit - m.steps), _added(m.ran[ran:]))
    m.results[key] = value
    return value


def run_deferred(m: Interpreter, call: Deferred, body: Callable[[Value], None]) -> None:
    """Runs a generator that manages a context; `body` gets what it yields."""
    call_function(m, call.func, call.args, call.kwargs, call.star, call.receiver, on_yield=body)


def _added(ran: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    total: dict[int, int] = {}
    for key, count in ran:
        total[key] = total.get(key, 0) + count
    return tuple(total.items())


_PLAIN = (Const, Host, Tensor, Lib, Class, Unknown, Device, Dtype, Module, Range, Array)


def is_plain(v: Value) -> bool:
    """Whether a value has no state that could change."""
    if isinstance(v, _PLAIN):
        return True
    if type(v) is Tuple or type(v) is Iter:
        return is_plain(v.elem) and all(is_plain(x) for x in v.items or ())
    if type(v) is Union:
        return all(is_plain(x) for x in v.members)
    return type(v) is Func and v.env is None


def memo_key(func: Func, args: tuple[Value, ...], kwargs: Mapping[str, Value], star: bool) -> Any:
    """The key under which the result of a call is kept, None where it may depend on more than its arguments."""
    if func.env is not None or star or not all(is_plain(a) for a in args):
        return None
    if not kwargs:
        return (func, args)
    if not all(is_plain(a) for a in kwargs.values()):
        return None
    return (func, args, tuple(kwargs.items()))


def finish(m: Interpreter, frame: Frame, falls: bool) -> Value:
    """Joins the states of all ways out of a function; its value, None where there is no way out."""
    if frame.returns:
        states = frame.returns
        if falls:
            states = [*states, m.journal.delta(frame.mark)]
        if len(states) > 1 or not falls:
            # its own variables matter only to functions that were defined in it
            closes = any(key[0] in ("def", "lambda") for key in frame.allocs)
            own = id(frame.scope.slots) if frame.scope is not None and not closes else 0
            m.journal.undo(frame.mark)
            m.journal.merge([{k: e for k, e in s.items() if k[0] != own} for s in states])
    return frame.value(falls)


def _generator(frame: Frame, result: Value) -> Value:
    yields = tuple(frame.yields)
    if frame.yields_known and len(yields) <= 8:
        return Iter(yields, UNKNOWN, "generator", NONE if result is None else result)
    return Iter(None, join_all(yields), "generator", NONE if result is None else result)


def bind(
    m: Interpreter, func: Func, args: tuple[Value, ...], kwargs: Mapping[str, Value], star: bool
) -> dict[Any, Value]:
    """The variables that a call starts with."""
    from syncwatch.static.infer.calls import _Spread

    variables: dict[Any, Value] = {}
    rest = list(args)
    given: dict[Any, Value] = dict(kwargs)
    defaults = func.defaults or {}
    spread: Value = None
    for i, a in enumerate(rest):
        if type(a) is _Spread:
            spread = a.elem if spread is None else join(spread, a.elem)
            rest = rest[:i]
            break
    position = 0
    for param in func.node.params:
        name, kind = param.name, param.kind
        if kind == "*":
            items: tuple[Value, ...] | None = tuple(rest[position:])
            elem: Value = UNKNOWN
            if spread is not None:
                elem = join_all([*rest[position:], spread])
                items = None
            variables[name] = Tuple(items, elem)
            position = len(rest)
        elif kind == "**":
            packed = m.dict(given, UNKNOWN if star else None)
            variables[name] = packed
        elif kind != "keyword" and position < len(rest):
            variables[name] = rest[position]
            position += 1
        elif kind != "positional" and name in given:
            variables[name] = given.pop(name)
        elif spread is not None and kind != "keyword":
            variables[name] = join(spread, defaults[name]) if name in defaults else spread
        elif name in defaults:
            variables[name] = join(defaults[name], UNKNOWN) if star else defaults[name]
        else:
            variables[name] = UNKNOWN
    return variables


# Decorators of libraries that change what a call gives are known by name; all others keep the function.
_MARKS = {
    "builtins.staticmethod": "staticmethod",
    "builtins.classmethod": "classmethod",
    "abc.abstractmethod": "abstract",
    "contextlib.contextmanager": "contextmanager",
    "contextlib.asynccontextmanager": "contextmanager",
    "typing.overload": "overload",
    "functools.lru_cache": "cached",
    "functools.cache": "cached",
}
_PROPERTIES = frozenset(
    {
        "builtins.property",
        "functools.cached_property",
        "abc.abstractproperty",
        "torch.jit.unused_property",
        "cached_property.cached_property",
    }
)


def decorate(m: Interpreter, func: Func, decorators: tuple[Any, ...]) -> Value:
    """Applies decorators, the last one first."""
    value: Value = func
    for node in reversed(decorators):
        # @name.setter, @name.getter: the property gains a function
        if type(node) is ir.Attr and node.attr in ("setter", "getter", "deleter"):
            owner = m.eval(node.value)
            if type(owner) is Obj and owner.type == "property":
                if node.attr == "setter":
                    m.setattr(owner, "fset", value)
                value = owner
                continue
        decorator = m.eval(node)
        m.frame.pos = node.pos
        value = _apply(m, decorator, value)
    return value


def _apply(m: Interpreter, decorator: Value, value: Value) -> Value:
    if type(decorator) is Lib:
        name = decorator.name
        if name in _PROPERTIES or name.endswith("cached_property"):
            prop = Obj("property")
            prop.slots["fget"] = value
            return prop
        mark = _MARKS.get(name)
        return marked(value, mark) if mark is not None and type(value) is Func else value
    if type(decorator) in (Func, Class) or (type(decorator) is Bound and type(decorator.func) is Func):
        if type(decorator) is Func and type(value) is Func and decorator.node is value.node:
            return value
        if type(decorator) is Class:
            if class_is_property(decorator):
                prop = Obj("property")
                prop.slots["fget"] = value
                return prop
        result = m.call(decorator, (value,))
        if type(value) is Func and type(decorator) is Func and _caches(decorator):
            return marked(result if type(result) is Func else value, "cached")
        if type(result) in (Func, Class, Obj, Bound) or (type(result).__name__ == "Partial"):
            return result
        return value
    return value


def _caches(decorator: Func) -> bool:
    """Whether a decorator of the project keeps results by means of functools."""
    return not heat.called_names(decorator.node.body).isdisjoint({"lru_cache", "cache"})


def marked(func: Func, mark: str) -> Func:
    """The same function, with what a decorator makes of it noted."""
    return Func(
        func.node, func.module, func.name, func.qualname, func.env, func.owner, func.defaults, (*func.decorated, mark)
    )


def class_is_property(cls: Class) -> bool:
    """Whether a descriptor class of the project behaves like a property (it computes from the instance)."""
    return any(type(b) is Lib and b.name in _PROPERTIES for b in cls.mro) or cls.name in (
        "lazy_property",
        "cached_property",
        "lazyproperty",
    )


__all__ = ["ITEMS", "REST", "Items", "Tensor", "bind", "call_function", "decorate", "finish"]

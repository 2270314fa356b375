"""What an operation that waited is called, and which kind of wait it was.

The name is that of the outermost torch operation between the wait and the first frame that is not torch's: what a
reader of the source would call it (`torch.nn.utils.clip_grad_norm_`, not the `bool()` inside it).
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import sys
from collections.abc import Hashable, Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch

from syncwatch.facts import by_name, predict
from syncwatch.facts.observe import describe_call, name_of
from syncwatch.facts.table import Case
from syncwatch.model import Kind
from syncwatch.runtime.cuda.clocks import WRAPPERS, Opened, opened
from syncwatch.runtime.frames import Frames, Owner

# frames of torch that only pass a call on
_PASS_ON = frozenset(
    {
        "_wrapped_call_impl",
        "_call_impl",
        "_fn",
        "wrapper",
        "wrapped",
        "decorate_context",
        "_use_grad",
        "inner",
        "_inner",
        "__torch_function__",
        "handle_torch_function",
        "fn",
        "_compile_wrapper",
        "compile_wrapper",
        "__call__",
    }
)
# operations whose duration is not that of their wait: they do work of their own, in other threads or for long
BACKWARD = frozenset({"torch.Tensor.backward", "torch.autograd.backward", "torch.autograd.grad"})
_GET = "torch.Tensor.__getitem__"
_COUNTING = ("torch.arange", "torch.randperm")  # often written in an index, on the default device
_ANOMALY = "torch.autograd.detect_anomaly"
# modules that only call others: what waits is the layer inside
_CONTAINERS = (torch.nn.Sequential, torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)


class Named(NamedTuple):
    """An operation that waited, and the kind of its wait."""

    kind: Kind
    op: str
    explicit: bool


class Trail(NamedTuple):
    """What lies between a wait and the first frame that is not torch's, innermost first."""

    frames: list[FrameType]  # torch's, and those of our wrappers
    caller: FrameType | None
    innermost: Opened | None  # the wrapped operation nearest to the wait


def trail(frame: FrameType | None, frames: Frames) -> Trail:
    """Walks outward from the wait."""
    passed: list[FrameType] = []
    innermost: Opened | None = None
    while frame is not None:
        code = frame.f_code
        if id(code) in WRAPPERS:
            passed.append(frame)
            if innermost is None:
                innermost = opened(frame)
        else:
            owner = frames.owner(code)
            if owner is Owner.TORCH:
                passed.append(frame)
            elif owner is not Owner.SELF:
                break
        frame = frame.f_back
    return Trail(passed, frame, innermost)


def start_of(way: Trail) -> float | None:
    """When the operation that waited began, as far as a wrapper around it can tell."""
    if way.innermost is None or way.innermost.op in BACKWARD:
        return None
    return way.innermost.start


def what_is_called(way: Trail) -> Hashable:
    """What tells the calls at one place of the source apart, where their names may be kept.

    That is the torch function that was called, for a method with the class of its object (a loop calls one layer after
    another, or one optimizer), and what the variable holds that is called.
    """
    function: Hashable = None
    for frame in reversed(way.frames):
        code = frame.f_code
        if id(code) in WRAPPERS:
            return id(code)
        if code.co_name not in _PASS_ON and not code.co_name.startswith("<"):
            method = code.co_varnames[:1] == ("self",)
            function = (id(code), type(frame.f_locals.get("self")) if method else None)
            break
    variable = None if way.caller is None else called_variable(way.caller)
    if variable is None or way.caller is None:
        return function
    value = _behind_partials(look_up(variable, way.caller))
    return function, type(value), getattr(value, "__qualname__", None)


def _behind_partials(value: Any) -> Any:
    while isinstance(value, functools.partial):
        value = value.func
    return value


def called_variable(frame: FrameType) -> ast.Name | None:
    """The local variable that the frame calls just now: it may hold another function each time."""
    key = (id(frame.f_code), frame.f_lasti)
    known = _CALLED.get(key)
    if known is None:
        expression = expression_of(frame)
        callee = expression.func if isinstance(expression, ast.Call) else None
        variable = callee if isinstance(callee, ast.Name) and callee.id in frame.f_locals else None
        known = _CALLED[key] = (frame.f_code, variable)
    return known[1]


# by place: the code, kept since its identity is part of the key, and the variable
_CALLED: dict[tuple[int, int], tuple[CodeType, ast.Name | None]] = {}


def named(way: Trail) -> Named:
    """The public name and the kind. Slow: call it once per site, and for each thing that is called there."""
    candidates = list(_candidates(way))
    op = candidates[0][0] if candidates else "torch"
    if op in BACKWARD and torch.is_anomaly_enabled() and torch.is_anomaly_check_nan_enabled():
        return Named(Kind.SCALAR_READ, _ANOMALY, False)  # not the pass but the mode reads each gradient
    # The outermost operation that the facts expect to wait says the kind.
    for name, operation in candidates:
        known = None if operation is None else predict(name, describe_call(operation.args, operation.kwargs))
        if known is not None and known.kind is not None and known.blocks is not False:
            if known.blocks or len(_kinds(name)) == 1:  # else an operation further in may know better
                return Named(known.kind, op, known.explicit and name == op)
        if operation is None and len(_kinds(name)) == 1 and (case := _first_case(name)) is not None and case.kind:
            return Named(case.kind, op, case.explicit and name == op)
    if op == _GET and way.caller is not None and _picks_by_one_number(way.caller):
        return Named(Kind.SCALAR_READ, op, False)
    # It has waited all the same: the innermost operation that can wait at all is nearest to the cause.
    for name, _ in reversed(candidates):
        case = _first_case(name)
        if case is not None and case.kind is not None:
            return Named(case.kind, op, case.explicit and name == op)
    return Named(Kind.STREAM_WAIT, op, False)


def _kinds(name: str) -> set[Kind | None]:
    fact = by_name(name)
    return set() if fact is None else {case.kind for case in fact.cases if case.kind is not None and not case.silent}


def _first_case(name: str) -> Case | None:
    fact = by_name(name)
    if fact is None:
        return None
    return next((case for case in fact.cases if case.kind is not None and not case.silent), None)


def _candidates(way: Trail) -> Iterator[tuple[str, Opened | None]]:
    """Names of the operations on the way, outermost first, with the arguments where a wrapper has them."""
    found = False
    if way.caller is not None and _only_passes_on(way):
        # the conversion of an argument (`torch.zeros(n)`), pickling, or an operation without a wrapper
        written = written_name(way.caller)
        if written is not None and (by_name(written) is not None or not way.frames):
            found = True
            yield written, _indexed(way.caller, written)
    for frame in reversed(way.frames):
        operation = opened(frame)
        if operation is not None:
            found = True
            yield operation.op, operation
            continue
        name = public_name(frame)
        if name is not None:
            found = True
            yield name, _arguments(frame, name)
    if not found and way.frames and way.caller is not None:
        written = written_name(way.caller)
        if written is not None:
            yield written, _indexed(way.caller, written)


def _indexed(frame: FrameType, written: str) -> Opened | None:
    """The tensor and the index of `x[i]`, where the source holds them in variables and literals."""
    expression = expression_of(frame)
    if written != _GET or not isinstance(expression, ast.Subscript):
        return None
    try:
        args = (_evaluate(expression.value, frame), _evaluate(expression.slice, frame))
    except _UnknownValue:
        return None
    return Opened(written, 0.0, args, {})


def _picks_by_one_number(frame: FrameType) -> bool:
    """Whether the index holds a reduction of a whole tensor: `x[scores.argmax()]`."""
    expression = expression_of(frame)
    if not isinstance(expression, ast.Subscript):
        return False
    index = expression.slice
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and part.func.attr in ("argmax", "argmin", "max", "min", "sum", "prod")
        and not (part.args or part.keywords)
        for part in parts
    )


class _UnknownValue(Exception):
    """An expression has no value that can be found without running it."""


def _evaluate(node: ast.expr | None, frame: FrameType) -> Any:
    """The value of names, literals and slices. Raises _UnknownValue for anything that would run the program's code."""
    if node is None or isinstance(node, ast.Constant):
        return None if node is None else node.value
    if isinstance(node, ast.Slice):
        return slice(*(_evaluate(part, frame) for part in (node.lower, node.upper, node.step)))
    if isinstance(node, (ast.Tuple, ast.List)):
        items = [_evaluate(item, frame) for item in node.elts]
        return tuple(items) if isinstance(node, ast.Tuple) else items
    if isinstance(node, ast.Call) and not any(given.arg in ("device", "dtype", None) for given in node.keywords):
        if name_of(look_up(node.func, frame)) in _COUNTING:
            return torch.empty(1, dtype=torch.int64)  # stands for them: where they are is what matters
        raise _UnknownValue
    value = look_up(node, frame)
    if value is None:
        raise _UnknownValue
    return value


def _arguments(frame: FrameType, name: str) -> Opened | None:
    """The arguments of the Python function that runs in `frame`, as far as its variables still hold them."""
    code, held = frame.f_code, frame.f_locals
    names = code.co_varnames
    last = code.co_argcount + code.co_kwonlyargcount
    args = tuple(held[name] for name in names[: code.co_argcount] if name in held)
    kwargs = {name: held[name] for name in names[code.co_argcount : last] if name in held}
    if code.co_flags & inspect.CO_VARARGS:
        args += tuple(held.get(names[last], ()))
        last += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        kwargs.update(held.get(names[last], {}))
    return Opened(name, 0.0, args, kwargs)


def _only_passes_on(way: Trail) -> bool:
    """Whether what lies nearest to the user's line is not what the user wrote."""
    if not way.frames:
        return True
    outermost = opened(way.frames[-1])
    name = outermost.op.rpartition(".")[2] if outermost is not None else way.frames[-1].f_code.co_name
    return name in ("__index__", "__reduce__", "__reduce_ex__")


def public_name(frame: FrameType) -> str | None:
    """The public name of the torch function that runs in `frame`; None for frames that only pass a call on."""
    code = frame.f_code
    if code.co_name in _PASS_ON or code.co_name.startswith("<"):
        return None
    receiver = frame.f_locals.get("self", frame.f_locals.get("cls")) if code.co_argcount else None
    if receiver is not None and code.co_varnames[:1] in (("self",), ("cls",)):
        kind = receiver if isinstance(receiver, type) else type(receiver)
        if issubclass(kind, _CONTAINERS) and code.co_name in ("forward", "_run_ddp_forward"):
            return None
        return _method_name(kind, code)
    return _function_name(frame.f_globals.get("__name__", ""), code)


def _method_name(kind: type, code: CodeType) -> str | None:
    if issubclass(kind, torch.Tensor):
        return f"torch.Tensor.{code.co_name}"
    own = (base for base in kind.__mro__ if getattr(vars(base).get(code.co_name), "__code__", None) is code)
    home = next(own, None) or next((base for base in kind.__mro__ if _defines(base, code)), kind)
    # The classes of torch from the object's own to the one that has the method; the facts may know any of them.
    classes = [base for base in kind.__mro__ if base.__module__.partition(".")[0] == "torch" and issubclass(base, home)]
    names = [name for base in classes or [home] for name in _names_in_class(base, code.co_name)]
    return next((name for name in names if by_name(name) is not None), names[0])


def _names_in_class(kind: type, method: str) -> Iterator[str]:
    for path in _public_paths(kind.__module__, kind.__qualname__, kind):
        if method not in ("__init__", "__new__"):
            yield f"{path}.{method}"
        if method in ("__init__", "__new__", "forward"):
            yield path


def _defines(base: type, code: CodeType) -> bool:
    value = vars(base).get(code.co_name)
    value = getattr(value, "__func__", value)
    while value is not None:
        if getattr(value, "__code__", None) is code:
            return True
        value = getattr(value, "__wrapped__", None)
    return False


def _function_name(module: str, code: CodeType) -> str:
    holder: Any = sys.modules.get(module)
    value = getattr(holder, code.co_name, None)
    known = name_of(value) if value is not None else ""
    if by_name(known) is not None:
        return known
    names = list(_public_paths(module, code.co_name, value))
    return next((name for name in names if by_name(name) is not None), names[0])


def _public_paths(module: str, name: str, value: Any) -> Iterator[str]:
    """The paths under which `value` can be reached, shortest first: `torch.optim.SGD`."""
    parts = module.split(".")
    for length in range(1, len(parts)):
        package = ".".join(parts[:length])
        if value is not None and getattr(sys.modules.get(package), name, None) is value:
            yield f"{package}.{name}"
    yield f"{module}.{name}"


def written_name(frame: FrameType) -> str | None:
    """The name that the source gives to the operation under way in `frame`, as far as it leads to torch.

    Python 3.11 and newer know which expression a frame is evaluating.
    """
    expression = expression_of(frame)
    if isinstance(expression, ast.Subscript):
        holder = look_up(expression.value, frame)
        if holder is not None and not isinstance(holder, torch.Tensor):
            return None  # a list with a tensor as its index
        return _GET if isinstance(expression.ctx, ast.Load) else "torch.Tensor.__setitem__"
    if not isinstance(expression, ast.Call):
        return None
    value = _behind_partials(look_up(expression.func, frame))
    if value is None:
        return f"torch.Tensor.{expression.func.attr}" if isinstance(expression.func, ast.Attribute) else None
    if isinstance(expression.func, ast.Attribute) and isinstance(getattr(value, "__self__", None), torch.Tensor):
        return f"torch.Tensor.{expression.func.attr}"
    if isinstance(value, torch.nn.Module):
        return next(_public_paths(type(value).__module__, type(value).__qualname__, type(value)))
    if isinstance(getattr(value, "__self__", None), torch.Tensor):  # a bound method that was kept
        return f"torch.Tensor.{value.__name__}"
    name = name_of(value).removeprefix("_") if callable(value) else ""
    if by_name(name) is not None:
        return name
    return name if name.startswith("torch.") and not name.startswith("torch.builtins.") else None


def expression_of(frame: FrameType) -> ast.expr | None:
    positions = getattr(frame.f_code, "co_positions", None)
    if positions is None or frame.f_lasti < 0:
        return None
    spans = list(positions())
    index = frame.f_lasti // 2
    if index >= len(spans) or None in spans[index]:
        return None
    first, last, start, end = spans[index]
    lines = [linecache.getline(frame.f_code.co_filename, number) for number in range(first, last + 1)]
    if not all(lines):
        return None
    encoded = [line.encode() for line in lines]
    encoded[-1] = encoded[-1][:end]
    encoded[0] = encoded[0][start:]
    try:
        tree = ast.parse(b"(" + b"".join(encoded) + b"\n)", mode="eval")
    except (SyntaxError, ValueError):
        return None
    return tree.body


def look_up(node: ast.expr, frame: FrameType) -> Any:
    """The value of a dotted name, found without running anything of the program's."""
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if isinstance(node, ast.Attribute):
        value = look_up(node.value, frame)
        plain = isinstance(value, (torch.Tensor, torch.nn.Module, type, type(ast)))
        return getattr(value, node.attr, None) if plain else None
    return None

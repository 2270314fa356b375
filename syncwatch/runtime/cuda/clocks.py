"""Thin wrappers around torch's operations that can block: they note when the operation began.

The sync debug mode speaks up after a wait. The wrapper's frame, still on the stack at that moment, holds the start,
the operation's public name and its arguments, so nothing has to be passed along and nothing is done when no wait
comes: a wrapped call costs two plain calls more.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

import torch

from syncwatch.runtime.compiling import is_dynamo_compiling
from syncwatch.runtime.patching import Patches, present

Clock = Callable[[], float]  # seconds


class Opened(NamedTuple):
    """A wrapped operation that is under way."""

    op: str
    start: float
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


def clocked(op: str, original: Callable[..., Any], clock: Clock) -> Callable[..., Any]:
    """`original`, with the start of each call kept in the wrapper's frame. Transparent to torch.compile."""

    def clocked_call(*args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling():
            return original(*args, **kwargs)
        syncwatch_start = clock()  # noqa: F841 - read from the frame by `opened`
        syncwatch_op = op  # noqa: F841
        return original(*args, **kwargs)

    # Optimizers read the step counters of all their parameters, which lie on the host.
    def clocked_read(self: Any) -> Any:
        if is_dynamo_compiling():
            return original(self)
        syncwatch_start = clock()  # noqa: F841
        syncwatch_op = op  # noqa: F841
        return original(self)

    wrapper = clocked_read if op in _WITHOUT_ARGUMENTS else clocked_call
    WRAPPERS[id(wrapper.__code__)] = wrapper.__code__
    wrapper.__name__ = getattr(original, "__name__", op.rpartition(".")[2])
    wrapper.__qualname__ = getattr(original, "__qualname__", wrapper.__name__)
    wrapper.__doc__ = original.__doc__
    return wrapper


_WITHOUT_ARGUMENTS = frozenset(
    f"torch.Tensor.{name}" for name in ("item", "tolist", "__bool__", "__int__", "__float__", "__index__")
)

# The code of all wrappers that keep `syncwatch_start` and `syncwatch_op` in their frames, by identity: the hash of code
# takes as long as the code is.
WRAPPERS: dict[int, CodeType] = {}


def opened(frame: FrameType) -> Opened | None:
    """The operation that this frame wraps; None for any other frame."""
    if id(frame.f_code) not in WRAPPERS:
        return None
    held = frame.f_locals
    if "syncwatch_op" not in held:
        return None
    args = held["args"] if "args" in held else (held["self"],)
    return Opened(held["syncwatch_op"], held["syncwatch_start"], args, held.get("kwargs", {}))


class Marks(threading.local):
    """Per thread: when its last wait ended, and how many there were."""

    until = 0.0
    count = 0


class Wrapping(NamedTuple):
    """One attribute to replace while armed."""

    owner: Any
    name: str
    wrapper: Callable[..., Any]
    original: Callable[..., Any]


def wrappings(ops: Iterable[str], clock: Clock) -> list[Wrapping]:
    """The wrappers for the operations that exist in this torch and can be replaced."""
    found = []
    for op in ops:
        target = resolve(op)
        if target is not None:
            owner, name, original = target
            found.append(Wrapping(owner, name, clocked(op, original, clock), original))
    return found


def resolve(op: str) -> tuple[Any, str, Callable[..., Any]] | None:
    """Where a public name lives: its owner, a module of torch or torch.Tensor, its attribute, its value.

    Of other packages (torchvision) only modules that the program has imported are looked at.
    """
    owner_name, _, name = op.rpartition(".")
    package, *parts = owner_name.split(".")
    owner: Any = torch if package == "torch" else sys.modules.get(owner_name)
    for part in parts if package == "torch" else ():
        owner = getattr(owner, part, None)
        if owner is None:
            return None
    if owner is not torch.Tensor and not isinstance(owner, ModuleType):
        return None
    value = present(owner, name)
    if value is None or isinstance(value, type) or not callable(value):
        return None
    return owner, name, value


def prime_torch() -> None:
    """Lets torch fill its caches that are keyed by its functions, before any of them is replaced."""
    from torch.utils import _device

    from syncwatch.facts import observe

    _device._device_constructors()
    observe.name_of(torch.nonzero)
    torch.jit._builtins._get_builtin_table()


def _compiler() -> ModuleType | None:
    return sys.modules.get("torch._dynamo.trace_rules")


def _has_learnt(rules: ModuleType | None) -> bool:
    """Whether torch.compile knows torch's functions by now: it learns them when it first needs them."""
    known = getattr(getattr(rules, "get_torch_obj_rule_map", None), "cache_info", None)
    return rules is not None and (known is None or known().currsize > 0)


class ClockHook:
    """Installs the wrappers. They report nothing by themselves."""

    def __init__(self, ops: Iterable[str], clock: Clock) -> None:
        self._ops = tuple(ops)
        self._clock = clock
        self._wrappings: list[Wrapping] | None = None
        self._patches = Patches()
        self._compiler_loaded = False
        self._scripted: list[int] = []

    def install(self, sink: object) -> None:
        """See `Hook.install`."""
        if self._wrappings is None:
            prime_torch()
            self._wrappings = wrappings(self._ops, self._clock)
        self._compiler_loaded = _has_learnt(_compiler())
        for wrapping in self._wrappings:
            self._patches.set(wrapping.owner, wrapping.name, wrapping.wrapper)
            self._tell_script(wrapping)

    def _tell_script(self, wrapping: Wrapping) -> None:
        """torch.jit.script knows torch's functions by identity: the wrappers mean the same while they are there."""
        table = torch.jit._builtins._get_builtin_table()
        if id(wrapping.original) in table and id(wrapping.wrapper) not in table:
            table[id(wrapping.wrapper)] = table[id(wrapping.original)]
            self._scripted.append(id(wrapping.wrapper))

    def uninstall(self) -> None:
        """See `Hook.uninstall`."""
        self._patches.undo()
        # an identity that stays in the table would be that of another function once ours is gone
        table = torch.jit._builtins._get_builtin_table()
        while self._scripted:
            table.pop(self._scripted.pop(), None)
        rules = _compiler()
        if rules is not None and not self._compiler_loaded:
            # torch.compile learns torch's functions by identity when it is loaded, and has learnt our wrappers
            for name in ("get_torch_obj_rule_map", "get_tensor_method"):
                clear = getattr(getattr(rules, name, None), "cache_clear", None)
                if clear is not None:
                    clear()

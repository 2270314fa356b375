"""Records which public operations a program calls, with which arguments, while it runs.

Used by the measuring script. torch is imported when a function is called.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from syncwatch.facts import canonical, table
from syncwatch.facts.describe import Call
from syncwatch.facts.observe import asking_replicas, describe_call, name_of, resolve
from syncwatch.facts.ops import silent


class _Recorder:
    def __init__(self) -> None:
        self.calls: list[tuple[str, Call]] = []
        self.depth = 0

    def run(self, name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if self.depth:
            return function(*args, **kwargs)
        self.depth += 1  # describing an argument calls torch, and what the call does inside is its own business
        try:
            # model.parameters() can be read once only
            args = tuple(list(arg) if inspect.isgenerator(arg) else arg for arg in args)
            self.calls.append((name, _described(args, kwargs)))
            return function(*args, **kwargs)
        finally:
            self.depth -= 1


# functions that run the caller's code, whose calls are the caller's
_TRANSPARENT = frozenset({"torch.utils.checkpoint.checkpoint", "torch.vmap", "torch.autograd.grad", "gc.collect"})


def _described(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call:
    with asking_replicas():  # the outermost call has not begun yet
        return describe_call(args, kwargs)


@contextmanager
def recording() -> Iterator[list[tuple[str, Call]]]:
    """Records the outermost calls of PyTorch's public operations: (name, description), as the program goes.

    Python functions of the table that the torch function protocol does not cover (optimizers, distributions,
    torch.cuda) are wrapped meanwhile. Not for threads.
    """
    from torch.overrides import TorchFunctionMode

    recorder = _Recorder()

    class Mode(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
        ) -> Any:
            if getattr(func, "__name__", "") in ("__get__", "__set__"):
                return func(*args, **(kwargs or {}))
            name = name_of(func)
            if name.startswith("torch._ops.profiler."):  # marks for the profiler, around an optimizer's step
                return func(*args, **(kwargs or {}))
            return recorder.run(name, func, args, kwargs or {})

    outer, _RECORDING.recorder = _RECORDING.recorder, recorder
    restore: list[tuple[Any, str, Any]] = []
    try:
        for owner, attribute, wrapper in _wrappers():
            restore.append((owner, attribute, vars(owner).get(attribute)))
            setattr(owner, attribute, wrapper)
        with Mode():
            yield recorder.calls
    finally:
        for owner, attribute, original in restore:
            if original is None:
                delattr(owner, attribute)  # inherited
            else:
                setattr(owner, attribute, original)
        _RECORDING.recorder = outer


class _Recording:
    """Who records at present."""

    recorder: _Recorder | None = None


_RECORDING = _Recording()


def _wrapped(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    constructor = original.__name__ == "__init__"

    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        recorder = _RECORDING.recorder
        if recorder is None:  # somebody kept the wrapper
            return original(*args, **kwargs)
        if not recorder.depth and constructor:
            recorder.depth += 1
            try:
                recorder.calls.append((name, _described(args[1:], kwargs)))
                return original(*args, **kwargs)
            finally:
                recorder.depth -= 1
        return recorder.run(name, original, args, kwargs)

    return wrapper


@functools.cache
def _wrappers() -> list[tuple[Any, str, Callable[..., Any]]]:
    """(owner, attribute, wrapper) of `_python_operations`, made once: the measuring script records thousands of
    programs."""
    found = []
    for owner, attribute, value, name in _python_operations():
        wrapper = _wrapped(value, name)
        # torchvision finds the kernels of its transforms by the function itself
        kernels = getattr(sys.modules.get("torchvision.transforms.v2.functional._utils"), "_KERNEL_REGISTRY", {})
        if value in kernels:
            kernels[wrapper] = kernels[value]
        found.append((owner, attribute, wrapper))
    return found


def _python_operations() -> list[tuple[Any, str, Any, str]]:
    """(owner, attribute, original, name) of the table's functions that are plain Python outside the protocol."""
    from torch.overrides import get_ignored_functions, get_testing_overrides

    covered = set(get_testing_overrides()) - set(get_ignored_functions())
    found: dict[tuple[int, str], tuple[Any, str, Any, str]] = {}
    for name in (*table().public, *silent.public()):
        if name in _TRANSPARENT or name.startswith("torch.Tensor."):
            continue
        owner_name, _, attribute = name.rpartition(".")
        try:
            owner = resolve(owner_name)
        except (AttributeError, ModuleNotFoundError):
            continue
        value = vars(owner).get(attribute) if hasattr(owner, "__dict__") else None
        if value is None and isinstance(owner, type) and attribute not in ("__call__", "__init__"):
            value = getattr(owner, attribute, None)  # inherited: patched on the class itself, and deleted later
        label = name
        if isinstance(value, type) and "__init__" in vars(value):
            owner, attribute, value = value, "__init__", vars(value)["__init__"]
        if isinstance(value, staticmethod) or not _patchable(value) or value in covered:
            continue
        found.setdefault(
            (id(owner), attribute), (owner, attribute, value, canonical(label) if attribute == "__init__" else label)
        )
    return list(found.values())


def _patchable(value: Any) -> bool:
    if isinstance(value, types.FunctionType) or type(value).__name__ == "tensortype":
        return True
    return isinstance(value, types.BuiltinFunctionType) and value.__module__ in ("pickle", "_pickle")

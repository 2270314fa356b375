"""What a project says of its own code: `hot`, `device-names`, `sync-functions` and `moves-to-device`.

Names are compared by their ends: `utils.wait` means every function whose dotted name, or whose name as written at the
call, is `utils.wait` or ends in `.utils.wait`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from syncwatch.model import Certainty, Kind
from syncwatch.static import ir
from syncwatch.static.infer import events
from syncwatch.static.library.frameworks import to_device
from syncwatch.static.library.tensors import on
from syncwatch.static.options import Options
from syncwatch.static.values import UNKNOWN, Bound, Func, Lib, Partial, Tensor, Value

if TYPE_CHECKING:
    from syncwatch.static.infer.machine import Interpreter


class Configured:
    """The project's names, ready to be asked. Every answer is quick where nothing was configured."""

    def __init__(self, options: Options) -> None:
        self._hot = _Names(options.hot)
        self._devices = _Names(options.device_names)
        self._syncs = _Names(options.sync_functions)
        self._moves = _Names(options.moves_to_device)

    def hot(self, func: Func) -> bool:
        """Whether a function was said to run at every step."""
        return bool(self._hot) and any(name in self._hot for name in _names(func))

    def device(self, node: ir.Expr) -> bool:
        """Whether an expression was said to name the accelerator."""
        return bool(self._devices) and dotted(node) in self._devices

    def called(self, m: Interpreter, node: ir.Call, func: Value) -> None:
        """Notes the wait of a call of one of `sync-functions`."""
        if self._syncs and (name := self._syncs.first((*_names(func), dotted(node.func)))) is not None:
            why = "named in sync-functions"
            events.record(m, Kind.DEVICE_WAIT, name, Certainty.CERTAIN, True, "call", why, node, node.pos)

    def returned(self, m: Interpreter, node: ir.Call, func: Value, args: Sequence[Value], value: Value) -> Value:
        """The result of a call: the first argument on the device, for one of `moves-to-device`."""
        if not self._moves or self._moves.first((*_names(func), dotted(node.func))) is None:
            return value
        where = on(m.accelerator())
        moved = UNKNOWN if not args else args[0]
        if moved is UNKNOWN:
            return Tensor(where.device, where.sure)
        return to_device(m, moved, where)


class _Names:
    """A few dotted names, of which each also stands for all that end in it."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        self._ends = tuple(f".{name}" for name in self._names)

    def __bool__(self) -> bool:
        return bool(self._names)

    def __contains__(self, name: str) -> bool:
        return name in self._names or name.endswith(self._ends)

    def first(self, names: Iterable[str]) -> str | None:
        """The configured name that one of `names` is meant by, None where there is none."""
        for name in names:
            if name in self:
                return next(known for known in self._names if name == known or name.endswith(f".{known}"))
        return None


def _names(func: Value) -> tuple[str, ...]:
    """The dotted names of what is called."""
    kind: Any = type(func)
    if kind is Func:
        return (f"{func.module.name}.{func.qualname}",)
    if kind is Bound or kind is Partial:
        return _names(func.func)
    return (func.name,) if isinstance(func, Lib) else ()


def dotted(node: ir.Expr) -> str:
    """`a.b.c` as it is written; "" for any other expression."""
    words: list[str] = []
    while type(node) is ir.Attr:
        words.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(words)]) if type(node) is ir.Name else ""

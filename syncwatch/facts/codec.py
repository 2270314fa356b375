"""Descriptions of calls as plain JSON values, and back: what the measuring script stores, the tests read."""

from __future__ import annotations

import math
from typing import Any

from syncwatch.facts.describe import MISSING, Arg, Call

_FIELDS = ("device", "dim", "dtype", "nbytes", "pinned", "dense", "requires_grad")


def plain_arg(arg: Arg) -> Any:
    """A number, string, boolean or None stands for itself; all else is an object that names its sort."""
    if isinstance(arg.value, float) and not math.isfinite(arg.value):  # JSON has no infinity
        return {"sort": arg.sort}
    if arg.value is not MISSING and arg.sort in ("number", "bool", "str") and isinstance(arg.value, (int, float, str)):
        return arg.value
    if arg.sort == "none":
        return None
    plain: dict[str, Any] = {"sort": arg.sort}
    plain.update((name, value) for name in _FIELDS if (value := getattr(arg, name)) is not None)
    if plain.get("requires_grad") is False:
        del plain["requires_grad"]
    if isinstance(arg.value, (int, float, str)):
        plain["value"] = arg.value
    if arg.items is not None:
        plain["items"] = [plain_arg(item) for item in arg.items]
    if arg.attrs:
        plain["attrs"] = {name: plain_arg(value) for name, value in arg.attrs.items()}
    return plain


def read_arg(plain: Any) -> Arg:
    """Raises ValueError where `plain` is not what `plain_arg` writes."""
    if plain is None:
        return Arg("none")
    if isinstance(plain, bool):
        return Arg("bool", value=plain)
    if isinstance(plain, (int, float)):
        return Arg("number", value=plain)
    if isinstance(plain, str):
        return Arg("str", value=plain)
    if not isinstance(plain, dict) or "sort" not in plain:
        raise ValueError(f"not a description of an argument: {plain!r}")
    return Arg(
        plain["sort"],
        **{name: plain[name] for name in _FIELDS if name in plain},
        value=plain.get("value", MISSING),
        items=tuple(read_arg(item) for item in plain["items"]) if "items" in plain else None,
        attrs={name: read_arg(value) for name, value in plain.get("attrs", {}).items()},
    )


def plain_call(op: str, call: Call) -> list[Any]:
    plain: list[Any] = [op, [plain_arg(arg) for arg in call.args]]
    if call.kwargs:
        plain.append({name: plain_arg(arg) for name, arg in call.kwargs.items()})
    return plain


def read_call(plain: list[Any]) -> tuple[str, Call]:
    """Raises ValueError where `plain` is not what `plain_call` writes."""
    if not isinstance(plain, list) or not 2 <= len(plain) <= 3 or not isinstance(plain[0], str):
        raise ValueError(f"not a description of a call: {plain!r}")
    kwargs = {name: read_arg(value) for name, value in (plain[2] if len(plain) == 3 else {}).items()}
    return plain[0], Call(tuple(read_arg(arg) for arg in plain[1]), kwargs)

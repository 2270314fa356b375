"""The math module: on a CUDA tensor its functions read the value."""

from __future__ import annotations

import math
from typing import Any

from syncwatch.static.library.protocol import LibCall, attribute, default
from syncwatch.static.values import (
    BOOL,
    FLOAT,
    INT,
    NUMBER,
    UNKNOWN,
    Array,
    Const,
    Lib,
    Tensor,
    Value,
    const,
    members,
)

_BOOL = frozenset({"isnan", "isinf", "isfinite", "isclose"})
_INT = frozenset({"ceil", "floor", "trunc", "gcd", "lcm", "comb", "factorial", "isqrt", "perm"})


@attribute("math.*")
def _constant(m: Any, v: Value, name: str) -> Value:
    return const(getattr(math, name)) if name in ("pi", "e", "inf", "nan", "tau") else UNKNOWN


@default("math.", "cmath.")
def _function(m: Any, c: LibCall) -> Value:
    name = c.name.rpartition(".")[2]
    for a in c.args:
        for v in members(a):
            if type(v) is Tensor:
                op = "__index__" if name in ("gcd", "lcm", "factorial", "comb", "perm") else "__float__"
                m.implicit(f"torch.Tensor.{op}", v, "math")
    if c.args and all(type(a) is Const and a.kind in ("int", "float", "bool") for a in c.args):
        function = getattr(math, name, None)
        if callable(function) and name not in ("factorial", "comb", "perm"):
            try:
                return const(function(*(a.value for a in c.args)))
            except (ArithmeticError, ValueError, TypeError):
                return NUMBER
    if name in _BOOL:
        return BOOL
    return INT if name in _INT else FLOAT


__all__ = ["Array", "Lib"]

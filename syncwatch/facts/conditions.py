"""Conditions of the table: three-valued tests on the arguments of a call that describe themselves in words.

A test answers True, False, or None where an argument that matters is not known. Conditions are combined with `&`,
`|` and `~`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import msgspec

from syncwatch.facts.describe import MISSING, UNKNOWN, Arg

Verdict: TypeAlias = "bool | None"

HOST_DATA = frozenset({"number", "bool", "ndarray", "sequence", "tuple", "str"})
SEQUENCES = frozenset({"sequence", "tuple"})


class Bound:
    """The arguments of one call under the names of its parameters.

    `complete` is False where `*args` or `**kwargs` of unknown content were passed: then an absent argument is unknown.
    """

    __slots__ = ("complete", "values")

    def __init__(self, values: dict[str, Arg], complete: bool = True) -> None:
        self.values = values
        self.complete = complete

    def get(self, name: str) -> Arg | None:
        """The argument; None where it was not passed."""
        found = self.values.get(name)
        if found is None and not self.complete:
            return UNKNOWN
        return found


def all_of(verdicts: Iterator[Verdict]) -> Verdict:
    result: Verdict = True
    for verdict in verdicts:
        if verdict is False:
            return False
        if verdict is None:
            result = None
    return result


def any_of(verdicts: Iterator[Verdict]) -> Verdict:
    result: Verdict = False
    for verdict in verdicts:
        if verdict is True:
            return True
        if verdict is None:
            result = None
    return result


def opposite(verdict: Verdict) -> Verdict:
    return None if verdict is None else not verdict


class Condition(msgspec.Struct, frozen=True):
    """A test with its words: `words` completes "it waits where …", `otherwise` says the contrary."""

    words: str
    test: Callable[[Bound], Verdict]
    otherwise: str = ""

    def __call__(self, bound: Bound) -> Verdict:
        return self.test(bound)

    def __and__(self, other: Condition) -> Condition:
        return Condition(
            " and ".join(filter(None, (self.words, other.words))),
            lambda bound: all_of(condition.test(bound) for condition in (self, other)),
            " or ".join(filter(None, (self.otherwise, other.otherwise))),
        )

    def __or__(self, other: Condition) -> Condition:
        return Condition(
            f"{self.words}, or {other.words}",
            lambda bound: any_of(condition.test(bound) for condition in (self, other)),
            " and ".join(filter(None, (self.otherwise, other.otherwise))),
        )

    def __invert__(self) -> Condition:
        return Condition(self.otherwise or f"not ({self.words})", lambda bound: opposite(self.test(bound)), self.words)

    def described(self, words: str, otherwise: str = "") -> Condition:
        """The same test under better words."""
        return Condition(words, self.test, otherwise or f"not ({words})")


# ------------------------------------------------------------------------------------------- what an argument is


def device_named(arg: Arg | None) -> str | None:
    """The device type that an argument names ("cuda", "cpu", "meta"); None where it is unknown or names none."""
    if arg is None:
        return None
    if arg.device is not None:
        return arg.device
    if isinstance(arg.value, str):
        return arg.value.partition(":")[0]
    if arg.sort == "number":
        return "cuda"
    return None


def is_cuda(arg: Arg | None) -> Verdict:
    """Whether the argument is a tensor on a GPU, or a sequence or mapping that holds one."""
    if arg is None:
        return False
    if arg.sort in ("tensor", "unknown", "module", "object"):
        return None if arg.device is None else arg.device == "cuda"
    if arg.sort in SEQUENCES:
        return None if arg.items is None else any_of(is_cuda(item) for item in arg.items)
    if arg.sort == "mapping":
        return None if arg.items is None else any_of(is_cuda(item) for item in arg.items)
    return False


def is_host(arg: Arg | None) -> Verdict:
    """Whether the argument is data in host memory: a CPU tensor, an array, a number, a list of them."""
    if arg is None:
        return False
    if arg.sort in ("tensor", "unknown", "module"):
        return None if arg.device is None else arg.device == "cpu"
    if arg.sort in SEQUENCES and arg.items is not None and any(is_cuda(item) for item in arg.items):
        return False
    return arg.sort in HOST_DATA


def is_tensor(arg: Arg | None) -> Verdict:
    if arg is None:
        return False
    return None if arg.sort == "unknown" else arg.sort == "tensor"


def truth(arg: Arg | None, default: bool) -> Verdict:
    """The value of a flag; None where it is passed and not known."""
    if arg is None:
        return default
    if arg.sort == "none":
        return False
    if arg.value is MISSING:
        return None
    return bool(arg.value)


def is_given(arg: Arg | None, *same_as_absent: object) -> Verdict:
    """Whether an argument is passed with a value that differs from None and `same_as_absent`."""
    if arg is None or arg.sort == "none":
        return False
    if arg.sort == "unknown" and arg.value is MISSING and arg.device is None:
        return None
    if arg.value is MISSING:
        return None if same_as_absent and arg.sort in ("number", "str", "bool") else True
    return not any(arg.value is other or arg.value == other for other in same_as_absent)


# ------------------------------------------------------------------------------------------- the building blocks


def always(words: str = "it always waits") -> Condition:
    return Condition(words, lambda bound: True, "never")


def never() -> Condition:
    return Condition("never", lambda bound: False, "always")


def label(name: str) -> str:
    return "the tensor" if name == "input" else f"`{name}`"


def on_cuda(*names: str) -> Condition:
    """One of the arguments is a CUDA tensor."""
    words = " or ".join(label(name) for name in names)
    return Condition(
        f"{words} is on the GPU",
        lambda bound: any_of(is_cuda(bound.get(name)) for name in names),
        f"{words} is in host memory",
    )


def on_host(name: str) -> Condition:
    return Condition(
        f"{label(name)} is in host memory", lambda bound: is_host(bound.get(name)), f"{label(name)} is on the GPU"
    )


def given(name: str, *same_as_absent: object) -> Condition:
    return Condition(
        f"`{name}` is given", lambda bound: is_given(bound.get(name), *same_as_absent), f"`{name}` is not given"
    )


def absent(name: str, *same_as_absent: object) -> Condition:
    return ~given(name, *same_as_absent)


def flag(name: str, default: bool = False) -> Condition:
    return Condition(
        f"`{name}=True`" if not default else f"`{name}` is not switched off",
        lambda bound: truth(bound.get(name), default),
        f"`{name}` is not set" if not default else f"`{name}=False`",
    )


def equals(name: str, *values: object, default: object = MISSING) -> Condition:
    """The argument is a host constant that is one of `values`; `default` is what an absent argument means."""

    def test(bound: Bound) -> Verdict:
        arg = bound.get(name)
        value = default if arg is None else (None if arg.sort == "none" else arg.value)
        if value is MISSING:
            return False if arg is None else None
        return any(value is other or value == other for other in values)

    shown = " or ".join(repr(value) for value in values)
    return Condition(f"`{name}` is {shown}", test, f"`{name}` is not {shown}")


def boolean(name: str) -> Condition:
    """The argument is a mask: a tensor of type bool or uint8."""

    def test(bound: Bound) -> Verdict:
        arg = bound.get(name)
        if arg is None:
            return False
        return None if arg.dtype is None else arg.dtype in ("bool", "uint8")

    return Condition(f"{label(name)} is a mask", test, f"{label(name)} is not a mask")


def dtype_is(name: str, *dtypes: str) -> Condition:
    def test(bound: Bound) -> Verdict:
        arg = bound.get(name)
        if arg is None:
            return False
        return None if arg.dtype is None else arg.dtype in dtypes

    shown = " or ".join(dtypes)
    return Condition(f"{label(name)} has type {shown}", test, f"{label(name)} has not type {shown}")


def tensor(name: str) -> Condition:
    return Condition(
        f"{label(name)} is a tensor", lambda bound: is_tensor(bound.get(name)), f"{label(name)} is no tensor"
    )


def zero_dim(name: str) -> Condition:
    def test(bound: Bound) -> Verdict:
        arg = bound.get(name)
        if arg is None:
            return False
        if arg.sort in ("number", "bool"):
            return True
        return None if arg.dim is None else arg.dim == 0

    return Condition(f"{label(name)} has no dimensions", test, f"{label(name)} has dimensions")


def not_zero_dim(name: str) -> Condition:
    """The contrary of `zero_dim`, and true where nothing is known: for operations that wait either way."""
    inner = zero_dim(name)
    return Condition(inner.otherwise, lambda bound: inner.test(bound) is not True, inner.words)


def pinned(name: str) -> Condition:
    def test(bound: Bound) -> Verdict:
        arg = bound.get(name)
        if arg is None or arg.sort in HOST_DATA:
            return False
        return arg.pinned

    return Condition(f"{label(name)} is pinned", test, f"{label(name)} is pageable")


def dense(name: str) -> Condition:
    def test(bound: Bound) -> Verdict:
        arg = bound.get(name)
        return None if arg is None else arg.dense

    return Condition(f"{label(name)} is dense", test, f"{label(name)} has gaps and is packed first")


def larger(name: str, nbytes: int) -> Condition:
    def test(bound: Bound) -> Verdict:
        arg = bound.get(name)
        return None if arg is None or arg.nbytes is None else arg.nbytes > nbytes

    shown = f"{nbytes >> 20} MB" if nbytes >= 1 << 20 else f"{nbytes >> 10} KB"
    return Condition(f"{label(name)} is larger than {shown}", test, f"{label(name)} has at most {shown}")


def device_is(name: str, device: str) -> Condition:
    """The argument names a device of this type."""

    def test(bound: Bound) -> Verdict:
        arg = bound.get(name)
        if arg is None or arg.sort == "none":
            return False
        named = device_named(arg)
        return None if named is None else named == device

    other = {"cuda": "the GPU", "cpu": "the host"}.get(device, device)
    return Condition(f"`{name}` names {other}", test, f"`{name}` does not name {other}")


def numel(arg: Arg | None) -> int | None:
    """The number of elements of a tensor, where its size and the size of an element are known."""
    if arg is None or arg.nbytes is None or "itemsize" not in arg.attrs:
        return None
    itemsize = arg.attrs["itemsize"].value
    return arg.nbytes // itemsize if isinstance(itemsize, int) and itemsize else None


def filled(name: str) -> Condition:
    """The tensor has elements. Where its size is not known it is taken to have some."""

    def test(bound: Bound) -> Verdict:
        arg = bound.get(name)
        return arg is not None and arg.nbytes != 0

    return Condition("", test, f"{label(name)} is empty")


def attr(name: str, attribute: str, default: bool, unknown: Verdict = None) -> Condition:
    """A boolean attribute of an object: an optimizer's `fused`, a module's `training`.

    `unknown` is the answer where nothing is known of the attribute.
    """

    def test(bound: Bound) -> Verdict:
        arg = bound.get(name)
        if arg is None or attribute not in arg.attrs:
            return unknown
        verdict = truth(arg.attrs[attribute], default)
        return unknown if verdict is None else verdict

    return Condition(f"`{attribute}` is set", test, f"`{attribute}` is not set")


def told(name: str, attribute: str, *values: object, words: str, otherwise: str, unknown: Verdict = None) -> Condition:
    """An attribute of the argument is one of `values`: a tensor's layout, the class of a distribution.

    `unknown` is the answer where nothing is known of the attribute.
    """

    def test(bound: Bound) -> Verdict:
        arg = bound.get(name)
        if arg is None or attribute not in arg.attrs:
            return unknown
        return arg.attrs[attribute].value in values

    return Condition(words, test, otherwise)


def laid_out(name: str, *layouts: str) -> Condition:
    """The tensor has one of these layouts: "sparse_coo", "sparse_csr", "jagged", "nested". Others are strided."""
    shown = " or ".join(layouts)
    return told(
        name,
        "layout",
        *layouts,
        words=f"{label(name)} is {shown}",
        otherwise=f"{label(name)} is not {shown}",
        unknown=False,
    )

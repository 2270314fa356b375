"""A CUDA tensor given where PyTorch needs a host number: sizes, bounds, fill values, `alpha`."""

from __future__ import annotations

from syncwatch.facts.conditions import SEQUENCES, Bound, Condition, any_of, is_cuda
from syncwatch.facts.describe import Arg
from syncwatch.facts.table import Case
from syncwatch.model import Kind

HOST_NUMBER = "pass a Python number, or compute on the device with the operation's tensor form"


def count_cuda(arg: Arg | None) -> int | None:
    """How many CUDA tensors the argument is or holds; None where that is not known."""
    if arg is None:
        return 0
    if arg.sort in SEQUENCES or arg.sort == "mapping":
        if arg.items is None:
            return None
        total = 0
        for item in arg.items:
            number = count_cuda(item)
            if number is None:
                return None
            total += number
        return total
    verdict = is_cuda(arg)
    return None if verdict is None else int(verdict)


def known_cuda(arg: Arg | None) -> bool | None:
    """As `is_cuda`, but an argument of unknown sort is taken for the host number that the signature asks for."""
    if arg is not None and arg.sort == "unknown" and arg.device is None:
        return False
    if arg is not None and arg.sort in SEQUENCES:
        return any_of(known_cuda(item) for item in arg.items or ())
    return is_cuda(arg)


def host_numbers(*names: str) -> Case:
    """One wait for each CUDA tensor among the arguments, which are host numbers by their signature."""
    words = " or ".join(f"`{name}`" for name in names)

    def waits(bound: Bound) -> int | None:
        total = 0
        for name in names:
            number = count_cuda(bound.get(name))
            if number is None:
                return None
            total += number
        return total

    return Case(
        Kind.SCALAR_READ,
        Condition(
            f"a CUDA tensor is passed as {words}, which is a host number",
            lambda bound: any_of(known_cuda(bound.get(name)) for name in names),
            f"{words} is a host number",
        ),
        waits,
        instead=HOST_NUMBER,
    )

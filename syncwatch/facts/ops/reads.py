"""Reads: one value, or a tensor's content, goes to the host."""

from __future__ import annotations

from syncwatch.facts.conditions import (
    Bound,
    Condition,
    Verdict,
    any_of,
    flag,
    is_cuda,
    not_zero_dim,
    numel,
    on_cuda,
    zero_dim,
)
from syncwatch.facts.ops.scalars import count_cuda
from syncwatch.facts.table import both, copies_out, fact, functions, methods, reads

LATER = "keep the value on the device and read it once, after the loop or every N steps"
LOG_LATER = "collect detached tensors and format them once, after the loop or every N steps"
ON_DEVICE = "keep the choice on the device (torch.where, masked_fill), or test it every N steps"

_cuda = on_cuda("input")


def may_be_equal(bound: Bound) -> Verdict:
    """Tensors of different dimensions or sizes differ without a look at the data."""
    one, other = bound.get("input"), bound.get("other")
    if one is None or other is None:
        return True
    for mine, theirs in ((one.dim, other.dim), (numel(one), numel(other))):
        if mine is not None and theirs is not None and mine != theirs:
            return False
    return True


FACTS = (
    fact(methods("item"), "input", reads(_cuda, explicit=True), instead=LATER),
    fact(
        methods("tolist"),
        "input",
        reads(_cuda & zero_dim("input"), explicit=True),
        copies_out(_cuda & not_zero_dim("input"), explicit=True),
        instead=LATER,
    ),
    fact(methods("__float__", "__int__", "__index__", "__complex__", "__long__"), "input", reads(_cuda), instead=LATER),
    fact(methods("__bool__", "__nonzero__"), "input", reads(_cuda), instead=ON_DEVICE),
    fact(both("is_nonzero"), "input", reads(_cuda), instead=ON_DEVICE),
    fact(
        methods("__format__"),
        "input format_spec",
        reads(_cuda & zero_dim("input")),
        reads(_cuda & not_zero_dim("input"), waits=None),
        instead=LOG_LATER,
        note="A tensor with dimensions is written element by element, as by print.",
    ),
    fact(
        (*methods("__repr__", "__str__"), "torch._tensor_str._str"),
        "input",
        reads(_cuda, waits=None),
        instead=LOG_LATER,
        note="Every element shown is read on its own: 8 waits for one number, 2,005 for a vector of 1,000.",
    ),
    fact(methods("__contains__"), "input element", reads(_cuda), instead=ON_DEVICE),
    fact(
        both("equal"),
        "input other",
        reads(_cuda & Condition("", may_be_equal, "the shapes differ")),
        instead="compare on the device: (a == b).all()",
        note="Tensors of different shapes, or one tensor with itself, are told apart on the host, without a wait.",
    ),
    fact(
        both("allclose"),
        "input other rtol atol equal_nan",
        reads(_cuda),
        instead="torch.isclose(a, b).all() stays on the device",
    ),
    fact(
        methods("cpu"),
        "input memory_format",
        copies_out(_cuda, explicit=True),
        instead='to("cpu", non_blocking=True) into pinned memory, then one event before the data is read',
    ),
    fact(
        methods("numpy"),
        "input",
        copies_out(_cuda & flag("force"), explicit=True),
        instead="keep the work in torch, or copy once after the loop",
        note="Without force=True a CUDA tensor is refused with TypeError.",
    ),
    fact(methods("__array__"), "input dtype", note="A CUDA tensor is refused with TypeError: call cpu() first."),
    fact(
        ("torch.save",),
        "obj f",
        copies_out(on_cuda("obj"), waits=lambda bound: count_cuda(bound.get("obj")), explicit=True),
        instead="save every N steps, from a host copy made on a side stream",
    ),
    fact(
        (*methods("__reduce_ex__", "__reduce__"), "pickle.dumps", "pickle.dump"),
        "obj file",
        copies_out(on_cuda("obj"), waits=lambda bound: count_cuda(bound.get("obj")), explicit=True),
        instead="send host data, or share CUDA tensors with torch.multiprocessing",
    ),
    fact(
        functions("testing.assert_close", "testing.assert_allclose"),
        "actual expected",
        reads(
            Condition(
                "a CUDA tensor is compared",
                lambda bound: any_of(is_cuda(bound.get(name)) for name in ("actual", "expected")),
                "both are in host memory",
            ),
            waits=None,
        ),
    ),
)

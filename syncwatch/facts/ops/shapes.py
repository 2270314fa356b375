"""Operations whose output has a size that depends on data, or whose arguments are host numbers by their signature."""

from __future__ import annotations

from syncwatch.facts.conditions import (
    Bound,
    Condition,
    Verdict,
    absent,
    all_of,
    any_of,
    filled,
    flag,
    given,
    is_cuda,
    is_given,
    is_tensor,
    laid_out,
    numel,
    on_cuda,
    opposite,
    tensor,
    truth,
)
from syncwatch.facts.ops.scalars import host_numbers
from syncwatch.facts.table import (
    Case,
    both,
    copies_out,
    fact,
    functional,
    functions,
    methods,
    reads,
    sizes_by_data,
    uploads,
)
from syncwatch.model import Kind

WHERE = "torch.where, masked_fill or a weight of zero keep the shape; nonzero_static takes a known number"

_cuda = on_cuda("input")
_HOST = "the tensor is in host memory, or empty"


def _only_condition(bound: Bound) -> Verdict:
    return opposite(any_of(is_given(bound.get(name)) for name in ("input", "other")))


_one_argument = Condition(
    "torch.where has one argument, so that it lists the true positions", _only_condition, "it has three arguments"
)


def _host_operand(*names: str) -> Condition:
    """A 0-d CPU tensor beside CUDA tensors, which the operation uploads."""

    def test(bound: Bound) -> Verdict:
        return any_of(_cpu_tensor(bound, name) for name in names)

    def _cpu_tensor(bound: Bound, name: str) -> Verdict:
        arg = bound.get(name)
        if arg is None or arg.sort in ("number", "bool"):
            return False
        return None if arg.device is None else arg.device == "cpu"

    words = " or ".join(f"`{name}`" for name in names)
    return Condition(f"{words} is a CPU tensor", test, f"{words} is a number or on the device")


def _is_number(bound: Bound, name: str) -> Verdict:
    return all_of(iter((is_given(bound.get(name)), opposite(is_tensor(bound.get(name))))))


def _sorts(bound: Bound) -> Verdict:
    """isin compares each with each where one side is small (PyTorch's own rule), and sorts both otherwise."""
    tested, elements = bound.get("test_elements"), bound.get("elements")
    if tested is not None and tested.sort == "number":
        return False
    few, many = numel(tested), numel(elements)
    return None if few is None or many is None else few >= 10.0 * many**0.145


def _isin_waits(bound: Bound) -> int | None:
    unique = truth(bound.get("assume_unique"), False)
    return None if unique is None else (1 if unique else 3)


def _cov_waits(bound: Bound) -> int | None:
    """One for the divisor, two for either kind of weights, three for both."""
    weights = [is_given(bound.get(name)) for name in ("fweights", "aweights")]
    if None in weights:
        return None
    return (1, 3, 4)[sum(weight is True for weight in weights)]


SORTED_SEARCH = Condition(
    "there are many elements to look for, so that both sides are sorted",
    _sorts,
    "there are few elements to look for, which are compared one by one",
)

FACTS = (
    fact(
        both("nonzero", "argwhere"),
        "input",
        sizes_by_data(_cuda),
        instead=WHERE,
    ),
    fact(
        both("where"),
        "condition input other",
        sizes_by_data(on_cuda("condition") & _one_argument),
        uploads(on_cuda("condition") & _host_operand("input", "other"), instead="pass a Python number"),
        instead=WHERE,
    ),
    fact(both("masked_select"), "input mask", sizes_by_data(on_cuda("input", "mask")), instead=WHERE),
    fact(
        both("unique"),
        "input sorted return_inverse return_counts dim",
        sizes_by_data((_cuda & filled("input") & absent("dim")).described("the tensor is on the GPU", _HOST)),
        sizes_by_data(
            (_cuda & filled("input") & given("dim")).described("the tensor is on the GPU, and `dim` is given", _HOST),
            waits=None,
            reported=False,
        ),
        instead="do it in the data pipeline",
    ),
    fact(
        both("unique_consecutive"), "input return_inverse", sizes_by_data(_cuda), instead="do it in the data pipeline"
    ),
    fact(
        both("repeat_interleave"),
        "input repeats dim output_size",
        sizes_by_data(
            (
                (on_cuda("repeats") | (_cuda & Condition("", lambda bound: bound.get("repeats") is None, "")))
                & absent("output_size")
            ).described(
                "the repeats are on the GPU and output_size is not given",
                "output_size is given, or the repeats are host numbers",
            ),
            waits=2,
        ),
        instead="pass output_size=, or a Python number of repeats",
    ),
    fact(
        both("bincount"),
        "input weights minlength",
        sizes_by_data(_cuda, waits=2),
        instead="scatter_add_ into a tensor of known size: torch.zeros(n, device=…).scatter_add_(0, x, ones)",
    ),
    fact(
        both("histc"),
        "input bins min max",
        reads(
            _cuda
            & Condition(
                "no bounds are given, so that the smallest and largest value are read",
                lambda bound: all_of(opposite(is_given(bound.get(name), 0)) for name in ("min", "max")),
                "min and max are given",
            ),
            waits=2,
        ),
        instead="pass min= and max=",
    ),
    fact(
        functional("one_hot"),
        "input num_classes",
        reads(_cuda & absent("num_classes", -1)),
        host_numbers("num_classes"),
        instead="pass num_classes=",
    ),
    fact(
        functions("combinations"),
        "input r with_replacement",
        sizes_by_data(_cuda, waits=2),
        instead="index with pairs from torch.triu_indices(n, n, 1, device=x.device)",
    ),
    fact(
        functions("segment_reduce"),
        "data reduce lengths indices offsets axis unsafe",
        reads(on_cuda("data") & given("lengths") & ~flag("unsafe"), waits=2),
        instead="pass unsafe=True, or use scatter_reduce",
    ),
    fact(
        functions("isin"),
        "elements test_elements",
        sizes_by_data(on_cuda("elements", "test_elements") & SORTED_SEARCH, waits=_isin_waits),
        instead="compare by broadcasting: (x[:, None] == values).any(-1)",
    ),
    fact(both("nonzero_static"), "input", host_numbers("size", "fill_value"), note="The size is given: no wait."),
    fact(both("corrcoef"), "input", reads(_cuda), instead="compute it from the centred product by hand"),
    fact(
        both("cov"),
        "input correction fweights aweights",
        reads(_cuda, waits=_cov_waits),
        instead="compute it from the centred product by hand",
    ),
    fact(("torch.unravel_index",), "input shape", reads(_cuda, waits=2), instead="divide and take remainders by hand"),
    fact(both("istft"), "input n_fft", reads(_cuda), instead="keep the window's envelope check out of the step"),
    fact(
        (*both("masked_fill"), "torch.Tensor.masked_fill_"),
        "input mask value",
        reads(on_cuda("value"), instead="torch.where(mask, value, x) takes a device value"),
    ),
    fact(
        (*both("index_fill"), "torch.Tensor.index_fill_"),
        "input dim index value",
        reads(on_cuda("value"), instead="index_copy with value.expand(…)"),
    ),
    fact(methods("fill_"), "input value", note="A CUDA value is copied on the device."),
    fact(
        (*both("add", "sub", "subtract"), *methods("add_", "sub_", "subtract_"), "torch.rsub"),
        "input other",
        host_numbers("alpha"),
        Case(
            Kind.DYNAMIC_SHAPE,
            (_cuda & laid_out("input", "sparse_coo") & laid_out("other", "sparse_coo")).described(
                "both are sparse, so that the size of the result depends on them", "one is strided"
            ),
            None,
            reported=False,
        ),
    ),
    fact(
        functions("tensordot"),
        "a b dims",
        copies_out(
            on_cuda("dims").described("the axes are a tensor on the GPU, and are read", "the axes are host numbers"),
            waits=2,
        ),
        instead="pass the axes as lists",
    ),
    fact(
        functions("_foreach_lerp", "_foreach_lerp_"),
        "input tensors weight",
        reads(
            (on_cuda("weight") & tensor("weight")).described(
                "the weight is a CUDA tensor, which is read", "the weight is a host number, or a list of tensors"
            )
        ),
        instead="pass a Python number",
    ),
    fact(
        (*both("clamp", "clip"), *methods("clamp_", "clip_")),
        "input min max",
        reads(
            Condition(
                "one bound is a CUDA tensor and the other a number, so that the tensor is read",
                lambda bound: any_of(
                    all_of(iter((is_cuda(bound.get(one)), _is_number(bound, other))))
                    for one, other in (("min", "max"), ("max", "min"))
                ),
                "both bounds are tensors, or one is left out",
            )
        ),
        instead="clamp_min and clamp_max one after the other, or two tensors",
    ),
    fact(
        (*methods("view", "reshape", "expand", "repeat", "tile", "resize_"), "torch.tile", "torch.reshape"),
        "input size*",
        host_numbers("size"),
    ),
    fact(both("narrow"), "input dim start length", host_numbers("length", "dim", "start")),
    fact(both("split", "chunk"), "input split_size dim", host_numbers("split_size", "dim")),
    fact(
        functions("zeros", "ones", "empty", "rand", "randn"),
        "size*",
        host_numbers("size"),
    ),
    fact(functions("arange", "range"), "start end step", host_numbers("start", "end", "step")),
    fact(
        functions("linspace", "logspace"), "start end steps base", reads(on_cuda("start", "end", "steps"), waits=None)
    ),
    fact(
        functions("full"),
        "size fill_value",
        host_numbers("size", "fill_value"),
        instead="torch.empty(…).copy_(value), or value.expand(…)",
    ),
    fact(functions("full_like"), "input fill_value", host_numbers("fill_value")),
    fact(methods("new_full"), "input size fill_value", host_numbers("size", "fill_value")),
    fact(methods("new_zeros", "new_ones", "new_empty"), "input size*", host_numbers("size")),
    fact(functions("randint"), "low high size", host_numbers("low", "high", "size")),
    fact(functions("randperm"), "n", host_numbers("n")),
    fact(functions("eye"), "n m", host_numbers("n", "m")),
)

"""Indexing: `x[i]` and `x[i] = value` with every kind of index and value."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from syncwatch.facts.conditions import (
    SEQUENCES,
    Bound,
    Condition,
    Verdict,
    all_of,
    any_of,
    is_cuda,
    is_host,
    laid_out,
    numel,
    on_cuda,
    truth,
)
from syncwatch.facts.describe import Arg, Call
from syncwatch.facts.table import Case, bind, both, copies_out, fact, methods, reads, sizes_by_data, uploads

WHERE = "torch.where or masked_fill keep the shape; or keep indices of a fixed number (topk, nonzero_static)"
INDEX_ONCE = "build the index on the device once (torch.tensor(..., device=x.device)) and reuse it"
FILL = "x[i].fill_(value) fills on the device, also where one element is written"
DEVICE_INDEX = "index_select or gather with the index on the device"

_BASIC = frozenset({"number", "slice", "ellipsis", "none", "bool"})


def components(index: Arg | None) -> Iterator[Arg]:
    """The parts of an index: those of a tuple, else the index itself."""
    if index is None:
        return
    if index.sort == "tuple" and index.items is not None:
        yield from index.items
    else:
        yield index


def _mask(part: Arg) -> Verdict:
    """A mask on the GPU: how many elements it picks is known only there."""
    if part.sort in _BASIC:
        return False
    if part.sort in SEQUENCES or part.sort == "ndarray":
        return _boolean_list(part)  # it goes to the device first
    boolean = None if part.dtype is None else part.dtype in ("bool", "uint8")
    return all_of(iter((boolean, is_cuda(part))))


def _boolean_list(part: Arg) -> Verdict:
    if part.sort == "ndarray":
        return None if part.dtype is None else part.dtype == "bool"
    return None if part.items is None else bool(part.items) and part.items[0].sort == "bool"


def _host_index(part: Arg) -> Verdict:
    """A list, array or CPU tensor of integers used as index. (The positions of a mask in host memory are found on the
    host and go through pinned memory, without a wait.)"""
    if part.sort in ("sequence", "ndarray"):
        return True
    if part.sort == "tensor":
        integer = None if part.dtype is None else part.dtype != "bool"
        return all_of(iter((is_host(part), None if part.dim is None else part.dim > 0, integer)))
    return None if part.sort == "unknown" else False


def _scalar_index(part: Arg) -> Verdict:
    """An integer without dimensions on the GPU, or a bound of a slice on the GPU."""
    if part.sort == "slice":
        return False if part.items is None else any_of(is_cuda(item) for item in part.items if item.sort == "tensor")
    if part.sort in ("tensor", "unknown"):
        integer = None if part.dtype is None else part.dtype == "int"
        return all_of(iter((is_cuda(part), None if part.dim is None else part.dim == 0, integer)))
    return False


def _advanced(part: Arg) -> Verdict:
    """The part makes the indexing gather or scatter instead of a view."""
    if part.sort in _BASIC:
        return False
    if part.sort in ("sequence", "ndarray"):
        return True
    if part.sort == "tensor":
        if part.dim is None:
            return None
        return part.dim > 0 or (None if part.dtype is None else part.dtype == "bool")
    return None


def _any_part(test: Callable[[Arg], Verdict]) -> Callable[[Bound], Verdict]:
    def on_bound(bound: Bound) -> Verdict:
        return any_of(test(part) for part in components(bound.get("index")))

    return on_bound


def _count(test: Callable[[Arg], Verdict]) -> Callable[[Bound], int | None]:
    def on_bound(bound: Bound) -> int | None:
        verdicts = [test(part) for part in components(bound.get("index"))]
        return None if None in verdicts else sum(verdict is True for verdict in verdicts)

    return on_bound


def _slice_bounds(bound: Bound) -> int | None:
    total = 0
    for part in components(bound.get("index")):
        if part.sort == "slice" and part.items is not None:
            total += sum(is_cuda(item) is True for item in part.items if item.sort == "tensor")
        else:
            verdict = _scalar_index(part)
            if verdict is None:
                return None
            total += verdict
    return total


def _receiver_cuda(bound: Bound) -> Verdict:
    return is_cuda(bound.get("input"))


_has_mask = Condition(
    "the index is a mask on the GPU, and how many elements it picks is known only there",
    lambda bound: all_of(iter((_receiver_cuda(bound), _any_part(_mask)(bound)))),
    "the index is no mask",
)
_host_part = Condition(
    "a CUDA tensor is indexed with a list, an array or a CPU tensor, which is uploaded",
    lambda bound: all_of(iter((_receiver_cuda(bound), _any_part(_host_index)(bound)))),
    "the index is on the device, or made of numbers and slices",
)
_scalar_part = Condition(
    "an index or a bound of a slice is a number on the GPU, which is read",
    _any_part(_scalar_index),
    "the numbers in the index are host numbers",
)

_index_cases = (
    Case(sizes_by_data(_has_mask).kind, _has_mask, _count(_mask), instead=WHERE),
    uploads(_host_part, waits=_count(_host_index), instead=INDEX_ONCE),
    reads(_scalar_part, waits=_slice_bounds, instead=DEVICE_INDEX),
)

# ------------------------------------------------------------------------------------------- writes


def _host_scalar(value: Arg | None) -> Verdict:
    """The value is one number in host memory, to which PyTorch gives a 0-d CPU tensor."""
    if value is None:
        return False
    if value.sort in ("number", "bool"):
        return True
    if value.sort == "tensor":
        return all_of(iter((is_host(value), None if value.dim is None else value.dim == 0)))
    return None if value.sort == "unknown" else False


def _is_advanced(bound: Bound) -> Verdict:
    return any_of(_advanced(part) for part in components(bound.get("index")))


def _is_masked_fill(bound: Bound) -> Verdict:
    """`x[mask] = number`: one mask, and one number of the host, becomes a fill without a wait."""
    advanced = [part for part in components(bound.get("index")) if _advanced(part) is not False]
    if any(_advanced(part) is None for part in advanced):
        return None
    if len(advanced) != 1 or truth(bound.get("accumulate"), False):
        return False
    mask, value = advanced[0], bound.get("value")
    single = True if numel(value) == 1 and is_host(value) else _host_scalar(value)
    return all_of(iter((mask.dim != 0, _mask(mask), single)))


def _picks_one_element(bound: Bound) -> Verdict:
    """The index leaves no dimension: every dimension has its own number."""
    numbers = 0
    for part in components(bound.get("index")):
        if part.sort == "ellipsis":
            continue
        if part.sort in ("slice", "none", "bool"):
            return False
        if part.sort == "number" or (part.sort == "tensor" and part.dim == 0 and part.dtype == "int"):
            numbers += 1
        else:
            return None
    receiver = bound.get("input")
    return None if receiver is None or receiver.dim is None else receiver.dim == numbers


def _mask_needs_count(bound: Bound) -> Verdict:
    masked = _is_masked_fill(bound)
    return all_of(iter((_receiver_cuda(bound), _any_part(_mask)(bound), None if masked is None else not masked)))


def _uploads_value(bound: Bound) -> Verdict:
    """A host value is copied to the device."""
    value = bound.get("value")
    scalar = _host_scalar(value)
    advanced = _is_advanced(bound)
    if advanced is True and _is_masked_fill(bound):
        return False
    if scalar is False:
        written = is_host(value) if value is not None and value.sort in ("tensor", "unknown") else False
        return all_of(iter((_receiver_cuda(bound), written)))
    if advanced is True:
        masked = _is_masked_fill(bound)
        into = None if masked is None else not masked
    elif advanced is False:
        into = _picks_one_element(bound)
    else:
        into = None
    return all_of(iter((_receiver_cuda(bound), scalar, into)))


def _value_to_host(bound: Bound) -> Verdict:
    receiver = bound.get("input")
    on_host = None if receiver is None or receiver.device is None else receiver.device == "cpu"
    return all_of(iter((on_host, is_cuda(bound.get("value")))))


_fill_mask = Condition(
    "the index is a mask on the GPU and the value is no host number, so that the picked elements are counted",
    _mask_needs_count,
    "a host number is written through the mask, which is a fill",
)
_host_value = Condition(
    "a host value is copied into the picked elements (a whole row or slice would be filled on the device)",
    _uploads_value,
    "the value is on the device, or the write is a fill",
)
_cuda_value = Condition(
    "a CUDA value is written into a host tensor", _value_to_host, "value and tensor are on the same device"
)


def _bind_index_put(call: Call) -> Bound:
    """`x.index_put_((i, j), value)` is `x[i, j] = value`."""
    bound = bind(("input", "index", "value", "accumulate"), call)
    index = bound.values.pop("indices", None) or bound.values.get("index")
    value = bound.values.pop("values", None) or bound.values.get("value")
    if index is not None:
        bound.values["index"] = replace(index, sort="tuple") if index.sort in SEQUENCES else index
    if value is not None:
        bound.values["value"] = value
    return bound


FACTS = (
    fact(
        methods("__getitem__"),
        "input index",
        *_index_cases,
        sizes_by_data(
            (on_cuda("input") & laid_out("input", "sparse_coo")).described(
                "a sparse tensor is searched for the elements", "the tensor is strided"
            ),
            waits=2,
        ),
        note="Numbers, slices and device indices make no wait.",
    ),
    fact(
        methods("__setitem__"),
        "input index value",
        sizes_by_data(_fill_mask, waits=_count(_mask), instead=WHERE),
        *_index_cases[1:],
        uploads(_host_value, instead=FILL),
        copies_out(_cuda_value, instead="keep the table on the device"),
    ),
    fact(
        (*both("index_put"), "torch.Tensor.index_put_"),
        "input index value accumulate",
        sizes_by_data(_fill_mask, waits=_count(_mask), instead=WHERE),
        uploads(_host_part, waits=_count(_host_index), instead=INDEX_ONCE),
        uploads(_host_value, instead="give the value as a tensor on the device"),
        binder=_bind_index_put,
    ),
)

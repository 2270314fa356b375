"""The dispatcher's operations, as engines see them below Python: one row for each leaf that can wait.

Parameters have the names of the operator's schema, but the receiver is always `input`. Waits count per leaf: where a
public operation waits several times, each of its leaves waits once.
"""

from __future__ import annotations

from syncwatch.facts.conditions import (
    Bound,
    Condition,
    Verdict,
    absent,
    all_of,
    any_of,
    attr,
    filled,
    flag,
    given,
    is_cuda,
    is_given,
    is_host,
    on_cuda,
    opposite,
    tensor,
    truth,
)
from syncwatch.facts.ops.indexing import INDEX_ONCE, WHERE
from syncwatch.facts.ops.reads import may_be_equal
from syncwatch.facts.ops.shapes import SORTED_SEARCH
from syncwatch.facts.ops.solvers import EX
from syncwatch.facts.ops.transfers import CONVERTED_OUT, PAGEABLE_OUT, incoming, list_copies, outgoing
from syncwatch.facts.table import leaf, reads, sizes_by_data, solves, uploads

_cuda = on_cuda("input")


def _to(device: str) -> Condition:
    def test(bound: Bound) -> Verdict:
        arg = bound.get("device")
        if arg is None or arg.sort == "none":
            return False
        return None if arg.device is None else arg.device == device

    where = {"cuda": "the GPU", "cpu": "the host"}[device]
    return Condition(f"it goes to {where}", test, f"it does not go to {where}")


def _dst(device: str) -> Condition:
    check = is_cuda if device == "cuda" else is_host
    return Condition(
        f"the destination is on {device}",
        lambda bound: check(bound.get("dst")),
        f"the destination is not on {device}",
    )


def _index_mask(bound: Bound) -> Verdict:
    indices = bound.get("indices")
    if indices is None or indices.items is None:
        return None
    return any_of(
        all_of(iter((is_cuda(item), None if item.dtype is None else item.dtype in ("bool", "uint8"))))
        for item in indices.items
        if item.sort == "tensor"
    )


def _index_host(bound: Bound) -> Verdict:
    indices = bound.get("indices")
    if indices is None or indices.items is None:
        return None
    on_host = (
        all_of(iter((is_host(item), None if item.dtype is None else item.dtype != "bool")))
        for item in indices.items
        if item.sort == "tensor"
    )
    return all_of(iter((is_cuda(bound.get("input")), any_of(on_host))))


def _host_indices(bound: Bound) -> int | None:
    """Each index tensor in host memory is uploaded by itself."""
    indices = bound.get("indices")
    if indices is None or indices.items is None:
        return None
    return max(1, sum(item.sort == "tensor" and is_host(item) is True for item in indices.items))


def _host_number(bound: Bound) -> Verdict:
    values = bound.get("values")
    if values is None:
        return False
    return all_of(iter((is_host(values), None if values.dim is None else values.dim == 0)))


def _masked_fill(bound: Bound) -> Verdict:
    if truth(bound.get("accumulate"), False):
        return False
    indices = bound.get("indices")
    tensors = [item for item in (indices.items or ()) if item.sort == "tensor"] if indices is not None else []
    return all_of(iter((len(tensors) == 1, _index_mask(bound), _host_number(bound))))


_mask = Condition("the index is a mask on the GPU", _index_mask, "the index is no mask")
_host = Condition("the index is in host memory", _index_host, "the index is on the device")
_put_mask = Condition(
    "the index is a mask on the GPU and the value is no host number",
    lambda bound: all_of(iter((_index_mask(bound), opposite(_masked_fill(bound))))),
    "a host number is written through the mask, which is a fill",
)
_put_value = Condition(
    "a host number is written through an index, and is uploaded",
    lambda bound: all_of(iter((is_cuda(bound.get("input")), _host_number(bound), opposite(_masked_fill(bound))))),
    "the value is on the device",
)


def _where_values(bound: Bound) -> list[Verdict]:
    """For each value of torch.where: whether it is a number in host memory, which goes to the device."""
    device = is_cuda(bound.get("condition"))
    return [all_of(iter((device, is_host(bound.get(name)), tensor(name)(bound)))) for name in ("input", "other")]


def _where_waits(bound: Bound) -> int | None:
    verdicts = _where_values(bound)
    return None if None in verdicts else verdicts.count(True)


_where_host = Condition(
    "a value is a tensor in host memory, and is uploaded",
    lambda bound: any_of(iter(_where_values(bound))),
    "the values are Python numbers or on the device",
)
_no_bounds = Condition(
    "no bounds are given",
    lambda bound: all_of(opposite(is_given(bound.get(name), 0)) for name in ("min", "max")),
    "min and max are given",
)

_check_errors = (_cuda & flag("check_errors")).described("`check_errors=True`", "`check_errors` is not set")

FACTS = (
    leaf("_local_scalar_dense item", "input", reads(_cuda)),
    leaf("is_nonzero", "input", reads(_cuda)),
    leaf("_to_copy", "input", outgoing(_to("cpu")), CONVERTED_OUT, *incoming("input", _to("cuda"))),
    leaf(
        "copy_ copy _copy_from",
        "dst input non_blocking",
        outgoing(_dst("cpu")),
        PAGEABLE_OUT,
        *incoming("input", _dst("cuda")),
    ),
    leaf("equal", "input other", reads(_cuda & Condition("", may_be_equal, "the shapes differ"))),
    leaf("allclose", "input other", reads(_cuda)),
    leaf("nonzero nonzero_numpy argwhere", "input", sizes_by_data(_cuda), instead=WHERE),
    leaf("masked_select", "input mask", sizes_by_data(on_cuda("input", "mask")), instead=WHERE),
    leaf(
        "_unique _unique2 unique_dim unique_consecutive unique_dim_consecutive",
        "input",
        sizes_by_data(_cuda & filled("input")),
    ),
    leaf("to_padded_tensor", "input padding", sizes_by_data(_cuda)),
    leaf(
        "bincount",
        "input weights minlength",
        sizes_by_data(_cuda, waits=2),
        instead="scatter_add_ into a tensor of known size",
    ),
    leaf("histc", "input bins min max", reads(_cuda & _no_bounds, waits=2), instead="pass min= and max="),
    leaf(
        "isin.Tensor_Tensor", "elements test_elements", sizes_by_data(on_cuda("elements") & SORTED_SEARCH, waits=None)
    ),
    leaf(
        "repeat_interleave.Tensor",
        "input output_size",
        sizes_by_data(_cuda & absent("output_size"), waits=2),
        instead="pass output_size=",
    ),
    leaf(
        "segment_reduce",
        "input reduce lengths indices offsets axis unsafe",
        reads(_cuda & given("lengths") & ~flag("unsafe")),
    ),
    leaf("one_hot", "input num_classes", reads(_cuda & absent("num_classes", -1)), instead="pass num_classes="),
    leaf("masked_fill.Tensor masked_fill_.Tensor", "input mask value", reads(on_cuda("value"))),
    leaf("index_fill.int_Tensor index_fill_.int_Tensor", "input dim index value", reads(on_cuda("value"))),
    leaf(
        "linspace.Tensor_Tensor linspace.Tensor_Scalar linspace.Scalar_Tensor",
        "start end steps",
        reads(on_cuda("start", "end")),
    ),
    leaf(
        "logspace.Tensor_Tensor logspace.Tensor_Scalar logspace.Scalar_Tensor",
        "start end steps",
        reads(on_cuda("start", "end")),
    ),
    leaf("normal.Tensor_Tensor normal.float_Tensor", "mean std", reads(on_cuda("std") & tensor("std"), waits=2)),
    leaf(
        "index _unsafe_index",
        "input indices",
        sizes_by_data(_mask, instead=WHERE),
        uploads(_host, waits=_host_indices, instead=INDEX_ONCE),
    ),
    leaf(
        "index_put index_put_ _index_put_impl_ _unsafe_index_put",
        "input indices values accumulate",
        sizes_by_data(_put_mask, instead=WHERE),
        uploads(_host, waits=_host_indices, instead=INDEX_ONCE),
        uploads(_put_value, instead="give the value as a tensor on the device"),
    ),
    leaf("where.self", "condition input other", uploads(_where_host, waits=_where_waits)),
    leaf("_nested_tensor_from_mask", "input mask mask_check", sizes_by_data(_cuda, waits=2)),
    leaf("_nested_tensor_from_mask_left_aligned", "input mask", reads(_cuda)),
    leaf("_to_sparse", "input", sizes_by_data(_cuda, waits=None)),
    leaf("_to_sparse_csr _to_sparse_csc", "input", sizes_by_data(_cuda, waits=2)),
    leaf("_coalesce", "input", sizes_by_data(_cuda, waits=None, reported=False)),
    leaf("_foreach_copy_", "dst input non_blocking", list_copies("dst", "input")),
    leaf("_ctc_loss", "log_probs targets input_lengths target_lengths", uploads(on_cuda("log_probs"), waits=None)),
    leaf("_linalg_check_errors", "input", solves(_cuda), instead=EX),
    leaf(
        "_linalg_eigh _linalg_svd linalg_lstsq linalg_ldl_factor_ex linalg_ldl_solve linalg_matrix_exp "
        "linalg_pinv.atol_rtol_tensor",
        "input",
        solves(_cuda & filled("input"), waits=None),
    ),
    leaf("linalg_eig linalg_eigvals _linalg_eigvals", "input", solves(_cuda, waits=None)),
    leaf("cholesky", "input", solves(_cuda & filled("input")), instead=EX),
    leaf(
        "linalg_lu linalg_lu_factor_ex",
        "input pivot check_errors",
        solves(
            (_cuda & filled("input") & ~attr("input", "square", True)).described(
                "the matrices are not square, which takes a path that waits", "the matrices are square"
            )
        ),
        solves(_check_errors),
    ),
    leaf("linalg_inv_ex linalg_cholesky_ex _linalg_solve_ex linalg_solve_ex", "input", solves(_check_errors)),
)

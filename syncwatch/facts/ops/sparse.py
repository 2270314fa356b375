"""Sparse and nested tensors, and random numbers with checked parameters."""

from __future__ import annotations

from syncwatch.facts.conditions import absent, attr, flag, on_cuda, tensor
from syncwatch.facts.table import Case, fact, functions, methods, reads, sizes_by_data, uploads
from syncwatch.model import Kind

_cuda = on_cuda("input")

FACTS = (
    fact(
        methods("to_sparse", "to_sparse_coo"),
        "input sparse_dim layout",
        sizes_by_data(_cuda),
        instead="keep it dense, or build the sparse tensor once, before the loop",
    ),
    fact(
        methods("to_sparse_csr", "to_sparse_csc"),
        "input dense_dim",
        sizes_by_data(_cuda, waits=2),
        instead="keep it dense, or build the sparse tensor once, before the loop",
    ),
    fact(
        methods("coalesce"),
        "input",
        Case(
            Kind.DYNAMIC_SHAPE,
            _cuda
            & (~attr("input", "coalesced", False, unknown=False)).described(
                "it is not coalesced yet", "it is coalesced already"
            ),
            None,
            reported=False,
        ),
        instead="build it coalesced (is_coalesced=True), or once, before the loop",
    ),
    fact(
        functions("sparse_coo_tensor"),
        "indices values size dtype device",
        reads(
            (on_cuda("indices") & (absent("size") | flag("check_invariants"))).described(
                "the size is to be found, or checked, in the indices", "size= is given and not checked"
            ),
            waits=2,
        ),
        instead="pass size=",
    ),
    fact(
        functions("nested.as_nested_tensor", "nested.nested_tensor"),
        "input dtype device requires_grad layout",
        uploads(
            on_cuda("input") & ~absent("layout"),
            instead="torch.nested.nested_tensor_from_jagged with offsets that are on the device",
        ),
    ),
    fact(
        (*functions("nested.to_padded_tensor"), *methods("to_padded_tensor")),
        "input padding",
        sizes_by_data(_cuda),
        instead="pass output_size=, or keep the jagged layout",
    ),
    fact((*functions("sparse.mm", "smm"), *methods("to_dense", "smm")), "input"),
    fact(
        functions("normal"),
        "mean std",
        reads(
            (on_cuda("std") & tensor("std")).described(
                "the standard deviation is a CUDA tensor, and is checked on the host",
                "the standard deviation is a number",
            ),
            waits=2,
        ),
        instead="mean + std * torch.randn_like(mean)",
    ),
)

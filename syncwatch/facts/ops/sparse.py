"""Sparse and nested tensors, and random numbers with checked parameters."""

from __future__ import annotations

from syncwatch.facts.conditions import absent, attr, flag, given, laid_out, on_cuda, tensor, told
from syncwatch.facts.ops.scalars import host_numbers
from syncwatch.facts.table import Case, copies_out, fact, functions, methods, reads, sizes_by_data, uploads
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
        methods("to_sparse_csr", "to_sparse_csc", "to_sparse_bsr", "to_sparse_bsc"),
        "input dense_dim",
        sizes_by_data(
            (_cuda & ~laid_out("input", "sparse_coo")).described(
                "a dense tensor on the GPU is searched for elements", "it is sparse already, or in host memory"
            ),
            waits=2,
        ),
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
        "input padding output_size",
        sizes_by_data(
            (_cuda & ~laid_out("input", "jagged")).described(
                "a nested tensor of the older kind is padded", "the nested tensor has the jagged layout"
            )
        ),
        instead="make nested tensors with layout=torch.jagged, which are padded without a wait",
    ),
    fact(
        (*functions("unbind"), *methods("unbind")),
        "input dim",
        copies_out(
            (_cuda & laid_out("input", "jagged")).described(
                "the offsets of a jagged tensor are copied to the host", "it is no jagged tensor"
            )
        ),
        host_numbers("dim"),
        instead="work on values() and offsets()",
    ),
    fact(
        ("torch.nn.functional.scaled_dot_product_attention",),
        "query key value attn_mask dropout_p is_causal scale enable_gqa",
        reads(
            (
                on_cuda("query")
                & laid_out("query", "jagged")
                & ~told("query", "max_seqlen", True, words="its longest sequence is known", otherwise="", unknown=True)
            ).described(
                "the longest sequence of a jagged tensor is not known yet, and is read",
                "the tensors are strided, or the longest sequence is known",
            ),
            waits=2,
        ),
        host_numbers("dropout_p", "scale"),
        instead="give min_seqlen= and max_seqlen= to torch.nested.nested_tensor_from_jagged",
    ),
    fact(
        functions("sparse.softmax", "sparse.log_softmax"),
        "input dim",
        Case(Kind.DYNAMIC_SHAPE, _cuda, None, reported=False),
        instead="softmax of a masked dense tensor",
    ),
    fact(
        functions("sparse.sum"),
        "input dim dtype",
        Case(Kind.DYNAMIC_SHAPE, _cuda & given("dim"), None, reported=False),
        instead="sum the values with scatter_add_ into a tensor of known size",
    ),
    fact(
        (*functions("index_select"), *methods("index_select")),
        "input dim index",
        sizes_by_data(
            (_cuda & laid_out("input", "sparse_coo")).described("a sparse tensor is searched", "it is strided")
        ),
        host_numbers("dim"),
        instead="keep it dense",
    ),
    fact(
        (*functions("matmul"), *methods("matmul", "__matmul__")),
        "input other",
        Case(
            Kind.DYNAMIC_SHAPE,
            (_cuda & laid_out("input", "sparse_csr") & laid_out("other", "sparse_csr")).described(
                "both factors are sparse, so that the size of the product depends on them",
                "a factor is dense",
            ),
            None,
            reported=False,
        ),
        instead="keep one factor dense",
    ),
    fact(
        functions("sparse.mm"),
        "input other",
        Case(
            Kind.DYNAMIC_SHAPE,
            (_cuda & laid_out("input", "sparse_coo") & ~attr("input", "coalesced", False, unknown=True)).described(
                "the sparse factor is not coalesced yet, and is first", "it is coalesced, or in host memory"
            ),
            None,
            reported=False,
        ),
        instead="coalesce it once, before the loop (is_coalesced=True where it was built so)",
    ),
    fact((*functions("smm"), *methods("to_dense", "smm")), "input"),
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

"""What the table says of calls, as an engine asks it."""

from __future__ import annotations

import pytest

from syncwatch import facts
from syncwatch.facts.describe import UNKNOWN, Arg, Call
from syncwatch.model import Kind

TRUE, FALSE = Arg("bool", value=True), Arg("bool", value=False)


def cuda(dim: int | None = 1, dtype: str | None = "float") -> Arg:
    return Arg("tensor", device="cuda", dim=dim, dtype=dtype)


def host(dim: int = 1, **more: object) -> Arg:
    return Arg("tensor", device="cpu", dim=dim, dtype="float", **{"pinned": False, "dense": True, **more})  # type: ignore[arg-type]


def number(value: float) -> Arg:
    return Arg("number", value=value)


MASK = cuda(1, "bool")
INDEX = cuda(1, "int")

PINNED = {"pinned": True, "nbytes": 64 << 20}
TRANSPOSED = {"contiguous": FALSE}


def replicas(**attrs: bool) -> Arg:
    return Arg("module", device="cuda", attrs={name: Arg("bool", value=value) for name, value in attrs.items()})


def group(backend: str) -> Arg:
    return Arg("object", attrs={"backend": Arg("str", value=backend)})


# Pinned memory helps where the host side lies in the order of the copy; the device packs and converts for itself.
BLOCKING_COPIES = [
    ("down, gapped on the host", host(2, pinned=True, dense=False), cuda(2)),
    ("down, transposed on the host", host(2, attrs=TRANSPOSED, **PINNED), cuda(2)),
    ("up, gapped on the host", cuda(2), host(2, pinned=True, dense=False, nbytes=64 << 20)),
    ("up, transposed on the host", cuda(2), host(2, attrs=TRANSPOSED, **PINNED)),
]
QUIET_COPIES = [
    ("down, gapped on the device", host(2, pinned=True), Arg("tensor", device="cuda", dim=2, dense=False)),
    ("down, another type", host(2, pinned=True), cuda(2, "int")),
    ("up, gapped on the device", Arg("tensor", device="cuda", dim=2, dense=False), host(2, **PINNED)),
    ("up, another type", cuda(2, "int"), host(2, **PINNED)),
]


@pytest.mark.parametrize(("name", "target", "source"), BLOCKING_COPIES)
def test_copies_that_wait_in_spite_of_non_blocking(name: str, target: Arg, source: Arg) -> None:
    prediction = facts.predict("torch.Tensor.copy_", Call((target, source), {"non_blocking": TRUE}))
    assert prediction is not None
    assert (prediction.blocks, prediction.kind) == (True, Kind.PAGEABLE_ASYNC), name


@pytest.mark.parametrize(("name", "target", "source"), QUIET_COPIES)
def test_copies_that_do_not_wait(name: str, target: Arg, source: Arg) -> None:
    prediction = facts.predict("torch.Tensor.copy_", Call((target, source), {"non_blocking": TRUE}))
    assert prediction is not None
    assert (prediction.blocks, prediction.kind) == (False, None), name


BLOCKING = [
    ("torch.Tensor.item", Call((cuda(0),)), Kind.SCALAR_READ, 1),
    ("torch.Tensor.__bool__", Call((cuda(0),)), Kind.SCALAR_READ, 1),
    ("torch.Tensor.cpu", Call((cuda(),)), Kind.TENSOR_READ, 1),
    ("torch.Tensor.to", Call((cuda(), Arg("str", value="cpu"))), Kind.TENSOR_READ, 1),
    ("torch.Tensor.to", Call((host(), Arg("str", value="cuda:1"))), Kind.UPLOAD, 1),
    ("torch.Tensor.to", Call((host(), number(0))), Kind.UPLOAD, 1),
    ("torch.Tensor.to", Call((host(pinned=True), Arg("device", device="cuda"))), Kind.UPLOAD, 1),
    ("torch.Tensor.cuda", Call((host(nbytes=64 << 20),), {"non_blocking": TRUE}), Kind.PAGEABLE_ASYNC, 1),
    ("torch.Tensor.copy_", Call((host(), cuda()), {"non_blocking": TRUE}), Kind.PAGEABLE_ASYNC, 1),
    (
        "torch.tensor",
        Call((Arg("sequence", items=(number(1),)),), {"device": Arg("str", value="cuda")}),
        Kind.UPLOAD,
        1,
    ),
    ("torch.tensor", Call((Arg("sequence", items=(cuda(0), cuda(0))),)), Kind.SCALAR_READ, 2),
    ("torch.nonzero", Call((cuda(),)), Kind.DYNAMIC_SHAPE, 1),
    ("torch.where", Call((MASK,)), Kind.DYNAMIC_SHAPE, 1),
    ("torch.Tensor.__getitem__", Call((cuda(), MASK)), Kind.DYNAMIC_SHAPE, 1),
    ("torch.Tensor.__getitem__", Call((cuda(), Arg("sequence", items=(number(1),)))), Kind.UPLOAD, 1),
    ("torch.Tensor.__getitem__", Call((cuda(), cuda(0, "int"))), Kind.SCALAR_READ, 1),
    ("torch.Tensor.__setitem__", Call((cuda(), number(0), number(1))), Kind.UPLOAD, 1),
    ("torch.Tensor.__setitem__", Call((cuda(), INDEX, number(1))), Kind.UPLOAD, 1),
    ("torch.Tensor.__setitem__", Call((cuda(), MASK, cuda(0))), Kind.DYNAMIC_SHAPE, 1),
    ("torch.Tensor.__setitem__", Call((cuda(), Arg("sequence", items=(number(1),)), number(0))), Kind.UPLOAD, 2),
    ("torch.nn.functional.one_hot", Call((cuda(1, "int"),)), Kind.SCALAR_READ, 1),
    ("torch.zeros", Call((cuda(0, "int"),)), Kind.SCALAR_READ, 1),
    ("torch.topk", Call((cuda(), cuda(0, "int"))), Kind.SCALAR_READ, 1),
    ("torch.add", Call((cuda(), cuda()), {"alpha": cuda(0)}), Kind.SCALAR_READ, 1),
    ("torch.linalg.inv", Call((cuda(2),)), Kind.SOLVER, 1),
    ("torch.cuda.synchronize", Call(), Kind.DEVICE_WAIT, 1),
    ("torch.distributions.Normal", Call((cuda(), cuda())), Kind.SCALAR_READ, 2),
    ("torch.distributions.Normal", Call((number(0), cuda())), Kind.SCALAR_READ, 3),
    ("torchvision.ops.nms", Call((cuda(2), cuda())), Kind.DYNAMIC_SHAPE, 1),
    ("torchvision.transforms.functional.normalize", Call((cuda(3),)), Kind.UPLOAD, 3),
    ("torch.distributed.barrier", Call(), Kind.COLLECTIVE, 1),
]

QUIET = [
    ("torch.Tensor.item", Call((host(0),))),
    ("torch.Tensor.to", Call((cuda(), Arg("str", value="cpu")), {"non_blocking": TRUE})),
    ("torch.Tensor.to", Call((cuda(), Arg("dtype", dtype="float")))),
    ("torch.Tensor.to", Call((host(pinned=True), Arg("str", value="cuda")), {"non_blocking": TRUE})),
    ("torch.where", Call((MASK, cuda(), cuda()))),
    ("torch.Tensor.__getitem__", Call((cuda(), INDEX))),
    ("torch.Tensor.__getitem__", Call((cuda(), Arg("tuple", items=(number(0), Arg("ellipsis")))))),
    ("torch.Tensor.__setitem__", Call((cuda(2), number(0), number(1)))),
    ("torch.Tensor.__setitem__", Call((cuda(), MASK, number(0)))),
    ("torch.Tensor.__setitem__", Call((cuda(), INDEX, cuda(0)))),
    ("torch.nn.functional.one_hot", Call((cuda(1, "int"), number(10)))),
    ("torch.Tensor.add", Call((cuda(), cuda(0)))),
    ("torch.nn.functional.relu", Call((cuda(),))),
    ("torch.distributions.Normal", Call((cuda(), cuda()), {"validate_args": FALSE})),
    ("torchvision.ops.box_iou", Call((cuda(2), cuda(2)))),
    ("torch.distributed.all_reduce", Call((cuda(),))),
    ("torch.distributed.all_reduce", Call((cuda(),), {"group": group("gloo"), "async_op": TRUE})),
    ("torch.distributed.barrier", Call((), {"group": group("gloo")})),
    ("torch.nn.parallel.DistributedDataParallel.forward", Call((replicas(find_unused_parameters=False),))),
]

UNKNOWN_CALLS = [
    ("torch.Tensor.item", Call((UNKNOWN,))),
    ("torch.Tensor.to", Call((Arg("tensor"), Arg("str", value="cpu")))),
    ("torch.Tensor.to", Call((cuda(), Arg("unknown")))),
    ("torch.Tensor.__getitem__", Call((cuda(), UNKNOWN))),
    ("torch.nn.functional.one_hot", Call((cuda(1, "int"),), has_star=True)),
]


@pytest.mark.parametrize(("op", "call", "kind", "waits"), BLOCKING)
def test_blocks(op: str, call: Call, kind: Kind, waits: int) -> None:
    prediction = facts.predict(op, call)
    assert prediction is not None
    assert (prediction.blocks, prediction.kind, prediction.waits) == (True, kind, waits)
    assert prediction.why


@pytest.mark.parametrize(("op", "call"), QUIET)
def test_does_not_block(op: str, call: Call) -> None:
    prediction = facts.predict(op, call)
    assert prediction is not None
    assert (prediction.blocks, prediction.kind, prediction.waits) == (False, None, 0)


@pytest.mark.parametrize(("op", "call"), UNKNOWN_CALLS)
def test_an_unknown_argument_is_never_taken_for_a_reason(op: str, call: Call) -> None:
    prediction = facts.predict(op, call)
    assert prediction is not None
    assert prediction.blocks is None
    assert prediction.kind is not None


@pytest.mark.parametrize(
    ("attrs", "blocks"),
    [
        ({"find_unused_parameters": True, "unused": True}, True),
        ({"find_unused_parameters": True, "unused": False}, False),
        ({"find_unused_parameters": True, "unused": True, "syncs": False}, False),
        ({"find_unused_parameters": True}, None),
        ({"find_unused_parameters": False, "unused": True}, False),
    ],
)
def test_replicas_wait_for_what_is_unused(attrs: dict[str, bool], blocks: bool | None) -> None:
    prediction = facts.predict("torch.nn.parallel.DistributedDataParallel.forward", Call((replicas(**attrs),)))
    assert prediction is not None
    assert prediction.blocks is blocks


def test_gloo_carries_device_tensors_through_host_memory() -> None:
    prediction = facts.predict("torch.distributed.all_reduce", Call((cuda(),), {"group": group("gloo")}))
    assert prediction is not None
    assert (prediction.blocks, prediction.kind, prediction.reported) == (True, Kind.COLLECTIVE, False)


def test_a_small_pageable_copy_is_a_hazard_that_does_not_block() -> None:
    call = Call((host(nbytes=4096), Arg("str", value="cuda")), {"non_blocking": TRUE})
    prediction = facts.predict("torch.Tensor.to", call)
    assert prediction is not None
    assert (prediction.blocks, prediction.kind, prediction.waits) == (False, Kind.PAGEABLE_ASYNC, 0)
    assert "pin" in prediction.instead


def test_an_operation_that_the_table_lacks_gets_no_answer() -> None:
    assert facts.predict("torch.no_such_operation", Call((cuda(),))) is None
    assert facts.predict_leaf("aten.no_such_operation.default", Call((cuda(),))) is None


def test_aliases_share_one_row() -> None:
    assert facts.by_name("torch.argwhere") is facts.by_name("torch.Tensor.nonzero")
    assert facts.canonical("torch.Tensor.nonzero") == "torch.nonzero"
    assert facts.canonical("somewhere.else") == "somewhere.else"


@pytest.mark.parametrize(
    "spelling", ["aten.nonzero", "aten.nonzero.default", "aten::nonzero", "torch.ops.aten.nonzero.default"]
)
def test_leaves_are_found_under_every_spelling(spelling: str) -> None:
    prediction = facts.predict_leaf(spelling, Call((cuda(),)))
    assert prediction is not None
    assert prediction.blocks is True


def test_leaf_overloads_differ() -> None:
    by_tensor = facts.predict_leaf("aten.masked_fill.Tensor", Call((cuda(), MASK, cuda(0))))
    by_number = facts.predict_leaf("aten.masked_fill.Scalar", Call((cuda(), MASK, number(0))))
    assert by_tensor is not None
    assert by_number is not None
    assert (by_tensor.blocks, by_number.blocks) == (True, False)


def test_asynchronous_copies_to_the_host_count_no_wait_at_the_leaf() -> None:
    call = Call((cuda(),), {"device": Arg("device", device="cpu"), "non_blocking": TRUE})
    prediction = facts.predict_leaf("aten._to_copy.default", call)
    assert prediction is not None
    assert prediction.blocks is False

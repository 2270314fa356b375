"""Real calls, described."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from syncwatch.facts import observe  # noqa: E402
from syncwatch.facts.codec import plain_call, read_call  # noqa: E402
from syncwatch.facts.describe import MISSING, Arg, Call  # noqa: E402
from syncwatch.facts.record import recording  # noqa: E402


def test_a_tensor() -> None:
    arg = observe.describe(torch.zeros(3, 4, dtype=torch.int64))
    assert (arg.sort, arg.device, arg.dim, arg.dtype, arg.nbytes) == ("tensor", "cpu", 2, "int", 96)
    assert (arg.pinned, arg.dense) == (False, True)


@pytest.mark.parametrize(
    ("view", "dense"),
    [
        (lambda x: x.t(), True),
        (lambda x: x[:, ::2], False),
        (lambda x: x[1:], True),
        (lambda x: x[:1, :2], True),
        (lambda x: x[:, 1:], False),
        (lambda x: x.expand(2, 4, 6), False),
        (lambda x: x[:0], True),
    ],
)
def test_density(view: object, dense: bool) -> None:
    assert observe.is_dense(view(torch.zeros(4, 6))) is dense  # type: ignore[operator]


def test_a_replica_is_asked_for_its_record_only_where_that_cannot_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    class Replica(torch.nn.parallel.DistributedDataParallel):
        find_unused_parameters = True
        static_graph = False
        require_backward_grad_sync = True
        process_group = None
        logger = object()

        def __init__(self) -> None:
            torch.nn.Module.__init__(self)

        def _get_ddp_logging_data(self) -> dict[str, int]:
            return {"unused_parameter_size": 4}

    monkeypatch.setattr(torch.distributed, "get_backend", lambda group: "nccl")
    replica = Replica()
    assert "unused" not in observe.describe(replica).attrs
    with observe.asking_replicas():
        assert observe.describe(replica).attrs["unused"] == Arg("bool", value=True)
    replica.logger = None  # while it is being made
    with observe.asking_replicas():
        assert "unused" not in observe.describe(replica).attrs


def test_what_does_not_answer_is_an_object() -> None:
    class Broken(torch.nn.Module):
        def parameters(self, recurse: bool = True) -> object:
            raise RuntimeError("not made yet")

    assert observe.describe(Broken()) == Arg("object")


def test_indices() -> None:
    arg = observe.describe((0, slice(None, 3), ..., None, [1, 2], torch.tensor(True)))
    assert arg.sort == "tuple"
    assert arg.items is not None
    assert [item.sort for item in arg.items] == ["number", "slice", "ellipsis", "none", "sequence", "tensor"]
    assert arg.items[1].items == (Arg("none"), Arg("number", value=3), Arg("none"))


def test_objects() -> None:
    assert observe.describe(torch.device("cuda:1")) == Arg("device", device="cuda")
    assert observe.describe(torch.float16).dtype == "float"
    assert observe.describe(torch.Generator()).sort == "generator"
    module = observe.describe(torch.nn.BatchNorm1d(3).eval())
    assert (module.sort, module.attrs["training"].value, module.attrs["tensors"].value) == ("module", False, 5)
    model = torch.nn.Linear(2, 2)
    model(torch.ones(1, 2)).sum().backward()
    optimizer = observe.describe(torch.optim.Adam(model.parameters(), fused=True))
    assert (optimizer.device, optimizer.attrs["fused"].value, optimizer.attrs["parameters"].value) == ("cpu", True, 2)
    normal = observe.describe(torch.distributions.Normal(torch.zeros(2), 1.0, validate_args=False))
    assert (normal.device, normal.attrs["validate_args"].value) == ("cpu", False)


def recorded(program: object) -> list[str]:
    with recording() as calls:
        program()  # type: ignore[operator]
    return [op for op, _ in calls]


x = torch.arange(6.0)

PROGRAMS = [
    (lambda: x.sum().item(), ["torch.Tensor.sum", "torch.Tensor.item"]),
    (lambda: 1 if x[0] > 1 else 2, ["torch.Tensor.__getitem__", "torch.Tensor.gt", "torch.Tensor.__bool__"]),
    (lambda: f"{x[0]:.2f}", ["torch.Tensor.__getitem__", "torch.Tensor.__format__"]),
    (lambda: [7, 8][x[1].long()], ["torch.Tensor.__getitem__", "torch.Tensor.long", "torch.Tensor.__index__"]),
    (lambda: x.__setitem__(0, 1.0), ["torch.Tensor.__setitem__"]),
    (lambda: torch.nn.functional.one_hot(torch.tensor([1])), ["torch.tensor", "torch.nn.functional.one_hot"]),
    (lambda: torch.unique(x), ["torch.unique"]),
    (
        lambda: torch.distributions.Normal(x, 1.0).sample(),
        ["torch.distributions.Normal", "torch.distributions.Normal.sample"],
    ),
    (lambda: torch.nn.ReLU()(x), ["torch.nn.ReLU.forward"]),
]


@pytest.mark.parametrize(("program", "names"), PROGRAMS)
def test_the_outermost_calls_are_recorded(program: object, names: list[str]) -> None:
    assert recorded(program) == names


def test_recording_leaves_nothing_behind() -> None:
    before = (torch.save, torch.distributions.Normal.__init__, vars(torch.distributions.HalfNormal).get("sample"))
    recorded(lambda: None)
    after = (torch.save, torch.distributions.Normal.__init__, vars(torch.distributions.HalfNormal).get("sample"))
    assert before == after


def test_a_call_survives_storage() -> None:
    args = (torch.zeros(2, 3).t(), [1.5, float("inf")], "cuda", None, slice(1, None), {"a": torch.ones(1)})
    call = observe.describe_call(args, {"non_blocking": True})
    op, back = read_call(plain_call("torch.f", call))
    assert op == "torch.f"
    assert back.kwargs == call.kwargs
    assert back.args[0].dense is True
    assert back.args[1].items is not None
    assert back.args[1].items[1] == Arg("number", value=MISSING)  # JSON has no infinity
    assert back.args[2:4] == call.args[2:4]


@pytest.mark.parametrize("plain", [[], ["torch.f"], [1, []], ["torch.f", [["x"]]], {"op": "torch.f"}])
def test_a_foreign_description_is_refused(plain: object) -> None:
    with pytest.raises(ValueError, match="not a description"):
        read_call(plain)  # type: ignore[arg-type]


def test_an_empty_call() -> None:
    assert read_call(plain_call("torch.f", Call())) == ("torch.f", Call())

"""What a wait is called, and which kind it is: by frames, arguments and the expression under way."""

from __future__ import annotations

import functools
import sys

import pytest

from syncwatch.runtime.recorder import RECORDER

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(("target", "kind", "explicit"), [("cuda", "upload", False), ("cpu", "tensor-read", True)])
def test_the_arguments_of_a_python_function_decide_the_kind(cuda, monkeypatch, target, kind, explicit):
    from syncwatch.runtime.cuda.naming import named, trail

    found = []

    class Tensor(torch.Tensor):
        """A parameter of the other device, as far as a description goes."""

        device = torch.device("cpu" if target == "cuda" else "cuda")

    def wrapper(self, convert, recurse=True):
        found.append(named(trail(__import__("sys")._getframe(1), RECORDER.frames)))
        return self

    monkeypatch.setattr(torch.nn.Module, "_apply", wrapper)
    module = torch.nn.Linear(1, 1)
    weight = torch.ones(1, 1).as_subclass(Tensor)
    monkeypatch.setattr(module, "parameters", lambda *_: iter([weight]))
    module.to(target)
    (name,) = found
    assert (name.op, name.kind.value, name.explicit) == ("torch.nn.Module.to", kind, explicit)


def _name_of_wait(call):
    """What a wait at the bottom of `call(wait)` is called."""
    from syncwatch.runtime.cuda.naming import named, trail

    found = []

    def wait(*args, **kwargs):
        found.append(named(trail(sys._getframe(1), RECORDER.frames)))
        return torch.ones(())

    call(wait)
    return found[0]


class OnDevice(torch.Tensor):
    """A tensor of the GPU, as far as a description goes. Indexing it waits."""

    device = torch.device("cuda")
    wait = staticmethod(lambda: None)

    def __getitem__(self, index):
        return self.wait()


@pytest.mark.skipif(not hasattr((lambda: 0).__code__, "co_positions"), reason="Python 3.10 knows no expressions")
@pytest.mark.parametrize(
    ("index", "kind"),
    [
        (torch.tensor(1).as_subclass(OnDevice), "scalar-read"),
        (torch.tensor([True, False]).as_subclass(OnDevice), "dynamic-shape"),
        ([1, 0], "upload"),
    ],
)
def test_the_index_decides_what_indexing_waits_for(index, kind):
    from syncwatch.runtime.cuda.naming import Trail, named

    found = []
    x = torch.ones(2).as_subclass(OnDevice)
    # torch indexes in C++: there is no frame between the wait and the line
    OnDevice.wait = staticmethod(lambda: found.append(named(Trail([], sys._getframe(2), None))))
    x[index]
    x[torch.ones(2).argmax()]
    x[torch.arange(2)]
    name, picked, beside = found
    assert beside.kind.value == "upload"
    assert (name.op, name.kind.value) == ("torch.Tensor.__getitem__", kind)
    assert (picked.op, picked.kind.value) == ("torch.Tensor.__getitem__", "scalar-read")


def test_anomaly_mode_is_named_for_what_it_reads_in_a_backward_pass(cuda):
    def backward(wait):
        class Reads(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

            @staticmethod
            def backward(ctx, grad):
                return grad

        x = torch.ones(2, requires_grad=True)
        loss = Reads.apply(x).sum()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("torch.autograd.graph._engine_run_backward", wait)
            patch.setattr("torch.autograd._engine_run_backward", wait)
            loss.backward()

    with torch.autograd.detect_anomaly():
        name = _name_of_wait(backward)
    assert (name.op, name.kind.value) == ("torch.autograd.detect_anomaly", "scalar-read")
    assert _name_of_wait(backward).op == "torch.Tensor.backward"


def test_a_layer_inside_a_container_gives_the_name(cuda, monkeypatch):
    def forward(wait):
        monkeypatch.setattr("torch.nn.functional.batch_norm", wait)
        torch.nn.Sequential(torch.nn.BatchNorm1d(2))(torch.ones(2, 2))

    assert _name_of_wait(forward).op == "torch.nn.BatchNorm1d.forward"


def test_a_wrapped_method_has_the_name_of_the_one_that_runs(cuda, monkeypatch):
    class Model(torch.nn.Module):
        @functools.wraps(torch.nn.Module.to)
        def to(self, *args):
            return super().to(*args)

    def move(wait):
        monkeypatch.setattr(torch.nn.Module, "_apply", wait)
        Model().to("cpu")

    assert _name_of_wait(move).op == "torch.nn.Module.to"


@pytest.mark.skipif(not hasattr((lambda: 0).__code__, "co_positions"), reason="Python 3.10 knows no expressions")
def test_a_partial_function_has_the_name_of_what_it_calls():
    from syncwatch.runtime.cuda.naming import written_name

    found = []

    class Size:
        def __index__(self):
            found.append(written_name(sys._getframe(1)))
            return 2

    make = functools.partial(torch.zeros, dtype=torch.float32)
    make(Size())
    assert found[0] == "torch.zeros"

"""Classes around device tensors, operators that the program brings, and tensors that are only described."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
from torch import nn
from torch.utils._pytree import tree_map

pytestmark = pytest.mark.usefixtures("device")


class Logged(torch.Tensor):
    """A subclass that hangs something on its tensors."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})


class Wrapped(torch.Tensor):
    """A subclass that holds its tensor, and runs every operation on it."""

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> Wrapped:
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        inner = tree_map(lambda arg: arg.inner if isinstance(arg, Wrapped) else arg, (args, kwargs or {}))
        out = func(*inner[0], **inner[1])
        return tree_map(lambda item: Wrapped(item) if isinstance(item, torch.Tensor) else item, out)


def test_a_subclass_stays_what_it_is():
    x = torch.randn(3, device="cuda").as_subclass(Logged)
    x.note = "kept"
    assert (type(x * 2), (x * 2).device, type(x.cpu())) == (Logged, torch.device("cuda:0"), Logged)
    again = copy.deepcopy(x)
    assert (type(again), again.note, again.tolist()) == (Logged, "kept", x.tolist())
    again.add_(1)
    assert again.tolist() != x.tolist()


def test_a_wrapper_is_where_its_tensor_is():
    x = Wrapped(torch.ones(3, device="cuda"))
    assert (x.device, x.is_cuda, type(x @ x)) == (torch.device("cuda:0"), True, Wrapped)
    assert (x @ x).inner.item() == 3
    weight = Wrapped(torch.ones(3, device="cuda")).requires_grad_()
    (weight * 2).sum().backward()
    assert weight.grad.inner.tolist() == [2, 2, 2]


def test_fake_tensors_say_cuda_and_run_backward():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        weight = torch.empty(3, 3, device="cuda", requires_grad=True)
        (weight * 2).sum().backward()
        assert weight.grad.device == torch.device("cuda:0")
        assert mode.from_tensor(torch.ones(2, device="cuda")).is_cuda


def test_a_model_on_the_device_can_be_exported():
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU()).cuda().eval()
    x = torch.randn(2, 3, device="cuda")
    exported = torch.export.export(model, (x,)).module()
    torch.testing.assert_close(exported(x), model(x))


def test_functional_transforms_know_the_device():
    from torch.func import vmap

    x = torch.randn(4, 3, device="cuda")
    assert vmap(lambda row: row.to(row.device) + torch.zeros((), device=row.device))(x).tolist() == x.tolist()
    assert vmap(lambda row: torch.tensor(2.0, device="cuda") * row)(x).is_cuda


def test_jagged_and_strided_nested_tensors():
    parts = [torch.ones(2, 3), torch.ones(4, 3)]
    strided = torch.nested.nested_tensor(parts, device="cuda")
    assert (strided.is_cuda, strided.is_nested, strided.to_padded_tensor(0.0).shape) == (True, True, (2, 4, 3))
    jagged = torch.nested.nested_tensor(parts, layout=torch.jagged, device="cuda", requires_grad=True)
    (jagged * 2).values().sum().backward()
    assert jagged.grad.values().tolist() == [[2.0] * 3] * 6


def test_compressed_sparse_tensors_can_be_moved():
    x = torch.eye(3, device="cuda").to_sparse_csr()
    assert x.to("cuda").to_dense().tolist() == x.cpu().to_dense().tolist() == torch.eye(3).tolist()


def test_an_operator_of_the_program_runs_its_kernel_for_cuda():
    @torch.library.custom_op("emulated_tests::shift", mutates_args=(), device_types="cpu")
    def shift(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    @shift.register_kernel("cuda")
    def _(x: torch.Tensor) -> torch.Tensor:
        assert x.is_cuda
        return x + 2

    @torch.library.custom_op("emulated_tests::fill", mutates_args={"x"}, device_types="cuda")
    def fill(x: torch.Tensor) -> None:
        x.fill_(7)

    x = torch.zeros(1, device="cuda")
    assert (shift(x).item(), shift(x.cpu()).item()) == (2, 1)
    fill(x)
    assert x.item() == 7
    library = torch.library.Library("emulated_tests_lib", "DEF")
    library.define("double(Tensor x) -> Tensor")
    library.impl("double", lambda x: x * 2, "CUDA")
    assert torch.ops.emulated_tests_lib.double(x).item() == 14


def test_generators_can_be_pickled():
    made = torch.Generator().manual_seed(3)
    again = pickle.loads(pickle.dumps(made))
    assert torch.equal(torch.rand(3, generator=again), torch.rand(3, generator=made))


def test_compressed_sparse_host_tensors_are_uploaded_part_by_part(waits):
    found = waits(
        """
        import torch
        host = torch.eye(4).to_sparse_csr()
        moved = host.to("cuda", torch.float64)
        assert moved.layout is torch.sparse_csr and moved.values().is_cuda and moved.dtype is torch.float64
        assert (moved @ torch.ones(4, 2, device="cuda", dtype=torch.float64)).shape == (4, 2)
        """
    )
    assert found[0] == ("upload", "torch.Tensor.to", 3)

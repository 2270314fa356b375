"""What a device tensor is in Python: as a CUDA tensor, with the values that the CPU would compute."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
import torch
from torch import nn

pytestmark = pytest.mark.usefixtures("device")


@pytest.fixture
def x() -> torch.Tensor:
    return torch.arange(6.0, device="cuda").reshape(2, 3)


def test_it_is_a_plain_tensor_that_says_cuda(x):
    assert type(x) is torch.Tensor
    assert (x.device, x.device.type, x.is_cuda, x.get_device()) == (torch.device("cuda", 0), "cuda", True, 0)
    assert x.type() == "torch.cuda.FloatTensor"
    assert isinstance(x, torch.cuda.FloatTensor)
    assert hash(x) == id(x)
    assert repr(x) == "tensor([[0., 1., 2.],\n        [3., 4., 5.]], device='cuda:0')"
    assert f"{x[1, 2]:.2f}" == "5.00"


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.ones(2).cuda(),
        lambda: torch.ones(2).to("cuda:0"),
        lambda: torch.ones(2).to(torch.device("cuda", 0), non_blocking=True),
        lambda: torch.ones(2).to(device="cuda", dtype=torch.float64),
        lambda: torch.ones(2, device="cuda"),
        lambda: torch.tensor([1, 1], device="cuda"),
        lambda: torch.as_tensor([1.0, 1.0], device=torch.device("cuda")),
        lambda: torch.ones(2, device="cuda").new_zeros(2),
        lambda: torch.ones_like(torch.ones(2), device="cuda"),
        lambda: torch.cuda.FloatTensor([1.0, 1.0]),
        lambda: torch.ones(2).to(torch.ones(2, device="cuda")),
        lambda: torch.ones(2).type(torch.cuda.DoubleTensor),
    ],
)
def test_every_way_to_the_device(make):
    assert make().device == torch.device("cuda:0")


def test_moving_to_where_it_is_makes_no_copy(x):
    assert x.to("cuda") is x
    assert x.cuda() is x
    assert x.to(x.device, x.dtype) is x
    assert torch.as_tensor(x, device="cuda") is x


def test_views_share_memory_and_in_place_operations_show_in_them(x):
    row = x[1]
    flat = x.view(-1)
    row.mul_(10)
    flat[0] = 7
    x.data.add_(1)
    assert x.tolist() == [[8, 2, 3], [31, 41, 51]]
    assert row.data_ptr() == x.data_ptr() + 3 * 4
    assert row.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert x.t().stride() == (1, 3)


def test_out_and_operations_that_change_the_shape(x):
    out = torch.empty(0, device="cuda")
    torch.add(x, x, out=out)
    assert out.shape == (2, 3)
    assert out.sum().item() == 30
    x.t_()
    x.unsqueeze_(0)
    assert x.shape == (1, 3, 2)
    assert x[0, 2].tolist() == [2, 5]
    x.resize_(1, 2)
    assert x.shape == (1, 2)


@pytest.mark.parametrize(
    ("act", "error", "says"),
    [
        (lambda x: x.numpy(), TypeError, "can't convert cuda:0 device type tensor to numpy"),
        (lambda x: x + torch.ones(3), RuntimeError, "found at least two devices, cuda:0 and cpu"),
        (lambda x: torch.cat([x, torch.ones(2, 3)]), RuntimeError, "Expected all tensors to be on the same device"),
        (lambda x: torch.nn.functional.linear(x, torch.ones(3, 3)), RuntimeError, "same device"),
        (lambda x: x.pin_memory(), RuntimeError, "only dense CPU tensors can be pinned"),
        (
            lambda x: torch.empty(2, device="cuda", pin_memory=True),
            RuntimeError,
            "Only dense CPU tensors can be pinned",
        ),
        (lambda x: x.to("cuda:5"), Exception, "invalid device ordinal"),
    ],
)
def test_it_refuses_what_cuda_refuses(x, act, error, says):
    with pytest.raises(error, match=says):
        act(x)


def test_numbers_of_the_host_mix_with_it(x):
    assert (x * torch.tensor(2.0)).sum().item() == 30
    assert (x.add_(torch.tensor(1.0))).device.type == "cuda"


def test_training_gives_the_values_of_the_cpu():
    def train(device: str) -> list[torch.Tensor]:
        torch.manual_seed(1)
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5))
        images, labels = torch.randn(4, 3, 8, 8), torch.tensor([0, 1, 2, 3])
        parameters = list(model.parameters())
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        model.to(device)
        assert all(mine is moved for mine, moved in zip(parameters, model.parameters(), strict=True))
        for _ in range(3):
            loss = nn.functional.cross_entropy(model(images.to(device)), labels.to(device))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        assert all(p.grad.device == p.device for p in model.parameters())
        return [p.detach().cpu() for p in [*model.parameters(), *model.buffers()]]

    for plain, emulated in zip(train("cpu"), train("cuda"), strict=True):
        torch.testing.assert_close(emulated, plain)


@pytest.mark.parametrize("layer", [lambda: nn.LSTM(4, 5, 2, bidirectional=True), lambda: nn.GRU(4, 5)])
def test_recurrent_layers_agree_with_the_cpu(layer):
    plain = layer()
    moved = copy.deepcopy(plain).cuda()
    x = torch.randn(3, 2, 4)
    here, there = x.clone().requires_grad_(), x.cuda().requires_grad_()
    plain(here)[0].sum().backward()
    moved(there)[0].sum().backward()
    torch.testing.assert_close(there.grad.cpu(), here.grad)


def test_modules_go_back_and_forth_with_their_gradients():
    model = nn.Linear(3, 2).cuda()
    model(torch.ones(1, 3, device="cuda")).sum().backward()
    model.cpu()
    assert (model.weight.device.type, model.weight.grad.device.type) == ("cpu", "cpu")
    model.cuda()
    assert model.weight.grad.tolist() == [[1, 1, 1], [1, 1, 1]]
    model.weight.data = torch.zeros(2, 3)  # a CPU tensor into a CUDA parameter
    assert model.weight.device.type == "cpu"


def test_copies_pickles_and_files(tmp_path, x):
    model = nn.Linear(3, 2).cuda()
    twin = copy.deepcopy(model)
    twin.weight.data.zero_()
    assert model.weight.abs().sum() > 0
    assert isinstance(twin.weight, nn.Parameter)
    assert pickle.loads(pickle.dumps(x)).device == x.device
    torch.save({"model": model.state_dict(), "x": x, "row": x[1]}, tmp_path / "state.pt")
    loaded = torch.load(tmp_path / "state.pt")
    assert loaded["model"]["weight"].device.type == "cuda"
    assert loaded["row"].untyped_storage().data_ptr() == loaded["x"].untyped_storage().data_ptr()
    on_host = torch.load(tmp_path / "state.pt", map_location="cpu")
    assert on_host["x"].device.type == "cpu"
    assert torch.equal(on_host["x"], x.cpu())
    assert torch.load(io.BytesIO((tmp_path / "state.pt").read_bytes()), map_location="cuda:0")["x"].is_cuda


def test_hooks_gradients_and_functional_transforms(x):
    weight = nn.Parameter(x.clone())
    weight.register_hook(lambda grad: grad * 2)
    (weight * 3).sum().backward()
    assert weight.grad.tolist() == [[6, 6, 6], [6, 6, 6]]
    assert weight.is_leaf
    assert torch.func.grad(lambda v: (v**2).sum())(x).tolist() == (2 * x).tolist()
    assert torch.func.vmap(torch.dot)(x, x).tolist() == [5, 50]
    assert torch.func.hessian(lambda v: (v**3).sum())(torch.ones(2, device="cuda")).tolist() == [[6, 0], [0, 6]]
    y = x.clone().requires_grad_()
    torch.utils.checkpoint.checkpoint(torch.sin, y, use_reentrant=False).sum().backward()
    torch.testing.assert_close(y.grad, x.cos())


def test_complex_sparse_and_nested(x):
    z = torch.complex(x, x + 1)
    torch.testing.assert_close((z.conj() * z).real.cpu(), (x**2 + (x + 1) ** 2).cpu())
    assert x.to_sparse().device.type == "cuda"
    assert torch.equal(x.to_sparse().coalesce().to_dense(), x)
    nested = torch.nested.nested_tensor([x[0], x[1, :2]])
    assert nested.device.type == "cuda"
    assert nested.to_padded_tensor(0.0).tolist() == [[0, 1, 2], [3, 4, 0]]


def test_after_the_block_there_is_no_device(x):
    from syncwatch.emulator.device import DEVICE

    while DEVICE.users:
        DEVICE.off()
    try:
        assert not torch.cuda.is_available()
        assert torch.Tensor.device is torch._C.TensorBase.device
        with pytest.raises(Exception, match="CUDA"):
            torch.zeros(2, device="cuda")
    finally:
        DEVICE.on(1)


def test_under_inference_mode_views_are_as_what_they_view(device):
    layer = torch.nn.Linear(3, 3).cuda()
    held = torch.arange(6.0, device="cuda").view(2, 3)
    with torch.inference_mode():
        out = layer(held)
        assert out.is_inference()
        assert not any(view.is_inference() for view in (layer.weight.t(), held.view(-1), held[0]))
        held.unsqueeze_(0).squeeze_(0)
        layer.weight.data = torch.zeros(3, 3, device="cuda")
    assert out[0].is_inference()
    assert layer.weight.sum().item() == 0
    with pytest.raises(RuntimeError, match="outside InferenceMode"):
        out.add_(1)


def test_dlpack_shares_memory(x):
    shared = torch.from_dlpack(x)
    shared[0, 0] = 7
    assert shared.is_cuda
    assert x[0, 0].item() == 7


def test_a_device_tensor_takes_another_class(x):
    class Marked(torch.Tensor):
        pass

    marked = x.as_subclass(Marked)
    assert (type(marked), type(marked + 1), marked.device.type) == (Marked, Marked, "cuda")
    marked[0, 0] = 5
    assert x[0, 0].item() == 5

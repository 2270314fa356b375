"""The models of tensor operations against torch itself: each call is run on the CPU and compared with its model.

A model may know less than torch (None), never something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
F = torch.nn.functional

from syncwatch.static import library  # noqa: E402
from syncwatch.static.library import protocol  # noqa: E402
from syncwatch.static.library.protocol import LibCall  # noqa: E402
from syncwatch.static.values import (  # noqa: E402
    ITEMS,
    UNKNOWN,
    Device,
    Dtype,
    Items,
    Iter,
    Obj,
    Tensor,
    Tuple,
    Union,
    const,
)

library.load()


class Machine:
    """As much of the interpreter as models of operations need; `asked` holds the operations they asked about."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def device_of(self, value: Any) -> Device | None:
        if isinstance(value, Device):
            return value
        if isinstance(value, Tensor):
            return Device(value.device, sure=value.sure)
        text = getattr(value, "value", None)
        return Device(text.partition(":")[0]) if isinstance(text, str) else None

    def default_device(self) -> Device:
        return Device("cpu")

    def ask(self, op: str, args: Any, kwargs: Any = None, *, via: str = "library") -> None:
        self.asked.append(op)

    def each(self, value: Any, function: Callable[[Any], Any]) -> Any:
        if isinstance(value, Union):
            from syncwatch.static.values import join_all

            return join_all(function(v) for v in value.members)
        return function(value)

    @contextmanager
    def part(self, name: object) -> Iterator[None]:
        yield

    def new(self, type: object, /, **slots: Any) -> Obj:
        obj = Obj(type)
        obj.slots.update(slots)
        return obj

    def setattr(self, obj: Obj, name: Any, value: Any, *, weak: bool = False) -> None:
        obj.slots[name] = value

    def list(self, items: Sequence[Any] | None, elem: Any = UNKNOWN) -> Obj:
        obj = Obj("list")
        obj.slots[ITEMS] = Items(None if items is None else tuple(items), elem)
        return obj

    def iterate(self, value: Any) -> Iter:
        if isinstance(value, (Tuple, Iter)):
            return Iter(value.items, value.elem)
        held = value.slots.get(ITEMS) if isinstance(value, Obj) else None
        return Iter(held.items, held.elem) if isinstance(held, Items) else Iter(None, UNKNOWN)

    def isinstance(self, value: Any, type: str) -> bool | None:
        return isinstance(value, Tensor) if type == "torch.Tensor" else None

    def mode(self, name: str) -> Any:
        return None


def sort_of(dtype: Any) -> str:
    if dtype == torch.bool:
        return "bool"
    if dtype == torch.uint8:
        return "uint8"
    if dtype.is_complex:
        return "complex"
    return "float" if dtype.is_floating_point else "int"


def abstract(value: Any, device: str = "cuda") -> Any:
    """The abstract value of a real one, as if its tensors were on `device`."""
    if isinstance(value, torch.Tensor):
        return Tensor(
            device,
            shape=tuple(value.shape),
            dtype=sort_of(value.dtype),
            dense=True,
            pinned=False,
            requires_grad=value.requires_grad,
        )
    if isinstance(value, torch.dtype):
        return Dtype(str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return Device(value.type)
    if isinstance(value, slice):
        return Tuple(tuple(abstract(p) for p in (value.start, value.stop, value.step)), type="slice")
    if isinstance(value, tuple):
        return Tuple(tuple(abstract(v, device) for v in value))
    if isinstance(value, list):
        obj = Obj("list")
        obj.slots[ITEMS] = Items(tuple(abstract(v, device) for v in value))
        return obj
    return const(value)


def covers(model: Any, real: Any, path: str = "result") -> Iterator[str]:
    """What a model says that is not so."""
    if isinstance(model, Union):
        wrong = [list(covers(m, real, path)) for m in model.members]
        if all(wrong):
            yield from wrong[0]
        return
    if model is UNKNOWN:
        return
    if isinstance(real, torch.Tensor):
        if not isinstance(model, Tensor):
            yield f"{path} is a tensor, not {model}"
            return
        if model.shape is not None:
            fits = len(model.shape) == real.dim() and all(
                a is None or a == b for a, b in zip(model.shape, real.shape, strict=True)
            )
            if not fits:
                yield f"{path} has shape {tuple(real.shape)}, not {model.shape}"
        if model.dtype is not None and model.dtype != sort_of(real.dtype):
            yield f"{path} is of {sort_of(real.dtype)}, not {model.dtype}"
        if model.requires_grad is not None and model.requires_grad != real.requires_grad:
            yield f"{path}.requires_grad is {real.requires_grad}, not {model.requires_grad}"
        return
    if isinstance(real, (tuple, list)):
        parts = Machine().iterate(model)
        if not isinstance(model, (Tuple, Obj, Iter)):
            yield f"{path} is a {type(real).__name__}, not {model}"
        elif parts.items is None:
            for i, r in enumerate(real):
                yield from covers(parts.elem, r, f"{path}[{i}]")
        elif len(parts.items) != len(real):
            yield f"{path} has {len(real)} elements, not {len(parts.items)}"
        else:
            for i, (a, r) in enumerate(zip(parts.items, real, strict=True)):
                yield from covers(a, r, f"{path}[{i}]")
        return
    if isinstance(model, (Tensor, Tuple)):
        yield f"{path} is {real!r}, not {model}"


def on_device(model: Any) -> Iterator[str]:
    """Every tensor of the result is where the operands are."""
    if isinstance(model, Tensor):
        if model.device != "cuda":
            yield f"on {model.device}"
    elif isinstance(model, (Tuple, Obj, Iter)):
        parts = Machine().iterate(model)
        for part in parts.items if parts.items is not None else (parts.elem,):
            yield from on_device(part)


def find(name: str) -> Any:
    model = protocol.MODELS.get(name) or protocol.by_prefix(protocol.DEFAULTS, name)
    assert model is not None, f"nothing models {name}"
    return model


def x(*shape: int) -> Any:
    return torch.rand(shape or (3, 4), generator=torch.Generator().manual_seed(0)) + 0.1


def n(*shape: int) -> Any:
    return torch.randint(0, 3, shape or (3, 4), generator=torch.Generator().manual_seed(0))


def b(*shape: int) -> Any:
    return x(*shape) > 0.5


UNARY_TEXT = """abs acos asin atan ceil cos cosh digamma erf erfc exp exp2 expm1 floor frac lgamma log log10 log1p
    log2 logit neg
    reciprocal round rsqrt sigmoid sign sin sinc sinh sqrt square tan tanh trunc relu isnan isinf isfinite isposinf
    logical_not signbit nan_to_num positive sgn deg2rad rad2deg clone detach contiguous i0 angle"""
UNARY = UNARY_TEXT.split()
BINARY_TEXT = """add sub mul div pow maximum minimum fmax fmin fmod remainder atan2 eq ne lt le gt ge logical_and
    logical_or
    logical_xor hypot copysign floor_divide true_divide isclose xlogy logaddexp nextafter heaviside"""
BINARY = BINARY_TEXT.split()
REDUCE_TEXT = """sum mean prod amax amin std var norm all any argmax argmin max min median nansum nanmean count_nonzero
    logsumexp nanmedian"""
REDUCE = REDUCE_TEXT.split()

CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []


def call(name: str, *args: Any, **kwargs: Any) -> None:
    CALLS.append((name, args, kwargs))


for _name in UNARY:
    call(f"torch.Tensor.{_name}", x())
    if hasattr(torch, _name):
        call(f"torch.{_name}", x(2))
for _name in ("abs", "neg", "sign", "sqrt", "exp", "isnan", "logical_not", "ceil", "sigmoid", "cos"):
    call(f"torch.{_name}", n())
for _name in BINARY:
    call(f"torch.{_name}", x(), x(4))
    call(f"torch.Tensor.{_name}", x(2, 1, 4), x(3, 1))
for _name in ("add", "sub", "mul", "div", "pow", "eq", "lt", "floor_divide", "remainder", "fmod"):
    call(f"torch.{_name}", n(), n() + 1)
    call(f"torch.{_name}", n(), 2)
    call(f"torch.{_name}", n(), 2.5)
    call(f"torch.Tensor.{_name}", x(), 2)
    call(f"torch.{_name}", x(), n())
for _name in ("add", "mul", "eq"):
    call(f"torch.{_name}", b(), 2)
    call(f"torch.{_name}", b(), b())
call("torch.div", n(), n() + 1, rounding_mode="floor")
for _name in (
    "__add__",
    "__radd__",
    "__sub__",
    "__rsub__",
    "__mul__",
    "__truediv__",
    "__rtruediv__",
    "__pow__",
    "__lt__",
    "__eq__",
    "__floordiv__",
    "__mod__",
):
    call(f"torch.Tensor.{_name}", x(), 2)
    call(f"torch.Tensor.{_name}", n(), 2)
for _name in ("__and__", "__or__", "__xor__"):
    call(f"torch.Tensor.{_name}", b(), b())
    call(f"torch.Tensor.{_name}", n(), n())
call("torch.Tensor.__matmul__", x(3, 4), x(4, 5))
call("torch.Tensor.__invert__", b())
for _name in REDUCE:
    if _name != "logsumexp":
        call(f"torch.{_name}", x())
        call(f"torch.Tensor.{_name}", x(2, 3, 4))
    if _name != "prod":
        call(f"torch.{_name}", x(2, 3, 4), dim=1)
    if _name not in ("count_nonzero",):
        call(f"torch.{_name}", x(2, 3, 4), dim=-1, keepdim=True)
for _name in ("sum", "mean", "amax", "std", "norm", "logsumexp", "any"):
    call(f"torch.{_name}", x(2, 3, 4), dim=(0, 2))
for _name in ("sum", "prod", "amax", "all", "any", "argmax", "max", "count_nonzero"):
    call(f"torch.{_name}", n())
for _name in ("sum", "all", "any", "count_nonzero", "max"):
    call(f"torch.{_name}", b())
call("torch.Tensor.sum", x(), 0)
call("torch.Tensor.sum", x(), 1, True)
call("torch.Tensor.mean", n(), dtype=torch.float32)
call("torch.Tensor.max", x(), 0)
call("torch.Tensor.min", x(), 0, True)
call("torch.max", x(), x(4))
call("torch.Tensor.norm", x(), 2, 1)
call("torch.Tensor.norm", x(), dim=1)
call("torch.Tensor.std", x(), 0)
call("torch.Tensor.var", x(), unbiased=False)
call("torch.std_mean", x(), dim=0)
call("torch.kthvalue", x(), 2)
call("torch.kthvalue", x(), 2, 0, True)
call("torch.mode", x())
call("torch.sort", x())
call("torch.sort", n(), dim=0, descending=True)
call("torch.argsort", x())
call("torch.topk", x(), 2)
call("torch.topk", x(), 2, dim=0)
call("torch.topk", x(), k=1, dim=-1)
call("torch.cummax", x(), 0)
call("torch.cumsum", b(), 0)
call("torch.cumsum", x(), dim=1)
call("torch.cumprod", n(), 0)
call("torch.aminmax", x())
call("torch.aminmax", x(), dim=0)
call("torch.nonzero", b())
call("torch.nonzero", b(), as_tuple=True)
call("torch.argwhere", b())
call("torch.where", b())
call("torch.where", b(), x(), 0.0)
call("torch.where", b(), x(), x(4))
call("torch.where", b(), n(), 1)
call("torch.Tensor.where", x(), b(), 0.0)
call("torch.masked_select", x(), b())
call("torch.masked_fill", x(), b(), 0.0)
call("torch.Tensor.masked_fill_", x(), b(4), 1)
call("torch.unique", n())
call("torch.unique", n(), return_counts=True)
call("torch.unique", n(), return_inverse=True, return_counts=True)
call("torch.unique", n(), dim=0)
call("torch.unique_consecutive", n())
call("torch.unique_consecutive", n(5), return_inverse=True)
call("torch.bincount", n(5))
call("torch.bincount", n(5), x(5))
call("torch.histc", x(), bins=7, min=0, max=1)
call("torch.equal", x(), x())
call("torch.allclose", x(), x())
call("torch.isin", n(), n(3))
call("torch.quantile", x(), 0.5)
call("torch.quantile", x(), torch.tensor([0.1, 0.9]), dim=1)
call("torch.searchsorted", x(4).sort().values, x(3))
call("torch.bucketize", x(), x(4).sort().values)
call("torch.dist", x(), x())
call("torch.dot", x(3), x(3))
call("torch.trace", x(3, 3))

call("torch.Tensor.view", x(), 12)
call("torch.Tensor.view", x(), -1, 2)
call("torch.Tensor.view", x(), (2, 6))
call("torch.Tensor.view", x(), -1)
call("torch.reshape", x(), (6, -1))
call("torch.Tensor.flatten", x(2, 3, 4))
call("torch.flatten", x(2, 3, 4), 1)
call("torch.flatten", x(2, 3, 4), 0, 1)
call("torch.Tensor.unflatten", x(2, 6), 1, (2, 3))
call("torch.Tensor.t", x())
call("torch.transpose", x(2, 3, 4), 0, 2)
call("torch.Tensor.transpose", x(2, 3, 4), -1, -2)
call("torch.Tensor.permute", x(2, 3, 4), 2, 0, 1)
call("torch.permute", x(2, 3, 4), (2, 0, 1))
call("torch.movedim", x(2, 3, 4), 0, 2)
call("torch.squeeze", x(1, 3, 1))
call("torch.squeeze", x(1, 3, 1), 0)
call("torch.Tensor.squeeze", x(1, 3, 1), 1)
call("torch.Tensor.squeeze", x(1, 3, 1), -1)
call("torch.unsqueeze", x(), 0)
call("torch.Tensor.unsqueeze", x(), -1)
call("torch.Tensor.expand", x(1, 4), 3, -1)
call("torch.Tensor.expand", x(4), 2, 3, 4)
call("torch.Tensor.expand_as", x(4), x())
call("torch.narrow", x(), 1, 0, 2)
call("torch.select", x(), 0, 1)
call("torch.diagonal", x(3, 3))
call("torch.diag", x(3))
call("torch.diag", x(3, 3))
call("torch.diag_embed", x(2, 3))
call("torch.index_select", x(), 0, n(2))
call("torch.gather", x(), 1, n(3, 2))
call("torch.take", x(), n(5))
call("torch.take_along_dim", x(), n(3, 1), 1)
call("torch.cat", [x(), x(2, 4)])
call("torch.cat", (x(), x(3, 5)), dim=1)
call("torch.cat", [x(), x(3, 1)], -1)
call("torch.cat", [n(), x()])
call("torch.stack", [x(), x()])
call("torch.stack", (x(), x(), x()), dim=-1)
call("torch.hstack", (x(), x()))
call("torch.split", x(5, 2), 2)
call("torch.split", x(5, 2), [1, 4])
call("torch.Tensor.split", x(2, 6), 3, dim=1)
call("torch.chunk", x(6, 2), 3)
call("torch.Tensor.chunk", x(2, 6), 2, dim=-1)
call("torch.unbind", x())
call("torch.unbind", x(2, 3), 1)
call("torch.Tensor.repeat", x(), 2, 1)
call("torch.Tensor.repeat", x(4), 3, 2)
call("torch.tile", x(), (2, 2))
call("torch.repeat_interleave", x(), 2)
call("torch.repeat_interleave", x(), n(3) + 1, dim=0)
call("torch.repeat_interleave", n(4))
call("torch.broadcast_to", x(4), (2, 4))
call("torch.broadcast_tensors", x(4), x(3, 1))
call("torch.meshgrid", x(3), x(2), indexing="ij")
call("torch.flip", x(), (0,))
call("torch.roll", x(), 1)
call("torch.tril", x(3, 3))
call("torch.rot90", x(3, 3))
call("torch.Tensor.unfold", x(6), 0, 2, 1)
call("torch.Tensor.scatter", x(), 0, n(1, 4), 0.0)
call("torch.Tensor.scatter_add_", x(), 0, n(1, 4), x(1, 4))
call("torch.Tensor.index_add_", x(), 0, n(2), x(2, 4))
call("torch.clamp", x(), 0, 1)
call("torch.clamp", x(), max=x(4))
call("torch.lerp", x(), x(), 0.5)
call("torch.softmax", x(), dim=1)
call("torch.Tensor.log_softmax", x(), -1)
call("torch.addcmul", x(), x(), x())
call("torch.Tensor.add_", x(), x(4))
call("torch.Tensor.mul_", x(), 2)
call("torch.Tensor.zero_", x())
call("torch.Tensor.fill_", x(), 1)
call("torch.Tensor.copy_", x(), x(4))
call("torch.Tensor.normal_", x())
call("torch.Tensor.clamp_", x(), min=0)

call("torch.matmul", x(3, 4), x(4, 5))
call("torch.matmul", x(2, 3, 4), x(4, 5))
call("torch.matmul", x(4), x(4))
call("torch.matmul", x(3, 4), x(4))
call("torch.mm", x(3, 4), x(4, 2))
call("torch.bmm", x(2, 3, 4), x(2, 4, 5))
call("torch.mv", x(3, 4), x(4))
call("torch.addmm", x(2), x(3, 4), x(4, 2))
call("torch.baddbmm", x(2, 3, 5), x(2, 3, 4), x(2, 4, 5))
call("torch.einsum", "ij,jk->ik", x(3, 4), x(4, 5))
call("torch.outer", x(3), x(4))
call("torch.cdist", x(3, 4), x(5, 4))
call("torch.multinomial", x(4), 2)
call("torch.multinomial", x(3, 4), 2)
call("torch.cov", x())
call("torch.linalg.norm", x())
call("torch.linalg.norm", x(), dim=1)
call("torch.linalg.vector_norm", x())
call("torch.linalg.svd", x(3, 3))
call("torch.linalg.qr", x(3, 3))
call("torch.linalg.eigh", x(3, 3))
call("torch.linalg.inv", x(3, 3))
call("torch.linalg.inv_ex", x(3, 3))
call("torch.linalg.det", x(2, 3, 3))
call("torch.linalg.slogdet", x(3, 3))
call("torch.linalg.solve", x(3, 3), x(3, 2))
call("torch.linalg.cholesky", torch.eye(3))
call("torch.linalg.matrix_rank", x(3, 3))
call("torch.linalg.lstsq", x(4, 3), x(4, 2))
call("torch.linalg.pinv", x(3, 3))
call("torch.fft.fft", x(8))
call("torch.fft.rfft", x(8))
call("torch.fft.irfft", torch.fft.rfft(x(8)))
call("torch.fft.fftshift", x(8))

_NAMES = "relu gelu silu elu leaky_relu hardtanh softplus tanh sigmoid logsigmoid mish hardswish softsign"
for _name in _NAMES.split():
    call(f"torch.nn.functional.{_name}", x())
call("torch.nn.functional.softmax", x(), dim=-1)
call("torch.nn.functional.dropout", x(), 0.5)
call("torch.nn.functional.linear", x(3, 4), x(5, 4))
call("torch.nn.functional.conv1d", x(1, 2, 8), x(3, 2, 3))
call("torch.nn.functional.conv2d", x(1, 2, 8, 8), x(3, 2, 3, 3))
call("torch.nn.functional.max_pool2d", x(1, 2, 8, 8), 2)
call("torch.nn.functional.avg_pool2d", x(1, 2, 8, 8), 2)
call("torch.nn.functional.adaptive_avg_pool2d", x(1, 2, 8, 8), 1)
call("torch.nn.functional.interpolate", x(1, 2, 8, 8), scale_factor=2)
call("torch.nn.functional.pad", x(), (1, 1))
call("torch.nn.functional.layer_norm", x(), (4,))
call("torch.nn.functional.normalize", x())
call("torch.nn.functional.embedding", n(), x(5, 6))
call("torch.nn.functional.cross_entropy", x(), n(3))
call("torch.nn.functional.cross_entropy", x(), n(3), reduction="none")
call("torch.nn.functional.mse_loss", x(), x())
call("torch.nn.functional.mse_loss", x(), x(), reduction="none")
call("torch.nn.functional.l1_loss", x(), x(), reduction="sum")
call("torch.nn.functional.binary_cross_entropy_with_logits", x(), x())
call("torch.nn.functional.kl_div", x(), x(), reduction="batchmean")
call("torch.nn.functional.nll_loss", x(), n(3))
call("torch.nn.functional.one_hot", n(), 3)
call("torch.nn.functional.cosine_similarity", x(), x())
call("torch.nn.functional.scaled_dot_product_attention", x(1, 2, 3, 4), x(1, 2, 3, 4), x(1, 2, 3, 4))
call("torch.nn.functional.grid_sample", x(1, 2, 4, 4), x(1, 3, 3, 2), align_corners=False)
call("torch.nn.functional.glu", x(3, 4))
call("torch.nn.functional.pixel_shuffle", x(1, 4, 2, 2), 2)

for _dtype in ("float", "double", "half", "long", "int", "bool", "byte"):
    call(f"torch.Tensor.{_dtype}", n())
call("torch.Tensor.to", x(), torch.float16)
call("torch.Tensor.to", n(), dtype=torch.float32)
call("torch.Tensor.to", x(), n())
call("torch.Tensor.type", x(), torch.long)
call("torch.Tensor.type_as", x(), n())
call("torch.Tensor.new_zeros", x(), 2, 3)
call("torch.Tensor.new_ones", n(), (2, 3))
call("torch.Tensor.new_full", x(), (2, 3), 1.0)
call("torch.Tensor.new_empty", x(), 5)
call("torch.zeros_like", n())
call("torch.rand_like", x())
call("torch.full_like", x(), 2.0)
call("torch.ones_like", x(), dtype=torch.bool)
for _index in (
    0, -1, (0, 1), slice(1, None), (slice(None), 0), (slice(None), slice(0, 2)), None, (None, 0), (..., 0), [0, 2],
    (slice(None), [0, 2]), (0, slice(None), None), slice(None, None, 2), (slice(None), None),
):  # fmt: skip
    call("torch.Tensor.__getitem__", x(), _index)
call("torch.Tensor.__getitem__", x(2, 3, 4), (..., slice(0, 2)))
call("torch.Tensor.__getitem__", x(), b())
call("torch.Tensor.__getitem__", x(), b(3))
call("torch.Tensor.__getitem__", x(), n(5))
call("torch.Tensor.__getitem__", x(), (n(5), n(5)))
call("torch.Tensor.__getitem__", x(), (slice(None), n(5)))
call("torch.Tensor.__getitem__", x(3, 3, 4), (n(5), slice(None), n(5)))
call("torch.Tensor.__getitem__", x(), n(2, 2))
call("torch.Tensor.__getitem__", x(), (b(3), 0))
call("torch.Tensor.__getitem__", x(2, 3, 4), (slice(None), b(3)))
call("torch.Tensor.__getitem__", x(), torch.tensor(1))


def real(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    target: Any = SimpleNamespace(torch=torch)
    for part in name.split("."):
        target = getattr(target, part)
    return target(*[a.clone() if isinstance(a, torch.Tensor) else a for a in args], **kwargs)


@pytest.mark.parametrize(
    ("name", "args", "kwargs"), CALLS, ids=[f"{i}-{c[0].removeprefix('torch.')}" for i, c in enumerate(CALLS)]
)
@pytest.mark.parametrize("grad", [False, True], ids=["plain", "grad"])
def test_result_of_a_call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], grad: bool) -> None:
    if grad:
        if not isinstance(args[0], torch.Tensor) or not args[0].is_floating_point() or name.endswith("_"):
            pytest.skip("no gradient through it")
        args = (args[0].clone().requires_grad_(), *args[1:])
    try:
        expected = real(name, args, kwargs)
    except (NotImplementedError, RuntimeError) as refused:
        if grad:
            pytest.skip(str(refused)[:80])
        raise
    method = name.startswith("torch.Tensor.")
    values = [abstract(a) for a in args]
    model = find(name)
    got = model(
        Machine(),
        LibCall(
            name, tuple(values[method:]), {k: abstract(v) for k, v in kwargs.items()}, values[0] if method else None
        ),
    )
    assert not list(covers(got, expected)), list(covers(got, expected))
    assert not list(on_device(got))


FACTORIES = [
    ("zeros", (2, 3), {}),
    ("zeros", ((2, 3),), {}),
    ("ones", (4,), {"dtype": torch.long}),
    ("empty", (2,), {"dtype": torch.bool}),
    ("rand", (2, 2), {}),
    ("randn", ((),), {}),
    ("full", ((2, 3), 1.0), {}),
    ("full", ((), 2), {}),
    ("full", ((2,), True), {}),
    ("arange", (5,), {}),
    ("arange", (1, 4), {}),
    ("arange", (0, 1, 0.25), {}),
    ("linspace", (0, 1, 5), {}),
    ("eye", (3,), {}),
    ("eye", (3, 4), {}),
    ("randint", (5, (2, 3)), {}),
    ("randint", (0, 5, (2, 3)), {}),
    ("randperm", (6,), {}),
    ("tensor", (1.0,), {}),
    ("tensor", ([1, 2, 3],), {}),
    ("tensor", ([[1.0, 2.0], [3.0, 4.0]],), {}),
    ("tensor", ([True, False],), {}),
    ("tensor", ([1, 2],), {"dtype": torch.float32}),
    ("tensor", ([],), {}),
    ("as_tensor", ([1.0, 2.0],), {}),
    ("scalar_tensor", (3.0,), {}),
    ("normal", (0.0, 1.0, (2, 3)), {}),
    ("tril_indices", (3, 3), {}),
    ("hann_window", (8,), {}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), FACTORIES, ids=[f"{i}-{f[0]}" for i, f in enumerate(FACTORIES)])
@pytest.mark.parametrize("device", [None, "cuda"])
def test_result_of_a_factory(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], device: str | None) -> None:
    expected = getattr(torch, name)(*args, **kwargs)
    given = {k: abstract(v) for k, v in kwargs.items()} | ({"device": const(device)} if device else {})
    got = find(f"torch.{name}")(Machine(), LibCall(f"torch.{name}", tuple(abstract(a) for a in args), given))
    assert not list(covers(got, expected)), list(covers(got, expected))
    assert got.device == (device or "cpu")


def test_what_a_result_forgets() -> None:
    """Arithmetic on a pinned tensor gives ordinary memory; a view of it stays pinned."""
    pinned = Tensor("cpu", shape=(4, 4), dtype="float", pinned=True, dense=True, requires_grad=False)
    m = Machine()
    added = find("torch.Tensor.add")(m, LibCall("torch.Tensor.add", (const(1),), {}, pinned))
    cloned = find("torch.Tensor.clone")(m, LibCall("torch.Tensor.clone", (), {}, pinned))
    row = find("torch.Tensor.__getitem__")(m, LibCall("torch.Tensor.__getitem__", (const(0),), {}, pinned))
    gapped = find("torch.Tensor.__getitem__")(
        m, LibCall("torch.Tensor.__getitem__", (abstract((slice(None), slice(0, 2))),), {}, pinned)
    )
    assert (added.pinned, cloned.pinned, row.pinned) == (False, False, True)
    assert "pinned-source" in added.marks
    assert (row.dense, gapped.pinned, gapped.dense) == (True, True, False)


def test_backward_of_a_mask_counts_it_again() -> None:
    m = Machine()
    source = Tensor("cuda", shape=(8,), dtype="float", requires_grad=True)
    mask = Tensor("cuda", shape=(8,), dtype="bool", requires_grad=False)
    picked = find("torch.Tensor.__getitem__")(m, LibCall("torch.Tensor.__getitem__", (mask,), {}, source))
    loss = find("torch.Tensor.sum")(m, LibCall("torch.Tensor.sum", (), {}, picked))
    find("torch.Tensor.backward")(m, LibCall("torch.Tensor.backward", (), {}, loss))
    assert m.asked == ["torch.nonzero"]

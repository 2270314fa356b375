"""Tables of `library`: nested and masked tensors, quantization."""

# mypy: disable-error-code="misc, no-untyped-call, no-any-return"
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

Table = dict[str, tuple[Callable[[], Any], Callable[..., Any]]]


def nested(device: str) -> Table:
    def jagged() -> torch.Tensor:
        parts = [torch.rand(n, 8, device=device) for n in (3, 5)]
        return torch.nested.nested_tensor(parts, layout=torch.jagged)

    def heads() -> torch.Tensor:
        return jagged().unflatten(-1, [2, 4]).transpose(1, 2)

    def parts() -> tuple[torch.Tensor, torch.Tensor]:
        return torch.rand(8, 4, device=device), torch.tensor([0, 3, 8], device=device)

    def strided() -> torch.Tensor:
        return torch.nested.nested_tensor([torch.rand(n, 8, device=device) for n in (3, 5)])

    sdpa = nn.functional.scaled_dot_product_attention
    return {
        "jagged unbind": (jagged, lambda x: x.unbind()),
        "jagged unbind again": (lambda: (lambda x: (x.unbind(), x)[1])(jagged()), lambda x: x.unbind()),
        "jagged to_padded_tensor": (jagged, lambda x: x.to_padded_tensor(0.0)),
        "jagged to_padded_tensor, size": (jagged, lambda x: x.to_padded_tensor(0.0, output_size=(2, 6, 8))),
        "jagged size": (jagged, lambda x: x.size(0)),
        "jagged sum": (jagged, lambda x: x.sum()),
        "jagged * number": (jagged, lambda x: x * 2),
        "jagged + jagged": (jagged, lambda x: x + x),
        "jagged linear": (lambda: (nn.Linear(8, 4).to(device), jagged()), lambda m, x: m(x)),
        "jagged softmax": (jagged, lambda x: x.softmax(-1)),
        "jagged offsets": (jagged, lambda x: x.offsets()),
        "jagged values": (jagged, lambda x: x.values()),
        "jagged clone": (jagged, lambda x: x.clone()),
        "jagged attention": (heads, lambda q: sdpa(q, q, q)),
        "nested_tensor_from_jagged, max_seqlen": (
            parts,
            lambda v, o: torch.nested.nested_tensor_from_jagged(v, o, min_seqlen=3, max_seqlen=5),
        ),
        "attention of nested_tensor_from_jagged": (
            lambda: torch.nested.nested_tensor_from_jagged(
                torch.rand(8, 2, 4, device=device), torch.tensor([0, 3, 8], device=device)
            ).transpose(1, 2),
            lambda q: sdpa(q, q, q),
        ),
        "attention of nested_tensor_from_jagged, max_seqlen": (
            lambda: torch.nested.nested_tensor_from_jagged(
                torch.rand(8, 2, 4, device=device), torch.tensor([0, 3, 8], device=device), min_seqlen=3, max_seqlen=5
            ).transpose(1, 2),
            lambda q: sdpa(q, q, q),
        ),
        "nested_tensor_from_jagged, lengths": (
            parts,
            lambda v, o: torch.nested.nested_tensor_from_jagged(
                v, o, lengths=torch.ones(2, dtype=torch.long, device=device)
            ),
        ),
        "nested.narrow": (
            lambda: (torch.rand(2, 6, 4, device=device), torch.tensor([3, 5], device=device)),
            lambda x, n: torch.nested.narrow(x, 1, 0, n, layout=torch.jagged),
        ),
        "nested.masked_select": (
            lambda: (torch.rand(2, 6, device=device), torch.rand(2, 6, device=device) > 0.5),
            lambda x, m: torch.nested.masked_select(x, m),
        ),
        "nested unbind": (strided, lambda x: x.unbind()),
        "nested linear": (lambda: (nn.Linear(8, 4).to(device), strided()), lambda m, x: m(x)),
        "nested to_padded_tensor, size": (
            strided,
            lambda x: torch.nested.to_padded_tensor(x, 0.0, output_size=(2, 6, 8)),
        ),
    }


def masked(device: str) -> Table:
    def pair() -> tuple[torch.Tensor, torch.Tensor]:
        return torch.rand(3, 4, device=device), torch.rand(3, 4, device=device) > 0.5

    def masked() -> torch.Tensor:
        return torch.masked.masked_tensor(*pair())

    names = (
        "amax amin argmax argmin cumsum cumprod logsumexp mean median norm normalize prod std var softmin log_softmax"
    )
    table: Table = {}
    for name in names.split():
        arguments = {"norm": (2.0, 1), "normalize": (2.0, 1)}.get(name, (1,))
        table[f"masked.{name}"] = (
            pair,
            lambda x, m, n=name, a=arguments: getattr(torch.masked, n)(x, *a, mask=m),
        )
    table["masked.sum, no mask"] = (pair, lambda x, m: torch.masked.sum(x, 1))
    table["masked.std, no mask"] = (pair, lambda x, m: torch.masked.std(x, 1))
    table["masked_tensor()"] = (pair, lambda x, m: torch.masked.masked_tensor(x, m))
    table["masked_tensor + 1"] = (masked, lambda x: x + 1)
    table["masked_tensor.sum"] = (masked, lambda x: x.sum(1))
    table["masked_tensor.mean"] = (masked, lambda x: x.mean())
    table["masked_tensor + masked_tensor"] = (
        lambda: (lambda x, m: (torch.masked.masked_tensor(x, m), torch.masked.masked_tensor(x, m)))(*pair()),
        lambda a, b: a + b,
    )
    table["repr of a masked_tensor"] = (masked, repr)
    table["masked_tensor.to_tensor"] = (masked, lambda x: x.to_tensor(0.0))
    table["masked_tensor.get_data"] = (masked, lambda x: (x.get_data(), x.get_mask()))
    return table


def quantized(device: str) -> Table:
    ao = torch.ao.quantization

    def observed(kind: str, **options: Any) -> Callable[[], Any]:
        def make() -> Any:
            observer = getattr(ao, kind)(**options).to(device)
            observer(torch.rand(64, device=device))
            return observer, torch.rand(64, device=device)

        return make

    forward: Callable[..., Any] = lambda o, x: o(x)  # noqa: E731
    table: Table = {
        f"{kind}.forward": (observed(kind), forward)
        for kind in (
            "MinMaxObserver",
            "MovingAverageMinMaxObserver",
            "HistogramObserver",
            "NoopObserver",
            "PlaceholderObserver",
        )
    }
    table |= {
        f"{kind}.calculate_qparams": (observed(kind), lambda o, x: o.calculate_qparams())
        for kind in ("MinMaxObserver", "MovingAverageMinMaxObserver", "HistogramObserver")
    }
    table["FakeQuantize.forward"] = (observed("FakeQuantize"), forward)
    table["FusedMovingAvgObsFakeQuantize.forward"] = (observed("FusedMovingAvgObsFakeQuantize"), forward)
    table["quantize_per_tensor"] = (
        lambda: torch.rand(8, device=device),
        lambda x: torch.quantize_per_tensor(x, 0.1, 10, torch.quint8),
    )
    table["quantize_per_tensor by device numbers"] = (
        lambda: (torch.rand(8, device=device), torch.tensor(0.1, device=device), torch.tensor(10, device=device)),
        lambda x, s, z: torch.quantize_per_tensor(x, s, z, torch.quint8),
    )
    table["fake_quantize_per_tensor_affine"] = (
        lambda: torch.rand(8, device=device),
        lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 255),
    )
    table["fake_quantize_per_tensor_affine by device numbers"] = (
        lambda: (
            torch.rand(8, device=device),
            torch.tensor(0.1, device=device),
            torch.tensor(0, dtype=torch.int32, device=device),
        ),
        lambda x, s, z: torch.fake_quantize_per_tensor_affine(x, s, z, 0, 255),
    )
    table["fake_quantize_per_channel_affine"] = (
        lambda: (
            torch.rand(2, 4, device=device),
            torch.ones(2, device=device),
            torch.zeros(2, dtype=torch.int32, device=device),
        ),
        lambda x, s, z: torch.fake_quantize_per_channel_affine(x, s, z, 0, 0, 255),
    )
    return table

"""Copies in every combination of memory, layout, type, size and blocking."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch

from syncwatch.facts.measure.probes import Program, probe

SIZES = {"4 KB": 1 << 10, "64 KB": 1 << 14, "1 MB": 1 << 18, "64 MB": 1 << 24}  # elements of 4 bytes


def _host(kind: str, count: int) -> torch.Tensor:
    """A tensor of float32 in host memory: pageable, pinned, transposed and pinned, or a gapped view of pinned."""
    if kind == "pageable":
        return torch.zeros(count)
    if kind == "pinned":
        return torch.zeros(count).pin_memory()
    if kind == "pinned transposed":
        return torch.zeros(count).pin_memory().view(-1, 64).t()
    return torch.zeros(2 * count).pin_memory().view(-1, 128)[:, ::2]


def programs(device: str) -> Iterator[Program]:
    yield from _matrix(device)
    yield from _forms(device)
    yield from _constructors(device)


def _matrix(device: str) -> Iterator[Program]:
    for size, count in SIZES.items():
        for kind in ("pageable", "pinned", "pinned transposed", "pinned gapped"):
            for blocking in (True, False):
                mode = "" if blocking else " non_blocking"

                def source(kind: str = kind, count: int = count) -> torch.Tensor:
                    return _host(kind, count)

                def up(x: torch.Tensor, nb: bool = not blocking) -> torch.Tensor:
                    return x.to(device, non_blocking=nb)

                def up_half(x: torch.Tensor, nb: bool = not blocking) -> torch.Tensor:
                    return x.to(device, torch.float16, non_blocking=nb)

                yield probe(f"to device, {kind}, {size}{mode}", source, up)
                if size in ("4 KB", "64 MB"):
                    yield probe(f"to device as half, {kind}, {size}{mode}", source, up_half)

                    def into(kind: str = kind, count: int = count) -> tuple[torch.Tensor, torch.Tensor]:
                        host = _host(kind, count)
                        return torch.empty_like(host, device=device), host

                    def into_dense(kind: str = kind, count: int = count) -> tuple[torch.Tensor, torch.Tensor]:
                        host = _host(kind, count)
                        return torch.empty(host.shape, device=device), host

                    def copy(dst: torch.Tensor, src: torch.Tensor, nb: bool = not blocking) -> torch.Tensor:
                        return dst.copy_(src, non_blocking=nb)

                    yield probe(f"copy_ to device, {kind}, {size}{mode}", into, copy)
                    yield probe(f"copy_ to other layout on device, {kind}, {size}{mode}", into_dense, copy)

                    def out_of(kind: str = kind, count: int = count) -> tuple[torch.Tensor, torch.Tensor]:
                        host = _host(kind, count)
                        return host, torch.zeros(host.shape, device=device)

                    yield probe(f"copy_ to host, {kind}, {size}{mode}", out_of, copy)
        for blocking in (True, False):
            mode = "" if blocking else " non_blocking"

            def on_device(count: int = count) -> torch.Tensor:
                return torch.zeros(count, device=device)

            def gapped(count: int = count) -> torch.Tensor:
                return torch.zeros(2 * count, device=device).view(-1, 128)[:, ::2]

            def down(x: torch.Tensor, nb: bool = not blocking) -> torch.Tensor:
                return x.to("cpu", non_blocking=nb)

            def down_half(x: torch.Tensor, nb: bool = not blocking) -> torch.Tensor:
                return x.to("cpu", torch.float16, non_blocking=nb)

            yield probe(f"to host, {size}{mode}", on_device, down)
            yield probe(f"to host from gapped, {size}{mode}", gapped, down)
            yield probe(f"to host as half, {size}{mode}", on_device, down_half)


def _forms(device: str) -> Iterator[Program]:
    def vector() -> torch.Tensor:
        return torch.randn(1000, device=device)

    def host() -> torch.Tensor:
        return torch.randn(1000)

    def module() -> torch.nn.Module:
        return torch.nn.Linear(8, 8)

    forms: dict[str, tuple[Callable[[], object], Callable[..., object]]] = {
        "cuda()": (host, lambda x: x.cuda()),
        "cuda() pinned": (lambda: host().pin_memory(), lambda x: x.cuda()),
        "cuda(non_blocking) pinned": (lambda: host().pin_memory(), lambda x: x.cuda(non_blocking=True)),
        "cuda(non_blocking) pageable": (host, lambda x: x.cuda(non_blocking=True)),
        "cuda() there already": (vector, lambda x: x.cuda()),
        "to(index)": (host, lambda x: x.to(0)),
        "to(torch.device)": (host, lambda x: x.to(torch.device(device))),
        "to(other)": (lambda: (host(), vector()), lambda x, y: x.to(y)),
        "to(other) host": (lambda: (vector(), host()), lambda x, y: x.to(y)),
        "to(dtype)": (vector, lambda x: x.to(torch.float16)),
        "to(dtype) on host": (host, lambda x: x.to(torch.float16)),
        "to(device) there already": (vector, lambda x: x.to(device)),
        "to(device, copy) there already": (vector, lambda x: x.to(device, copy=True)),
        "to(cpu) on host": (host, lambda x: x.to("cpu")),
        "to(device, dtype)": (host, lambda x: x.to(device, torch.float64)),
        "to(non_blocking positional)": (lambda: host().pin_memory(), lambda x: x.to(device, torch.float32, True)),
        "type_as": (lambda: (host(), vector()), lambda x, y: x.type_as(y)),
        "type('torch.cuda.FloatTensor')": (host, lambda x: x.type("torch.cuda.FloatTensor")),
        "type('torch.FloatTensor')": (vector, lambda x: x.type("torch.FloatTensor")),
        "type(float16)": (vector, lambda x: x.type(torch.float16)),
        "half": (vector, lambda x: x.half()),
        "clone": (vector, lambda x: x.clone()),
        "pin_memory": (host, lambda x: x.pin_memory()),
        "Module.to": (module, lambda m: m.to(device)),
        "Module.to there already": (lambda: module().to(device), lambda m: m.to(device)),
        "Module.to(dtype)": (lambda: module().to(device), lambda m: m.to(torch.float16)),
        "Module.to(cpu)": (lambda: module().to(device), lambda m: m.to("cpu")),
        "Module.cuda": (module, lambda m: m.cuda()),
        "Module.cpu": (lambda: module().to(device), lambda m: m.cpu()),
        "Module.cpu on host": (module, lambda m: m.cpu()),
        "Module.to of pinned": (
            lambda: module()._apply(lambda t: t.pin_memory()),
            lambda m: m.to(device, non_blocking=True),
        ),
        "load_state_dict from host": (
            lambda: (module().to(device), module().state_dict()),
            lambda m, s: m.load_state_dict(s),
        ),
        "load_state_dict from device": (
            lambda: (module().to(device), module().to(device).state_dict()),
            lambda m, s: m.load_state_dict(s),
        ),
        "state_dict": (lambda: module().to(device), lambda m: m.state_dict()),
        "copy_ on device": (lambda: (vector(), vector()), lambda d, s: d.copy_(s)),
        "copy_ on host": (lambda: (host(), host()), lambda d, s: d.copy_(s)),
        "copy_ of one number": (lambda: (vector(), torch.tensor(1.0)), lambda d, s: d.copy_(s)),
        "record_stream": (lambda: (vector(), torch.cuda.Stream()), lambda x, s: x.record_stream(s)),
        "set_ data": (lambda: (vector(), host()), lambda x, y: setattr(x, "data", y.to(device))),
        "from_numpy": (lambda: np.ones(10), torch.from_numpy),
    }
    for name, (setup, act) in forms.items():
        yield probe(name, setup, act)


def _constructors(device: str) -> Iterator[Program]:
    def none() -> tuple[()]:
        return ()

    def number() -> torch.Tensor:
        return torch.tensor(2.0, device=device)

    numbers = [1.0, 2.0, 3.0]
    yield probe("tensor(list, device)", none, lambda: torch.tensor(numbers, device=device))
    yield probe("tensor(list)", none, lambda: torch.tensor(numbers))
    yield probe("tensor(number, device)", none, lambda: torch.tensor(1.0, device=device))
    yield probe("tensor(array, device)", lambda: np.ones(10), lambda a: torch.tensor(a, device=device))
    yield probe("tensor(empty list, device)", none, lambda: torch.tensor([], device=device))
    yield probe("tensor(device tensor)", number, lambda x: torch.tensor(x))
    yield probe("tensor(device tensor, device)", number, lambda x: torch.tensor(x, device=device))
    yield probe("tensor(device tensor, cpu)", number, lambda x: torch.tensor(x, device="cpu"))
    yield probe("tensor(host tensor, device)", lambda: torch.ones(3), lambda x: torch.tensor(x, device=device))
    yield probe("tensor(list of device numbers)", lambda: (number(), number()), lambda a, b: torch.tensor([a, b]))
    yield probe(
        "tensor(list of device numbers, device)",
        lambda: (number(), number()),
        lambda a, b: torch.tensor([a, b], device=device),
    )
    yield probe("as_tensor(array, device)", lambda: np.ones(10), lambda a: torch.as_tensor(a, device=device))
    yield probe("as_tensor(list, device)", none, lambda: torch.as_tensor(numbers, device=device))
    yield probe("as_tensor(device tensor)", number, lambda x: torch.as_tensor(x))
    yield probe("as_tensor(device tensor, device)", number, lambda x: torch.as_tensor(x, device=device))
    yield probe("as_tensor(device tensor, cpu)", number, lambda x: torch.as_tensor(x, device="cpu"))
    yield probe("as_tensor(array)", lambda: np.ones(10), torch.as_tensor)
    yield probe("asarray(array, device)", lambda: np.ones(10), lambda a: torch.asarray(a, device=device))
    yield probe("asarray(device tensor)", number, lambda x: torch.asarray(x))
    yield probe("new_tensor(list)", number, lambda x: x.new_tensor(numbers))
    yield probe("new_tensor(list) of host", lambda: torch.ones(2), lambda x: x.new_tensor(numbers))
    yield probe("new_tensor(list, cpu)", number, lambda x: x.new_tensor(numbers, device="cpu"))
    yield probe("new_tensor(list of device numbers)", number, lambda x: x.new_tensor([x, x]))
    yield probe("scalar_tensor(number, device)", none, lambda: torch.scalar_tensor(1.0, device=device))
    yield probe("cuda.FloatTensor(list)", none, lambda: torch.cuda.FloatTensor(numbers))
    yield probe("tensor under default device", none, lambda: _under_device(device, lambda: torch.tensor(numbers)))
    yield probe("zeros under default device", none, lambda: _under_device(device, lambda: torch.zeros(3)))
    yield probe("stack of device numbers", lambda: (number(), number()), lambda a, b: torch.stack([a, b]))


def _under_device(device: str, act: Callable[[], object]) -> object:
    with torch.device(device):
        return act()

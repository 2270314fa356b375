"""Copies from one tensor to another: layouts, types and sizes of both, in both directions, without blocking."""

# mypy: disable-error-code="misc, no-untyped-call, no-any-return"
from __future__ import annotations

from collections.abc import Iterator

import torch

from syncwatch.facts.measure.probes import Program, probe

_ROWS = {"8 KB": 32, "16 MB": 1 << 16}  # of 64 float32

_TYPES = {"": torch.float32, " as half": torch.float16}


def _laid(layout: str, memory: str, rows: int, dtype: torch.dtype) -> torch.Tensor:
    """A tensor in "pageable", "pinned" or device memory. Pinned memory is laid out in place: a copy would lose it."""
    if layout == "permuted":
        whole = torch.zeros(rows, 64, dtype=dtype)
    elif layout == "transposed":
        whole = torch.zeros(64, rows, dtype=dtype)
    else:
        whole = torch.zeros(rows, 64 if layout == "dense" else 128, dtype=dtype)
    whole = whole.pin_memory() if memory == "pinned" else whole if memory == "pageable" else whole.to(memory)
    if layout == "permuted":
        return whole.view(-1, 4, 16).permute(1, 0, 2)
    if layout == "transposed":
        return whole.t()
    return whole if layout == "dense" else whole[:, :64]


def programs(device: str) -> Iterator[Program]:
    for size, rows in _ROWS.items():
        for memory in ("pageable", "pinned"):
            for source in ("dense", "transposed", "gapped"):
                for target in ("dense", "transposed", "gapped"):
                    for shown, dtype in _TYPES.items():
                        name = f"{memory} {size}, {source} to {target}{shown}"

                        yield _copy(f"copy_ up, {name}", (target, device), (source, memory), rows, dtype)
                        yield _copy(f"copy_ down, {name}", (target, memory), (source, device), rows, dtype)
    yield from _moves(device)
    yield from _in_flight(device)


def _copy(name: str, target: tuple[str, str], source: tuple[str, str], rows: int, dtype: torch.dtype) -> Program:
    """`target` and `source` are layout and memory; the target has the type."""
    return probe(
        name,
        lambda: (_laid(*target, rows, dtype), _laid(*source, rows, torch.float32)),
        lambda dst, src: dst.copy_(src, non_blocking=True),
    )


def _moves(device: str) -> Iterator[Program]:
    """`to` and `cpu` of other layouts and types; copies that expand."""
    for size, rows in _ROWS.items():
        for layout in ("dense", "transposed", "gapped", "permuted"):
            for shown, dtype in _TYPES.items():

                def there(layout: str = layout, rows: int = rows) -> torch.Tensor:
                    return _laid(layout, device, rows, torch.float32)

                def here(layout: str = layout, rows: int = rows) -> torch.Tensor:
                    return _laid(layout, "pinned", rows, torch.float32)

                yield probe(
                    f"to host, {layout}, {size}{shown}",
                    there,
                    lambda x, d=dtype: x.to("cpu", d, non_blocking=True),
                )
                yield probe(
                    f"to device, pinned {layout}, {size}{shown}",
                    here,
                    lambda x, d=dtype: x.to(device, d, non_blocking=True),
                )
    yield probe(
        "copy_ down, one row to many, pinned",
        lambda: (torch.zeros(64, 64).pin_memory(), torch.zeros(64, device=device)),
        lambda dst, src: dst.copy_(src, non_blocking=True),
    )
    yield probe(
        "copy_ up, one row to many, pinned",
        lambda: (torch.zeros(64, 64, device=device), torch.zeros(64).pin_memory()),
        lambda dst, src: dst.copy_(src, non_blocking=True),
    )
    yield probe(
        "copy_ down, prefix of columns, pinned",
        lambda: (torch.empty(1024, 2).pin_memory(), torch.zeros(1024, 1024, device=device)),
        lambda dst, src: dst.copy_(src[:, :2], non_blocking=True),
    )
    yield probe(
        "copy_ down, prefix of rows, pinned",
        lambda: (torch.empty(8, 64).pin_memory(), torch.zeros(64, 64, device=device)),
        lambda dst, src: dst[2:4].copy_(src[:2], non_blocking=True),
    )
    yield probe(
        "copy_ up, into prefix of rows, pinned",
        lambda: (torch.zeros(64, 64, device=device), torch.empty(8, 64).pin_memory()),
        lambda dst, src: dst[2:10].copy_(src, non_blocking=True),
    )
    yield probe(
        "copy_ up, into prefix of columns, pinned",
        lambda: (torch.zeros(64, 64, device=device), torch.empty(64, 8).pin_memory()),
        lambda dst, src: dst[:, :8].copy_(src, non_blocking=True),
    )
    yield probe(
        "copy_ down, integers to floats, pinned",
        lambda: (torch.empty(64).pin_memory(), torch.zeros(64, dtype=torch.long, device=device)),
        lambda dst, src: dst.copy_(src, non_blocking=True),
    )
    yield probe(
        "copy_ up, integers to floats, pinned",
        lambda: (torch.empty(64, device=device), torch.zeros(64, dtype=torch.long).pin_memory()),
        lambda dst, src: dst.copy_(src, non_blocking=True),
    )
    yield probe(
        "cuda(non_blocking) of a clone of pinned",
        lambda: torch.zeros(1 << 22).pin_memory(),
        lambda x: x.clone().cuda(non_blocking=True),
    )
    yield probe(
        "to(channels_last, non_blocking), pinned",
        lambda: torch.zeros(4, 3, 64, 64).pin_memory(),
        lambda x: x.to(device, memory_format=torch.channels_last, non_blocking=True),
    )
    yield probe(
        "_foreach_copy_ up, pinned",
        lambda: ([torch.zeros(64, device=device)], [torch.zeros(64).pin_memory()]),
        lambda dst, src: torch._foreach_copy_(dst, src, non_blocking=True),
    )
    yield probe(
        "_foreach_copy_ up, blocking",
        lambda: ([torch.zeros(64, device=device)], [torch.zeros(64)]),
        lambda dst, src: torch._foreach_copy_(dst, src),
    )
    yield probe(
        "_foreach_copy_ down, pinned",
        lambda: ([torch.zeros(64).pin_memory()], [torch.zeros(64, device=device)]),
        lambda dst, src: torch._foreach_copy_(dst, src, non_blocking=True),
    )
    yield probe(
        "_foreach_copy_ down, blocking",
        lambda: ([torch.zeros(64)], [torch.zeros(64, device=device)]),
        lambda dst, src: torch._foreach_copy_(dst, src),
    )


def _in_flight(device: str) -> Iterator[Program]:
    """Where the driver's staging buffers end: one pageable copy of a size, and eight in a row."""
    for kilobytes in (64, 256, 1024, 2048, 3072, 4096, 8192):
        yield probe(
            f"to device, pageable, {kilobytes} KB, non_blocking",
            lambda k=kilobytes: torch.zeros(k << 8),
            lambda x: x.to(device, non_blocking=True),
        )

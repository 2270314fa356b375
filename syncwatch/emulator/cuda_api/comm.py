"""Copies between GPUs for `torch.nn.DataParallel`: torch has them in C++, for CUDA tensors alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from syncwatch.emulator.patching import Patches

Tensors = Sequence[torch.Tensor]


def _there(tensor: torch.Tensor, device: int | None) -> torch.Tensor:
    target = torch.device("cpu") if device == -1 else torch.device("cuda", device)
    return tensor.to(target, non_blocking=device != -1)


def scatter(
    tensor: torch.Tensor, devices: Sequence[int], chunk_sizes: Sequence[int] | None, dim: int, streams: Any
) -> tuple[torch.Tensor, ...]:
    """Parts of `tensor` along `dim`, one on each device."""
    chunks = tensor.chunk(len(devices), dim) if chunk_sizes is None else tensor.split(list(chunk_sizes), dim)
    return tuple(_there(chunk, device) for chunk, device in zip(chunks, devices, strict=False))


def gather(tensors: Tensors, dim: int, destination: int | None) -> torch.Tensor:
    """The tensors joined along `dim` on one device; -1 is the host."""
    return torch.cat([_there(tensor, destination) for tensor in tensors], dim)


def broadcast(tensor: torch.Tensor, devices: Sequence[int]) -> list[torch.Tensor]:
    """`tensor` on each device."""
    return [_there(tensor, device) for device in devices]


def broadcast_coalesced(tensors: Tensors, devices: Sequence[int], buffer_size: int) -> list[list[torch.Tensor]]:
    """All tensors on each device."""
    return [[_there(tensor, device) for tensor in tensors] for device in devices]


def scatter_out(tensor: torch.Tensor, out: Tensors, dim: int, streams: Any) -> Tensors:
    for part, target in zip(tensor.split([target.size(dim) for target in out], dim), out, strict=True):
        target.copy_(part, non_blocking=True)
    return out


def gather_out(tensors: Tensors, out: torch.Tensor, dim: int) -> torch.Tensor:
    for part, target in zip(tensors, out.split([tensor.size(dim) for tensor in tensors], dim), strict=True):
        target.copy_(part, non_blocking=True)
    return out


def broadcast_out(tensor: torch.Tensor, out: Tensors) -> Tensors:
    for target in out:
        target.copy_(tensor, non_blocking=True)
    return out


def install(patches: Patches) -> None:
    """Replaces the functions in C++, which a CPU build lacks."""
    for function in (scatter, gather, broadcast, broadcast_coalesced, scatter_out, gather_out, broadcast_out):
        patches.set(torch._C, f"_{function.__name__}", function)
    patches.set(torch.cuda.nccl, "is_available", lambda tensors: False)

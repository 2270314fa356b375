"""Batch normalization over several ranks: the operations of SyncBatchNorm, which the CPU lacks."""

from __future__ import annotations

import torch

Pair = tuple[torch.Tensor, torch.Tensor]


def _channels(tensor: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """One number a channel, shaped to meet `like`, whose channels are dimension 1."""
    return tensor.view(1, -1, *[1] * (like.dim() - 2))


def _others(tensor: torch.Tensor) -> list[int]:
    return [dim for dim in range(tensor.dim()) if dim != 1]


def stats(input: torch.Tensor, eps: float) -> Pair:
    """(mean, 1 / standard deviation) of each channel."""
    wide = input.float() if input.dtype in (torch.float16, torch.bfloat16) else input
    variance, mean = torch.var_mean(wide, _others(wide), correction=0)
    return mean, (variance + eps).rsqrt()


def elemt(
    input: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    mean: torch.Tensor,
    invstd: torch.Tensor,
    eps: float,
) -> torch.Tensor:
    """The normalized input."""
    out = (input - _channels(mean, input)) * _channels(invstd, input)
    if weight is not None:
        out = out * _channels(weight, input)
    if bias is not None:
        out = out + _channels(bias, input)
    return out.to(input.dtype)


def gather_stats_with_counts(
    input: torch.Tensor,
    mean: torch.Tensor,
    invstd: torch.Tensor,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    momentum: float,
    eps: float,
    counts: torch.Tensor,
) -> Pair:
    """(mean, 1 / standard deviation) over all ranks, from those of each (rows); updates the running ones."""
    count = counts.to(mean.dtype).view(-1, 1)
    total = count.sum()
    overall = (mean * count).sum(0) / total
    squares = ((invstd.pow(-2) - eps + (mean - overall) ** 2) * count).sum(0)
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(overall, alpha=momentum)
    if running_var is not None:
        running_var.mul_(1 - momentum).add_(squares / (total - 1), alpha=momentum)
    return overall, (squares / total + eps).rsqrt()


def backward_reduce(
    grad_out: torch.Tensor,
    input: torch.Tensor,
    mean: torch.Tensor,
    invstd: torch.Tensor,
    weight: torch.Tensor | None,
    input_g: bool,
    weight_g: bool,
    bias_g: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
    """(sum of the gradient, of the gradient times the centred input, gradients of weight and bias)."""
    wide = grad_out.to(mean.dtype)
    sums = wide.sum(_others(wide))
    products = (wide * (input - _channels(mean, input))).sum(_others(wide))
    like = mean.dtype if weight is None else weight.dtype
    return sums, products, (products * invstd).to(like) if weight_g else None, sums.to(like) if bias_g else None


def backward_elemt(
    grad_out: torch.Tensor,
    input: torch.Tensor,
    mean: torch.Tensor,
    invstd: torch.Tensor,
    weight: torch.Tensor | None,
    sum_dy: torch.Tensor,
    sum_dy_xmu: torch.Tensor,
    count: torch.Tensor,
) -> torch.Tensor:
    """The gradient of the input, from the sums over all ranks."""
    total = count.sum().to(mean.dtype)
    centred = input - _channels(mean, input)
    slope = _channels(invstd**2 * sum_dy_xmu / total, input)
    grad = (grad_out - _channels(sum_dy / total, input) - centred * slope) * _channels(invstd, input)
    if weight is not None:
        grad = grad * _channels(weight, input)
    return grad.to(input.dtype)


SUBSTITUTES = {
    "aten::batch_norm_stats": stats,
    "aten::batch_norm_elemt": elemt,
    "aten::batch_norm_gather_stats_with_counts": gather_stats_with_counts,
    "aten::batch_norm_backward_reduce": backward_reduce,
    "aten::batch_norm_backward_elemt": backward_elemt,
}

"""Operations that the CPU lacks (the fused cells of recurrent layers) or is slow at (float16), computed otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from syncwatch.emulator import normalization

Optional: TypeAlias = "torch.Tensor | None"


def _gates(input_gates: torch.Tensor, hidden_gates: torch.Tensor, *biases: Optional) -> torch.Tensor:
    gates = input_gates + hidden_gates
    for bias in biases:
        if bias is not None:
            gates = gates + bias
    return gates


def lstm_cell(
    input_gates: torch.Tensor,
    hidden_gates: torch.Tensor,
    cx: torch.Tensor,
    input_bias: Optional = None,
    hidden_bias: Optional = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(hy, cy, workspace); the workspace holds the four activated gates."""
    i, f, g, o = _gates(input_gates, hidden_gates, input_bias, hidden_bias).chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx + i * g
    return o * cy.tanh(), cy, torch.cat((i, f, g, o), 1)


def lstm_cell_backward(
    grad_hy: Optional, grad_cy: Optional, cx: torch.Tensor, cy: torch.Tensor, workspace: torch.Tensor, has_bias: bool
) -> tuple[Optional, Optional, Optional]:
    """(gradient of the gates, of cx, of the bias)."""
    if grad_hy is None and grad_cy is None:
        return None, None, None
    i, f, g, o = workspace.chunk(4, 1)
    tanh = cy.tanh()
    upstream_h = torch.zeros_like(cy) if grad_hy is None else grad_hy
    upstream_c = upstream_h * o * (1 - tanh * tanh)
    if grad_cy is not None:
        upstream_c = upstream_c + grad_cy
    grad_gates = torch.cat(
        (
            upstream_c * g * i * (1 - i),
            upstream_c * cx * f * (1 - f),
            upstream_c * i * (1 - g * g),
            upstream_h * tanh * o * (1 - o),
        ),
        1,
    )
    return grad_gates, upstream_c * f, grad_gates.sum(0) if has_bias else None


def gru_cell(
    input_gates: torch.Tensor,
    hidden_gates: torch.Tensor,
    hx: torch.Tensor,
    input_bias: Optional = None,
    hidden_bias: Optional = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """(hy, workspace); the workspace holds r, z, n, hx and the hidden part of n, as CUDA's does."""
    if input_bias is not None:
        input_gates = input_gates + input_bias
    if hidden_bias is not None:
        hidden_gates = hidden_gates + hidden_bias
    ir, iz, in_ = input_gates.chunk(3, 1)
    hr, hz, hn = hidden_gates.chunk(3, 1)
    r, z = (ir + hr).sigmoid(), (iz + hz).sigmoid()
    n = (in_ + r * hn).tanh()
    return n + z * (hx - n), torch.cat((r, z, n, hx, hn), 1)


def gru_cell_backward(
    grad_hy: torch.Tensor, workspace: torch.Tensor, has_bias: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, Optional, Optional]:
    """(gradients of the input gates, the hidden gates, hx, the input bias, the hidden bias)."""
    r, z, n, hx, hn = workspace.chunk(5, 1)
    grad_z = grad_hy * (hx - n) * z * (1 - z)
    grad_n = grad_hy * (1 - z) * (1 - n * n)
    grad_r = grad_n * hn * r * (1 - r)
    grad_input = torch.cat((grad_r, grad_z, grad_n), 1)
    grad_hidden = torch.cat((grad_r, grad_z, grad_n * r), 1)
    if not has_bias:
        return grad_input, grad_hidden, grad_hy * z, None, None
    return grad_input, grad_hidden, grad_hy * z, grad_input.sum(0), grad_hidden.sum(0)


def in_float32(op: Callable[..., Any]) -> Callable[..., Any]:
    """`op`, computed in float32 where its tensors are float16: a CPU is slow at that, and a GPU sums in float32 too."""

    def widened(*args: Any, **kwargs: Any) -> Any:
        first = args[0]
        if not isinstance(first, torch.Tensor) or first.dtype is not torch.float16:
            return op(*args, **kwargs)
        out = op(*(_widened(arg) for arg in args), **{name: _widened(value) for name, value in kwargs.items()})
        if isinstance(out, torch.Tensor):
            return out.to(torch.float16)
        return tuple(item.to(torch.float16) if isinstance(item, torch.Tensor) else item for item in out)

    return widened


def _widened(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.dtype is torch.float16:
        return value.to(torch.float32)
    return value


WIDENED = frozenset(
    "aten::" + name
    for name in (
        "convolution",
        "convolution_backward",
        "mm",
        "bmm",
        "addmm",
        "baddbmm",
    )
)

# operation of the dispatcher -> what computes it on the values
SUBSTITUTES = {
    "aten::_thnn_fused_lstm_cell": lstm_cell,
    "aten::_thnn_fused_lstm_cell_backward_impl": lstm_cell_backward,
    "aten::_thnn_fused_gru_cell": gru_cell,
    "aten::_thnn_fused_gru_cell_backward": gru_cell_backward,
    **normalization.SUBSTITUTES,
}

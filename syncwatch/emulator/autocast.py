"""Automatic mixed precision on the device, by CUDA's lists.

torch has such kernels for CUDA in C++; a backend in Python brings its own. `torch.autocast("cuda")` switches the
backend's on as well.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch

from syncwatch.emulator.patching import Patches
from syncwatch.emulator.values import BACKEND, is_emulated

_LOWER = [
    "_convolution",
    "_convolution.deprecated",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d.input",
    "conv_transpose3d.input",
    "convolution",
    "prelu",
    "addmm",
    "addmv",
    "addr",
    "matmul",
    "einsum",
    "mm",
    "mv",
    "linalg_vecdot",
    "linear",
    "addbmm",
    "baddbmm",
    "bmm",
    "chain_matmul",
    "linalg_multi_dot",
    "_thnn_fused_lstm_cell",
    "_thnn_fused_gru_cell",
    "lstm_cell",
    "gru_cell",
    "rnn_tanh_cell",
    "rnn_relu_cell",
    "_scaled_dot_product_flash_attention",
    "scaled_dot_product_attention",
]
_FP32 = [
    "acos",
    "asin",
    "cosh",
    "erfinv",
    "exp",
    "expm1",
    "log",
    "log10",
    "log2",
    "log1p",
    "reciprocal",
    "rsqrt",
    "sinh",
    "tan",
    "pow.Tensor_Scalar",
    "pow.Tensor_Tensor",
    "pow.Scalar",
    "softplus",
    "layer_norm",
    "native_layer_norm",
    "rms_norm",
    "group_norm",
    "frobenius_norm.dim",
    "nuclear_norm",
    "nuclear_norm.dim",
    "cosine_similarity",
    "poisson_nll_loss",
    "cosine_embedding_loss",
    "nll_loss",
    "nll_loss2d",
    "hinge_embedding_loss",
    "kl_div",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "mse_loss",
    "margin_ranking_loss",
    "multilabel_margin_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "multi_margin_loss",
    "binary_cross_entropy_with_logits",
    "dist",
    "pdist",
    "cdist",
    "renorm",
    "logsumexp",
    "upsample_nearest1d",
    "_upsample_nearest_exact1d",
    "upsample_nearest2d",
    "_upsample_nearest_exact2d",
    "upsample_nearest3d",
    "_upsample_nearest_exact3d",
    "upsample_linear1d",
    "upsample_bilinear2d",
    "_upsample_bilinear2d_aa",
    "upsample_trilinear3d",
    "upsample_bicubic2d",
    "_upsample_bicubic2d_aa",
    "linalg_vector_norm",
    "linalg_matrix_norm",
    "linalg_matrix_norm.str_ord",
]
# in float32 unless the program names a type
_FP32_UNLESS_TYPED = [
    "prod",
    "prod.dim_int",
    "softmax.int",
    "log_softmax.int",
    "cumprod",
    "cumsum",
    "sum",
    "sum.dim_IntList",
    "norm.Scalar",
    "norm.ScalarOpt_dim",
]
_WIDEST = [
    "addcdiv",
    "addcmul",
    "atan2",
    "bilinear",
    "cross",
    "dot",
    "grid_sampler",
    "index_put",
    "tensordot",
    "scatter_add",
    "vdot",
]
_REFUSED = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
    "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
    "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
    "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\nsafe to autocast."
)

_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)
_library: list[torch.library.Library] = []
# weights cast once for each autocast region, as torch does: id -> (the weight, its cast)
_cast: dict[int, tuple[weakref.ref[torch.Tensor], torch.Tensor]] = {}


def _eligible(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() and tensor.dtype is not torch.float64 and is_emulated(tensor)


def _lower(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    if not _eligible(tensor) or tensor.dtype is dtype:
        return tensor
    if not (
        tensor.requires_grad and tensor.is_leaf and tensor.dtype is torch.float32 and torch.is_autocast_cache_enabled()
    ):
        return tensor.to(dtype)
    held = _cast.get(id(tensor))
    if held is not None and held[0]() is tensor and held[1].dtype is dtype:
        return held[1]
    made = tensor.to(dtype)
    _cast[id(tensor)] = (weakref.ref(tensor), made)
    return made


def _map(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_map(item, change) for item in value)
    return value


def _to_fp32(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(torch.float32) if _eligible(tensor) and tensor.dtype is not torch.float32 else tensor


def _lower_kernel(op: Any) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(_KEYS):
            dtype = torch.get_autocast_dtype(BACKEND)
            change = lambda tensor: _lower(tensor, dtype)  # noqa: E731
            return op(*_map(args, change), **{name: _map(value, change) for name, value in kwargs.items()})

    return kernel


def _fp32_kernel(op: Any, *, unless_typed: bool = False) -> Callable[..., Any]:
    names = [arg.name for arg in op._schema.arguments]

    def kernel(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(_KEYS):
            if unless_typed and "dtype" in names and not op._schema.name.endswith("norm"):
                if kwargs.get("dtype") is None and not any(isinstance(arg, torch.dtype) for arg in args):
                    kwargs["dtype"] = torch.float32 if _eligible(args[0]) else None
                return op(*args, **kwargs)
            return op(*_map(args, _to_fp32), **{name: _map(value, _to_fp32) for name, value in kwargs.items()})

    return kernel


def _widest_kernel(op: Any) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(_KEYS):
            dtypes: set[torch.dtype] = set()

            def note(tensor: torch.Tensor) -> torch.Tensor:
                if _eligible(tensor):
                    dtypes.add(tensor.dtype)
                return tensor

            _map(args, note)
            if len(dtypes) < 2:
                return op(*args, **kwargs)
            return op(*_map(args, lambda tensor: tensor.to(torch.float32) if _eligible(tensor) else tensor), **kwargs)

    return kernel


def _refused_kernel(op: Any) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(_REFUSED)

    return kernel


def register() -> None:
    """Registers the kernels."""
    everything = torch.library.Library("_", "IMPL")
    everything.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    aten = torch.library.Library("aten", "IMPL")
    _library.extend((everything, aten))
    for names, make in (
        (_LOWER, _lower_kernel),
        (_FP32, _fp32_kernel),
        (_FP32_UNLESS_TYPED, lambda op: _fp32_kernel(op, unless_typed=True)),
        (_WIDEST, _widest_kernel),
        (["binary_cross_entropy"], _refused_kernel),
    ):
        for name in names:
            packet, _, overload = name.partition(".")
            op = getattr(getattr(torch.ops.aten, packet, None), overload or "default", None)
            if op is not None:
                assert aten.m is not None
                aten.m.impl(name, "AutocastPrivateUse1", make(op))


def install(patches: Patches) -> None:
    """Lets `torch.autocast("cuda")` switch the device's kernels."""

    def set_enabled(original: Any) -> Any:
        def set_autocast_enabled(*args: Any) -> None:
            original(*args)
            if args and args[0] == "cuda":
                original(BACKEND, *args[1:])
            elif len(args) == 1:  # the old form, without a device, means CUDA
                original(BACKEND, args[0])

        return set_autocast_enabled

    def set_dtype(original: Any) -> Any:
        def set_autocast_dtype(device_type: str, dtype: torch.dtype) -> None:
            original(device_type, dtype)
            if device_type == "cuda":
                original(BACKEND, dtype)

        return set_autocast_dtype

    def clear(original: Any) -> Any:
        def clear_autocast_cache() -> None:
            _cast.clear()
            original()

        return clear_autocast_cache

    patches.wrap(torch, "set_autocast_enabled", set_enabled)
    patches.wrap(torch, "set_autocast_dtype", set_dtype)
    patches.wrap(torch, "clear_autocast_cache", clear)
    patches.wrap(torch.amp.autocast_mode, "is_autocast_available", lambda original: _available(original))
    patches.wrap(torch.amp, "is_autocast_available", lambda original: _available(original))


def _available(original: Any) -> Any:
    return lambda device_type: device_type == "cuda" or original(device_type)

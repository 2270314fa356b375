"""Which devices an operation's tensors may be on: the device refuses what CUDA refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from syncwatch.emulator.gpus import check_number
from syncwatch.emulator.values import index_of, value_of

Check = Callable[[Sequence[Any], dict[str, Any]], None]

there = False  # the device is emulated now
several = False  # more than one GPU is emulated
noted = False  # a CUDA graph is being captured: operations are noted

# operations with arguments that live on the host, or that copy between devices
_MIXED = frozenset(
    [
        "copy_",
        "_to_copy",
        "_copy_from",
        "_copy_from_and_resize",
        "copy",
        "set_",
        "_pack_padded_sequence",
        "_pack_padded_sequence_backward",
        "_pad_packed_sequence",
        "_ctc_loss",
        "_ctc_loss_backward",
        "_use_cudnn_ctc_loss",
        "_cudnn_ctc_loss",
        "lstm",
        "gru",
        "rnn_tanh",
        "rnn_relu",
        "_cudnn_rnn",
        "split_with_sizes",
        "tensor_split",
        "_local_scalar_dense",
        "resize_as_",
        "_fused_adam_",
        "_fused_adamw_",
        "_fused_sgd_",
        "_fused_adagrad_",
        "_sparse_coo_tensor_with_dims_and_tensors",
        "quantize_per_tensor",
        "nested_tensor",
        "_nested_tensor_from_mask",
        "_embedding_bag_per_sample_weights_backward",
        "histogramdd",
        "_amp_foreach_non_finite_check_and_unscale_",
        "_nested_view_from_buffer",
        "_nested_view_from_buffer_copy",
        "_nested_from_padded",
        "to_padded_tensor",
    ]
)

# operations whose second argument are indices, which may be on the host
_INDEXING = frozenset(["index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index", "_unsafe_index_put"])


def rule_for(op: Any) -> Check:
    """The check for calls of `op` that have tensors on the host as well as on the device."""
    name = op._schema.name.partition("::")[2]
    if name in _INDEXING:
        return _indices
    if name in _MIXED or not op._schema.name.startswith("aten::"):
        return _anything
    if name in ("convolution", "_convolution"):
        return _convolved
    pointwise = torch.Tag.pointwise in op.tags
    names = [arg.name for arg in op._schema.arguments]

    def check(args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        tensors = list(_tensors(names, args, kwargs))
        device = next(_where(tensor) for _, tensor in tensors if value_of(tensor) is not None)
        for argument, tensor in tensors:
            other = _where(tensor)
            if other == device or (other == "cpu" and tensor.dim() == 0):
                continue
            if pointwise:
                raise RuntimeError(
                    "Expected all tensors to be on the same device, "
                    f"but found at least two devices, {device} and {other}!"
                )
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but got {argument} is on {other}, "
                f"different from other tensors on {device} (when checking argument in method wrapper_CUDA_{name})"
            )

    return check


def refuse_device_lengths(args: Sequence[Any]) -> None:
    """Raises what torch raises for lengths of packed sequences that are on the device."""
    lengths = args[1] if len(args) > 1 else None
    if isinstance(lengths, torch.Tensor) and value_of(lengths) is not None:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D {_where(lengths)} "
            f"{str(lengths.dtype).removeprefix('torch.').replace('int64', 'Long')} tensor"
        )


def _where(tensor: torch.Tensor) -> str:
    return str(tensor.device) if value_of(tensor) is None else f"cuda:{index_of(tensor)}"


def _convolved(args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    given, weight, bias = args[:3]
    for what, tensor in (("weight", weight), ("bias", bias)):
        if isinstance(tensor, torch.Tensor) and (value_of(tensor) is None) != (value_of(given) is None):
            raise RuntimeError(f"Input type ({given.type()}) and {what} type ({tensor.type()}) should be the same")


def _anything(args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    return None


def _indices(args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    self, indices, *rest = (*args, *kwargs.values())
    device = _where(self)
    for index in indices:
        if index is not None and _where(index) not in ("cpu", device):
            raise RuntimeError(
                f"indices should be either on cpu or on the same device as the indexed tensor ({device})"
            )
    for value in rest[:1]:
        if _where(value) != device and value.dim():
            raise RuntimeError(
                "Expected all tensors to be on the same device, "
                f"but found at least two devices, {device} and {_where(value)}!"
            )


def _tensors(names: Sequence[str], args: Sequence[Any], kwargs: dict[str, Any]) -> Iterator[tuple[str, torch.Tensor]]:
    for name, arg in (*zip(names, args, strict=False), *kwargs.items()):
        if isinstance(arg, torch.Tensor):
            yield name, arg
        elif isinstance(arg, (list, tuple)):
            for item in arg:
                if isinstance(item, torch.Tensor):
                    yield name, item


class _Current:
    """The GPU that `torch.cuda.set_device` chose."""

    index = 0


CURRENT = _Current()


def index_named(device: torch.device, seen: Any = None) -> int:
    """The number of the GPU that a device names; one without a number is the current one."""
    if device.type == "cuda":
        if device.index is None:
            return CURRENT.index
        check_number(device.index)
        return int(device.index)
    # torch's own code names our backend: it means the device of the tensors at hand
    return seen.index if seen is not None and seen.device else CURRENT.index

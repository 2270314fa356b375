"""Describes real calls to the facts: real arguments become `Arg`, real functions get their public names.

Used by the engines that run the program, and by the measuring script. torch is imported when a function is called.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from syncwatch.facts import table
from syncwatch.facts.describe import Arg, Call
from syncwatch.facts.ops import silent

MAX_ITEMS = 256  # longer sequences are described by their first elements

_NUMPY_KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}


def dtype_class(dtype: Any) -> str:
    """The class of a torch.dtype: "bool", "uint8", "int", "float" or "complex"."""
    import torch

    if dtype == torch.bool:
        return "bool"
    if dtype == torch.uint8:
        return "uint8"
    if dtype.is_complex:
        return "complex"
    return "float" if dtype.is_floating_point else "int"


def is_dense(tensor: Any) -> bool:
    """Whether the tensor fills its memory without gaps or overlaps, in any order of its dimensions."""
    expected = 1
    pairs = [(stride, size) for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size != 1]
    for stride, size in sorted(pairs):
        if stride != expected:
            return bool(tensor.numel() == 0)
        expected *= size
    return True


def describe_tensor(tensor: Any, *, device: str | None = None) -> Arg:
    """`device` overrides the tensor's own, for engines that emulate one."""
    import torch

    attrs: dict[str, Arg] = {}
    strided = tensor.layout == torch.strided and not tensor.is_nested
    if not strided:
        jagged = tensor.layout == torch.jagged
        layout = "nested" if tensor.is_nested and not jagged else str(tensor.layout).removeprefix("torch.")
        attrs["layout"] = Arg("str", value=layout)
        if jagged:
            attrs["max_seqlen"] = Arg("bool", value="max_seqlen" in getattr(tensor, "_metadata_cache", ()))
    where = device or tensor.device.type
    pinned = None
    if where == "cpu" and strided:
        pinned = _is_pinned(tensor) if torch.cuda.is_available() else False
    if strided:
        attrs["itemsize"] = Arg("number", value=tensor.element_size())
        if not tensor.is_contiguous():
            attrs["contiguous"] = Arg("bool", value=False)
        if tensor.dim() >= 2 and tensor.shape[-1] != tensor.shape[-2]:
            attrs["square"] = Arg("bool", value=False)
        if tensor.dim() == 0 or (tensor.dim() >= 2 and tensor.shape[-1] == tensor.shape[-2]):
            attrs["square"] = Arg("bool", value=True)
    elif tensor.layout == torch.sparse_coo:
        attrs["coalesced"] = Arg("bool", value=tensor.is_coalesced())
    return Arg(
        "tensor",
        device=where,
        dim=tensor.dim(),
        dtype=dtype_class(tensor.dtype),
        nbytes=tensor.numel() * tensor.element_size() if strided else None,
        pinned=pinned,
        dense=is_dense(tensor) if strided else None,
        requires_grad=tensor.requires_grad,
        attrs=attrs,
    )


def _is_pinned(tensor: Any) -> bool | None:
    try:
        return bool(tensor.is_pinned())
    except (RuntimeError, TypeError):  # under vmap, and for tensor classes that do not answer
        return None


def describe(value: Any) -> Arg:
    """What the facts need to know of one argument."""
    import torch

    if isinstance(value, torch.Tensor):
        return describe_tensor(value)
    if value is None:
        return Arg("none")
    if isinstance(value, bool):
        return Arg("bool", value=value)
    if isinstance(value, (int, float, complex)):
        return Arg("number", value=value)
    if isinstance(value, str):
        return Arg("str", value=value)
    if isinstance(value, tuple) and type(value).__module__ == "torch" and hasattr(value, "numel"):
        return Arg("sequence", items=tuple(Arg("number", value=int(size)) for size in value))
    if isinstance(value, (list, tuple, set, frozenset)):
        sort = "tuple" if isinstance(value, tuple) else "sequence"
        return Arg(sort, items=tuple(describe(item) for item in list(value)[:MAX_ITEMS]))
    if isinstance(value, Mapping):
        return Arg("mapping", items=tuple(describe(item) for item in list(value.values())[:MAX_ITEMS]))
    if isinstance(value, slice):
        return Arg("slice", items=tuple(describe(bound) for bound in (value.start, value.stop, value.step)))
    if value is Ellipsis:
        return Arg("ellipsis")
    try:
        return _describe_object(value)
    except (
        Exception
    ):  # an object that is being made, or does not answer: nothing is known of it, and its program goes on
        return Arg("object")


def _describe_object(value: Any) -> Arg:
    import torch

    if isinstance(value, torch.device):
        return Arg("device", device=value.type)
    if isinstance(value, torch.dtype):
        return Arg("dtype", dtype=dtype_class(value), value=str(value))
    if isinstance(value, (torch.layout, torch.memory_format)):
        return Arg("object", value=str(value))
    if isinstance(value, torch.Generator):
        return Arg("generator", device=value.device.type)
    if isinstance(value, torch.nn.Module):
        tensors = [*value.parameters(), *value.buffers()]
        device = tensors[0].device.type if tensors else "cpu"
        attrs = {"training": Arg("bool", value=value.training), "tensors": Arg("number", value=len(tensors))}
        for name in ("enable_nested_tensor", "momentum", "track_running_stats", "n_averaged", "reduction"):
            if hasattr(value, name):
                attrs[name] = describe(getattr(value, name))
        if isinstance(value, torch.nn.parallel.DistributedDataParallel):
            attrs.update(_describe_replica(value))
        pinned = None
        if device == "cpu":
            pinned = torch.cuda.is_available() and all(tensor.is_pinned() for tensor in tensors)
        return Arg(
            "module",
            device=device,
            nbytes=sum(tensor.numel() * tensor.element_size() for tensor in tensors),
            pinned=pinned,
            dense=True,
            attrs=attrs,
        )
    if isinstance(value, torch.optim.Optimizer):
        return _describe_optimizer(value)
    if isinstance(value, torch.distributions.Distribution):
        return Arg(
            "object",
            device=_device_of_distribution(value),
            attrs={
                "validate_args": Arg("bool", value=bool(value._validate_args)),
                "kind": Arg("str", value=type(value).__name__),
                "base": Arg("str", value=_base(value)),
            },
        )
    if isinstance(value, getattr(torch.distributed, "ProcessGroup", ())):
        return Arg("object", attrs={"backend": Arg("str", value=torch.distributed.get_backend(value))})
    if isinstance(value, torch.amp.GradScaler):
        return Arg("object", attrs={"enabled": Arg("bool", value=value.is_enabled())})
    if isinstance(value, (torch.UntypedStorage, torch.TypedStorage)):
        return Arg("object", device=value.device.type)
    if type(value).__name__ == "StateDictOptions":
        return Arg("object", attrs={"cpu_offload": Arg("bool", value=bool(value.cpu_offload))})
    if type(value).__module__ == "numpy":
        kind = _NUMPY_KINDS.get(getattr(getattr(value, "dtype", None), "kind", ""))
        if hasattr(value, "ndim") and value.ndim:
            return Arg("ndarray", device="cpu", dim=value.ndim, dtype=kind, nbytes=value.nbytes)
        return Arg("number", dtype=kind)
    if inspect.isgenerator(value):
        return Arg("unknown")
    return Arg("object")


def _device_of_distribution(distribution: Any) -> str | None:
    import torch

    held = list(vars(distribution).values())
    for value in held:
        if isinstance(value, torch.Tensor):
            return str(value.device.type)
    inner = [value for value in held if isinstance(value, torch.distributions.Distribution)]
    return next((device for value in inner if (device := _device_of_distribution(value)) is not None), None)


def _base(distribution: Any) -> str:
    """The class that draws the samples, beneath transforms, dimensions and mixtures."""
    for name in ("base_dist", "_component_distribution"):
        inner = getattr(distribution, name, None)
        if inner is not None:
            return _base(inner)
    return type(distribution).__name__


# Asking a replica for its record takes a lock that its own passes hold while they call Python: only a caller that
# stands outside of them may ask.
_REPLICAS: ContextVar[bool] = ContextVar("_REPLICAS", default=False)


@contextmanager
def asking_replicas() -> Iterator[None]:
    """Replicas are asked for parameters that their passes left out; nothing else may run in them meanwhile."""
    token = _REPLICAS.set(True)
    try:
        yield
    finally:
        _REPLICAS.reset(token)


def _describe_replica(module: Any) -> dict[str, Arg]:
    """What DistributedDataParallel was told, and whether a parameter had no part in the passes before."""
    import torch

    attrs = {
        "find_unused_parameters": Arg("bool", value=bool(module.find_unused_parameters)),
        "static_graph": Arg("bool", value=bool(module.static_graph)),
        "syncs": Arg("bool", value=bool(module.require_backward_grad_sync)),
        "backend": Arg("str", value=torch.distributed.get_backend(module.process_group)),
    }
    unused = None
    if _REPLICAS.get() and getattr(module, "logger", None) is not None:  # None while the replica is being made
        unused = module._get_ddp_logging_data().get("unused_parameter_size")
    if unused is not None:
        attrs["unused"] = Arg("bool", value=unused > 0)
    return attrs


def _describe_optimizer(optimizer: Any) -> Arg:
    import torch

    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    attrs = {
        name: Arg("bool", value=any(bool(group.get(name)) for group in optimizer.param_groups))
        for name in ("fused", "capturable", "foreach", "amsgrad", "differentiable")
    }
    if any(group.get("foreach") is not None for group in optimizer.param_groups):
        attrs["foreach_given"] = Arg("bool", value=True)
    attrs["parameters"] = Arg("number", value=sum(p.grad is not None for p in parameters))
    rates = [group["lr"] for group in optimizer.param_groups if isinstance(group.get("lr"), torch.Tensor)]
    if rates:
        attrs["lr"] = describe(rates[0])
    return Arg("object", device=parameters[0].device.type if parameters else None, attrs=attrs)


def describe_call(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call:
    return Call(tuple(describe(arg) for arg in args), {name: describe(arg) for name, arg in kwargs.items()})


# ------------------------------------------------------------------------------------------- names

_SPACES = (
    "torch.Tensor", "torch", "torch.nn.functional", "torch.linalg", "torch.special", "torch.fft", "torch.sparse",
    "torch.nested", "torch.functional",
)  # fmt: skip

# the functions behind a switch on a boolean argument (torch._jit_internal.boolean_dispatch)
_DISPATCHED = {
    "_return_counts": "unique", "_return_output": "unique", "_return_inverse": "unique", "_unique_impl": "unique",
    "_consecutive_return_counts": "unique_consecutive", "_consecutive_return_output": "unique_consecutive",
    "_consecutive_return_inverse": "unique_consecutive", "_unique_consecutive_impl": "unique_consecutive",
}  # fmt: skip


@functools.cache
def _names() -> dict[Any, str]:
    known = {*table().public, *silent.public()}
    names: dict[Any, str] = {}
    for space in _SPACES:
        owner = resolve(space)
        for attribute in dir(owner):
            try:
                value = getattr(owner, attribute)
                hash(value)
            except Exception:  # some attributes of torch refuse to be read
                continue
            if callable(value):
                name = f"{space}.{attribute}"
                if value not in names or (name in known and names[value] not in known):
                    names[value] = name
    return names


def resolve(name: str) -> Any:
    """The object with this dotted name. Raises AttributeError or ModuleNotFoundError where there is none."""
    parts = name.split(".")
    value: Any = importlib.import_module(parts[0])
    for depth, part in enumerate(parts[1:], 2):
        if not hasattr(value, part) and isinstance(value, types.ModuleType):
            importlib.import_module(".".join(parts[:depth]))
        value = getattr(value, part)
    return value


def name_of(function: Any) -> str:
    """The public name of a function that a torch function mode sees: `torch.Tensor.item`, `torch.nonzero`."""
    name = _names().get(function)
    if name is not None:
        return name
    plain = getattr(function, "__name__", "")
    module = getattr(function, "__module__", "") or "torch"
    if plain in _DISPATCHED:
        return f"torch.{_DISPATCHED[plain]}"
    if module == "torch.distributed.distributed_c10d":
        return f"torch.distributed.{plain}"
    if module == "torch.nn.functional":
        return f"{module}.{plain.removesuffix('_with_indices').lstrip('_')}"
    return f"{module}.{plain}"

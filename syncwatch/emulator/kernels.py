"""The device's kernels: each operation runs on the values, and its results become device tensors.

Every operation of torch that is not merely composed of others gets a kernel for the PrivateUse1 key, and those that
create tensors one for the CUDA key too, since programs name that device. Operations of other libraries come through
the fallback. A kernel is specialised when it is made, from the operation's schema: this is the hot path.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
from torch._C import TensorBase

from syncwatch.emulator import placement, random
from syncwatch.emulator.capture import CAPTURE
from syncwatch.emulator.events import BACKWARD_WAITS, EVENTS
from syncwatch.emulator.gpus import GPUS
from syncwatch.emulator.stops import explained
from syncwatch.emulator.values import ALLOCATED, BACKEND, INDEX, VALUE, emulated, emulated_beside, refresh, value_of

CPU: Final = torch.device("cpu")
Kernel = Callable[..., Any]

_device_of = TensorBase.device.__get__
_Tensor = torch.Tensor

# left to torch: an alias must be a fresh object, so that torch may give it another class (Parameter)
_NATIVE: Final = frozenset({"aten::alias", "aten::detach", "aten::is_pinned", "aten::record_stream"})

_libraries: list[torch.library.Library] = []

# results that CUDA's operations leave in host memory, by position
_ON_HOST: Final = {
    "aten::_pack_padded_sequence": (1,),
    "aten::_nested_tensor_size": (0,),
    "aten::_nested_tensor_strides": (0,),
    "aten::_nested_tensor_storage_offsets": (0,),
}

# operation -> what to call before it runs on the device, with its arguments; set while somebody listens
Observer = Callable[[Any, Sequence[Any], dict[str, Any]], None]


class Listening:
    """Who is told of operations that may wait."""

    observer: Observer | None = None
    watched: Callable[[Any], bool] = staticmethod(lambda op: False)


LISTENING = Listening()


class Shape:
    """What a kernel has to know of its operation, from the schema."""

    def __init__(self, op: Any) -> None:
        schema = op._schema
        self.op = op
        self.name: str = schema.name
        positional = [arg for arg in schema.arguments if not arg.kwarg_only]
        kinds = {arg.name: _kind(arg.type) for arg in schema.arguments}
        self.single = tuple(i for i, arg in enumerate(positional) if kinds[arg.name] == "one")
        self.lists = tuple(i for i, arg in enumerate(positional) if kinds[arg.name] == "many")
        self.tensor_kwargs = frozenset(name for name, kind in kinds.items() if kind)
        self.order = {arg.name: i for i, arg in enumerate(positional)}
        names = [arg.name for arg in schema.arguments]
        self.device = "device" in names
        self.pin_memory = "pin_memory" in names
        self.generator = "generator" if "generator" in names else ""
        written = [arg.name for arg in schema.arguments if arg.alias_info is not None and arg.alias_info.is_write]
        self.written = tuple(written)
        # results that are arguments written to
        self.returned = tuple(_written_name(ret, schema.arguments) for ret in schema.returns)
        self.reshapes = bool(written) and (
            torch.Tag.inplace_view in op.tags
            or any(arg.is_out for arg in schema.arguments)
            or self.name in ("aten::resize_", "aten::resize_as_", "aten::set_")
        )
        self.views = any(ret.alias_info is not None and not ret.alias_info.is_write for ret in schema.returns)
        self.seeded = torch.Tag.nondeterministic_seeded in op.tags
        self.many = len(schema.returns) > 1 or any("List" in str(ret.type) for ret in schema.returns)
        self.tensors_out = any("Tensor" in str(ret.type) for ret in schema.returns)


def _kind(type_: Any) -> str:
    text = str(type_)
    if "Tensor" not in text:
        return ""
    return "many" if "List" in text or "[]" in text else "one"


def _written_name(ret: Any, arguments: Any) -> str | None:
    if ret.alias_info is None or not ret.alias_info.is_write:
        return None
    for arg in arguments:
        if (
            arg.alias_info is not None
            and arg.alias_info.is_write
            and arg.alias_info.before_set == ret.alias_info.before_set
        ):
            return str(arg.name)
    return None


def make_kernel(op: Any) -> Kernel:
    """The kernel of one operation."""
    shape = Shape(op)
    plain = (
        shape.tensors_out
        and not (shape.lists or shape.device or shape.many or shape.written or shape.views or shape.seeded)
        and not shape.generator
        and shape.name not in _ON_HOST
        and not (shape.tensor_kwargs - set(shape.order))
    )
    return _fast_kernel(shape) if plain else _general_kernel(shape)


def _fast_kernel(shape: Shape) -> Kernel:
    """For functions of tensors and numbers that return one new tensor: most of a program's operations."""
    op, single = shape.op, shape.single
    run = _runner(shape)
    general = _general_kernel(shape)
    tensor_class = _Tensor
    may_wait = _may_wait(op)
    check = placement.rule_for(op)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        if kwargs or may_wait or placement.several or placement.noted:
            return general(*args, **kwargs)
        values = list(args)
        count = len(values)
        host = False
        for i in single:
            if i >= count:
                break
            tensor = values[i]
            if not isinstance(tensor, tensor_class):  # None, or a Python number in place of a tensor
                continue
            value = tensor.__dict__.get(VALUE)
            if value is None:
                value = value_of(tensor)
                if value is None:
                    host = True
                    continue
            values[i] = value
        if host:
            check(args, kwargs)
        try:
            return emulated(run(*values))
        except RuntimeError as error:
            raise explained(op, error) from None

    return kernel


def _general_kernel(shape: Shape) -> Kernel:
    op = shape.op
    run = _runner(shape)
    order = shape.order
    tensor_kwargs = shape.tensor_kwargs
    spots = frozenset((*shape.single, *shape.lists))
    listening = LISTENING
    may_wait = _may_wait(op)
    check = placement.rule_for(op)
    written = shape.written
    packs = shape.name == "aten::_pack_padded_sequence"

    def kernel(*args: Any, **kwargs: Any) -> Any:
        if packs:
            placement.refuse_device_lengths(args)
        seen = _Seen()
        values = [seen.value(arg) if i in spots else arg for i, arg in enumerate(args)]
        named = {name: seen.value(arg) if name in tensor_kwargs else arg for name, arg in kwargs.items()}
        if seen.host and seen.device:
            check(args, kwargs)
        on_device = seen.device
        index = seen.index
        if shape.device:
            target = named.get("device") if "device" in named else _at(values, order.get("device"))
            if target is not None:
                on_device = target.type in ("cuda", BACKEND)
                if on_device:
                    if target.type == "cuda" and not placement.there:
                        raise AssertionError("Torch not compiled with CUDA enabled")
                    GPUS.use()
                    index = placement.index_named(target, seen)
                    if "device" in named:
                        named["device"] = CPU
                    else:
                        values[order["device"]] = CPU
            if on_device and named.get("pin_memory"):
                raise RuntimeError("Only dense CPU tensors can be pinned")
        if may_wait:
            if placement.noted and EVENTS.would_wait(op, args, kwargs):
                CAPTURE.refuse_waits()
            if listening.observer is not None:
                listening.observer(op, args, kwargs)
        try:
            if placement.noted and CAPTURE.recording is not None and on_device:
                step = _step(shape, run, values, named, index)
                out = CAPTURE.recording.run(step, (values, named), _written(shape, values, named))
            elif on_device and shape.seeded:
                out = random.run_seeded(shape, run, values, named, index)
            else:
                out = run(*values, **named)
        except RuntimeError as error:
            raise explained(op, error) from None
        if written:
            return _results_of_write(shape, args, kwargs, out, index, on_device)
        if not on_device or not shape.tensors_out:
            return out
        if shape.name in _ON_HOST:
            spared = _ON_HOST[shape.name]
            if not isinstance(out, tuple):
                return out
            return tuple(item if i in spared else _wrapped(item, index, None) for i, item in enumerate(out))
        return _wrapped(out, index, seen.pairs if shape.views else None)

    return kernel


def _step(
    shape: Shape, run: Callable[..., Any], values: list[Any], named: dict[str, Any], index: int
) -> Callable[[], Any]:
    """The operation as a graph repeats it: on the same values, with random numbers drawn anew."""
    if shape.seeded:
        return lambda: random.run_seeded(shape, run, list(values), dict(named), index)
    return lambda: run(*values, **named)


def _written(shape: Shape, values: list[Any], named: dict[str, Any]) -> list[Any]:
    """The values that the operation writes to."""
    return [named[name] if name in named else _at(values, shape.order.get(name)) for name in shape.written]


def _runner(shape: Shape) -> Callable[..., Any]:
    """What computes the operation on the values: nearly always the operation itself, on the CPU."""
    from syncwatch.emulator.substitutes import SUBSTITUTES, WIDENED, in_float32

    substitute: Any = SUBSTITUTES.get(shape.name)
    run: Callable[..., Any] = shape.op._op if substitute is None else substitute
    return in_float32(run) if shape.name in WIDENED and not shape.written else run


class _Seen:
    """The tensors among one call's arguments."""

    __slots__ = ("device", "host", "index", "pairs")

    def __init__(self) -> None:
        self.device = False  # some are on the device
        self.host = False  # some are not
        self.index = 0
        self.pairs: list[tuple[torch.Tensor, torch.Tensor]] = []

    def value(self, arg: Any) -> Any:
        if arg is None:
            return None
        if isinstance(arg, _Tensor):
            value = arg.__dict__.get(VALUE)
            if value is None:
                value = value_of(arg)
                if value is None:
                    self.host = True
                    return arg
            if not self.device:
                self.device = True
                self.index = arg.__dict__.get(INDEX, 0)
            elif placement.several and arg.__dict__.get(INDEX, 0) != self.index:
                self.host = True  # on another GPU: as bad as on the host
            self.pairs.append((value, arg))
            return value
        if isinstance(arg, (list, tuple)):
            return [self.value(item) for item in arg]
        return arg


def _at(values: Sequence[Any], position: int | None) -> Any:
    return values[position] if position is not None and position < len(values) else None


def _results_of_write(
    shape: Shape, args: Sequence[Any], kwargs: dict[str, Any], out: Any, index: int, on_device: bool
) -> Any:
    """What an in-place or out= operation returns: the very tensors that it wrote to."""
    order = shape.order
    if shape.reshapes:
        for name in shape.written:
            target = kwargs[name] if name in kwargs else _at(args, order.get(name))
            for tensor in target if isinstance(target, (list, tuple)) else (target,):
                if tensor is not None and VALUE in tensor.__dict__:
                    refresh(tensor)
    if not shape.returned:
        return None
    outs = out if shape.many and len(shape.returned) > 1 else (out,)
    results = []
    for name, result in zip(shape.returned, outs, strict=True):
        if name is None:
            results.append(_wrapped(result, index, None) if on_device else result)
        else:
            results.append(kwargs[name] if name in kwargs else _at(args, order.get(name)))
    return results[0] if len(results) == 1 else tuple(results)


def _wrapped(out: Any, index: int, pairs: list[tuple[torch.Tensor, torch.Tensor]] | None) -> Any:
    if isinstance(out, _Tensor):
        if pairs is not None:
            for value, outer in pairs:
                if value is out:
                    return outer
        if pairs is None:
            return emulated(out, index)
        before = ALLOCATED.large
        made = emulated_beside(pairs[0][1], out, index) if pairs else emulated(out, index)
        ALLOCATED.large = before  # a view allocates nothing
        return made
    if isinstance(out, tuple):
        return tuple(_wrapped(item, index, pairs) for item in out)
    if isinstance(out, list):
        return [_wrapped(item, index, pairs) for item in out]
    return out


def _may_wait(op: Any) -> bool:
    """Whether the table of facts knows a case in which this operation waits."""
    from syncwatch.facts import by_leaf

    if str(op) in BACKWARD_WAITS:
        return True
    fact = by_leaf(str(op).removesuffix(".default")) or by_leaf(str(op))
    return fact is not None and any(case.kind is not None for case in fact.cases)


def _fallback(op: Any, *args: Any, **kwargs: Any) -> Any:
    return kernel_of(op)(*args, **kwargs)


_made: dict[Any, Kernel] = {}


def kernel_of(op: Any) -> Kernel:
    """The kernel of an operation that was not there when the device was registered."""
    kernel = _made.get(op)
    if kernel is None:
        kernel = _made[op] = make_kernel(op)
    return kernel


class _Lazy:
    """A kernel that is specialised at its first call: making all of them would slow every start."""

    __slots__ = ("kernel", "overload", "packet")

    def __init__(self, packet: str, overload: str) -> None:
        self.packet = packet
        self.overload = overload
        self.kernel: Kernel | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        kernel = self.kernel
        if kernel is None:
            op = getattr(getattr(torch.ops.aten, self.packet), self.overload)
            kernel = self.kernel = kernel_of(op)
        return kernel(*args, **kwargs)


def register() -> None:
    """Gives the device its kernels."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a CUDA build has kernels for the CUDA key, which ours replace
        _register()


def _register() -> None:
    for key in (
        "PrivateUse1",
        "SparsePrivateUse1",
        "SparseCsrPrivateUse1",
        "QuantizedPrivateUse1",
        "NestedTensorPrivateUse1",
        "CUDA",
        "SparseCUDA",
    ):
        everything = torch.library.Library("_", "IMPL")
        try:
            everything.fallback(_fallback, key)
        except RuntimeError:
            continue  # a CUDA build has its own
        _libraries.append(everything)
    aten = torch.library.Library("aten", "IMPL")
    _libraries.append(aten)
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    for name in torch._C._dispatch_get_all_op_names():
        if not name.startswith("aten::") or name in _NATIVE or has_kernel(name, "CompositeImplicitAutograd"):
            continue
        packet, _, overload = name.removeprefix("aten::").partition(".")
        kernel = _Lazy(packet, overload or "default")
        assert aten.m is not None
        aten.m.impl(name.removeprefix("aten::"), "PrivateUse1", kernel)
        schema = torch._C._get_schema(f"aten::{packet}", overload)
        if any(arg.name == "device" for arg in schema.arguments) and not any(
            "Tensor" in str(arg.type) for arg in schema.arguments
        ):
            aten.m.impl(name.removeprefix("aten::"), "CUDA", kernel)

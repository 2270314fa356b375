"""Copies between host and device."""

from __future__ import annotations

from syncwatch.facts.conditions import (
    SEQUENCES,
    Bound,
    Condition,
    Verdict,
    all_of,
    any_of,
    device_named,
    equals,
    flag,
    is_cuda,
    is_host,
    larger,
    on_cuda,
    on_host,
    opposite,
    pinned,
)
from syncwatch.facts.describe import Arg, Call
from syncwatch.facts.ops.scalars import count_cuda, host_numbers
from syncwatch.facts.table import Case, copies_out, fact, functions, methods, reads, uploads
from syncwatch.model import Kind

PINNED = "pin the source (pin_memory=True in the DataLoader) and copy with non_blocking=True"
ON_DEVICE = "create it on the device: device= in torch.arange, torch.zeros, torch.full"
ASYNC_OUT = 'to("cpu", non_blocking=True) into pinned memory, then one event before the data is read'
HOIST = "build it once, before the loop, and keep it on the device"

# Measured behind a busy GPU: one copy of up to 2 MB returns at once, 3 MB wait for the whole queue.
STAGED = 2 << 20

_sync = ~flag("non_blocking")


def bind_to(call: Call) -> Bound:
    """The arguments of `to`, which has three signatures: device and dtype, dtype, another tensor."""
    values: dict[str, Arg] = {}
    flags = iter(("non_blocking", "copy"))
    for position, arg in enumerate(call.args):
        if position == 0:
            values["input"] = arg
        elif arg.sort == "dtype":
            values["dtype"] = arg
        elif arg.sort == "bool":
            values[next(flags, "copy")] = arg
        elif arg.sort == "none":
            continue
        else:
            values["device"] = arg
    for name, arg in call.kwargs.items():
        values["device" if name == "other" else name] = arg
    return Bound(values, not call.has_star)


def _named(device: str) -> Condition:
    """The target of the copy is on this kind of device."""

    def test(bound: Bound) -> Verdict:
        arg = bound.get("device")
        if arg is None or arg.sort in ("none", "dtype"):
            return False
        named = device_named(arg)
        return None if named is None else named == device

    where = {"cuda": "the GPU", "cpu": "the host"}[device]
    return Condition(f"it goes to {where}", test, f"it does not go to {where}")


# a sparse tensor goes part by part: its indices (two of them, where one dimension is compressed) and its values
_PARTS = {"sparse_coo": 2, "sparse_csr": 3, "sparse_csc": 3, "sparse_bsr": 3, "sparse_bsc": 3}


def _tensors(bound: Bound) -> int | None:
    """How many copies a transfer makes: one, or one for each parameter and buffer of a module."""
    arg = bound.get("input")
    if arg is not None and arg.sort == "module":
        number = arg.attrs["tensors"].value if "tensors" in arg.attrs else None
        return number if isinstance(number, int) else None
    if arg is not None and arg.sort == "mapping":
        return None
    layout = arg.attrs["layout"].value if arg is not None and "layout" in arg.attrs else "strided"
    return _PARTS.get(layout, 1) if isinstance(layout, str) else 1


def outgoing(target: Condition) -> Case:
    return copies_out(
        (on_cuda("input") & target & _sync).described(
            "a device tensor is copied to the host without non_blocking=True",
            "it stays where it is, or is copied with non_blocking=True",
        ),
        waits=_tensors,
        explicit=True,
        instead=ASYNC_OUT,
    )


def incoming(source: str, target: Condition) -> tuple[Case, ...]:
    """The reasons to wait of a copy from the host: blocking, or asynchronous in name only."""
    moves = on_host(source) & target
    unpinned = (moves & ~_sync & ~(pinned(source) & _direct(source, source))).described(
        "the source is not pinned memory in the order of the copy, so that the driver stages it",
        "the source is pinned, and contiguous or laid out as the destination",
    )
    return (
        uploads(
            (moves & _sync).described(
                "host memory is copied to the device without non_blocking=True",
                "the source is already on the device, or it is pinned and non_blocking=True",
            ),
            waits=_tensors,
            instead=PINNED,
        ),
        Case(
            Kind.PAGEABLE_ASYNC,
            (unpinned & larger(source, STAGED)).described(
                "the source is not pinned memory in the order of the copy, and too large for the driver's staging "
                "buffers",
                "the copy is small, or the source is pinned, and contiguous or laid out as the destination",
            ),
            waits=_tensors,
            reported=False,
            instead=PINNED,
        ),
        Case(Kind.PAGEABLE_ASYNC, unpinned, 0, reported=False, instead=PINNED, silent=True),
    )


def _direct(host: str, source: str) -> Condition:
    """The copy goes straight between pinned and device memory, and what packing and conversion it needs is done on the
    device: where the host side is contiguous; or both sides have the same dense layout and type."""

    def test(bound: Bound) -> Verdict:
        side, given, dst = bound.get(host), bound.get(source), bound.get("dst")
        if side is None or side.sort != "tensor":
            return True
        if side.dense is not True:
            return side.dense
        if _contiguous(side):
            return True
        if dst is None or given is None:  # `to` keeps the layout
            dtype = bound.get("dtype")
            return not (dtype is not None and dtype.sort == "dtype" and _changes(side, dtype))
        other = dst if host == source else given
        return bool(other.dense) and not _contiguous(other) and not _types_differ(given, dst)

    return Condition("the copy is direct", test, "the copy needs packing in pageable memory")


def _contiguous(arg: Arg) -> bool:
    return "contiguous" not in arg.attrs


def _types_differ(one: Arg, other: Arg) -> bool:
    sizes = [arg.attrs["itemsize"].value if "itemsize" in arg.attrs else None for arg in (one, other)]
    return (one.dtype is not None and other.dtype is not None and one.dtype != other.dtype) or (
        None not in sizes and sizes[0] != sizes[1]
    )


_SIZES = {"torch.float64": 8, "torch.float32": 4, "torch.float16": 2, "torch.bfloat16": 2, "torch.int64": 8}


def _changes(arg: Arg, dtype: Arg) -> bool:
    """Whether the type differs, as far as class and size tell."""
    size = _SIZES.get(str(dtype.value))
    same = size is None or "itemsize" not in arg.attrs or arg.attrs["itemsize"].value == size
    return dtype.dtype != arg.dtype or not same


def _data_is_host(bound: Bound) -> Verdict:
    data = bound.get("data")
    if data is None:
        return False
    if data.sort in SEQUENCES:
        return data.items != ()
    return is_host(data)


def _list_of_cuda(bound: Bound) -> Verdict:
    data = bound.get("data")
    return is_cuda(data) if data is not None and data.sort in SEQUENCES else False


_elements = reads(
    Condition("the list holds CUDA tensors, each of which is read", _list_of_cuda, "the list holds host numbers"),
    waits=lambda bound: count_cuda(bound.get("data")),
    instead="torch.stack keeps them on the device",
)
_host_data = Condition("the data is in host memory", _data_is_host, "the data is on the device already")

_UPLOAD_DATA = uploads(
    (_host_data & _named("cuda")).described(
        "host data becomes a CUDA tensor", "the data is on the device already, or the result stays on the host"
    )
)
_READ_DATA = copies_out(
    Condition(
        "a CUDA tensor becomes a host tensor",
        lambda bound: all_of(iter((opposite(_data_is_host(bound)), is_cuda(bound.get("data")), _named("cpu")(bound)))),
        "the data is not moved to the host",
    ),
    explicit=True,
)


def _new_tensor_host(bound: Bound) -> Verdict:
    device = bound.get("device")
    target = is_cuda(bound.get("input")) if device is None or device.sort == "none" else _named("cuda")(bound)
    return all_of(iter((_data_is_host(bound), target)))


def _into(name: str, device: str) -> Condition:
    test = is_cuda if device == "cuda" else is_host
    where = {"cuda": "on the GPU", "cpu": "in host memory"}[device]
    return Condition(
        f"the destination is {where}", lambda bound: test(bound.get(name)), f"the destination is not {where}"
    )


PAGEABLE_OUT = Case(
    Kind.PAGEABLE_ASYNC,
    (on_cuda("input") & _into("dst", "cpu") & ~_sync & ~(pinned("dst") & _direct("dst", "input"))).described(
        "the destination is not contiguous pinned memory, so that the driver waits in spite of non_blocking=True",
        "the destination is pinned and contiguous, or the copy blocks anyway",
    ),
    reported=False,
    instead=ASYNC_OUT,
)


def _out_as(name: str) -> Condition:
    """`to("cpu", dtype, non_blocking=True)` makes pinned memory in the layout of the source."""

    def test(bound: Bound) -> Verdict:
        source, dtype = bound.get(name), bound.get("dtype")
        if source is None or source.sort != "tensor" or source.dense is not True or _contiguous(source):
            return False
        return dtype is not None and dtype.sort == "dtype" and _changes(source, dtype)

    return Condition("the type of a transposed tensor changes on the way", test, "layout and type fit")


CONVERTED_OUT = Case(
    Kind.PAGEABLE_ASYNC,
    (on_cuda("input") & _named("cpu") & ~_sync & _out_as("input")).described(
        "a transposed tensor is converted on its way to the host, through pageable memory",
        "the tensor is contiguous, or keeps its type",
    ),
    reported=False,
    instead='convert on the device first: x.to(dtype).to("cpu", non_blocking=True)',
)


def list_copies(target: str, source: str) -> Case:
    """A list of tensors is copied to a list on the other side, one after the other, without non_blocking=True."""

    def sides(bound: Bound) -> list[Verdict]:
        one, other = bound.get(target), bound.get(source)
        pairs = zip((one.items or ()) if one else (), (other.items or ()) if other else (), strict=False)
        return [any_of(iter((crosses(a, b), crosses(b, a)))) for a, b in pairs]

    def crosses(a: Arg, b: Arg) -> Verdict:
        return all_of(iter((is_cuda(a), is_host(b))))

    def waits(bound: Bound) -> int | None:
        return sides(bound).count(True)

    return uploads(
        Condition(
            "tensors are copied between host and device",
            lambda bound: any_of(iter(sides(bound))),
            "all are on one side",
        )
        & _sync,
        waits=waits,
        instead=PINNED,
    )


_LEGACY = tuple(
    f"torch.cuda.{kind}Tensor"
    for kind in ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool")
)

FACTS = (
    fact(
        _LEGACY,
        "data",
        uploads(
            Condition(
                "host data becomes a CUDA tensor",
                lambda bound: (data := bound.get("data")) is not None and data.sort in {*SEQUENCES, "ndarray"},
                "only sizes are given",
            )
        ),
        instead=f"{ON_DEVICE}, or {HOIST}",
    ),
    fact(
        (*methods("to", "type_as"), "torch.nn.Module.to", "torch.nn.utils.rnn.PackedSequence.to"),
        "input device dtype non_blocking copy",
        outgoing(_named("cpu")),
        CONVERTED_OUT,
        *incoming("input", _named("cuda")),
        binder=bind_to,
    ),
    fact(
        (*methods("cuda"), "torch.nn.Module.cuda", "torch.nn.utils.rnn.PackedSequence.cuda"),
        "input device non_blocking",
        *incoming("input", Condition("", lambda bound: True)),
    ),
    fact(("torch.nn.Module.cpu",), "input", outgoing(Condition("", lambda bound: True))),
    fact(
        methods("copy_"),
        "dst input non_blocking",
        outgoing(_into("dst", "cpu")),
        PAGEABLE_OUT,
        *incoming("input", _into("dst", "cuda")),
        note="A blocking copy also completes earlier asynchronous copies on the same stream.",
    ),
    fact(
        functions("tensor", "as_tensor", "asarray"),
        "data dtype device",
        _elements,
        _UPLOAD_DATA,
        _READ_DATA,
        instead=f"{ON_DEVICE}, or {HOIST}",
    ),
    fact(
        methods("new_tensor"),
        "input data dtype device",
        _elements,
        uploads(Condition("host data becomes a CUDA tensor", _new_tensor_host, "the data is on the device already")),
        instead=f"new_full, new_zeros create on the device; or {HOIST}",
    ),
    fact(
        methods("type"),
        "input dtype non_blocking",
        outgoing(equals("dtype", "torch.FloatTensor", "torch.LongTensor", "torch.DoubleTensor", "torch.IntTensor")),
        uploads(
            on_host("input")
            & equals("dtype", "torch.cuda.FloatTensor", "torch.cuda.LongTensor", "torch.cuda.HalfTensor")
            & _sync
        ),
        instead=PINNED,
    ),
    fact(functions("_foreach_copy_"), "dst input non_blocking", list_copies("dst", "input")),
    fact(methods("pin_memory"), "input", note="Copies on the host; no device is involved."),
    fact(functions("from_numpy", "frombuffer"), "data", note="Shares host memory; no device is involved."),
    fact(methods("record_stream"), "input stream"),
    fact(methods("apply_", "map_", "map2_"), "input callable", note="Only for CPU tensors: a CUDA tensor is refused."),
    fact(
        functions("scalar_tensor"),
        "s dtype layout device",
        host_numbers("s"),
        note="Fills on the device: unlike torch.tensor(number, device=…) it does not wait.",
    ),
)

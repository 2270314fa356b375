"""torch.utils.data: datasets, and loaders whose batches are host tensors, pinned or not."""

from __future__ import annotations

from syncwatch.static.library.protocol import ALIASES, BASES, LibCall, Machine, attribute, model
from syncwatch.static.library.tensors import Shape, elements, flag, given, integer, replaced
from syncwatch.static.library.torch_layers import arguments
from syncwatch.static.values import (
    FALSE,
    INT,
    ITEMS,
    NONE,
    REST,
    UNKNOWN,
    Array,
    Class,
    Const,
    Host,
    Items,
    Iter,
    Obj,
    Tensor,
    Tuple,
    Union,
    Value,
    element,
    join_all,
)

LOADER = "torch.utils.data.DataLoader"
_DATASET = "torch.utils.data.Dataset"
_PARAMS = (
    "dataset batch_size shuffle sampler batch_sampler num_workers collate_fn pin_memory drop_last timeout "
    "worker_init_fn "
    "multiprocessing_context generator"
)
ALIASES["torch.utils.data.dataloader.DataLoader"] = LOADER
ALIASES["torch.utils.data.dataset.Dataset"] = _DATASET
for _name in ("TensorDataset", "Subset", "ConcatDataset", "IterableDataset", "ChainDataset"):
    BASES[f"torch.utils.data.{_name}"] = (_DATASET,)
    ALIASES[f"torch.utils.data.dataset.{_name}"] = f"torch.utils.data.{_name}"
BASES[_DATASET] = ()
BASES[LOADER] = ()


def _batched(shape: Shape, size: int | None) -> Shape:
    return None if shape is None else (size, *shape)


def collated(m: Machine, sample: Value, size: int | None, pinned: bool | None, depth: int = 0) -> Value:
    """What default_collate makes of samples like this one: numbers and arrays become tensors with a batch dimension."""
    kind = type(sample)
    if depth > 5:
        return UNKNOWN
    if kind is Tensor:
        device = sample.device if sample.device == "cuda" else "cpu" if sample.device == "cpu" else sample.device
        return Tensor(
            device,
            sample.sure,
            _batched(sample.shape, size),
            sample.dtype,
            pinned=pinned if device == "cpu" else False,
            dense=True,
            requires_grad=False,
            marks=sample.marks & {"open", "guessed"},
        )
    if kind is Array:
        return Tensor(
            "cpu",
            shape=_batched(sample.shape, size),
            dtype=sample.dtype,
            pinned=pinned,
            dense=True,
            requires_grad=False,
        )
    if kind in (Const, Host):
        if sample.kind in ("int", "float", "number", "bool"):
            sort = {"number": None, "bool": "bool"}.get(sample.kind, sample.kind)
            return Tensor("cpu", shape=(size,), dtype=sort, pinned=pinned, dense=True, requires_grad=False)
        if sample.kind in ("str", "bytes"):
            with m.part(("text", depth)):
                return m.list(None, sample if kind is Host else Host(sample.kind))
        return UNKNOWN
    if kind is Tuple:
        if sample.items is None:
            with m.part(("tuple", depth)):
                return m.list(None, collated(m, sample.elem, size, pinned, depth + 1))
        inner = tuple(_part(m, i, v, size, pinned, depth) for i, v in enumerate(sample.items))
        if sample.type != "tuple":
            return Tuple(inner, type=sample.type, names=sample.names)
        with m.part(("tuple", depth)):
            return m.list(inner)
    if kind is Obj and type(sample.slots.get(ITEMS)) is Items:
        held = sample.slots[ITEMS]
        with m.part(("list", depth)):
            if held.items is None:
                return m.list(None, collated(m, held.elem, size, pinned, depth + 1))
        inner = tuple(_part(m, i, v, size, pinned, depth) for i, v in enumerate(held.items))
        with m.part(("list", depth)):
            return m.list(inner)
    if kind is Obj and sample.type == "dict":
        entries = {k[1]: _part(m, k[1], v, size, pinned, depth) for k, v in sample.slots.items() if type(k) is tuple}
        rest = sample.slots.get(REST)
        if rest is not None:
            rest = _part(m, "rest", rest, size, pinned, depth)
        with m.part(("dict", depth)):
            return m.dict(entries, rest)
    if kind is Union:
        return join_all(collated(m, v, size, pinned, depth + 1) for v in sample.members)
    return UNKNOWN


def _part(m: Machine, key: object, value: Value, size: int | None, pinned: bool | None, depth: int) -> Value:
    with m.part((key, depth)):
        return collated(m, value, size, pinned, depth + 1)


def pin(m: Machine, value: Value, depth: int = 0) -> Value:
    """The same structure with its host tensors pinned, as a loader with pin_memory=True returns it."""
    kind = type(value)
    if depth > 5:
        return value
    if kind is Tensor:
        return (
            replaced(value, pinned=True, marks=value.marks - {"pinned-source", "host-made"})
            if value.device == "cpu"
            else (value)
        )
    if kind is Tuple:
        items = None if value.items is None else tuple(pin(m, v, depth + 1) for v in value.items)
        return Tuple(items, pin(m, value.elem, depth + 1), value.type, value.names)
    if kind is Union:
        return join_all(pin(m, v, depth + 1) for v in value.members)
    if kind is Obj and (type(value.slots.get(ITEMS)) is Items or value.type == "dict"):
        with m.part(("pinned", depth, id(value) % 1000)):
            made = m.new(value.type)
        for key, inner in list(value.slots.items()):
            if key == ITEMS:
                items = None if inner.items is None else tuple(pin(m, v, depth + 1) for v in inner.items)
                m.setattr(made, ITEMS, Items(items, pin(m, inner.elem, depth + 1)))
            else:
                m.setattr(made, key, pin(m, inner, depth + 1))
        return made
    if (
        kind is Obj
        and isinstance(value.type, Class)
        and "pin_memory" in {k for c in value.type.mro if isinstance(c, Class) for k in c.slots}
    ):
        return m.method(value, "pin_memory")
    return value


@model(f"{LOADER}.__init__")
def _loader(m: Machine, call: LibCall) -> Value:
    obj = call.self
    if type(obj) is Obj:
        for name, value in arguments(call, _PARAMS).items():
            m.setattr(obj, name, value)
        if call.has_star:
            m.setattr(obj, "<star>", Const("bool", True))
    return NONE


def sample_of(m: Machine, dataset: Value) -> Value:
    """One item of a dataset."""
    if type(dataset) is Union:
        return join_all(sample_of(m, d) for d in dataset.members)
    if type(dataset) is Tuple or (type(dataset) is Obj and type(dataset.slots.get(ITEMS)) is Items):
        found = element(m.iterate(dataset))
        return UNKNOWN if found is None else found
    if type(dataset) is not Obj:
        return UNKNOWN
    if isinstance(dataset.type, Class):
        if any(isinstance(c, Class) and "__getitem__" in c.slots for c in dataset.type.mro):
            return m.method(dataset, "__getitem__", (INT,))
        if any(isinstance(c, Class) and "__iter__" in c.slots for c in dataset.type.mro):
            found = element(m.iterate(dataset))
            return UNKNOWN if found is None else found
        return UNKNOWN
    return m.method(dataset, "__getitem__", (INT,))


@model(f"{LOADER}.__iter__")
def _batches(m: Machine, call: LibCall) -> Value:
    obj = call.self
    if type(obj) is not Obj:
        return Iter(None, UNKNOWN)
    pinned = flag(obj.slots.get("pin_memory"), False)
    if "<star>" in obj.slots and "pin_memory" not in obj.slots:
        pinned = None
    sample = sample_of(m, obj.slots.get("dataset", UNKNOWN))
    if sample is UNKNOWN:
        sample = _unknown_batch(None)
    size = obj.slots.get("batch_size")
    collate = obj.slots.get("collate_fn")
    if size == NONE and "batch_sampler" not in obj.slots:
        batch = sample if not given(collate) else m.call(collate, (sample,))
    elif given(collate):
        with m.part("samples"):
            samples = m.list(None, sample)
        batch = m.call(collate, (samples,))
    else:
        known = integer(size) if given(size) else None
        batch = collated(m, sample, known if obj.slots.get("drop_last", FALSE) != FALSE else None, pinned)
    if pinned:
        batch = pin(m, batch)
    return Iter(None, _on_host(m, batch, pinned), type="batches")


def _on_host(m: Machine, batch: Value, pinned: bool | None) -> Value:
    """The batch, with what nothing is known of on the host."""
    if batch is UNKNOWN:
        return _unknown_batch(pinned)
    if type(batch) is Tuple and batch.items is not None:
        return Tuple(tuple(_on_host(m, v, pinned) for v in batch.items), type=batch.type, names=batch.names)
    if type(batch) is Obj and type(batch.slots.get(ITEMS)) is Items and batch.slots[ITEMS].items is not None:
        held = batch.slots[ITEMS].items
        m.setattr(batch, ITEMS, Items(tuple(_on_host(m, v, pinned) for v in held)))
    return batch


def _unknown_batch(pinned: bool | None) -> Value:
    """Nothing is known of the items, but that a loader makes its batches on the host."""
    return Tensor("cpu", False, pinned=pinned, marks=frozenset({"open", "guessed"}))


@model(f"{LOADER}.__len__", f"{_DATASET}.__len__", "torch.utils.data.Sampler.__len__")
def _length(m: Machine, call: LibCall) -> Value:
    return INT


@attribute(f"{LOADER}.batch_size", f"{LOADER}.num_workers")
def _number(m: Machine, value: Value, name: str) -> Value:
    found = value.slots.get(name) if type(value) is Obj else None
    return INT if found is None else found


# ---------------------------------------------------------------------------------------- datasets


@model("torch.utils.data.TensorDataset.__init__")
def _tensor_dataset(m: Machine, call: LibCall) -> Value:
    if type(call.self) is Obj:
        m.setattr(call.self, "tensors", Tuple(call.args) if not call.has_star else Tuple(None, join_all(call.args)))
    return NONE


@model("torch.utils.data.TensorDataset.__getitem__")
def _tensor_item(m: Machine, call: LibCall) -> Value:
    held = call.self.slots.get("tensors") if type(call.self) is Obj else None
    if type(held) is not Tuple:
        return UNKNOWN

    def row(t: Value) -> Value:
        if type(t) is not Tensor:
            return UNKNOWN
        return replaced(t, shape=None if t.shape is None else t.shape[1:], dense=True)

    if held.items is None:
        return Tuple(None, row(held.elem))
    return Tuple(tuple(row(t) for t in held.items))


@model("torch.utils.data.Subset.__init__", "torch.utils.data.ConcatDataset.__init__")
def _subset(m: Machine, call: LibCall) -> Value:
    if type(call.self) is Obj:
        m.setattr(call.self, "dataset", call.arg(0, "dataset", call.kwargs.get("datasets", UNKNOWN)))
        m.setattr(call.self, "indices", call.arg(1, "indices", UNKNOWN))
    return NONE


@model("torch.utils.data.Subset.__getitem__", "torch.utils.data.ConcatDataset.__getitem__")
def _subset_item(m: Machine, call: LibCall) -> Value:
    held = call.self.slots.get("dataset", UNKNOWN) if type(call.self) is Obj else UNKNOWN
    if "ConcatDataset" in call.name:
        parts = elements(held)
        return join_all(sample_of(m, d) for d in parts) if parts else UNKNOWN
    return sample_of(m, held)


@model("torch.utils.data.random_split")
def _random_split(m: Machine, call: LibCall) -> Value:
    dataset = call.arg(0, "dataset", UNKNOWN)
    count = elements(call.arg(1, "lengths", UNKNOWN))
    part = m.new("torch.utils.data.Subset", dataset=dataset)
    return m.list((part,) * len(count)) if count is not None else m.list(None, part)


@model(
    "torch.utils.data.default_collate",
    "torch.utils.data.dataloader.default_collate",
    "torch.utils.data._utils.collate.default_collate",
)
def _default_collate(m: Machine, call: LibCall) -> Value:
    found = element(m.iterate(call.arg(0, "batch", UNKNOWN)))
    return UNKNOWN if found is None else collated(m, found, None, False)


@model("torch.utils.data.get_worker_info")
def _worker_info(m: Machine, call: LibCall) -> Value:
    return m.new("torch.utils.data.WorkerInfo", id=INT, num_workers=INT, seed=INT)


@model(
    "torch.utils.data.DistributedSampler.set_epoch",
    f"{_DATASET}.__init__",
    "torch.utils.data.Sampler.__init__",
    "torch.utils.data.IterableDataset.__init__",
)
def _none(m: Machine, call: LibCall) -> Value:
    return NONE


for _sampler in (
    "RandomSampler",
    "SequentialSampler",
    "WeightedRandomSampler",
    "SubsetRandomSampler",
    "BatchSampler",
    "DistributedSampler",
    "distributed.DistributedSampler",
    "sampler.RandomSampler",
):
    BASES[f"torch.utils.data.{_sampler}"] = ("torch.utils.data.Sampler",)


@model("torch.utils.data.Sampler.__iter__")
def _sampled(m: Machine, call: LibCall) -> Value:
    return Iter(None, INT if "Batch" not in str(getattr(call.self, "type", "")) else m.list(None, INT))


__all__ = ["LOADER"]

"""torch_geometric: graphs whose attributes are tensors, data sets and loaders of them, and graph layers."""

from __future__ import annotations

from syncwatch.static.library.protocol import ALIASES, BASES, PREFIX_BASES, LibCall, Machine, attribute, default, model
from syncwatch.static.library.tensors import HOST, Where, elements, on, replaced, result, tensors
from syncwatch.static.library.torch_layer_calls import output
from syncwatch.static.library.torch_transfers import moved
from syncwatch.static.values import (
    INT,
    NONE,
    STR,
    UNKNOWN,
    Const,
    Iter,
    Lib,
    Obj,
    Tensor,
    Tuple,
    Value,
    const,
)

_DATA = "torch_geometric.data.Data"
_SET = "torch_geometric.data.Dataset"
_LOADER = "torch_geometric.loader.DataLoader"
_LAYER = "torch_geometric.nn.MessagePassing"
_WHERE = "<tensor>"  # the slot that says where a graph's tensors are

BASES[_DATA] = ()
BASES[_SET] = ("torch.utils.data.Dataset",)
BASES[_LOADER] = ()
for _name in ("Batch", "HeteroData", "TemporalData"):
    BASES[f"torch_geometric.data.{_name}"] = (_DATA,)
for _name in ("InMemoryDataset", "OnDiskDataset"):
    BASES[f"torch_geometric.data.{_name}"] = (_SET,)
for _name in ("data", "batch", "hetero_data", "dataset", "in_memory_dataset"):
    _class = "".join(part.capitalize() for part in _name.split("_"))
    ALIASES[f"torch_geometric.data.{_name}.{_class}"] = f"torch_geometric.data.{_class}"
PREFIX_BASES.append(("torch_geometric.datasets.", _SET))
PREFIX_BASES.append(("torch_geometric.loader.", _LOADER))
PREFIX_BASES.append(("torch_geometric.nn.", _LAYER))
BASES[_LAYER] = ("torch.nn.Module",)
ALIASES["torch_geometric.nn.conv.MessagePassing"] = _LAYER

_COUNTS = frozenset(
    {
        "num_nodes",
        "num_edges",
        "num_graphs",
        "num_features",
        "num_node_features",
        "num_edge_features",
        "num_classes",
        "num_relations",
        "num_node_types",
        "num_edge_types",
    }
)
_INTEGER = frozenset(
    {
        "edge_index",
        "batch",
        "ptr",
        "edge_type",
        "node_type",
        "n_id",
        "e_id",
        "input_id",
        "face",
        "edge_label_index",
        "neg_edge_index",
        "pos_edge_label_index",
        "neg_edge_label_index",
    }
)
_MATRICES = frozenset({"x", "edge_index", "pos", "edge_label_index", "neg_edge_index", "face"})


def _graph(m: Machine, where: Where, type_: str = _DATA) -> Obj:
    """A graph with all of its tensors at one place."""
    made = m.new(type_)
    m.setattr(
        made,
        _WHERE,
        Tensor(where.device, where.sure, None, None, pinned=False, dense=True, requires_grad=False, index=where.index),
    )
    return made


@model(f"{_DATA}.__init__")
def _init(m: Machine, call: LibCall) -> Value:
    """`Data(x=…, edge_index=…)`: the tensors as given."""
    if type(call.self) is Obj:
        for name, value in zip(("x", "edge_index", "edge_attr", "y", "pos"), call.args, strict=False):
            m.setattr(call.self, name, value)
        for name, value in call.kwargs.items():
            m.setattr(call.self, name, value)
    return NONE


@attribute(f"{_DATA}.*")
def _field(m: Machine, obj: Value, name: str) -> Value:
    """A tensor attribute by its customary name; the numbers of nodes and the like are on the host."""
    if name in _COUNTS:
        return INT
    if type(obj) is not Obj or name.startswith("_"):
        return UNKNOWN
    held = obj.slots.get(_WHERE)
    if type(held) is not Tensor:
        return UNKNOWN
    if name.endswith("_mask"):
        return replaced(held, dtype="bool", shape=(None,))
    if name in _INTEGER:
        return replaced(held, dtype="int", shape=(None, None) if name in _MATRICES else (None,))
    if name in ("x", "pos", "edge_attr", "edge_weight"):
        return replaced(held, dtype="float", shape=(None, None) if name in _MATRICES else None)
    return held if name in ("y", "edge_label", "adj", "adj_t", "z", "train_idx", "test_idx") else UNKNOWN


@model(f"{_DATA}.to", f"{_DATA}.cuda", f"{_DATA}.cpu", f"{_DATA}.pin_memory")
def _to(m: Machine, call: LibCall) -> Value:
    """Moves every tensor of the graph in place, one copy each, and returns the graph."""
    obj, verb = call.self, call.name.rpartition(".")[2]
    if type(obj) is not Obj:
        return UNKNOWN
    device: Value = {"cuda": Lib("torch.cuda"), "cpu": const("cpu")}.get(verb, call.arg(0, "device", UNKNOWN))
    named = m.accelerator() if verb == "cuda" else m.device_of(device)
    flags = {k: v for k, v in call.kwargs.items() if k == "non_blocking"}
    target = const("cuda") if verb == "cuda" else device
    for slot, value in list(obj.slots.items()):
        if type(value) is not Tensor:
            continue
        if verb == "pin_memory":
            m.setattr(obj, slot, replaced(value, pinned=True))
        elif named is not None and named.type is not None:
            m.ask("torch.Tensor.to", [value, target], flags, via="call")
            m.setattr(obj, slot, moved(m, value, on(named), None, non_blocking=False, copy=False))
    return obj


@model(f"{_DATA}.clone", f"{_DATA}.coalesce", f"{_DATA}.contiguous", f"{_DATA}.sort")
def _copy(m: Machine, call: LibCall) -> Value:
    if type(call.self) is not Obj:
        return UNKNOWN
    made = m.new(call.self.type)
    for slot, value in call.self.slots.items():
        m.setattr(made, slot, value)
    return made


@model(f"{_DATA}.__getitem__")
def _entry(m: Machine, call: LibCall) -> Value:
    key = call.arg(0)
    return m.getattr(call.self, key.value) if type(key) is Const and key.kind == "str" else UNKNOWN


@model(f"{_DATA}.__call__")
def _entries(m: Machine, call: LibCall) -> Value:
    """`for key, value in data("x", "edge_index")`."""
    names = [key for key in call.args if type(key) is Const and key.kind == "str"]
    return Iter(tuple(Tuple((key, m.getattr(call.self, key.value))) for key in names), UNKNOWN)


# ---------------------------------------------------------------------------------------- data sets and loaders


def _sample(m: Machine, transform: Value) -> Value:
    """One graph of a data set, after its transform."""
    steps = (transform,)
    if type(transform) is Obj and transform.type == "torch_geometric.transforms.Compose":
        steps = elements(transform.slots.get("transforms", UNKNOWN)) or ()
    where, split = HOST, False
    for step in steps:
        kind = step.type if type(step) is Obj else ""
        if kind == "torch_geometric.transforms.ToDevice":
            named = m.device_of(step.slots.get("device", UNKNOWN))
            where = on(named) if named is not None and named.type is not None else where
        split = split or kind == "torch_geometric.transforms.RandomLinkSplit"
    if not split:
        return _graph(m, where)
    parts: list[Value] = []
    for part in range(3):
        with m.part(("split", part)):
            parts.append(_graph(m, where))
    return Tuple(tuple(parts))


@model("torch_geometric.transforms.Compose.__init__", "torch_geometric.transforms.ToDevice.__init__")
def _transform(m: Machine, call: LibCall) -> Value:
    slot = "transforms" if "Compose" in call.name or type(call.arg(0)) is Obj else "device"
    if type(call.self) is Obj:
        m.setattr(call.self, slot, call.arg(0, slot, UNKNOWN))
    return NONE


@model(f"{_SET}.__init__")
def _dataset(m: Machine, call: LibCall) -> Value:
    if type(call.self) is Obj:
        m.setattr(call.self, "transform", call.kwargs.get("transform", NONE))
    return NONE


@model(f"{_SET}.__getitem__", f"{_SET}.get")
def _item(m: Machine, call: LibCall) -> Value:
    """A graph for a number, a smaller data set for anything else."""
    index = call.arg(0)
    if (type(index) is Const and index.kind == "int") or index == INT:
        held = call.self.slots.get("transform", NONE) if type(call.self) is Obj else NONE
        return _sample(m, held)
    return call.receiver


@model(f"{_SET}.__iter__")
def _iterate(m: Machine, call: LibCall) -> Value:
    held = call.self.slots.get("transform", NONE) if type(call.self) is Obj else NONE
    return Iter(None, _sample(m, held))


@model(f"{_SET}.shuffle", f"{_SET}.index_select", f"{_SET}.copy")
def _same_set(m: Machine, call: LibCall) -> Value:
    return call.receiver


@attribute(f"{_SET}.*")
def _set_field(m: Machine, obj: Value, name: str) -> Value:
    if name in _COUNTS:
        return INT
    return _graph(m, HOST) if name in ("data", "_data") else UNKNOWN


@model(f"{_LOADER}.__init__")
def _loader(m: Machine, call: LibCall) -> Value:
    if type(call.self) is Obj:
        m.setattr(call.self, "pin_memory", call.kwargs.get("pin_memory", const(False)))
        m.setattr(call.self, "dataset", call.arg(0, "dataset", UNKNOWN))
    return NONE


@model(f"{_LOADER}.__iter__")
def _batches(m: Machine, call: LibCall) -> Value:
    """Batches on the host; neighbour loaders of a graph on the device sample there."""
    where = HOST
    dataset = call.self.slots.get("dataset", UNKNOWN) if type(call.self) is Obj else UNKNOWN
    if type(dataset) is Obj and type(dataset.slots.get(_WHERE)) is Tensor:
        held = dataset.slots[_WHERE]
        where = Where(held.device, held.sure, held.index)
    batch = _graph(m, where, "torch_geometric.data.Batch")
    if type(call.self) is Obj and call.self.slots.get("pin_memory") == const(True):
        m.setattr(batch, _WHERE, replaced(batch.slots[_WHERE], pinned=True))
    return Iter(None, batch)


@model(f"{_LOADER}.__len__")
def _length(m: Machine, call: LibCall) -> Value:
    return INT


# ---------------------------------------------------------------------------------------- layers and functions


@model(f"{_LAYER}.__init__")
def _layer(m: Machine, call: LibCall) -> Value:
    """A layer has weights on the host until it is moved."""
    if type(call.self) is Obj:
        m.setattr(call.self, "training", const(True))
        if type(call.self.type) is str:
            m.setattr(
                call.self,
                "<weights>",
                Tensor("cpu", True, None, "float", pinned=False, requires_grad=True, parameter=True),
            )
    return NONE


@model(f"{_LAYER}.__call__", f"{_LAYER}.forward")
def _message(m: Machine, call: LibCall) -> Value:
    return output(m, call, (None, None))


@model(f"{_LAYER}.propagate")
def _propagate(m: Machine, call: LibCall) -> Value:
    return output(m, call)


@default("torch_geometric.nn.")
def _pooled(m: Machine, call: LibCall) -> Value:
    """Functions (pooling, losses of autoencoders) give tensors where their arguments are."""
    if call.self is not None and type(call.self) is Obj:
        return output(m, call)
    found = tensors([*call.args, *call.kwargs.values()])
    return result(found, None, "float") if found else UNKNOWN


@default("torch_geometric.utils.")
def _function(m: Machine, call: LibCall) -> Value:
    return UNKNOWN


@model("torch_geometric.device")
def _device(m: Machine, call: LibCall) -> Value:
    """`torch_geometric.device("auto")` is the accelerator where there is one."""
    named = call.arg(0, "device")
    if named == const("auto"):
        return m.accelerator()
    found = m.device_of(named) if named is not None else None
    return found if found is not None else UNKNOWN


@model("torch_geometric.seed_everything", "torch_geometric.logging.init_wandb")
def _nothing(m: Machine, call: LibCall) -> Value:
    return NONE


@model("torch_geometric.logging.log")
def _log(m: Machine, call: LibCall) -> Value:
    """Prints its keyword arguments."""
    for value in call.kwargs.values():
        m.format(value, "print")
    return NONE


@model(f"{_DATA}.__repr__", f"{_DATA}.__str__")
def _text(m: Machine, call: LibCall) -> Value:
    return STR

"""torch_geometric: the layers and functions that wait inside, for a mask or for the number of nodes or graphs.

Self-loops are found by a boolean mask (`edge_index[:, row != col]`), and sizes that are not given are read from the
device (`int(batch.max()) + 1`). The wait stands at the call, since its cause does: an argument that is missing there.
"""

from __future__ import annotations

from syncwatch.static.library.protocol import LibCall, Machine, model
from syncwatch.static.library.tensors import given, replaced, result
from syncwatch.static.library.torch_layer_calls import output
from syncwatch.static.values import BOOL, FALSE, FLOAT, NONE, UNKNOWN, Const, Obj, Tensor, Tuple, Value, const, members

_NN = "torch_geometric.nn."
_UTILS = "torch_geometric.utils."
_OPTIONS = ("add_self_loops", "normalize", "cached", "remove_self_loops")
_LOOPS = """GCNConv GATConv GATv2Conv SGConv SSGConv APPNP AGNNConv ClusterGCNConv DNAConv FAConv FeaStConv
    GCN2Conv MixHopConv PDNConv PointNetConv PointTransformerConv PPFConv SuperGATConv ChebConv GCN GAT GraphUNet"""
# where edge_index stands in `forward`, if not second
_PLACE = {"GCN2Conv": 2, "FAConv": 2, "PointNetConv": 2, "PointTransformerConv": 2, "PPFConv": 3}
_ALWAYS = frozenset({"ChebConv", "GCN", "GAT", "GraphUNet"})


def _on_device(v: Value, dtype: str | None = None) -> Tensor | None:
    """The dense tensor on the device that an argument may be."""
    for each in members(v):
        if type(each) is Tensor and each.device == "cuda" and "sparse" not in each.marks:
            return each if dtype is None or each.dtype in (dtype, None) else None
    return None


def mask_read(m: Machine, edges: Value) -> None:
    """`edge_index[:, mask]`, where edge_index is a tensor on the device (sparse adjacencies need no mask)."""
    found = _on_device(edges, "int")
    if found is not None and found.shape is not None:
        mask = replaced(found, dtype="bool", shape=(None,))
        m.ask("torch.Tensor.__getitem__", [replaced(found, shape=(None,)), mask])


def size_read(m: Machine, index: Value) -> None:
    """`int(index.max()) + 1`."""
    found = _on_device(index)
    if found is not None:
        m.ask("torch.Tensor.__int__", [replaced(found, shape=(), requires_grad=False)])


def _edges(v: Value) -> Value:
    return replaced(v, dtype="int", shape=(2, None)) if type(v) is Tensor else v


@model(*(f"{_NN}{name}.__init__" for name in _LOOPS.split()))
def _layer(m: Machine, call: LibCall) -> Value:
    """A layer has weights on the host until it is moved, and options that say whether it looks for self-loops."""
    if type(call.self) is Obj:
        m.setattr(call.self, "training", const(True))
        m.setattr(
            call.self,
            "<weights>",
            Tensor("cpu", True, None, "float", pinned=False, requires_grad=True, parameter=True),
        )
        for name in _OPTIONS:
            m.setattr(call.self, name, call.kwargs.get(name, NONE))
    return NONE


@model(*(f"{_NN}{name}.{verb}" for name in _LOOPS.split() for verb in ("__call__", "forward")))
def _self_loops(m: Machine, call: LibCall) -> Value:
    """Looks for self-loops at every call, unless it is told not to or keeps what it found."""
    name = call.name.split(".")[2]
    options = call.self.slots if type(call.self) is Obj else {}
    off = name not in _ALWAYS and (options.get("add_self_loops") == FALSE or options.get("normalize") == FALSE)
    if not off and options.get("cached", NONE) in (NONE, FALSE):
        mask_read(m, call.arg(_PLACE.get(name, 1), "edge_index"))
    return output(m, call, (None, None))


@model(*(f"{_NN}global_{name}_pool" for name in ("add", "mean", "max")))
def _pool(m: Machine, call: LibCall) -> Value:
    """One row for each graph; the number of graphs is read where `size` is not given."""
    x, batch = call.arg(0, "x", UNKNOWN), call.arg(1, "batch")
    if not given(call.arg(2, "size")):
        size_read(m, batch)
    return result([x], (None, None), "float")


@model(*(f"{_NN}{name}.{verb}" for name in ("TopKPooling", "SAGPooling") for verb in ("__call__", "forward")))
def _top(m: Machine, call: LibCall) -> Value:
    """(x, edge_index, edge_attr, batch, perm, score) of the nodes that are kept."""
    edges = call.arg(1, "edge_index")
    mask_read(m, edges)
    x = output(m, call, (None, None))
    index = replaced(x, dtype="int", requires_grad=False)
    line = replaced(index, shape=(None,))
    attr = call.arg(2, "edge_attr", NONE)
    return Tuple((x, _edges(edges) if type(edges) is Tensor else index, attr, line, line, replaced(x, shape=(None,))))


@model(f"{_UTILS}remove_self_loops", f"{_UTILS}add_remaining_self_loops", f"{_UTILS}add_self_loops")
def _loops(m: Machine, call: LibCall) -> Value:
    """(edge_index, edge_attr)."""
    edges = call.arg(0, "edge_index", UNKNOWN)
    if call.name.endswith(".add_self_loops"):
        if not given(call.arg(3, "num_nodes")):
            size_read(m, edges)
    else:
        mask_read(m, edges)
    return Tuple((_edges(edges), call.arg(1, "edge_attr", NONE)))


@model(f"{_UTILS}contains_self_loops")
def _contains(m: Machine, call: LibCall) -> Value:
    found = _on_device(call.arg(0, "edge_index", UNKNOWN))
    if found is not None:
        m.ask("torch.Tensor.item", [replaced(found, shape=())])
    return BOOL


@model(f"{_UTILS}dropout_edge", f"{_UTILS}dropout_adj")
def _dropout(m: Machine, call: LibCall) -> Value:
    """(edge_index, mask or attributes); keeps edges by a mask, in training."""
    edges = call.arg(0, "edge_index", UNKNOWN)
    training = call.arg(3 if call.name.endswith("edge") else 5, "training", const(True))
    p = call.arg(1 if call.name.endswith("edge") else 2, "p", const(0.5))
    if m.truth(training) is not False and m.truth(p) is not False:
        mask_read(m, edges)
    mask = replaced(edges, dtype="bool", shape=(None,)) if type(edges) is Tensor else UNKNOWN
    return Tuple((_edges(edges), mask if call.name.endswith("edge") else call.arg(1, "edge_attr", NONE)))


@model(f"{_UTILS}negative_sampling", f"{_UTILS}batched_negative_sampling")
def _negative(m: Machine, call: LibCall) -> Value:
    """Edges that are not there; the sparse method (the default) looks for them on the host."""
    edges = call.arg(0, "edge_index", UNKNOWN)
    found = _on_device(edges)
    if found is not None and call.arg(3, "method", const("sparse")) == const("sparse"):
        m.ask("torch.Tensor.to", [replaced(found, shape=(None,)), const("cpu")])
    elif found is not None:
        mask_read(m, edges)
    return _edges(edges)


@model(f"{_UTILS}degree", f"{_UTILS}scatter", f"{_UTILS}softmax")
def _by_index(m: Machine, call: LibCall) -> Value:
    """Sums, and the like, over the rows of each index; the number of indices is read where it is not given."""
    verb = call.name.rpartition(".")[2]
    source, index = call.arg(0, "index" if verb == "degree" else "src"), call.arg(1, "index")
    if verb == "degree":
        size, index = call.arg(1, "num_nodes"), source
    elif verb == "softmax":
        size = call.arg(3, "num_nodes")
        if given(call.arg(2, "ptr")):
            return result([source], None, "float")
    else:
        size = call.arg(3, "dim_size")
    if not given(size):
        size_read(m, index)
    return result([source], (None,) if verb == "degree" else None, "float")


@model(f"{_UTILS}to_dense_batch")
def _dense_batch(m: Machine, call: LibCall) -> Value:
    """(rows padded to the largest graph, mask). Numbers that are not given are read, and the padding is uploaded."""
    x, batch = call.arg(0, "x", UNKNOWN), call.arg(1, "batch", NONE)
    if given(batch):
        size_read(m, batch)
    dense = result([x], (None, None, None), "float")
    return Tuple((dense, replaced(dense, dtype="bool", shape=(None, None), requires_grad=False)))


@model(f"{_UTILS}to_dense_adj")
def _dense_adjacency(m: Machine, call: LibCall) -> Value:
    """Padded to the largest graph, whose size is read, or compared with the one that is given."""
    edges = call.arg(0, "edge_index", UNKNOWN)
    size_read(m, edges)
    return result([edges], (None, None, None), "float")


@model(f"{_UTILS}to_undirected", f"{_UTILS}coalesce")
def _coalesced(m: Machine, call: LibCall) -> Value:
    """Edges without duplicates, which a mask leaves out."""
    edges, attr = call.arg(0, "edge_index", UNKNOWN), call.arg(1, "edge_attr")
    mask_read(m, edges)
    single = attr is None or (type(attr) is Const and attr.kind == "str")
    return _edges(edges) if single else Tuple((_edges(edges), attr))


# ---------------------------------------------------------------------------------------- models around an encoder

_AUTOENCODERS = ("GAE", "VGAE", "ARGA", "ARGVA")


@model(*(f"{_NN}{name}.__init__" for name in (*_AUTOENCODERS, "DeepGraphInfomax", "DeepGCNLayer")))
def _wrapper(m: Machine, call: LibCall) -> Value:
    """Holds the encoder, or the layer, that it was given."""
    if type(call.self) is Obj:
        infomax = call.name.split(".")[2] == "DeepGraphInfomax"
        m.setattr(call.self, "training", const(True))
        m.setattr(call.self, "encoder", call.arg(1, "encoder", UNKNOWN) if infomax else call.arg(0, "encoder", UNKNOWN))
        if "conv" in call.kwargs:
            m.setattr(call.self, "encoder", call.kwargs["conv"])
        m.setattr(call.self, "corruption", call.arg(3, "corruption", NONE) if infomax else NONE)
    return NONE


def _inner(m: Machine, call: LibCall, args: tuple[Value, ...]) -> Value:
    encoder = call.self.slots.get("encoder") if type(call.self) is Obj else None
    return m.call(encoder, args, call.kwargs) if given(encoder) else UNKNOWN


@model(*(f"{_NN}{name}.{verb}" for name in _AUTOENCODERS for verb in ("encode", "forward", "__call__")))
def _encode(m: Machine, call: LibCall) -> Value:
    """What the encoder gives; the variational ones take a sample of it."""
    found = _inner(m, call, call.args)
    if "VGAE" in call.name or "ARGVA" in call.name:
        parts = m.iterate(found).items
        found = parts[0] if parts else UNKNOWN
    return found if type(found) is Tensor else output(m, call, (None, None))


@model(*(f"{_NN}{name}.recon_loss" for name in _AUTOENCODERS))
def _reconstruction(m: Machine, call: LibCall) -> Value:
    """Draws edges that are not there, on the host, where none are given."""
    edges = _on_device(call.arg(1, "pos_edge_index"))
    if edges is not None and not given(call.arg(2, "neg_edge_index")):
        m.ask("torch.Tensor.to", [replaced(edges, shape=(None,)), const("cpu")])
    return result([call.arg(0, "z")], (), "float")


@model(*(f"{_NN}{name}.test" for name in (*_AUTOENCODERS, "DeepGraphInfomax")))
def _scored(m: Machine, call: LibCall) -> Value:
    """Scores of scikit-learn, which computes on the host: (area under the curve, precision), or the accuracy."""
    z = _on_device(call.arg(0))
    if z is not None:
        m.ask("torch.Tensor.cpu", [z])
    return FLOAT if "Infomax" in call.name else Tuple((FLOAT, FLOAT))


@model(f"{_NN}DeepGraphInfomax.__call__", f"{_NN}DeepGraphInfomax.forward")
def _infomax(m: Machine, call: LibCall) -> Value:
    """(embedding, embedding of a corrupted graph, summary)."""
    positive = _inner(m, call, call.args)
    corrupt = call.self.slots.get("corruption", NONE) if type(call.self) is Obj else NONE
    parts = m.iterate(m.call(corrupt, call.args)).items if given(corrupt) else None
    negative = _inner(m, call, parts) if parts else positive
    return Tuple((positive, negative, output(m, call, (None,))))


@model(f"{_NN}DeepGCNLayer.__call__", f"{_NN}DeepGCNLayer.forward")
def _deep(m: Machine, call: LibCall) -> Value:
    found = _inner(m, call, call.args)
    return found if type(found) is Tensor else output(m, call, (None, None))


@model(f"{_NN}MemPooling.__call__", f"{_NN}MemPooling.forward")
def _memory(m: Machine, call: LibCall) -> Value:
    """(pooled rows, assignment); rows of several graphs are made a dense batch first."""
    if given(call.arg(1, "batch")):
        size_read(m, call.arg(1, "batch"))
    made = output(m, call, (None, None, None))
    return Tuple((made, made))

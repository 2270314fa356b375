"""The modules of torch.nn: what their constructors register, and what calling them gives."""

from __future__ import annotations

from collections.abc import Callable

from syncwatch.static.library.modules import is_module
from syncwatch.static.library.protocol import BASES, MODELS, LibCall, Machine, model
from syncwatch.static.library.tensors import (
    Shape,
    dtype_named,
    given,
    integer,
)
from syncwatch.static.library.torch_factories import place_of
from syncwatch.static.values import (
    FALSE,
    ITEMS,
    NONE,
    REST,
    TRUE,
    UNKNOWN,
    Const,
    Items,
    Iter,
    Obj,
    Tensor,
    Value,
    const,
    element,
    join_all,
)

_CONV = "in_channels out_channels kernel_size stride padding dilation groups bias padding_mode device dtype"
_CONV_T = (
    "in_channels out_channels kernel_size stride padding output_padding groups bias dilation padding_mode device dtype"
)
_NORM = "num_features eps momentum affine track_running_stats device dtype"
_RNN = "input_size hidden_size num_layers bias batch_first dropout bidirectional"
_CELL = "input_size hidden_size bias device dtype"

# class → (parameters of the constructor, what it registers: name and number of dimensions)
_LAYERS: dict[str, tuple[str, str, str]] = {
    "Linear": ("in_features out_features bias device dtype", "weight:2 bias:1", ""),
    "LazyLinear": ("out_features bias device dtype", "weight:2 bias:1", ""),
    "Bilinear": ("in1_features in2_features out_features bias device dtype", "weight:3 bias:1", ""),
    **{f"Conv{n}d": (_CONV, f"weight:{n + 2} bias:1", "") for n in (1, 2, 3)},
    **{f"LazyConv{n}d": (_CONV.partition(" ")[2], f"weight:{n + 2} bias:1", "") for n in (1, 2, 3)},
    **{f"ConvTranspose{n}d": (_CONV_T, f"weight:{n + 2} bias:1", "") for n in (1, 2, 3)},
    **{
        f"{kind}{n}d": (_NORM, "weight:1 bias:1", "running_mean:1 running_var:1 num_batches_tracked:0")
        for n in (1, 2, 3)
        for kind in ("BatchNorm", "LazyBatchNorm")
    },
    "SyncBatchNorm": (_NORM, "weight:1 bias:1", "running_mean:1 running_var:1 num_batches_tracked:0"),
    **{f"InstanceNorm{n}d": (_NORM, "weight:1 bias:1", "") for n in (1, 2, 3)},
    "LayerNorm": ("normalized_shape eps elementwise_affine bias device dtype", "weight:1 bias:1", ""),
    "GroupNorm": ("num_groups num_channels eps affine device dtype", "weight:1 bias:1", ""),
    "RMSNorm": ("normalized_shape eps elementwise_affine device dtype", "weight:1", ""),
    "Embedding": (
        "num_embeddings embedding_dim padding_idx max_norm norm_type scale_grad_by_freq sparse _weight _freeze "
        "device dtype",
        "weight:2",
        "",
    ),
    "EmbeddingBag": (
        "num_embeddings embedding_dim max_norm norm_type scale_grad_by_freq mode sparse _weight include_last_offset "
        "padding_idx device dtype",
        "weight:2",
        "",
    ),
    "PReLU": ("num_parameters init device dtype", "weight:1", ""),
    **dict.fromkeys(("LSTM", "GRU", "RNN"), (_RNN, "weight_ih_l0:2 weight_hh_l0:2 bias_ih_l0:1 bias_hh_l0:1", "")),
    **{f"{kind}Cell": (_CELL, "weight_ih:2 weight_hh:2 bias_ih:1 bias_hh:1", "") for kind in ("LSTM", "GRU", "RNN")},
    "MultiheadAttention": (
        "embed_dim num_heads dropout bias add_bias_kv add_zero_attn kdim vdim batch_first device dtype",
        "in_proj_weight:2 in_proj_bias:1",
        "",
    ),
    "AdaptiveLogSoftmaxWithLoss": (
        "in_features n_classes cutoffs div_value head_bias device dtype",
        "head_weight:2",
        "",
    ),
    "Dropout": ("p inplace", "", ""),
    "Flatten": ("start_dim end_dim", "", ""),
    "CTCLoss": ("blank reduction zero_infinity", "", ""),
    "MaxPool1d": ("kernel_size stride padding dilation return_indices ceil_mode", "", ""),
    "MaxPool2d": ("kernel_size stride padding dilation return_indices ceil_mode", "", ""),
    "MaxPool3d": ("kernel_size stride padding dilation return_indices ceil_mode", "", ""),
}
LOSSES = {
    "CrossEntropyLoss": "weight size_average ignore_index reduce reduction label_smoothing",
    "NLLLoss": "weight size_average ignore_index reduce reduction",
    "BCELoss": "weight size_average reduce reduction",
    "BCEWithLogitsLoss": "weight size_average reduce reduction pos_weight",
    "MSELoss": "size_average reduce reduction",
    "L1Loss": "size_average reduce reduction",
    "SmoothL1Loss": "size_average reduce reduction beta",
    "HuberLoss": "reduction delta",
    "KLDivLoss": "size_average reduce reduction log_target",
    "CosineEmbeddingLoss": "margin size_average reduce reduction",
    "HingeEmbeddingLoss": "margin size_average reduce reduction",
    "MarginRankingLoss": "margin size_average reduce reduction",
    "MultiLabelMarginLoss": "size_average reduce reduction",
    "MultiLabelSoftMarginLoss": "weight size_average reduce reduction",
    "MultiMarginLoss": "p margin weight size_average reduce reduction",
    "PoissonNLLLoss": "log_input full size_average eps reduce reduction",
    "GaussianNLLLoss": "full eps reduction",
    "SoftMarginLoss": "size_average reduce reduction",
    "TripletMarginLoss": "margin p eps swap size_average reduce reduction",
    "TripletMarginWithDistanceLoss": "distance_function margin swap reduction",
    "CTCLoss": "blank reduction zero_infinity",
}


def arguments(call: LibCall, params: str) -> dict[str, Value]:
    """The constructor's arguments under their names."""
    names = params.split()
    found = dict(zip(names, call.args, strict=False))
    found.update(dict(call.kwargs.items()))
    return found


def parameter(m: Machine, call: LibCall, shape: Shape, *, buffer: bool = False, sort: str = "float") -> Tensor:
    """A parameter (or buffer) as the constructor makes it."""
    place = place_of(m, call)
    named = call.kwargs.get("dtype")
    if given(named):
        sort = dtype_named(m, named) or sort
    return Tensor(
        place.device,
        place.sure,
        shape,
        sort,
        pinned=False,
        dense=True,
        requires_grad=not buffer,
        parameter=not buffer,
        index=place.index,
    )


def _layer(params: str, registered: str, buffers: str) -> Callable[[Machine, LibCall], Value]:
    def init(m: Machine, call: LibCall) -> Value:
        obj = call.self
        if type(obj) is not Obj:
            return NONE
        found = arguments(call, params)
        call = LibCall(call.name, call.args, found, None, call.has_star)
        _begin(m, obj, found)
        for part in registered.split():
            name, _, rank = part.partition(":")
            if (name == "bias" and found.get("bias") == FALSE) or found.get("affine") == FALSE:
                m.setattr(obj, name, NONE)
                continue
            if call.name.endswith(("LSTM.__init__", "GRU.__init__", "RNN.__init__")) and found.get("bias") == FALSE:
                if name.startswith("bias"):
                    continue
            m.setattr(obj, name, parameter(m, call, _parameter_shape(name, int(rank), found)))
        for part in buffers.split():
            name, _, rank = part.partition(":")
            if found.get("track_running_stats") == FALSE:
                m.setattr(obj, name, NONE)
                continue
            sort = "int" if rank == "0" else "float"
            m.setattr(obj, name, parameter(m, call, (None,) * int(rank), buffer=True, sort=sort))
            m.setattr(obj, f"<buffer>{name}", TRUE)
        return NONE

    return init


def _parameter_shape(name: str, rank: int, found: dict[str, Value]) -> Shape:
    if name == "weight" and rank == 2:
        if "num_embeddings" in found:
            return (integer(found["num_embeddings"]), integer(found.get("embedding_dim")))
        return (integer(found.get("out_features")), integer(found.get("in_features")))
    if name == "weight" and rank > 2:
        return (integer(found.get("out_channels")), *(None,) * (rank - 1))
    return (None,) * rank


def _begin(m: Machine, obj: Obj, found: dict[str, Value]) -> None:
    """`training` and the plain arguments, which code reads back (`conv.out_channels`)."""
    m.setattr(obj, "training", TRUE)
    for name, value in found.items():
        if name not in ("device", "dtype", "bias", "weight") and not is_module(value):
            m.setattr(obj, name, value)


def _loss_init(params: str) -> Callable[[Machine, LibCall], Value]:
    def init(m: Machine, call: LibCall) -> Value:
        obj = call.self
        if type(obj) is Obj:
            found = arguments(call, params)
            _begin(m, obj, found)
            for name in ("weight", "pos_weight"):
                value = found.get(name)
                if type(value) is Tensor:
                    m.setattr(obj, name, value)
                    m.setattr(obj, f"<buffer>{name}", TRUE)
        return NONE

    return init


for _name, (_params, _registered, _buffers) in _LAYERS.items():
    MODELS[f"torch.nn.{_name}.__init__"] = _layer(_params, _registered, _buffers)
for _name, _params in LOSSES.items():
    MODELS[f"torch.nn.{_name}.__init__"] = _loss_init(_params)


# ---------------------------------------------------------------------------------------- composite modules


@model("torch.nn.MultiheadAttention.__init__")
def _attention_init(m: Machine, call: LibCall) -> Value:
    params, registered, buffers = _LAYERS["MultiheadAttention"]
    _layer(params, registered, buffers)(m, call)
    if type(call.self) is Obj:
        m.setattr(call.self, "out_proj", submodule(m, "out_proj", "torch.nn.Linear", call))
        m.setattr(call.self, "batch_first", arguments(call, params).get("batch_first", FALSE))
    return NONE


def submodule(m: Machine, name: str, type_: str, call: LibCall, *args: Value) -> Obj:
    """A module that a library module makes for itself."""
    with m.part(name):
        made = m.new(type_)
        inner = {k: v for k, v in call.kwargs.items() if k in ("device", "dtype")}
        MODELS[f"{type_}.__init__"](m, LibCall(f"{type_}.__init__", args, inner, made, call.has_star))
    return made


_TRANSFORMER_LAYER = (
    "d_model nhead dim_feedforward dropout activation layer_norm_eps batch_first norm_first bias device dtype"
)


@model("torch.nn.TransformerEncoderLayer.__init__", "torch.nn.TransformerDecoderLayer.__init__")
def _transformer_layer(m: Machine, call: LibCall) -> Value:
    obj = call.self
    if type(obj) is not Obj:
        return NONE
    found = arguments(call, _TRANSFORMER_LAYER)
    inner = LibCall(call.name, (), found, None, call.has_star)
    _begin(m, obj, found)
    width = found.get("d_model", UNKNOWN)
    m.setattr(obj, "self_attn", submodule(m, "self_attn", "torch.nn.MultiheadAttention", inner, width))
    for name in ("linear1", "linear2"):
        m.setattr(obj, name, submodule(m, name, "torch.nn.Linear", inner))
    for name in ("norm1", "norm2"):
        m.setattr(obj, name, submodule(m, name, "torch.nn.LayerNorm", inner))
    if call.name.startswith("torch.nn.TransformerDecoder"):
        m.setattr(obj, "multihead_attn", submodule(m, "multihead_attn", "torch.nn.MultiheadAttention", inner, width))
        m.setattr(obj, "norm3", submodule(m, "norm3", "torch.nn.LayerNorm", inner))
    return NONE


@model("torch.nn.TransformerEncoder.__init__", "torch.nn.TransformerDecoder.__init__")
def _transformer(m: Machine, call: LibCall) -> Value:
    """A stack of copies of the given layer."""
    obj = call.self
    if type(obj) is not Obj:
        return NONE
    found = arguments(call, "layer num_layers norm enable_nested_tensor mask_check")
    layer = found.get("layer", found.get("encoder_layer", found.get("decoder_layer", UNKNOWN)))
    _begin(m, obj, found)
    if is_module(found.get("norm")):
        m.setattr(obj, "norm", found["norm"])
    with m.part("layers"):
        holder = m.new("torch.nn.ModuleList")
    count = integer(found.get("num_layers"))
    copies = (layer,) * count if count is not None and 0 < count <= 4 else None
    m.setattr(holder, ITEMS, Items(copies, layer))
    m.setattr(obj, "layers", holder)
    return NONE


@model("torch.nn.Transformer.__init__")
def _whole_transformer(m: Machine, call: LibCall) -> Value:
    obj = call.self
    if type(obj) is Obj:
        _begin(m, obj, dict(call.kwargs))
        for name, kind in (("encoder", "Encoder"), ("decoder", "Decoder")):
            layer = submodule(m, f"{name}_layer", f"torch.nn.Transformer{kind}Layer", call)
            m.setattr(obj, name, submodule(m, name, f"torch.nn.Transformer{kind}", call, layer, const(6)))
    return NONE


@model("torch.nn.Sequential.__init__", "torch.nn.ModuleList.__init__", "torch.nn.ParameterList.__init__")
def _sequence(m: Machine, call: LibCall) -> Value:
    obj = call.self
    if type(obj) is not Obj:
        return NONE
    m.setattr(obj, "training", TRUE)
    items: tuple[Value, ...] | None = call.args
    elem: Value = UNKNOWN
    if "Sequential" not in call.name or (len(call.args) == 1 and not is_module(call.args[0])):
        source = call.arg(0, "modules", call.kwargs.get("values"))
        inner = Iter(()) if source is None or source == NONE else m.iterate(source)
        items, elem = inner.items, inner.elem
        if type(source) is Obj and source.type == "dict":  # Sequential(OrderedDict(name=module))
            values = tuple(v for k, v in source.slots.items() if type(k) is tuple)
            items, elem = (None, join_all([*values, source.slots[REST]])) if REST in source.slots else (values, UNKNOWN)
            for key, value in source.slots.items():
                if type(key) is tuple and isinstance(key[1], str):
                    m.setattr(obj, f"<name>{key[1]}", value)
    if call.has_star:
        items, elem = None, join_all(items or (UNKNOWN,))
    m.setattr(obj, ITEMS, Items(items, elem))
    return NONE


def held(obj: Value) -> Items:
    found = obj.slots.get(ITEMS) if type(obj) is Obj else None
    return found if type(found) is Items else Items(None, UNKNOWN)


@model(
    "torch.nn.ModuleList.append",
    "torch.nn.Sequential.append",
    "torch.nn.ParameterList.append",
    "torch.nn.ModuleList.extend",
    "torch.nn.Sequential.extend",
    "torch.nn.ModuleList.insert",
    "torch.nn.Sequential.add_module",
    "torch.nn.ModuleList.add_module",
)
def _append(m: Machine, call: LibCall) -> Value:
    obj = call.self
    if type(obj) is not Obj or not call.args:
        return call.receiver
    old = held(obj)
    new = Items(call.args[-1:]) if not call.name.endswith("extend") else m.iterate(call.args[0])
    if old.items is not None and new.items is not None and len(old.items) < 32 and not call.name.endswith("insert"):
        m.setattr(obj, ITEMS, Items((*old.items, *new.items)))
    else:
        parts = [x for x in (element(old), element(new)) if x is not None]
        m.setattr(obj, ITEMS, Items(None, join_all(parts)))
    if call.name.endswith("add_module") and type(call.args[0]) is Const:
        m.setattr(obj, f"<name>{call.args[0].value}", call.args[-1])
    return call.receiver


@model("torch.nn.ModuleDict.__init__", "torch.nn.ParameterDict.__init__", "torch.nn.ModuleDict.update")
def _module_dict(m: Machine, call: LibCall) -> Value:
    obj = call.self
    if type(obj) is Obj:
        from syncwatch.static.library.mappings import entries_of

        m.setattr(obj, "training", TRUE)
        source = call.arg(0, "modules", call.kwargs.get("parameters"))
        if source is not None and source != NONE:
            known, rest = entries_of(m, source)
            for key, value in known.items():
                m.setattr(obj, ("key", key), value)
            if rest is not None:
                m.setattr(obj, REST, rest, weak=True)
    return NONE


BASES["torch.nn.ModuleDict"] = BASES["torch.nn.ParameterDict"] = ("dict", "torch.nn.Module")
BASES["torch.nn.ModuleList"] = BASES["torch.nn.ParameterList"] = ("torch.nn.Module",)

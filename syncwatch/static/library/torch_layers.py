"""The modules of torch.nn: what their constructors register, and what calling them gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from syncwatch.static.library.modules import is_module, where_of
from syncwatch.static.library.protocol import ALIASES, BASES, MODELS, LibCall, Machine, model
from syncwatch.static.library.tensors import (
    NOWHERE,
    Shape,
    Where,
    dtype_named,
    elements,
    flag,
    given,
    integer,
    result,
    shape_of,
    sort_of,
    spread,
    tensors,
    where,
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
    Tuple,
    Value,
    const,
    element,
    join_all,
)

_CONV = "in_channels out_channels kernel_size stride padding dilation groups bias padding_mode device dtype"
_CONV_T = "in_channels out_channels kernel_size stride padding output_padding groups bias dilation padding_mode device dtype"
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
        "num_embeddings embedding_dim padding_idx max_norm norm_type scale_grad_by_freq sparse _weight _freeze device dtype",
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
    **{
        kind: (_RNN, "weight_ih_l0:2 weight_hh_l0:2 bias_ih_l0:1 bias_hh_l0:1", "")
        for kind in ("LSTM", "GRU", "RNN")
    },
    **{f"{kind}Cell": (_CELL, "weight_ih:2 weight_hh:2 bias_ih:1 bias_hh:1", "") for kind in ("LSTM", "GRU", "RNN")},
    "MultiheadAttention": (
        "embed_dim num_heads dropout bias add_bias_kv add_zero_attn kdim vdim batch_first device dtype",
        "in_proj_weight:2 in_proj_bias:1",
        "",
    ),
    "AdaptiveLogSoftmaxWithLoss": ("in_features n_classes cutoffs div_value head_bias device dtype", "head_weight:2", ""),
    "Dropout": ("p inplace", "", ""),
    "Flatten": ("start_dim end_dim", "", ""),
    "CTCLoss": ("blank reduction zero_infinity", "", ""),
    "MaxPool1d": ("kernel_size stride padding dilation return_indices ceil_mode", "", ""),
    "MaxPool2d": ("kernel_size stride padding dilation return_indices ceil_mode", "", ""),
    "MaxPool3d": ("kernel_size stride padding dilation return_indices ceil_mode", "", ""),
}
_LOSSES = {
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
    found.update({k: v for k, v in call.kwargs.items()})
    return found


def parameter(m: Machine, call: LibCall, shape: Shape, *, buffer: bool = False, sort: str = "float") -> Tensor:
    """A parameter (or buffer) as the constructor makes it."""
    place = place_of(m, call)
    named = call.kwargs.get("dtype")
    if given(named):
        sort = dtype_named(m, named) or sort
    return Tensor(place.device, place.sure, shape, sort, pinned=False, dense=True, requires_grad=not buffer,
                  parameter=not buffer, index=place.index)


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
            if name == "bias" and found.get("bias") == FALSE or found.get("affine") == FALSE:
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
for _name, _params in _LOSSES.items():
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


def _held(obj: Value) -> Items:
    found = obj.slots.get(ITEMS) if type(obj) is Obj else None
    return found if type(found) is Items else Items(None, UNKNOWN)


@model("torch.nn.ModuleList.append", "torch.nn.Sequential.append", "torch.nn.ParameterList.append",
       "torch.nn.ModuleList.extend", "torch.nn.Sequential.extend", "torch.nn.ModuleList.insert",
       "torch.nn.Sequential.add_module", "torch.nn.ModuleList.add_module")
def _append(m: Machine, call: LibCall) -> Value:
    obj = call.self
    if type(obj) is not Obj or not call.args:
        return obj
    old = _held(obj)
    new = Items(call.args[-1:]) if not call.name.endswith("extend") else m.iterate(call.args[0])
    if old.items is not None and new.items is not None and len(old.items) < 32 and not call.name.endswith("insert"):
        m.setattr(obj, ITEMS, Items((*old.items, *new.items)))
    else:
        parts = [x for x in (element(old), element(new)) if x is not None]
        m.setattr(obj, ITEMS, Items(None, join_all(parts)))
    if call.name.endswith("add_module") and type(call.args[0]) is Const:
        m.setattr(obj, f"<name>{call.args[0].value}", call.args[-1])
    return obj


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


# ---------------------------------------------------------------------------------------- calling


def output(m: Machine, call: LibCall, shape: Shape = None, sort: str | None = "float") -> Tensor:
    """The result of a module: where its input is, else where its parameters are."""
    inputs = [*call.args, *call.kwargs.values()]
    place: Where = where(inputs)
    own = where_of(call.self) if type(call.self) is Obj else None
    if place.device is None or (own is not None and own.device == "cuda" and place.device == "cpu"):
        place = own or (place if tensors(inputs) else NOWHERE)
    elif own is not None and own.device == place.device and own.sure and not place.sure:
        place = own
    grad = True if own is not None else None
    return result(inputs, shape, sort, place=place, grad=grad)


_SAME_SHAPE = """ReLU ReLU6 GELU SiLU Mish ELU SELU CELU LeakyReLU PReLU RReLU Sigmoid Tanh Softmax LogSoftmax Softmin Softmax2d
    Softplus Softsign Softshrink Hardtanh Hardswish Hardsigmoid Hardshrink Tanhshrink LogSigmoid Threshold Dropout
    Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout Identity BatchNorm1d BatchNorm2d BatchNorm3d
    SyncBatchNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d LayerNorm GroupNorm RMSNorm LocalResponseNorm
    TransformerEncoderLayer TransformerDecoderLayer TransformerEncoder TransformerDecoder ChannelShuffle"""
_SAME_RANK = """Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d MaxPool1d MaxPool2d MaxPool3d AvgPool1d
    AvgPool2d AvgPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d
    AdaptiveMaxPool3d LPPool1d LPPool2d Upsample UpsamplingNearest2d UpsamplingBilinear2d PixelShuffle PixelUnshuffle
    ZeroPad1d ZeroPad2d ZeroPad3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d ReflectionPad2d
    ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d CircularPad1d CircularPad2d CircularPad3d GLU
    FractionalMaxPool2d MaxUnpool1d MaxUnpool2d MaxUnpool3d Linear LazyLinear Bilinear"""


def _input(call: LibCall) -> Value:
    for name in ("input", "src", "x", "query", "tgt"):
        if name in call.kwargs and not call.args:
            return call.kwargs[name]
    return call.args[0] if call.args else UNKNOWN


def _same_shape(m: Machine, call: LibCall) -> Value:
    x = _input(call)
    return output(m, call, shape_of(x), sort_of(x))


def _same_rank(m: Machine, call: LibCall) -> Value:
    x = _input(call)
    shape = shape_of(x)
    if shape is not None:
        own = call.self.slots if type(call.self) is Obj else {}
        width = integer(own.get("out_features"))
        channels = integer(own.get("out_channels"))
        if "out_features" in own and shape:
            shape = (*shape[:-1], width)
        elif "out_channels" in own and len(shape) >= 2:
            shape = (shape[0], channels, *(None,) * (len(shape) - 2))
        else:
            shape = (*shape[:2], *(None,) * (len(shape) - 2)) if len(shape) > 2 else (None,) * len(shape)
    value = output(m, call, shape, "float")
    if type(call.self) is Obj and call.self.slots.get("return_indices") == TRUE:
        return Tuple((value, result([value], shape, "int")))
    return value


def _embedding(m: Machine, call: LibCall) -> Value:
    shape = shape_of(_input(call))
    width = integer(call.self.slots.get("embedding_dim")) if type(call.self) is Obj else None
    bag = "EmbeddingBag" in call.name
    return output(m, call, ((None, width) if bag else None if shape is None else (*shape, width)), "float")


def _loss(m: Machine, call: LibCall) -> Value:
    reduction = call.self.slots.get("reduction") if type(call.self) is Obj else None
    inputs = [*call.args, *call.kwargs.values()]
    shape: Shape = ()
    if reduction is not None and reduction != const("mean") and reduction != const("sum"):
        shape = None
        if reduction == const("none") and tensors(inputs):
            smallest = shape_of(call.args[1]) if len(call.args) > 1 else None
            shape = smallest if "CrossEntropy" in call.name or "NLL" in call.name else shape_of(_input(call))
    return result(inputs, shape, "float", place=output(m, call) and where(inputs))


def _flatten(m: Machine, call: LibCall) -> Value:
    own = call.self.slots if type(call.self) is Obj else {}
    args = (own.get("start_dim", const(1)), own.get("end_dim", const(-1)))
    return m.each(_input(call), lambda x: MODELS["torch.flatten"](m, LibCall("torch.flatten", (x, *args))))


def _unflatten(m: Machine, call: LibCall) -> Value:
    return output(m, call, None, sort_of(_input(call)))


def _recurrent(m: Machine, call: LibCall) -> Value:
    """(output, h) of RNN and GRU, (output, (h, c)) of LSTM; a packed sequence stays packed."""
    x = _input(call)
    own = call.self.slots if type(call.self) is Obj else {}
    width = integer(own.get("hidden_size"))
    shape = shape_of(x)
    value: Value = output(m, call, None if shape is None else (*shape[:-1], width), "float")
    if type(x) is Obj:
        value = packed = m.new("torch.nn.utils.rnn.PackedSequence")
        for key in ("data", "batch_sizes", "sorted_indices", "unsorted_indices"):
            m.setattr(packed, key, x.slots.get(key, UNKNOWN))
    state = output(m, call, None if shape is None else (None,) * (len(shape) - 1) + (width,), "float")
    return Tuple((value, Tuple((state, state)) if "LSTM" in call.name else state))


def _cell(m: Machine, call: LibCall) -> Value:
    own = call.self.slots if type(call.self) is Obj else {}
    shape = shape_of(_input(call))
    value = output(m, call, None if shape is None else (*shape[:-1], integer(own.get("hidden_size"))), "float")
    return Tuple((value, value)) if "LSTM" in call.name else value


def _attention(m: Machine, call: LibCall) -> Value:
    query = _input(call)
    value = output(m, call, shape_of(query), sort_of(query))
    weights = NONE if flag(call.kwargs.get("need_weights"), True) is False else output(m, call)
    return Tuple((value, weights))


def _adaptive_loss(m: Machine, call: LibCall) -> Value:
    value = output(m, call, (None,), "float")
    return Tuple((value, output(m, call, (), "float")), type="torch.nn.modules.adaptive._ASMoutput",
                 names=("output", "loss"))


def _pairwise(m: Machine, call: LibCall) -> Value:
    return output(m, call, None, "float")


def calls(names: str, rule: Callable[[Machine, LibCall], Value]) -> None:
    """Registers what calling modules of torch.nn gives."""
    spreading = spread(rule)
    for name in names.split():
        MODELS[f"torch.nn.{name}.__call__"] = MODELS[f"torch.nn.{name}.forward"] = spreading


calls(_SAME_SHAPE, _same_shape)
calls(_SAME_RANK, _same_rank)
calls("Embedding EmbeddingBag", _embedding)
calls(" ".join(_LOSSES), _loss)
calls("Flatten", _flatten)
calls("Unflatten Unfold Fold", _unflatten)
calls("LSTM GRU RNN", _recurrent)
calls("LSTMCell GRUCell RNNCell", _cell)
calls("MultiheadAttention", _attention)
calls("AdaptiveLogSoftmaxWithLoss", _adaptive_loss)
calls("CosineSimilarity PairwiseDistance Transformer", _pairwise)


@model("torch.nn.Sequential.__call__", "torch.nn.Sequential.forward")
def _sequential(m: Machine, call: LibCall) -> Value:
    held = _held(call.self)
    value = call.arg(0, "input", UNKNOWN)
    if held.items is not None:
        for child in held.items:
            value = m.call(child, (value,))
        return value
    once = m.call(held.elem, (value,))
    return m.call(held.elem, (once,)) if once is not UNKNOWN else once


@model("torch.nn.Module.__call__", "torch.nn.Module.forward")
def _module(m: Machine, call: LibCall) -> Value:
    """A library module that nothing else is known of."""
    own = where_of(call.self) if type(call.self) is Obj else None
    if own is None:
        return UNKNOWN
    return output(m, call)


def _named_child(m: Machine, obj: Value, name: str) -> Value:
    """`sequential.name` of one that was built from a dict."""
    if type(obj) is Obj:
        found = obj.slots.get(f"<name>{name}")
        if found is not None:
            return found
    return UNKNOWN


ALIASES["torch.nn.modules.container.Sequential"] = "torch.nn.Sequential"
ALIASES["torch.nn.modules.module.Module"] = "torch.nn.Module"
ALIASES["torch.nn.parameter.Parameter"] = "torch.nn.Parameter"
ALIASES["torch.nn.modules.batchnorm._BatchNorm"] = "torch.nn.BatchNorm2d"

_ANY: Any = elements

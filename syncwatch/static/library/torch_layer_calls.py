"""What calling the modules of torch.nn gives."""

from __future__ import annotations

from collections.abc import Callable

from syncwatch.static.library.modules import where_of
from syncwatch.static.library.protocol import ALIASES, MODELS, LibCall, Machine, attribute, model
from syncwatch.static.library.tensors import (
    NOWHERE,
    Shape,
    Where,
    flag,
    integer,
    result,
    shape_of,
    sort_of,
    spread,
    tensors,
    where,
)
from syncwatch.static.library.torch_layers import LOSSES, held
from syncwatch.static.values import (
    NONE,
    TRUE,
    UNKNOWN,
    Obj,
    Tensor,
    Tuple,
    Value,
    const,
)

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


_SAME_SHAPE = """ReLU ReLU6 GELU SiLU Mish ELU SELU CELU LeakyReLU PReLU RReLU Sigmoid Tanh Softmax LogSoftmax
    Softmin Softmax2d
    Softplus Softsign Softshrink Hardtanh Hardswish Hardsigmoid Hardshrink Tanhshrink LogSigmoid Threshold Dropout
    Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout Identity BatchNorm1d BatchNorm2d BatchNorm3d
    SyncBatchNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d LayerNorm GroupNorm RMSNorm LocalResponseNorm
    TransformerEncoderLayer TransformerDecoderLayer TransformerEncoder TransformerDecoder ChannelShuffle"""
_SAME_RANK = """Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d MaxPool1d MaxPool2d MaxPool3d
    AvgPool1d
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
    return result(inputs, shape, "float", place=where(inputs))


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
    return Tuple(
        (value, output(m, call, (), "float")), type="torch.nn.modules.adaptive._ASMoutput", names=("output", "loss")
    )


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
calls(" ".join(LOSSES), _loss)
calls("Flatten", _flatten)
calls("Unflatten Unfold Fold", _unflatten)
calls("LSTM GRU RNN", _recurrent)
calls("LSTMCell GRUCell RNNCell", _cell)
calls("MultiheadAttention", _attention)
calls("AdaptiveLogSoftmaxWithLoss", _adaptive_loss)
calls("CosineSimilarity PairwiseDistance Transformer", _pairwise)


@model("torch.nn.Sequential.__call__", "torch.nn.Sequential.forward")
def _sequential(m: Machine, call: LibCall) -> Value:
    inner = held(call.self)
    value = call.arg(0, "input", UNKNOWN)
    if inner.items is not None:
        for child in inner.items:
            value = m.call(child, (value,))
        return value
    once = m.call(inner.elem, (value,))
    return m.call(inner.elem, (once,)) if once is not UNKNOWN else once


@model("torch.nn.Module.__call__", "torch.nn.Module.forward")
def _module(m: Machine, call: LibCall) -> Value:
    """A library module that nothing else is known of."""
    own = where_of(call.self) if type(call.self) is Obj else None
    if own is None:
        return UNKNOWN
    return output(m, call)


@attribute("torch.nn.Sequential.*")
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

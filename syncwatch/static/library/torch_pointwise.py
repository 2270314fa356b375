"""Element-wise operations of torch: functions, methods, operators, and their in-place forms."""

from __future__ import annotations

from syncwatch.static.library.protocol import LibCall, Machine, Model
from syncwatch.static.library.tensors import (
    broadcast,
    dtype_named,
    in_place,
    is_number,
    multiplied,
    operands,
    promote,
    register,
    result,
    shape_of,
    sort_of,
)
from syncwatch.static.values import UNKNOWN, Array, Tensor, Value

# What the type class of the result is: "same" promotes, "float" raises integers, the others are fixed.
_UNARY = {
    "same": """abs absolute ceil floor round trunc fix frac neg negative positive sgn sign square nan_to_num bitwise_not
        clamp_min_ relu threshold hardshrink conj_physical conj resolve_conj resolve_neg real_if_close sgn
        __neg__ __pos__ __abs__ __invert__ __round__ __floor__ __ceil__ __trunc__""",
    "float": """acos acosh arccos arccosh asin asinh arcsin arcsinh atan atanh arctan arctanh cos cosh deg2rad rad2deg
        digamma erf erfc erfinv exp exp2 expm1 lgamma log log10 log1p log2 logit mvlgamma polygamma reciprocal rsqrt
        sigmoid sin sinc sinh sqrt tan tanh i0 angle""",
    "bool": "isnan isinf isfinite isposinf isneginf isreal logical_not signbit",
}
_BINARY = {
    "same": """add sub mul multiply subtract rsub maximum minimum fmax fmin fmod remainder pow float_power floor_divide
        bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift copysign heaviside nextafter gcd lcm
        lerp addcmul clamp clip clamp_max clamp_min hypot ldexp
        __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __mod__ __rmod__ __pow__
        __rpow__ __floordiv__ __rfloordiv__ __and__ __rand__ __or__ __ror__
        __xor__ __rxor__ __lshift__ __rlshift__ __rshift__ __rrshift__""",
    "float": """div divide true_divide atan2 arctan2 xlogy logaddexp logaddexp2 addcdiv float_power
        __truediv__ __rtruediv__""",
    "bool": """eq ne lt le gt ge greater greater_equal less less_equal not_equal isclose logical_and logical_or
        logical_xor __eq__ __ne__ __lt__ __le__ __gt__ __ge__""",
}
_IN_PLACE = """abs absolute ceil floor round trunc fix frac neg negative sgn sign square nan_to_num bitwise_not clamp
    clip
    clamp_min clamp_max relu threshold acos acosh asin asinh atan atanh cos cosh deg2rad rad2deg digamma erf erfc
    erfinv
    exp exp2 expm1 lgamma log log10 log1p log2 logit mvlgamma polygamma reciprocal rsqrt sigmoid sin sinc sinh sqrt
    tan
    tanh i0 logical_not add sub mul multiply subtract fmod remainder pow float_power floor_divide bitwise_and
    bitwise_or
    bitwise_xor bitwise_left_shift bitwise_right_shift copysign heaviside nextafter gcd lcm lerp addcmul addcdiv hypot
    ldexp div divide true_divide atan2 arctan2 xlogy eq ne lt le gt ge greater greater_equal less less_equal not_equal
    logical_and logical_or logical_xor"""


def _first(call: LibCall) -> Value:
    return call.args[0] if call.args else UNKNOWN


def _unary(kind: str) -> Model:
    def rule(m: Machine, call: LibCall) -> Value:
        x = _first(call)
        if type(x) is Array or is_number(x):
            return x
        sort = sort_of(x)
        if kind == "bool":
            sort = "bool"
        elif kind == "float" and sort in ("bool", "uint8", "int"):
            sort = "float"
        return result([x], shape_of(x), sort, dense=x.dense if type(x) is Tensor else None)

    return rule


def _arithmetic(call: LibCall) -> list[Value]:
    """The operands of the arithmetic: `alpha`, `rounding_mode` and the like left out."""
    skip = ("alpha", "rounding_mode", "out", "rtol", "atol", "equal_nan", "dtype", "value")
    return [*call.args, *(v for k, v in call.kwargs.items() if k not in skip)]


def _binary(kind: str) -> Model:
    def rule(m: Machine, call: LibCall) -> Value:
        values = [v for v in _arithmetic(call) if type(v) in (Tensor, Array) or is_number(v) or v is UNKNOWN]
        tensors = [v for v in values if type(v) is Tensor]
        if not tensors:
            return result(values, None, "bool" if kind == "bool" else None)
        if kind == "bool":
            sort: str | None = "bool"
        else:
            sort = promote(values)
            if kind == "float" and sort in ("bool", "uint8", "int"):
                sort = None if "rounding_mode" in call.kwargs else "float"
            if sort is None and any(t.dtype == "float" for t in tensors):
                sort = "float"  # only complex is higher
        shapes = [shape_of(v) for v in values if v is not UNKNOWN]
        if any(v is UNKNOWN for v in values):
            # an unknown operand is a number far more often than a larger tensor, but its shape stays open
            shapes.append(None)
        return result(values, broadcast(*shapes), sort)

    return rule


def _where(m: Machine, call: LibCall) -> Value:
    """Three arguments choose element by element; one argument lists the true positions, as a tuple."""
    values = list(operands(call))
    if len(values) == 1:
        from syncwatch.static.library.torch_reductions import positions

        return positions(m, call)
    chosen = values[1:]
    if call.name.startswith("torch.Tensor."):  # x.where(condition, other)
        chosen = [*values[:1], *values[2:]]
    return result(values, broadcast(*(shape_of(v) for v in values)), promote(chosen))


def _masked_fill(m: Machine, call: LibCall) -> Value:
    x = _first(call)
    mask = call.arg(1, "mask", UNKNOWN)
    return result([x, mask], broadcast(shape_of(x), shape_of(mask)), sort_of(x))


def _same_as_input(m: Machine, call: LibCall) -> Value:
    """Shape of the first argument; its type, unless `dtype=` says otherwise; sums of integers are integers."""
    x = _first(call)
    sort = dtype_named(m, call.kwargs.get("dtype")) if "dtype" in call.kwargs else sort_of(x)
    if call.name.rpartition(".")[2].startswith("cum") and sort in ("bool", "uint8") and "dtype" not in call.kwargs:
        sort = "int"
    made = result(list(operands(call)), shape_of(x), sort)
    return multiplied(x, made) if call.name.endswith((".cumprod", ".cumprod_")) else made


_SHAPE_OF_INPUT = """cumsum cumprod logcumsumexp flip fliplr flipud roll tril triu softmax log_softmax renorm dropout
    feature_dropout alpha_dropout feature_alpha_dropout
    index_add index_copy index_fill index_put scatter scatter_add scatter_reduce index_reduce masked_scatter put
    diagonal_scatter select_scatter slice_scatter fill bernoulli selu celu rrelu prelu
    nan_to_num quantize_per_tensor dequantize smm rot90"""
_FILLING = """fill zero uniform normal random bernoulli exponential geometric cauchy log_normal copy set resize
    resize_as
    masked_fill masked_scatter index_add index_copy index_fill index_put index_reduce scatter scatter_add
    scatter_reduce
    put tril triu fill_diagonal requires_grad detach share_memory cumsum cumprod renorm swapaxes swapdims
    squeeze unsqueeze t transpose addmm addmv addr addbmm baddbmm apply map map2 rename as_strided sparse_resize relu
    dropout leaky_relu elu selu celu rrelu hardtanh"""


def _unchanged(m: Machine, call: LibCall) -> Value:
    """In-place operations that leave type and device alone."""
    x = _first(call)
    if type(x) is not Tensor:
        return x
    return result(list(operands(call)), x.shape, x.dtype)


for _kind, _text in _UNARY.items():
    register(_text.split(), _unary(_kind))
for _kind, _text in _BINARY.items():
    register(_text.split(), _binary(_kind))
for _name in _IN_PLACE.split():
    register([f"{_name}_"], in_place(_binary("same")))
_NAMES = "add sub mul truediv floordiv mod pow and or xor lshift rshift"
for _name in _NAMES.split():
    register([f"__i{_name}__"], in_place(_binary("same")), ("torch.Tensor.",))
register(["where"], _where)
register(["masked_fill"], _masked_fill)
register(_SHAPE_OF_INPUT.split(), _same_as_input)
for _name in _FILLING.split():
    register([f"{_name}_"], in_place(_unchanged))

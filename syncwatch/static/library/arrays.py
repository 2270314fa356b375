"""numpy, pandas, PIL, cv2, scipy, sklearn, jax, tensorflow: data that looks like tensors and is none of ours."""

from __future__ import annotations

from syncwatch.static.library.protocol import ALIASES, BASES, LibCall, Machine, attribute, default, model
from syncwatch.static.library.tensors import contents, elements, integer, is_number, shape_of, sizes
from syncwatch.static.library.torch_transfers import scalar
from syncwatch.static.values import (
    BOOL,
    FLOAT,
    INT,
    NONE,
    NUMBER,
    UNKNOWN,
    Array,
    Const,
    Host,
    Iter,
    Range,
    Tensor,
    Tuple,
    Value,
)

_FLOAT_FACTORIES = "zeros ones empty linspace logspace eye identity"
_LIKE = "zeros_like ones_like empty_like full_like copy ascontiguousarray asfortranarray"
_SCALARS = {
    "sum": None, "mean": "float", "std": "float", "var": "float", "median": "float", "max": None, "min": None,
    "amax": None, "amin": None, "prod": None, "nanmean": "float", "argmax": "int", "argmin": "int", "any": "bool",
    "all": "bool", "dot": None, "linalg.norm": "float", "percentile": "float", "quantile": "float", "ptp": None,
    "count_nonzero": "int", "average": "float", "nanmax": None, "nanmin": None,
}  # fmt: skip
_SAME = """abs absolute exp log log2 log10 log1p sqrt square sin cos tan tanh sign floor ceil round rint clip cumsum
    cumprod sort
    argsort flip roll nan_to_num isnan isinf isfinite logical_not logical_and logical_or maximum minimum add subtract
    multiply divide power where mod negative float_power squeeze expand_dims reshape transpose swapaxes moveaxis
    concatenate stack vstack hstack repeat tile pad unique diff take interp histogram bincount digitize nonzero
    argwhere
    flatnonzero searchsorted split array_split meshgrid outer matmul einsum cross convolve tril triu diag ravel
    broadcast_to rollaxis delete insert append atleast_1d atleast_2d column_stack"""

for _name in ("np", "numpy.core", "numpy._core"):
    ALIASES[_name] = "numpy"
BASES["numpy.ndarray"] = ()
for _name in ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool_", "generic"):
    BASES[f"numpy.{_name}"] = ("numpy.ndarray",)


def _read(m: Machine, values: list[Value]) -> None:
    """numpy functions turn tensors into arrays with `__array__`."""
    for value in values:
        for v in contents(value):
            if type(v) is Tensor:
                m.ask("torch.Tensor.__array__", [v], via="numpy")


def _all(call: LibCall) -> list[Value]:
    return [*call.args, *call.kwargs.values()]


def _first(call: LibCall) -> Value:
    return call.args[0] if call.args else next(iter(call.kwargs.values()), UNKNOWN)


def _sort(value: Value) -> str | None:
    text = value.value if type(value) is Const else getattr(value, "name", "")
    text = str(text).rpartition(".")[2]
    for prefix, sort in (
        ("float", "float"),
        ("half", "float"),
        ("double", "float"),
        ("uint8", "uint8"),
        ("bool", "bool"),
        ("int", "int"),
        ("uint", "int"),
        ("long", "int"),
        ("complex", "complex"),
    ):
        if text.startswith(prefix):
            return sort
    return None


def _dtype(call: LibCall, otherwise: str | None) -> str | None:
    value = call.kwargs.get("dtype")
    return otherwise if value is None or value == NONE else _sort(value)


@default("numpy.")
def _numpy(m: Machine, call: LibCall) -> Value:
    name = call.name[6:]
    values = _all(call)
    _read(m, values)
    if call.self is not None:
        return UNKNOWN
    if name in _FLOAT_FACTORIES.split():
        return Array(
            "numpy.ndarray",
            sizes(call.args[:1]) if call.args and not name.endswith("space") else None,
            _dtype(call, "float"),
        )
    if name == "arange":
        numbers = [a for a in call.args if is_number(a)]
        length = integer(call.args[0]) if len(call.args) == 1 else None
        floats = any(n.kind in ("float", "number") for n in numbers)
        return Array("numpy.ndarray", (length,), _dtype(call, "float" if floats else "int"))
    if name == "full":
        return Array("numpy.ndarray", sizes(call.args[:1]), _dtype(call, None))
    first = _first(call)
    if name in ("array", "asarray", "asanyarray", "fromiter", "frombuffer", "stack", "concatenate", *_LIKE.split()):
        return _array(first, _dtype(call, None))
    if name in _SCALARS:
        axis = call.arg(1, "axis")
        if axis is None or axis == NONE:
            return Array("numpy.generic", (), _SCALARS[name] or getattr(first, "dtype", None))
        return Array("numpy.ndarray", None, _SCALARS[name] or getattr(first, "dtype", None))
    if name in ("isclose", "isnan", "isinf", "isfinite", "logical_not", "logical_and", "logical_or"):
        return Array("numpy.ndarray", shape_of(first), "bool")
    if name in ("allclose", "array_equal", "isscalar", "iscomplexobj"):
        return BOOL
    if name in ("nonzero", "where") and len(values) == 1:
        return Tuple(None, Array("numpy.ndarray", (None,), "int"))
    if name in ("argsort", "argwhere", "flatnonzero", "searchsorted", "digitize", "bincount"):
        return Array("numpy.ndarray", None, "int")
    if name in ("meshgrid", "split", "array_split"):
        with m.part("parts"):
            return m.list(None, Array("numpy.ndarray"))
    if name in ("histogram", "unravel_index"):
        return Tuple(None, Array("numpy.ndarray"))
    if name == "unique":
        wants = any(k.startswith("return_") for k in call.kwargs)
        return (
            Tuple(None, Array("numpy.ndarray"))
            if wants
            else Array("numpy.ndarray", (None,), getattr(first, "dtype", None))
        )
    if name in ("float32", "float64", "float16", "int32", "int64", "uint8", "bool_", "int8", "int16"):
        return Array(f"numpy.{name}", shape_of(first) if type(first) is Array else (), _sort(Const("str", name)))
    if name in _SAME.split() or name.startswith(("linalg.", "fft.")):
        shape = shape_of(first) if name in ("abs", "exp", "log", "sqrt", "clip", "cumsum", "round", "sort") else None
        return Array("numpy.ndarray", shape, _dtype(call, getattr(first, "dtype", None)))
    if name.startswith("random."):
        return _random(call, name[7:])
    if name in ("load", "loadtxt", "genfromtxt", "memmap"):
        return Array("numpy.ndarray")
    if name in ("save", "savez", "savetxt", "set_printoptions", "seterr", "random.seed"):
        return NONE
    if name in ("finfo", "iinfo", "errstate", "dtype"):
        return UNKNOWN
    return Array("numpy.ndarray") if name[:1].islower() and "." not in name else UNKNOWN


def _array(value: Value, sort: str | None) -> Value:
    if type(value) is Tensor or type(value) is Array:
        return Array("numpy.ndarray", value.shape, sort or value.dtype)
    if is_number(value):
        return Array("numpy.ndarray", (), sort or (None if value.kind == "number" else value.kind))
    if type(value) is Range:
        return Array("numpy.ndarray", (value.length,), sort or "int")
    items = elements(value)
    if items and all(is_number(i) for i in items):
        kinds = {i.kind for i in items}
        return Array(
            "numpy.ndarray", (len(items),), sort or (kinds.pop() if len(kinds) == 1 and "number" not in kinds else None)
        )
    inner: Value = next((v for v in contents(value) if v is not value), None)
    if is_number(inner):
        return Array("numpy.ndarray", (None,), sort or (None if inner.kind == "number" else inner.kind))
    return Array("numpy.ndarray", None, sort or (inner.dtype if type(inner) in (Tensor, Array) else None))


def _random(call: LibCall, name: str) -> Value:
    if name in ("seed", "shuffle", "set_state"):
        return NONE
    if name in ("permutation", "choice", "randint", "integers", "random_integers", "permuted"):
        size = call.kwargs.get("size")
        if name in ("choice", "randint", "integers") and size is None and len(call.args) < 3:
            return Array("numpy.int64", (), "int") if name != "choice" else UNKNOWN
        return Array(
            "numpy.ndarray", (None,) if name in ("permutation", "choice") else None, "int" if name != "choice" else None
        )
    if name in ("RandomState", "default_rng", "Generator"):
        return Host("numpy.random.Generator")
    if name in ("rand", "randn"):
        return Array("numpy.ndarray", sizes(call.args) if call.args else (), "float")
    size = call.kwargs.get("size")
    if not call.args and size is None:
        return FLOAT
    return Array("numpy.ndarray", None, "float")


@default("numpy.random.Generator.", "numpy.random.RandomState.")
def _generator(m: Machine, call: LibCall) -> Value:
    return _random(call, call.name.rpartition(".")[2])


# ---------------------------------------------------------------------------------------- arrays as objects

_TYPES = ("numpy.ndarray.", "pandas.", "jax.Array.", "tensorflow.Tensor.", "scipy.sparse.", "PIL.Image.Image.")


@attribute("numpy.ndarray.shape")
def _shape(m: Machine, x: Value, name: str) -> Value:
    from syncwatch.static.library.torch_attributes import number

    if type(x) is not Array or x.shape is None:
        return Tuple(None, INT)
    return Tuple(tuple(number(n) for n in x.shape))


@attribute("numpy.ndarray.size", "numpy.ndarray.ndim", "numpy.ndarray.nbytes", "numpy.ndarray.itemsize")
def _count(m: Machine, x: Value, name: str) -> Value:
    return INT


@attribute("numpy.ndarray.T", "numpy.ndarray.flat", "numpy.ndarray.real", "numpy.ndarray.imag", "numpy.ndarray.base")
def _part(m: Machine, x: Value, name: str) -> Value:
    return Array("numpy.ndarray", None, x.dtype if type(x) is Array else None)


@attribute("numpy.ndarray.dtype", "numpy.ndarray.flags", "numpy.ndarray.strides", "numpy.ndarray.ctypes")
def _meta(m: Machine, x: Value, name: str) -> Value:
    return Host("numpy.dtype") if name == "dtype" else UNKNOWN


@default("numpy.ndarray.", "numpy.generic.")
def _array_method(m: Machine, call: LibCall) -> Value:
    x, name = call.self, call.name.rpartition(".")[2]
    sort = x.dtype if type(x) is Array else None
    if name == "item":
        return scalar(sort)
    if name == "tolist":
        if type(x) is Array and x.shape == ():
            return scalar(sort)
        return m.list(None, scalar(sort) if type(x) is Array and x.shape is not None and len(x.shape) == 1 else UNKNOWN)
    if name == "astype":
        return Array("numpy.ndarray", x.shape if type(x) is Array else None, _sort(call.arg(0, "dtype", UNKNOWN)))
    if name in _SCALARS:
        axis = call.arg(0, "axis")
        shape = () if axis is None or axis == NONE else None
        return Array("numpy.generic" if shape == () else "numpy.ndarray", shape, _SCALARS[name] or sort)
    if name in ("argsort", "nonzero"):
        return Array("numpy.ndarray", None, "int")
    if name == "tobytes":
        return Host("bytes")
    if name in ("sort", "fill", "setflags", "tofile", "put", "itemset"):
        return NONE
    if name == "reshape":
        wanted = sizes(call.args)
        return Array("numpy.ndarray", None if wanted is None else tuple(None if n == -1 else n for n in wanted), sort)
    if name == "copy":
        return x
    return Array("numpy.ndarray", None, sort)


@default(
    "PIL.",
    "cv2.",
    "scipy.",
    "sklearn.",
    "skimage.",
    "matplotlib.",
    "seaborn.",
    "imageio.",
    "librosa.",
    "soundfile.",
    "xarray.",
    "polars.",
    "pyarrow.",
    "h5py.",
    "zarr.",
    "joblib.",
    "nltk.",
    "spacy.",
    "gym.",
    "gymnasium.",
    "jax.",
    "jaxlib.",
    "flax.",
    "optax.",
    "tensorflow.",
    "keras.",
    "cupy.",
    "mxnet.",
    "paddle.",
    "onnx.",
    "tvm.",
)
def _foreign(m: Machine, call: LibCall) -> Value:
    """Other libraries' functions: a tensor given to those that compute with numpy is converted first."""
    root = call.name.partition(".")[0]
    if root in ("cv2", "scipy", "sklearn", "skimage", "matplotlib", "seaborn"):
        _read(m, _all(call))
    if root in ("jax", "tensorflow", "keras", "paddle", "mxnet", "cupy"):
        return Array(f"{root}.Array")
    if root in ("scipy", "sklearn", "skimage", "cv2"):
        return Array("numpy.ndarray")
    return UNKNOWN


@model("scipy.optimize.linear_sum_assignment")
def _assignment(m: Machine, call: LibCall) -> Value:
    """The numbers of the rows and of the columns that belong together."""
    _read(m, _all(call))
    return Tuple((Array("numpy.ndarray", (None,), "int"), Array("numpy.ndarray", (None,), "int")))


BASES["jax.Array"] = BASES["tensorflow.Array"] = BASES["cupy.Array"] = ("foreign.Array",)


@default("pandas.")
def _pandas(m: Machine, call: LibCall) -> Value:
    name = call.name.rpartition(".")[2]
    if name in ("to_numpy",):
        return Array("numpy.ndarray")
    if name in ("item",):
        return NUMBER
    if name in ("to_dict", "tolist", "items", "iterrows", "itertuples"):
        return UNKNOWN
    return Array("pandas.DataFrame")


@attribute("pandas.DataFrame.*", "pandas.Series.*")
def _frame(m: Machine, x: Value, name: str) -> Value:
    if name in ("values",):
        return Array("numpy.ndarray")
    if name in ("shape", "size", "columns", "index"):
        return UNKNOWN
    if name in ("iloc", "loc", "at", "iat"):
        return Array("pandas.DataFrame")
    from syncwatch.static.values import Bound, Lib

    return Bound(Lib(f"pandas.DataFrame.{name}"), x)


@model("numpy.ndindex")
def _indices(m: Machine, call: LibCall) -> Value:
    whole = sizes(call.args)
    return Iter(None, Tuple(None, INT) if whole is None else Tuple((INT,) * len(whole)))


@model("jax.Array.item", "tensorflow.Array.item", "foreign.Array.item")
def _foreign_item(m: Machine, call: LibCall) -> Value:
    return NUMBER


@model("foreign.Array.numpy", "jax.device_get")
def _foreign_numpy(m: Machine, call: LibCall) -> Value:
    return Array("numpy.ndarray")

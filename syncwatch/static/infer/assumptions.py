"""What is taken for granted about values that nobody was seen making: parameters of functions without callers."""

from __future__ import annotations

import re
from typing import Any

from syncwatch.static import ir
from syncwatch.static.infer.machine import Interpreter
from syncwatch.static.infer.types import class_library_types, type_name
from syncwatch.static.library.protocol import ASSUMPTIONS, is_class
from syncwatch.static.outline import statements
from syncwatch.static.values import (
    BOOL,
    FALSE,
    FLOAT,
    INT,
    NONE,
    STR,
    UNKNOWN,
    Array,
    Class,
    Const,
    Func,
    Host,
    Lib,
    Obj,
    Tensor,
    Tuple,
    Value,
    join,
    join_all,
    union,
)

# Options of PyTorch's optimizers that make them keep their state otherwise, for graphs and for second derivatives.
_SELDOM = frozenset({"capturable", "differentiable"})
_TENSOR_TYPES = frozenset(
    {"torch.Tensor", "torch.FloatTensor", "torch.LongTensor", "torch.BoolTensor", "torch.cuda.FloatTensor",
     "torch.IntTensor", "torch.HalfTensor", "torch.cuda.LongTensor", "torch.nn.Parameter"}
)  # fmt: skip
_PLAIN = {"int": INT, "float": FLOAT, "bool": BOOL, "str": STR, "bytes": Host("bytes"), "NoneType": NONE}
_SEQUENCES = frozenset(
    {"List", "list", "Sequence", "Iterable", "Iterator", "Collection", "MutableSequence", "Generator"}
)
_MAPPINGS = frozenset({"Dict", "dict", "Mapping", "MutableMapping", "OrderedDict", "DefaultDict", "defaultdict"})
_ANY = frozenset({"Any", "Callable", "object", "TypeVar", "Self", "Hashable"})
# Parameters of `forward` that are not tensors.
_NUMBERS = re.compile(
    r"^([THWDthwd]{2,3}|\w*_(hw|thw|HW|THW)|\w*shapes|\w*sizes|[HWDhwdTBCNLS]|n|k|idx|index|i|step|epoch|t_enc|steps?|layer|layer_idx|level|depth|num_\w+|n_\w+|\w+_(size|dim|dims|num|"
    r"len|idx|index|name|type|mode|fn|func|id|path|kwargs|args|config|cfg|shape|hw|step|ratio|rate|scale|eps|prob)|size|shape|"
    r"height|width|dim|seq_len|length|scale|eps|mode|name|path|args|kwargs|config|cfg|meta|metas|img_metas|"
    r"tokenizer|model|net|module|opt|optimizer|loader|device|dtype|verbose|debug|training|train|cache|"
    r"past_key_values?|\w*cache\w*|do_\w+|should_\w+|has_\w+|return_\w+|output_\w+|use_\w+|is_\w+|with_\w+|profile|visualize|embed|augment|key|"
    r"text|texts|prompt|prompts|names?|phase|stage|func|fn|callback|hook|"
    r"batch|data|sample|samples|inputs?_dict|targets|target_list|features_list|outputs|info|rank|lr)$"
)


def of_parameter(m: Interpreter, func: Func, cls: Class | None, param: ir.Param, receiver: Value) -> Value:
    """The assumed value of one parameter of a function that is entered without a caller."""
    if cls is not None and type(receiver) is Obj:
        for t in class_library_types(cls):
            hook = ASSUMPTIONS.get(f"{t}.{func.name}")
            if hook is not None:
                value = hook(m, receiver, param.name)
                if value is not UNKNOWN:
                    return value
    default = (func.defaults or {}).get(param.name)
    if param.name in _SELDOM and default == FALSE:
        return default
    if func.name == "__init__" and default is not None:
        return _of_default(default)  # most objects are made with most arguments left out
    value = UNKNOWN
    if param.annotation is not None:
        value = of_annotation(m, param.annotation, param.name)
    if value is UNKNOWN:
        value = _of_name(m, func, cls, param, default)
    if default is None or default is UNKNOWN or (value is UNKNOWN and default == NONE):
        return value
    return join(value, default) if value is not UNKNOWN else _of_default(default)


def _of_default(default: Value) -> Value:
    """A parameter that is often left at its default: of its type, and of any content."""
    if type(default) is Const and default.kind in ("bool", "int", "float"):
        return Host(default.kind)
    if type(default) is Const and default.kind == "str":
        return join(default, STR)
    return default


def _of_name(m: Interpreter, func: Func, cls: Class | None, param: ir.Param, default: Value) -> Value:
    name = param.name
    from syncwatch.static.infer.attributes import is_device_name

    if is_device_name(m, name):
        return m.accelerator()
    if name in ("rank", "local_rank", "global_rank"):
        return Host("int", "rank")
    if default is not None and default != NONE:
        return UNKNOWN
    if name == "tensor":
        tensor = assumed_tensor(m)
        return tensor if default is None else union([tensor, NONE])
    if cls is not None and _is_forward(func, cls) and not _NUMBERS.match(name):
        value = _documented(m, dict(func.node.documented).get(name, ""))
        return value if default is None or value is UNKNOWN else union([value, NONE])
    return UNKNOWN


def forget_set_up(m: Interpreter, obj: Obj, cls: Class) -> None:
    """Forgets where tensors are that a method such as `set_timesteps(n, device=…)` makes anew before the steps.

    What it ends by leaving on the host stays there.
    """
    for base in cls.mro:
        for func in list(base.slots.values()) if type(base) is Class else ():
            if type(func) is not Func or not func.name.startswith("set_"):
                continue
            if any(p.name == "device" for p in func.node.params):
                for name, stays in _remade(func.node.body).items():
                    held = obj.slots.get(name)
                    if not stays and type(held) is Tensor and held.device == "cpu":
                        m.journal.write(obj.slots, name, Tensor(None, False, held.shape, held.dtype))


def _remade(block: ir.Block) -> dict[str, bool]:
    """The attributes of `self` that a block assigns, and whether the last value was moved to the host."""
    found: dict[str, bool] = {}
    for s in statements(block):
        if type(s) is ir.Assign:
            for target in s.targets:
                if type(target) is ir.Attr and type(target.value) is ir.Name and target.value.id == "self":
                    found[target.attr] = _ends_on_host(s.value)
    return found


def _ends_on_host(value: Any) -> bool:
    if type(value) is not ir.Call or type(value.func) is not ir.Attr:
        return False
    first = value.args[0].value if value.args else None
    return value.func.attr == "cpu" or (value.func.attr == "to" and type(first) is ir.Const and first.value == "cpu")


# What a docstring says of a parameter that is no tensor, and of one that holds several.
_PLAIN_TEXT = re.compile(
    r"\W*(optional\W+)?(int|integer|float|number|str|string|bool|boolean|dict|dictionary|set|callable|function|path|"
    r"pathlib\.Path|(np|numpy)\.\w+|ndarray|bytes|(list|tuple|sequence|iterable)( of |\W+)(python )?"
    r"(int|float|str|bool|path|dict)\w*)s?($|\W)",
    re.I,
)
_SEVERAL_TEXT = re.compile(r"\W*(optional\W+)?(list|tuple|sequence|iterable)($|\W)", re.I)


def _documented(m: Interpreter, text: str) -> Value:
    """A parameter of `forward` that has no annotation, by what the docstring says of its type: most are tensors."""
    tensor = assumed_tensor(m)
    if "ensor" in text:
        return tensor
    if _PLAIN_TEXT.match(text):
        return UNKNOWN
    tensor = Tensor(tensor.device, False, marks=tensor.marks | {"guessed"})
    return Tuple(None, tensor) if _SEVERAL_TEXT.match(text) else tensor


def _is_forward(func: Func, cls: Class) -> bool:
    return func.name == "forward" and "torch.nn.Module" in class_library_types(cls)


def assumed_tensor(m: Interpreter) -> Tensor:
    """A tensor argument of code that is meant to run on the accelerator.

    What prepares data runs in the loader's processes, on the host or anywhere: there the device is not known.
    """
    if m.preparing:
        return Tensor(None)
    return Tensor("cuda", sure=False, marks=frozenset({"module-input"}))


_DATA_PATH = re.compile(r"(^|/)(data|datasets?|dataloaders?|transforms?|augment\w*|preprocess\w*|tokenizers?)(/|\.py$)")
_DATA_NAME = re.compile(
    r"Collat|Dataset|Transform|Augment|Sampler|Tokenizer|Reader|collate|DataModule|FeatureExtractor"
)


def prepares_data(path: str, qualname: str) -> bool:
    """Whether code belongs to the preparation of data, by its file and its class."""
    return _DATA_PATH.search(path) is not None or (
        _DATA_NAME.search(qualname) is not None and "Transformer" not in qualname
    )


def may_stay_on_host(path: str, func: Func, cls: Class | None) -> bool:
    """Whether the tensors that a function gets may well be on the host, in a program that uses a GPU.

    It prepares data, feeds a runtime that works there, or calls itself the implementation for CPUs.
    """
    if prepares_data(path, func.qualname) or (cls is not None and _feeds_host_runtime(cls)):
        return True
    return func.name.endswith("_cpu") and not func.name.endswith("to_cpu")


# Runtimes that take their input from the host, whatever the rest of a program does on a GPU.
_HOST_RUNTIMES = frozenset(
    {"ai_edge_litert", "ais_bench", "axelera", "coreai", "coremltools", "dx_engine", "executorch", "hailo_platform",
     "MNN", "mct_quantizers", "ncnn", "openvino", "rknn", "rknnlite", "tensorflow", "tflite_runtime"}
)  # fmt: skip


def _feeds_host_runtime(cls: Class) -> bool:
    """Whether the methods of a class import a runtime that works on the host."""
    return cls.node is not None and not _HOST_RUNTIMES.isdisjoint(_imported_by(cls.node))


_IMPORTED: dict[int, tuple[ir.Class, set[str]]] = {}  # by id; the class is kept, so that its id is


def _imported_by(node: ir.Class) -> set[str]:
    known = _IMPORTED.get(id(node))
    if known is None:
        known = _IMPORTED[id(node)] = (node, _imported(node.body))
    return known[1]


def _imported(block: Any) -> set[str]:
    """The packages that a block imports, however deep inside."""
    found: set[str] = set()
    for s in block:
        if type(s) is ir.Import:
            found |= {name.partition(".")[0] for name, _ in s.names}
        elif type(s) is ir.ImportFrom:
            found.add(s.module.partition(".")[0])
        for inner in ("body", "orelse", "final"):
            nested = getattr(s, inner, None)
            if type(nested) is tuple:
                found |= _imported(nested)
        for handler in getattr(s, "handlers", ()):
            found |= _imported(handler.body)
    return found


def of_annotation(m: Interpreter, node: Any, name: str, depth: int = 0) -> Value:
    """The value of a given annotation, Unknown where it says nothing."""
    if depth > 4 or node is None:
        return UNKNOWN
    kind = type(node)
    if kind is ir.Const:
        if node.kind == "none":
            return NONE
        return _of_text(m, node.value) if node.kind == "str" and isinstance(node.value, str) else UNKNOWN
    if kind is ir.Binary and node.op == "|":
        return either([of_annotation(m, n, name, depth + 1) for n in (node.left, node.right)])
    if kind is ir.Sub:
        return _generic(m, node, name, depth)
    if kind not in (ir.Name, ir.Attr):
        return UNKNOWN
    return of_type(m, _lookup(m, node), name)


def _lookup(m: Interpreter, node: Any) -> Value:
    """The class that an annotation names; no effects."""
    m.muted += 1
    try:
        return m.eval(node)
    finally:
        m.muted -= 1


def of_type(m: Interpreter, type_: Value, name: str) -> Value:
    """An assumed instance of a class."""
    if type(type_) is Class:
        known = m.assumed.get(id(type_))
        return UNKNOWN if known is None else known
    if type(type_) is not Lib:
        return UNKNOWN
    short = type_name(type_.name)
    if short in _TENSOR_TYPES:
        return assumed_tensor(m)
    if short in _PLAIN:
        return _PLAIN[short]
    if short == "torch.device":
        return m.accelerator()
    if short in ("numpy.ndarray", "numpy.array") or short.startswith(("pandas.", "PIL.")):
        return Array(short)
    if short in ("list", "dict", "tuple", "set") or short.rpartition(".")[2] in _ANY:
        return UNKNOWN
    if is_class(short) and "." in short and not short.startswith("typing."):
        return Obj(short, assumed=True)
    return UNKNOWN


def _of_text(m: Interpreter, text: str) -> Value:
    text = text.strip()
    optional = False
    if text.startswith("Optional[") and text.endswith("]"):
        text, optional = text[9:-1], True
    if text.endswith("| None"):
        text, optional = text[:-6].strip(), True
    value: Value = UNKNOWN
    if text in ("torch.Tensor", "Tensor"):
        value = assumed_tensor(m)
    elif text in _PLAIN:
        value = _PLAIN[text]
    elif re.fullmatch(r"[A-Za-z_]\w*", text):
        value = of_type(m, m.load(text), "")
    return union([value, NONE]) if optional and value is not UNKNOWN else value


def _generic(m: Interpreter, node: ir.Sub, name: str, depth: int) -> Value:
    base = node.value.attr if type(node.value) is ir.Attr else getattr(node.value, "id", "")
    index = node.index
    parts = index.items if type(index) is ir.Seq and index.kind == "tuple" else (index,)

    def part(i: int) -> Value:
        return of_annotation(m, parts[i], name, depth + 1) if i < len(parts) else UNKNOWN

    if base == "Optional":
        inner = part(0)
        return UNKNOWN if inner is UNKNOWN else join(inner, NONE)
    if base == "Union":
        return either([part(i) for i in range(len(parts))])
    if base in ("Annotated", "Final", "Required", "NotRequired", "ClassVar"):
        return part(0)
    if base in _SEQUENCES:
        inner = part(0)
        if inner is UNKNOWN:
            return UNKNOWN
        return new_list(m, inner)
    if base in _MAPPINGS:
        obj = Obj("dict")
        obj.slots["<rest>"] = _coarse(part(1))
        return obj
    if base in ("Tuple", "tuple"):
        if len(parts) == 2 and type(parts[1]) is ir.Const and parts[1].kind == "...":
            return Tuple(None, part(0))
        return Tuple(tuple(part(i) for i in range(len(parts))))
    if base in ("Float", "Int", "Bool", "Shaped", "Num", "Integer", "TensorType"):  # jaxtyping and its like
        return of_annotation(m, parts[0], name, depth + 1)
    return UNKNOWN


def _coarse(v: Value) -> Value:
    """An entry of a dictionary: the annotation says what most entries are, and some of them are lists of numbers."""
    if type(v) is not Tensor:
        return v
    return Tensor(v.device, False, v.shape, v.dtype, marks=v.marks | {"coarse"})


def either(parts: list[Value]) -> Value:
    """One of several types: a tensor or None is worth following, a tensor or something else says too little."""
    solid = [p for p in parts if p != NONE]
    if len(solid) > 1 and not all(type(p) in (Tensor, Obj, Tuple) for p in solid):
        return UNKNOWN
    if any(p is UNKNOWN for p in solid):
        return UNKNOWN
    return join_all(parts)


def new_list(m: Interpreter, elem: Value) -> Obj:
    """A list of an unknown number of elements that belongs to no place in the code."""
    from syncwatch.static.values import ITEMS, Items

    obj = Obj("list")
    obj.slots[ITEMS] = Items(None, elem)
    return obj

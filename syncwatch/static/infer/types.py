"""Types of abstract values: classes and their attributes, isinstance, and the devices that values name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from syncwatch.static.library.protocol import canonical, lineage
from syncwatch.static.values import (
    NONE,
    UNKNOWN,
    Array,
    Bound,
    Class,
    Const,
    Device,
    Dtype,
    Func,
    Host,
    Iter,
    Lib,
    Module,
    Obj,
    Partial,
    Range,
    Tensor,
    Tuple,
    Union,
    Value,
    members,
)

if TYPE_CHECKING:
    from syncwatch.static.infer.machine import Interpreter

_CONTAINERS = frozenset({"list", "dict", "set", "frozenset"})
_ABSTRACT = {
    "Sequence": ("list", "tuple", "str", "range", "deque"),
    "MutableSequence": ("list", "deque"),
    "Mapping": ("dict",),
    "MutableMapping": ("dict",),
    "Iterable": ("list", "tuple", "str", "dict", "set", "range", "generator", "deque"),
    "Collection": ("list", "tuple", "str", "dict", "set", "range"),
    "Sized": ("list", "tuple", "str", "dict", "set", "range"),
    "Set": ("set", "frozenset"),
    "Number": ("int", "float", "complex", "bool"),
    "Real": ("int", "float", "bool"),
    "Integral": ("int", "bool"),
    "Iterator": ("generator",),
    "Generator": ("generator",),
    "Hashable": ("str", "int", "float", "bool", "tuple", "NoneType", "bytes"),
}


def class_attr(cls: Class, name: str) -> Value | None:
    """The attribute of a class or its bases in the project; None where none has it."""
    for c in cls.mro:
        if type(c) is Class:
            value = c.slots.get(name)
            if value is not None:
                return value
    return None


def library_types(v: Value) -> tuple[str, ...]:
    """The library types of a value, nearest first: those of its own type, or of the library bases of its class."""
    kind = type(v)
    if kind is Tensor:
        return ("torch.nn.Parameter", "torch.Tensor", "object") if v.parameter else ("torch.Tensor", "object")
    if kind is Obj:
        if isinstance(v.type, str):
            return lineage(v.type)
        if isinstance(v.type, Class):
            return class_library_types(v.type)
        return ()
    if kind is Array:
        return lineage(v.type)
    if kind is Tuple:
        return (v.type, "tuple", "object") if v.type != "tuple" else ("tuple", "object")
    if kind is Iter:
        return (v.type, "generator", "object")
    name = _SIMPLE.get(kind)
    if name is not None:
        return (name, "object")
    if kind is Const or kind is Host:
        return (
            lineage(v.kind)
            if "." in v.kind
            else ((v.kind, "int", "object") if v.kind == "bool" else (v.kind, "object"))
        )
    return ("object",)


_SIMPLE: dict[type, str] = {
    Device: "torch.device",
    Dtype: "torch.dtype",
    Range: "range",
    Func: "function",
    Bound: "method",
    Partial: "functools.partial",
    Class: "type",
    Module: "module",
}


def class_library_types(cls: Class) -> tuple[str, ...]:
    """The library types that a class of the project derives from."""
    found: list[str] = []
    for base in cls.mro:
        if type(base) is Lib:
            found.extend(t for t in lineage(type_name(base.name)) if t not in found)
    return tuple(found) or ("object",)


def type_name(name: str) -> str:
    """The name under which a library type's objects are known: builtins lose their module."""
    name = canonical(name)
    if name.startswith("builtins."):
        return name[9:]
    return _SHORT.get(name, name)


_SHORT = {
    "typing.List": "list",
    "typing.Dict": "dict",
    "typing.Tuple": "tuple",
    "typing.Set": "set",
    "collections.OrderedDict": "dict",
    "typing.OrderedDict": "dict",
    "types.NoneType": "NoneType",
    "types.FunctionType": "function",
    "types.MethodType": "method",
    "types.ModuleType": "module",
    "types.GeneratorType": "generator",
    "types.LambdaType": "function",
    "collections.deque": "deque",
}


def class_of(m: Interpreter, v: Value) -> Value:
    """`type(v)`."""
    kind = type(v)
    if kind is Obj:
        return v.type if isinstance(v.type, Class) else Lib(_long(v.type))
    if kind is Tensor:
        return Lib("torch.nn.Parameter" if v.parameter else "torch.Tensor")
    types = library_types(v)
    return UNKNOWN if types[0] == "object" else Lib(_long(types[0]))


def _long(name: str) -> str:
    return name if "." in name else f"builtins.{name}"


def is_instance(m: Interpreter, v: Value, types: Value) -> bool | None:
    """`isinstance(v, types)`; None where unknown."""
    if type(v) is Union:
        verdicts = {is_instance(m, x, types) for x in v.members}
        return verdicts.pop() if len(verdicts) == 1 else None
    kind = type(types)
    if kind is Tuple:
        if types.items is None:
            return None
        result: bool | None = False
        for t in types.items:
            verdict = is_instance(m, v, t)
            if verdict:
                return True
            if verdict is None:
                result = None
        return result
    if kind is Lib:
        return is_instance_of(v, type_name(types.name))
    if kind is Class:
        if v is UNKNOWN:
            return None
        if type(v) is Obj and isinstance(v.type, Class):
            if types in v.type.mro:
                return True
            # an assumed object may be of a subclass
            return None if v.assumed else False
        if type(v) is Obj and v.assumed:
            return None
        return None if type(v) is Lib else False
    if types == NONE:
        return v == NONE if v is not UNKNOWN else None
    return None


def is_instance_of(v: Value, name: str) -> bool | None:
    """Whether a single value is an instance of a library type; None where unknown."""
    if v is UNKNOWN or type(v) is Lib:
        return None
    types = library_types(v)
    if name in types:
        return True
    short = name.rpartition(".")[2]
    if name.startswith(("typing.", "collections.abc.", "numbers.", "collections.")) and short in _ABSTRACT:
        return any(t in _ABSTRACT[short] for t in types)
    if short == "Callable" or name == "function":
        return type(v) in (Func, Bound, Partial) or None
    if name in ("torch.nn.Parameter",) and type(v) is Tensor:
        return None
    if type(v) is Tensor and "open" in v.marks and name != "object":
        return None
    if name in ("torch.FloatTensor", "torch.LongTensor", "torch.cuda.FloatTensor"):
        return None if type(v) is Tensor else False
    if type(v) is Host and v.kind in ("number",) and name in ("int", "float"):
        return None
    if type(v) is Host and "." in v.kind:
        return None
    if type(v) is Obj:
        if v.assumed:
            return None
        # a class with an unknown base may be anything
        if isinstance(v.type, Class) and any(type(b) is Lib and _is_foreign(b.name) for b in v.type.mro):
            return None if not name.startswith(("torch.", "int", "float", "str", "list", "dict", "tuple")) else False
        if isinstance(v.type, str) and "." in v.type and not v.type.startswith("torch."):
            return False if name in _CONTAINERS or name.startswith("torch.Tensor") else None
        if isinstance(v.type, str) and v.type.startswith("torch.") and name.startswith("torch."):
            return False
    return name == "object"


def _is_foreign(name: str) -> bool:
    return not name.startswith(("builtins.", "torch.", "typing.", "abc.", "enum.", "collections."))


def device_of(m: Interpreter, v: Value) -> Device | None:
    """The device that an argument names; None for None and for what names none."""
    kind = type(v)
    if isinstance(v, Device):
        return v
    if kind is Const:
        if v.kind == "str":
            return parse_device(v.value)
        if v.kind == "int":
            return Device("cuda", v.value)
        return None
    if kind is Tensor:
        return Device(v.device, v.index, v.sure)
    if kind is Union:
        found = [d for d in (device_of(m, x) for x in members(v)) if d is not None]
        if not found:
            return None
        types = {d.type for d in found}
        sure = all(d.sure for d in found) and len(types) == 1
        if len(types) == 1:
            return Device(found[0].type, found[0].index if len(found) == 1 else None, sure)
        # the code can run on an accelerator, which is the case that matters here
        return Device("cuda", None, sure=False) if "cuda" in types else Device(None)
    if kind is Host:
        return Device("cuda", None, sure=v.names == "rank") if v.kind == "int" else Device("cuda", None, sure=False)
    if kind is Obj:
        if "torch.nn.Module" in library_types(v):
            return module_device(v)
        if v.type == "torch.device":
            return Device("cuda", None, sure=False)
        return None
    if v is UNKNOWN:
        return Device(None)
    return None


def module_device(v: Obj) -> Device | None:
    """Where the parameters of a module are; None where it has none."""
    from syncwatch.static.infer.readings import module_tensors

    tensors = module_tensors(v)
    if not tensors:
        return None
    first = next((t for t in tensors if t.device == "cuda"), tensors[0])
    return Device(first.device, first.index, first.sure)


def parse_device(text: str) -> Device:
    """The device that a string names."""
    name, _, index = text.partition(":")
    number = int(index) if index.isdigit() else (-1 if not index else None)
    if name in ("cpu", "meta"):
        return Device(name, number)
    # every accelerator counts as cuda: what makes the host wait is the same
    if name in ("cuda", "hip", "xpu", "mps", "npu", "hpu", "musa", "privateuseone"):
        return Device("cuda", number, sure=name == "cuda")
    return Device("cuda", None, sure=False) if name == "auto" else Device(None)


def type_of_class(v: Any) -> str:
    """A readable name of a class value."""
    return v.name if isinstance(v, (Class, Lib)) else type(v).__name__

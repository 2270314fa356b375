"""Attribute access, as Python does it: instances, classes, properties, `super()`, modules, library objects."""

from __future__ import annotations

from typing import Any

from syncwatch.static.infer import unknown
from syncwatch.static.infer.machine import Interpreter
from syncwatch.static.infer.text import words
from syncwatch.static.infer.types import class_attr, class_of, library_types, type_name
from syncwatch.static.library import protocol
from syncwatch.static.library.protocol import ATTRIBUTE_DEFAULTS, ATTRIBUTES, MODELS, by_prefix, canonical, find
from syncwatch.static.values import (
    INT,
    ITEMS,
    STR,
    UNKNOWN,
    Bound,
    Class,
    Const,
    Device,
    Dtype,
    Func,
    Iter,
    Lib,
    Module,
    Obj,
    Partial,
    Super,
    Tensor,
    Tuple,
    Union,
    Value,
    join,
)

_DTYPES = words(
    "float16 float32 float64 float half double bfloat16 int8 int16 int32 int64 int long short uint8 uint16 uint32 "
    "uint64 bool complex64 complex128 cfloat cdouble complex32 float8_e4m3fn float8_e5m2 qint8 quint8 qint32"
)
_DEVICE_NAMES = frozenset({"device", "dev", "torch_device", "target_device", "main_device", "accelerator_device"})


def is_device_name(m: Interpreter, name: str) -> bool:
    """Whether an unknown value of this name is taken to be the accelerator's device."""
    return name in _DEVICE_NAMES or name in m.device_names or name.endswith("_device")


def get_attr(m: Interpreter, v: Value, name: str) -> Value:
    """`v.name`."""
    kind = type(v)
    if kind is Obj:
        return _of_object(m, v, name)
    if kind is Tensor:
        return _of_tensor(m, v, name)
    if kind is Union:
        return _of_union(m, v, name)
    if kind is Lib:
        return _of_library(m, v, name)
    if kind is Class:
        return of_class(m, v, name, None)
    if kind is Module:
        return _of_module(m, v, name)
    if kind is Super:
        return _of_super(m, v, name)
    if v is UNKNOWN:
        return assumed_attr(m, name)
    return _of_plain(m, v, name)


def _of_union(m: Interpreter, v: Union, name: str) -> Value:
    result: Value = None
    for x in v.members:
        if type(x) is Const and x.kind == "NoneType":
            continue  # it would raise
        value = get_attr(m, x, name)
        if value is UNKNOWN and type(x) is not Obj and x is not UNKNOWN:
            continue
        result = value if result is None else join(result, value)
    return UNKNOWN if result is None else result


def assumed_attr(m: Interpreter, name: str) -> Value:
    """What an attribute of something unknown is taken for, by its name."""
    if is_device_name(m, name):
        return m.accelerator()
    return UNKNOWN


def _of_object(m: Interpreter, v: Obj, name: str) -> Value:
    if v.born < m.oldest:
        m.oldest = v.born
    value = v.slots.get(name)
    cls = v.type
    if isinstance(cls, Class):
        if value is not None:
            return value
        found = of_class(m, cls, name, v)
        if found is not None:
            return found
        return _missing(m, v, cls, name)
    if value is not None:
        return value
    if name == "__class__":
        return class_of(m, v)
    return _of_library_type(m, v, library_types(v), name)


def of_class(m: Interpreter, cls: Class, name: str, instance: Obj | None) -> Value:
    """An attribute found through a class: bound to `instance`, or of the class itself. None where there is none."""
    for c in cls.mro:
        if type(c) is Class:
            value = c.slots.get(name)
            if value is not None:
                return _bind(m, value, cls, instance, name)
        else:
            value = _from_base(m, c, name, instance)
            if value is not None:
                return Bound(value, cls) if instance is None and name in _CLASS_METHODS else value
    if name == "__class__":
        return cls if instance is not None else Lib("builtins.type")
    if instance is None:
        if name in ("__name__", "__qualname__"):
            return Const("str", cls.name)
        if name == "__mro__":
            return Tuple(tuple(cls.mro))
        return Bound(Lib(f"type.{name}"), cls) if f"type.{name}" in MODELS else UNKNOWN
    if name == "__dict__":
        return m.dict({k: x for k, x in instance.slots.items() if isinstance(k, str)})
    return None


def _bind(m: Interpreter, value: Value, cls: Class, instance: Obj | None, name: str) -> Value:
    kind = type(value)
    if kind is Func:
        if "classmethod" in value.decorated:
            return Bound(value, cls)
        if "staticmethod" in value.decorated:
            return value
        return value if instance is None else Bound(value, instance)
    if kind is Obj and instance is not None:
        if value.type == "property":
            getter = value.slots.get("fget", UNKNOWN)
            return m.call(getter, (instance,))
        if isinstance(value.type, Class):
            getter = class_attr(value.type, "__get__")
            if type(getter) is Func:
                return m.call(Bound(getter, value), (instance, cls))
    if kind is Bound and type(value.func) is Lib and value.func.name == "functools.partialmethod":
        return UNKNOWN
    return value


def _from_base(m: Interpreter, base: Any, name: str, instance: Obj | None) -> Value:
    """An attribute that a library base class gives; None where nothing says that it has it."""
    if type(base) is not Lib:
        return None
    type_ = type_name(base.name)
    attribute = find(ATTRIBUTES, type_, name)
    if attribute is not None and instance is not None:
        if "torch.Tensor" in protocol.lineage(type_):
            return UNKNOWN  # a class of the project that is a tensor: its data are not followed
        return attribute(m, instance, name)  # type: ignore[operator]
    if find(MODELS, type_, name) is not None:
        func = Lib(f"{type_}.{name}")
        return func if instance is None else Bound(func, instance)
    return None


# Methods of libraries that get the class itself.
_CLASS_METHODS = words("apply from_pretrained from_config load_from_checkpoint fromkeys from_dict from_json")


def _missing(m: Interpreter, v: Obj, cls: Class, name: str) -> Value:
    """An attribute that neither the instance nor its class has."""
    getter = class_attr(cls, "__getattr__")
    if type(getter) is Func and not name.startswith("__"):
        value = m.call(Bound(getter, v), (Const("str", name),))
        if value is not UNKNOWN:
            return value
    for base in cls.mro:
        if type(base) is Lib:
            for t in protocol.lineage(type_name(base.name)):
                fallback = ATTRIBUTE_DEFAULTS.get(f"{t}.")
                if fallback is not None:
                    found = fallback(m, v, name)
                    if found is not UNKNOWN:
                        return found
    if "enum" in cls.traits:
        if name == "value":
            return v.slots.get("_value_", UNKNOWN)
        if name == "name":
            return v.slots.get("_name_", STR)
    return assumed_attr(m, name)


def _of_library_type(m: Interpreter, v: Value, types: tuple[str, ...], name: str) -> Value:
    for t in types:
        attribute = ATTRIBUTES.get(f"{t}.{name}")
        if attribute is not None:
            return attribute(m, v, name)
    for t in types:
        if f"{t}.{name}" in MODELS:
            return Bound(Lib(f"{t}.{name}"), v)
    for t in types:
        fallback = ATTRIBUTE_DEFAULTS.get(f"{t}.")
        if fallback is not None:
            return fallback(m, v, name)
    if is_device_name(m, name):
        return m.accelerator()
    if types and types[0] != "object":
        return Bound(Lib(f"{types[0]}.{name}"), v)
    return UNKNOWN


def _of_tensor(m: Interpreter, v: Tensor, name: str) -> Value:
    if "open" in v.marks:
        found = unknown.attribute(m, v, name)
        if found is not None:
            return found
    attribute = ATTRIBUTES.get(f"torch.Tensor.{name}")
    if attribute is not None:
        return attribute(m, v, name)
    if name in _NOT_TENSOR:
        return UNKNOWN  # so that it was no tensor after all
    return Bound(Lib(f"torch.Tensor.{name}"), v)


_NOT_TENSOR = words(
    "items keys get pop update append extend insert startswith endswith lower upper strip setdefault state_dict "
    "load_state_dict parameters named_parameters children modules train eval forward shape_ config logits loss "
    "last_hidden_state pixel_values input_ids attention_mask boxes labels tensors image_sizes sample to_dict "
    "model_dump encode decode"
)


def _of_library(m: Interpreter, v: Lib, name: str) -> Value:
    full = canonical(f"{v.name}.{name}")
    if v.name == "torch" and name in _DTYPES:
        return Dtype(_DTYPE_ALIASES.get(name, name))
    project = m.find(full) if "." in full else None
    if project is not None and project.state == "done":
        return project
    attribute = ATTRIBUTES.get(full)
    if attribute is not None:
        return attribute(m, v, name)
    fallback = by_prefix(ATTRIBUTE_DEFAULTS, full)
    if fallback is not None and not protocol.is_class(v.name):
        found = fallback(m, v, name)  # type: ignore[operator]
        if found is not UNKNOWN:
            return found
    if name == "__version__":
        return STR
    if name in ("__name__", "__qualname__"):
        return Const("str", v.name.rpartition(".")[2])
    return Lib(full)


_DTYPE_ALIASES = {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32"}


def _of_module(m: Interpreter, v: Module, name: str) -> Value:
    value = v.slots.get(name)
    if value is not None:
        return value
    if name in v.pending:
        from syncwatch.static.infer.modules import fetch

        return fetch(m, v, name)
    sub = m.find(f"{v.name}.{name}")
    if sub is not None:
        from syncwatch.static.infer.modules import run_module

        run_module(m, sub)
        return sub
    getter = v.slots.get("__getattr__")
    if type(getter) is Func:
        return m.call(getter, (Const("str", name),))
    if name == "__name__":
        return Const("str", v.name)
    return UNKNOWN


def _of_super(m: Interpreter, v: Super, name: str) -> Value:
    owner, instance = v.owner, v.self
    cls = instance.type if type(instance) is Obj else instance
    if not isinstance(cls, Class) or not isinstance(owner, Class):
        return UNKNOWN
    seen = False
    for c in cls.mro:
        if c is owner:
            seen = True
            continue
        if not seen:
            continue
        if type(c) is Class:
            value = c.slots.get(name)
            if value is not None:
                return _bind(m, value, cls, instance if type(instance) is Obj else None, name)
        elif type(instance) is Obj:
            value = _from_base(m, c, name, instance)
            if value is not None:
                return value
            if name in ("__init__", "__init_subclass__", "__setattr__", "__getattr__", "__new__", "__post_init__"):
                return Bound(Lib(f"{type_name(c.name)}.{name}"), instance)
            return Bound(Lib(f"{type_name(c.name)}.{name}"), instance)
    return Bound(Lib(f"object.{name}"), instance)


def _of_plain(m: Interpreter, v: Value, name: str) -> Value:
    kind = type(v)
    if kind is Device:
        if name == "type":
            return Const("str", v.type) if v.type is not None else STR
        if name == "index":
            return INT if v.index is None else (Const("NoneType", None) if v.index == -1 else Const("int", v.index))
        return UNKNOWN
    if kind is Dtype:
        if name == "is_floating_point":
            return UNKNOWN if v.sort is None else Const("bool", v.sort == "float")
        return UNKNOWN
    if kind is Tuple and v.names:
        if name in v.names:
            i = v.names.index(name)
            return v.elem if v.items is None else v.items[i]
    if kind is Func:
        return _of_function(v, name)
    if kind is Bound:
        if name == "__self__":
            return v.self
        if name == "__func__":
            return v.func
        if type(v.func) is Func:
            return _of_function(v.func, name)
        return UNKNOWN
    if kind is Partial:
        return {"func": v.func, "args": Tuple(v.args)}.get(name, UNKNOWN)
    if kind is Iter and name in ("send", "__next__", "close"):
        return Bound(Lib(f"generator.{name}"), v)
    if name == "__class__":
        return class_of(m, v)
    types = library_types(v)
    if kind is Const or v.__class__.__name__ == "Host":
        found = _of_library_type(m, v, types, name)
        # a constant has no unknown attributes: this alternative would raise
        return found if f"{types[0]}.{name}" in MODELS or types[0] != "NoneType" else UNKNOWN
    return _of_library_type(m, v, types, name)


def _of_function(v: Func, name: str) -> Value:
    if name in ("__name__", "__qualname__"):
        return Const("str", v.name)
    if name == "__wrapped__":
        return v
    if name == "__module__":
        return Const("str", getattr(v.module, "name", ""))
    return UNKNOWN


def set_attr(m: Interpreter, v: Value, name: str, value: Value) -> None:
    """`v.name = value`."""
    kind = type(v)
    if kind is Obj:
        _set_on_object(m, v, name, value)
    elif kind is Union:
        for x in v.members:
            if type(x) is Obj:
                m.setattr(x, name, value, weak=True)
    elif kind is Class or kind is Module:
        m.journal.write(v.slots, name, value)
    elif kind is Lib and f"{v.name}.{name}" in MODELS:
        m.call(Lib(f"{v.name}.{name}="), (value,))


def _set_on_object(m: Interpreter, v: Obj, name: str, value: Value) -> None:
    cls = v.type
    if isinstance(cls, Class):
        current = class_attr(cls, name)
        if type(current) is Obj and current.type == "property":
            setter = current.slots.get("fset")
            if setter is not None:
                m.call(setter, (v, value))
            return
    old = v.slots.get(name)
    setter_name = f"{name}="
    if isinstance(cls, str) and find(MODELS, cls, setter_name) is not None:
        m.call(Bound(Lib(f"{cls}.{setter_name}"), v), (value,))
        return
    m.setattr(v, name, value, weak=v.many and old is not None and _mutable(old))


def _mutable(v: Value) -> bool:
    return False


__all__ = ["ITEMS", "get_attr", "is_device_name", "of_class", "set_attr"]

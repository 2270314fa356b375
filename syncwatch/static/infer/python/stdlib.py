"""The parts of the standard library that decide what a program does: functools, itertools, logging, argparse, …"""

from __future__ import annotations

from typing import Any

from syncwatch.static.infer.expressions import put
from syncwatch.static.infer.formatting import format_value, read_as
from syncwatch.static.infer.functions import marked
from syncwatch.static.infer.hazards import streams
from syncwatch.static.library.protocol import ALIASES, BASES, LibCall, attribute, default, model
from syncwatch.static.values import (
    BOOL,
    FALSE,
    FLOAT,
    INT,
    NONE,
    NUMBER,
    REST,
    STR,
    TRUE,
    UNKNOWN,
    Class,
    Const,
    Device,
    Func,
    Host,
    Iter,
    Lib,
    Obj,
    Partial,
    Tensor,
    Tuple,
    Value,
    const,
    element,
    join,
    join_all,
    members,
)

ALIASES.update(
    {
        "typing_extensions": "typing",
        "collections.abc": "typing",
        "_collections_abc": "typing",
        "pathlib.PosixPath": "pathlib.Path",
    }
)
BASES.update({"logging.Logger": (), "argparse.Namespace": (), "types.SimpleNamespace": (), "dataclasses.Field": ()})

# ---------------------------------------------------------------------- functools, operator, contextlib


@model("functools.partial")
def _partial(m: Any, c: LibCall) -> Value:
    if not c.args:
        return UNKNOWN
    return Partial(c.args[0], tuple(c.args[1:]), tuple(sorted(c.kwargs.items())))


@model("functools.wraps", "functools.update_wrapper")
def _wraps(m: Any, c: LibCall) -> Value:
    return Lib("functools.wraps") if c.name.endswith("wraps") else c.arg(0, None, UNKNOWN)


@model("functools.lru_cache", "functools.cache", "functools.total_ordering", "functools.singledispatch")
def _decorator(m: Any, c: LibCall) -> Value:
    if c.args and type(c.args[0]) is Func and c.name.endswith("cache"):
        return marked(c.args[0], "cached")
    if c.args and type(c.args[0]) in (Func, Class):
        return c.args[0]
    return Lib(c.name)


@model("functools.reduce")
def _reduce(m: Any, c: LibCall) -> Value:
    if len(c.args) < 2:
        return UNKNOWN
    seq = m.iterate(c.args[1])
    items = list(seq.items) if seq.items is not None else [seq.elem, seq.elem]
    if len(c.args) > 2:
        items = [c.args[2], *items]
    if not items:
        return UNKNOWN
    total = items[0]
    for x in items[1:8]:
        total = m.call(c.args[0], (total, x))
    return total


@model("operator.itemgetter", "operator.attrgetter")
def _getter(m: Any, c: LibCall) -> Value:
    return Partial(Lib(f"{c.name}.get"), tuple(c.args))


@model("operator.itemgetter.get", "operator.attrgetter.get")
def _got(m: Any, c: LibCall) -> Value:
    from syncwatch.static.infer.subscripts import get_item

    *keys, subject = c.args
    if "item" in c.name:
        found = [get_item(m, subject, k, None) for k in keys]
    else:
        found = []
        for k in keys:
            value = subject
            for name in str(k.value).split(".") if type(k) is Const else ():
                value = m.getattr(value, name)
            found.append(value)
    return found[0] if len(found) == 1 else Tuple(tuple(found))


@model("contextlib.nullcontext")
def _nullcontext(m: Any, c: LibCall) -> Value:
    return Iter((c.arg(0, "enter_result", NONE),))


@model("contextlib.ExitStack.enter_context")
def _enter_context(m: Any, c: LibCall) -> Value:
    from syncwatch.static.infer.statements import enter

    return enter(m, c.args[0]) if c.args else UNKNOWN


@model("contextlib.suppress")
def _suppress(m: Any, c: LibCall) -> Value:
    return UNKNOWN


# ---------------------------------------------------------------------- itertools, random


@model("itertools.chain", "itertools.chain.from_iterable")
def _chain(m: Any, c: LibCall) -> Value:
    sources = list(c.args)
    if c.name.endswith("from_iterable") and c.args:
        inner = m.iterate(c.args[0])
        sources = list(inner.items) if inner.items is not None else [inner.elem]
        known = inner.items is not None
    else:
        known = not c.has_star
    seqs = [m.iterate(s) for s in sources]
    if known and all(s.items is not None for s in seqs):
        return Iter(tuple(x for s in seqs for x in s.items or ()))
    parts = [e for e in (element(s) for s in seqs) if e is not None]
    return Iter(None, join_all(parts))


@model("itertools.islice", "itertools.cycle", "itertools.takewhile", "itertools.dropwhile", "itertools.tee")
def _pass_through(m: Any, c: LibCall) -> Value:
    position = 1 if c.name.endswith("while") else 0
    seq = m.iterate(c.args[position]) if len(c.args) > position else Iter(None)
    found = element(seq)
    inner = Iter(None, UNKNOWN if found is None else found)
    return Tuple((inner, inner)) if c.name.endswith("tee") else inner


@model("itertools.count", "itertools.repeat", "itertools.accumulate")
def _endless(m: Any, c: LibCall) -> Value:
    if c.name.endswith("repeat") and c.args:
        return Iter(None, c.args[0])
    if c.name.endswith("accumulate") and c.args:
        seq = m.iterate(c.args[0])
        return Iter(None, join_all(seq.items) if seq.items is not None else seq.elem)
    return Iter(None, INT)


@model("itertools.product", "itertools.combinations", "itertools.permutations", "itertools.pairwise")
def _product(m: Any, c: LibCall) -> Value:
    if c.name.endswith("product"):
        seqs = [element(m.iterate(a)) for a in c.args]
        return Iter(None, Tuple(tuple(UNKNOWN if s is None else s for s in seqs)))
    found = element(m.iterate(c.args[0])) if c.args else UNKNOWN
    return Iter(None, Tuple(None, UNKNOWN if found is None else found))


@model("random.choice", "random.sample", "random.shuffle", "random.choices")
def _choice(m: Any, c: LibCall) -> Value:
    found = element(m.iterate(c.args[0])) if c.args else None
    value = UNKNOWN if found is None else found
    if c.name.endswith("shuffle"):
        return NONE
    return value if c.name.endswith("choice") else m.list(None, value)


_CLOCKS = frozenset({"time.time", "time.perf_counter", "time.monotonic", "time.process_time"})


@default("random.", "time.")
def _number(m: Any, c: LibCall) -> Value:
    if c.name in ("time.sleep", "random.seed"):
        return NONE
    if c.name in _CLOCKS:
        return streams.clock(m)
    if c.name in ("time.strftime", "time.ctime"):
        return STR
    return INT if c.name in ("random.randint", "random.randrange", "time.time_ns") else FLOAT


# ---------------------------------------------------------------------- dataclasses, enum, typing, copy


@model("dataclasses.dataclass")
def _dataclass(m: Any, c: LibCall) -> Value:
    if c.args and type(c.args[0]) is Class:
        c.args[0].traits.add("dataclass")
        return c.args[0]
    return Lib("dataclasses.dataclass")


@model("dataclasses.field")
def _field(m: Any, c: LibCall) -> Value:
    return m.new("dataclasses.Field", **c.kwargs)


@model("dataclasses.fields")
def _fields(m: Any, c: LibCall) -> Value:
    from syncwatch.static.infer.instances import fields_of

    v = c.arg(0)
    cls = v.type if type(v) is Obj else v
    if type(cls) is not Class:
        return Tuple(None, Obj("dataclasses.Field", assumed=True))
    made = []
    for name in fields_of(cls):
        field = Obj("dataclasses.Field")
        field.slots["name"] = const(name)
        made.append(field)
    return Tuple(tuple(made))


@model("dataclasses.asdict", "dataclasses.astuple", "typing.NamedTuple._asdict")
def _asdict(m: Any, c: LibCall) -> Value:
    v = c.self if c.self is not None else c.arg(0)
    if type(v) is Obj:
        return m.dict({k: x for k, x in v.slots.items() if isinstance(k, str)})
    return UNKNOWN


@model("dataclasses.replace", "typing.NamedTuple._replace")
def _replace(m: Any, c: LibCall) -> Value:
    v = c.self if c.self is not None else c.arg(0)
    if type(v) is not Obj:
        return UNKNOWN
    new = m.new(v.type)
    for key, value in v.slots.items():
        m.setattr(new, key, c.kwargs.get(key, value) if isinstance(key, str) else value)
    return new


@model("enum.auto")
def _auto(m: Any, c: LibCall) -> Value:
    return INT


@model("typing.cast")
def _cast(m: Any, c: LibCall) -> Value:
    return c.arg(1, "val", UNKNOWN)


@model("typing.TypeVar", "typing.NewType", "typing.ParamSpec")
def _typing(m: Any, c: LibCall) -> Value:
    return Lib("typing.Any")


@attribute("typing.TYPE_CHECKING")
def _type_checking(m: Any, v: Value, name: str) -> Value:
    return FALSE


# ---------------------------------------------------------------------- logging, print-like sinks


@model("logging.getLogger")
def _get_logger(m: Any, c: LibCall) -> Value:
    return Obj("logging.Logger")


_LEVELS = {"debug": 10, "info": 20, "warning": 30, "warn": 30, "error": 40, "critical": 50, "exception": 40, "log": 20}
_NAMES = {"DEBUG": 10, "INFO": 20, "WARNING": 30, "WARN": 30, "ERROR": 40, "CRITICAL": 50, "FATAL": 50, "NOTSET": 0}


@attribute(*(f"logging.{name}" for name in _NAMES))
def _level_constant(m: Any, v: Value, name: str) -> Value:
    return const(_NAMES[name])


@model(*(f"logging.{name}" for name in _LEVELS), *(f"logging.Logger.{name}" for name in _LEVELS))
def _log(m: Any, c: LibCall) -> Value:
    """`logger.info("%s", value)`: the text is made only where the level is on."""
    name = c.name.rpartition(".")[2]
    args = c.args[1:] if name == "log" else c.args
    if _level(m) <= _LEVELS[name]:
        template = args[0].value if args and type(args[0]) is Const and isinstance(args[0].value, str) else None
        if args and template is None:
            format_value(m, args[0], "logging", whole=True)
        for i, a in enumerate(args[1:]):
            read_as(m, a, _code(template, i), "logging")
    return NONE


def _code(template: str | None, i: int) -> str:
    from syncwatch.static.infer.formatting import _PERCENT

    codes = [x[2] for x in _PERCENT.finditer(template) if x[2] != "%"] if template else []
    return codes[i] if i < len(codes) else "s"


def _level(m: Any) -> int:
    """The level from which on records are shown: WARNING until the program configures another one."""
    found = m.world.get("logging")
    return found.value if type(found) is Const and isinstance(found.value, int) else 30


@model("logging.basicConfig", "logging.Logger.setLevel", "logging.Handler.setLevel")
def _configure(m: Any, c: LibCall) -> Value:
    level = c.arg(0 if c.name.endswith("setLevel") else None, "level")
    if type(level) is Const:
        value = _NAMES.get(level.value, 30) if isinstance(level.value, str) else level.value
        if isinstance(value, int):
            m.journal.write(m.world, "logging", const(value))
    return NONE


@model("logging.Logger.isEnabledFor")
def _enabled(m: Any, c: LibCall) -> Value:
    level = c.arg(0, "level")
    if type(level) is Const and isinstance(level.value, int):
        return TRUE if _level(m) <= level.value and m.world.get("logging") is not None else BOOL
    return BOOL


@model("warnings.warn")
def _warn(m: Any, c: LibCall) -> Value:
    for a in c.args[:1]:
        format_value(m, a, "str", whole=True)
    return NONE


# ---------------------------------------------------------------------- argparse, os, sys


@model("argparse.ArgumentParser.add_argument", "argparse._ArgumentGroup.add_argument")
def _add_argument(m: Any, c: LibCall) -> Value:
    if type(c.self) is not Obj:
        return NONE
    names = [a.value for a in c.args if type(a) is Const and isinstance(a.value, str)]
    dest = c.kwargs.get("dest")
    if type(dest) is Const:
        name = str(dest.value)
    else:
        long = [n for n in names if n.startswith("--")] or names
        if not long:
            return NONE
        name = long[0].lstrip("-").replace("-", "_")
    action = c.kwargs.get("action")
    default_value = c.kwargs.get("default")
    value: Value = UNKNOWN
    if (type(action) is Const and action.value in ("store_true", "store_false")) or type(action) is Lib:
        value = BOOL
    elif "device" in name and "count" not in name:
        value = m.accelerator()
    elif default_value is not None and type(default_value) is Const and default_value.kind in ("int", "float", "bool"):
        value = Host(default_value.kind, "rank" if "rank" in name else "")
    elif default_value is not None and default_value != NONE:
        value = join(default_value, UNKNOWN)
    elif type(c.kwargs.get("type")) is Lib:
        value = {"builtins.int": INT, "builtins.float": FLOAT, "builtins.str": STR}.get(c.kwargs["type"].name, UNKNOWN)
    owner = c.self.slots.get("<parser>", c.self)
    m.setattr(owner if type(owner) is Obj else c.self, ("option", name), value)
    return NONE


@model("argparse.ArgumentParser.add_argument_group", "argparse.ArgumentParser.add_mutually_exclusive_group")
def _group(m: Any, c: LibCall) -> Value:
    group = m.new("argparse.ArgumentParser")
    m.setattr(group, "<parser>", c.self)
    return group


@model("argparse.ArgumentParser.set_defaults")
def _set_defaults(m: Any, c: LibCall) -> Value:
    for key, value in c.kwargs.items():
        m.setattr(c.self, ("option", key), value)
    return NONE


@model("argparse.ArgumentParser.parse_args", "argparse.ArgumentParser.parse_known_args")
def _parse_args(m: Any, c: LibCall) -> Value:
    space = m.new("argparse.Namespace")
    space.assumed = True
    if type(c.self) is Obj:
        for key, value in list(c.self.slots.items()):
            if type(key) is tuple and key[0] == "option":
                m.setattr(space, key[1], value)
    return Tuple((space, m.list(None, STR))) if c.name.endswith("known_args") else space


@attribute("argparse.Namespace.*", "types.SimpleNamespace.*", "omegaconf.DictConfig.*")
def _namespace(m: Any, v: Value, name: str) -> Value:
    from syncwatch.static.infer.attributes import assumed_attr

    return assumed_attr(m, name)


@attribute("os.environ")
def _environ(m: Any, v: Value, name: str) -> Value:
    obj = Obj("dict", assumed=True, label="os.environ")
    obj.slots[REST] = STR
    return obj


@model("os.getenv", "os.environ.get")
def _getenv(m: Any, c: LibCall) -> Value:
    key = c.arg(0)
    if type(key) is Const and key.value in ("RANK", "LOCAL_RANK", "SLURM_PROCID", "SLURM_LOCALID"):
        return Host("str", "rank")
    return STR


@model("os.cpu_count", "os.getpid", "multiprocessing.cpu_count")
def _count(m: Any, c: LibCall) -> Value:
    return INT


@model("os.path.exists", "os.path.isfile", "os.path.isdir")
def _exists(m: Any, c: LibCall) -> Value:
    return BOOL


@default("os.path.")
def _os_path(m: Any, c: LibCall) -> Value:
    return STR


@model("sys.exit", "os._exit")
def _exit(m: Any, c: LibCall) -> Value:
    return NONE


@default("json.", "yaml.")
def _json(m: Any, c: LibCall) -> Value:
    if c.name.endswith(("dumps", "dump")):
        for a in c.args[:1]:
            for v in members(a):
                if type(v) is Tensor:
                    return STR
        return STR if c.name.endswith("dumps") else NONE
    return UNKNOWN


__all__ = ["NUMBER", "Device", "put"]

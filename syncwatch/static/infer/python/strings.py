"""Text: methods of str, bytes, paths and files."""

from __future__ import annotations

from typing import Any

from syncwatch.static.infer.formatting import format_value
from syncwatch.static.infer.text import words
from syncwatch.static.library.protocol import LibCall, default, model
from syncwatch.static.values import BOOL, INT, NONE, STR, UNKNOWN, Const, Host, Iter, Lib, Tuple, Value, const

_PURE = words(
    "lower upper strip lstrip rstrip replace title capitalize startswith endswith isdigit isalpha removeprefix "
    "removesuffix casefold islower isupper zfill swapcase find count"
)
_BOOL = words("startswith endswith isdigit isalpha isalnum islower isupper isspace isnumeric isidentifier")
_INT = words("find rfind index rindex count")


@model("str.format", "str.format_map")
def _format(m: Any, c: LibCall) -> Value:
    for a in (*c.args, *c.kwargs.values()):
        format_value(m, a, "format")
    return STR


@model("str.join")
def _join(m: Any, c: LibCall) -> Value:
    if not c.args:
        return STR
    seq = m.iterate(c.args[0])
    if type(c.self) is Const and seq.items is not None and all(type(x) is Const and x.kind == "str" for x in seq.items):
        text = c.self.value.join(x.value for x in seq.items)
        return const(text) if len(text) < 300 else STR
    return STR


@model("str.split", "str.rsplit", "str.splitlines")
def _split(m: Any, c: LibCall) -> Value:
    if type(c.self) is Const and all(type(a) is Const for a in c.args) and not c.kwargs:
        try:
            parts = getattr(c.self.value, c.name.rpartition(".")[2])(*(a.value for a in c.args))
            return m.list([const(p) for p in parts[:32]])
        except (TypeError, ValueError):
            pass
    return m.list(None, STR)


@model("str.partition", "str.rpartition")
def _partition(m: Any, c: LibCall) -> Value:
    if type(c.self) is Const and c.args and type(c.args[0]) is Const and c.args[0].value:
        parts = getattr(c.self.value, c.name.rpartition(".")[2])(c.args[0].value)
        return Tuple(tuple(const(p) for p in parts))
    return Tuple((STR, STR, STR))


@model("str.encode", "bytes.decode")
def _code(m: Any, c: LibCall) -> Value:
    return Host("bytes") if c.name == "str.encode" else STR


@default("str.")
def _method(m: Any, c: LibCall) -> Value:
    name = c.name.rpartition(".")[2]
    if name in _PURE and type(c.self) is Const and isinstance(c.self.value, str) and not c.kwargs:
        args = [_plain(a) for a in c.args]
        if all(a is not UNKNOWN for a in args):
            try:
                return const(getattr(c.self.value, name)(*args))
            except (TypeError, ValueError):
                pass
    if name in _BOOL:
        return BOOL
    return INT if name in _INT else STR


def _plain(v: Value) -> Any:
    if type(v) is Const:
        return v.value
    if type(v) is Tuple and v.items is not None and all(type(x) is Const for x in v.items):
        return tuple(x.value for x in v.items)
    return UNKNOWN


@default("int.", "float.", "number.", "bool.")
def _numbers(m: Any, c: LibCall) -> Value:
    name = c.name.rpartition(".")[2]
    return BOOL if name == "is_integer" else c.self


@default("pathlib.")
def _path(m: Any, c: LibCall) -> Value:
    if c.name in ("pathlib.Path", "pathlib.PurePath"):
        return Host("pathlib.Path")
    name = c.name.rpartition(".")[2]
    if name in ("exists", "is_file", "is_dir", "is_absolute"):
        return BOOL
    if name in ("glob", "rglob", "iterdir"):
        return Iter(None, Host("pathlib.Path"))
    if name in ("read_text", "as_posix"):
        return STR
    return Host("pathlib.Path") if name in ("resolve", "with_suffix", "joinpath", "absolute", "expanduser") else UNKNOWN


@model("pathlib.Path.__truediv__", "pathlib.Path.__rtruediv__")
def _joined(m: Any, c: LibCall) -> Value:
    return Host("pathlib.Path")


@default("io.")
def _file(m: Any, c: LibCall) -> Value:
    name = c.name.rpartition(".")[2]
    if name in ("write", "writelines"):
        return INT
    if name in ("read", "readline"):
        return STR
    return Host("io.IOBase") if name in ("__enter__", "BytesIO", "StringIO") else NONE


__all__ = ["Lib"]

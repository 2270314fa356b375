"""Corners of the standard library that take or return values of interest: heaps, statistics, printing, groups."""

from __future__ import annotations

from syncwatch.static.library.protocol import LibCall, Machine, default, model
from syncwatch.static.values import (
    FLOAT,
    INT,
    NONE,
    STR,
    UNKNOWN,
    Iter,
    Tuple,
    Value,
    element,
    join_all,
)


def _elements(m: Machine, value: Value) -> Value:
    found = element(m.iterate(value))
    return UNKNOWN if found is None else found


@model("syncwatch.identity", "enum.unique", "inspect.unwrap", "weakref.proxy")
def _identity(m: Machine, call: LibCall) -> Value:
    return call.args[-1] if call.args else UNKNOWN


@model("heapq.nlargest", "heapq.nsmallest", "heapq.merge")
def _heap(m: Machine, call: LibCall) -> Value:
    """Compares elements, or what `key=` makes of them: tensors are read."""
    inputs = call.args if call.name.endswith("merge") else call.args[1:2]
    found = join_all(_elements(m, i) for i in inputs)
    key = call.kwargs.get("key")
    compared = found if key is None or key == NONE else m.call(key, (found,))
    if type(compared) is Tuple and compared.items:
        compared = compared.items[0]
    m.ask("torch.Tensor.__bool__", [compared], via="sorted")
    return m.list(None, found)


@model(
    "heapq.heappush",
    "heapq.heappushpop",
    "heapq.heapreplace",
    "bisect.insort",
    "bisect.bisect",
    "bisect.bisect_left",
    "bisect.bisect_right",
)
def _heappush(m: Machine, call: LibCall) -> Value:
    target, value = call.arg(0, None, UNKNOWN), call.arg(1, None, UNKNOWN)
    compared = value.items[0] if type(value) is Tuple and value.items else value
    m.ask("torch.Tensor.__bool__", [compared], via="sorted")
    name = call.name.rpartition(".")[2]
    if name in ("heappush", "insort"):
        m.method(target, "append", (value,))
        return NONE
    return INT if name.startswith("bisect") else _elements(m, target)


@model("heapq.heappop")
def _heappop(m: Machine, call: LibCall) -> Value:
    return _elements(m, call.arg(0, None, UNKNOWN))


@model("heapq.heapify")
def _heapify(m: Machine, call: LibCall) -> Value:
    found = _elements(m, call.arg(0, None, UNKNOWN))
    m.ask("torch.Tensor.__bool__", [found.items[0] if type(found) is Tuple and found.items else found], via="sorted")
    return NONE


@model("statistics.mean", "statistics.fmean", "statistics.median", "statistics.stdev", "statistics.pstdev", "math.fsum")
def _statistics(m: Machine, call: LibCall) -> Value:
    m.ask("torch.Tensor.__float__", [_elements(m, call.arg(0, None, UNKNOWN))], via="math")
    return FLOAT


@model("pprint.pprint", "pprint.pformat", "rich.print", "rich.pretty.pprint", "builtins.ascii")
def _pretty(m: Machine, call: LibCall) -> Value:
    for value in call.args:
        m.format(value, "print")
    return STR if call.name.endswith(("pformat", "ascii")) else NONE


@model("itertools.starmap")
def _starmap(m: Machine, call: LibCall) -> Value:
    inner = m.iterate(call.arg(1, None, UNKNOWN))
    found = element(inner)
    if found is None:
        return Iter(())
    parts = m.iterate(found)
    return Iter(None, m.call(call.arg(0, None, UNKNOWN), parts.items if parts.items is not None else ()))


@model("itertools.groupby")
def _groupby(m: Machine, call: LibCall) -> Value:
    part = _elements(m, call.arg(0, None, UNKNOWN))
    key = call.arg(1, "key")
    named = part if key is None or key == NONE else m.call(key, (part,))
    m.ask("torch.Tensor.__bool__", [named], via="in")
    return Iter(None, Tuple((named, Iter(None, part))))


@model("itertools.batched", "more_itertools.chunked", "itertools.combinations_with_replacement")
def _batched(m: Machine, call: LibCall) -> Value:
    return Iter(None, Tuple(None, _elements(m, call.arg(0, None, UNKNOWN))))


@model("itertools.compress", "itertools.filterfalse")
def _compress(m: Machine, call: LibCall) -> Value:
    data, selectors = call.args[:2] if len(call.args) >= 2 else (UNKNOWN, UNKNOWN)
    if call.name.endswith("filterfalse"):
        data, selectors = selectors, data
        part = _elements(m, data)
        verdict = part if selectors == NONE else m.call(selectors, (part,))
    else:
        part, verdict = _elements(m, data), _elements(m, selectors)
    m.ask("torch.Tensor.__bool__", [verdict], via="filter")
    return Iter(None, part)


@model("collections.Counter.most_common")
def _most_common(m: Machine, call: LibCall) -> Value:
    return m.list(None, Tuple((UNKNOWN, INT)))


@model("gc.collect", "os.getppid", "sys.getsizeof", "sys.getrefcount")
def _count(m: Machine, call: LibCall) -> Value:
    return INT


@model("time.sleep", "threading.Event.wait", "threading.Condition.wait", "threading.Condition.wait_for")
def _let_others_run(m: Machine, call: LibCall) -> Value:
    m.others_run()
    return NONE if call.name == "time.sleep" else UNKNOWN


@default(
    "datetime.",
    "uuid.",
    "platform.",
    "socket.",
    "getpass.",
    "textwrap.",
    "string.",
    "hashlib.",
    "shutil.",
    "tempfile.",
    "inspect.",
    "traceback.",
    "sys.",
    "gc.",
    "signal.",
    "subprocess.",
    "warnings.",
    "importlib.",
    "glob.",
    "fnmatch.",
    "re.",
    "weakref.",
    "struct.",
    "base64.",
    "zipfile.",
    "tarfile.",
    "urllib.",
    "requests.",
    "secrets.",
    "toml.",
    "csv.",
    "shlex.",
)
def _host_only(m: Machine, call: LibCall) -> Value:
    """Modules whose results hold no tensors."""
    return UNKNOWN

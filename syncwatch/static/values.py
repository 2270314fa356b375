"""Abstract values: what the static engine knows of a Python value at one place.

Immutable values are frozen structs and compare by content; everything that a program can mutate is an `Obj`, which
compares by identity and keeps its contents in `slots`. Only the interpreter writes slots (it keeps a journal, so that
branches can be undone and joined); models ask it to.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

import msgspec


class Struct(msgspec.Struct, frozen=True, gc=False):
    """Base of the immutable values."""


class Unknown(Struct, frozen=True):
    """Anything at all. Stays silent."""


class Const(Struct, frozen=True):
    """A host constant. `kind` is its type's name, so that 1, 1.0 and True stay apart."""

    kind: str  # "int", "float", "complex", "str", "bytes", "bool", "NoneType", "ellipsis"
    value: Any = None


class Host(Struct, frozen=True):
    """A host value of known type and unknown content: `kind` is "int", "float", "number", "bool", "str", "bytes",
    "slice", "exception", or the dotted name of an immutable type ("pathlib.Path").

    `names` tells what the value stands for where that is known: "rank", "step", "verbose" (a flag that code tests
    before it logs) or "".
    """

    kind: str
    names: str = ""


class Tensor(Struct, frozen=True):
    """A torch.Tensor.

    device: "cuda" (any accelerator), "cpu", "meta", or None where it is not known (silent). sure: the device follows
    from the code alone, with no assumption about arguments or machines. shape: sizes, each None where unknown; None
    as a whole where even the number of dimensions is unknown. dtype: "bool", "uint8", "int", "float", "complex".
    index: the device's number where one was given. pinned, dense: as in facts.describe.Arg. marks: facts about its
    past that later operations ask about; see MARKS. pending: the wait count at which an asynchronous copy into it
    began, 0 for none. stream: the side stream it was made on.
    """

    device: str | None = None
    sure: bool = True
    shape: tuple[int | None, ...] | None = None
    dtype: str | None = None
    pinned: bool | None = None
    dense: bool | None = None
    requires_grad: bool | None = None
    parameter: bool = False
    marks: frozenset[str] = frozenset()
    pending: int = 0
    stream: Any = None
    index: int | None = None

    @property
    def dim(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def nbytes(self) -> int | None:
        """Size of the data, where shape and dtype are known (an int is taken as 8 bytes, a float as 4)."""
        if self.shape is None or any(n is None for n in self.shape) or self.dtype is None:
            return None
        count = 1
        for n in self.shape:
            count *= n or 0
        return count * _WIDTH[self.dtype]

    @property
    def itemsize(self) -> int | None:
        """Size of one element, as `nbytes` takes it."""
        return None if self.dtype is None else _WIDTH[self.dtype]


_WIDTH: Final = {"bool": 1, "uint8": 1, "int": 8, "float": 4, "complex": 8}

# What `Tensor.marks` may hold.
MARKS: Final = {
    "mask-gather": "its autograd history holds a boolean gather, whose backward runs nonzero again",
    "host-index": "its autograd history holds a gather by an index on the host, whose backward uploads the index again",
    "product": "its autograd history holds a product, whose backward looks for zeros among the factors",
    "left-out": "it comes from replicas that look for unused parameters, of which a layer had no part in it",
    "sparse": "it has a sparse layout",
    "permuted": "its dimensions lie in memory in another order than their own",
    "host-made": "it was created on the host inside the function that runs, from no data of the caller",
    "pinned-source": "it came from a pinned tensor through an operation that loses the pinning",
    "coarse": "its type is known from the annotation of a whole dictionary only, whose entries may differ",
    "open": "it may as well be a structure (a batch, a model's output) whose entries are tensors as it is",
    "module-input": "assumed: an argument of forward, on the module's device",
}

# Those of its autograd history, which a backward pass meets again.
HISTORY: Final = frozenset({"mask-gather", "host-index", "product", "left-out"})


class Array(Struct, frozen=True):
    """A numpy array (or scalar), pandas object or the like: data on the host with methods that look like a tensor's."""

    type: str = "numpy.ndarray"
    shape: tuple[int | None, ...] | None = None
    dtype: str | None = None
    marks: frozenset[str] = frozenset()


class Device(Struct, frozen=True):
    """A torch.device. type: as Tensor.device. index: the number, -1 where the text gives none, None unknown."""

    type: str | None = None
    index: int | None = -1
    sure: bool = True


class Dtype(Struct, frozen=True):
    """A torch.dtype; `name` without "torch.", "" where unknown."""

    name: str = ""

    @property
    def sort(self) -> str | None:
        """The class of `Tensor.dtype`."""
        name = self.name
        if name == "uint8" or name == "bool":
            return name
        if name.startswith(("int", "uint", "long", "short", "qint", "char", "byte")):
            return "int"
        if name.startswith(("float", "bfloat", "half", "double")):
            return "float"
        return "complex" if name.startswith(("complex", "cfloat", "cdouble")) else None


class Tuple(Struct, frozen=True):
    """A tuple. items: its elements where the length is known, else None; then `elem` is the join of all elements.

    `type` is a dotted name for named tuples of libraries ("torch.return_types.max"); `names` are its fields.
    """

    items: tuple[Value, ...] | None
    elem: Value = Unknown()
    type: str = "tuple"
    names: tuple[str, ...] = ()


class Items(Struct, frozen=True):
    """The contents of a list, set or deque (the slot "items" of its Obj)."""

    items: tuple[Value, ...] | None
    elem: Value = Unknown()


class Range(Struct, frozen=True):
    """A `range`; the length where known."""

    length: int | None = None


class Iter(Struct, frozen=True):
    """An iterator or generator that yields `items` in order, or any number of `elem`. `type` as shown by type()."""

    items: tuple[Value, ...] | None
    elem: Value = Unknown()
    type: str = "generator"
    result: Value = Unknown()


class Func(msgspec.Struct, frozen=True, eq=False, gc=True):
    """A function of the project, or a lambda. Compared by identity; `env` holds the variables it closes over."""

    node: Any  # ir.Function or ir.Lambda
    module: Any  # the interpreter's record of the module it stands in
    name: str
    qualname: str
    env: Any = None
    owner: Any = None  # the class whose body holds it, for super()
    defaults: Any = None  # name → Value
    decorated: tuple[str, ...] = ()  # dotted names of decorators that keep the function as it is


class Bound(Struct, frozen=True):
    """A method bound to its receiver. `func` is a Func, or a Lib for library methods."""

    func: Value
    self: Value


class Partial(Struct, frozen=True):
    """functools.partial; keyword arguments as sorted pairs."""

    func: Value
    args: tuple[Value, ...]
    kwargs: tuple[tuple[str, Value], ...] = ()


class Lib(Struct, frozen=True):
    """A name of a library or builtin: module, class, function or constant, by its public dotted name ("torch.zeros",
    "torch.nn.Linear", "builtins.len", "os.environ")."""

    name: str


class Super(Struct, frozen=True):
    """`super()` in a method of `owner`."""

    owner: Value
    self: Value


class Obj:
    """Something with identity and state.

    type: a Class of the project, or the dotted name of a library type ("list", "dict", "set", "torch.optim.Adam",
    "argparse.Namespace"). slots: attributes by name; containers keep their contents under the reserved keys
    ITEMS (an Items, of lists, sets and deques) and, in dicts, under ("key", constant) and REST (the join of all
    entries whose key is unknown). `assumed`: the object was not seen being made; unknown attributes of it follow
    from its class and their names. label: "os.environ", or "step" of an object that is made at every step. born: when
    it was made, on the interpreter's clock; 0 before the program began.
    """

    __slots__ = ("assumed", "born", "label", "many", "slots", "type")

    def __init__(self, type: Any, *, label: str = "", assumed: bool = False) -> None:
        self.type = type
        self.slots: dict[Any, Any] = {}
        self.label = label
        self.assumed = assumed
        self.many = False  # it stands for several objects made at one place
        self.born = 0

    def __repr__(self) -> str:
        return f"Obj({getattr(self.type, 'name', self.type)!r})"


class Class:
    """A class of the project. slots: its attributes. bases: Class, or Lib for library classes, in order."""

    __slots__ = ("bases", "keywords", "module", "mro", "name", "node", "qualname", "slots", "traits")

    def __init__(self, name: str, qualname: str, module: Any, node: Any, bases: tuple[Value, ...]) -> None:
        self.name = name
        self.qualname = qualname
        self.module = module
        self.node = node
        self.bases = bases
        self.mro: tuple[Any, ...] = ()  # Class and Lib, linearised
        self.slots: dict[Any, Any] = {}
        self.traits: set[str] = set()  # "dataclass", "namedtuple", "enum", "typeddict"
        self.keywords: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"Class({self.qualname!r})"


class Module:
    """A module of the project. slots: its globals. state: "new", "running", "done".

    pending: names that the module imports from others and that nobody has asked for yet → where they come from (a
    dotted name, relative to the module, and a member of it). quiet: it was executed whole, and nothing in it could make
    the host wait. reached: ids of the function nodes that its own execution came through. late: ids of the import
    statements that are put off. device: the default device that its import sets. wrapped: what decorators made of its
    functions, by id → (what they made, the function).
    """

    __slots__ = (
        "device",
        "ir",
        "is_package",
        "late",
        "name",
        "path",
        "pending",
        "quiet",
        "reached",
        "slots",
        "state",
        "wrapped",
    )

    def __init__(self, name: str, path: str, ir: Any, is_package: bool = False) -> None:
        self.name = name
        self.path = path
        self.ir = ir
        self.is_package = is_package
        self.slots: dict[Any, Any] = {}
        self.state = "new"
        self.pending: dict[str, tuple[str, str]] = {}
        self.late: frozenset[int] = frozenset()
        self.device: Any = None
        self.wrapped: dict[int, tuple[Any, Func]] = {}
        self.quiet = False
        self.reached: frozenset[int] = frozenset()


class Union(Struct, frozen=True):
    """One of several values; never nested, at least two members, at most UNION_LIMIT."""

    members: tuple[Value, ...]


Value: TypeAlias = Any  # one of the classes above; a Python union would only slow the checks down

UNKNOWN: Final = Unknown()
NONE: Final = Const("NoneType", None)
TRUE: Final = Const("bool", True)
FALSE: Final = Const("bool", False)
ELLIPSIS: Final = Const("ellipsis")
BOOL: Final = Host("bool")
INT: Final = Host("int")
FLOAT: Final = Host("float")
NUMBER: Final = Host("number")
STR: Final = Host("str")
ITEMS: Final = "<items>"
REST: Final = "<rest>"
UNION_LIMIT: Final = 8
_NUMERIC: Final = frozenset({"int", "float", "number", "bool"})


def const(value: object) -> Const:
    """The abstract value of a Python constant."""
    return Const(type(value).__name__, value)


def join(a: Value, b: Value) -> Value:
    """The least value that covers both."""
    if a is b:
        return a
    if a is None or b is None:  # not bound on one path
        return b if a is None else a
    if a == b:
        return a
    left = a.members if isinstance(a, Union) else (a,)
    right = b.members if isinstance(b, Union) else (b,)
    members = list(left)
    for new in right:
        for i, old in enumerate(members):
            if old is new or old == new:
                break
            merged = _merge(old, new)
            if merged is not None:
                members[i] = merged
                break
        else:
            members.append(new)
    if len(members) == len(left) and all(x is y for x, y in zip(members, left, strict=True)):
        return a
    return _bounded(members)


def union(members: Iterable[Value]) -> Value:
    """A value for members that do not merge. Unknown stays a member: the others may still be what happens."""
    flat: list[Value] = []
    for m in members:
        if m not in flat:
            flat.append(m)
    return _bounded(flat)


def _bounded(flat: list[Value]) -> Value:
    """The union of distinct members, widened where there are too many."""
    if len(flat) == 1:
        return flat[0]
    if len(flat) > UNION_LIMIT:
        # constants say least about devices; what cannot be kept becomes Unknown
        flat = [*[m for m in flat if isinstance(m, (Tensor, Obj, Array))][: UNION_LIMIT - 1], UNKNOWN]
        if len(flat) == 1:
            return UNKNOWN
    return Union(tuple(flat))


def join_all(values: Iterable[Value], empty: Value = UNKNOWN) -> Value:
    """The join of any number of values, `empty` for none."""
    result: Value = None
    for v in values:
        result = v if result is None else join(result, v)
    return empty if result is None else result


def members(v: Value) -> tuple[Value, ...]:
    """The alternatives of a value: a union's members, else the value alone."""
    return v.members if isinstance(v, Union) else (v,)


def _merge(a: Value, b: Value) -> Value | None:
    """One value for two of the same sort, or None where both are worth keeping apart."""
    kind = type(a)
    if kind is Const or kind is Host:
        if type(b) is not Const and type(b) is not Host:
            return None
        if a.kind == b.kind:
            if kind is Const and type(b) is Const and a.kind == "str":
                return None  # names of devices, modes and keys decide branches
            return Host(a.kind, _names(a) if _names(a) == _names(b) else "")
        if a.kind in _NUMERIC and b.kind in _NUMERIC and "bool" not in (a.kind, b.kind):
            return NUMBER
        return None
    if kind is not type(b):
        return None
    if kind is Tensor:
        return _merge_tensors(a, b)
    if kind is Tuple and a.type == b.type:
        items, elem = _merge_items(a, b)
        return Tuple(items, elem, a.type, a.names)
    if kind is Items:
        return Items(*_merge_items(a, b))
    if kind is Iter:
        items, elem = _merge_items(a, b)
        return Iter(items, elem, a.type if a.type == b.type else "generator", join(a.result, b.result))
    if kind is Range:
        return Range(None)
    if kind is Array and a.type == b.type:
        dtype = a.dtype if a.dtype == b.dtype else None
        return Array(a.type, merge_shapes(a.shape, b.shape), dtype, a.marks | b.marks)
    if kind is Device:
        if a.type == b.type:
            return Device(a.type, a.index if a.index == b.index else None, a.sure and b.sure)
        # code that can run on an accelerator is looked at as if it did
        return Device("cuda" if "cuda" in (a.type, b.type) else None, None, False)
    if kind is Dtype:
        return Dtype("")
    return None


def _names(v: Value) -> str:
    return v.names if isinstance(v, Host) else ""


def _merge_items(a: Any, b: Any) -> tuple[tuple[Value, ...] | None, Value]:
    if a.items is not None and b.items is not None and len(a.items) == len(b.items):
        items = tuple(join(x, y) for x, y in zip(a.items, b.items, strict=True))
        return items, UNKNOWN
    left, right = element(a), element(b)
    if left is None or right is None:
        return None, right if left is None else left
    return None, join(left, right)


def element(v: Any) -> Value | None:
    """The join of the elements of a Tuple, Items or Iter; None where it is known to be empty."""
    if v.items is None:
        return v.elem
    return join_all(v.items, None)


def _merge_tensors(a: Tensor, b: Tensor) -> Tensor | None:
    if a.device != b.device or a.stream is not b.stream:
        return None
    return Tensor(
        device=a.device,
        sure=a.sure and b.sure,
        shape=merge_shapes(a.shape, b.shape),
        dtype=a.dtype if a.dtype == b.dtype else None,
        pinned=a.pinned if a.pinned == b.pinned else None,
        dense=a.dense if a.dense == b.dense else None,
        requires_grad=a.requires_grad if a.requires_grad == b.requires_grad else None,
        parameter=a.parameter and b.parameter,
        marks=a.marks | b.marks,
        pending=max(a.pending, b.pending),
        stream=a.stream,
        index=a.index if a.index == b.index else None,
    )


def merge_shapes(a: tuple[int | None, ...] | None, b: tuple[int | None, ...] | None) -> tuple[int | None, ...] | None:
    """What two shapes have in common."""
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True))

"""The small intermediate form that the static engine reads instead of syntax trees.

It keeps what inference needs and drops the rest (white space, most comments). Every node is a `msgspec.Struct`, so
that a file's form is written to the cache and read back in a millisecond. Nodes carry their position as one tuple
`(line, column, end_line, end_column)`: lines from 1, columns from 0, end exclusive, as in `ast`; columns count
characters.

The form is that of the language: what `x += f(y)` *means* is the interpreter's business.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

Pos: TypeAlias = tuple[int, int, int, int]


class Node(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=True):
    """Base of all nodes; the class name is the tag on disk."""


# ---------------------------------------------------------------- expressions


class Const(Node, frozen=True):
    """A literal: number, string, bytes (as None), True, False, None or Ellipsis (as kind "...")."""

    pos: Pos
    kind: str  # "int", "float", "complex", "str", "bytes", "bool", "none", "..."
    value: int | float | str | bool | None = None


class Name(Node, frozen=True):
    pos: Pos
    id: str


class Attr(Node, frozen=True):
    pos: Pos
    value: Expr
    attr: str


class Arg(Node, frozen=True):
    """One argument of a call. `name` is the keyword, "" for positional; `star` is "", "*" or "**"."""

    value: Expr
    name: str = ""
    star: str = ""


class Call(Node, frozen=True):
    pos: Pos
    func: Expr
    args: tuple[Arg, ...]


class Sub(Node, frozen=True):
    """A subscript. Several indices are one Seq of kind "tuple"."""

    pos: Pos
    value: Expr
    index: Expr


class Slice(Node, frozen=True):
    pos: Pos
    lower: Expr | None
    upper: Expr | None
    step: Expr | None


class Unary(Node, frozen=True):
    pos: Pos
    op: str  # "-", "+", "~", "not"
    value: Expr


class Binary(Node, frozen=True):
    pos: Pos
    op: str  # "+", "-", "*", "/", "//", "%", "**", "@", "<<", ">>", "&", "|", "^"
    left: Expr
    right: Expr


class Bool(Node, frozen=True):
    pos: Pos
    op: str  # "and", "or"
    values: tuple[Expr, ...]


class Compare(Node, frozen=True):
    pos: Pos
    left: Expr
    ops: tuple[str, ...]  # "==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in"
    rights: tuple[Expr, ...]


class IfExp(Node, frozen=True):
    pos: Pos
    test: Expr
    body: Expr
    orelse: Expr


class Seq(Node, frozen=True):
    pos: Pos
    kind: str  # "tuple", "list", "set"
    items: tuple[Expr, ...]


class Star(Node, frozen=True):
    """`*value` inside a sequence or an assignment target."""

    pos: Pos
    value: Expr


class DictLit(Node, frozen=True):
    """A dict display; a key of None is `**value`."""

    pos: Pos
    keys: tuple[Expr | None, ...]
    values: tuple[Expr, ...]


class For(Node, frozen=True):
    """One `for … in … if …` of a comprehension."""

    target: Expr
    iter: Expr
    ifs: tuple[Expr, ...]
    is_async: bool = False


class Comp(Node, frozen=True):
    pos: Pos
    kind: str  # "list", "set", "dict", "generator"
    key: Expr | None  # dict comprehensions only
    value: Expr
    fors: tuple[For, ...]


class Lambda(Node, frozen=True):
    pos: Pos
    params: tuple[Param, ...]
    body: Expr


class FPart(Node, frozen=True):
    """A replacement field of an f-string. `spec` is the format specification, as an FString, or None."""

    value: Expr
    conversion: str = ""  # "", "r", "s", "a"
    spec: Expr | None = None
    pos: Pos = (0, 0, 0, 0)


class FString(Node, frozen=True):
    """An f-string (or implicit concatenation that holds one): literal texts and fields in order."""

    pos: Pos
    parts: tuple[str | FPart, ...]


class Await(Node, frozen=True):
    pos: Pos
    value: Expr


class Yield(Node, frozen=True):
    pos: Pos
    value: Expr | None
    is_from: bool = False


class Walrus(Node, frozen=True):
    pos: Pos
    target: Name
    value: Expr


Expr: TypeAlias = (
    Const
    | Name
    | Attr
    | Call
    | Sub
    | Slice
    | Unary
    | Binary
    | Bool
    | Compare
    | IfExp
    | Seq
    | Star
    | DictLit
    | Comp
    | Lambda
    | FString
    | Await
    | Yield
    | Walrus
)


# ---------------------------------------------------------------- statements


class ExprStmt(Node, frozen=True):
    pos: Pos
    value: Expr


class Assign(Node, frozen=True):
    """`a = b = value`: targets from left to right."""

    pos: Pos
    targets: tuple[Expr, ...]
    value: Expr


class AugAssign(Node, frozen=True):
    pos: Pos
    target: Expr
    op: str  # as in Binary
    value: Expr


class AnnAssign(Node, frozen=True):
    pos: Pos
    target: Expr
    annotation: Expr
    value: Expr | None


class Return(Node, frozen=True):
    pos: Pos
    value: Expr | None


class Raise(Node, frozen=True):
    pos: Pos
    value: Expr | None
    cause: Expr | None


class Assert(Node, frozen=True):
    pos: Pos
    test: Expr
    message: Expr | None


class Delete(Node, frozen=True):
    pos: Pos
    targets: tuple[Expr, ...]


class Jump(Node, frozen=True):
    """`pass`, `break` or `continue`."""

    pos: Pos
    kind: str


class Scope(Node, frozen=True):
    """`global` or `nonlocal`."""

    pos: Pos
    kind: str
    names: tuple[str, ...]


class Import(Node, frozen=True):
    """`import a.b as c`: (dotted name, alias or "")."""

    pos: Pos
    names: tuple[tuple[str, str], ...]


class ImportFrom(Node, frozen=True):
    """`from ..a.b import c as d`; a star import has the one name ("*", "")."""

    pos: Pos
    module: str
    level: int
    names: tuple[tuple[str, str], ...]


class If(Node, frozen=True):
    """`elif` is an If alone in `orelse`."""

    pos: Pos
    test: Expr
    body: Block
    orelse: Block


class ForStmt(Node, frozen=True):
    pos: Pos
    target: Expr
    iter: Expr
    body: Block
    orelse: Block
    is_async: bool = False


class While(Node, frozen=True):
    pos: Pos
    test: Expr
    body: Block
    orelse: Block


class WithItem(Node, frozen=True):
    value: Expr
    target: Expr | None


class With(Node, frozen=True):
    pos: Pos
    items: tuple[WithItem, ...]
    body: Block
    is_async: bool = False


class Handler(Node, frozen=True):
    pos: Pos
    exception: Expr | None
    name: str
    body: Block


class Try(Node, frozen=True):
    pos: Pos
    body: Block
    handlers: tuple[Handler, ...]
    orelse: Block
    final: Block


class Pattern(Node, frozen=True):
    """A `match` pattern, reduced to what inference uses.

    kind: "value" (value is the expression compared with `==`), "singleton" (value is a Const), "capture" (name, ""
    for `_`; children holds an inner pattern of `p as name`), "sequence", "mapping" (keys in `keys`), "class" (value is
    the class; keyword names in `names`, after the positional ones as ""), "or", "star".
    """

    pos: Pos
    kind: str
    name: str = ""
    value: Expr | None = None
    children: tuple[Pattern, ...] = ()
    names: tuple[str, ...] = ()
    keys: tuple[Expr, ...] = ()


class Case(Node, frozen=True):
    pattern: Pattern
    guard: Expr | None
    body: Block


class Match(Node, frozen=True):
    pos: Pos
    subject: Expr
    cases: tuple[Case, ...]


class Param(Node, frozen=True):
    """kind: "positional" (before `/`), "normal", "*", "keyword" (after `*`), "**"."""

    name: str
    kind: str = "normal"
    annotation: Expr | None = None
    default: Expr | None = None


class Function(Node, frozen=True):
    """A `def`. `pos` spans the whole statement, decorators left out; `is_generator` says that its body yields.

    documented: (name, type) of parameters that have no annotation and whose type the docstring tells.
    """

    pos: Pos
    name: str
    params: tuple[Param, ...]
    returns: Expr | None
    decorators: tuple[Expr, ...]
    body: Block
    is_async: bool = False
    is_generator: bool = False
    documented: tuple[tuple[str, str], ...] = ()


class Class(Node, frozen=True):
    pos: Pos
    name: str
    bases: tuple[Arg, ...]  # keywords (metaclass=…) included
    decorators: tuple[Expr, ...]
    body: Block


Stmt: TypeAlias = (
    ExprStmt
    | Assign
    | AugAssign
    | AnnAssign
    | Return
    | Raise
    | Assert
    | Delete
    | Jump
    | Scope
    | Import
    | ImportFrom
    | If
    | ForStmt
    | While
    | With
    | Try
    | Match
    | Function
    | Class
)

Block: TypeAlias = tuple[Stmt, ...]


# ---------------------------------------------------------------- a whole file


class Comment(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A comment that says something to a linter (`# syncwatch: …`, `# noqa`).

    `own_line` is true where nothing but the comment stands on its line; `target` is then the first line of the next
    statement, else the comment's own line.
    """

    line: int
    column: int
    text: str
    own_line: bool
    target: int


class Module(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One source file in the intermediate form.

    `statements` holds the first and last line of every simple statement and of every compound statement's header, so
    that a suppression on any line of a statement counts for the whole of it.
    """

    path: str
    body: Block
    comments: tuple[Comment, ...] = ()
    statements: tuple[tuple[int, int], ...] = ()
    lines: int = 0

"""By what syntax a line came to its wait: the word that rules select by (`Event.via`).

An operation that Python implies looks alike at run time whoever asks: `if t`, `not t` and `max(a, b)` all call
`Tensor.__bool__`, and an upload does not tell where its tensor came from. The source line tells. Python 3.11 and newer
know which expression a frame is evaluating; before that all expressions of the line are considered.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType
from typing import Final

from syncwatch.model import Kind

CALL: Final = "call"
_TRUTH: Final = frozenset({"bool", "any", "all", "max", "min", "sorted", "filter"})
_TEXT: Final = frozenset({"print", "str", "repr", "format"})
_LEVELS: Final = frozenset({"debug", "info", "warning", "error", "critical", "exception"})
_BAR: Final = frozenset({"set_postfix", "set_postfix_str", "set_description", "set_description_str"})
# what the methods say where the line does not
_IMPLIED: Final = {
    "__bool__": "bool",
    "__format__": "f-string",
    "__repr__": "repr",
    "__str__": "str",
    "__index__": "index",
    "__int__": "int",
    "__float__": "float",
    "__complex__": "complex",
    "__contains__": "in",
    "__array__": "numpy",
    "__iter__": "iteration",
}
_TESTS: Final[dict[type[ast.AST], str]] = {
    ast.If: "if",
    ast.While: "while",
    ast.Assert: "assert",
    ast.IfExp: "ternary",
    ast.match_case: "match",
    ast.comprehension: "comprehension",
}
_FACTORIES: Final = frozenset(
    {
        *("zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like", "eye"),
        *("rand", "randn", "randint", "randperm", "rand_like", "randn_like", "normal"),
        *("arange", "range", "linspace", "logspace", "tensor", "as_tensor", "asarray", "scalar_tensor"),
    }
)
_RANK: Final = re.compile(r"(^|_)(rank|is_main_process|is_local_main_process|is_master|is_rank_zero|get_rank)$")


class Lines:
    """The syntax of one file: its nodes by line, and the node that each belongs to."""

    def __init__(self, tree: ast.AST) -> None:
        self.parents: dict[ast.AST, ast.AST] = {}
        self.by_line: dict[int, list[ast.expr]] = {}
        self.statements: dict[tuple[int, int], ast.stmt] = {}  # by the line and column where they begin
        for node in ast.walk(tree):
            for child in ast.iter_child_nodes(node):
                if not isinstance(child, (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)):
                    self.parents[child] = node
            if isinstance(node, ast.stmt):
                self.statements[node.lineno, node.col_offset] = node
            if isinstance(node, ast.expr):
                for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                    self.by_line.setdefault(line, []).append(node)

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes that hold `node`, innermost first."""
        held: ast.AST | None = self.parents.get(node)
        while held is not None:
            yield held
            held = self.parents.get(held)


@lru_cache(maxsize=64)
def _parse(text: str) -> Lines | None:
    try:
        return Lines(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return None


def via_of(code: CodeType, lasti: int, line: int, op: str, kind: Kind, *, ranks: bool = False) -> str:
    """The word of `Event.via` for an operation under way at instruction `lasti` of `code`, which lies on `line`.

    ranks: the program runs as one of several ranks, so that a read of one rank alone is told apart.
    """
    method = op.rpartition(".")[2]
    lines = _parse("".join(linecache.getlines(code.co_filename)))
    if lines is None:
        return _IMPLIED.get(method, CALL)
    nodes = _evaluated(lines, code, lasti, line)
    reads = kind in (Kind.SCALAR_READ, Kind.TENSOR_READ)
    if ranks and reads and any(_one_rank(lines, node) for node in nodes[:1]):
        return "rank-0"
    for node in nodes:
        word = _upload(lines, node, method) if kind is Kind.UPLOAD else _word(lines, node, method) if reads else None
        if word is not None:
            return word
    return _IMPLIED.get(method, CALL) if reads else CALL


def _evaluated(lines: Lines, code: CodeType, lasti: int, line: int) -> list[ast.expr] | list[ast.stmt]:
    """The expression that is evaluated; where Python does not know it, all of the line, outermost first."""
    held = lines.by_line.get(line, [])
    positions = getattr(code, "co_positions", None)
    spans = list(positions()) if positions is not None else []
    if 0 <= lasti // 2 < len(spans) and None not in spans[lasti // 2]:
        first, last, start, end = spans[lasti // 2]
        wanted = ((first, start), (last, end))
        inside = [node for node in lines.by_line.get(first, []) if _holds(node, *wanted)]
        if inside:
            return inside[-1:]  # `ast.walk` comes from the outside in
        statement = lines.statements.get((first, start))  # which tests: `if t:` jumps on behalf of the statement
        return [] if statement is None else [statement]
    return held


def _holds(node: ast.expr, start: tuple[int, int], end: tuple[int, int]) -> bool:
    return (node.lineno, node.col_offset) <= start and end <= (node.end_lineno or 0, node.end_col_offset or 0)


def _word(lines: Lines, node: ast.AST, method: str) -> str | None:
    """What asks for a value at this expression."""
    if isinstance(node, ast.Call):
        word = _called(node)
        if word is not None and (word not in _TRUTH or method == "__bool__"):
            return word
    if isinstance(node, (ast.JoinedStr, ast.FormattedValue)):
        return "f-string"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and method in _IMPLIED:
        return "%"
    return _test(lines, node) if method == "__bool__" else None


def _called(node: ast.Call) -> str | None:
    function = node.func
    if isinstance(function, ast.Name):
        return function.id if function.id in _TRUTH | _TEXT else None
    if not isinstance(function, ast.Attribute):
        return None
    if function.attr == "format" and not _is_name(function.value, "torch"):
        return "format"
    if function.attr in _BAR:
        return "progress-bar"
    if function.attr in _LEVELS or (function.attr == "log" and _is_name(function.value, "logging", "logger", "log")):
        return "logging"
    logs = function.attr == "log" and _is_name(function.value, "wandb", "trackio", "swanlab", "run")
    return "experiment-logger" if logs or function.attr in ("add_scalar", "add_scalars", "log_metric") else None


def _is_name(node: ast.expr, *names: str) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _test(lines: Lines, node: ast.AST) -> str | None:
    """Which statement or operator wants to know whether something is true."""
    if type(node) in _TESTS:
        return _TESTS[type(node)]
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return "comprehension"
    if isinstance(node, ast.Compare):
        if any(isinstance(operator, (ast.In, ast.NotIn)) for operator in node.ops):
            return "in"
        if len(node.ops) > 1:
            return "chained"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return "not"
    if isinstance(node, ast.BoolOp):
        return "and" if isinstance(node.op, ast.And) else "or"
    inner: ast.AST = node
    for holder in lines.around(node):
        if isinstance(holder, ast.BoolOp):
            return "and" if isinstance(holder.op, ast.And) else "or"
        if isinstance(holder, ast.UnaryOp) and isinstance(holder.op, ast.Not):
            return "not"
        if type(holder) in _TESTS:
            tests = getattr(holder, "ifs", None) or [getattr(holder, "test", None), getattr(holder, "guard", None)]
            return _TESTS[type(holder)] if any(inner is test for test in tests) else None
        if isinstance(holder, ast.stmt):
            return None
        inner = holder
    return None


def _upload(lines: Lines, node: ast.AST, method: str) -> str | None:
    """Whether the tensor that is copied to the device came from there, or was made for it on the host."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or method not in ("to", "cuda"):
        return None
    receiver = node.func.value
    if _from_device(lines, receiver, node.lineno, 3):
        return "round-trip"
    made = receiver
    while isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute):
        if _is_name(made.func.value, "torch"):
            return "host-created" if made.func.attr in _FACTORIES else None
        made = made.func.value
    return None


def _from_device(lines: Lines, value: ast.expr, line: int, depth: int) -> bool:
    """Whether the value was read from a device, in this expression or where a name in it was last assigned."""
    for part in ast.walk(value):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            to_host = part.func.attr == "to" and bool(part.args) and _is_constant(part.args[0], "cpu")
            if to_host or part.func.attr == "cpu":
                return True
        if depth and isinstance(part, ast.Name):
            source = _assigned(lines, part, line)
            if source is not None and _from_device(lines, source, source.lineno, depth - 1):
                return True
    return False


def _is_constant(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value == value


def _assigned(lines: Lines, name: ast.Name, line: int) -> ast.expr | None:
    """What the name got from the last plain assignment above `line` in the same function."""
    scope = _function(lines, name)
    best: ast.Assign | None = None
    for node, parent in lines.parents.items():
        if isinstance(node, ast.Name) and node.id == name.id and isinstance(parent, ast.Assign) and node.lineno < line:
            later = best is None or node.lineno > best.lineno
            if node in parent.targets and later and _function(lines, node) is scope:
                best = parent
    return best.value if best is not None else None


def _function(lines: Lines, node: ast.AST) -> ast.AST | None:
    holders = lines.around(node)
    return next((held for held in holders if isinstance(held, (ast.FunctionDef, ast.AsyncFunctionDef))), None)


def _one_rank(lines: Lines, node: ast.AST) -> bool:
    """Whether the expression is guarded by a test of the rank."""
    inner: ast.AST = node
    for holder in lines.around(node):
        if isinstance(holder, ast.If) and inner in holder.body:
            for part in ast.walk(holder.test):
                word = part.id if isinstance(part, ast.Name) else part.attr if isinstance(part, ast.Attribute) else ""
                if _RANK.search(word):
                    return True
        if isinstance(holder, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        inner = holder
    return False

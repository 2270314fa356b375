"""Statements: from `ast` to the intermediate form, in one walk."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from syncwatch.static import ir
from syncwatch.static.lower.docstrings import documented_types
from syncwatch.static.lower.expressions import _BINARY as BINARY
from syncwatch.static.lower.expressions import ExpressionLowering
from syncwatch.static.lower.patterns import lower_pattern
from syncwatch.static.lower.spans import Spans


class StatementLowering(ExpressionLowering):
    """Turns the statements of one source text into the intermediate form, and notes the lines that each spans."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.spans = Spans(self.lines)
        self._statement_table: dict[type, Callable[[Any], ir.Stmt | None]] = {
            ast.Expr: self._expression_statement,
            ast.Assign: self._assign,
            ast.AugAssign: self._augmented,
            ast.AnnAssign: self._annotated,
            ast.Return: self._return,
            ast.Raise: self._raise,
            ast.Assert: self._assert,
            ast.Delete: self._delete,
            ast.Pass: self._pass,
            ast.Break: self._break,
            ast.Continue: self._continue,
            ast.Global: self._global,
            ast.Nonlocal: self._nonlocal,
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
            ast.If: self._if,
            ast.For: self._for,
            ast.AsyncFor: self._for,
            ast.While: self._while,
            ast.With: self._with,
            ast.AsyncWith: self._with,
            ast.Try: self._try,
            ast.Match: self._match,
            ast.FunctionDef: self._function,
            ast.AsyncFunctionDef: self._function,
            ast.ClassDef: self._class,
        }
        for name, method in (("TryStar", self._try), ("TypeAlias", self._type_alias)):  # 3.11, 3.12
            if hasattr(ast, name):
                self._statement_table[getattr(ast, name)] = method

    def block(self, nodes: list[ast.stmt]) -> ir.Block:
        """The intermediate form of a body. Docstrings and other bare strings are dropped."""
        table = self._statement_table
        result = [table[node.__class__](node) for node in nodes]
        return tuple([each for each in result if each is not None])

    def _simple(self, node: ast.stmt) -> ir.Pos:
        return self.spans.simple(self.pos(node))

    def _header(self, node: Any, last: Any, body: list[Any], first: int = 0) -> ir.Pos:
        place = None if last is None else self.pos(last)
        return self.spans.header(self.pos(node), place, body[0].lineno, first)

    def _expression_statement(self, node: ast.Expr) -> ir.Stmt | None:
        pos = self._simple(node)
        value = node.value
        if value.__class__ is ast.Constant and isinstance(value.value, str):
            return None
        return ir.ExprStmt(pos, self.expr(value))

    def _assign(self, node: ast.Assign) -> ir.Assign:
        return ir.Assign(self._simple(node), self.exprs(node.targets), self.expr(node.value))

    def _augmented(self, node: ast.AugAssign) -> ir.AugAssign:
        return ir.AugAssign(
            self._simple(node), self.expr(node.target), BINARY[node.op.__class__], self.expr(node.value)
        )

    def _annotated(self, node: ast.AnnAssign) -> ir.AnnAssign:
        return ir.AnnAssign(
            self._simple(node), self.expr(node.target), self.expr(node.annotation), self.optional(node.value)
        )

    def _type_alias(self, node: Any) -> ir.Assign:
        return ir.Assign(self._simple(node), (self.expr(node.name),), self.expr(node.value))

    def _return(self, node: ast.Return) -> ir.Return:
        return ir.Return(self._simple(node), self.optional(node.value))

    def _raise(self, node: ast.Raise) -> ir.Raise:
        return ir.Raise(self._simple(node), self.optional(node.exc), self.optional(node.cause))

    def _assert(self, node: ast.Assert) -> ir.Assert:
        return ir.Assert(self._simple(node), self.expr(node.test), self.optional(node.msg))

    def _delete(self, node: ast.Delete) -> ir.Delete:
        return ir.Delete(self._simple(node), self.exprs(node.targets))

    def _pass(self, node: ast.Pass) -> ir.Jump:
        return ir.Jump(self._simple(node), "pass")

    def _break(self, node: ast.Break) -> ir.Jump:
        return ir.Jump(self._simple(node), "break")

    def _continue(self, node: ast.Continue) -> ir.Jump:
        return ir.Jump(self._simple(node), "continue")

    def _global(self, node: ast.Global) -> ir.Scope:
        return ir.Scope(self._simple(node), "global", tuple(node.names))

    def _nonlocal(self, node: ast.Nonlocal) -> ir.Scope:
        return ir.Scope(self._simple(node), "nonlocal", tuple(node.names))

    def _import(self, node: ast.Import) -> ir.Import:
        return ir.Import(self._simple(node), tuple([(each.name, each.asname or "") for each in node.names]))

    def _import_from(self, node: ast.ImportFrom) -> ir.ImportFrom:
        names = tuple([(each.name, each.asname or "") for each in node.names])
        return ir.ImportFrom(self._simple(node), node.module or "", node.level, names)

    def _if(self, node: ast.If) -> ir.If:
        # An `elif` is an If alone in `orelse`; a chain of thousands (generated code) is walked, not recursed into.
        chain = [node]
        while len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            node = node.orelse[0]
            chain.append(node)
        parts = [
            (self._header(each, each.test, each.body), self.expr(each.test), self.block(each.body)) for each in chain
        ]
        orelse = self.block(node.orelse)
        for pos, test, body in reversed(parts):
            result = ir.If(pos, test, body, orelse)
            orelse = (result,)
        return result

    def _for(self, node: ast.For | ast.AsyncFor) -> ir.ForStmt:
        pos = self._header(node, node.iter, node.body)
        is_async = isinstance(node, ast.AsyncFor)
        target, iterable = self.expr(node.target), self.expr(node.iter)
        return ir.ForStmt(pos, target, iterable, self.block(node.body), self.block(node.orelse), is_async)

    def _while(self, node: ast.While) -> ir.While:
        pos = self._header(node, node.test, node.body)
        return ir.While(pos, self.expr(node.test), self.block(node.body), self.block(node.orelse))

    def _with(self, node: ast.With | ast.AsyncWith) -> ir.With:
        last = node.items[-1].optional_vars or node.items[-1].context_expr
        pos = self._header(node, last, node.body)
        items = tuple([ir.WithItem(self.expr(i.context_expr), self.optional(i.optional_vars)) for i in node.items])
        return ir.With(pos, items, self.block(node.body), isinstance(node, ast.AsyncWith))

    def _try(self, node: Any) -> ir.Try:
        pos = self._header(node, None, node.body)
        body = self.block(node.body)
        handlers = []
        for each in node.handlers:
            place = self._header(each, each.type, each.body)
            handlers.append(ir.Handler(place, self.optional(each.type), each.name or "", self.block(each.body)))
        return ir.Try(pos, body, tuple(handlers), self.block(node.orelse), self.block(node.finalbody))

    def _match(self, node: ast.Match) -> ir.Match:
        pos = self.pos(node)
        self.spans.found.append((pos[0], self.pos(node.subject)[2]))
        subject = self.expr(node.subject)
        cases = []
        for each in node.cases:
            self._header(each.pattern, each.guard or each.pattern, each.body)
            cases.append(ir.Case(lower_pattern(self, each.pattern), self.optional(each.guard), self.block(each.body)))
        return ir.Match(pos, subject, tuple(cases))

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ir.Function:
        decorators = self.exprs(node.decorator_list)
        first = node.decorator_list[0].lineno if node.decorator_list else 0
        pos = self._header(node, node.returns or _last_of(node), node.body, first)
        params = self.params(node.args)
        returns = self.optional(node.returns)
        outer, self.yields = self.yields, False
        body = self.block(node.body)
        yields, self.yields = self.yields, outer
        is_async = isinstance(node, ast.AsyncFunctionDef)
        documented = documented_types(ast.get_docstring(node, clean=False), params)
        return ir.Function(pos, node.name, params, returns, decorators, body, is_async, yields, documented)

    def _class(self, node: ast.ClassDef) -> ir.Class:
        decorators = self.exprs(node.decorator_list)
        first = node.decorator_list[0].lineno if node.decorator_list else 0
        written = [*getattr(node, "type_params", ()), *node.bases, *[each.value for each in node.keywords]]
        last = max(written, key=_end, default=None)
        pos = self._header(node, last, node.body, first)
        bases = self.arguments(node.bases, node.keywords)
        return ir.Class(pos, node.name, bases, decorators, self.block(node.body))


def _last_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
    """The last parameter, default or type parameter of a signature, None where it has none."""
    arguments = node.args
    written: list[Any] = [*getattr(node, "type_params", ()), *arguments.posonlyargs, *arguments.args]
    written += [
        *arguments.kwonlyargs,
        *arguments.defaults,
        *[each for each in arguments.kw_defaults if each is not None],
    ]
    written += [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    return max(written, key=_end, default=None)


def _end(node: Any) -> tuple[int, int]:
    return (node.end_lineno, node.end_col_offset)

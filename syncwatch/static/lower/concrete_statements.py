"""Statements: from libcst's tree to the intermediate form, by one direct walk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from syncwatch.static import ir
from syncwatch.static.lower.concrete import ConcreteExpressions, binary_operator
from syncwatch.static.lower.concrete_patterns import lower_pattern
from syncwatch.static.lower.docstrings import documented_types


def parse_concrete(source: str) -> tuple[ir.Block, list[tuple[int, int]]]:
    """Parses with libcst: the file's body in the intermediate form, and the lines of its statements.

    Raises libcst's ParserSyntaxError.
    """
    wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
    walk = ConcreteStatements(source, wrapper.resolve(PositionProvider))
    return walk.block(wrapper.module.body), walk.spans.found


class ConcreteStatements(ConcreteExpressions):
    """Turns the statements of one libcst tree into the intermediate form."""

    def block(self, nodes: Sequence[Any]) -> ir.Block:
        """The intermediate form of the statements of a body. Docstrings and other bare strings are dropped."""
        result = []
        for node in nodes:
            if isinstance(node, cst.SimpleStatementLine):
                small: Sequence[Any] = node.body
            elif isinstance(node, cst.BaseSmallStatement):
                small = (node,)
            else:
                result.append(_COMPOUND[type(node)](self, node))
                continue
            for each in small:
                self.spans.simple(self.pos(each))
                statement = _SMALL[type(each)](self, each)
                if statement is not None:
                    result.append(statement)
        return tuple(result)

    def _suite(self, node: Any) -> ir.Block:
        return () if node is None else self.block(node.body.body)

    def _expression_statement(self, node: cst.Expr) -> ir.Stmt | None:
        value = self.expr(node.value)
        if isinstance(value, ir.Const) and value.kind == "str":
            return None
        return ir.ExprStmt(self.whole(node.value), value)

    def _assign(self, node: cst.Assign) -> ir.Assign:
        targets = tuple([self.expr(each.target) for each in node.targets])
        return ir.Assign(self._around(node.targets[0].target, node.value), targets, self.expr(node.value))

    def _augmented(self, node: cst.AugAssign) -> ir.AugAssign:
        place = self._around(node.target, node.value)
        return ir.AugAssign(place, self.expr(node.target), binary_operator(node.operator), self.expr(node.value))

    def _annotated(self, node: cst.AnnAssign) -> ir.AnnAssign:
        annotation = node.annotation.annotation
        place = self._around(node.target, node.value or annotation)
        return ir.AnnAssign(place, self.expr(node.target), self.expr(annotation), self.optional(node.value))

    def _type_alias(self, node: cst.TypeAlias) -> ir.Assign:
        return ir.Assign(self._before(node, node.value), (self.expr(node.name),), self.expr(node.value))

    def _return(self, node: cst.Return) -> ir.Return:
        place = self.pos(node) if node.value is None else self._before(node, node.value)
        return ir.Return(place, self.optional(node.value))

    def _raise(self, node: cst.Raise) -> ir.Raise:
        last = node.cause.item if node.cause else node.exc
        place = self.pos(node) if last is None else self._before(node, last)
        return ir.Raise(place, self.optional(node.exc), self.optional(node.cause.item if node.cause else None))

    def _assert(self, node: cst.Assert) -> ir.Assert:
        return ir.Assert(self._before(node, node.msg or node.test), self.expr(node.test), self.optional(node.msg))

    def _delete(self, node: cst.Del) -> ir.Delete:
        target = node.target
        if isinstance(target, cst.Tuple) and not target.lpar:
            return ir.Delete(self._before(node, target), self._elements(target.elements))
        return ir.Delete(self._before(node, target), (self.expr(target),))

    def _jump(self, node: cst.CSTNode) -> ir.Jump:
        return ir.Jump(self.pos(node), type(node).__name__.lower())

    def _scope(self, node: cst.Global | cst.Nonlocal) -> ir.Scope:
        return ir.Scope(self.pos(node), type(node).__name__.lower(), tuple([each.name.value for each in node.names]))

    def _import(self, node: Any) -> ir.Import:
        return ir.Import(self.pos(node), self._aliases(node.names))

    def _import_from(self, node: Any) -> ir.ImportFrom:
        names = (("*", ""),) if isinstance(node.names, cst.ImportStar) else self._aliases(node.names)
        module = "" if node.module is None else _dotted(node.module)
        return ir.ImportFrom(self.pos(node), module, len(node.relative), names)

    def _aliases(self, nodes: Sequence[cst.ImportAlias]) -> tuple[tuple[str, str], ...]:
        return tuple([(_dotted(each.name), _alias(each.asname)) for each in nodes])

    def _head(self, node: Any, last: Any, first: int = 0) -> ir.Pos:
        """Notes the lines of a header, whose last expression is `last`."""
        body = node.body.body
        body_line = self._first_line(body[0]) if body else self.pos(node)[0]
        return self.spans.header(self.pos(node), None if last is None else self.pos(last), body_line, first)

    def _first_line(self, node: cst.CSTNode) -> int:
        return self.pos(node)[0]

    def _if(self, node: cst.If) -> ir.If:
        chain = [node]
        while isinstance(node.orelse, cst.If):
            node = node.orelse
            chain.append(node)
        parts = [(self._head(each, each.test), self.expr(each.test), self._suite(each)) for each in chain]
        orelse = self._suite(node.orelse)
        for pos, test, body in reversed(parts):
            result = ir.If(pos, test, body, orelse)
            orelse = (result,)
        return result

    def _for(self, node: cst.For) -> ir.ForStmt:
        pos = self._head(node, node.iter)
        target, iterable = self.expr(node.target), self.expr(node.iter)
        return ir.ForStmt(
            pos, target, iterable, self._suite(node), self._suite(node.orelse), node.asynchronous is not None
        )

    def _while(self, node: cst.While) -> ir.While:
        pos = self._head(node, node.test)
        return ir.While(pos, self.expr(node.test), self._suite(node), self._suite(node.orelse))

    def _with(self, node: cst.With) -> ir.With:
        last = node.items[-1]
        pos = self._head(node, last.asname.name if last.asname else last.item)
        items = tuple(
            [
                ir.WithItem(self.expr(each.item), self.optional(each.asname.name if each.asname else None))
                for each in node.items
            ]
        )
        return ir.With(pos, items, self._suite(node), node.asynchronous is not None)

    def _try(self, node: cst.Try | cst.TryStar) -> ir.Try:
        pos = self._head(node, None)
        body = self._suite(node)
        handlers = []
        for each in node.handlers:
            place = self._head(each, each.type)
            exception = self.optional(each.type)
            handlers.append(ir.Handler(place, exception, _alias(each.name), self._suite(each)))
        return ir.Try(pos, body, tuple(handlers), self._suite(node.orelse), self._suite(node.finalbody))

    def _match(self, node: cst.Match) -> ir.Match:
        pos = self.pos(node)
        self.spans.found.append((pos[0], self.pos(node.subject)[2]))
        subject = self.expr(node.subject)
        cases = []
        for each in node.cases:
            pattern = lower_pattern(self, each.pattern)
            last = self.pos(each.guard) if each.guard else pattern.pos
            self.spans.header(pattern.pos, last, self._first_line(each.body.body[0]))
            cases.append(ir.Case(pattern, self.optional(each.guard), self._suite(each)))
        return ir.Match(pos, subject, tuple(cases))

    def _decorators(self, nodes: Sequence[cst.Decorator]) -> tuple[tuple[ir.Expr, ...], int]:
        first = self.whole(nodes[0].decorator)[0] if nodes else 0
        return tuple([self.expr(each.decorator) for each in nodes]), first

    def _function(self, node: cst.FunctionDef) -> ir.Function:
        decorators, first = self._decorators(node.decorators)
        last: Any = node.returns.annotation if node.returns else self._last_param(node)
        pos = self._head(node, last, first)
        params = self.params(node.params)
        returns = self.optional(node.returns.annotation if node.returns else None)
        outer, self.yields = self.yields, False
        body = self._suite(node)
        yields, self.yields = self.yields, outer
        is_async = node.asynchronous is not None
        documented = documented_types(_docstring(node), params)
        return ir.Function(pos, node.name.value, params, returns, decorators, body, is_async, yields, documented)

    def _last_param(self, node: cst.FunctionDef) -> Any:
        params = node.params
        written: list[Any] = [*params.posonly_params, *params.params, *params.kwonly_params]
        written += [each for each in (params.star_arg, params.star_kwarg) if isinstance(each, cst.Param)]
        if not written:
            return _last_type_param(node)
        last = max(written, key=lambda each: self.pos(each)[2:])
        return last.default or (last.annotation.annotation if last.annotation else last.name)

    def _class(self, node: cst.ClassDef) -> ir.Class:
        decorators, first = self._decorators(node.decorators)
        written = [*node.bases, *node.keywords]
        last = max((each.value for each in written), key=lambda each: self.pos(each)[2:], default=None)
        pos = self._head(node, last or _last_type_param(node), first)
        bases = self.arguments(written)
        return ir.Class(pos, node.name.value, bases, decorators, self._suite(node))


def _last_type_param(node: Any) -> Any:
    return node.type_parameters.params[-1] if node.type_parameters and node.type_parameters.params else None


def _dotted(node: Any) -> str:
    return node.value if isinstance(node, cst.Name) else f"{_dotted(node.value)}.{node.attr.value}"


def _alias(node: Any) -> str:
    return "" if node is None else str(node.name.value)


_SMALL: dict[type, Callable[[ConcreteStatements, Any], ir.Stmt | None]] = {
    cst.Expr: ConcreteStatements._expression_statement,
    cst.Assign: ConcreteStatements._assign,
    cst.AugAssign: ConcreteStatements._augmented,
    cst.AnnAssign: ConcreteStatements._annotated,
    cst.TypeAlias: ConcreteStatements._type_alias,
    cst.Return: ConcreteStatements._return,
    cst.Raise: ConcreteStatements._raise,
    cst.Assert: ConcreteStatements._assert,
    cst.Del: ConcreteStatements._delete,
    cst.Pass: ConcreteStatements._jump,
    cst.Break: ConcreteStatements._jump,
    cst.Continue: ConcreteStatements._jump,
    cst.Global: ConcreteStatements._scope,
    cst.Nonlocal: ConcreteStatements._scope,
    cst.Import: ConcreteStatements._import,
    cst.ImportFrom: ConcreteStatements._import_from,
}
for _name, _method in (("LazyImport", ConcreteStatements._import), ("LazyImportFrom", ConcreteStatements._import_from)):
    if hasattr(cst, _name):  # of later versions of libcst
        _SMALL[getattr(cst, _name)] = _method

_COMPOUND: dict[type, Callable[[ConcreteStatements, Any], ir.Stmt]] = {
    cst.If: ConcreteStatements._if,
    cst.For: ConcreteStatements._for,
    cst.While: ConcreteStatements._while,
    cst.With: ConcreteStatements._with,
    cst.Try: ConcreteStatements._try,
    cst.TryStar: ConcreteStatements._try,
    cst.Match: ConcreteStatements._match,
    cst.FunctionDef: ConcreteStatements._function,
    cst.ClassDef: ConcreteStatements._class,
}


def _docstring(node: cst.FunctionDef) -> str | None:
    found = node.get_docstring(clean=False)
    return found.decode("utf-8", "replace") if isinstance(found, bytes) else found

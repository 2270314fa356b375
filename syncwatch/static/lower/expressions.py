"""Expressions: from `ast` to the intermediate form."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from syncwatch.static import ir
from syncwatch.static.lower.constants import constant, text
from syncwatch.static.lower.fields import place_fields
from syncwatch.static.lower.positions import position_reader

_BINARY: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}
_UNARY: dict[type, str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
_COMPARE: dict[type, str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_CONVERSIONS = {-1: "", 114: "r", 115: "s", 97: "a"}


class ExpressionLowering:
    """Turns expressions of one source text into the intermediate form."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines = source.split("\n")
        self.pos = position_reader(source, self.lines)
        self.yields = False  # a yield was met in the function at hand
        self._table: dict[type, Callable[[Any], Any]] = {
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Call: self._call,
            ast.Constant: self._constant,
            ast.Subscript: self._subscript,
            ast.Slice: self._slice,
            ast.UnaryOp: self._unary,
            ast.BinOp: self._binary,
            ast.BoolOp: self._bool,
            ast.Compare: self._compare,
            ast.IfExp: self._if_expression,
            ast.Tuple: self._tuple,
            ast.List: self._list,
            ast.Set: self._set,
            ast.Starred: self._starred,
            ast.Dict: self._dict,
            ast.ListComp: self._list_comprehension,
            ast.SetComp: self._set_comprehension,
            ast.GeneratorExp: self._generator,
            ast.DictComp: self._dict_comprehension,
            ast.Lambda: self._lambda,
            ast.JoinedStr: self._joined,
            ast.Await: self._await,
            ast.Yield: self._yield,
            ast.YieldFrom: self._yield_from,
            ast.NamedExpr: self._walrus,
        }
        template = getattr(ast, "TemplateStr", None)  # 3.14
        if template is not None:
            self._table[template] = self._template

    def expr(self, node: ast.expr) -> ir.Expr:
        """The intermediate form of one expression."""
        return self._table[node.__class__](node)  # type: ignore[no-any-return]

    def optional(self, node: ast.expr | None) -> ir.Expr | None:
        return None if node is None else self._table[node.__class__](node)

    def exprs(self, nodes: list[ast.expr]) -> tuple[ir.Expr, ...]:
        table = self._table
        return tuple([table[node.__class__](node) for node in nodes])

    def arguments(self, args: list[ast.expr], keywords: list[ast.keyword]) -> tuple[ir.Arg, ...]:
        """Arguments of a call, or bases of a class: positional ones, then keywords."""
        table = self._table
        result = [
            ir.Arg(self.expr(node.value), "", "*")
            if node.__class__ is ast.Starred
            else ir.Arg(table[node.__class__](node))
            for node in args
        ]
        for keyword in keywords:
            value = table[keyword.value.__class__](keyword.value)
            result.append(ir.Arg(value, "", "**") if keyword.arg is None else ir.Arg(value, keyword.arg))
        return tuple(result)

    def params(self, arguments: ast.arguments) -> tuple[ir.Param, ...]:
        result = []
        normal = arguments.posonlyargs + arguments.args
        first_default = len(normal) - len(arguments.defaults)
        for index, arg in enumerate(normal):
            kind = "positional" if index < len(arguments.posonlyargs) else "normal"
            default = arguments.defaults[index - first_default] if index >= first_default else None
            result.append(ir.Param(arg.arg, kind, self.optional(arg.annotation), self.optional(default)))
        if arguments.vararg is not None:
            result.append(ir.Param(arguments.vararg.arg, "*", self.optional(arguments.vararg.annotation)))
        for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            result.append(ir.Param(arg.arg, "keyword", self.optional(arg.annotation), self.optional(default)))
        if arguments.kwarg is not None:
            result.append(ir.Param(arguments.kwarg.arg, "**", self.optional(arguments.kwarg.annotation)))
        return tuple(result)

    def _name(self, node: ast.Name) -> ir.Name:
        return ir.Name(self.pos(node), node.id)

    def _attribute(self, node: ast.Attribute) -> ir.Attr:
        return ir.Attr(self.pos(node), self.expr(node.value), node.attr)

    def _call(self, node: ast.Call) -> ir.Call:
        return ir.Call(self.pos(node), self.expr(node.func), self.arguments(node.args, node.keywords))

    def _constant(self, node: ast.Constant) -> ir.Const:
        return constant(self.pos(node), node.value)

    def _subscript(self, node: ast.Subscript) -> ir.Sub:
        return ir.Sub(self.pos(node), self.expr(node.value), self.expr(node.slice))

    def _slice(self, node: ast.Slice) -> ir.Slice:
        return ir.Slice(self.pos(node), self.optional(node.lower), self.optional(node.upper), self.optional(node.step))

    def _unary(self, node: ast.UnaryOp) -> ir.Unary:
        return ir.Unary(self.pos(node), _UNARY[node.op.__class__], self.expr(node.operand))

    def _binary(self, node: ast.BinOp) -> ir.Expr:
        # Generated code joins thousands of operands: the left spine is walked, not recursed into.
        spine = [node]
        while isinstance(node.left, ast.BinOp):
            node = node.left
            spine.append(node)
        result = self.expr(node.left)
        for each in reversed(spine):
            result = ir.Binary(self.pos(each), _BINARY[each.op.__class__], result, self.expr(each.right))
        return result

    def _bool(self, node: ast.BoolOp) -> ir.Bool:
        return ir.Bool(self.pos(node), "and" if node.op.__class__ is ast.And else "or", self.exprs(node.values))

    def _compare(self, node: ast.Compare) -> ir.Compare:
        ops = tuple([_COMPARE[op.__class__] for op in node.ops])
        return ir.Compare(self.pos(node), self.expr(node.left), ops, self.exprs(node.comparators))

    def _if_expression(self, node: ast.IfExp) -> ir.IfExp:
        return ir.IfExp(self.pos(node), self.expr(node.test), self.expr(node.body), self.expr(node.orelse))

    def _tuple(self, node: ast.Tuple) -> ir.Seq:
        return ir.Seq(self.pos(node), "tuple", self.exprs(node.elts))

    def _list(self, node: ast.List) -> ir.Seq:
        return ir.Seq(self.pos(node), "list", self.exprs(node.elts))

    def _set(self, node: ast.Set) -> ir.Seq:
        return ir.Seq(self.pos(node), "set", self.exprs(node.elts))

    def _starred(self, node: ast.Starred) -> ir.Star:
        return ir.Star(self.pos(node), self.expr(node.value))

    def _dict(self, node: ast.Dict) -> ir.DictLit:
        keys = tuple([None if key is None else self.expr(key) for key in node.keys])
        return ir.DictLit(self.pos(node), keys, self.exprs(node.values))

    def _fors(self, generators: list[ast.comprehension]) -> tuple[ir.For, ...]:
        return tuple(
            [
                ir.For(self.expr(each.target), self.expr(each.iter), self.exprs(each.ifs), bool(each.is_async))
                for each in generators
            ]
        )

    def _list_comprehension(self, node: ast.ListComp) -> ir.Comp:
        return ir.Comp(self.pos(node), "list", None, self.expr(node.elt), self._fors(node.generators))

    def _set_comprehension(self, node: ast.SetComp) -> ir.Comp:
        return ir.Comp(self.pos(node), "set", None, self.expr(node.elt), self._fors(node.generators))

    def _generator(self, node: ast.GeneratorExp) -> ir.Comp:
        return ir.Comp(self.pos(node), "generator", None, self.expr(node.elt), self._fors(node.generators))

    def _dict_comprehension(self, node: ast.DictComp) -> ir.Comp:
        value: ast.expr | None = node.value
        if value is None:  # `{**d for d in ds}` of 3.15: the mapping stands in `key`
            return ir.Comp(self.pos(node), "dict", None, self.expr(node.key), self._fors(node.generators))
        return ir.Comp(self.pos(node), "dict", self.expr(node.key), self.expr(node.value), self._fors(node.generators))

    def _lambda(self, node: ast.Lambda) -> ir.Lambda:
        outer, self.yields = self.yields, False
        result = ir.Lambda(self.pos(node), self.params(node.args), self.expr(node.body))
        self.yields = outer
        return result

    def _joined(self, node: ast.JoinedStr) -> ir.FString:
        place_fields(self, node)
        return ir.FString(self.pos(node), self._parts(node.values))

    def _parts(self, values: list[ast.expr]) -> tuple[str | ir.FPart, ...]:
        parts: list[str | ir.FPart] = []
        for value in values:
            if isinstance(value, ast.FormattedValue):
                place: ir.Pos = getattr(value, "place", None) or self.pos(value)
                spec = None
                if isinstance(value.format_spec, ast.JoinedStr):  # it has no place of its own before 3.12
                    spec = ir.FString(place, self._parts(value.format_spec.values))
                conversion = _CONVERSIONS.get(value.conversion, "")
                parts.append(ir.FPart(self.expr(value.value), conversion, spec, place))
            elif isinstance(value, ast.Constant):
                parts.append(text(str(value.value)))
        return tuple(parts)

    def _template(self, node: Any) -> ir.Seq:
        # A template string formats nothing: it holds the values.
        values = [each.value for each in node.values if not isinstance(each, ast.Constant)]
        return ir.Seq(self.pos(node), "tuple", self.exprs(values))

    def _await(self, node: ast.Await) -> ir.Await:
        return ir.Await(self.pos(node), self.expr(node.value))

    def _yield(self, node: ast.Yield) -> ir.Yield:
        self.yields = True
        return ir.Yield(self.pos(node), self.optional(node.value))

    def _yield_from(self, node: ast.YieldFrom) -> ir.Yield:
        self.yields = True
        return ir.Yield(self.pos(node), self.expr(node.value), True)

    def _walrus(self, node: ast.NamedExpr) -> ir.Walrus:
        return ir.Walrus(self.pos(node), self._name(node.target), self.expr(node.value))

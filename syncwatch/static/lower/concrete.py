"""Expressions: from libcst's tree to the intermediate form, by one direct walk.

This way is taken where the running Python is too old for a file's syntax, which libcst reads all the same. It must
give what `expressions` gives of the same text.
"""

from __future__ import annotations

import ast
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import libcst as cst
import msgspec

from syncwatch.static import ir
from syncwatch.static.lower.concrete_strings import string_parts
from syncwatch.static.lower.constants import constant
from syncwatch.static.lower.spans import Spans

_BINARY: dict[str, str] = {
    "Add": "+",
    "Subtract": "-",
    "Multiply": "*",
    "Divide": "/",
    "FloorDivide": "//",
    "Modulo": "%",
    "Power": "**",
    "MatrixMultiply": "@",
    "LeftShift": "<<",
    "RightShift": ">>",
    "BitAnd": "&",
    "BitOr": "|",
    "BitXor": "^",
}
_UNARY = {"Minus": "-", "Plus": "+", "BitInvert": "~", "Not": "not"}
_COMPARE = {
    "Equal": "==",
    "NotEqual": "!=",
    "LessThan": "<",
    "LessThanEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanEqual": ">=",
    "Is": "is",
    "IsNot": "is not",
    "In": "in",
    "NotIn": "not in",
}
_WORDS = {"True": True, "False": False, "None": None}


def binary_operator(operator: cst.CSTNode) -> str:
    """The operator of a binary operation or an augmented assignment, as in `ir.Binary`."""
    return _BINARY[type(operator).__name__.removesuffix("Assign")]


def identifier(name: str) -> str:
    """A name as Python knows it: in normal form KC."""
    return name if name.isascii() else unicodedata.normalize("NFKC", name)


class ConcreteExpressions:
    """Turns expressions of one libcst tree into the intermediate form. `ranges` are libcst's positions of its nodes."""

    def __init__(self, source: str, ranges: Mapping[cst.CSTNode, Any]) -> None:
        self.lines = source.split("\n")
        self.spans = Spans(self.lines)
        self.yields = False
        self._ranges = ranges

    def pos(self, node: cst.CSTNode) -> ir.Pos:
        """The place of a node, without the parentheses around it."""
        found = self._ranges[node]
        return (found.start.line, found.start.column, found.end.line, found.end.column)

    def between(self, first: cst.CSTNode, last: cst.CSTNode) -> ir.Pos:
        """The place from the start of one node to the end of another."""
        return (*self.pos(first)[:2], *self.pos(last)[2:])

    def expr(self, node: cst.BaseExpression) -> ir.Expr:
        """The intermediate form of one expression."""
        return _TABLE[type(node)](self, node)

    def optional(self, node: cst.BaseExpression | None) -> ir.Expr | None:
        return None if node is None else self.expr(node)

    def arguments(self, args: Sequence[cst.Arg]) -> tuple[ir.Arg, ...]:
        """Arguments of a call, or bases of a class: positional ones, then keywords."""
        result = [
            ir.Arg(self.expr(each.value), identifier(each.keyword.value) if each.keyword else "", each.star)
            for each in args
        ]
        return tuple(sorted(result, key=lambda each: each.name != "" or each.star == "**"))

    def params(self, node: cst.Parameters) -> tuple[ir.Param, ...]:
        result = [self._param(each, "positional") for each in node.posonly_params]
        result += [self._param(each, "normal") for each in node.params]
        if isinstance(node.star_arg, cst.Param):
            result.append(self._param(node.star_arg, "*"))
        result += [self._param(each, "keyword") for each in node.kwonly_params]
        if node.star_kwarg is not None:
            result.append(self._param(node.star_kwarg, "**"))
        return tuple(result)

    def _param(self, node: cst.Param, kind: str) -> ir.Param:
        annotation = node.annotation.annotation if node.annotation else None
        return ir.Param(identifier(node.name.value), kind, self.optional(annotation), self.optional(node.default))

    def _name(self, node: cst.Name) -> ir.Expr:
        if node.value in _WORDS:
            return constant(self.pos(node), _WORDS[node.value])
        return ir.Name(self.pos(node), identifier(node.value))

    def _ellipsis(self, node: cst.Ellipsis) -> ir.Const:
        return constant(self.pos(node), ...)

    def _number(self, node: cst.Integer | cst.Float | cst.Imaginary) -> ir.Const:
        return constant(self.pos(node), ast.literal_eval(node.value))

    def _string(self, node: cst.SimpleString | cst.FormattedString | cst.ConcatenatedString) -> ir.Expr:
        parts, formatted = string_parts(self, node)
        if formatted:
            return ir.FString(self.pos(node), tuple(parts))
        return constant(self.pos(node), parts[0] if parts else "")

    def _template(self, node: Any) -> ir.Seq:
        values = [part.expression for part in node.parts if isinstance(part, cst.TemplatedStringExpression)]
        return ir.Seq(self.pos(node), "tuple", tuple([self.expr(each) for each in values]))

    def _attribute(self, node: cst.Attribute) -> ir.Attr:
        return ir.Attr(self._after(node.value, node), self.expr(node.value), identifier(node.attr.value))

    def _call(self, node: cst.Call) -> ir.Call:
        place = self._after(node.func, node)
        args = self.arguments(node.args)
        if len(node.args) == 1 and isinstance(node.args[0].value, cst.GeneratorExp) and not node.args[0].value.lpar:
            # `sum(x for x in y)`: the parentheses of the call are the generator's too.
            generator = args[0].value
            opening = self._find("(", self.whole(node.func)[2:])
            args = (ir.Arg(msgspec.structs.replace(generator, pos=(*opening, *place[2:]))),)
        return ir.Call(place, self.expr(node.func), args)

    def _find(self, char: str, start: tuple[int, int]) -> tuple[int, int]:
        """Where a character stands first from a place on."""
        line, column = start
        while (found := self.lines[line - 1].find(char, column)) < 0:
            line, column = line + 1, 0
        return line, found

    def _subscript(self, node: cst.Subscript) -> ir.Sub:
        items = [self._slice(each.slice) for each in node.slice]
        last = node.slice[-1]
        if len(items) > 1 or isinstance(last.comma, cst.Comma) or isinstance(items[0], ir.Star):
            end = self.pos(last.comma)[2:3] if isinstance(last.comma, cst.Comma) else ()
            start = self._outer(node.slice[0].slice)
            stop = self._outer(last.slice) if not end else self._comma(last.comma)
            index: ir.Expr = ir.Seq((*start[:2], *stop[2:]), "tuple", tuple(items))
        else:
            index = items[0]
        return ir.Sub(self._after(node.value, node), self.expr(node.value), index)

    def _slice(self, node: cst.BaseSlice) -> ir.Expr:
        if isinstance(node, cst.Slice):
            lower, upper, step = (self.optional(each) for each in (node.lower, node.upper, node.step))
            return ir.Slice(self._outer(node), lower, upper, step)
        assert isinstance(node, cst.Index)
        if node.star:
            return ir.Star(self.pos(node), self.expr(node.value))
        return self.expr(node.value)

    def _unary(self, node: cst.UnaryOperation) -> ir.Unary:
        return ir.Unary(
            self._before(node, node.expression), _UNARY[type(node.operator).__name__], self.expr(node.expression)
        )

    def _binary(self, node: cst.BinaryOperation) -> ir.Expr:
        spine = [node]
        while isinstance(node.left, cst.BinaryOperation):
            node = node.left
            spine.append(node)
        result = self.expr(node.left)
        for each in reversed(spine):
            place = self._around(each.left, each.right)
            result = ir.Binary(place, binary_operator(each.operator), result, self.expr(each.right))
        return result

    def _bool(self, node: cst.BooleanOperation) -> ir.Bool:
        # `a and b and c` is one operation of three values; `(a and b) and c` is not.
        values = [node.right]
        left = node.left
        while isinstance(left, cst.BooleanOperation) and type(left.operator) is type(node.operator) and not left.lpar:
            values.append(left.right)
            left = left.left
        values.append(left)
        op = "and" if isinstance(node.operator, cst.And) else "or"
        return ir.Bool(self._around(left, node.right), op, tuple([self.expr(each) for each in reversed(values)]))

    def _compare(self, node: cst.Comparison) -> ir.Compare:
        ops = tuple([_COMPARE[type(each.operator).__name__] for each in node.comparisons])
        rights = tuple([self.expr(each.comparator) for each in node.comparisons])
        place = self._around(node.left, node.comparisons[-1].comparator)
        return ir.Compare(place, self.expr(node.left), ops, rights)

    def _if_expression(self, node: cst.IfExp) -> ir.IfExp:
        place = self._around(node.body, node.orelse)
        return ir.IfExp(place, self.expr(node.test), self.expr(node.body), self.expr(node.orelse))

    def _tuple(self, node: cst.Tuple) -> ir.Seq:
        return ir.Seq(self._outer(node), "tuple", self._elements(node.elements))

    def _list(self, node: cst.List) -> ir.Seq:
        return ir.Seq(self.pos(node), "list", self._elements(node.elements))

    def _set(self, node: cst.Set) -> ir.Seq:
        return ir.Seq(self.pos(node), "set", self._elements(node.elements))

    def _elements(self, nodes: Sequence[cst.BaseElement]) -> tuple[ir.Expr, ...]:
        return tuple(
            [self._starred(each) if isinstance(each, cst.StarredElement) else self.expr(each.value) for each in nodes]
        )

    def _starred(self, node: cst.StarredElement) -> ir.Star:
        return ir.Star(self._before(node, node.value), self.expr(node.value))

    def _dict(self, node: cst.Dict) -> ir.DictLit:
        keys = [self.expr(each.key) if isinstance(each, cst.DictElement) else None for each in node.elements]
        return ir.DictLit(self.pos(node), tuple(keys), tuple([self.expr(each.value) for each in node.elements]))

    def _comprehension(self, node: cst.ListComp | cst.SetComp | cst.GeneratorExp) -> ir.Comp:
        kind = {cst.ListComp: "list", cst.SetComp: "set", cst.GeneratorExp: "generator"}[type(node)]
        place = self._outer(node) if kind == "generator" else self.pos(node)
        return ir.Comp(place, kind, None, self.expr(node.elt), self._fors(node.for_in))

    def _dict_comprehension(self, node: cst.DictComp) -> ir.Comp:
        return ir.Comp(self.pos(node), "dict", self.expr(node.key), self.expr(node.value), self._fors(node.for_in))

    def _starred_dict_comprehension(self, node: Any) -> ir.Comp:
        return ir.Comp(self.pos(node), "dict", None, self.expr(node.value), self._fors(node.for_in))

    def _fors(self, node: cst.CompFor | None) -> tuple[ir.For, ...]:
        result = []
        while node is not None:
            ifs = tuple([self.expr(each.test) for each in node.ifs])
            is_async = node.asynchronous is not None
            result.append(ir.For(self.expr(node.target), self.expr(node.iter), ifs, is_async))
            node = node.inner_for_in
        return tuple(result)

    def _lambda(self, node: cst.Lambda) -> ir.Lambda:
        outer, self.yields = self.yields, False
        result = ir.Lambda(self._before(node, node.body), self.params(node.params), self.expr(node.body))
        self.yields = outer
        return result

    def _await(self, node: cst.Await) -> ir.Await:
        return ir.Await(self._before(node, node.expression), self.expr(node.expression))

    def _yield(self, node: cst.Yield) -> ir.Yield:
        self.yields = True
        if node.value is None:
            return ir.Yield(self.pos(node), None)
        if isinstance(node.value, cst.From):
            return ir.Yield(self._before(node, node.value.item), self.expr(node.value.item), True)
        return ir.Yield(self._before(node, node.value), self.expr(node.value))

    def _walrus(self, node: cst.NamedExpr) -> ir.Walrus:
        assert isinstance(node.target, cst.Name)
        target = ir.Name(self.pos(node.target), identifier(node.target.value))
        return ir.Walrus(self._around(node.target, node.value), target, self.expr(node.value))

    def _outer(self, node: Any) -> ir.Pos:
        """The place of a node with the innermost parentheses around it, which belong to tuples and generators."""
        if isinstance(node, cst.Index):
            return self.pos(node) if node.star else self.whole(node.value)
        if getattr(node, "lpar", None):
            return (*self.pos(node.lpar[-1])[:2], *self.pos(node.rpar[0])[2:])
        return self.pos(node)

    def whole(self, node: Any) -> ir.Pos:
        """The place of a node with all parentheses around it."""
        if getattr(node, "lpar", None):
            return (*self.pos(node.lpar[0])[:2], *self.pos(node.rpar[-1])[2:])
        return self.pos(node)

    def _comma(self, node: Any) -> ir.Pos:
        """The place of a comma without the white space around it."""
        line, column, _, _ = self.pos(node)
        before = node.whitespace_before
        if isinstance(before, cst.SimpleWhitespace):
            column += len(before.value)
        return (line, column, line, column + 1)

    def _after(self, first: Any, node: cst.CSTNode) -> ir.Pos:
        return (*self.whole(first)[:2], *self.pos(node)[2:])

    def _before(self, node: cst.CSTNode, last: Any) -> ir.Pos:
        return (*self.pos(node)[:2], *self.whole(last)[2:])

    def _around(self, first: Any, last: Any) -> ir.Pos:
        return (*self.whole(first)[:2], *self.whole(last)[2:])


_TABLE: dict[type, Callable[[ConcreteExpressions, Any], ir.Expr]] = {
    cst.Name: ConcreteExpressions._name,
    cst.Ellipsis: ConcreteExpressions._ellipsis,
    cst.Integer: ConcreteExpressions._number,
    cst.Float: ConcreteExpressions._number,
    cst.Imaginary: ConcreteExpressions._number,
    cst.SimpleString: ConcreteExpressions._string,
    cst.FormattedString: ConcreteExpressions._string,
    cst.ConcatenatedString: ConcreteExpressions._string,
    cst.Attribute: ConcreteExpressions._attribute,
    cst.Call: ConcreteExpressions._call,
    cst.Subscript: ConcreteExpressions._subscript,
    cst.UnaryOperation: ConcreteExpressions._unary,
    cst.BinaryOperation: ConcreteExpressions._binary,
    cst.BooleanOperation: ConcreteExpressions._bool,
    cst.Comparison: ConcreteExpressions._compare,
    cst.IfExp: ConcreteExpressions._if_expression,
    cst.Tuple: ConcreteExpressions._tuple,
    cst.List: ConcreteExpressions._list,
    cst.Set: ConcreteExpressions._set,
    cst.StarredElement: ConcreteExpressions._starred,
    cst.Dict: ConcreteExpressions._dict,
    cst.ListComp: ConcreteExpressions._comprehension,
    cst.SetComp: ConcreteExpressions._comprehension,
    cst.GeneratorExp: ConcreteExpressions._comprehension,
    cst.DictComp: ConcreteExpressions._dict_comprehension,
    cst.Lambda: ConcreteExpressions._lambda,
    cst.Await: ConcreteExpressions._await,
    cst.Yield: ConcreteExpressions._yield,
    cst.NamedExpr: ConcreteExpressions._walrus,
}
for _name, _method in (
    ("TemplatedString", ConcreteExpressions._template),
    ("StarredDictComp", ConcreteExpressions._starred_dict_comprehension),
):
    if hasattr(cst, _name):  # of later versions of libcst
        _TABLE[getattr(cst, _name)] = _method

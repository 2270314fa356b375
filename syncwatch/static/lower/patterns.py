"""The patterns of `match`: from `ast` to the intermediate form."""

from __future__ import annotations

import ast
from typing import Any

from syncwatch.static import ir
from syncwatch.static.lower.constants import constant
from syncwatch.static.lower.expressions import ExpressionLowering


def lower_pattern(owner: ExpressionLowering, node: Any) -> ir.Pattern:
    """The intermediate form of one pattern, its parts included."""
    pos = owner.pos(node)
    if isinstance(node, ast.MatchValue):
        return ir.Pattern(pos, "value", value=owner.expr(node.value))
    if isinstance(node, ast.MatchSingleton):
        return ir.Pattern(pos, "singleton", value=constant(pos, node.value))
    if isinstance(node, ast.MatchAs):
        inner = [] if node.pattern is None else [node.pattern]
        return ir.Pattern(pos, "capture", name=node.name or "", children=_all(owner, inner))
    if isinstance(node, ast.MatchStar):
        return ir.Pattern(pos, "star", name=node.name or "")
    if isinstance(node, ast.MatchOr):
        return ir.Pattern(pos, "or", children=_all(owner, node.patterns))
    if isinstance(node, ast.MatchSequence):
        return ir.Pattern(pos, "sequence", children=_all(owner, node.patterns))
    if isinstance(node, ast.MatchMapping):
        children = _all(owner, node.patterns)
        if node.rest is not None:
            children = (*children, ir.Pattern(pos, "star", name=node.rest))
        return ir.Pattern(pos, "mapping", children=children, keys=owner.exprs(node.keys))
    assert isinstance(node, ast.MatchClass)
    children = _all(owner, node.patterns) + _all(owner, node.kwd_patterns)
    names = ("",) * len(node.patterns) + tuple(node.kwd_attrs)
    return ir.Pattern(pos, "class", value=owner.expr(node.cls), children=children, names=names)


def _all(owner: ExpressionLowering, nodes: list[ast.pattern]) -> tuple[ir.Pattern, ...]:
    return tuple([lower_pattern(owner, node) for node in nodes])

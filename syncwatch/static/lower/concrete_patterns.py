"""The patterns of `match`: from libcst's tree to the intermediate form."""

from __future__ import annotations

from typing import Any

import libcst as cst

from syncwatch.static import ir
from syncwatch.static.lower.concrete import ConcreteExpressions
from syncwatch.static.lower.constants import constant


def lower_pattern(owner: ConcreteExpressions, node: Any) -> ir.Pattern:
    """The intermediate form of one pattern, its parts included."""
    if isinstance(node, (cst.MatchSequenceElement, cst.MatchOrElement)):
        node = getattr(node, "value", None) or node.pattern  # type: ignore[union-attr]
    pos = owner._outer(node) if isinstance(node, cst.MatchTuple) else owner.pos(node)
    if isinstance(node, cst.MatchValue):
        place = owner.pos(node.value)
        return ir.Pattern(place, "value", value=owner.expr(node.value))
    if isinstance(node, cst.MatchSingleton):
        value = {"True": True, "False": False, "None": None}[node.value.value]
        return ir.Pattern(pos, "singleton", value=constant(pos, value))
    if isinstance(node, cst.MatchAs):
        children = _all(owner, [] if node.pattern is None else [node.pattern])
        name = node.name.value if node.name is not None else ""
        return ir.Pattern(pos, "capture", name="" if name == "_" else name, children=children)
    if isinstance(node, cst.MatchStar):
        name = node.name.value if node.name is not None else ""
        end = owner.pos(node.name)[2:] if node.name is not None else (pos[0], pos[1] + 2)
        return ir.Pattern((*pos[:2], *end), "star", name="" if name == "_" else name)
    if isinstance(node, cst.MatchOr):
        return ir.Pattern(pos, "or", children=_all(owner, node.patterns))
    if isinstance(node, cst.MatchSequence):
        return ir.Pattern(pos, "sequence", children=_all(owner, node.patterns))
    if isinstance(node, cst.MatchMapping):
        children = _all(owner, [each.pattern for each in node.elements])
        if node.rest is not None:
            children = (*children, ir.Pattern(pos, "star", name=node.rest.value))
        keys = tuple([owner.expr(each.key) for each in node.elements])
        return ir.Pattern(pos, "mapping", children=children, keys=keys)
    assert isinstance(node, cst.MatchClass)
    children = _all(owner, node.patterns) + _all(owner, [each.pattern for each in node.kwds])
    names = ("",) * len(node.patterns) + tuple([each.key.value for each in node.kwds])
    return ir.Pattern(pos, "class", value=owner.expr(node.cls), children=children, names=names)


def _all(owner: ConcreteExpressions, nodes: Any) -> tuple[ir.Pattern, ...]:
    return tuple([lower_pattern(owner, node) for node in nodes])

"""Events and rules make findings.

Each event belongs to exactly one rule: the most specific that selects it. A rule that names operations and `via` is
more specific than one that names `via`, that more than one that names operations, and that more than one that names
kinds only; a name in full is more specific than one with `*`, and among those the longer one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TypeAlias

from syncwatch.catalog import Rule
from syncwatch.model import Certainty, Event, Finding, Heat, Kind

DEFAULT_CERTAINTY: frozenset[Certainty] = frozenset({Certainty.CERTAIN, Certainty.LIKELY})

# whether the rule names the `via`; whether it names the operation (1: with `*`, 2: in full); how much of it
Rank: TypeAlias = tuple[int, int, int]

_WORD = re.compile(r"\{(?:subject|op|detail)\}")
_DETAIL = re.compile(r"(,? but|[:;,])? *\{detail\}")
_SYNTAX = {
    "__getitem__": "indexing",
    "__setitem__": "item assignment",
    "__delitem__": "item deletion",
    "__contains__": "`in`",
    "__index__": "use as an index",
    "__array__": "conversion to numpy",
}
_SURE = {Certainty.CERTAIN: 0, Certainty.LIKELY: 1, Certainty.POSSIBLE: 2}


class RuleTable:
    """Answers which rule an event belongs to."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._by_kind: dict[Kind, list[_Selector]] = {}
        self._known: dict[tuple[Kind, str, str], Rule | None] = {}
        for rule in rules:
            selector = _Selector(rule)
            for kind in rule.kinds:
                self._by_kind.setdefault(kind, []).append(selector)

    def match(self, kind: Kind, op: str, via: str = "call") -> Rule | None:
        """The rule of an event with this kind, public name and `via`, or None where no rule selects it."""
        key = (kind, op, via)
        if key not in self._known:
            ranked = self.candidates(kind, op, via)
            self._known[key] = ranked[0][1] if ranked else None
        return self._known[key]

    def candidates(self, kind: Kind, op: str, via: str = "call") -> list[tuple[Rank, Rule]]:
        """All rules that select such an event with their rank, the most specific first."""
        found = []
        for selector in self._by_kind.get(kind, ()):
            rank = selector.rank(op, via)
            if rank is not None:
                found.append((rank, selector.rule))
        found.sort(key=lambda pair: (pair[1].id.startswith("SW"), pair[1].id))  # a rule of one's own wins a tie
        return sorted(found, key=lambda pair: pair[0], reverse=True)


class _Selector:
    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.via = frozenset(rule.via)
        self.exact = frozenset(name for name in rule.ops if "*" not in name)
        self.globs = [
            (len(name) - name.count("*"), re.compile(".*".join(map(re.escape, name.split("*")))))
            for name in rule.ops
            if "*" in name
        ]

    def rank(self, op: str, via: str) -> Rank | None:
        """How specific the rule is for the event; None where the rule does not select it."""
        if self.via and via not in self.via:
            return None
        by_via = 1 if self.via else 0
        if op in self.exact:
            return (by_via, 2, len(op))
        if not self.rule.ops:
            return (by_via, 0, 0)
        return max(((by_via, 1, length) for length, glob in self.globs if glob.fullmatch(op)), default=None)


def judge(
    events: Iterable[Event],
    rules: Iterable[Rule] | RuleTable,
    *,
    heat: Collection[Heat] | None = None,
    certainty: Collection[Certainty] | None = None,
) -> list[Finding]:
    """The findings, sorted by place; events that no rule selects or that the filters leave out are dropped.

    `heat` replaces each rule's own list where it is given, and so does `certainty`. Several events of one rule at the
    same place make one finding, as sure as the surest of them.
    """
    table = rules if isinstance(rules, RuleTable) else RuleTable(rules)
    kept: dict[tuple[str, int, int, str], Finding] = {}
    for event in events:
        rule = table.match(event.kind, event.op, event.via)
        if rule is None:
            continue
        if event.heat not in (rule.heat if heat is None else heat):
            continue
        if event.certainty not in (rule.certainty if certainty is None else certainty):
            continue
        finding = make_finding(event, rule)
        key = (finding.path, finding.line, finding.column, finding.rule)
        other = kept.get(key)
        if other is None or _SURE[finding.certainty] < _SURE[other.certainty]:
            kept[key] = finding
    return sorted(kept.values(), key=lambda found: (found.path, found.line, found.column, found.rule))


def make_finding(event: Event, rule: Rule) -> Finding:
    """The finding that `rule` makes of `event`."""
    site = event.site
    return Finding(
        path=site.path,
        line=site.line,
        column=site.column,
        end_line=site.end_line or site.line,
        end_column=site.end_column or site.column,
        rule=rule.id,
        name=rule.name,
        kind=event.kind,
        op=event.op,
        message=message(event, rule),
        certainty=event.certainty,
        heat=event.heat,
        function=site.function,
    )


def message(event: Event, rule: Rule) -> str:
    """The sentence of the rule about this event, without the part that tells the detail where none is known."""
    subject = " ".join(event.subject.split())
    if len(subject) > 60:
        subject = subject[:57] + "…"
    words = {
        "{subject}": f"`{subject}`" if subject else "a device value",
        "{op}": short_name(event.op),
        "{detail}": event.detail,
    }
    template = rule.message if event.detail else _DETAIL.sub("", rule.message)
    return _WORD.sub(lambda match: words[match[0]], template)


def short_name(op: str) -> str:
    """The operation as people write it: `Tensor.item` for torch.Tensor.item, `int()` for torch.Tensor.__int__."""
    method = op.removeprefix("torch.Tensor.")
    if method == op:
        return op
    return _SYNTAX.get(method) or (f"{method.strip('_')}()" if method.startswith("__") else f"Tensor.{method}")

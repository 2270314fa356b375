"""The `match` statement."""

from __future__ import annotations

from syncwatch.static import ir
from syncwatch.static.infer.machine import Interpreter
from syncwatch.static.infer.operators import compare, same
from syncwatch.static.infer.truth import test, truth_of
from syncwatch.static.infer.types import is_instance
from syncwatch.static.values import UNKNOWN, Const, Obj, Tuple, Value


def run_match(m: Interpreter, s: ir.Match) -> bool:
    """Runs the cases that may match, in order, until one certainly does."""
    subject = m.eval(s.subject)
    journal = m.journal
    mark = journal.mark()
    ends = []
    certain = False
    for case in s.cases:
        verdict = _matches(m, case.pattern, subject)
        if verdict is not False and case.guard is not None:
            outcome = test(m, case.guard, "if")
            verdict = False if outcome is False else (verdict if outcome else None)
        if verdict is False:
            journal.undo(mark)
            continue
        if m.exec_block(case.body):
            ends.append(journal.delta(mark))
        journal.undo(mark)
        if verdict:
            certain = True
            break
    if not certain:
        ends.append({})
    if not ends:
        return False
    journal.merge(ends)
    return True


def _matches(m: Interpreter, p: ir.Pattern, v: Value) -> bool | None:
    """Whether a pattern matches; binds its captures."""
    if p.kind == "capture":
        verdict: bool | None = True
        if p.children:
            verdict = _matches(m, p.children[0], v)
        if p.name and verdict is not False:
            m.store(p.name, v)
        return verdict
    if p.kind == "value" and p.value is not None:
        return truth_of(m, compare(m, "==", v, m.eval(p.value), p), "match", p)
    if p.kind == "singleton" and p.value is not None:
        return same(v, m.eval(p.value))
    if p.kind == "or":
        verdicts = [_matches(m, c, v) for c in p.children]
        return True if True in verdicts else None if None in verdicts else False
    if p.kind == "class" and p.value is not None:
        verdict = is_instance(m, v, m.eval(p.value))
        if verdict is False:
            return False
        for child, name in zip(p.children, p.names, strict=False):
            inner = m.getattr(v, name) if name else UNKNOWN
            if _matches(m, child, inner) is False:
                return False
            verdict = None if verdict is None or child.kind != "capture" else verdict
        return verdict
    if p.kind == "sequence":
        return _sequence(m, p, v)
    if p.kind == "mapping":
        for key, child in zip(p.keys, p.children, strict=False):
            k = m.eval(key)
            found = UNKNOWN
            if type(v) is Obj and type(k) is Const:
                found = v.slots.get(("key", k.value), UNKNOWN)
            _matches(m, child, found)
        return None
    if p.kind == "star" and p.name:
        m.store(p.name, m.list(None, UNKNOWN))
    return None


def _sequence(m: Interpreter, p: ir.Pattern, v: Value) -> bool | None:
    if type(v) is not Tuple and not (type(v) is Obj and v.type == "list"):
        for child in p.children:
            _matches(m, child, UNKNOWN)
        return None if v is UNKNOWN else False
    inner = m.iterate(v)
    stars = any(c.kind == "star" for c in p.children)
    if inner.items is not None and not stars and len(inner.items) != len(p.children):
        return False
    verdicts = []
    for i, child in enumerate(p.children):
        item = inner.elem if inner.items is None or stars else inner.items[i]
        verdicts.append(_matches(m, child, item))
    if False in verdicts:
        return False
    return True if inner.items is not None and all(verdicts) else None

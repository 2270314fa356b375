"""How events become findings: which rule takes an event, what is shown, what the message says."""

from __future__ import annotations

import pytest

from syncwatch.catalog import Rule
from syncwatch.judge import RuleTable, judge, message, short_name
from syncwatch.model import Certainty, Event, Heat, Kind, Site


def rule(id_: str, *, kinds: tuple[Kind, ...] = (Kind.SCALAR_READ,), **more: object) -> Rule:
    words = {"name": id_.lower(), "message": "{op} reads {subject}", "remedy": "do not", "since": "0.1.0"}
    return Rule(id=id_, kinds=kinds, **{**words, **more})


def event(op: str = "torch.Tensor.item", *, line: int = 3, column: int = 5, **more: object) -> Event:
    site = Site(path="a.py", line=line, column=column, end_line=line, end_column=column + 4, function="train")
    return Event(**{"kind": Kind.SCALAR_READ, "op": op, "site": site, **more})


KIND = rule("SW901")
OPS_GLOB = rule("SW902", ops=("torch.Tensor.*",))
OPS = rule("SW903", ops=("torch.Tensor.item", "torch.Tensor.__bool__"))
VIA = rule("SW904", via=("print", "if"))
OPS_VIA = rule("SW905", ops=("torch.Tensor.__bool__",), via=("if",))
ALL = [KIND, OPS_GLOB, OPS, VIA, OPS_VIA]


@pytest.mark.parametrize(
    ("op", "via", "expected"),
    [
        ("house.read", "call", KIND),
        ("torch.Tensor.tolist", "call", OPS_GLOB),
        ("torch.Tensor.item", "call", OPS),
        ("torch.Tensor.item", "print", VIA),
        ("torch.Tensor.__bool__", "if", OPS_VIA),
        ("torch.Tensor.__bool__", "while", OPS),
    ],
)
def test_the_most_specific_rule_takes_the_event(op, via, expected):
    assert RuleTable(ALL).match(Kind.SCALAR_READ, op, via) is expected


def test_among_equals_a_rule_of_ones_own_takes_the_event():
    own = rule("TEAM001")
    assert RuleTable([KIND, own]).match(Kind.SCALAR_READ, "house.read") is own


def test_a_kind_without_a_rule_has_no_finding():
    assert RuleTable(ALL).match(Kind.UPLOAD, "torch.tensor") is None
    assert judge([event(kind=Kind.UPLOAD)], ALL) == []


def test_a_rule_shows_its_own_heat_and_the_caller_may_replace_it():
    epoch = rule("SW906", ops=("torch.save",), heat=(Heat.EPOCH,))
    events = [event(), event(line=4, heat=Heat.EPOCH), event("torch.save", line=5, heat=Heat.EPOCH)]
    assert [(f.line, f.rule) for f in judge(events, [KIND, epoch])] == [(3, "SW901"), (5, "SW906")]
    shown = judge(events, [KIND, epoch], heat={Heat.EPOCH})
    assert [(f.line, f.rule) for f in shown] == [(4, "SW901"), (5, "SW906")]


def test_possible_events_are_shown_on_request_only():
    events = [event(certainty=certainty, line=line) for line, certainty in enumerate(Certainty, 1)]
    assert [f.line for f in judge(events, [KIND])] == [1, 2]
    assert [f.line for f in judge(events, [KIND], certainty=set(Certainty))] == [1, 2, 3]


def test_one_place_and_rule_make_one_finding_as_sure_as_the_surest():
    found = judge([event(certainty=Certainty.LIKELY), event(), event(column=20)], [KIND])
    assert [(f.column, f.certainty) for f in found] == [(5, Certainty.CERTAIN), (20, Certainty.CERTAIN)]


def test_findings_come_in_the_order_of_the_file():
    found = judge([event(line=9), event(line=2), event(line=2, column=1)], [KIND])
    assert [(f.line, f.column) for f in found] == [(2, 1), (2, 5), (9, 5)]


def test_the_message_is_completed_from_the_event():
    happening = event(subject="loss\n    .mean()", detail="std is checked")
    assert message(happening, rule("SW907")) == "Tensor.item reads `loss .mean()`"
    assert message(event(), rule("SW907")) == "Tensor.item reads a device value"


@pytest.mark.parametrize(
    ("template", "with_detail", "without"),
    [
        ("{subject}: {detail}", "`x`: std is checked", "`x`"),
        ("{subject} is copied, but {detail}", "`x` is copied, but std is checked", "`x` is copied"),
    ],
)
def test_a_detail_that_is_not_known_is_left_out(template, with_detail, without):
    assert message(event(subject="x", detail="std is checked"), rule("SW908", message=template)) == with_detail
    assert message(event(subject="x"), rule("SW908", message=template)) == without


def test_braces_in_the_source_are_not_taken_for_places_of_the_message():
    assert message(event(subject="d['{op}']"), KIND) == "Tensor.item reads `d['{op}']`"


@pytest.mark.parametrize(
    ("op", "written"),
    [
        ("torch.Tensor.item", "Tensor.item"),
        ("torch.Tensor.__int__", "int()"),
        ("torch.Tensor.__getitem__", "indexing"),
        ("torch.cuda.synchronize", "torch.cuda.synchronize"),
    ],
)
def test_operations_are_named_as_people_write_them(op, written):
    assert short_name(op) == written

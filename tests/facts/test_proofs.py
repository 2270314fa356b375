"""Each condition of the table is proven on both sides by a measured program."""

from __future__ import annotations

from collections import defaultdict

from syncwatch import facts
from syncwatch.facts import store
from syncwatch.facts.codec import read_call
from syncwatch.facts.describe import Call
from syncwatch.facts.table import Case, Fact


def proofs() -> dict[tuple[str, int], list[int]]:
    """(fact, case) → programs where the case held and the host was held; programs where neither was so."""
    counts: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0])
    for version in store.shipped().versions.values():
        for program in version.programs:
            look_up = facts.by_leaf if program.area == "leaves" else facts.by_name
            calls: list[tuple[Fact, Call]] = []
            for op, call in map(read_call, program.calls):
                fact = look_up(op)
                if fact is not None and fact.cases:
                    calls.append((fact, call))
            for fact, call in calls:
                if any(can_block(*other) for other in calls if other != (fact, call)):
                    continue  # another call of the program may be what held the host
                bound = fact.bind(call)
                for number, case in enumerate(fact.cases):
                    verdict = case.when(bound)
                    if verdict is True and program.blocked is not case.silent:
                        counts[fact.name, number][0] += 1
                    elif verdict is False and not program.blocked:
                        counts[fact.name, number][1] += 1
    return counts


def can_block(fact: Fact, call: Call) -> bool:
    bound = fact.bind(call)
    return any(case.when(bound) is not False for case in fact.cases if not case.silent)


def has_two_sides(case: Case) -> bool:
    """Whether there are arguments for which the operation does not wait."""
    return case.when.otherwise != "never"


def every_fact() -> list[Fact]:
    table = facts.table()
    return list({id(fact): fact for fact in (*table.public.values(), *table.leaves.values())}.values())


def test_both_sides_of_every_condition() -> None:
    counts = proofs()
    unproven = {
        fact.name: case.when.words
        for fact in every_fact()
        for number, case in enumerate(fact.cases)
        if 0 in counts[fact.name, number][: 2 if has_two_sides(case) else 1]
    }
    assert unproven == {}


def test_every_condition_describes_itself() -> None:
    for fact in every_fact():
        for case in fact.cases:
            assert case.when.words, fact.name
            assert case.kind is not None, fact.name

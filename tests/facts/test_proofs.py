"""Each condition of the table is proven on both sides by a measured program."""

from __future__ import annotations

from collections import defaultdict

from syncwatch import facts
from syncwatch.facts import store
from syncwatch.facts.codec import read_call
from syncwatch.facts.describe import Call
from syncwatch.facts.table import Fact

ALWAYS = "it waits whatever its arguments are"
PUBLIC = "the host's side is measured under its public name"
RANKS = "measured line by line in whole programs"

# fact: why a side of it is not measured on its own
ONE_SIDED = {
    "torch.cuda.synchronize": ALWAYS,
    "torch.cuda.Stream.synchronize": ALWAYS,
    "torch.cuda.Event.synchronize": ALWAYS,
    "torch.cuda.empty_cache": ALWAYS,
    "torch.amp.GradScaler.state_dict": "the disabled side is that of get_scale",
    "torch.nn.TransformerDecoder.forward": "the other side is that of TransformerEncoder, which shares the code",
    "aten.masked_fill.Tensor": PUBLIC,
    "aten.index_fill.int_Tensor": PUBLIC,
    "aten.linspace.Tensor_Tensor": PUBLIC,
    "aten.logspace.Tensor_Tensor": PUBLIC,
    "aten._ctc_loss": PUBLIC,
    "aten.linalg_eig": PUBLIC,
    "aten.one_hot": "composite: measured as torch.nn.functional.one_hot",
    "aten._nested_tensor_from_mask": "reached through TransformerEncoder with a padding mask, which is measured",
    "aten._nested_tensor_from_mask_left_aligned": "reached through TransformerEncoder with a padding mask",
    "torch.optim.swa_utils.AveragedModel.update_parameters": RANKS,
    "torch.nn.BatchNorm1d.forward": "that of momentum=None is measured line by line in whole programs",
    "torch.optim.SGD.step": RANKS,
    "torch.distributed.barrier": RANKS,
    "torch.distributed.all_gather_object": RANKS,
    "torch.distributed.broadcast_object_list": RANKS,
    "torch.distributed.gather_object": RANKS,
}


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


def every_fact() -> list[Fact]:
    table = facts.table()
    return list({id(fact): fact for fact in (*table.public.values(), *table.leaves.values())}.values())


def test_both_sides_of_every_condition() -> None:
    counts = proofs()
    unproven = {
        fact.name: case.when.words
        for fact in every_fact()
        for number, case in enumerate(fact.cases)
        if 0 in counts[fact.name, number]
    }
    assert {name: words for name, words in unproven.items() if name not in ONE_SIDED} == {}
    assert set(ONE_SIDED) - set(unproven) == set(), "these are proven now: take them off the list"


def test_every_condition_describes_itself() -> None:
    for fact in every_fact():
        for case in fact.cases:
            assert case.when.words, fact.name
            assert case.kind is not None, fact.name

"""The probes run as far as a machine without a GPU lets them."""

from __future__ import annotations

from collections import Counter

import pytest

torch = pytest.importorskip("torch")

from syncwatch.facts.measure import probes  # noqa: E402
from syncwatch.facts.measure.survey import Survey, observed, tally  # noqa: E402
from syncwatch.facts.measure.witness import Outcome  # noqa: E402
from syncwatch.facts.store import Count  # noqa: E402


def test_no_area_holds_a_name_twice() -> None:
    for area, programs in probes.areas("cpu"):
        twice = [name for name, number in Counter(name for name, _ in programs).items() if number > 1]
        assert twice == [], area


def test_the_programs_of_practice_run_on_the_host() -> None:
    areas = dict(probes.areas("cpu"))
    needs_gpu = ("CUDA", "accelerator", "dummy base class", "pin_memory")
    broken = []
    for area in ("practice", "serving"):
        for name, make in areas[area]:
            try:
                make()()
            except (AssertionError, RuntimeError) as error:
                if not any(word in str(error) for word in needs_gpu):
                    broken.append((area, name, str(error)))
    assert broken == []


def test_a_program_is_observed() -> None:
    programs = dict(dict(probes.areas("cpu"))["reads"])
    assert [op for op, _ in observed(programs["item host"])] == ["torch.Tensor.item"]


def test_counts_of_waits() -> None:
    table: dict[str, Count] = {}
    for blocked, waits, warnings in ((False, 0, 0), (True, 2, 2), (True, 0, 0), (True, 5, 5)):
        tally(table, "torch.f", Outcome(blocked, waits, warnings, 1.0))
    assert table == {"torch.f": Count(4, 3, 0, 5, 1)}


def test_a_call_is_measured_once() -> None:
    survey = Survey()
    assert survey.is_new([["torch.f", []]])
    assert not survey.is_new([["torch.f", []]])
    assert survey.is_new([["torch.f", [1]]])

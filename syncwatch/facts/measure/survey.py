"""Runs programs under the witnesses, observes which calls they make, and sums up operation by operation."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from syncwatch.facts import by_leaf
from syncwatch.facts.codec import plain_call, read_call
from syncwatch.facts.describe import Call
from syncwatch.facts.measure.witness import Action, Bench, DeviceLost, Maker, Outcome
from syncwatch.facts.observe import describe_call
from syncwatch.facts.record import recording
from syncwatch.facts.store import Count, Program, Version, raw

LEAF_SLEEP_MS = 4.0
# the areas whose programs reach leaf operations on both sides of their conditions
LEAF_AREAS = frozenset({"reads", "transfers", "copies", "indexing", "shapes", "linalg", "conditions", "remainder"})

MARKERS = "torch._ops.profiler."  # what an optimizer leaves around its step for the profiler

Calls = list[tuple[str, Call]]


@dataclass(slots=True)
class Survey:
    """What has been measured so far."""

    programs: list[Program] = field(default_factory=list)
    samples: list[Program] = field(default_factory=list)  # from torch's own test inputs: evidence, not shipped
    leaf_samples: list[Program] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    seen: set[bytes] = field(default_factory=set)
    sampled: set[str] = field(default_factory=set)  # names of test inputs that an earlier run measured

    @property
    def operations(self) -> dict[str, Count]:
        """What was measured of each public operation, where a program or a test input called nothing else."""
        return summed([*self.programs, *self.samples])

    @property
    def leaves(self) -> dict[str, Count]:
        """The same of each operation of the dispatcher."""
        return summed(self.leaf_samples, warnings_seen=False)

    @property
    def evidence(self) -> list[Program]:
        """Every measured call."""
        return [*self.programs, *self.samples, *self.leaf_samples]

    def keep(self, rows: Iterable[Program]) -> None:
        """Takes over the evidence of an earlier run, but for what was measured again since."""
        areas = {program.area for program in self.programs}
        names = {program.name for program in self.programs}
        for row in rows:
            if row.area == "samples":
                self.samples.append(row)
            elif row.area == "leaves":
                if row.name not in names:
                    self.leaf_samples.append(row)
            elif row.area not in areas:
                self.programs.append(row)

    def add_program(self, area: str, name: str, calls: Calls, outcome: Outcome) -> None:
        self.programs.append(_program(area, name, calls, outcome))

    def is_new(self, calls: list[Any]) -> bool:
        """Whether no call with this description was measured yet."""
        key = msgspec.json.encode(calls)
        if key in self.seen:
            return False
        self.seen.add(key)
        return True


def _program(area: str, name: str, calls: Calls, outcome: Outcome) -> Program:
    plain = [plain_call(op, call) for op, call in calls]
    return Program(area, name, plain, outcome.blocked, outcome.waits, outcome.warnings, outcome.cupti)


def summed(programs: Iterable[Program], *, warnings_seen: bool = True) -> dict[str, Count]:
    """Counts by operation, of the programs that make one call."""
    table: dict[str, Count] = {}
    for program in programs:
        names = [name for name, *_ in program.calls if not name.startswith(MARKERS)]
        if len(names) == 1:
            tally(table, names[0], program, warnings_seen=warnings_seen)
    return table


def tally(table: dict[str, Count], op: str, outcome: Outcome | Program, *, warnings_seen: bool = True) -> None:
    """Adds one call. `warnings_seen`: warnings reach Python here (under a dispatch mode they may go to stderr)."""
    old = table.get(op, Count(0, 0))
    waits = outcome.waits if outcome.blocked else None
    table[op] = Count(
        old.calls + 1,
        old.blocked + outcome.blocked,
        old.fewest_waits if waits is None else (min(old.fewest_waits, waits) if old.blocked else waits),
        old.most_waits if waits is None else max(old.most_waits, waits),
        old.unreported + (warnings_seen and outcome.blocked and outcome.warnings == 0),
    )


def observed(make: Maker) -> Calls:
    """The outermost calls that the program makes, described before each of them runs."""
    with recording() as calls:
        action = make()
        calls.clear()
        action()
        return list(calls)


def run_programs(bench: Bench, survey: Survey, area: str, programs: Iterable[tuple[str, Maker]]) -> None:
    """Measures each program with all witnesses. Raises DeviceLost."""
    for name, make in programs:
        try:
            calls = observed(make)
            outcome = bench.measure(make, cupti=len(calls) == 1)
        except DeviceLost:
            raise
        except Exception as error:  # a program that this version of torch refuses is a result too
            survey.failures.append(
                f"{area}: {name}: {type(error).__name__}: {str(error).splitlines()[0][:120] if str(error) else ''}"
            )
            bench.settle()
            continue
        survey.add_program(area, name, calls, outcome)
        if area not in LEAF_AREAS:
            continue
        try:
            run_leaves(bench, survey, name, make())
        except DeviceLost:
            raise
        except Exception:  # dispatch modes do not see everything: what they cannot run has no leaves
            bench.settle()


def run_samples(bench: Bench, survey: Survey, samples: Iterable[tuple[str, Maker]], seconds: float) -> None:
    """Measures torch's own test inputs: the call as a whole, then each of its leaf operations.

    Calls whose description was met before are skipped. Stops after `seconds`. Raises DeviceLost.
    """
    end = time.monotonic() + seconds
    for name, make in samples:
        if name in survey.sampled:
            continue
        if time.monotonic() > end:
            survey.failures.append(f"samples: stopped after {seconds:.0f} s at {name}")
            return
        try:
            _run_sample(bench, survey, name, make)
        except DeviceLost:
            raise
        except Exception as error:
            survey.failures.append(
                f"samples: {name}: {type(error).__name__}: {str(error).splitlines()[0][:120] if str(error) else ''}"
            )
            bench.settle()


def _run_sample(bench: Bench, survey: Survey, name: str, make: Maker) -> None:
    calls = observed(make)
    plain = [plain_call(op, call) for op, call in calls]
    if not plain or not survey.is_new(plain):
        return
    outcome = bench.once(make())
    survey.samples.append(_program("samples", name, calls, outcome))
    run_leaves(bench, survey, name, make())


def run_leaves(bench: Bench, survey: Survey, name: str, action: Action) -> None:
    """Measures each operation that the dispatcher runs beneath `action`, behind a sleep of its own."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Leaves(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            op = str(func)
            call = describe_call(args, kwargs)
            if not survey.is_new([plain_call(op, call)]):
                return func(*args, **kwargs)
            result: list[Any] = []

            def run() -> None:
                result.append(func(*args, **kwargs))

            outcome = bench.once(run, LEAF_SLEEP_MS)
            survey.leaf_samples.append(_program("leaves", name, [(op, call)], outcome))
            return result[-1]

    with Leaves():
        action()


def leaf_proofs(survey: Survey, most: int = 4) -> list[Program]:
    """The measured leaf operations that prove conditions of the table: at most `most` of each combination of them."""
    taken: Counter[tuple[Any, ...]] = Counter()
    proofs = []
    for sample in survey.leaf_samples:
        op, call = read_call(sample.calls[0])
        fact = by_leaf(op)
        if fact is None or not fact.cases:
            continue
        bound = fact.bind(call)
        key = (op, sample.blocked, *(case.when(bound) for case in fact.cases))
        taken[key] += 1
        if taken[key] <= most:
            proofs.append(sample)
    return proofs


def merged(old: Version, new: Version) -> Version:
    """What was measured before, with the areas and operations that were measured again replaced."""
    again = {program.area for program in new.programs}
    programs = [program for program in old.programs if program.area not in again] + new.programs
    return msgspec.structs.replace(
        new,
        operations={**old.operations, **new.operations},
        leaves={**old.leaves, **new.leaves},
        raw_programs=raw(programs),
    )


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

"""The table's answers agree with what was measured on a GPU."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from syncwatch import facts
from syncwatch.facts import store
from syncwatch.facts.codec import read_call

DATA = Path(__file__).parent / "data"

# (area, program): why the description of the call cannot tell
BEYOND_THE_CALL = {
    ("reads", "equal to itself"): "that both arguments are one tensor is not described",
    ("indexing", "backward of x[mask]"): "the wait is in the graph, not in the call of backward",
    ("remainder", "ctc_loss backward"): "the wait is in the graph, not in the call of backward",
    ("training", "detect_anomaly host"): "the mode does not know where the gradients will be",
    ("conditions", "set_detect_anomaly host"): "the mode does not know where the gradients will be",
    ("library", "save_on_cpu host"): "the mode does not know where the tensors will be",
    ("names", "load"): "the file says where its tensors go",
    ("names", "load host"): "the file says where its tensors go",
    ("names", "untyped_storage copy_"): "a method of C++ that is not observed",
    ("library", "torch.Event.synchronize"): "a method of C++ that is not observed",
    ("library", "masked_tensor.sum"): "operations of MaskedTensor are not in the table, those of torch.masked are",
    ("library", "masked_tensor.mean"): "operations of MaskedTensor are not in the table, those of torch.masked are",
    ("library", "masked_tensor + masked_tensor"): "operations of MaskedTensor are not in the table",
    ("library", "Stream.synchronize of a side stream"): "whether a stream has work left is not described",
    ("library", "Event.synchronize of a side stream"): "whether an event has happened is not described",
    ("library", "Event.synchronize, never recorded"): "whether an event has happened is not described",
    ("library", "mem_pool"): "the pool frees its memory when it dies",
    ("audio", "detect_pitch_frequency"): "it launches more kernels than the driver's queue holds",
    ("ranks", "all_reduce async, waited, gloo"): "the wait is in the handle",
    ("ranks", "DDP second pass, nccl"): "the second pass lays the buckets out again, once",
    ("ranks", "DDP static graph, one unused, first pass, nccl"): "the first pass learns the graph, once",
    ("ranks", "DDP looked for, one unused, first pass, nccl"): "what is unused is known after the first pass",
    ("ranks", "DDP forward, looked for, nccl"): "the backward pass waits, not the forward one",
    ("ranks", "DDP forward, looked for, gloo"): "the backward pass waits, not the forward one",
    ("ranks", "DDP forward, gloo"): "the backward pass waits, not the forward one",
    ("ranks", "DDP backward, looked for, one unused, nccl"): "the wait is in the graph, not in the call of backward",
    ("ranks", "DDP backward, looked for, one unused, gloo"): "the wait is in the graph, not in the call of backward",
}


def answer(calls: list[Any], *, leaf: bool = False) -> bool | None:
    """Whether one of the calls blocks; None where one may and none does for certain."""
    verdicts = []
    for plain in calls:
        op, call = read_call(plain)
        prediction = (facts.predict_leaf if leaf else facts.predict)(op, call)
        verdicts.append(prediction.blocks if prediction is not None else False)
    return True if True in verdicts else (None if None in verdicts else False)


def read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def programs() -> Iterator[store.Program]:
    for version in store.shipped().versions.values():
        yield from version.programs


def test_the_304_expressions() -> None:
    rows = read("expressions.jsonl")
    assert len(rows) == 304
    assert [row["name"] for row in rows if answer(row["calls"]) is not row["blocked"]] == []


def test_the_passages_that_were_foretold() -> None:
    """Written when the table was done, and foretold before they were measured: `foretold` keeps what it said then."""
    rows = read("passages.jsonl")
    assert len(rows) == 286
    foretold = sum(row["foretold"] is row["blocked"] for row in rows)
    assert foretold == 285
    assert [row["name"] for row in rows if answer(row["calls"]) is not row["blocked"]] == []


def test_every_measured_program() -> None:
    wrong = {
        (program.area, program.name): program.calls
        for program in programs()
        if answer(program.calls, leaf=program.area == "leaves") is not program.blocked
    }
    assert {name: calls for name, calls in wrong.items() if name not in BEYOND_THE_CALL} == {}
    assert set(BEYOND_THE_CALL) - set(wrong) == set(), "these agree now: take them off the list"


def test_the_waits_that_were_traced() -> None:
    """Where the table names a number and the trace saw the waits, both agree."""
    wrong = []
    for program in programs():
        if program.area == "leaves" or len(program.calls) != 1 or not program.blocked or not program.waits:
            continue
        op, call = read_call(program.calls[0])
        prediction = facts.predict(op, call)
        if prediction is not None and prediction.blocks and prediction.waits not in (None, program.waits):
            wrong.append((program.name, op, program.waits, prediction.waits))
    assert wrong == []


def test_what_the_sync_debug_mode_reports() -> None:
    wrong = []
    for program in programs():
        if program.area == "leaves" or len(program.calls) != 1 or not program.blocked:
            continue
        op, call = read_call(program.calls[0])
        if op.startswith("torch._ops."):
            continue  # entered through torch.ops, the mode prints to stderr instead of warning
        prediction = facts.predict(op, call)
        if prediction is not None and prediction.blocks and prediction.reported != (program.warnings > 0):
            wrong.append((program.name, op, program.warnings))
    assert wrong == []

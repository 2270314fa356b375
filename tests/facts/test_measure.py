"""The measuring script, with a bench that needs no GPU."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from syncwatch.facts import store  # noqa: E402
from syncwatch.facts.measure import __main__ as script  # noqa: E402
from syncwatch.facts.measure import probes, survey  # noqa: E402
from syncwatch.facts.measure.probes import Program, probe  # noqa: E402
from syncwatch.facts.measure.survey import Survey, run_programs, run_samples  # noqa: E402
from syncwatch.facts.measure.witness import Bench, DeviceLost  # noqa: E402


class HostBench(Bench):
    """Says that whatever reads a value blocks, as it would on a GPU."""

    def __init__(self) -> None:
        self.torch = torch
        self.sleep_ms = 1.0

    def settle(self) -> None:
        pass

    def behind_sleep(self, action: Callable[[], Any], sleep_ms: float | None = None) -> tuple[bool, float, int, int]:
        read = isinstance(action(), float)
        return read, 1.0, int(read), int(read)

    def cuda_calls(self, action: Callable[[], Any]) -> dict[str, int]:
        action()
        return {"cudaStreamSynchronize": 1}


def programs(device: str = "cpu") -> Iterator[Program]:
    yield probe("read", lambda: torch.ones(()), lambda x: x.item())
    yield probe("double", lambda: torch.ones(3), lambda x: x * 2)
    yield probe("refused", lambda: torch.ones(3), lambda x: x.view(7))


def test_programs_are_observed_and_counted() -> None:
    found = Survey()
    run_programs(HostBench(), found, "reads", programs())
    assert [(p.name, p.calls[0][0], p.blocked, p.cupti) for p in found.programs] == [
        ("read", "torch.Tensor.item", True, {"cudaStreamSynchronize": 1}),
        ("double", "torch.Tensor.mul", False, {}),
    ]
    assert found.operations["torch.Tensor.item"] == store.Count(1, 1, 1, 1)
    assert found.failures == ["reads: refused: RuntimeError: shape '[7]' is invalid for input of size 3"]
    assert set(found.leaves) == {"aten._local_scalar_dense.default", "aten.mul.Tensor"}


def test_samples_with_one_description_are_measured_once() -> None:
    found = Survey()
    twice = [*list(programs())[:2], *list(programs())[:2]]
    run_samples(HostBench(), found, twice, seconds=60)
    assert [sample.name for sample in found.samples] == ["read", "double"]


def test_samples_stop_in_time() -> None:
    found = Survey()
    run_samples(HostBench(), found, programs(), seconds=-1)
    assert found.samples == []
    assert found.failures == ["samples: stopped after -1 s at read"]


def saved(path: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> store.Version:
    monkeypatch.setattr(script, "Bench", HostBench)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a bench without a GPU")
    assert script.main(["--out", str(path), "--sample-seconds", "0", *arguments]) == 0
    versions = store.read(path).versions
    assert list(versions) == [torch.__version__.partition("+")[0]]
    return next(iter(versions.values()))


def test_a_partial_run_keeps_what_was_measured_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "measured.json"
    both = [("reads", list(programs())[:1]), ("shapes", list(programs())[1:2])]
    monkeypatch.setattr(probes, "areas", lambda device, names: iter(both if names == probes.EARLY else []))
    first = saved(path, monkeypatch)
    assert {program.area for program in first.programs} == {"reads", "shapes", "leaves"}
    again = saved(path, monkeypatch, "--area", "reads")
    assert sorted(program.name for program in again.programs if program.area != "leaves") == ["double", "read"]
    assert again.operations == first.operations


def test_a_lost_device_keeps_what_was_measured_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose() -> None:
        raise DeviceLost("device-side assert")

    broken = [("reads", [*list(programs())[:1], probe("lost", lambda: (), lose), *list(programs())[1:2]])]
    monkeypatch.setattr(probes, "areas", lambda device, names: iter(broken if names == probes.EARLY else []))
    version = saved(tmp_path / "measured.json", monkeypatch)
    assert [program.name for program in version.programs if program.area == "reads"] == ["read"]


def test_leaf_proofs_are_few() -> None:
    found = Survey()
    row = store.Program("leaves", "x", [["aten.nonzero.default", []]], True, 1, 0)
    silent = store.Program("leaves", "x", [["aten.mul.Tensor", []]], False, 0, 0)
    found.leaf_samples = [row] * 9 + [silent]
    assert survey.leaf_proofs(found, most=3) == [row] * 3


def test_a_run_of_some_areas_completes_the_evidence_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, evidence = tmp_path / "measured.json", tmp_path / "evidence.jsonl"
    read, double, _ = programs()
    for area, program in (("reads", read), ("shapes", double)):
        monkeypatch.setattr(
            probes, "areas", lambda device, names, a=area, p=program: iter([(a, [p])] if names == probes.EARLY else [])
        )
        version = saved(path, monkeypatch, "--area", area, "--evidence", str(evidence))
    assert [(program.area, program.name) for program in version.programs if program.area != "leaves"] == [
        ("shapes", "double"),
        ("reads", "read"),
    ]
    assert version.operations == {
        "torch.Tensor.mul": store.Count(1, 0),
        "torch.Tensor.item": store.Count(1, 1, 1, 1),
    }
    assert {"reads", "shapes", "leaves"} == {json.loads(line)[0] for line in evidence.read_text().splitlines()}


def test_what_would_be_measured_is_listed_without_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main(["--list", "--area", "reads"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "reads: item" in lines
    assert all(line.startswith("reads: ") for line in lines)

"""measured.json: reading, writing, broken and foreign files."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncwatch.facts import store, words
from syncwatch.facts.store import Count, Measured, Program, Version
from syncwatch.model import BrokenFile


def version(**operations: Count) -> Version:
    named = {f"torch.{name}": count for name, count in operations.items()}
    program = Program("reads", "item", [["torch.Tensor.item", [{"sort": "tensor", "device": "cuda"}]]], True, 1, 1)
    return Version(
        "2.12.0+cu130", "13.0", "NVIDIA H200", "2026-12-01", operations=named, raw_programs=store.raw([program])
    )


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "measured.json"
    measured = Measured(store.FORMAT, {"2.12.0": version(nonzero=Count(4, 3, 1, 2, 1)), "2.13.0": version()})
    store.write(measured, path)
    back = store.read(path)
    assert list(back.versions) == ["2.12.0", "2.13.0"]
    for name, wanted in measured.versions.items():
        assert back.versions[name].operations == wanted.operations
        assert back.versions[name].programs == wanted.programs


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "no measured facts"),
        ("{", "no measured facts"),
        ('{"schema_version": 1, "findings": []}', "no measured facts"),
        ('{"format": 1}', "no measured facts"),
        ('{"format": 1, "versions": {"2.11.0": {"torch": "2.11.0"}}}', "no measured facts"),
        ('{"format": 9, "versions": {}}', "format 9, this syncwatch reads 1"),
    ],
)
def test_a_broken_or_foreign_file_is_named(tmp_path: Path, content: str, complaint: str) -> None:
    path = tmp_path / "foreign.json"
    path.write_text(content)
    with pytest.raises(BrokenFile) as raised:
        store.read(path)
    message = str(raised.value)
    assert str(path) in message
    assert complaint in message
    assert "\n" not in message


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BrokenFile, match=r"nowhere\.json: the measured facts cannot be read"):
        store.read(tmp_path / "nowhere.json")


def test_the_shipped_file_names_its_versions() -> None:
    for name, measured in store.shipped().versions.items():
        assert measured.torch.startswith(name)
        assert measured.gpu
        assert measured.date
        assert len(measured.operations) > 500
        assert len(measured.programs) > 1000
    assert store.measured_on(("torch.nonzero",)) == ("2.11.0",)
    assert store.measured_on(("torch.no_such_operation",)) == ()


def test_the_verdict_of_a_count() -> None:
    assert [Count(3, blocked).verdict for blocked in (0, 1, 3)] == ["never", "sometimes", "always"]


def test_what_changed_between_two_versions() -> None:
    old = version(nonzero=Count(4, 4, 1, 1), unique=Count(4, 0), sort=Count(2, 0), inverse=Count(1, 1, 1, 1))
    new = version(nonzero=Count(4, 4, 2, 2), unique=Count(4, 4, 1, 1), sort=Count(3, 0), isin=Count(2, 2, 3, 3))
    assert words.difference(old, new) == [
        "torch.inverse: always blocks, measured on torch 2.12.0+cu130 only",
        "torch.isin: always blocks, measured on torch 2.12.0+cu130 only",
        "torch.nonzero: 1 to 1 waits, now 2 to 2",
        "torch.unique: never blocked, now always (4 calls with different arguments, 4 blocked (1 wait traced))",
    ]
    assert words.difference(old, old) == []

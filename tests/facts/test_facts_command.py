"""`syncwatch facts` as a user meets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncwatch.cli import main
from syncwatch.facts import store, words

PAGE = Path(__file__).parents[2] / "docs" / "facts.md"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["facts", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_an_operation_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "torch.Tensor.index_put_")
    assert status == 0
    assert out.startswith("torch.Tensor.index_put_\n")
    assert "The host waits (dynamic-shape) where the index is a mask on the GPU" in out
    assert "Measured on torch 2.11.0" in out
    assert "NVIDIA H200" in out


def test_a_silent_operation_and_its_host_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "torch.topk")
    assert status == 0
    assert "where a CUDA tensor is passed as `k` or `dim`, which is a host number" in out


def test_the_last_word_of_a_name_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "get_scale")
    assert status == 0
    assert out.startswith("torch.amp.GradScaler.get_scale\n")


def test_an_unknown_operation(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "torch.Tensor.itm")
    assert (status, out) == (2, "")
    assert "does not know torch.Tensor.itm; did you mean torch.Tensor.item" in err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("diff", "2.11.0"), "two versions or files are needed, 1 given"),
        (("diff", "2.11.0", "0.0.1"), "version 0.0.1 was not measured; measured are 2.11.0"),
        (("diff", "2.11.0", "nowhere.json"), "nowhere.json: the measured facts cannot be read"),
    ],
)
def test_a_wrong_diff(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], complaint: str) -> None:
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert complaint in err
    assert err.count("\n") == 1


def test_a_diff_of_a_version_and_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    measured = store.read()
    version = measured.versions["2.11.0"]
    version.operations["torch.sort"] = store.Count(5, 5, 1, 1)
    other = tmp_path / "other.json"
    store.write(store.Measured(store.FORMAT, {"2.12.0": version}), other)
    status, out, _ = run(capsys, "diff", "2.11.0", str(other))
    assert status == 0
    assert "torch.sort: never blocked, now always" in out


def test_versions_live_side_by_side(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measured again with another torch, the file holds both, and every command shows both."""
    measured = store.read()
    newer = store.read().versions["2.11.0"]
    newer.torch = "2.12.0"
    newer.operations["torch.nonzero"] = store.Count(5, 0)
    newer.operations["torch.sort"] = store.Count(5, 5, 1, 1)
    measured.versions["2.12.0"] = newer
    both = tmp_path / "measured.json"
    store.write(measured, both)
    monkeypatch.setattr(store, "shipped", lambda: store.read(both))

    status, out, _ = run(capsys, "diff", "2.11.0", "2.12.0")
    assert status == 0
    assert out.splitlines()[0].startswith("torch 2.11.0+cu130 (NVIDIA H200")
    assert "torch.nonzero: sometimes blocked, now never" in out
    assert "torch.sort: never blocked, now always" in out
    assert out.count("\n") == 3

    _, out, _ = run(capsys, "torch.nonzero")
    assert "Measured on torch 2.11.0+cu130" in out
    assert "Measured on torch 2.12.0" in out
    _, out, _ = run(capsys)
    assert out.count("public operations:") == 2


def test_without_an_operation_it_sums_up(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys)
    assert status == 0
    assert "public operations" in out


def test_the_page_in_the_documentation_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == words.page(), "run: syncwatch facts --markdown > docs/facts.md"

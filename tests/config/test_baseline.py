"""The baseline: what makes a finding the same one, and what happens to entries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from syncwatch import baseline
from syncwatch.baseline import Baseline, Entry
from syncwatch.model import BrokenFile, Finding


@pytest.fixture
def entries_of(
    make_finding: Callable[..., Finding], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], list[Entry]]:
    """The entries of the findings that stand on every line of a text that holds `item`."""
    monkeypatch.chdir(tmp_path)

    def entries(text: str) -> list[Entry]:
        lines = text.splitlines()
        findings = [make_finding("a.py", number) for number, line in enumerate(lines, 1) if "item" in line]
        return baseline.entries(findings, tmp_path, lambda path, line: lines[line - 1])

    return entries


def test_keys_survive_moved_lines_and_other_white_space(entries_of: Callable[[str], list[Entry]]) -> None:
    before = entries_of("x.item()\ny.item()\n")
    after = entries_of("import torch\n\nif 1:\n    x.item( )\n\n\n    y.item()\n")
    assert [entry.key for entry in before] == [entry.key for entry in after]
    assert after[0].source == "x.item( )", "the file stays readable"


def test_keys_tell_alike_lines_apart(entries_of: Callable[[str], list[Entry]]) -> None:
    alike = entries_of("x.item()\nx.item()\n")
    assert [entry.occurrence for entry in alike] == [1, 2]
    assert len({entry.key.digest() for entry in alike}) == 2


def test_a_changed_line_is_another_finding(entries_of: Callable[[str], list[Entry]]) -> None:
    assert entries_of("x.item()\n")[0].key != entries_of("z.item()\n")[0].key


def entry(source: str, path: str = "a.py", rule: str = "SW101", reason: str = "") -> Entry:
    return Entry(path=path, rule=rule, function="fit", source=source, reason=reason)


def test_a_baseline_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "known.json"
    baseline.write(file, [entry("y.item()"), entry("x.item()", reason="once an hour")])
    assert baseline.read(file).entries == (entry("x.item()", reason="once an hour"), entry("y.item()"))
    assert '"reason": "once an hour"' in file.read_text()
    assert file.read_text().endswith("}\n")


def test_entries_are_stale_when_their_finding_is_gone(entries_of: Callable[[str], list[Entry]], tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("")
    there, repaired = entry("x.item()"), entry("y.item()")
    not_checked, removed_file, other_rule = entry("z", "other.py"), entry("z", "gone.py"), entry("w", rule="SW303")
    known = Baseline(entries=(there, repaired, not_checked, removed_file, other_rule))
    present = entries_of("x.item()\n")
    gone = baseline.stale(known, [item.key for item in present], ["a.py"], lambda rule: rule == "SW101", tmp_path)
    assert gone == [repaired, removed_file]

    new = baseline.updated(known, present, gone)
    assert sorted(new, key=lambda item: item.key) == sorted(
        [there, not_checked, other_rule], key=lambda item: item.key
    ), "what was not looked at stays"


def test_reasons_stay_when_the_file_is_written_again(entries_of: Callable[[str], list[Entry]]) -> None:
    known = Baseline(entries=(entry("x.item()", reason="measured: 2 ms an epoch"),))
    new = baseline.updated(known, entries_of("a = 1\nx.item()\ny.item()\n"), [])
    assert [(item.source, item.reason) for item in new] == [
        ("x.item()", "measured: 2 ms an epoch"),
        ("y.item()", ""),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no such baseline; make one with --write-baseline"),
        (b"[]", "not a file that this command can read"),
        (b"", "remove it and write it anew with --write-baseline"),
        (b'{"entries": [{"path": 1}]}', "not a file that this command can read"),
        (b'{"schema_version": 99, "entries": []}', "written by a newer syncwatch"),
    ],
)
def test_a_file_that_is_no_baseline_is_named(tmp_path: Path, content: bytes | None, message: str) -> None:
    file = tmp_path / "known.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(BrokenFile, match=message) as caught:
        baseline.read(file)
    assert str(caught.value).startswith(str(file))


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(BrokenFile, match=r"missing/known.json: cannot be written \(No such file or directory\)"):
        baseline.write(tmp_path / "missing" / "known.json", [])

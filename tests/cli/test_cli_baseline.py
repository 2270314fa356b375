"""`--baseline` and `--write-baseline`: a life of a baseline."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

TWO = """\
import torch

scores = torch.rand(1000, device="cuda")
for step in range(3):
    total = scores.sum().item()
    most = scores.max().item()
"""
MOVED = "# a comment\n\n" + TWO.replace("    most", "    print()\n    most")
REPAIRED = TWO.replace("scores.sum().item()", "scores.sum()")
NEW = TWO + "    least = scores.min().item()\n"


def test_known_findings_stay_silent_until_they_are_repaired(
    syncwatch: Callable[..., Any], check: Callable[..., Any], project: Path
) -> None:
    train = project / "train.py"
    train.write_text(TWO)
    ran = syncwatch("check", "--no-cache", "--write-baseline", "--baseline", "known.json")
    assert ran.status == 0
    assert "note: known.json: holds 2 known findings" in ran.out

    known = ("--baseline", "known.json")
    ran = check(*known)
    assert (ran.status, ran.places, ran.json["summary"]["baselined"]) == (0, [], 2)

    train.write_text(MOVED)
    assert check(*known).places == [], "moved lines are the same findings"

    train.write_text(NEW)
    ran = check(*known)
    assert (ran.status, ran.places) == (1, ["train.py:7 SW101"]), "only what is new is shown"

    # someone says why one of them may stay
    content = json.loads((project / "known.json").read_text())
    entry = next(entry for entry in content["entries"] if "max" in entry["source"])
    entry["reason"] = "read by the scheduler"
    (project / "known.json").write_text(json.dumps(content))

    train.write_text(REPAIRED)
    ran = syncwatch("check", "--no-cache", *known)
    assert ran.status == 0
    assert "train.py no longer has SW101 in the module (`total = scores.sum().item()`)" in ran.out

    ran = syncwatch("check", "--no-cache", "--write-baseline", *known)
    assert "holds 1 known finding; dropped 1 that no longer occurs" in ran.out
    (left,) = json.loads((project / "known.json").read_text())["entries"]
    assert (left["source"], left["reason"]) == ("most = scores.max().item()", "read by the scheduler")
    assert "no longer" not in syncwatch("check", "--no-cache", *known).out


def test_the_configuration_names_the_baseline_from_its_folder(
    check: Callable[..., Any], syncwatch: Callable[..., Any], project: Path
) -> None:
    (project / "syncwatch.toml").write_text('baseline = "lint/known.json"\n')
    (project / "lint").mkdir()
    (project / "src").mkdir()
    (project / "src" / "train.py").write_text(TWO)
    assert check("src").status == 2, "a baseline that is named must be there"
    assert syncwatch("check", "--no-cache", "src", "--write-baseline").status == 0
    entries = json.loads((project / "lint" / "known.json").read_text())["entries"]
    assert {entry["path"] for entry in entries} == {"../src/train.py"}
    assert check("src").places == []


def test_a_check_of_some_files_leaves_the_other_entries_alone(
    check: Callable[..., Any], syncwatch: Callable[..., Any], project: Path
) -> None:
    for name in ("a.py", "b.py"):
        (project / name).write_text(TWO)
    syncwatch("check", "--no-cache", "--write-baseline")
    (project / "a.py").write_text(REPAIRED)
    ran = syncwatch("check", "--no-cache", "a.py", "--baseline", "syncwatch-baseline.json", "--write-baseline")
    assert "holds 3 known findings; dropped 1" in ran.out
    assert check("--baseline", "syncwatch-baseline.json").places == []
    assert check("--baseline", "syncwatch-baseline.json", "--select", "SW3").json["summary"]["notes"] == [], (
        "entries of rules that are not in use are not stale"
    )
    (project / "b.py").unlink()
    ran = check("--baseline", "syncwatch-baseline.json")
    assert len([note for note in ran.json["summary"]["notes"] if note.startswith("syncwatch-baseline.json: b.py")]) == 2


def test_a_narrower_run_calls_nothing_stale(
    check: Callable[..., Any], syncwatch: Callable[..., Any], project: Path
) -> None:
    (project / "once.py").write_text('import torch\nx = torch.rand(3, device="cuda").sum().item()\n')
    syncwatch("check", "--no-cache", "--heat", "all", "--write-baseline")
    assert check("--baseline", "syncwatch-baseline.json").json["summary"]["notes"] == []


def test_a_new_baseline_says_how_it_is_used(syncwatch: Callable[..., Any], project: Path) -> None:
    (project / "train.py").write_text(TWO)
    ran = syncwatch("check", "--no-cache", "--write-baseline")
    assert "holds 2 known findings; leave them out with --baseline syncwatch-baseline.json" in ran.out
    assert syncwatch("check", "--no-cache", "--baseline", "syncwatch-baseline.json").status == 0


def test_another_json_file_is_neither_read_nor_overwritten(syncwatch: Callable[..., Any], project: Path) -> None:
    (project / "train.py").write_text(TWO)
    (project / "package.json").write_text('{"name": "app"}')
    for options in ([], ["--write-baseline"]):
        ran = syncwatch("check", "--no-cache", *options, "--baseline", "package.json")
        assert ran.status == 2
        assert "package.json: not a file that this command can read" in ran.err
    assert (project / "package.json").read_text() == '{"name": "app"}'

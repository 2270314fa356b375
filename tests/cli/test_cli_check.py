"""`syncwatch check`: what it prints, and its exit status."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HAZARD = """\
import torch

scores = torch.rand(1000, device="cuda")
for step in range(3):
    total = scores.sum().item()
"""
CLEAN = HAZARD.replace(".item()", "")
BROKEN = "import torch\ndef (:\n"


def test_text_shows_the_place_the_line_and_the_remedy(syncwatch: Callable[..., Any], project: Path) -> None:
    (project / "train.py").write_text(HAZARD)
    ran = syncwatch("check", "--no-cache")
    lines = ran.out.splitlines()
    assert lines[0].startswith("train.py:5:13: SW101 Tensor.item reads `scores.sum()` on the host")
    assert lines[2] == "  5 |     total = scores.sum().item()"
    assert lines[3] == "    |             ^^^^^^^^^^^^^^^^^^^"
    assert lines[4].startswith("    = help: ")
    assert lines[-1] == "Found 1 finding in 1 of 1 file."
    assert ran.status == 1
    assert "\x1b" not in ran.out, "no colours where the output is no terminal"


def test_json_is_the_documented_form(check: Callable[..., Any], project: Path) -> None:
    (project / "train.py").write_text(HAZARD)
    ran = check()
    assert ran.json["findings"] == [
        {
            "path": "train.py",
            "line": 5,
            "column": 13,
            "end_line": 5,
            "end_column": 32,
            "rule": "SW101",
            "name": "scalar-read",
            "kind": "scalar-read",
            "op": "torch.Tensor.item",
            "message": ran.json["findings"][0]["message"],
            "certainty": "certain",
            "heat": "step",
            "function": "",
            "fix": None,
        }
    ]
    assert ran.json["errors"] == []
    assert ran.json["summary"]["files"] == 1


def test_status_0_for_clean_files(check: Callable[..., Any], project: Path) -> None:
    (project / "train.py").write_text(CLEAN)
    assert (check().status, check().places) == (0, [])


def test_status_2_for_a_file_that_does_not_parse_and_the_rest_is_checked(
    check: Callable[..., Any], syncwatch: Callable[..., Any], project: Path
) -> None:
    (project / "a.py").write_text(BROKEN)
    (project / "b.py").write_text(HAZARD)
    ran = check()
    assert ran.status == 2
    assert ran.places == ["b.py:5 SW101"]
    (error,) = ran.json["errors"]
    assert (error["path"], error["line"]) == ("a.py", 2)
    assert error["message"].startswith("not valid Python")
    assert "a.py:2: error: not valid Python" in syncwatch("check", "--no-cache").out


def test_status_2_for_a_path_that_is_not_there(check: Callable[..., Any], project: Path) -> None:
    (project / "b.py").write_text(HAZARD)
    ran = check("b.py", "nothing.py")
    assert ran.status == 2
    assert ran.json["errors"][0]["path"] == "nothing.py"
    assert ran.places == ["b.py:5 SW101"]


def test_exit_zero_is_for_findings_not_for_errors(check: Callable[..., Any], project: Path) -> None:
    (project / "b.py").write_text(HAZARD)
    assert check("--exit-zero").status == 0
    (project / "a.py").write_text(BROKEN)
    assert check("--exit-zero").status == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--select", "scalar-raed"],
            "--select: `select` names 'scalar-raed', which is no rule; did you mean 'scalar-read'?",
        ),
        (["--heat", "hot"], "--heat: `heat` does not know 'hot'"),
        (["--config", "none.toml"], "none.toml: cannot be read (No such file or directory)"),
        (["--config", "x.toml", "--isolated"], "--config and --isolated exclude each other"),
        (["--baseline", "none.json"], "none.json: there is no such baseline; make one with --write-baseline"),
        (["-", "x.py"], "- (standard input) goes with no other path"),
        (["--stdin-filename", "x.py"], "--stdin-filename goes with - (standard input) only"),
        (["--fix", "--diff"], "--fix and --diff exclude each other"),
        (["--diff-only", "HEAD"], "--diff-only needs a git repository"),
        (["-o", "x.py", "."], "-o x.py: would be written over a source file; give the report a name of its own"),
        (["-o", "no/such/folder.txt"], "no/such/folder.txt: cannot be written (No such file or directory)"),
        (["--statistics", "--output-format", "sarif"], "--statistics goes with text, concise or json, not with sarif"),
    ],
)
def test_mistakes_are_one_sentence_and_status_2(
    syncwatch: Callable[..., Any], project: Path, arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(project.parent))
    (project / "x.py").write_text(CLEAN)
    ran = syncwatch("check", "--no-cache", *arguments)
    assert ran.status == 2
    assert message in ran.err
    assert ran.err.startswith("syncwatch: ")
    assert len(ran.err.splitlines()) == 1
    assert (project / "x.py").read_text() == CLEAN


def test_a_wrong_key_in_the_configuration_is_status_2(syncwatch: Callable[..., Any], project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.syncwatch]\nselct = []\n")
    ran = syncwatch("check")
    assert (ran.status, ran.err) == (
        2,
        "syncwatch: pyproject.toml:2: unknown key 'selct'; did you mean 'select'?\n",
    )


def test_rules_are_chosen_on_the_command_line(check: Callable[..., Any], project: Path) -> None:
    (project / "train.py").write_text(HAZARD)
    assert check("--select", "SW2").places == []
    assert check("--select", "SW2", "--extend-select", "scalar-read").places == ["train.py:5 SW101"]
    assert check("--ignore", "SW1,SW3").places == []


def test_heat_and_certainty_widen_what_is_shown(check: Callable[..., Any], project: Path) -> None:
    (project / "once.py").write_text('import torch\nx = torch.rand(3, device="cuda").sum().item()\n')
    assert check().places == []
    assert check("--heat", "all").places == ["once.py:2 SW101"]
    assert check("--heat", "setup,epoch").places == ["once.py:2 SW101"]
    (project / "once.py").unlink()
    (project / "train.py").write_text(HAZARD)
    assert check("--certainty", "certain").places == ["train.py:5 SW101"]


def test_the_configuration_chooses_too(check: Callable[..., Any], project: Path) -> None:
    (project / "old").mkdir()
    for name in ("train.py", "old/a.py", "gen_pb2.py"):
        (project / name).write_text(HAZARD)
    (project / "syncwatch.toml").write_text('extend-exclude = ["*_pb2.py"]\nper-file-ignores = {"old/*" = ["SW1"]}\n')
    assert check().places == ["train.py:5 SW101"]
    assert check("--isolated").places == ["gen_pb2.py:5 SW101", "old/a.py:5 SW101", "train.py:5 SW101"]
    assert check("gen_pb2.py").places == ["gen_pb2.py:5 SW101"], "a file that is named is checked"
    assert check("gen_pb2.py", "--force-exclude").places == []


def test_what_git_ignores_is_left_out(check: Callable[..., Any], project: Path) -> None:
    (project / ".git").mkdir()
    (project / ".gitignore").write_text("scratch/\n")
    (project / "scratch").mkdir()
    (project / "scratch" / "a.py").write_text(HAZARD)
    assert check().places == []
    assert check("--no-respect-gitignore").places == ["scratch/a.py:5 SW101"]


def test_the_report_goes_to_a_file(syncwatch: Callable[..., Any], project: Path) -> None:
    (project / "train.py").write_text(HAZARD)
    ran = syncwatch("check", "--no-cache", "--output-format", "json", "-o", "report.json")
    assert (ran.status, ran.out) == (1, "")
    assert len(json.loads((project / "report.json").read_text())["findings"]) == 1


def test_quiet_and_statistics(syncwatch: Callable[..., Any], project: Path) -> None:
    (project / "train.py").write_text(HAZARD)
    ran = syncwatch("check", "--no-cache", "-q", "--no-show-source")
    assert len(ran.out.splitlines()) == 1
    assert syncwatch("check", "--no-cache", "--statistics").out.splitlines()[0] == "1  SW101  scalar-read"
    (project / "train.py").write_text(CLEAN)
    assert syncwatch("check", "--no-cache", "-q").out == ""


def test_standard_input_is_checked_under_its_name(check: Callable[..., Any], project: Path) -> None:
    assert check("-", stdin=HAZARD.encode()).places == ["stdin.py:5 SW101"]
    (project / "pkg").mkdir()
    (project / "pkg" / "helper.py").write_text('import torch\ndef make():\n    return torch.rand(3, device="cuda")\n')
    user = "import torch\nfrom helper import make\nfor step in range(9):\n    x = make().sum().item()\n"
    ran = check("-", "--stdin-filename", "pkg/new.py", stdin=user.encode())
    assert ran.places == ["pkg/new.py:4 SW101"], "the file's neighbours are known"


def test_a_notebook_is_reported_by_cell(
    syncwatch: Callable[..., Any], check: Callable[..., Any], project: Path
) -> None:
    first, *rest = HAZARD.splitlines(keepends=True)
    cells = [
        {"cell_type": "markdown", "source": ["# Title"], "metadata": {}},
        {"cell_type": "code", "source": ["%matplotlib inline\n", first], "metadata": {}, "outputs": []},
        {"cell_type": "code", "source": rest, "metadata": {}, "outputs": []},
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (project / "nb.ipynb").write_text(json.dumps(notebook))
    assert syncwatch("check", "--no-cache").out.startswith("nb.ipynb:cell 3:4:13: SW101 ")
    (finding,) = check().json["findings"]
    assert (finding["cell"], finding["cell_line"]) == (3, 4)


def test_findings_come_in_a_stable_order(check: Callable[..., Any], project: Path) -> None:
    for name in ("b.py", "a.py", "a/z.py", "B.py"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(HAZARD)
    places = check().places
    assert places == sorted(places, key=lambda place: place.split(":")[0].split("/"))
    assert check("b.py", "a", "a.py", "B.py", "a.py").places == places


def test_rules_of_the_project_are_used(check: Callable[..., Any], project: Path) -> None:
    (project / "lint").mkdir()
    (project / "lint" / "ACME1-no-item.md").write_text(
        '```toml\nid = "ACME101"\nname = "no-item"\nkinds = ["scalar-read"]\nops = ["torch.Tensor.item"]\n'
        'via = ["call"]\nmessage = "{op} is not done here"\nremedy = "do not"\nsince = "1"\n```\n\n# No item\n'
    )
    (project / "syncwatch.toml").write_text('rules = ["lint"]\n')
    (project / "train.py").write_text(HAZARD)
    assert check().places == ["train.py:5 ACME101"], "the more specific rule has the event"


def test_suppressions_and_what_is_wrong_with_them(check: Callable[..., Any], project: Path) -> None:
    (project / "train.py").write_text(
        HAZARD.replace(".item()", ".item()  # syncwatch: ignore[SW101] the only value of the step")
    )
    ran = check()
    assert (ran.status, ran.places, ran.json["summary"]["suppressed"]) == (0, [], 1)
    (project / "train.py").write_text(CLEAN + "x = 1  # noqa: SW101\n")
    ran = check()
    assert ran.places == ["train.py:6 SW000"]
    assert ran.json["findings"][0]["fix"]["safe"] is True
    assert check("--ignore", "SW000").places == []
    assert check("--select", "SW3").places == [], "a rule that is not in use is not called unused"


def test_a_suppression_of_what_is_hidden_by_default_is_in_use(check: Callable[..., Any], project: Path) -> None:
    (project / "once.py").write_text(
        'import torch\nx = torch.rand(3, device="cuda").sum().item()  # syncwatch: ignore[SW101] once\n'
    )
    assert check().places == []


def test_a_part_of_a_project_calls_no_suppression_unused(check: Callable[..., Any], project: Path) -> None:
    (project / "helper.py").write_text(
        "import torch\ndef read(x):\n    return x.item()  # syncwatch: ignore[SW101] the scheduler needs it\n"
    )
    (project / "train.py").write_text(
        'import torch\nfrom helper import read\nfor step in range(3):\n    read(torch.rand(1, device="cuda"))\n'
    )
    assert check().places == []
    assert check("helper.py", "--partial").places == []
    (project / "helper.py").write_text("import torch\nx = 1  # syncwatch: ignore[SW999]\n")
    assert check("helper.py", "--partial").places == ["helper.py:2 SW000"], "what names no rule is wrong anyway"


def test_fix_removes_unused_suppressions(
    syncwatch: Callable[..., Any], check: Callable[..., Any], project: Path
) -> None:
    before = (
        b"import torch\r\n"
        b"# syncwatch: ignore[SW101] nothing here\r\n"
        b"a = 1  # syncwatch: ignore[SW101, SW303]\r\n"
        b"b = 2  # noqa: E501, SW101\r\n"
        b"c = 3  # type: ignore  # noqa: SW101\r\n"
    )
    after = b"import torch\r\na = 1\r\nb = 2  # noqa: E501\r\nc = 3  # type: ignore\r\n"
    (project / "a.py").write_bytes(before)
    diff = syncwatch("check", "--no-cache", "--diff")
    assert diff.status == 1
    assert "-a = 1  # syncwatch: ignore[SW101, SW303]" in diff.out
    assert (project / "a.py").read_bytes() == before
    ran = syncwatch("check", "--no-cache", "--fix")
    assert (project / "a.py").read_bytes() == after
    assert "note: made 4 repairs in 1 file" in ran.out
    assert ran.status == 0
    assert syncwatch("check", "--no-cache", "--diff").out == ""


def test_colours_on_request_and_never_with_no_color(
    syncwatch: Callable[..., Any], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "train.py").write_text(HAZARD)
    assert "\x1b[31;1mSW101" in syncwatch("check", "--no-cache", "--color", "always").out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert "\x1b" in syncwatch("check", "--no-cache").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in syncwatch("check", "--no-cache").out


def test_a_reader_that_leaves_early_is_no_crash(project: Path) -> None:
    for number in range(200):
        (project / f"t{number}.py").write_text(HAZARD)
    done = subprocess.run(
        f"{sys.executable} -m syncwatch check --no-cache | head -1",
        shell=True,
        cwd=project,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.startswith("t0.py:5:13")
    assert done.stderr == ""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_a_check_with_one_line(project: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "syncwatch", "check", "--no-cache", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(
            "# more than a pipe holds, so that the check has begun when all of it is written\n" * 20_000
        )
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "syncwatch: interrupted\n")


def test_watch_checks_again_when_a_file_changes(project: Path) -> None:
    (project / "train.py").write_text(CLEAN)
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "syncwatch", "check", "--no-cache", "--watch", "--output-format", "concise"],
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "No findings in 1 file.\n"
        assert "waiting for changes" in process.stderr.readline()
        (project / "train.py").write_text(HAZARD)
        assert process.stdout.readline().startswith("train.py:5:13: SW101")
        assert process.stdout.readline() == "Found 1 finding in 1 of 1 file.\n"
        while "waiting for changes" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 1


def test_a_file_that_is_no_python_is_reported_whatever_it_names(project: Path) -> None:
    """Also on the second run, from the cache."""
    (project / "train.py").write_text(CLEAN)
    (project / "broken.py").write_text("def f(:\n")
    (project / "plain.py").write_text("import json\n")
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-m", "syncwatch", "check", "--output-format", "json", "."],
            cwd=project,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        errors = json.loads(done.stdout)["errors"]
        assert [(error["path"], error["line"]) for error in errors] == [("broken.py", 1)]

"""`config`, `clean`, `completion`, and the help of all commands."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from syncwatch.cli import completion
from syncwatch.cli.commands import COMMANDS
from syncwatch.config import OPTIONS


def test_config_says_what_is_in_force_and_where_from(syncwatch: Callable[..., Any], project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.syncwatch]\nselect = ["SW1"]\ncertainty = "certain"\n')
    ran = syncwatch("config")
    assert ran.status == 0
    assert re.search(r'^select = \["SW1"\] +# pyproject.toml:2$', ran.out, re.M)
    assert re.search(r'^certainty = "certain" +# pyproject.toml:3$', ran.out, re.M)
    assert re.search(r"^ignore = \[\] +# default$", ran.out, re.M)
    assert re.search(r"^# heat is not set +# default$", ran.out, re.M)
    assert "# rules in use: SW101, " in ran.out
    for option in OPTIONS:
        assert re.search(rf"^(# )?{option.key} ", ran.out, re.M), option.key


def test_config_prints_toml_that_means_the_same(syncwatch: Callable[..., Any], project: Path) -> None:
    (project / "syncwatch.toml").write_text('ignore = ["SW303"]\nper-file-ignores = { "a/*" = ["ALL"] }\n')
    once = syncwatch("config").out
    (project / "syncwatch.toml").write_text(once)
    again = syncwatch("config").out
    values = [line.split("  #")[0].rstrip() for line in once.splitlines()]
    assert values == [line.split("  #")[0].rstrip() for line in again.splitlines()]


def test_config_as_json(syncwatch: Callable[..., Any], project: Path) -> None:
    (project / "syncwatch.toml").write_text('heat = ["step"]\n')
    document = syncwatch("config", "--output-format", "json").json
    assert document["values"]["heat"] == {"value": ["step"], "origin": "syncwatch.toml:1"}
    assert document["values"]["baseline"] == {"value": None, "origin": "default"}
    assert "SW101" in document["rules_in_use"]


def test_config_refuses_a_word_that_names_no_rule(syncwatch: Callable[..., Any], project: Path) -> None:
    (project / "syncwatch.toml").write_text('ignore = ["scalar-raed"]\n')
    ran = syncwatch("config")
    assert (ran.status, ran.err) == (
        2,
        "syncwatch: syncwatch.toml:1: `ignore` names 'scalar-raed', which is no rule; did you mean 'scalar-read'?\n",
    )


def test_config_names_a_path_that_is_not_there(syncwatch: Callable[..., Any], project: Path) -> None:
    ran = syncwatch("config", "nowhere")
    assert (ran.status, ran.err) == (2, "syncwatch: nowhere: no such file or folder\n")


def test_clean_removes_the_cache(syncwatch: Callable[..., Any], project: Path) -> None:
    (project / "syncwatch.toml").write_text("")
    (project / "train.py").write_text("import torch\n")
    syncwatch("check")
    assert (project / ".syncwatch_cache").is_dir()
    ran = syncwatch("clean", "train.py")
    assert (ran.status, ran.out) == (0, f"removed {project / '.syncwatch_cache'}\n")
    assert not (project / ".syncwatch_cache").exists()
    assert syncwatch("clean").out == f"no cache in {project}\n"


def test_help_lists_every_command(syncwatch: Callable[..., Any]) -> None:
    ran = syncwatch("--help")
    assert ran.status == 0
    for command in COMMANDS:
        assert re.search(rf"^ +{command.name} +\S", ran.out, re.M), command.name


@pytest.mark.parametrize("command", [command.name for command in COMMANDS])
def test_every_command_and_option_has_a_help_text(command: str, syncwatch: Callable[..., Any]) -> None:
    ran = syncwatch(command, "--help")
    assert ran.status == 0
    assert ran.out.startswith(f"usage: syncwatch {command}")
    for flag in completion.words()[command].flags:
        assert flag.help, f"{command} {flag.names} has no help"


def test_no_command_is_a_mistake(syncwatch: Callable[..., Any]) -> None:
    assert syncwatch().status == 2
    ran = syncwatch("chekc")
    assert ran.status == 2
    assert "chekc" in ran.err


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_completion_knows_every_command_and_option(shell: str) -> None:
    text = completion.script(shell)
    for name, command in completion.words().items():
        assert re.search(rf"\b{name}\b", text), name
        for flag in command.flags:
            for spelling in flag.names:
                shown = f"-l {spelling[2:]}" if shell == "fish" and spelling.startswith("--") else spelling
                assert shown in text or (shell == "fish" and f"-s {spelling[1:]}" in text), (name, spelling)


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_the_shell_accepts_the_script(shell: str, syncwatch: Callable[..., Any], project: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (project / "script").write_text(syncwatch("completion", shell).out)
    subprocess.run([shell, "-n", "script"], cwd=project, check=True, timeout=30)


def bash_completes(script: str, *typed: str, cwd: Path) -> list[str]:
    """What bash offers for the last word typed."""
    words = " ".join(f"'{word}'" for word in typed)
    program = (
        f'{script}\nCOMP_WORDS=({words}); COMP_CWORD={len(typed) - 1}; _syncwatch\nprintf "%s\\n" "${{COMPREPLY[@]}}"\n'
    )
    done = subprocess.run(["bash", "-c", program], cwd=cwd, capture_output=True, text=True, check=True, timeout=30)
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_options_choices_and_files(project: Path) -> None:
    script = completion.script("bash")
    (project / "train.py").write_text("")
    assert bash_completes(script, "syncwatch", "ch", cwd=project) == ["check"]
    assert bash_completes(script, "syncwatch", "check", "--write", cwd=project) == ["--write-baseline"]
    assert bash_completes(script, "syncwatch", "check", "--output-format", "g", cwd=project) == ["github", "gitlab"]
    assert bash_completes(script, "syncwatch", "check", "tr", cwd=project) == ["train.py"]
    assert bash_completes(script, "syncwatch", "completion", "", cwd=project) == list(completion.SHELLS)


def test_explain_and_rules_answer(syncwatch: Callable[..., Any]) -> None:
    assert "SW101" in syncwatch("explain", "SW101").out
    rules = json.loads(syncwatch("rules", "--output-format", "json").out)["rules"]
    assert {"SW101", "SW303"} <= {rule["id"] for rule in rules}


def test_clean_names_a_path_that_is_not_there(syncwatch: Callable[..., Any], project: Path) -> None:
    ran = syncwatch("clean", "nowhere")
    assert (ran.status, ran.out) == (2, "")
    assert "nowhere: no such file or folder" in ran.err


def test_facts_name_a_file_that_is_not_there(syncwatch: Callable[..., Any], project: Path) -> None:
    ran = syncwatch("facts", "diff", "nowhere.json", "nowhere.json")
    assert ran.status == 2
    assert "nowhere.json: the measured facts cannot be read" in ran.err
    assert "give a file that python -m syncwatch.facts.measure wrote" in ran.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("redirection", "status", "says"),
    [
        (">/dev/full", 2, "syncwatch: the output: cannot be written (No space left on device)\n"),
        (">&-", 1, ""),
    ],
)
@pytest.mark.parametrize("options", ["check --no-cache --output-format concise", "check --no-cache"])
def test_an_output_that_takes_nothing_is_one_sentence_at_most(
    redirection: str, status: int, says: str, options: str, project: Path
) -> None:
    (project / "train.py").write_text(
        'import torch\nfor _ in range(9):\n    torch.ones(3, device="cuda").sum().item()\n'
    )
    command = f"{shlex.quote(sys.executable)} -m syncwatch {options} {redirection}"
    ran = subprocess.run(["sh", "-c", command], cwd=project, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (status, says)


def test_a_project_s_own_logging_does_not_stand_for_python_s(project: Path) -> None:
    (project / "logging.py").write_text("import torch\nraise SystemExit('imported')\n")
    ran = subprocess.run(
        [sys.executable, "-m", "syncwatch", "check", "--no-cache", "--quiet", "logging.py"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout + ran.stderr) == (0, "")

"""The documentation of the commands and the configuration says what is true, and leaves nothing out."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from syncwatch import config
from syncwatch.cli import completion, parser_of
from syncwatch.cli.commands import COMMANDS
from syncwatch.model import Finding
from syncwatch.report import FORMATS
from syncwatch.static.lower import lower
from syncwatch.suppress import complaints, read

DOCS = Path(__file__).parent.parent / "docs"
CONFIGURATION = (DOCS / "configuration.md").read_text(encoding="utf-8")
COMMANDS_PAGE = (DOCS / "commands.md").read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    """The code blocks of one language, such as "toml" or "toml pyproject"."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.S | re.M)


@pytest.fixture(scope="module")
def command_docs(load_support: Callable[[str], ModuleType]) -> ModuleType:
    return load_support("command_docs")


def test_the_tables_of_options_are_those_of_the_commands(command_docs: ModuleType) -> None:
    assert command_docs.refreshed(COMMANDS_PAGE) == COMMANDS_PAGE, (
        "an option is new or changed: run `python tests/support/command_docs.py`"
    )


@pytest.mark.parametrize("command", [command.name for command in COMMANDS])
def test_every_command_has_a_section_and_every_option_is_named(command: str) -> None:
    section = re.search(rf"^## {command}$(.*?)(?=^## |\Z)", COMMANDS_PAGE, re.S | re.M)
    assert section is not None, f"docs/commands.md has no section `## {command}`"
    assert f"<!-- options of {command} -->" in section[1]
    for flag in completion.words()[command].flags:
        for spelling in flag.names:
            assert spelling in ("-h", "--help") or f"`{spelling}" in section[1], f"{command} {spelling}"


def test_every_format_is_described() -> None:
    for item in FORMATS:
        assert re.search(rf"^\| `{item.name}` \| ", COMMANDS_PAGE, re.M), item.name


def test_every_key_of_the_configuration_has_a_section() -> None:
    headings = re.findall(r"^### (.+)$", CONFIGURATION, re.M)
    assert sorted(headings) == sorted(option.key for option in config.OPTIONS)


def test_the_examples_of_the_configuration_are_accepted(tmp_path: Path) -> None:
    examples = blocks(CONFIGURATION, "toml")
    assert len(examples) >= 5
    for example in examples:
        (tmp_path / "syncwatch.toml").write_text(example)
        config.read(tmp_path / "syncwatch.toml")
    (example,) = blocks(CONFIGURATION, "toml pyproject")
    (tmp_path / "pyproject.toml").write_text(example)
    assert config.read(tmp_path / "pyproject.toml").per_file_ignores == {"benchmarks/*": ("ALL",)}


@pytest.mark.parametrize(
    "line", [*re.findall(r"^\$ (syncwatch .*)$", COMMANDS_PAGE + CONFIGURATION, re.M), "syncwatch check --heat all"]
)
def test_the_commands_in_the_text_are_accepted(line: str) -> None:
    words = shlex.split(re.split(r" [<>|] ", line)[0])[1:]
    assert parser_of({words[0]}).parse_args(words).command == words[0]


def test_the_example_of_json_has_the_fields_of_a_finding() -> None:
    (example,) = blocks(COMMANDS_PAGE, "json")
    document = json.loads(example)
    assert list(document["findings"][0]) == list(Finding.__struct_fields__)


def test_the_examples_of_suppressions_are_understood() -> None:
    (example,) = blocks(CONFIGURATION, "python")
    suppressions = read("a.py", lower(example, "a.py"), lambda word: word.startswith("SW"))
    assert [item.codes for item in suppressions] == [("SW101",), ("SW101", "SW104"), ("SW401",)]
    assert [item.first for item in suppressions] == [1, 4, 0]
    for item in suppressions:
        item.used.update(item.codes)
    assert complaints(suppressions, known=lambda _: True, judged=lambda _: True, require_reason=True) == []

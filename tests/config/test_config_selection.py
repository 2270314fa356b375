"""Which rules a configuration selects."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncwatch.catalog import load
from syncwatch.config import Config, ConfigError
from syncwatch.model import Certainty, Finding, Heat, Kind
from syncwatch.select import Selection, names_rule


def finding(path: str, rule: str = "SW101") -> Finding:
    return Finding(
        path=path, line=1, column=1, end_line=1, end_column=2, rule=rule, name="scalar-read", kind=Kind.SCALAR_READ,
        op="", message="", certainty=Certainty.CERTAIN, heat=Heat.STEP, function="",
    )  # fmt: skip


@pytest.mark.parametrize("word", ["SW101", "sw101", "SW1", "SW", "ALL", "all", "scalar-read", " Scalar-Read "])
def test_words_that_name_a_rule(word: str) -> None:
    assert names_rule(word, "SW101", "scalar-read")


@pytest.mark.parametrize("word", ["SW102", "SW2", "S", "1", "scalar", "", "ABC"])
def test_words_that_do_not(word: str) -> None:
    assert not names_rule(word, "SW101", "scalar-read")


def test_all_rules_are_selected_by_default() -> None:
    catalog = load()
    assert Selection(catalog, Config()).selected == {"SW000", *(rule.id for rule in catalog)}


def test_ignore_wins_over_select() -> None:
    catalog = load()
    selection = Selection(catalog, Config(select=("SW1",), extend_select=("SW000",), ignore=("SW101",)))
    assert selection.selected == {"SW000"} | {
        rule.id for rule in catalog if rule.id.startswith("SW1") and rule.id != "SW101"
    }
    assert not selection.in_use("SW101")
    assert not selection.in_use("SW1"), "not all of them"
    assert not selection.shows(finding("a.py"))


def test_rules_are_left_out_by_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ignores = {"tests/*": ("SW1",), "**/*_gen.py": ("ALL",)}
    selection = Selection(load(), Config(root=tmp_path, per_file_ignores=ignores))
    assert not selection.shows(finding("tests/a.py"))
    assert selection.shows(finding("tests/a.py", "SW303"))
    assert not selection.shows(finding("deep/er/x_gen.py", "SW303"))
    assert selection.shows(finding("src/a.py"))
    monkeypatch.chdir("/")
    assert not selection.shows(finding(str(tmp_path / "tests" / "a.py"))), (
        "patterns refer to the configuration's folder"
    )


def test_a_word_that_names_no_rule_is_an_error_with_the_nearest() -> None:
    with pytest.raises(ConfigError) as caught:
        Selection(load(), Config(select=("scalar-raed",), origins={"select": "--select"}))
    assert str(caught.value) == "--select: `select` names 'scalar-raed', which is no rule; did you mean 'scalar-read'?"

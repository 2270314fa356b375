"""`syncwatch explain` and `syncwatch rules`."""

from __future__ import annotations

import json

import pytest

from syncwatch import catalog
from syncwatch.cli import main


@pytest.mark.parametrize("word", ["SW101", "sw101", "scalar-read"])
def test_explain_finds_a_rule_by_id_and_by_name(capsys, word):
    assert main(["explain", word]) == 0
    out = capsys.readouterr().out
    assert out.startswith("SW101 scalar-read · scalar-read · shown in: step\n")
    for section in catalog.SECTIONS:
        assert f"## {section}\n" in out
    assert "Waits:\n\n```python\nimport torch" in out
    assert "toml" not in out


def test_explain_names_the_nearest_rule(capsys):
    assert main(["explain", "scalar-reed"]) == 2
    assert capsys.readouterr().err == "syncwatch: there is no rule 'scalar-reed'; did you mean scalar-read?\n"


def test_explain_knows_the_rule_about_suppressions(capsys):
    assert main(["explain", "SW000"]) == 0
    assert "keeps a finding silent" in capsys.readouterr().out


HOUSE_RULE = """\
```toml
id = "TEAM001"
name = "house-rule"
kinds = ["scalar-read"]
since = "1.0.0"
message = "{subject} is read"
remedy = "do not"
```
# A rule of the house
"""


def test_rules_of_the_configuration_are_explained_too(capsys, tmp_path, monkeypatch):
    (tmp_path / "lint").mkdir()
    (tmp_path / "lint" / "TEAM001-house-rule.md").write_text(HOUSE_RULE)
    (tmp_path / "pyproject.toml").write_text('[tool.syncwatch]\nrules = ["lint"]\n')
    monkeypatch.chdir(tmp_path)
    assert main(["explain", "house-rule"]) == 0
    assert "# A rule of the house" in capsys.readouterr().out


def test_explain_json_holds_head_sections_and_programs(capsys):
    assert main(["explain", "SW101", "--output-format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["schema_version"], told["id"], told["kinds"]) == (1, "SW101", ["scalar-read"])
    assert set(told["sections"]) == set(catalog.SECTIONS)
    bad = next(block for block in told["blocks"] if block["tag"] == "bad")
    assert ["scalar-read"] in bad["marks"].values()


def test_explain_renders_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert main(["explain", "SW101"]) == 0
    out = capsys.readouterr().out
    assert "One value of a device tensor is read on the host" in out
    assert "```" not in out


def test_rules_lists_every_rule_on_a_line(capsys):
    assert main(["rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [rule.id for rule in catalog.load()]
    assert lines[0].endswith("One value of a device tensor is read on the host")


def test_rules_json_is_the_heads(capsys):
    assert main(["rules", "--output-format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [rule["id"] for rule in told["rules"]] == [rule.id for rule in catalog.load()]
    assert {"id", "name", "kinds", "heat", "message", "remedy", "since", "title"} <= set(told["rules"][0])


def test_a_broken_rule_folder_is_one_sentence(capsys, tmp_path):
    (tmp_path / "bad.md").write_text("# no head\n")
    assert main(["rules", "--rules", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"syncwatch: {tmp_path}/bad.md: head: ")
    assert err.count("\n") == 1

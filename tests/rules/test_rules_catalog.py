"""Rule files: what a head may hold, and what a broken one is answered with."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncwatch import catalog
from syncwatch.model import Heat, Kind

HEAD = """\
id = "TEAM001"
name = "house-rule"
kinds = ["scalar-read"]
ops = ["house.read"]
since = "1.0"
message = "{op} reads {subject}"
remedy = "do not"
"""

TEXT = """\
# A rule of the house

## What it finds

Reads.

```python bad
import torch

x = torch.ones((), device="cuda")
x.item()  # sync: scalar-read
y = x.cpu().numpy()  # sync: tensor-read  # hazard: early-read
```
"""


@pytest.fixture
def write(tmp_path: Path):
    def write(head: str = HEAD, text: str = TEXT, name: str = "TEAM001-house-rule.md") -> Path:
        path = tmp_path / name
        path.write_text(f"```toml\n{head}```\n\n{text}", encoding="utf-8")
        return path

    return write


def test_a_head_becomes_a_rule(write):
    rule = catalog.read_rule(write(HEAD + 'heat = ["step", "epoch"]\n'))
    assert (rule.id, rule.name, rule.kinds) == ("TEAM001", "house-rule", (Kind.SCALAR_READ,))
    assert rule.heat == (Heat.STEP, Heat.EPOCH)
    assert rule.title == "A rule of the house"


def test_a_document_holds_sections_and_marked_programs(write):
    path = write()
    document = catalog.read_document(catalog.read_rule(path))
    assert document.sections["What it finds"].startswith("Reads.")
    (block,) = document.blocks
    assert block.tag == "bad"
    assert path.read_text().splitlines()[block.line - 1] == "import torch"
    assert block.marks == {
        4: ((Kind.SCALAR_READ, True),),
        5: ((Kind.TENSOR_READ, True), (Kind.EARLY_READ, False)),
    }


def test_rules_of_ones_own_join_the_built_in_ones(write):
    rules = catalog.load([write().parent])
    assert rules.find("team001") is rules.find("house-rule")
    assert rules.find("SW101").name == "scalar-read"
    assert [rule.id for rule in rules] == sorted(rule.id for rule in rules)


@pytest.mark.parametrize(
    ("head", "says"),
    [
        (HEAD.replace('since = "1.0"', ""), "since: the head lacks the key"),
        (HEAD + 'colour = "red"\n', "colour: a rule's head has no key"),
        (HEAD.replace('["scalar-read"]', '["scalar-reed"]'), "kinds[0]: Invalid enum value 'scalar-reed'"),
        (HEAD.replace('["scalar-read"]', '"scalar-read"'), "kinds: Expected `array`, got `str`"),
        (HEAD.replace('["scalar-read"]', "[]"), "kinds: the list is empty"),
        (HEAD.replace("TEAM001", "one"), "id: 'one' is not letters and a number"),
        (HEAD.replace("house-rule", "House Rule"), "name: 'House Rule' is not lower-case"),
        (HEAD.replace("{subject}", "{value}"), "message: knows {subject}, {op} and {detail}, but not {value}"),
        (HEAD.replace('"do not"', "do not"), "head: no valid TOML"),
        (HEAD + 'title = "x"\n', "title: no key of a rule's head"),
    ],
)
def test_a_broken_head_names_the_file_and_the_key(write, head, says):
    path = write(head)
    with pytest.raises(catalog.BrokenRule) as caught:
        catalog.read_rule(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert says in str(caught.value)


def test_a_file_without_a_head_is_no_rule(tmp_path):
    (tmp_path / "notes.md").write_text("# Notes\n")
    with pytest.raises(catalog.BrokenRule, match=r"notes\.md: head: a rule begins with a block"):
        catalog.load([tmp_path])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (TEXT.replace("python bad", "python worse"), r":17: block: 'worse' is none of bad, good, fixed"),
        (TEXT.replace("scalar-read", "scalar-reed"), r":21: mark: there is no kind 'scalar-reed'"),
        (TEXT.removesuffix("```\n"), r":17: block: is not closed"),
    ],
)
def test_a_broken_text_names_the_line(write, text, says):
    rule = catalog.read_rule(write(text=text))
    with pytest.raises(catalog.BrokenRule, match=says):
        catalog.read_document(rule)


def test_an_id_can_be_taken_once(write):
    write()
    folder = write(HEAD.replace("house-rule", "other-rule"), name="TEAM002-other-rule.md").parent
    with pytest.raises(catalog.BrokenRule, match=r"TEAM002-other-rule\.md: id: 'TEAM001' is taken by .*TEAM001-house"):
        catalog.load([folder])


def test_a_folder_must_exist_and_hold_rules(tmp_path):
    with pytest.raises(catalog.BrokenRule, match="no such folder"):
        catalog.load([tmp_path / "nowhere"])
    with pytest.raises(catalog.BrokenRule, match="holds no rule"):
        catalog.load([tmp_path])


def test_the_nearest_rule_is_found_by_name_and_by_id():
    rules = catalog.load()
    assert rules.nearest("scalar-reed") == "scalar-read"
    assert rules.nearest("sw1011") == "SW101"
    assert rules.nearest("§§§") is None
    assert rules.nearest("SW999") is None, "no rule is about subject 9"
    assert rules.nearest("SW399").startswith("SW3")

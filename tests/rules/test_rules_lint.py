"""The rules are held to their own rules."""

from __future__ import annotations

import ast
import fnmatch
import re
from collections import Counter
from pathlib import Path

import pytest

from syncwatch import catalog, facts
from syncwatch.cli import main
from syncwatch.judge import RuleTable
from syncwatch.model import Kind
from syncwatch.static.infer.via import VIA

ROOT = Path(__file__).parents[2]
CATALOG = catalog.load()
DOCUMENTS = [catalog.read_document(rule) for rule in CATALOG]
# Operations that rules name and that are no rows of the table of facts: they do not block, or block by a setting.
BESIDE_THE_FACTS = re.compile(
    r"time\.|timeit\.|datetime\.|os\.|torch\.distributed\.(init_process_group|\*)$|torch\.(cuda\.)?(Stream|Event|ExternalStream)$"
)

# what can happen in a program: all kinds but that of a comment that suppresses nothing
EVENTS = set(Kind) - {Kind.SUPPRESSION}

each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.rule.id)


def test_the_set_is_complete():
    themes = Counter(rule.id[:3] for rule in CATALOG)
    assert set(themes) == {"SW1", "SW2", "SW3", "SW4", "SW5", "SW6", "SW7"}
    assert len(CATALOG) >= 45


@each_document
def test_the_file_is_named_after_the_rule(document):
    rule = document.rule
    assert Path(rule.path).name == f"{rule.id}-{rule.name}.md"


@each_document
def test_the_sections_are_there_in_order_and_hold_text(document):
    assert tuple(document.sections) == catalog.SECTIONS
    assert all(text.strip() for text in document.sections.values())


@each_document
def test_the_figures_say_where_they_were_measured(document):
    why = document.sections["Why it blocks"]
    assert re.search(r"Measured on an \w+ \(torch \d+\.\d+\)", why)
    assert re.search(r"\d(\.\d+)? (ms|MB|µs)|\d+ waits|one wait|did not wait|held the host|stale", why)


@each_document
def test_the_sentences_are_fit_to_be_shown(document):
    rule = document.rule
    for sentence in (rule.title, rule.message, rule.remedy):
        assert sentence == sentence.strip()
        assert not sentence.endswith(".")
        assert len(sentence) <= 160
    assert re.fullmatch(r"\d+\.\d+\.\d+", rule.since)
    assert rule.requires in ("", "ranks")
    assert not rule.link or rule.link.startswith("https://")


@each_document
def test_every_rule_is_proved_by_bad_good_and_fixed_programs(document):
    assert {block.tag for block in document.blocks} == set(catalog.BLOCKS)
    for block in document.blocks:
        ast.parse(block.code)
        assert block.code.startswith(("import ", "from "))
        assert "cuda" in block.code
        assert all(len(line) <= 120 for line in block.code.splitlines())
        if block.tag == "bad":
            assert {kind for kinds in block.kinds_by_line.values() for kind in kinds} & set(document.rule.kinds)
        else:
            assert not block.marks


@each_document
def test_marks_stand_behind_code_and_say_whether_it_blocks(document):
    for block in document.blocks:
        lines = block.code.splitlines()
        for number, marks in block.marks.items():
            assert lines[number - 1].split("#")[0].strip()
            for kind, blocks in marks:
                # a copy from pageable memory blocks or not, by its size
                assert blocks is kind.blocks or kind is Kind.PAGEABLE_ASYNC or document.rule.name == "launch-blocking"


@each_document
def test_via_is_a_word_that_the_engine_uses(document):
    assert set(document.rule.via) <= VIA


@each_document
def test_every_operation_is_known_to_the_facts(document):
    known = facts.table().public
    missing = []
    for op in document.rule.ops:
        if BESIDE_THE_FACTS.match(op):
            continue
        if "*" in op:
            pattern = re.compile(".*".join(map(re.escape, op.split("*"))))
            if not any(pattern.fullmatch(name) for name in known):
                missing.append(op)
        elif op not in known:
            missing.append(op)
    assert missing == []


def test_every_kind_has_a_rule():
    assert {kind for rule in CATALOG for kind in rule.kinds} == EVENTS


def test_no_event_is_lost():
    """Each kind has a rule that asks for no operation. What is made on the host and moved always says so in `via`."""
    general = {kind for rule in CATALOG if not rule.ops and not rule.via for kind in rule.kinds}
    assert EVENTS - general == {Kind.HOST_CREATED}
    assert RuleTable(CATALOG).match(Kind.HOST_CREATED, "house.make", "host-created") is CATALOG.find("host-created")


def test_no_event_belongs_to_two_rules():
    """Two rules of the same rank never select the same event, for every operation that facts or rules know."""
    table = RuleTable(CATALOG)
    selectors = [(rule, re.compile("|".join(map(fnmatch.translate, rule.ops)))) for rule in CATALOG if rule.ops]
    # one operation for each set of rules that it belongs to
    ops = {"": "house.read"}
    for op in [op.replace("*", "x") for rule in CATALOG for op in rule.ops] + list(facts.table().public):
        ops.setdefault(" ".join(rule.id for rule, names in selectors if names.match(op)), op)
    ambiguous = set()
    for kind in EVENTS:
        for op in ops.values():
            for via in VIA:
                ranked = table.candidates(kind, op, via)
                if len(ranked) > 1 and ranked[0][0] == ranked[1][0]:
                    ambiguous.add((kind.value, op, via, ranked[0][1].id, ranked[1][1].id))
    assert ambiguous == set()


def test_the_index_is_the_current_list(capsys):
    assert main(["rules", "--output-format", "markdown"]) == 0
    written = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    assert written == capsys.readouterr().out, "write it anew: syncwatch rules --output-format markdown > docs/rules.md"

"""The text that people read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from syncwatch.catalog import Rule
from syncwatch.model import Finding, Kind, Problem
from syncwatch.report import render
from syncwatch.report.outcome import Outcome, Style
from syncwatch.report.text import mark

RULE = Rule(
    id="SW101",
    name="scalar-read",
    title="A value is read",
    kinds=(Kind.SCALAR_READ,),
    message="{op} reads {subject}",
    remedy="read it once after the loop",
    since="0.1.0",
)


def outcome(*findings: Finding, source: str = "    total += loss.item()", **more: object) -> Outcome:
    return Outcome(findings=findings, files=1, rules={"SW101": RULE}, source=lambda path, line: source, **more)  # type: ignore[arg-type]


def test_a_finding_shows_place_line_span_and_remedy(make_finding: Callable[..., Finding]) -> None:
    assert render("text", outcome(make_finding("src/train.py", 12, 14, end_column=25)), Style()) == (
        "src/train.py:12:14: SW101 Tensor.item reads one value of `loss` on the host\n"
        "     |\n"
        "  12 |     total += loss.item()\n"
        "     |              ^^^^^^^^^^^\n"
        "     = help: read it once after the loop\n"
        "\n"
        "Found 1 finding in 1 of 1 file.\n"
    )


def test_without_source_a_finding_is_one_line(make_finding: Callable[..., Finding]) -> None:
    assert render("text", outcome(make_finding()), Style(show_source=False)).splitlines() == [
        "train.py:1:1: SW101 Tensor.item reads one value of `loss` on the host",
        "Found 1 finding in 1 of 1 file.",
    ]


def test_a_span_over_several_lines_is_marked_to_the_end_of_the_first(make_finding: Callable[..., Finding]) -> None:
    text = render("text", outcome(make_finding("a.py", 3, 5, end_line=5, end_column=2), source="a = foo("), Style())
    assert text.splitlines()[2:4] == ["  3 | a = foo(", "    |     ^^^^ …"]


@pytest.mark.parametrize(
    ("source", "column", "end", "shown", "marked"),
    [
        ("\tx.item()", 2, 10, "    x.item()", "x.item()"),
        ("a\tx.item()", 3, 11, "a   x.item()", "x.item()"),
        ('"日本" + x', 8, 9, '"日本" + x', " x"),
        ("e\u0301 = x", 6, 7, "e\u0301 = x", "x"),
        ("x\x00y", 3, 4, "x\ufffdy", "y"),
        ("abc", 9, 9, "abc", ""),
    ],
)
def test_the_mark_stands_under_what_a_terminal_shows(
    source: str, column: int, end: int, shown: str, marked: str
) -> None:
    text, start, width = mark(source, column, end)
    assert text == shown
    if "日" in source:  # each takes two cells
        assert (start, width) == (9, 1)
    elif "\u0301" in source:  # takes none
        assert (start, width) == (4, 1)
    else:
        assert text[start : start + width] == marked or (marked == "" and (start, width) == (3, 1))


def test_a_long_line_is_cut_down_to_the_span(make_finding: Callable[..., Finding]) -> None:
    source = "a" * 500 + " = loss.item() " + "b" * 500
    text = render("text", outcome(make_finding("gen.py", 1, 504, end_column=515), source=source), Style())
    line, marks = text.splitlines()[2:4]
    assert len(line) == len("  1 | ") + 160
    assert line[marks.index("^") : marks.rindex("^") + 1] == "loss.item()"
    assert line.startswith("  1 | …aaa")
    assert line.endswith("bbb…")
    text = render("text", outcome(make_finding("gen.py", 1, 1, end_column=1016), source=source), Style())
    assert max(map(len, text.splitlines()[:4])) == len("  1 | ") + 160


def test_colours_only_where_wanted(make_finding: Callable[..., Finding]) -> None:
    coloured = render("text", outcome(make_finding()), Style(colour=True))
    assert "\x1b[31;1mSW101\x1b[0m" in coloured
    assert "\x1b" not in render("text", outcome(make_finding()), Style())


def test_statistics_count_by_rule(make_finding: Callable[..., Finding]) -> None:
    findings = [make_finding(line=line) for line in range(1, 12)] + [make_finding(rule="SW303", name="nonzero")]
    assert render("text", outcome(*findings), Style(statistics=True)).splitlines() == [
        "11  SW101  scalar-read",
        " 1  SW303  nonzero",
        "Found 12 findings in 1 of 1 file.",
    ]


def test_the_summary_says_what_was_left_out() -> None:
    text = render(
        "text",
        Outcome(
            files=3,
            suppressed=2,
            baselined=1,
            problems=(Problem(path="b.py", line=0, message="cannot be read (Permission denied)"),),
            notes=("known.json: a.py no longer has SW101",),
        ),
        Style(),
    )
    assert text.splitlines() == [
        "b.py: error: cannot be read (Permission denied)",
        "note: known.json: a.py no longer has SW101",
        "No findings in 3 files; 2 suppressed by comments; 1 in the baseline; 1 file could not be checked.",
    ]


def test_a_run_that_found_no_file_says_so() -> None:
    assert render("text", Outcome(), Style()) == "No Python files found.\n"
    assert render("text", Outcome(), Style(quiet=True)) == ""


def test_notebooks_count_by_cell(make_finding: Callable[..., Finding]) -> None:
    text = render(
        "text", outcome(make_finding("nb.ipynb", 31, 5), source="a = x.item()", cell=lambda path, line: (4, 2)), Style()
    )
    assert text.splitlines()[0].startswith("nb.ipynb:cell 4:2:5: SW101 ")
    assert "  2 | a = x.item()" in text

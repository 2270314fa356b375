"""Comments that suppress findings, on real source text."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

from syncwatch.model import Finding
from syncwatch.select import names_rule
from syncwatch.static.lower import lower
from syncwatch.suppress import Suppression, apply, complaints, read

RULES = {"SW101": "scalar-read", "SW102": "implicit-truth", "SW303": "nonzero"}


def known(word: str) -> bool:
    return any(names_rule(word, rule, name) for rule, name in RULES.items())


@pytest.fixture
def judge(make_finding: Callable[..., Finding]) -> Callable[..., tuple[list[int], list[str]]]:
    """Judges source with a finding on every line that holds `.item()`: the lines that stay, and the complaints."""

    def judged(
        source: str, *, rule: str = "SW101", reasons: bool = False, in_use: Callable[[str], bool] = known
    ) -> tuple[list[int], list[str]]:
        source = dedent(source)
        lines = [number for number, line in enumerate(source.splitlines(), 1) if ".item()" in line]
        findings = [make_finding("a.py", line, rule=rule, name=RULES[rule]) for line in lines]
        suppressions: list[Suppression] = read("a.py", lower(source, "a.py"), known)
        kept, _ = apply(findings, suppressions)
        said = complaints(suppressions, known=known, judged=in_use, require_reason=reasons)
        return [finding.line for finding in kept], [f"{item.line}:{item.column} {item.message}" for item, _ in said]

    return judged


@pytest.mark.parametrize(
    "comment",
    [
        "# syncwatch: ignore[SW101] printed once a minute",
        "# syncwatch: ignore[SW101]",
        "# syncwatch: ignore[SW102, SW101] why",
        "# syncwatch: ignore[SW1]",
        "# syncwatch: ignore[scalar-read]",
        "# syncwatch: ignore",
        "#syncwatch:ignore[SW101]",
        "# SYNCWATCH: Ignore[sw101]",
        "# type: ignore  # syncwatch: ignore[SW101]",
        "# noqa: SW101",
        "# noqa: E501,SW101",
        "# noqa:SW101 a reason",
        "# NOQA: E501 SW101",
    ],
)
def test_a_comment_on_the_line_suppresses(judge: Callable[..., tuple[list[int], list[str]]], comment: str) -> None:
    kept, _ = judge(f"a.item()  {comment}\nb.item()\n")
    assert kept == [2]


@pytest.mark.parametrize(
    "comment",
    ["# syncwatch: ignore[SW303]", "# noqa: E501", "# noqa", "# ignore[SW101]", "# syncwatch: ignored[SW101]"],
)
def test_other_comments_do_not(judge: Callable[..., tuple[list[int], list[str]]], comment: str) -> None:
    kept, _ = judge(f"a.item()  {comment}\n")
    assert kept == [1]


def test_a_string_that_looks_like_a_comment_is_none(judge: Callable[..., tuple[list[int], list[str]]]) -> None:
    kept, said = judge('a.item(); s = "# syncwatch: ignore[SW101]"\n')
    assert (kept, said) == ([1], [])


def test_a_comment_counts_for_the_whole_statement(judge: Callable[..., tuple[list[int], list[str]]]) -> None:
    kept, said = judge(
        """
        total = sum(
            [
                a.item(),
                b.item(),  # syncwatch: ignore[SW101] two values, once
            ]
        )
        c.item()
        """
    )
    assert (kept, said) == ([8], [])


def test_a_comment_above_counts_for_the_next_statement(judge: Callable[..., tuple[list[int], list[str]]]) -> None:
    kept, said = judge(
        """
        # syncwatch: ignore[SW101] once

        # another comment
        foo(a.item(),
            b.item())
        c.item()
        """
    )
    assert (kept, said) == ([7], [])


def test_a_comment_above_a_loop_counts_for_its_header_only(
    judge: Callable[..., tuple[list[int], list[str]]],
) -> None:
    kept, _ = judge(
        """
        # syncwatch: ignore[SW101]
        while a.item():
            b.item()
        """
    )
    assert kept == [4]


def test_a_comment_for_the_file_counts_everywhere(judge: Callable[..., tuple[list[int], list[str]]]) -> None:
    kept, said = judge("a.item()\n# syncwatch: ignore-file[SW101] a benchmark\nb.item()\n")
    assert (kept, said) == ([], [])


def test_unused_suppressions_are_reported_where_they_stand(
    judge: Callable[..., tuple[list[int], list[str]]],
) -> None:
    _, said = judge(
        """
        a = 1  # syncwatch: ignore[SW101] once
        a.item()  # syncwatch: ignore[SW101, SW303]
        b = 1  # syncwatch: ignore
        c = 1  # noqa: E501, SW303
        # syncwatch: ignore-file[SW102]
        """
    )
    assert said == [
        "2:8 the suppression of SW101 suppresses nothing",
        "3:11 the suppression of SW303 suppresses nothing",
        "4:8 the suppression suppresses nothing",
        "5:8 the suppression of SW303 suppresses nothing",
        "6:1 the suppression of SW102 suppresses nothing",
    ]


def test_a_rule_that_is_not_in_use_is_not_called_unused(
    judge: Callable[..., tuple[list[int], list[str]]],
) -> None:
    source = "a = 1  # syncwatch: ignore[SW303]\nb = 1  # syncwatch: ignore\n"
    _, said = judge(source, in_use=lambda word: word == "SW101")
    assert said == []


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        (
            "# syncwatch: ingore[SW101]",
            "`syncwatch: ingore` is not understood; write `# syncwatch: ignore[SW101] reason`",
        ),
        ("# syncwatch: ignore[SW999]", "the suppression names SW999, which is no rule"),
        ("# syncwatch: ignore[]", "the suppression names no rule between its brackets"),
        ("# syncwatch: ignore[SW101", "the suppression's bracket is not closed"),
        (
            "# syncwatch ignore[SW101]",
            "the colon after `syncwatch` is missing; write `# syncwatch: ignore[SW101] reason`",
        ),
        (
            "# syncwatch: ignore SW101",
            "the suppression names its rule outside of brackets; write `# syncwatch: ignore[SW101] reason`",
        ),
    ],
)
def test_a_comment_that_is_not_understood_is_reported(
    judge: Callable[..., tuple[list[int], list[str]]], comment: str, message: str
) -> None:
    kept, said = judge(f"a.item()  {comment}\n")
    assert said == [f"1:11 {message}"]
    assert kept == [1]


def test_reasons_can_be_required(judge: Callable[..., tuple[list[int], list[str]]]) -> None:
    source = """
    a.item()  # syncwatch: ignore[SW101] read once an hour
    b.item()  # syncwatch: ignore[SW101] -
    c.item()  # noqa: SW101
    """
    kept, said = judge(source, reasons=True)
    assert kept == []
    assert said == [
        "3:11 the suppression gives no reason; say why the wait is meant",
        "4:11 the suppression gives no reason; say why the wait is meant",
    ]
    assert judge(source)[1] == []

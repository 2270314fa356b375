"""Comments that speak to a linter."""

from __future__ import annotations

import pytest

from syncwatch.static.lower import lower


def comments(source: str) -> list[tuple[int, int, bool, int]]:
    """Line, column, whether it stands alone, and the line that it speaks of, for each comment."""
    return [(each.line, each.column, each.own_line, each.target) for each in lower(source, "a.py").comments]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x.item()  # syncwatch: ignore[SW101] once\n", [(1, 10, False, 1)]),
        ("x.item()  # NoQA: SW101\n", [(1, 10, False, 1)]),
        ("x.item()  # another comment\n", []),
        ("# syncwatch: ignore\n\n# why\nx.item()\n", [(1, 0, True, 4)]),
        ("f(\n    x.item(),  # noqa\n)\n", [(2, 15, False, 2)]),
        ("f(\n    # noqa\n    x.item(),\n)\n", [(2, 4, True, 2)]),
        ("if a:\n    # noqa\n    x\n", [(2, 4, True, 3)]),
        ("# noqa\n@deco\ndef f(): pass\n", [(1, 0, True, 2)]),
        ("x\n# syncwatch: ignore-file\n", [(2, 0, True, 2)]),
        ("é = 'ü'  # noqa\n", [(1, 9, False, 1)]),
    ],
)
def test_where_they_are_and_what_they_speak_of(source: str, expected: list[tuple[int, int, bool, int]]) -> None:
    assert comments(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "x = '# noqa'\n",
        'x = """\n# noqa\n"""\n',
        "x = 'a\\'# noqa'\n",
        "x = f'{a}# noqa'\n",
        "x = '''a'b\n# syncwatch: ignore'''\n",
    ],
)
def test_text_in_strings_is_no_comment(source: str) -> None:
    assert comments(source) == []


def test_the_text_is_kept_as_written() -> None:
    (comment,) = lower("x  # type: ignore # noqa: SW101,E501\n", "a.py").comments
    assert comment.text == "# type: ignore # noqa: SW101,E501"

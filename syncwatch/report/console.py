"""Consoles of rich, and lines that fit a width."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

WIDTH = 80  # of plain text
_NARROWEST = 60
_FURTHER_LEFT = 4


def make_console(file: IO[str] | None = None, **options: Any) -> Console:
    """A console of rich that raises BrokenPipeError when its reader has gone (`| head`), as `print` does."""
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Piped(file=file, **options)


def line_console(file: IO[str] | None) -> Console:
    """A console for lines that are laid out already: it breaks none of them."""
    plain = not (file is not None and file.isatty())
    return make_console(file, soft_wrap=True, width=10_000 if plain else None)


def width_of(file: IO[str] | None) -> int:
    """The columns of the terminal that `file` is; 80 where it is none."""
    if file is None or not file.isatty():
        return WIDTH
    return max(_NARROWEST, shutil.get_terminal_size((WIDTH, 24)).columns)


def styled(text: str, style: str) -> Text:
    """Text in a style, with nothing in it taken for markup."""
    from rich.text import Text

    return Text(text, style=style)


def wrapped(head: str, text: str, width: int, style: str = "") -> Iterable[Text]:
    """`text` after `head`, in lines of `width` columns. Words are never broken: a path stays whole."""
    indent = " " * len(head)
    for line in textwrap.wrap(
        text, width, initial_indent=head, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ):
        yield styled(line, style)


def placed(indent: int, parts: Sequence[str], width: int) -> Iterable[str]:
    """`parts` in one line; where they do not fit, further to the left, or one below the other.

    The first part stays whole whatever its length (it is a place, to be clicked or searched for).
    """
    for left in (indent, _FURTHER_LEFT):
        line = " " * left + " ".join(parts)
        if len(line) <= width:
            yield line
            return
    first, *rest = parts
    yield " " * min(indent, max(_FURTHER_LEFT, width - len(first))) + first
    for part in rest:
        yield " " * (_FURTHER_LEFT + 2) + clipped(part, width - _FURTHER_LEFT - 2)


def clipped(text: str, width: int) -> str:
    """The text, shortened to `width` columns."""
    return text if len(text) <= width else text[: width - 1] + "…"

"""The tables of options in docs/commands.md, made from the commands themselves.

`python tests/support/command_docs.py` writes them anew.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from syncwatch.cli import parser_of
from syncwatch.cli.commands import COMMANDS

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
_BLOCK = re.compile(r"(<!-- options of (\w+) -->\n).*?(<!-- end of options -->\n)", re.S)


def parsers() -> dict[str, argparse.ArgumentParser]:
    """The parser of each command."""
    whole = parser_of({command.name for command in COMMANDS})
    subparsers = next(action for action in whole._actions if isinstance(action, argparse._SubParsersAction))
    return dict(subparsers.choices)


def table(parser: argparse.ArgumentParser) -> str:
    """A Markdown table of a command's arguments and options."""
    rows = ["| | |", "|---|---|"]
    for action in parser._actions:
        if action.help == argparse.SUPPRESS or "--help" in action.option_strings:
            continue
        value = "" if action.nargs == 0 else _value(action)
        names = [f"`{name}{f' {value}' if value else ''}`" for name in action.option_strings] or [f"`{value}`"]
        rows.append(f"| {', '.join(names)} | {_text(action)} |")
    return "\n".join(rows) + "\n"


def _value(action: argparse.Action) -> str:
    if action.metavar is not None:
        return str(action.metavar)
    return "\\|".join(map(str, action.choices)) if action.choices else action.dest.upper()


def _text(action: argparse.Action) -> str:
    text = " ".join((action.help or "").replace("%%", "%").split()).replace("|", "\\|")
    return re.sub(r"(?<![`\w-])(--?[a-z][\w-]*|\.syncwatch_cache|[\w-]+\.json)(?![`\w-])", r"`\1`", text)


def refreshed(page: str) -> str:
    """The page with every table as it should be."""
    known = parsers()
    return _BLOCK.sub(lambda match: f"{match[1]}{table(known[match[2]])}{match[3]}", page)


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

"""What the commands that read rules share."""

from __future__ import annotations

import argparse

from syncwatch import catalog


def add_rule_folders(parser: argparse.ArgumentParser) -> None:
    """Adds `--rules FOLDER`, which may be given several times."""
    parser.add_argument(
        "--rules", metavar="FOLDER", action="append", default=[], help="a folder of further rules; may be repeated"
    )


def load_catalog(folders: list[str]) -> catalog.Catalog:
    """The built-in rules and those of `folders`. Raises UsageError where a rule or a folder cannot be read."""
    from syncwatch.cli import UsageError
    from syncwatch.model import BrokenFile

    try:
        return catalog.load(folders)
    except BrokenFile as error:
        raise UsageError(str(error)) from None

"""What the commands that read rules share."""

from __future__ import annotations

import argparse
from pathlib import Path

from syncwatch import catalog


def add_rule_folders(parser: argparse.ArgumentParser) -> None:
    """Adds `--rules FOLDER`, which may be given several times."""
    parser.add_argument(
        "--rules",
        metavar="FOLDER",
        action="append",
        default=[],
        help="a folder of further rules, besides those of the configuration; may be repeated",
    )


def load_catalog(folders: list[str]) -> catalog.Catalog:
    """The built-in rules, those of the configuration that holds here, and those of `folders`.

    Raises UsageError where the configuration, a folder or a rule cannot be read.
    """
    from syncwatch import config
    from syncwatch.cli import UsageError
    from syncwatch.model import BrokenFile

    try:
        configured = config.discover([Path.cwd()]).rule_folders()
        return catalog.load([*configured, *folders])
    except BrokenFile as error:
        raise UsageError(str(error)) from None

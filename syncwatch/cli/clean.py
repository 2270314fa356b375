"""`syncwatch clean`: remove the cache."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="files or folders of the project (default: this folder)"
    )


def run(args: argparse.Namespace) -> int:
    """Removes `.syncwatch_cache` of the project that the paths belong to. Raises UsageError where it cannot."""
    from syncwatch.cli import UsageError
    from syncwatch.config import discover
    from syncwatch.static.cache import FOLDER, clean

    for path in args.paths:
        if not Path(path).exists():
            raise UsageError(f"{path}: no such file or folder; give one of the project whose cache is to go")
    root = discover([Path(path) for path in args.paths] or [Path.cwd()]).root
    try:
        there = clean(str(root))
    except OSError as error:
        raise UsageError(f"{root / FOLDER}: cannot be removed ({error.strerror or error})") from None
    print(f"removed {root / FOLDER}" if there else f"no cache in {root}")
    return 0

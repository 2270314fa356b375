"""`syncwatch check --watch`: checks again whenever a file changes."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from typing import TypeAlias

from syncwatch.cli import UsageError
from syncwatch.cli.request import STDIN, config_of
from syncwatch.config import Config
from syncwatch.model import BrokenFile

POLL_SECONDS = 0.4

# what tells a changed file: modification time in ns, and size
Snapshot: TypeAlias = dict[str, tuple[int, int]]


def watch(args: argparse.Namespace) -> int:
    """Checks, waits for a change, and checks again, until Ctrl-C. Returns the last check's exit status.

    Raises UsageError where the arguments do not fit.
    """
    from syncwatch.cli.check import check_once

    if args.paths == [STDIN]:
        raise UsageError("--watch watches files; it cannot watch standard input")
    if args.write_baseline:
        raise UsageError("--watch and --write-baseline exclude each other")
    status = 2
    try:
        while True:
            before = snapshot(args)
            try:
                status = check_once(args)
            except BrokenFile as error:  # a configuration that is being edited
                print(f"syncwatch: {error}", file=sys.stderr)
                status = 2
            print(f"[{time.strftime('%H:%M:%S')}] waiting for changes (Ctrl-C ends)", file=sys.stderr, flush=True)
            while snapshot(args) == before:
                time.sleep(POLL_SECONDS)
            print(file=sys.stderr)
    except KeyboardInterrupt:
        return status


def snapshot(args: argparse.Namespace) -> Snapshot:
    """The state of every file that the check depends on."""
    seen: Snapshot = {}
    for path in _watched(args):
        try:
            state = os.stat(path)
        except OSError:
            continue
        seen[path] = (state.st_mtime_ns, state.st_size)
    return seen


def _watched(args: argparse.Namespace) -> Iterator[str]:
    from syncwatch.static.discover import discover

    try:
        config = config_of(args)
    except BrokenFile:
        config = Config()
    yield from discover(
        args.paths or ["."],
        exclude=config.exclude,
        extend_exclude=config.extend_exclude,
        respect_gitignore=config.respect_gitignore,
        root=config.root,
    ).files
    for name in ("pyproject.toml", "syncwatch.toml"):
        yield str(config.root / name)
    if config.file is not None:
        yield str(config.file)
    if config.baseline is not None:
        yield str(config.root / config.baseline)
    for folder in config.rules:
        yield from (str(path) for path in sorted((config.root / folder).glob("*.md")))

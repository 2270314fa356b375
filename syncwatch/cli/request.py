"""From the arguments of `check` to its outcome."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syncwatch.cli import UsageError
from syncwatch.cli.progress import bar
from syncwatch.config import Config, discover, read

if TYPE_CHECKING:
    from syncwatch.report.outcome import Outcome

STDIN = "-"


def config_of(args: argparse.Namespace) -> Config:
    """The configuration in force: the file, then the command line. Raises ConfigError."""
    if args.isolated:
        config = Config()
    elif args.config:
        config = read(Path(args.config))
    else:
        config = discover(places(args))
    values: dict[str, Any] = {
        "select": args.select,
        "extend-select": args.extend_select,
        "ignore": args.ignore,
        "certainty": args.certainty,
        "heat": "all" if args.heat == ["all"] else args.heat,
        "exclude": args.exclude,
        "extend-exclude": args.extend_exclude,
        "respect-gitignore": args.respect_gitignore,
        "require-reason": args.require_reason,
        # a path on the command line is relative to the current folder
        "baseline": os.path.abspath(args.baseline) if args.baseline else None,
    }
    if args.extend_exclude:  # adds to the file's list
        values["extend-exclude"] = [*config.extend_exclude, *args.extend_exclude]
    if args.extend_select:
        values["extend-select"] = [*config.extend_select, *args.extend_select]
    return config.override(values, {key: f"--{key}" for key in values})


def places(args: argparse.Namespace) -> list[Path]:
    """Where the configuration is looked for."""
    if args.paths == [STDIN]:
        return [Path(args.stdin_filename)] if args.stdin_filename else []
    return [Path(path) for path in args.paths]


def checked(args: argparse.Namespace, config: Config) -> Outcome:
    """Checks what the arguments name. Raises UsageError, ConfigError and BrokenFile."""
    from syncwatch.checking import Work, check

    names, contents = list(args.paths) or ["."], {}
    if names == [STDIN]:
        from syncwatch.static.source import display

        name = display(args.stdin_filename or "stdin.py")
        names, contents = [], {name: _standard_input()}
    keep = None
    if args.diff_only:
        from syncwatch.cli.changed import changed_lines

        keep = changed_lines(args.diff_only)
    with bar(wanted=not args.quiet) as progress:
        work = Work(
            jobs=1 if args.jobs is None else args.jobs,
            cache=not args.no_cache,
            contents=contents,
            force_exclude=args.force_exclude,
            partial=args.partial or bool(contents),
            keep=keep,
            write_baseline=args.write_baseline,
            progress=progress,
        )
        return check(names, config, work)


def _standard_input() -> bytes:
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("- reads the program from standard input, but that is the terminal; pipe a file into it")
    return sys.stdin.buffer.read()

"""The command line. One file per command, found through the table in `commands`."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from syncwatch.cli.commands import COMMANDS

if TYPE_CHECKING:
    import argparse

_LONGEST = max(len(command.name) for command in COMMANDS)

# What the system says where a disk or a quota is full, or the disk fails.
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})

EXIT_CLEAN, EXIT_FINDINGS, EXIT_ERROR, EXIT_INTERRUPTED = 0, 1, 2, 130
EXIT_PIPE = 141  # as shells report a tool whose reader has gone (head, less)


class UsageError(Exception):
    """A wrong use of the command line: one sentence that names the thing and the remedy. Exit status 2."""


def parser_of(chosen: Collection[str]) -> argparse.ArgumentParser:
    """The parser of the whole command line. Only the `chosen` commands know their options.

    Their modules are imported, and no others, so that `--help` stays quick.
    """
    import argparse
    from importlib import import_module

    from syncwatch import __version__

    class Help(argparse.HelpFormatter):
        def add_argument(self, action: argparse.Action) -> None:
            super().add_argument(action)
            # argparse forgets that commands are indented: without this the longest stands on a line of its own
            self._action_max_length = max(self._action_max_length, _LONGEST + 4)

    parser = argparse.ArgumentParser(
        prog="syncwatch",
        formatter_class=Help,
        description="Finds where a PyTorch program makes the host wait for the GPU.",
        epilog="`syncwatch COMMAND --help` tells the options of a command.",
    )
    parser.add_argument("--version", action="version", version=f"syncwatch {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", required=True)
    for command in COMMANDS:
        sub = subparsers.add_parser(command.name, help=command.help, description=f"{_sentence(command.help)}.")
        if command.name in chosen:
            module = import_module(command.module)
            module.add_arguments(sub)
            sub.set_defaults(run=module.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status. `argv` defaults to the process's arguments."""
    if sys.stdout is None:  # the shell closed it (>&-): nobody reads, and the exit status is what counts
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    arguments = list(sys.argv[1:] if argv is None else argv)
    chosen = next((word for word in arguments if not word.startswith("-")), "")
    args = parser_of({chosen}).parse_args(arguments)
    try:
        status: int = args.run(args)
        sys.stdout.flush()
    except UsageError as error:
        print(f"syncwatch: {error}", file=sys.stderr)
        return EXIT_ERROR
    except BrokenPipeError:
        _leave_output()
        return EXIT_PIPE
    except KeyboardInterrupt:
        print("syncwatch: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except Exception as error:
        return _failure(error)
    return status


def _failure(error: Exception) -> int:
    """A file that cannot be used is one sentence; anything else is a fault of the program. Exit status 2."""
    from syncwatch.model import BrokenFile

    if isinstance(error, BrokenFile):
        print(f"syncwatch: {error}", file=sys.stderr)
    elif isinstance(error, OSError) and error.errno in _FULL:
        print(f"syncwatch: {error.filename or 'the output'}: cannot be written ({error.strerror})", file=sys.stderr)
        _leave_output()
    else:
        import traceback

        traceback.print_exc()
        print("syncwatch: internal error; please report it with the lines above", file=sys.stderr)
    return EXIT_ERROR


def _leave_output() -> None:
    """Keeps the interpreter from complaining at its end of an output that takes nothing more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


if __name__ == "__main__":
    sys.exit(main())

"""The command line. One file per command, found through the table in `commands`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from syncwatch.cli.commands import COMMANDS

EXIT_CLEAN, EXIT_FINDINGS, EXIT_ERROR = 0, 1, 2


class UsageError(Exception):
    """A wrong use of the command line: one sentence that names the thing and the remedy. Exit status 2."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status. `argv` defaults to the process's arguments."""
    import argparse
    from importlib import import_module

    from syncwatch import __version__

    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog="syncwatch", description="Finds where a PyTorch program makes the host wait for the GPU."
    )
    parser.add_argument("--version", action="version", version=f"syncwatch {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    # Only the chosen command's module is imported, so that --help stays quick.
    chosen = next((word for word in arguments if not word.startswith("-")), None)
    for command in COMMANDS:
        sub = subparsers.add_parser(command.name, help=command.help, description=command.help.capitalize() + ".")
        if command.name == chosen:
            module = import_module(command.module)
            module.add_arguments(sub)
            sub.set_defaults(run=module.run)
    args = parser.parse_args(arguments)
    try:
        status: int = args.run(args)
    except UsageError as error:
        print(f"syncwatch: {error}", file=sys.stderr)
        return EXIT_ERROR
    except BrokenPipeError:  # the reader of our output has gone (head, less)
        sys.stderr.close()
        return EXIT_ERROR
    except KeyboardInterrupt:
        print("syncwatch: interrupted", file=sys.stderr)
        return 130
    return status


if __name__ == "__main__":
    sys.exit(main())

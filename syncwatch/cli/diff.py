"""`syncwatch diff OLD NEW`: compares two recorded sessions."""

from __future__ import annotations

import argparse
import sys

from syncwatch.cli.sessions import read_sessions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument("old", metavar="OLD", help="a session file, from before")
    parser.add_argument("new", metavar="NEW", help="a session file, from after")


def run(args: argparse.Namespace) -> int:
    """Prints what has changed; status 1 where the new run waits more often."""
    from syncwatch.cli import EXIT_CLEAN, EXIT_FINDINGS
    from syncwatch.report.session_diff import grown, print_diff

    old, new = read_sessions(args.old)[0], read_sessions(args.new)[0]
    print_diff(old, new, file=sys.stdout)
    return EXIT_FINDINGS if grown(old, new) else EXIT_CLEAN

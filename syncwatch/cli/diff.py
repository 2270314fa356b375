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
    """Prints what has changed; status 1 where the new run waits more often. Of several ranks the first is compared."""
    from syncwatch.cli import EXIT_CLEAN, EXIT_FINDINGS
    from syncwatch.report.session_diff import grown, print_diff

    before, after = read_sessions(args.old), read_sessions(args.new)
    old, new = before[0], after[0]
    if len(before) > 1 or len(after) > 1:
        print(f"note: of several ranks, {old.rank} and {new.rank} are compared; name a rank's file for another")
    print_diff(old, new, file=sys.stdout)
    return EXIT_FINDINGS if grown(old, new) else EXIT_CLEAN

"""`syncwatch report`: shows a recorded session."""

from __future__ import annotations

import argparse
import sys

from syncwatch.cli.sessions import DEFAULT_SESSION, name_rules, read_sessions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument(
        "session", metavar="SESSION", nargs="?", default=DEFAULT_SESSION, help=f"default: {DEFAULT_SESSION}"
    )
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument("--limit", metavar="N", type=int, default=20, help="how many sites to show (default: 20)")
    parser.add_argument("--rank", metavar="N", type=int, help="of several ranks, the one to show in full")


def run(args: argparse.Namespace) -> int:
    """Prints the session. Raises UsageError where there is none."""
    from syncwatch.cli import EXIT_CLEAN, UsageError
    from syncwatch.model import to_json
    from syncwatch.report.session_text import print_ranks, print_session

    if args.limit < 0:
        raise UsageError(f"--limit {args.limit}: give the number of sites to show, 0 or more")
    sessions = read_sessions(args.session)
    if args.rank is None:
        chosen = max(sessions, key=lambda session: session.totals.get("wait_ms") or session.totals.get("count", 0))
    else:
        of_rank = [session for session in sessions if session.rank == args.rank]
        if not of_rank:
            known = ", ".join(str(session.rank) for session in sessions)
            raise UsageError(f"--rank {args.rank}: {args.session} has no session of that rank, only of {known}")
        chosen = of_rank[0]
    if args.output_format == "json":
        sys.stdout.buffer.write(to_json(name_rules(chosen)))
        return EXIT_CLEAN
    if len(sessions) > 1:
        print_ranks(sessions, file=sys.stdout)
    print_session(name_rules(chosen), file=sys.stdout, limit=args.limit)
    return EXIT_CLEAN

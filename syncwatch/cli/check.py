"""`syncwatch check`: find waits in source files, without running them."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from syncwatch.config import Config
    from syncwatch.report.outcome import Outcome, Style

EPILOG = """\
formats:
{formats}

exit status:
  0  no findings
  1  findings, and every file could be checked
  2  a file that could not be checked, or a mistake in the command line or the configuration
     (findings in the other files are still shown)

The configuration is [tool.syncwatch] of pyproject.toml, or syncwatch.toml, in the folder that holds all PATHs or the
nearest above it; `syncwatch config` shows what is in force.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    from syncwatch.report import FORMATS

    parser.usage = "syncwatch check [options] [PATH ...]"
    parser.epilog = EPILOG.format(formats="\n".join(f"  {item.name:<8} {item.help}" for item in FORMATS))
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="files, folders, notebooks, or - for standard input (default: this folder)",
    )

    rules = parser.add_argument_group("which findings are shown")
    rules.add_argument("--select", metavar="RULES", type=_rules, help="use these rules: SW101,SW2,nonzero-in-step,ALL")
    rules.add_argument("--extend-select", metavar="RULES", type=_words, help="use these besides those selected")
    rules.add_argument("--ignore", metavar="RULES", type=_words, help="leave these rules out")
    rules.add_argument(
        "--certainty",
        choices=("certain", "likely", "possible"),
        help="the least certainty that is shown; by default certain and likely findings are",
    )
    rules.add_argument(
        "--heat",
        metavar="HEATS",
        type=_words,
        help="how often a site must run: any of setup,epoch,step,guarded, or all; by default each rule chooses",
    )
    rules.add_argument("--diff-only", metavar="REV", help="only findings on lines changed since this git revision")
    rules.add_argument("--baseline", metavar="FILE", help="leave out the known findings that this file lists")
    rules.add_argument(
        "--write-baseline",
        action="store_true",
        help="list all findings in the baseline (default: syncwatch-baseline.json), drop what is repaired, and exit 0",
    )
    rules.add_argument("--require-reason", action="store_true", default=None, help="suppressions must give a reason")

    output = parser.add_argument_group("output")
    output.add_argument(
        "--output-format",
        metavar="FORMAT",
        default="text",
        choices=[item.name for item in FORMATS],
        help="text (default), " + ", ".join(item.name for item in FORMATS[1:]),
    )
    output.add_argument("-o", "--output-file", metavar="FILE", help="write the report to FILE")
    output.add_argument("--statistics", action="store_true", help="how many findings each rule has, not each finding")
    output.add_argument(
        "--show-source",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="show the source line and the remedy of each finding (text; default: yes)",
    )
    output.add_argument("-q", "--quiet", action="store_true", help="findings only: no summary, no progress")
    output.add_argument("--exit-zero", action="store_true", help="exit 0 though there are findings")
    output.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colours; auto: on a terminal, unless NO_COLOR is set",
    )

    repairs = parser.add_argument_group("repairs")
    repairs.add_argument("--fix", action="store_true", help="make the repairs that change nothing of what is computed")
    repairs.add_argument("--diff", action="store_true", help="show what --fix would change, and change nothing")

    files = parser.add_argument_group("which files are read")
    files.add_argument("--config", metavar="FILE", help="use this configuration file")
    files.add_argument("--isolated", action="store_true", help="use no configuration file")
    files.add_argument(
        "--exclude", metavar="PATTERNS", type=_words, help="leave these out, instead of the default list"
    )
    files.add_argument("--extend-exclude", metavar="PATTERNS", type=_words, help="leave these out too")
    files.add_argument(
        "--respect-gitignore",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="leave out what git ignores (default: yes)",
    )
    files.add_argument("--force-exclude", action="store_true", help="leave out excluded files though they are named")
    files.add_argument(
        "--partial",
        action="store_true",
        help="the paths are part of a project (pre-commit): call no suppression unused and no baseline entry stale",
    )
    files.add_argument("--stdin-filename", metavar="NAME", help="the name of what standard input (-) holds")

    work = parser.add_argument_group("how it works")
    work.add_argument(
        "-j", "--jobs", metavar="N", type=_jobs, default=None, help="processes (default: 1); 0: one for each processor"
    )
    work.add_argument("--no-cache", action="store_true", help="neither read nor write .syncwatch_cache")
    work.add_argument("--watch", action="store_true", help="check again whenever a file changes, until Ctrl-C")


def run(args: argparse.Namespace) -> int:
    """Checks, reports, and returns the exit status."""
    if args.watch:
        from syncwatch.cli.watch import watch

        status: int = watch(args)
        return status
    return check_once(args)


def check_once(args: argparse.Namespace) -> int:
    """One check with these arguments."""
    from syncwatch.cli.request import checked, config_of

    _usage(args)
    config = config_of(args)
    outcome = checked(args, config)
    if args.diff:
        return show_diff(args, outcome)
    if args.fix:
        outcome = fixed(args, config, outcome)
    write(args, outcome)
    return status(args, outcome)


def show_diff(args: argparse.Namespace, outcome: Outcome) -> int:
    """Prints what --fix would change. The exit status is 1 where it would change anything."""
    from syncwatch.repair import repair

    repaired = repair(outcome.edits)
    emit(args, "".join(each.diff() for each in repaired))
    return 2 if outcome.problems else 1 if repaired and not args.exit_zero else 0


def fixed(args: argparse.Namespace, config: Config, outcome: Outcome) -> Outcome:
    """Makes the repairs, and checks again where there were any."""
    from dataclasses import replace

    from syncwatch.cli.request import checked
    from syncwatch.repair import repair, total

    repaired = repair(outcome.edits)
    if not repaired:
        return outcome
    for each in repaired:
        each.write()
    note = f"made {total(repaired)} repair{'' if total(repaired) == 1 else 's'} in {_files(len(repaired))}"
    outcome = checked(args, config)
    return replace(outcome, notes=(note, *outcome.notes))


def _files(count: int) -> str:
    return f"{count} file{'' if count == 1 else 's'}"


def status(args: argparse.Namespace, outcome: Outcome) -> int:
    """The exit status: 2 where a file could not be checked, else 1 where there are findings."""
    if outcome.problems:
        return 2
    return 1 if outcome.findings and not args.exit_zero and not args.write_baseline else 0


def write(args: argparse.Namespace, outcome: Outcome) -> None:
    """Writes the report to standard output or to a file."""
    from syncwatch.report import render

    emit(args, render(args.output_format, outcome, style_of(args)))


def emit(args: argparse.Namespace, text: str) -> None:
    """Writes text to standard output or to the file of -o. Raises UsageError where that cannot be written."""
    from syncwatch.cli import UsageError

    if args.output_file:
        try:
            Path(args.output_file).write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            raise UsageError(f"{args.output_file}: cannot be written ({error.strerror or error})") from None
        return
    stream = sys.stdout
    try:
        stream.write(text)
    except UnicodeEncodeError:  # a terminal or pipe that is not UTF-8
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def style_of(args: argparse.Namespace) -> Style:
    """How text is to be written."""
    from syncwatch.report.outcome import Style

    if args.color == "auto":
        colour = not args.output_file and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        colour = colour and os.environ.get("TERM") != "dumb"
    else:
        colour = args.color == "always"
    return Style(colour=bool(colour), show_source=args.show_source, statistics=args.statistics, quiet=args.quiet)


def _usage(args: argparse.Namespace) -> None:
    from syncwatch.cli import UsageError

    if args.output_file:
        _spare_sources(args.output_file, args.paths)
    if args.statistics and args.output_format not in ("text", "concise", "json"):
        raise UsageError(f"--statistics goes with text, concise or json, not with {args.output_format}")
    if "-" in args.paths and len(args.paths) > 1:
        raise UsageError("- (standard input) goes with no other path")
    if args.stdin_filename and args.paths != ["-"]:
        raise UsageError("--stdin-filename goes with - (standard input) only")
    if args.fix and args.diff:
        raise UsageError("--fix and --diff exclude each other")
    if args.fix and args.paths == ["-"]:
        raise UsageError("--fix changes files; it cannot change standard input")
    if args.fix and args.watch:
        raise UsageError("--fix and --watch exclude each other")
    if args.config and args.isolated:
        raise UsageError("--config and --isolated exclude each other")


def _spare_sources(output: str, paths: list[str]) -> None:
    """Raises UsageError where the report would be written over a file that is checked."""
    from syncwatch.cli import UsageError
    from syncwatch.static.discover import SUFFIXES

    file = Path(output)
    named = any(Path(path).is_file() and file.exists() and file.samefile(path) for path in paths)
    if named or (file.is_file() and file.suffix in SUFFIXES):
        raise UsageError(f"-o {output}: would be written over a source file; give the report a name of its own")


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _rules(text: str) -> list[str]:
    words = _words(text)
    if not words:
        raise argparse.ArgumentTypeError("names no rule; give some such as SW101,SW2, or leave the option out")
    return words


def _jobs(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes")
    return int(text)

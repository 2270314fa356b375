"""`syncwatch run`: records the waits of a program, on a GPU or on an emulated one."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import sys
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from syncwatch.cli.sessions import DEFAULT_SESSION

if TYPE_CHECKING:
    from syncwatch.runtime.launch import Program
    from syncwatch.runtime.session import Recording
    from syncwatch.runtime.source import Source

_DEVICES = ("auto", "cuda", "emulated")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.usage = "syncwatch run [options] (SCRIPT | -m MODULE) [argument ...]"
    parser.add_argument(
        "--device", choices=_DEVICES, default="auto", help="default: the GPU where there is one, else an emulated one"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", default=DEFAULT_SESSION, help=f"the session file (default: {DEFAULT_SESSION})"
    )
    parser.add_argument(
        "--only", metavar="PATH", action="append", default=[], help="leave out sites elsewhere; may be repeated"
    )
    parser.add_argument(
        "--include",
        metavar="PACKAGE",
        action="append",
        default=[],
        help="an installed package whose lines count as yours; may be repeated",
    )
    parser.add_argument("--steps", metavar="N", type=int, help="record N optimizer steps, then let the program run on")
    parser.add_argument("--stop", action="store_true", help="with --steps: end the program after them")
    parser.add_argument(
        "--fail-over",
        metavar="N",
        type=float,
        help="exit with status 1 if the host waits more than N times a step (in all, where there are no steps)",
    )
    parser.add_argument("--devices", metavar="N", type=int, help="devices to emulate (default: one for each rank)")
    parser.add_argument("--quiet", action="store_true", help="print no report")
    parser.add_argument(
        "-m", dest="module", metavar="MODULE", nargs=argparse.REMAINDER, help="run a module, as python -m does"
    )
    parser.add_argument("program", metavar="SCRIPT", nargs=argparse.REMAINDER, help="the program, and its arguments")


def run(args: argparse.Namespace) -> int:
    """Runs the program and returns its exit status; raises SystemExit where the program did."""
    from syncwatch.cli import UsageError
    from syncwatch.runtime import launch
    from syncwatch.runtime.session import Recording, rank_and_world_size

    _check_options(args)
    program = _program(args)
    if importlib.util.find_spec("torch") is None:
        raise UsageError(
            f"torch is not installed in {sys.prefix}; install syncwatch into the environment of the program, "
            "or torch into this one"
        )
    quiet = args.quiet or rank_and_world_size()[0] != 0
    saver = _Saver(args)
    recording = Recording(
        [*(["-m", args.module[0], *args.module[1:]] if args.module else args.program)],
        only=args.only,
        include=[*args.include, *_own_package(args)],
        steps=args.steps,
        finished=saver.steps_recorded,
    )
    saver.recording = recording
    with ExitStack() as stack:
        device = choose_device(args.device)
        _select(device, args.devices, stack)
        source = _start(recording)
        if not quiet:
            with suppress(BrokenPipeError):  # here and below: the program and its exit status matter more
                print(_first_line(program, source), file=sys.stderr, flush=True)
        outcome = launch.run(program, saver.save)
        if not recording.ours:  # a child that the program forked ends here, as it would have without us
            raise SystemExit(outcome.status)
        recording.stop()
        saver.save()
    with suppress(BrokenPipeError):
        _report(saver, quiet)
    if outcome.interrupted:
        launch.die_of_interrupt()
    if not outcome.failed and args.fail_over is not None and _over(recording, args.fail_over, quiet):
        return 1
    if outcome.status is not None:
        raise SystemExit(outcome.status)
    return 0


def _check_options(args: argparse.Namespace) -> None:
    """Raises UsageError for what would only fail once the program has run, or would mean nothing."""
    from syncwatch.cli import UsageError

    if args.steps is not None and args.steps < 1:
        raise UsageError(f"--steps {args.steps}: give the number of steps to record, 1 or more")
    if args.stop and args.steps is None:
        raise UsageError("--stop ends the program after the steps that --steps N asks for; give --steps too")
    if args.devices is not None and not 1 <= args.devices <= 64:
        raise UsageError(f"--devices {args.devices}: give the number of devices to emulate, 1 to 64")
    if args.fail_over is not None and not args.fail_over >= 0:  # not a number is refused too
        raise UsageError(f"--fail-over {args.fail_over:g}: give the number of waits that are allowed, 0 or more")
    if os.path.isdir(args.output or "."):
        raise UsageError(f"--output {args.output}: is a folder; give the name of a file in it")


class _Saver:
    """Writes the session file, at the end, when a signal ends the program, and when enough steps are recorded."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.recording: Recording | None = None
        self.path = ""

    def save(self) -> None:
        from syncwatch.cli.sessions import name_rules

        if self.recording is not None and self.recording.ours:
            self.path = self.recording.save(self.args.output, name_rules)

    def steps_recorded(self, recording: Recording) -> None:
        self.save()
        if self.args.stop:
            raise SystemExit(0)


def _program(args: argparse.Namespace) -> Program:
    from syncwatch.cli import UsageError
    from syncwatch.runtime import launch

    rest = args.program[1:] if args.program[:1] == ["--"] else args.program
    args.program = rest
    try:
        if args.module is not None:
            if not args.module:
                raise UsageError("-m needs the name of a module: syncwatch run -m MODULE [argument ...]")
            return launch.module(args.module[0], args.module[1:])
        if not rest:
            raise UsageError("give the program to run: syncwatch run SCRIPT [argument ...]")
        return launch.script(rest[0], rest[1:])
    except launch.LaunchError as error:
        raise UsageError(str(error)) from None


def _own_package(args: argparse.Namespace) -> list[str]:
    """With -m, the package that is run is the user's, installed or not."""
    return [args.module[0].partition(".")[0]] if args.module else []


def choose_device(wanted: str) -> str:
    """ "cuda" or "emulated". Looks for a GPU without setting CUDA up, so that the program can still fork."""
    if wanted == "emulated":
        return wanted
    from syncwatch.cli import UsageError
    from syncwatch.runtime.cuda.device import has_cuda

    if wanted == "cuda" and not has_cuda():
        raise UsageError("--device cuda: no CUDA device was found here; use --device emulated to count without one")
    return ("cuda" if has_cuda() else "emulated") if wanted == "auto" else wanted


def _select(device: str, devices: int | None, stack: ExitStack) -> None:
    from syncwatch.cli import UsageError
    from syncwatch.runtime.source import use_source

    if device == "cuda":
        return
    try:
        emulator = importlib.import_module("syncwatch.emulator")
    except ImportError as error:
        raise UsageError(f"the emulated device cannot be used here ({error}); run on a machine with a GPU") from None
    stack.enter_context(use_source(emulator.source(devices=devices or _ranks_here())))


def _ranks_here() -> int:
    """Under torchrun each rank of this machine expects a device of its own."""
    word = os.environ.get("LOCAL_WORLD_SIZE", "1")
    return max(1, int(word)) if word.isdigit() else 1


def _start(recording: Recording) -> Source:
    from syncwatch.cli import UsageError
    from syncwatch.runtime.source import Unsupported

    try:
        return recording.start()
    except Unsupported as error:
        raise UsageError(str(error)) from None


def _first_line(program: Program, source: Source) -> str:
    where = "on the GPU" if source.device == "cuda" else "on an emulated GPU (no CUDA device is used)"
    return f"syncwatch: recording {program.name} {where}"


def _report(saver: _Saver, quiet: bool) -> None:
    if quiet or saver.recording is None:
        return
    from syncwatch.cli.sessions import name_rules
    from syncwatch.report.session_text import print_session

    print_session(name_rules(saver.recording.session()), file=sys.stderr)
    print(f"syncwatch: session saved to {_shown(saver.path)}", file=sys.stderr)


def _shown(path: str | os.PathLike[str]) -> str:
    """A path as it is typed from here: relative below the current folder, else absolute."""
    absolute, here = os.path.abspath(path), os.getcwd()
    return os.path.relpath(absolute) if absolute.startswith(os.path.join(here, "")) else absolute


def _over(recording: Recording, limit: float, quiet: bool) -> bool:
    totals = recording.ledger.totals()
    per_step = totals["per_step"]
    found = totals["count"] if per_step is None else per_step
    if found <= limit:
        return False
    if not quiet:
        unit = "" if per_step is None else " a step"
        noun = "sync" if found == 1 else "syncs"
        print(f"syncwatch: {found:g} {noun}{unit}, at most {limit:g} allowed by --fail-over", file=sys.stderr)
    return True

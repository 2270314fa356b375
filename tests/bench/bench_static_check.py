"""`syncwatch check` on whole projects: cold, in parallel, warm, one changed file, memory; and how cost grows.

    python tests/bench/bench_static_check.py FOLDER... [--growth FOLDER] [--no-libcst] [--against 'torchfix .']

Each folder is copied first, so that no cache is left in it. Every figure is that of a process of its own (start
included): wall time, processor time of it and its children (steadier on a busy machine), and peak memory. Ratios of
processor time are to a bare `libcst.parse_module` over the files that name torch, measured in the same run. `--growth`
checks 10, 100 and 1,000 of a folder's files, and prints the processor time for a million lines. `--against` runs
another linter over the same files, and prints how much more processor time it takes.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

PARSE = """
import gc, sys, time
import libcst
from syncwatch.static.discover import discover
from syncwatch.static.source import decode, names_torch, read
from syncwatch.static.stack import on_deep_stack
datas = [read(path) for path in discover(["."], respect_gitignore=False).files if path.endswith(".py")]
texts = [decode(data) for data in datas if names_torch(data)]
gc.disable()
start, cpu = time.perf_counter(), time.process_time()
on_deep_stack(lambda: [libcst.parse_module(text) and None for text in texts])
print(time.perf_counter() - start, time.process_time() - cpu)
"""


# An installed package has its byte code at hand.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class Run(NamedTuple):
    """Wall and processor seconds, peak memory of the largest process in MB, exit status."""

    seconds: float
    cpu: float
    megabytes: float
    status: int


def check(folder: Path, *arguments: str) -> Run:
    """One `syncwatch check` in a process of its own."""
    command = [sys.executable, "-m", "syncwatch", "check", "--quiet", "-o", os.devnull, *arguments]
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, env=ENVIRONMENT)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Run(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000, process.returncode)


def parse(folder: Path) -> tuple[float, float]:
    """Wall and processor seconds of a bare libcst parse of the files that name torch."""
    done = subprocess.run([sys.executable, "-c", PARSE], cwd=folder, capture_output=True, check=True, text=True)
    wall, cpu = done.stdout.split()
    return float(wall), float(cpu)


def copy(source: str, target: Path, count: int = 0) -> int:
    """Copies a project, or `count` of its Python files; returns the number of lines."""
    lines = 0
    paths = sorted(Path(source).rglob("*.py"))
    for path in paths[:count] if count else paths:
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
        lines += path.read_bytes().count(b"\n")
    return lines


def other(folder: Path, command: str) -> float:
    """Processor seconds of another command in a folder."""
    process = subprocess.Popen(shlex.split(command), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def project(source: str, libcst: bool, against: str) -> None:
    """All figures of one project, printed as they come."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / Path(source).name
        lines = copy(source, folder)
        wall, bare = parse(folder) if libcst else (float("nan"), float("nan"))
        print(f"{Path(source).name}: {lines} lines; bare libcst parse {wall:.2f} s, processor {bare:.2f} s", flush=True)

        def figure(name: str, *arguments: str) -> Run:
            run = check(folder, *arguments)
            ratio = f"{run.cpu / bare:5.2f} x libcst" if libcst else ""
            figures = f"{run.seconds:8.2f} s  processor {run.cpu:8.2f} s {ratio}  {run.megabytes:6.0f} MB"
            print(f"  {name:<54}{figures}  status {run.status}", flush=True)
            return run

        cold = figure("cold, no cache", ".", "--no-cache")
        alone = cold.seconds
        if against:
            cpu = other(folder, against)
            print(f"  {against}: processor {cpu:.2f} s, {cpu / cold.cpu:.1f} times as much", flush=True)
        two = figure("cold, no cache, --jobs 2", ".", "--no-cache", "--jobs", "2").seconds
        print(f"  --jobs 2 is {alone / two:.2f} times as fast", flush=True)
        figure("cold, writes the cache", ".")
        figure("warm", ".")
        sizes = {path: path.stat().st_size for path in folder.rglob("*.py")}
        changed = sorted(sizes, key=lambda path: sizes[path])[len(sizes) * 3 // 4]
        with changed.open("a", encoding="utf-8") as file:
            file.write("\n# changed\n")
        figure(f"warm, {changed.name} changed and checked alone", str(changed.relative_to(folder)))
        figure("warm, the same file checked among all", ".")


def growth(source: str) -> None:
    """Time and memory for 10, 100 and 1,000 files."""
    print(f"growth on files of {Path(source).name}")
    for count in (10, 100, 1000):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "project"
            lines = copy(source, folder, count)
            run = check(folder, ".", "--no-cache")
        figures = f"{run.seconds:8.2f} s  processor {run.cpu:8.2f} s, {run.cpu / lines * 1e6:7.0f} s a million lines"
        print(f"  {count:>5} files {lines:>8} lines {figures}  {run.megabytes:6.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--growth", metavar="FOLDER")
    parser.add_argument("--no-libcst", action="store_true")
    parser.add_argument("--against", metavar="COMMAND", default="")
    args = parser.parse_args()
    for folder in args.folders:
        project(folder, not args.no_libcst, args.against)
    if args.growth:
        growth(args.growth)


if __name__ == "__main__":
    main()

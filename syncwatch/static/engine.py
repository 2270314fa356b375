"""The static engine: files in, events and problems out."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from syncwatch.model import Certainty, Event, Heat, Problem
from syncwatch.static import ir
from syncwatch.static.discover import discover
from syncwatch.static.options import Options
from syncwatch.static.project import Project

# Deeply nested code is walked by recursion, here and in inference; the frames need room.
_STACK_BYTES = 512 * 1024 * 1024
_RECURSION = 12_000

_T = TypeVar("_T")
_CERTAINTY = {Certainty.POSSIBLE: 0, Certainty.LIKELY: 1, Certainty.CERTAIN: 2}
_HEAT = {Heat.SETUP: 0, Heat.GUARDED: 1, Heat.EPOCH: 2, Heat.STEP: 3}


@dataclass(frozen=True)
class Marks:
    """The comments of a file that speak to a linter, and the lines that each statement spans (see `ir.Module`)."""

    comments: tuple[ir.Comment, ...] = ()
    statements: tuple[tuple[int, int], ...] = ()


@dataclass
class Analysis:
    """What the engine found.

    events: sorted by path, line, column and operation; each site and operation once. problems: files that could not be
    checked, and why. files: the files that were looked at. marks: by path, for files that hold such comments.
    """

    events: list[Event]
    problems: list[Problem]
    files: list[str]
    marks: dict[str, Marks] = field(default_factory=dict)
    project: Project | None = None

    def source(self, path: str, line: int) -> str | None:
        """A line of a file (from 1) as positions refer to it; None where there is none."""
        if self.project is None:
            return None
        if path not in self._texts:
            self._texts[path] = self.project.text(path).split("\n")
        lines = self._texts[path]
        return lines[line - 1] if 0 < line <= len(lines) else None

    def cell(self, path: str, line: int) -> tuple[int, int] | None:
        """The cell and the line in it of a line of a notebook; None for any other file."""
        notebook = None if self.project is None else self.project.notebook(path)
        return None if notebook is None else notebook.locate(line)

    def __post_init__(self) -> None:
        self._texts: dict[str, list[str]] = {}


def analyse(
    paths: Iterable[str], options: Options | None = None, contents: Mapping[str, bytes] | None = None
) -> Analysis:
    """Checks files and folders.

    `contents` gives the bytes of files that are not to be read from disk, by path: an editor's buffer, standard input.
    Such paths count as named even where no file is. Whatever is wrong with one file becomes a problem of that file.
    """
    options = options or Options()
    contents = contents or {}
    found = discover(
        [path for path in paths if path not in contents],
        exclude=options.exclude,
        extend_exclude=options.extend_exclude,
        respect_gitignore=options.respect_gitignore,
        root=options.root,
    )
    files = list(dict.fromkeys([*found.files, *contents]))
    project = Project(files, options, contents)
    roots = [path for path in files if project.wanted(path)]
    events, problems = on_deep_stack(lambda: infer_roots(project, roots))
    marks = {}
    for path in files:
        if path in roots:
            module = project.module(path)
            if module is not None and module.comments:
                marks[path] = Marks(module.comments, module.statements)
    checked = set(files)
    return Analysis(
        merge(event for event in events if event.site.path in checked),
        sorted([*found.problems, *problems], key=lambda each: (each.path, each.line, each.message)),
        files,
        marks,
        project,
    )


def infer_roots(project: Project, roots: Sequence[str]) -> tuple[list[Event], list[Problem]]:
    """Infers the events of each root. An exception inside inference becomes a problem of the file concerned."""
    from syncwatch.static.infer import infer_root

    events: list[Event] = []
    problems: list[Problem] = []
    for path in roots:
        module = project.module(path)
        problems += [Problem(path=path, line=each.line, message=each.message) for each in project.problems(path)]
        if module is None:
            continue
        try:
            events += infer_root(project, path).events
        except RecursionError:
            problems.append(Problem(path=path, line=0, message="the code is nested too deeply to be checked"))
        except Exception as error:
            problems.append(internal_error(path, error))
    return events, problems


def internal_error(path: str, error: Exception) -> Problem:
    """The problem of a file at which the engine itself failed."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" at {trace.tb_frame.f_code.co_name}:{trace.tb_lineno}" if trace is not None else ""
    message = f"internal error ({type(error).__name__}: {error}{place}); please report it with this file"
    return Problem(path=path, line=0, message=message)


def merge(events: Iterable[Event]) -> list[Event]:
    """One event for each kind, operation and site: the highest certainty and heat win. Sorted by place."""
    merged: dict[tuple[object, ...], Event] = {}
    for event in events:
        site = event.site
        key = (site.path, site.line, site.column, event.op, event.kind.value, event.via)
        other = merged.get(key)
        merged[key] = event if other is None else _stronger(other, event)
    return [merged[key] for key in sorted(merged, key=_order)]


def _order(key: tuple[object, ...]) -> tuple[tuple[str, ...], object, object, object, object, object]:
    path, line, column, op, kind, via = key
    return (tuple(str(path).split("/")), line, column, op, kind, via)


def _stronger(one: Event, other: Event) -> Event:
    best = one if _CERTAINTY[one.certainty] >= _CERTAINTY[other.certainty] else other
    heat = one.heat if _HEAT[one.heat] >= _HEAT[other.heat] else other.heat
    return best if best.heat is heat else msgspec.structs.replace(best, heat=heat)


def on_deep_stack(work: Callable[[], _T]) -> _T:
    """Runs `work` in a thread with a stack for deep recursion, and returns or raises what it does."""
    result: list[_T] = []
    failure: list[BaseException] = []

    def target() -> None:
        try:
            result.append(work())
        except BaseException as error:
            failure.append(error)

    limit, size = sys.getrecursionlimit(), threading.stack_size(_STACK_BYTES)
    sys.setrecursionlimit(max(limit, _RECURSION))
    try:
        thread = threading.Thread(target=target, name="syncwatch", daemon=True)
        thread.start()
        while thread.is_alive():  # in short waits, so that Ctrl-C is seen
            thread.join(0.2)
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(limit)
    if failure:
        raise failure[0]
    return result[0]

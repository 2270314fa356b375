"""The static engine: files in, events and problems out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from syncwatch.model import Certainty, Event, Heat, Problem
from syncwatch.static import ir
from syncwatch.static.cache import Cache
from syncwatch.static.discover import discover
from syncwatch.static.memory import Memory
from syncwatch.static.options import Options
from syncwatch.static.parallel import run
from syncwatch.static.project import Project
from syncwatch.static.source import display
from syncwatch.static.work import Work

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
    checked, and why. files: the files that were looked at. marks: by path, for files that hold such comments. faults:
    errors of inference itself, each of which cost a function or less; empty unless the engine has a defect.
    """

    events: list[Event]
    problems: list[Problem]
    files: list[str]
    marks: dict[str, Marks] = field(default_factory=dict)
    project: Project | None = None
    faults: list[str] = field(default_factory=list)

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
    paths: Iterable[str],
    options: Options | None = None,
    contents: Mapping[str, bytes] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Analysis:
    """Checks files and folders.

    `contents` gives the bytes of files that are not to be read from disk, by path: an editor's buffer, standard input.
    Such paths count as named even where no file is. `progress` is called with the number of files done and of all.
    Whatever is wrong with one file becomes a problem of that file, and the rest is still checked.
    """
    options = options or Options()
    contents = {display(path): data for path, data in (contents or {}).items()}
    found = discover(
        [path for path in paths if display(path) not in contents],
        exclude=options.exclude,
        extend_exclude=options.extend_exclude,
        respect_gitignore=options.respect_gitignore,
        root=options.root,
        force_exclude=options.force_exclude,
    )
    files = sorted({*found.files, *contents}, key=path_order)
    cache = Cache(options.root, options) if options.cache else None
    project = Project(files, options, contents, cache)
    works = _infer(project, progress or (lambda done, total: None))
    checked = set(files)
    problems = [problem for work in works for problem in work.problems]
    faces = ((path, project.faces.get(path)) for path in files)
    return Analysis(
        merge(event for work in works for event in work.events if event.site.path in checked),
        sorted([*found.problems, *problems], key=lambda each: (path_order(each.path), each.line, each.message)),
        files,
        {path: Marks(face.comments, face.statements) for path, face in faces if face and face.comments},
        project,
        [fault for work in works for fault in work.faults],
    )


def _infer(project: Project, progress: Callable[[int, int], None]) -> list[Work]:
    """The results of all roots, recalled where they still hold."""
    roots = [path for path in project.files if project.face(path).wanted]
    memory = None if project.cache is None else Memory(project, project.cache)
    works: dict[str, Work] = {}
    if memory is not None:
        for path in roots:
            work = memory.recall(path)
            if work is not None:
                works[path] = work
    recalled = set(works)
    missing = [path for path in roots if path not in recalled]
    if missing:
        progress(len(recalled), len(roots))
        for work in run(project, missing):
            works[work.path] = work
            progress(len(works), len(roots))
        if memory is not None:
            memory.keep([works[path] for path in missing])
    return [works[path] for path in roots]


def merge(events: Iterable[Event]) -> list[Event]:
    """One event for each kind, operation and site: the highest certainty and heat win. Sorted by place."""
    merged: dict[tuple[str, int, int, str, str, str], Event] = {}
    for event in events:
        site = event.site
        key = (site.path, site.line, site.column, event.op, event.kind.value, event.via)
        other = merged.get(key)
        merged[key] = event if other is None else _stronger(other, event)
    return [merged[key] for key in sorted(merged, key=lambda key: (path_order(key[0]), key[1:]))]


def path_order(path: str) -> list[str]:
    """The key by which paths are sorted: folder by folder."""
    return path.split("/")


def _stronger(one: Event, other: Event) -> Event:
    best = one if _CERTAINTY[one.certainty] >= _CERTAINTY[other.certainty] else other
    heat = one.heat if _HEAT[one.heat] >= _HEAT[other.heat] else other.heat
    return best if best.heat is heat else msgspec.structs.replace(best, heat=heat)

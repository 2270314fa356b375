"""One root's inference, with whatever may go wrong in it; the unit that is cached and handed to processes."""

from __future__ import annotations

import gc
from collections.abc import Sequence

import msgspec

from syncwatch.model import Event, Problem
from syncwatch.static.project import Project


class Work(msgspec.Struct, frozen=True, array_like=True):
    """What inference found with one file as root. `dependencies` are the files that were read for it.

    `faults` are errors of inference itself that cost a function or less: what else the file does was still seen.
    """

    path: str
    events: tuple[Event, ...]
    problems: tuple[Problem, ...]
    dependencies: tuple[str, ...]
    faults: tuple[str, ...] = ()


def infer_file(project: Project, path: str) -> Work:
    """Infers the events of one root. An exception inside inference becomes a problem of that file."""
    from syncwatch.static.infer import infer_root

    module = project.module(path)
    problems = tuple(Problem(path=path, line=each.line, message=each.message) for each in project.problems(path))
    if module is None:
        return Work(path, (), problems, (path,))
    try:
        result = infer_root(project, path)
    except RecursionError:
        nested = Problem(path=path, line=0, message="the code is nested too deeply to be checked")
        return Work(path, (), (*problems, nested), (path,))
    except Exception as error:
        return Work(path, (), (*problems, internal_error(path, error)), (path,))
    dependencies = tuple(sorted({path, *result.dependencies}))
    return Work(path, tuple(result.events), problems, dependencies, tuple(result.faults))


def infer_each(project: Project, roots: Sequence[str]) -> list[Work]:
    """The result of each root."""
    thresholds = gc.get_threshold()
    gc.set_threshold(20_000, 20, 100)  # inference makes many objects that live long: look for garbage less often
    try:
        return [infer_file(project, path) for path in roots]
    finally:
        gc.set_threshold(*thresholds)


def internal_error(path: str, error: BaseException) -> Problem:
    """The problem of a file at which the engine itself failed."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" at {trace.tb_frame.f_code.co_name}:{trace.tb_lineno}" if trace is not None else ""
    message = f"internal error ({type(error).__name__}: {error}{place}); please report it with this file"
    return Problem(path=path, line=0, message=message)

"""Inference in several processes, which share what they lower through the cache."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial

import msgspec

from syncwatch.model import Problem
from syncwatch.static.cache import Cache, Face
from syncwatch.static.options import Options
from syncwatch.static.project import Project
from syncwatch.static.stack import on_deep_stack
from syncwatch.static.work import Work, infer_each

# Pieces for each process: enough to even out, few enough that neighbours share what they import.
_PIECES = 4
_DIED = "the process that checked it died (out of memory?); check it by itself to see more"


class Share(msgspec.Struct, frozen=True, array_like=True):
    """What a process sends back: results, and what it learnt of files, for the cache."""

    works: tuple[Work, ...]
    faces: dict[str, Face]
    finds: dict[str, dict[str, str]]


def run_in_pool(project: Project, roots: Sequence[str], jobs: int) -> Iterator[Work]:
    """Infers each root in one of `jobs` processes; results come in any order."""
    work = pieces(roots, [_size(path) for path in roots], jobs * _PIECES)
    lost: list[str] = []
    with _shared_folder(project) as folder:
        with _Pool(project, jobs, folder) as pool:
            # First every file is lowered once, for all processes to read; then each takes its roots.
            with suppress(BrokenProcessPool):
                wait([pool.lower(piece) for piece in work])
            futures: dict[Future[bytes], list[str]] = {}
            for piece in work:
                try:
                    futures[pool.infer(piece)] = piece
                except BrokenProcessPool:
                    lost += piece
            for future in as_completed(futures):
                try:
                    yield from _take(project, future)
                except BrokenProcessPool:
                    lost += futures[future]
        yield from _rescue(project, lost, folder)


def pieces(roots: Sequence[str], sizes: Sequence[int], count: int) -> list[list[str]]:
    """Cuts roots into about `count` runs of neighbours of about equal size in all."""
    total = sum(sizes) or 1
    result: list[list[str]] = []
    done = 0
    for path, size in zip(roots, sizes, strict=True):
        if not result or done >= total * len(result) / count:
            result.append([])
        result[-1].append(path)
        done += size
    return result


@contextmanager
def _shared_folder(project: Project) -> Iterator[str]:
    """The folder through which processes share what they lowered: the cache, or a temporary one."""
    if project.cache is not None:
        yield project.cache.folder
    else:
        with tempfile.TemporaryDirectory(prefix="syncwatch-", ignore_cleanup_errors=True) as folder:
            yield folder


def _rescue(project: Project, lost: list[str], folder: str) -> Iterator[Work]:
    """Infers root by root what was lost when a process died, so that only the culprit stays unchecked."""
    alone: _Pool | None = None
    try:
        for path in lost:
            alone = alone or _Pool(project, 1, folder)
            try:
                yield from _take(project, alone.infer([path]))
            except BrokenProcessPool:
                yield Work(path, (), (Problem(path=path, line=0, message=_DIED),), (path,))
                alone.close()
                alone = None
    finally:
        if alone is not None:
            alone.close()


def _take(project: Project, future: Future[bytes]) -> tuple[Work, ...]:
    """The results of a piece; what was learnt of files goes into the project. Raises BrokenProcessPool."""
    share = msgspec.msgpack.decode(future.result(), type=Share)
    for path, face in share.faces.items():
        known = project.faces.get(path)
        if known is None or known.outline is None:  # of a file that was parsed, what that told is kept
            project.faces[path] = face
    for importer, finds in share.finds.items():
        project.finds.setdefault(importer, {}).update(finds)
    return share.works


class _Pool:
    """Processes that infer pieces of one project. Leaving it early (Ctrl-C) ends them at once."""

    def __init__(self, project: Project, jobs: int, folder: str) -> None:
        # A fork is quick, but not safe beside other threads.
        quick = sys.platform == "linux" and threading.active_count() == 1
        context = multiprocessing.get_context("fork" if quick else "spawn")
        before = set(multiprocessing.active_children())
        self._executor = ProcessPoolExecutor(
            jobs,
            mp_context=context,
            initializer=_start,
            initargs=(project.files, project.options, project.contents, folder),
        )
        self._before = before

    def lower(self, roots: list[str]) -> Future[None]:
        return self._executor.submit(_lower_piece, roots)

    def infer(self, roots: list[str]) -> Future[bytes]:
        return self._executor.submit(_infer_piece, roots)

    def close(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if kind is not None:
            for child in multiprocessing.active_children():
                if child not in self._before:
                    child.terminate()
        self.close()


_project: Project | None = None  # in a process of the pool


def _start(files: tuple[str, ...], options: Options, contents: dict[str, bytes], folder: str) -> None:
    global _project
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears Ctrl-C, and ends us
    _project = Project(files, options, contents, Cache(options.root, options, folder))


def _lower_piece(roots: list[str]) -> None:
    assert _project is not None
    for path in roots:
        on_deep_stack(partial(_project.load, path))


def _infer_piece(roots: list[str]) -> bytes:
    project = _project
    assert project is not None
    works = tuple(on_deep_stack(partial(infer_each, project, roots)))
    share = Share(works, project.faces, project.finds)
    project.faces, project.finds = {}, {}  # sent once
    return msgspec.msgpack.encode(share)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0

"""Inference of many roots, in this process or in several."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial

import msgspec

from syncwatch.model import Problem
from syncwatch.static.cache import Cache, Face
from syncwatch.static.options import Options
from syncwatch.static.project import Project
from syncwatch.static.work import Work, infer_file, on_deep_stack

# Fewer roots than this are not worth the start of another process.
_LEAST_PER_PROCESS = 8
# Pieces for each process: enough to even out, few enough that neighbours share what they import.
_PIECES = 4


class Share(msgspec.Struct, frozen=True, array_like=True):
    """What a process sends back: results, and what it learnt of files, for the cache."""

    works: tuple[Work, ...]
    faces: dict[str, Face]
    finds: dict[str, dict[str, str]]


def run(project: Project, roots: Sequence[str]) -> Iterator[Work]:
    """Infers each root, and yields its result when it is there (in the order of `roots` within one process)."""
    jobs = min(job_count(project.options.jobs), max(1, len(roots) // _LEAST_PER_PROCESS))
    if jobs > 1:
        yield from _run_in_pool(project, roots, jobs)
    else:
        for start in range(0, len(roots), 16):
            piece = roots[start : start + 16]
            yield from on_deep_stack(partial(_infer_each, project, piece))


def job_count(jobs: int) -> int:
    """The number of processes that `--jobs` means: 0 stands for as many as there are processors for us."""
    if jobs > 0:
        return jobs
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


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


def _run_in_pool(project: Project, roots: Sequence[str], jobs: int) -> Iterator[Work]:
    sizes = [_size(path) for path in roots]
    lost: list[str] = []
    with _Pool(project, jobs) as pool:
        futures = {pool.submit(piece): piece for piece in pieces(roots, sizes, jobs * _PIECES)}
        for future in as_completed(futures):
            try:
                yield from _take(project, future)
            except BrokenProcessPool:
                lost += futures[future]
    # A process died (out of memory, a crash in a library): root by root, the culprit is found and the rest is saved.
    alone: _Pool | None = None
    try:
        for path in lost:
            alone = alone or _Pool(project, 1)
            try:
                yield from _take(project, alone.submit([path]))
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
    project.faces.update(share.faces)
    for importer, finds in share.finds.items():
        project.finds.setdefault(importer, {}).update(finds)
    return share.works


class _Pool:
    """Processes that infer pieces of one project. Leaving it early (Ctrl-C) ends them at once."""

    def __init__(self, project: Project, jobs: int) -> None:
        # A fork is quick, but not safe beside other threads.
        quick = sys.platform == "linux" and threading.active_count() == 1
        context = multiprocessing.get_context("fork" if quick else "spawn")
        before = set(multiprocessing.active_children())
        self._executor = ProcessPoolExecutor(
            jobs,
            mp_context=context,
            initializer=_start,
            initargs=(project.files, project.options, project.contents, project.cache is not None),
        )
        self._before = before

    def submit(self, roots: list[str]) -> Future[bytes]:
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


def _start(files: tuple[str, ...], options: Options, contents: dict[str, bytes], cached: bool) -> None:
    global _project
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears Ctrl-C, and ends us
    _project = Project(files, options, contents, Cache(options.root, options) if cached else None)


def _infer_piece(roots: list[str]) -> bytes:
    project = _project
    assert project is not None
    works = tuple(on_deep_stack(partial(_infer_each, project, roots)))
    share = Share(works, project.faces, project.finds)
    project.faces, project.finds = {}, {}  # sent once
    return msgspec.msgpack.encode(share)


def _infer_each(project: Project, roots: Sequence[str]) -> list[Work]:
    return [infer_file(project, path) for path in roots]


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


_DIED = "the process that checked it died (out of memory?); check it by itself to see more"

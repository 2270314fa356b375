"""Inference of many roots, in this process or in several."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial

from syncwatch.static.project import Project
from syncwatch.static.stack import on_deep_stack
from syncwatch.static.work import Work, infer_each

# Fewer roots than this are not worth the start of another process.
_LEAST_PER_PROCESS = 8
# Roots between two reports of progress, in one process.
_STRIDE = 16


def run(project: Project, roots: Sequence[str]) -> Iterator[Work]:
    """Infers each root, and yields its result when it is there (in the order of `roots` within one process)."""
    jobs = min(job_count(project.options.jobs), max(1, len(roots) // _LEAST_PER_PROCESS))
    if jobs > 1:
        from syncwatch.static.pool import run_in_pool  # what it imports costs more than a check of one file

        yield from run_in_pool(project, roots, jobs)
    else:
        for start in range(0, len(roots), _STRIDE):
            yield from on_deep_stack(partial(infer_each, project, roots[start : start + _STRIDE]))


def job_count(jobs: int) -> int:
    """The number of processes that `--jobs` means: 0 stands for as many as there are processors for us."""
    if jobs > 0:
        return jobs
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1

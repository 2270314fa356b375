"""Inference in several processes gives what one gives."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from syncwatch.static.engine import Analysis
from syncwatch.static.parallel import job_count
from syncwatch.static.pool import pieces

Write = Callable[[dict[str, str]], Path]
Check = Callable[..., Analysis]

WAIT = 'import torch\nfrom shared import read\nx = torch.rand(3, device="cuda")\nread(x.sum())\nx.mean().item()\n'


def tree(count: int = 40) -> dict[str, str]:
    """Files that share an import, one that is broken, and one with a comment."""
    files = {f"pkg{index % 3}/m{index}.py": WAIT for index in range(count)}
    files["shared.py"] = "import torch\ndef read(t):\n    return t.item()  # noqa: SW101\n"
    files["bad.py"] = "import torch\nx = (\n"
    return files


@pytest.mark.parametrize("cache", [False, True])
def test_two_processes_find_what_one_finds(write: Write, check: Check, cache: bool) -> None:
    write(tree())
    alone = check(jobs=1)
    assert len(alone.events) == 41
    together = check(jobs=2, cache=cache)
    assert together.events == alone.events
    assert together.problems == alone.problems
    assert together.marks == alone.marks
    if cache:
        warm = check(jobs=2, cache=True)
        assert (warm.events, warm.problems, warm.marks) == (alone.events, alone.problems, alone.marks)


def test_progress_ends_at_the_number_of_files(write: Write) -> None:
    from syncwatch.static.engine import analyse
    from syncwatch.static.options import Options

    write(tree())
    seen: list[tuple[int, int]] = []
    analyse(["."], Options(jobs=2, cache=False), progress=lambda done, total: seen.append((done, total)))
    assert seen[0] == (0, 42)
    assert seen[-1] == (42, 42)
    assert seen == sorted(seen)


DYING = """
import json, os
import syncwatch.static.infer
from syncwatch.static.engine import analyse
from syncwatch.static.options import Options

infer_root, parent = syncwatch.static.infer.infer_root, os.getpid()

def dying(project, path):
    if path.endswith("m7.py") and os.getpid() != parent:
        os._exit(9)
    return infer_root(project, path)

syncwatch.static.infer.infer_root = dying
analysis = analyse(["."], Options(jobs=2, cache=False))
print(json.dumps([[[each.path, each.message] for each in analysis.problems], len(analysis.events)]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only a process that is forked inherits the fault")
def test_a_process_that_dies_costs_one_file(write: Write) -> None:
    write(tree())
    # in an interpreter of its own: beside threads, which other tests leave behind, the pool does not fork
    done = subprocess.run([sys.executable, "-c", DYING], capture_output=True, text=True, check=True)
    problems, events = json.loads(done.stdout)
    assert [path for path, _ in problems] == ["bad.py", "pkg1/m7.py"]
    assert "died" in problems[1][1]
    assert events == 40


@pytest.mark.parametrize(
    ("sizes", "count", "expected"),
    [
        ([1, 1, 1, 1], 2, [["0", "1"], ["2", "3"]]),
        ([9, 1, 1, 1], 2, [["0"], ["1", "2", "3"]]),
        ([0, 0], 2, [["0", "1"]]),
        ([1], 8, [["0"]]),
    ],
)
def test_roots_are_cut_into_pieces_of_about_equal_size(sizes: list[int], count: int, expected: list[list[str]]) -> None:
    roots = [str(index) for index in range(len(sizes))]
    cut = pieces(roots, sizes, count)
    assert [path for piece in cut for path in piece] == roots
    assert cut == expected


def test_jobs_zero_means_all_processors() -> None:
    assert job_count(3) == 3
    assert job_count(0) >= 1

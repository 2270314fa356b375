"""The engine: files in, events and problems out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import syncwatch.static.infer
from syncwatch.model import Certainty, Event, Heat, Kind, Site
from syncwatch.static.engine import Analysis, merge
from syncwatch.static.errors import SyntaxProblem
from syncwatch.static.stack import on_deep_stack

Write = Callable[[dict[str, str]], Path]
Check = Callable[..., Analysis]

WAIT = 'import torch\nx = torch.rand(3, device="cuda")\nx.sum().item()\n'


def places(analysis: Analysis) -> list[tuple[str, int]]:
    """Path and line of every scalar read."""
    return [(each.site.path, each.site.line) for each in analysis.events if each.op == "torch.Tensor.item"]


def told(analysis: Analysis) -> list[tuple[str, int, str]]:
    """The problems."""
    return [(each.path, each.line, each.message) for each in analysis.problems]


def test_waits_are_found_in_every_file_in_order(write: Write, check: Check) -> None:
    write({"b.py": WAIT, "a/z.py": WAIT, "a.py": WAIT + WAIT})
    analysis = check()
    assert places(analysis) == [("a/z.py", 3), ("a.py", 3), ("a.py", 6), ("b.py", 3)]
    assert analysis.files == ["a/z.py", "a.py", "b.py"]
    assert analysis.source("b.py", 3) == "x.sum().item()"
    assert analysis.source("b.py", 99) is None


def test_a_wait_in_an_imported_file_is_told_once_and_only_where_it_was_asked_for(write: Write, check: Check) -> None:
    helper = "def read(t):\n    return t.item()\n"
    caller = 'import torch\nfrom helper import read\nread(torch.rand(3, device="cuda").sum())\n'
    write({"one.py": caller, "two.py": caller, "helper.py": helper})
    assert places(check()) == [("helper.py", 2)]
    assert places(check("one.py")) == []
    assert places(check("one.py", "helper.py")) == [("helper.py", 2)]


def test_a_file_that_never_names_torch_is_no_root_but_must_be_python(write: Write, check: Check) -> None:
    write({"a.py": WAIT, "other.py": "print 'nothing here'\n", "fine.py": "x = []\nif x: x.item()\n"})
    analysis = check()
    assert [(path, line) for path, line, _ in told(analysis)] == [("other.py", 1)]
    assert [path for path in analysis.files if analysis.project.face(path).wanted] == ["a.py", "other.py"]


def test_files_that_cannot_be_checked_are_told_and_the_rest_is_checked(write: Write, check: Check) -> None:
    root = write({"a.py": WAIT, "two.py": "import torch\nprint 'x'\n", "open.py": "import torch\nx = (\n"})
    (root / "latin.py").write_bytes(b"import torch\nx = '\xe9'\n")
    (root / "null.py").write_bytes(b"import torch\0\n")
    analysis = check(".", "absent.py")
    assert places(analysis) == [("a.py", 3)]
    assert [(path, line) for path, line, _ in told(analysis)] == [
        ("absent.py", 0),
        ("latin.py", 2),
        ("null.py", 1),
        ("open.py", 2),
        ("two.py", 2),
    ]
    assert "Missing parentheses" in told(analysis)[-1][2]


def test_a_file_without_rights_is_told(write: Write, check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    write({"a.py": WAIT, "closed.py": WAIT})

    def refusing(path: str) -> bytes:  # root may read everything, so rights alone do not show it
        if path == "closed.py":
            raise SyntaxProblem(0, "cannot be read (Permission denied)")
        return Path(path).read_bytes()

    monkeypatch.setattr("syncwatch.static.project.read", refusing)
    analysis = check()
    assert places(analysis) == [("a.py", 3)]
    assert told(analysis) == [("closed.py", 0, "cannot be read (Permission denied)")]


def test_an_error_of_the_engine_is_told_and_the_rest_is_checked(
    write: Write, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    write({"a.py": WAIT, "b.py": WAIT, "c.py": WAIT})
    infer_root = syncwatch.static.infer.infer_root

    def failing(project, path):  # type: ignore[no-untyped-def]
        if path == "b.py":
            raise KeyError("surprise")
        return infer_root(project, path)

    monkeypatch.setattr(syncwatch.static.infer, "infer_root", failing)
    analysis = check()
    assert places(analysis) == [("a.py", 3), ("c.py", 3)]
    ((path, line, message),) = told(analysis)
    assert (path, line) == ("b.py", 0)
    assert "internal error (KeyError: 'surprise'" in message
    assert "please report" in message


def test_faults_of_inference_are_kept_with_the_result(
    write: Write, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    write({"a.py": WAIT})
    infer_root = syncwatch.static.infer.infer_root

    def faulty(project, path):  # type: ignore[no-untyped-def]
        result = infer_root(project, path)
        result.faults.append("f: KeyError: surprise")
        return result

    monkeypatch.setattr(syncwatch.static.infer, "infer_root", faulty)
    cold, warm = check(cache=True), check(cache=True)
    assert places(cold) == places(warm) == [("a.py", 3)]
    assert cold.faults == warm.faults == ["f: KeyError: surprise"]


def test_deep_nesting_is_checked_or_told(write: Write, check: Check) -> None:
    deep = "y = " + "f(" * 180 + "x.item()" + ")" * 180 + "\n"
    too_deep = "import torch\ny = " + "-" * 30_000 + "1\n"
    chain = "import torch\ny = x" + ".view(1)" * 2_000 + "\n"
    branches = "import torch\nif x == 0: pass\n" + "".join(f"elif x == {i}: pass\n" for i in range(2_000))
    write({"a.py": WAIT + deep, "b.py": too_deep, "c.py": chain, "d.py": branches})
    analysis = check()
    assert places(analysis)[0] == ("a.py", 3)
    assert all("nested too deeply" in message for _, _, message in told(analysis))
    assert ("b.py", 1) in [(path, line) for path, line, _ in told(analysis)]


def test_a_file_of_ten_thousand_lines(write: Write, check: Check) -> None:
    write({"a.py": WAIT + "def f(t):\n    return t + 1\n" * 5_000 + "x.mean().item()\n"})
    assert places(check()) == [("a.py", 3), ("a.py", 10_004)]


def test_contents_take_the_place_of_files(write: Write, check: Check) -> None:
    write({"a.py": "import torch\n", "helper.py": "def read(t):\n    return t.item()\n"})
    text = b'import torch\nfrom helper import read\nx = torch.rand(3, device="cuda")\nread(x.sum())\nx.sum().item()\n'
    assert places(check("a.py", contents={"a.py": text})) == [("a.py", 5)]
    assert places(check(contents={"unsaved.py": text}, cache=True)) == [("helper.py", 2), ("unsaved.py", 5)]


def test_comments_are_handed_on_with_the_lines_of_statements(write: Write, check: Check) -> None:
    write({"a.py": WAIT[:-1] + "  # syncwatch: ignore[SW101] why\n", "b.py": WAIT})
    analysis = check()
    assert list(analysis.marks) == ["a.py"]
    assert analysis.marks["a.py"].comments[0].text == "# syncwatch: ignore[SW101] why"
    assert analysis.marks["a.py"].statements == ((1, 1), (2, 2), (3, 3))


def event(line: int, **changes: object) -> Event:
    """A scalar read."""
    site = Site(path=str(changes.pop("path", "a.py")), line=line)
    return Event(kind=Kind.SCALAR_READ, op="torch.Tensor.item", site=site, **changes)  # type: ignore[arg-type]


def test_events_of_one_site_are_merged_the_surest_and_hottest_wins() -> None:
    merged = merge(
        [
            event(2, certainty=Certainty.LIKELY, heat=Heat.STEP, subject="loss"),
            event(2, certainty=Certainty.CERTAIN, heat=Heat.SETUP, subject="loss"),
            event(1, heat=Heat.GUARDED),
            event(9, path="a/b.py"),
        ]
    )
    assert merged == [
        event(9, path="a/b.py"),
        event(1, heat=Heat.GUARDED),
        event(2, certainty=Certainty.CERTAIN, heat=Heat.STEP, subject="loss"),
    ]


def test_deep_recursion_has_room() -> None:
    def depth(left: int) -> int:
        return 0 if left == 0 else 1 + depth(left - 1)

    limit = sys.getrecursionlimit()
    assert on_deep_stack(lambda: depth(10_000)) == 10_000
    assert sys.getrecursionlimit() == limit
    with pytest.raises(KeyError, match="surprise"):
        on_deep_stack(lambda: {}["surprise"])


def test_torch_is_never_imported(write: Write) -> None:
    write({"a.py": WAIT})
    code = (
        "import sys\nfrom syncwatch.static.engine import analyse\nfrom syncwatch.static.options import Options\n"
        "assert len(analyse(['.'], Options()).events) == 1\nassert len(analyse(['.'], Options()).events) == 1\n"
        "print(sorted({'torch', 'libcst', 'numpy'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_ends_it(write: Write, jobs: int) -> None:
    write({f"m{index}.py": WAIT for index in range(40)})
    code = (
        "import os, time, syncwatch.static.infer as infer\n"
        # one write: two processes may say it at the same time, and print can write the line's end by itself
        "def slow(project, path):\n    os.write(1, b'started\\n')\n    time.sleep(600)\n"
        "infer.infer_root = slow\n"
        "from syncwatch.static.engine import analyse\nfrom syncwatch.static.options import Options\n"
        "try:\n"
        f"    analyse(['.'], Options(jobs={jobs}, cache=False))\n"
        "except KeyboardInterrupt:\n    print('interrupted', flush=True)\n"
    )
    started = time.monotonic()
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out.replace("started\n", "") == "interrupted\n"
    assert time.monotonic() - started < 60


def test_a_path_from_here_and_one_from_the_root_can_be_checked_together(write: Write, check: Check) -> None:
    root = write({"a.py": WAIT, "b.py": WAIT})
    analysis = check("a.py", str(root / "b.py"))
    assert len(places(analysis)) == 2
    assert told(analysis) == []

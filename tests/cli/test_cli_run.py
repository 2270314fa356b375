"""`syncwatch run`: the program is as it would be without us, and the session is there in every case."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DRIVER = ROOT / "tests" / "support" / "fake_run.py"

TRAIN = """
import sys, fakegpu

def step(optimizer):
    fakegpu.item()
    optimizer.step()

if __name__ == "__main__":
    print("argv", sys.argv[1:])
    fakegpu.nonzero()
    optimizer = fakegpu.Optimizer()
    for _ in range(4):
        step(optimizer)
"""


def start(folder: Path, *arguments: str, **more) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **more}
    return subprocess.Popen(
        [sys.executable, str(DRIVER), *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def syncwatch(folder: Path, *arguments: str, **more) -> tuple[int, str, str]:
    process = start(folder, *arguments, **more)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def record(folder: Path, program: str, *arguments: str, options=(), **more) -> tuple[int, str, str]:
    (folder / "train.py").write_text(program)
    return syncwatch(folder, "run", "--device", "emulated", *options, "train.py", *arguments, **more)


def session(folder: Path, name: str = "syncwatch-session.json") -> dict:
    return json.loads((folder / name).read_text())


def test_a_program_runs_with_its_own_arguments_and_is_counted(tmp_path):
    status, out, err = record(tmp_path, TRAIN, "--lr", "3", "-m", "x")
    assert (status, out) == (0, "argv ['--lr', '3', '-m', 'x']\n")
    assert err.splitlines()[0] == "syncwatch: recording train.py on an emulated GPU (no CUDA device is used)"
    saved = session(tmp_path)
    assert saved["schema_version"] == 1
    assert saved["device"] == "emulated"
    assert saved["command"] == ["train.py", "--lr", "3", "-m", "x"]
    assert saved["steps"] == 4
    by_op = {site["op"]: site for site in saved["sites"]}
    item = by_op["torch.Tensor.item"]
    assert (item["path"], item["line"], item["function"]) == ("train.py", 5, "step")
    assert (item["count"], item["wait_ms"], item["rule"], item["kind"]) == (4, 4.0, "SW101", "scalar-read")
    assert by_op["torch.nonzero"]["wait_ms"] is None
    assert saved["totals"]["count"] == 5
    assert saved["totals"]["per_step"] == 1.0


def test_the_report_at_the_end_shows_sites_and_remedies(tmp_path):
    _, _, err = record(tmp_path, TRAIN)
    assert "5 syncs in 4 steps (4 explicit, 1 implicit); the host waited 4.0 ms" in err
    assert "syncs per step: 1, the mean of 3 steps; outside them: 2" in err
    assert "train.py:5 in step" in err
    assert "fakegpu.item()" in err
    assert "SW101: " in err
    assert all(len(line) <= 80 for line in err.splitlines()), err


def test_a_module_runs_as_python_m_would(tmp_path):
    package = tmp_path / "trainer"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "helper.py").write_text("value = 5\n")
    (package / "__main__.py").write_text(
        "import sys, fakegpu\nfrom .helper import value\nfakegpu.item()\n"
        "print(value, sys.argv[1:], __name__, __package__)\n"
    )
    status, out, err = syncwatch(tmp_path, "run", "--device", "emulated", "-m", "trainer", "--fast")
    assert (status, out) == (0, "5 ['--fast'] __main__ trainer\n"), err
    assert session(tmp_path)["sites"][0]["path"] == "trainer/__main__.py"


def test_the_exit_status_is_the_programs_and_the_session_is_saved(tmp_path):
    status, _, err = record(tmp_path, "import fakegpu, sys\nfakegpu.item()\nsys.exit(7)\n")
    assert status == 7
    assert session(tmp_path)["totals"]["count"] == 1
    status, _, err = record(tmp_path, "import sys\nsys.exit('a message')\n")
    assert status == 1
    assert "a message" in err


def test_a_traceback_is_the_programs_alone(tmp_path):
    status, _, err = record(tmp_path, "import fakegpu\nfakegpu.item()\nraise ValueError('broken')\n")
    assert status == 1
    assert "ValueError: broken" in err
    assert "launch.py" not in err
    assert 'train.py", line 3, in <module>' in err
    assert session(tmp_path)["totals"]["count"] == 1


def test_a_program_that_is_no_python_ends_as_python_would_end_it(tmp_path):
    status, _, err = record(tmp_path, "x = = 1\n")
    assert (status, "Traceback" in err) == (1, False)
    shown = "line 1\n    x = = 1\n        ^\nSyntaxError: invalid syntax\n"
    assert err.partition("File")[2].partition(", ")[2].startswith(shown)
    (tmp_path / "broken.py").write_text("x = = 1\n")
    status, _, err = syncwatch(tmp_path, "run", "--device", "emulated", "-m", "broken")
    assert (status, "Traceback" in err) == (1, False)
    assert err.partition("File")[2].partition(", ")[2].startswith(shown)  # the first frame is the program's


@pytest.mark.parametrize("archive", [False, True])
def test_a_folder_or_an_archive_with_a_main_runs_as_python_runs_it(tmp_path, archive):
    folder = tmp_path / "tool"
    folder.mkdir()
    (folder / "__main__.py").write_text(
        "import sys, fakegpu, helper\nfakegpu.item()\n"
        "print(__name__, __file__, sys.argv, sys.path[0], __package__, __spec__.name, helper.y)\n"
    )
    (folder / "helper.py").write_text("y = 3\n")
    name = "tool"
    if archive:
        shutil.make_archive(str(folder), "zip", folder)
        name = "tool.zip"
    status, out, err = syncwatch(tmp_path, "run", "--device", "emulated", name, "1")
    assert status == 0, err
    where = tmp_path / name
    main = where / "__main__.py"
    assert out.splitlines()[0] == f"__main__ {main} ['{name}', '1'] {where}  __main__ 3"
    (site,) = session(tmp_path)["sites"]
    assert (site["path"], site["line"]) == (f"{name}/__main__.py", 2)


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_is_saved_and_dies_of_the_signal(tmp_path, number):
    waits = "import fakegpu, time\nfakegpu.item()\nopen('ready', 'w').close()\ntime.sleep(60)\n"
    (tmp_path / "train.py").write_text(waits)
    process = start(tmp_path, "run", "--device", "emulated", "train.py")
    deadline = time.monotonic() + 60
    while not (tmp_path / "ready").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == -number, err
    assert session(tmp_path)["totals"]["count"] == 1


@pytest.mark.skipif(sys.platform != "linux", reason="a mutex of zeros")
def test_a_program_that_hangs_in_c_dies_of_the_signal_too(tmp_path):
    hangs = (
        "import ctypes, fakegpu\nfakegpu.item()\nopen('ready', 'w').close()\n"
        "library, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)\n"
        "library.pthread_mutex_lock(mutex)\nlibrary.pthread_mutex_lock(mutex)\n"
    )
    (tmp_path / "train.py").write_text(hangs)
    process = start(tmp_path, "run", "--device", "emulated", "train.py")
    deadline = time.monotonic() + 60
    while not (tmp_path / "ready").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM, err
    assert session(tmp_path)["totals"]["count"] == 1


def test_a_handler_of_the_program_is_left_alone(tmp_path):
    program = (
        "import os, signal, fakegpu\nsignal.signal(signal.SIGTERM, lambda *a: print('mine', flush=True))\n"
        "os.kill(os.getpid(), signal.SIGTERM)\nfakegpu.item()\n"
    )
    status, out, _ = record(tmp_path, program)
    assert (status, out) == (0, "mine\n")


def test_each_rank_writes_its_own_session(tmp_path):
    for rank in ("0", "1"):
        status, _, err = record(tmp_path, TRAIN, RANK=rank, WORLD_SIZE="2", LOCAL_RANK=rank)
        assert status == 0
        assert ("recording" in err) is (rank == "0")
    assert session(tmp_path, "syncwatch-session.rank1.json")["rank"] == 1
    status, out, _ = syncwatch(tmp_path, "report")
    assert status == 0
    assert "2 ranks of train.py" in out
    status, out, _ = syncwatch(tmp_path, "report", "--rank", "1")
    assert "rank 1 of 2" in out


def test_recording_ends_after_the_steps_asked_for(tmp_path):
    status, out, _ = record(tmp_path, TRAIN + "    print('done')\n", options=("--steps", "2"))
    assert (status, out.splitlines()[-1]) == (0, "done")
    assert session(tmp_path)["totals"]["count"] == 3
    status, out, _ = record(tmp_path, TRAIN + "    print('done')\n", options=("--steps", "2", "--stop"))
    assert status == 0
    assert "done" not in out
    assert session(tmp_path)["steps"] == 2


def test_fail_over_judges_the_syncs_of_a_step(tmp_path):
    assert record(tmp_path, TRAIN, options=("--fail-over", "1"))[0] == 0
    status, _, err = record(tmp_path, TRAIN, options=("--fail-over", "0"))
    assert status == 1
    assert "1 sync a step, at most 0 allowed by --fail-over" in err


def test_only_leaves_out_other_files(tmp_path):
    (tmp_path / "metrics.py").write_text("import fakegpu\ndef read():\n    fakegpu.item()\n")
    program = "import fakegpu, metrics\nmetrics.read()\nfakegpu.nonzero()\n"
    record(tmp_path, program, options=("--only", "metrics.py", "--output", "out/only.json"))
    (site,) = session(tmp_path, "out/only.json")["sites"]
    assert site["path"] == "metrics.py"


def test_installed_packages_are_hidden_unless_included(tmp_path):
    installed = tmp_path / "lib" / "site-packages" / "metrics"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("import fakegpu\ndef read():\n    fakegpu.item()\n")
    program = "import sys\nsys.path.insert(0, 'lib/site-packages')\nimport metrics\nmetrics.read()\n"
    _, _, err = record(tmp_path, program)
    (site,) = session(tmp_path)["sites"]
    assert (site["path"], site["line"]) == ("train.py", 4)
    assert "inside metrics/__init__.py:3 read" in err
    record(tmp_path, program, options=("--include", "metrics"))
    (site,) = session(tmp_path)["sites"]
    assert site["path"] == "lib/site-packages/metrics/__init__.py"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_children_neither_count_nor_write(tmp_path):
    program = (
        "import fakegpu, os, sys\nfakegpu.item()\nchild = os.fork()\n"
        "if child == 0:\n    fakegpu.item()\n    sys.exit(5)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    status, out, _ = record(tmp_path, program)
    assert (status, out) == (0, "5\n")
    assert session(tmp_path)["totals"]["count"] == 1


def test_pickle_finds_the_classes_of_main(tmp_path):
    program = "import pickle\nclass Config: pass\nprint(type(pickle.loads(pickle.dumps(Config()))).__module__)\n"
    assert record(tmp_path, program)[1] == "__main__\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run"], "give the program to run"),
        (["run", "--device", "emulated", "nothing.py"], "nothing.py: cannot be read"),
        (["run", "--device", "emulated", "-m", "no_such_module"], "there is no such module"),
        (["run", "--steps", "0", "x.py"], "--steps 0"),
        (["run", "--stop", "x.py"], "give --steps too"),
        (["run", "--devices", "-1", "x.py"], "--devices -1: give the number of devices to emulate, 1 to 64"),
        (["run", "--devices", "0", "x.py"], "--devices 0"),
        (["run", "--fail-over", "nan", "x.py"], "--fail-over nan: give the number of waits"),
        (["run", "-o", ".", "x.py"], "--output .: is a folder; give the name of a file in it"),
        (["report", "--limit", "-1"], "--limit -1: give the number of sites to show"),
        (["report", "nothing.json"], "no such session file"),
    ],
)
def test_wrong_use_gets_one_sentence(tmp_path, arguments, says):
    status, out, err = syncwatch(tmp_path, *arguments)
    assert (status, out) == (2, "")
    assert says in err
    assert len(err.strip().splitlines()) == 1


def test_diff_says_what_has_changed(tmp_path):
    record(tmp_path, TRAIN, options=("--output", "old.json"))
    record(tmp_path, TRAIN.replace("    fakegpu.item()\n", ""), options=("--output", "new.json"))
    status, out, _ = syncwatch(tmp_path, "diff", "old.json", "new.json")
    assert status == 0
    assert "1 → 0 syncs a step: fewer than before" in out
    assert syncwatch(tmp_path, "diff", "new.json", "old.json")[0] == 1


def test_diff_of_several_ranks_says_which_it_compares(tmp_path):
    for rank in "01":
        record(tmp_path, TRAIN, options=("--output", "s.json"), RANK=rank, WORLD_SIZE="2")
    status, out, _ = syncwatch(tmp_path, "diff", "s.json", "s.rank1.json")
    assert status == 0
    assert out.startswith("note: of several ranks, 0 and 1 are compared; name a rank's file for another\n")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "not a file that this command can read (Input data was truncated); `syncwatch run` writes session files"),
        ("[1]", "Expected `object`, got `array`"),
        ('{"schema_version": 1}', "missing required field"),
        ('{"schema_version": 9}', "written by a newer syncwatch (schema 9, this one reads up to 1); upgrade syncwatch"),
        (
            '{"device": "cuda", "device_name": "", "torch": "2", "command": [], "totals": {"count": "many"}}',
            "Expected `int`, got `str` - at `$.totals.count`",
        ),
    ],
)
@pytest.mark.parametrize("command", [["report"], ["diff", "bad.json"]])
def test_a_broken_session_is_named(tmp_path, content, says, command):
    (tmp_path / "bad.json").write_text(content)
    status, out, err = syncwatch(tmp_path, *command, "bad.json")
    assert (status, out) == (2, "")
    assert err.startswith("syncwatch: bad.json: ")
    assert says in err
    assert len(err.splitlines()) == 1


def test_where_torch_is_missing_the_environment_is_named(tmp_path, monkeypatch, capsys):
    import importlib.util

    from syncwatch.cli import main

    program = tmp_path / "train.py"
    program.write_text("import torch\n")
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else find_spec(name))
    assert main(["run", str(program)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"syncwatch: torch is not installed in {sys.prefix}; ")
    assert len(err.splitlines()) == 1

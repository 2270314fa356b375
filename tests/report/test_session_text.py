"""A session as people read it: at 80 columns, in a narrow terminal, and through a pipe."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from syncwatch.model import Kind, Session, SiteCount, to_json
from syncwatch.report.session_text import lines, print_ranks, print_session

ROOT = Path(__file__).resolve().parents[2]
DEEP = "src/projects/segmentation/experiments/baseline_v3/trainers/multi_scale_trainer.py"
LIBRARY = "/env/lib/python3.12/site-packages/transformers/integrations/integration_utils.py:3301 Trainer._gather"


def site(number: int, *, allowed: bool = False) -> SiteCount:
    """One of many sites: every third in a deep folder, every fifth inside a library."""
    path = DEEP if number % 3 == 0 else "train.py"
    stack = (*((LIBRARY,) if number % 5 == 0 else ()), f"{path}:{number} step")
    return SiteCount(
        path=path,
        line=number,
        function="MultiScaleSegmentationTrainer.training_step_with_accumulation.closure" if number % 2 else "step",
        kind=Kind.COLLECTIVE,
        op="torch.distributed.broadcast_object_list" if number % 4 else "torch.Tensor.item",
        rule="SW704",
        count=40 + number,
        in_steps=40,
        wait_ms=1234.5,
        allowed=allowed,
        reason="the loss goes to the log, and the whole team wants to see it there every hundredth step",
        stack=stack,
    )


@pytest.fixture
def session() -> Session:
    """40 sites, two of them allowed, on rank 3 of 8."""
    sites = [site(number, allowed=number > 38) for number in range(1, 41)]
    number = sum(row.count for row in sites)
    totals = {"count": number, "explicit": 0, "implicit": number, "untimed": 0, "wait_ms": 49_380.0, "per_step": 38.0}
    return Session(
        device="cuda",
        device_name="NVIDIA H200",
        torch="2.11.0",
        command=[f"{DEEP[:50]}/train.py", "--config", f"configs/{DEEP}", "--lr", "0.1"],
        rank=3,
        world_size=8,
        steps=41,
        sites=sites,
        totals=totals,
        limits=["waits while DistributedDataParallel is set up are not counted: torch does not report them to Python"],
    )


@pytest.mark.parametrize("width", [80, 60])
def test_only_a_place_is_longer_than_the_width(session: Session, width: int) -> None:
    shown = [str(line) for line in lines(session, "/nowhere", 40, width)]
    longer = [line for line in shown if len(line) > width]
    # a path stays whole: it is to be clicked, or searched for
    places = ("configs/", "src/", "transformers/")
    assert all(any(word.startswith(places) for word in line.split()) for line in longer), longer
    assert f"{DEEP}:3" in [line.strip() for line in shown]


def test_plain_text_holds_everything(session: Session) -> None:
    file = io.StringIO()
    print_ranks([session, session], file)
    print_session(session, file)
    text = file.getvalue()
    assert "\x1b" not in text
    assert text.startswith("2 ranks of ")
    assert f"{sum(row.count for row in session.sites)} syncs in 41 steps" in text
    assert "NVIDIA H200, torch 2.11.0, rank 3 of 8:" in text
    assert "syncs per step: 38, the mean of 40 steps" in text
    assert "and 18 more sites" in text
    assert "inside transformers/integrations/integration_utils.py:3301" in " ".join(text.split())
    assert "Inside libraries" in text
    assert "the loss goes to the log" in text
    assert "`syncwatch explain SW704` says why" in text


def test_the_forward_line_of_a_wait_in_backward_is_shown(session: Session) -> None:
    row = SiteCount(
        path="model.py",
        line=9,
        function="Reads.backward",
        kind=Kind.SCALAR_READ,
        op="torch.Tensor.item",
        count=1,
        stack=("model.py:9 Reads.backward", "model.py:20 forward (forward)", "train.py:5 step"),
    )
    one = Session(device="cuda", device_name="", torch="2", command=[], sites=[row], totals={"count": 1})
    shown = "\n".join(str(line) for line in lines(one, "/nowhere"))
    assert "of the forward pass at model.py:20 forward" in shown


@pytest.mark.skipif(sys.platform == "win32", reason="pipes")
@pytest.mark.parametrize("command", ["report s.json", "diff s.json s.json", "rules", "explain SW101"])
def test_a_reader_that_leaves_early_is_no_error(session: Session, tmp_path: Path, command: str) -> None:
    (tmp_path / "s.json").write_bytes(to_json(session))
    # the reader is gone before the first line is written
    run = f"{sys.executable} -c 'import time; time.sleep(1); from syncwatch.cli import main; raise SystemExit(main())'"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {run} {command} | true"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 141  # as of any tool that writes to a pipe which nobody reads

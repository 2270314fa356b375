"""The samples: what `check` finds in them and what a run on the emulated device counts is what their comments say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "samples"
THEMES = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())
MARK = re.compile(r"#\s*(sync|hazard): ([a-z-]+)$")

# waits of one step, as a recorder counts them: lines may wait more than once
PER_STEP = {
    "reading": (4.0, 0.0),
    "making": (5.0, 0.0),
    "uploading": (2.0, 0.0),
    "prefetching": (2.0, 0.0),
    "shapes": (6.0, 0.0),
    "mixed_precision": (3.0, 0.0),
    "ranks": (3.0, 0.0),
    "language_model": (4.0, 0.0),
}


def marked(path: Path, word: str) -> set[tuple[int, str]]:
    """The lines marked `# sync: kind` or `# hazard: kind`."""
    found = set()
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = MARK.search(line)
        if match and match[1] == word:
            found.add((number, match[2]))
    return found


def test_every_theme_is_a_pair_with_a_header():
    assert set(THEMES) == set(PER_STEP)
    for theme in THEMES:
        for version in ("naive", "repaired"):
            text = (SAMPLES / theme / f"{version}.py").read_text()
            assert text.startswith('"""')
            assert "What to look for" in text


@pytest.mark.parametrize("theme", THEMES)
def test_check_finds_the_marked_lines(theme):
    pytest.importorskip("libcst")
    import syncwatch

    naive = SAMPLES / theme / "naive.py"
    findings = syncwatch.check([naive]).findings
    blocking = {(finding.line, finding.kind.value) for finding in findings if finding.kind.blocks}
    assert blocking == marked(naive, "sync")
    hazards = {(finding.line, finding.kind.value) for finding in findings if not finding.kind.blocks}
    assert marked(naive, "hazard") <= hazards


@pytest.mark.parametrize("theme", THEMES)
def test_check_finds_no_wait_in_the_repaired_version(theme):
    pytest.importorskip("libcst")
    import syncwatch

    findings = syncwatch.check([SAMPLES / theme / "repaired.py"]).findings
    assert [(finding.line, finding.rule) for finding in findings if finding.kind.blocks] == []


def record(path: Path, folder: Path) -> dict:
    """A session of a few steps on the emulated device."""
    output = folder / f"{path.stem}.json"
    command = [sys.executable, "-m", "syncwatch", "run", "--device", "emulated", "--quiet", "-o", str(output)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, str(path), "3"], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(output.read_text())


@pytest.mark.parametrize("theme", THEMES)
def test_a_run_counts_the_waits_of_each_step(theme, tmp_path):
    pytest.importorskip("torch")
    naive, repaired = (record(SAMPLES / theme / f"{version}.py", tmp_path) for version in ("naive", "repaired"))
    steps = {site["line"] for site in naive["sites"] if site["in_steps"]}
    expected = {line for line, _ in marked(SAMPLES / theme / "naive.py", "sync")}
    assert expected - steps <= generated(theme)
    assert steps - expected <= {line for line, _ in marked(SAMPLES / theme / "naive.py", "hazard")}
    before, after = naive["totals"]["per_step"], repaired["totals"]["per_step"]
    assert after < before / 4
    assert before >= PER_STEP[theme][0]


def generated(theme: str) -> set[int]:
    """Lines that run after the training steps."""
    return {line for line, _ in marked(SAMPLES / theme / "naive.py", "sync")} if theme == "language_model" else set()

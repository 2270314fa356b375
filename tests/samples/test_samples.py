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
    "reading": 4,
    "making": 5,
    "uploading": 2,
    "prefetching": 2,
    "shapes": 6,
    "mixed_precision": 3,
    "ranks": 3,
    "language_model": 4,
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
    assert bool(marked(naive, "hazard")) == bool(marked(naive, "hazard") & hazards)


@pytest.mark.parametrize("theme", THEMES)
def test_check_finds_no_wait_in_the_repaired_version(theme):
    pytest.importorskip("libcst")
    import syncwatch

    findings = syncwatch.check([SAMPLES / theme / "repaired.py"]).findings
    assert [(finding.line, finding.rule) for finding in findings if finding.kind.blocks] == []


@pytest.fixture(scope="module")
def counts() -> dict[str, dict]:
    """What each sample does on the emulated device."""
    pytest.importorskip("torch")
    paths = [f"samples/{theme}/{version}.py" for theme in THEMES for version in ("naive", "repaired")]
    command = [sys.executable, str(ROOT / "tests" / "support" / "count_samples.py"), *paths]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("theme", THEMES)
def test_a_run_counts_the_waits_of_each_step(theme, counts):
    naive, repaired = (counts[f"samples/{theme}/{version}.py"] for version in ("naive", "repaired"))
    assert naive["error"] == repaired["error"] == ""
    path = SAMPLES / theme / "naive.py"
    expected = {line for line, _ in marked(path, "sync")}
    hazards = {line for line, _ in marked(path, "hazard")}
    assert expected <= set(naive["lines"])
    # beside the marked lines only the timing in main() waits
    timing = {n for n, text in enumerate(path.read_text().splitlines(), 1) if text == "    torch.cuda.synchronize()"}
    assert set(naive["in_steps"]) <= expected | hazards | timing
    assert naive["per_step"] == pytest.approx(PER_STEP[theme], abs=0.25)
    assert repaired["per_step"] < 1

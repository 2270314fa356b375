"""The transcripts in the documentation are what the commands print: line by line, with `…` for what is left out."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", "docs/emulator.md")


def transcripts(page: str) -> list[tuple[str, str]]:
    """Each command of a page's console blocks, with the output that the page shows for it."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```console\n(.*?)^```$", text, re.S | re.M)
    return [
        (command, shown)
        for block in blocks
        for command, shown in re.findall(r"^\$ (syncwatch .*)\n((?:(?!\$ ).*\n)*)", block, re.M)
        if shown
    ]


@pytest.mark.parametrize("page", PAGES)
def test_a_transcript_is_what_the_commands_print(page: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "samples", tmp_path / "samples")
    commands = transcripts(page)
    if any(" run " in command for command, _ in commands):
        pytest.importorskip("torch")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
    assert len(commands) >= 2
    for command, shown in commands:
        words = shlex.split(command)[1:]
        done = subprocess.run(
            [sys.executable, "-m", "syncwatch", *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        printed = done.stdout + done.stderr
        at = 0
        for part in re.split(r"^…\n", shown, flags=re.M):
            found = printed.find(part, at)
            assert found >= 0, f"$ {command}\nthe page shows\n{part}\nbut what is printed is\n{printed}"
            at = found + len(part)

"""The pytest marker, in a pytest of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

DEVICE = """
import sys, pytest
from syncwatch.model import Kind
from syncwatch.runtime.source import use_source

class Fake:
    device, device_name, sink = "cuda", "fake", None
    def install(self, sink): self.sink = sink
    def uninstall(self, *, again=False): self.sink = None
    def item(self):
        if self.sink:
            self.sink.occurred(Kind.SCALAR_READ, "torch.Tensor.item", explicit=True, frame=sys._getframe(1))

FAKE = Fake()

@pytest.fixture(autouse=True)
def gpu():
    with use_source(FAKE):
        yield FAKE
"""


def run_pytest(folder: Path, tests: str, *arguments: str) -> tuple[int, str]:
    (folder / "conftest.py").write_text(DEVICE)
    (folder / "test_it.py").write_text("import pytest\n" + tests)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:syncwatch", "-p", "syncwatch.pytest_plugin"]
    command += ["-p", "no:cacheprovider", "--syncwatch-device", "cuda", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def test_a_marked_test_fails_when_the_host_waits(tmp_path):
    status, out = run_pytest(
        tmp_path,
        """
@pytest.mark.max_syncs(0)
def test_waits(gpu):
    gpu.item()

@pytest.mark.max_syncs(1)
def test_may_wait_once(gpu):
    gpu.item()

@pytest.mark.max_syncs(0, count="implicit")
def test_asks_for_it(gpu):
    gpu.item()

def test_unmarked(gpu):
    gpu.item()
""",
    )
    assert status == 1
    assert "1 failed, 3 passed" in out
    assert "test_waits made the host wait for the device: 1 sync, at most 0 allowed" in out
    assert "test_it.py:5" in out
    # the message is all there is: no frame of the plugin, of pytest or of the watch
    assert not any(file in out for file in ("pytest_plugin.py", "watch.py", "callers.py")), out
    assert "Captured" not in out


def test_the_tests_own_watch_fails_with_its_traceback(tmp_path):
    status, out = run_pytest(
        tmp_path,
        """
import syncwatch

@pytest.mark.max_syncs(9)
def test_waits(gpu):
    with syncwatch.watch(max_syncs=0, name="decode"):
        gpu.item()
""",
    )
    assert status == 1
    assert "decode made the host wait for the device: 1 sync, at most 0 allowed" in out
    assert ">       with syncwatch.watch(max_syncs=0" in out
    assert "pytest_plugin.py" not in out


def test_the_marker_is_known_and_checked(tmp_path):
    marked = "@pytest.mark.max_syncs('none')\ndef test_it(): pass\n"
    status, out = run_pytest(tmp_path, marked, "--strict-markers")
    assert status != 0
    assert "write @pytest.mark.max_syncs(0)" in out
    assert "pytest_plugin.py" not in out
    marked = "@pytest.mark.max_syncs(0, on_exceed='shout')\ndef test_it(): pass\n"
    status, out = run_pytest(tmp_path, marked, "--strict-markers")
    assert status == 1
    assert """test_it: @pytest.mark.max_syncs: on_exceed is "raise", "warn" or "ignore", not 'shout'""" in out
    assert "pytest_plugin.py" not in out


def test_it_can_be_switched_off(tmp_path):
    marked = "@pytest.mark.max_syncs(0)\ndef test_it(gpu):\n    gpu.item()\n"
    status, out = run_pytest(tmp_path, marked, "--syncwatch-device", "off")
    assert status == 0, out


def test_parametrized_tests_and_classes(tmp_path):
    status, out = run_pytest(
        tmp_path,
        """
@pytest.mark.max_syncs(1)
class TestSteps:
    @pytest.mark.parametrize("reads", [1, 2])
    def test_reads(self, gpu, reads):
        for _ in range(reads):
            gpu.item()
""",
    )
    assert status == 1
    assert "1 failed, 1 passed" in out

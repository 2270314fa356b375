"""How long the command takes to answer, beside a bare Python: run `python tests/bench/bench_startup.py`.

Prints the median of several runs, one after another in turn. The bound of `--help` is twice the time of
`python -c "import argparse"` plus 50 ms.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HAZARD = 'import torch\nx = torch.rand(3, device="cuda")\nfor step in range(3):\n    y = x.sum().item()\n'


def seconds(command: list[str], folder: str) -> float:
    """The time that one run of a command takes."""
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description="Start-up times of syncwatch.")
    parser.add_argument("--runs", type=int, default=15, help="runs of each command (default: 15)")
    runs: int = parser.parse_args().runs
    installed = Path(sys.executable).with_name("syncwatch")
    commands = {
        'python -c "import argparse"': [sys.executable, "-c", "import argparse"],
        "syncwatch --help": [str(installed), "--help"],
        "syncwatch --version": [str(installed), "--version"],
        "syncwatch check --help": [str(installed), "check", "--help"],
        "syncwatch rules": [str(installed), "rules"],
        "syncwatch check one-file.py (warm)": [str(installed), "check", "one-file.py"],
    }
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "one-file.py").write_text(HAZARD)
        times: dict[str, list[float]] = {name: [] for name in commands}
        for command in commands.values():
            seconds(command, folder)  # writes byte code and the cache
        for _ in range(runs):
            for name, command in commands.items():
                times[name].append(seconds(command, folder))
    medians = {name: statistics.median(each) * 1000 for name, each in times.items()}
    for name, median in medians.items():
        print(f"{name:<36} {median:7.1f} ms")
    bare, help_ = list(medians.values())[:2]
    bound = 2 * bare + 50
    print(f"bound of --help: {bound:.1f} ms; {'held' if help_ <= bound else 'NOT HELD'}")


if __name__ == "__main__":
    main()

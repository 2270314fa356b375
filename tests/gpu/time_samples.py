"""The step time of each sample, naive and repaired, on this GPU, and what a recorder counts in its steps.

    python -m tests.gpu.time_samples OUT.json [--steps 200] [--rounds 5]

The two versions run in turns; the figures are medians.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import statistics
import sys
import traceback
from pathlib import Path
from typing import Any

from tests.gpu.recorded import run_program

ROOT = Path(__file__).resolve().parents[2]
# batches so large that host and device have about as much to do, as in real training
SCALES = {
    "reading": 64,
    "making": 16,
    "uploading": 1,
    "prefetching": 8,
    "shapes": 32,
    "mixed_precision": 512,
    "ranks": 128,
    "language_model": 16,
}
_FIGURE = re.compile(r"([\d.]+) ms per (step|token)")


def figures(path: Path, steps: int, scale: int) -> dict[str, float]:
    """What the program prints: milliseconds per step (and per token)."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        run_program(path, [str(steps), str(scale)], silent=False)
    return {what: float(ms) for ms, what in _FIGURE.findall(out.getvalue())}


def per_step(path: Path, steps: int) -> float | None:
    """Syncs per step, recorded."""
    from syncwatch.runtime.session import Recording

    recording = Recording([str(path)], only=[str(path)])
    recording.start()
    try:
        run_program(path, [str(steps)])
    finally:
        recording.stop()
    value: float | None = recording.ledger.totals()["per_step"]
    return value


def main() -> int:
    """See the head of this file."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    result: dict[str, Any] = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "samples": {}}
    for theme in sorted(path for path in (ROOT / "samples").iterdir() if path.is_dir()):
        versions = {name: theme / f"{name}.py" for name in ("naive", "repaired")}
        seen: dict[str, list[dict[str, float]]] = {name: [] for name in versions}
        row: dict[str, Any] = {}
        try:
            for _ in range(args.rounds):
                for name, path in versions.items():
                    seen[name].append(figures(path, args.steps, SCALES.get(theme.name, 1)))
            for name, rounds in seen.items():
                row[name] = {what: round(statistics.median(r[what] for r in rounds), 3) for what in rounds[0]}
                row[name]["syncs"] = per_step(versions[name], 12)
        except Exception:
            row["error"] = traceback.format_exc(limit=-2)
        result["samples"][theme.name] = row
        print(theme.name, json.dumps(row), flush=True)
        args.out.write_text(json.dumps(result, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())

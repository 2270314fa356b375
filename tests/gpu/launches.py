"""Whether launches hold the host once a program has run: `CUDA_LAUNCH_BLOCKING` is read when CUDA starts.

    python -m tests.gpu.launches PROGRAM        prints {"kernel_ms": …, "host_ms": …}

A kernel of known length is launched after the program's end, in its process; `host_ms` is how long the launch took.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KERNEL_MS = 20.0


def launch_after(program: Path) -> dict[str, float]:
    """Runs the program in a process of its own, and launches a kernel there. Raises RuntimeError if it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.gpu.launches", str(program)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """See the head of this file."""
    # Before torch: the program may set what CUDA reads when it starts. So its environment stays, too.
    path = Path(sys.argv[1])
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), {"__name__": "__main__"})
    import torch

    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda._sleep(1000)
    begin.record()
    torch.cuda._sleep(20_000_000)
    end.record()
    torch.cuda.synchronize()
    cycles = int(20_000_000 * KERNEL_MS / begin.elapsed_time(end))
    start = time.perf_counter()
    torch.cuda._sleep(cycles)
    spent = (time.perf_counter() - start) * 1e3
    torch.cuda.synchronize()
    print(json.dumps({"kernel_ms": KERNEL_MS, "host_ms": round(spent, 2)}))


if __name__ == "__main__":
    main()

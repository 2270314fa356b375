"""How long it takes to load the table and to ask it. Run: python tests/bench/bench_facts.py"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

LOAD = """
import time, syncwatch.model
start = time.perf_counter()
from syncwatch import facts
facts.table()
print((time.perf_counter() - start) * 1e3)
"""


def loading(runs: int = 15) -> float:
    """Milliseconds to load the table in a fresh process, with compiled modules: the middle of `runs`."""
    command = [sys.executable, "-c", LOAD]
    times = [float(subprocess.run(command, capture_output=True, check=True, text=True).stdout) for _ in range(runs + 1)]
    return statistics.median(times[1:])


def asking(calls: int = 20_000) -> float:
    """Microseconds for one prediction."""
    from syncwatch import facts
    from syncwatch.facts.describe import Arg, Call

    call = Call((Arg("tensor", device="cuda", dim=1, dtype="float"), Arg("str", value="cpu")))
    facts.predict("torch.Tensor.to", call)
    start = time.perf_counter()
    for _ in range(calls):
        facts.predict("torch.Tensor.to", call)
    return (time.perf_counter() - start) / calls * 1e6


def reading() -> float:
    """Milliseconds to read what was measured."""
    from syncwatch.facts import store

    start = time.perf_counter()
    store.read()
    return (time.perf_counter() - start) * 1e3


if __name__ == "__main__":
    print(f"load the table    {loading():7.1f} ms (wanted: under 20)")
    print(f"one prediction    {asking():7.1f} µs")
    print(f"read measurements {reading():7.1f} ms")

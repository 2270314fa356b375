"""What the recorder costs on a GPU: paired and alternating, medians.

    python tests/bench/bench_recorder.py OUT.json [--pairs 31]

The step is that of 50 small linear layers with backward and AdamW: bound by the host, so that every microsecond of ours
shows. Compared with the bare step, for which everything of ours is taken off again: an open watch, a decorated step,
and torch.profiler (CPU and CUDA, with stacks). "noise" compares the bare step with itself. Then what a decorated call
costs by itself, and what one `item()` costs more on an idle device.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch

import syncwatch
from syncwatch.runtime.source import current_source

# steps before each measurement: Python learns anew what it knows of a class that has changed, and the wrappers of a
# decorated step stay from the eighth on
WARM = 10


def make_step() -> Callable[[], None]:
    """The 50-layer step."""
    layers = [layer for _ in range(50) for layer in (torch.nn.Linear(64, 64), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    batch = torch.randn(32, 64, device="cuda")

    def step() -> None:
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def timed(function: Callable[[], Any], repeat: int, block: int = 1) -> float:
    """Seconds of one call: the fastest of `repeat` blocks of `block` calls, without garbage collection.

    What else runs on the host only ever slows a block down.
    """
    for _ in range(WARM):
        function()
    gc.collect()
    gc.disable()
    times = []
    for _ in range(repeat):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(block):
            function()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) / block)
    gc.enable()
    return min(times)


def settle() -> None:
    """Takes the wrappers off that would linger for a moment after the last call of a decorated function."""
    current_source().uninstall()


def paired(bare: Callable[[], float], other: Callable[[], float], pairs: int) -> dict[str, float]:
    """Median and quartiles of the ratio of `other` to `bare`, measured in turns."""
    ratios = []
    for index in range(pairs):
        if index % 2:
            second, first = other(), bare()
        else:
            first, second = bare(), other()
        ratios.append(second / first)
    quartiles = statistics.quantiles(ratios, n=4)
    return {"median": round(statistics.median(ratios), 4), "q1": round(quartiles[0], 4), "q3": round(quartiles[2], 4)}


def main() -> None:
    """See the head of this file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--pairs", type=int, default=31)
    parser.add_argument("--steps", type=int, default=10)
    args = parser.parse_args()
    step, repeat = make_step(), args.steps
    decorated = syncwatch.watch(on_exceed="ignore")(step)
    for function in (step, decorated):
        timed(function, repeat)

    def bare() -> float:
        settle()
        return timed(step, repeat)

    def armed() -> float:
        with syncwatch.watch():
            return timed(step, repeat)

    def profiled() -> float:
        from torch.profiler import ProfilerActivity, profile

        settle()
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], with_stack=True):
            return timed(step, repeat)

    result: dict[str, Any] = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name(), "pairs": args.pairs}
    result["bare_ms"] = round(statistics.median(bare() for _ in range(5)) * 1e3, 3)
    for name, other, pairs in (
        ("decorated step", lambda: timed(decorated, repeat), args.pairs),
        ("open watch", armed, args.pairs),
        ("noise", bare, args.pairs),
        ("profiler", profiled, max(3, args.pairs // 10)),
    ):
        result[name] = paired(bare, other, pairs)
        print(name, result[name], flush=True)
        Path(args.out).write_text(json.dumps(result, indent=1))

    def nothing() -> None:
        pass

    watched = syncwatch.watch(nothing)
    calls = [timed(watched, 10, 50) - timed(nothing, 10, 50) for _ in range(args.pairs)]
    result["decorated_call_us"] = round(statistics.median(calls) * 1e6, 2)

    value = torch.ones((), device="cuda")

    def read(watched: bool) -> float:
        settle()
        with syncwatch.watch() if watched else nullcontext():
            return timed(value.item, 10, 50) * 1e6

    differences = [read(True) - read(False) for _ in range(args.pairs)]
    result["item_us"] = round(statistics.median(read(False) for _ in range(5)), 2)
    result["more_per_item_us"] = round(statistics.median(differences), 2)
    print(json.dumps(result, indent=1))
    Path(args.out).write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()

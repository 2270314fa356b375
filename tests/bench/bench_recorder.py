"""What the recorder costs on a GPU: measured in turns, medians.

    python tests/bench/bench_recorder.py OUT.json [--rounds 75]

The step is that of 50 small linear layers with backward and AdamW: bound by the host, so that every microsecond of ours
shows. A round times the bare step, for which everything of ours is taken off again, a decorated step, a step in an open
watch, and the bare step once more, in changing order; the ratios are those to the bare step of the same round, since
what else runs on the host makes rounds differ by more than we cost. "noise" is the second bare step. "around_step_us"
needs no comparison: how much longer a decorated call takes than the step inside it. Then the same rounds with
torch.profiler (CPU and CUDA, with stacks), what a decorated call of an empty function costs, and what one `item()`
costs more on an idle device.

More rounds in one process would mislead: Python learns only a thousand states of a class. Run it several times.
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

WARM = 4  # steps before each measurement: Python learns anew what it knows of a class that has changed


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
    """Seconds of one call: the fastest of `repeat` blocks of `block` calls.

    What else runs on the host only ever slows a block down.
    """
    for _ in range(WARM):
        function()
    times = []
    for _ in range(repeat):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(block):
            function()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) / block)
    return min(times)


def settle() -> None:
    """Takes the wrappers off that would linger for a moment after the last call of a decorated function."""
    current_source().uninstall()


def in_turns(arms: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each arm in each round. The order changes from round to round."""
    times: dict[str, list[float]] = {name: [] for name in arms}
    names = list(arms)
    for index in range(rounds):
        turn = index % len(names)
        for name in names[turn:] + names[:turn]:
            times[name].append(arms[name]())
    return times


def around(step: Callable[[], None], calls: int) -> float:
    """Microseconds that a decorated call takes longer than the step inside it: the median."""
    inside: list[float] = []

    @syncwatch.watch(on_exceed="ignore")
    def timed_step() -> None:
        begin = time.perf_counter()
        step()
        inside.append(time.perf_counter() - begin)

    outside = []
    for _ in range(calls):
        begin = time.perf_counter()
        timed_step()
        outside.append(time.perf_counter() - begin)
    return round(statistics.median(out - into for out, into in zip(outside, inside, strict=True)) * 1e6, 1)


def ratio(other: list[float], bare: list[float]) -> dict[str, float]:
    """Median and quartiles of the ratios of the rounds, and the ratio of the fastest blocks."""
    ratios = [second / first for second, first in zip(other, bare, strict=True)]
    quartiles = statistics.quantiles(ratios, n=4)
    found = {
        "median": statistics.median(ratios),
        "q1": quartiles[0],
        "q3": quartiles[2],
        "best": min(other) / min(bare),
    }
    return {name: round(value, 4) for name, value in found.items()}


def main() -> None:
    """See the head of this file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--rounds", type=int, default=75)
    parser.add_argument("--steps", type=int, default=8)
    args = parser.parse_args()
    step, repeat = make_step(), args.steps
    gc.collect()
    gc.disable()
    decorated = syncwatch.watch(on_exceed="ignore")(step)
    for function in (step, decorated):
        timed(function, 2 * repeat)

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

    result: dict[str, Any] = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name(), "rounds": args.rounds}
    arms = {"bare": bare, "decorated": lambda: timed(decorated, repeat), "open": armed, "again": bare}
    times = in_turns(arms, args.rounds)
    result["bare_ms"] = round(statistics.median(times["bare"]) * 1e3, 3)
    result["decorated step"] = ratio(times["decorated"], times["bare"])
    result["open watch"] = ratio(times["open"], times["bare"])
    result["noise"] = ratio(times["again"], times["bare"])
    print(json.dumps(result), flush=True)
    result["around_step_us"] = around(step, args.rounds * repeat)
    times = in_turns({"bare": bare, "profiled": profiled}, 5)
    result["profiler"] = ratio(times["profiled"], times["bare"])
    Path(args.out).write_text(json.dumps(result, indent=1))

    def nothing() -> None:
        pass

    watched = syncwatch.watch(nothing)
    calls = [timed(watched, 10, 50) - timed(nothing, 10, 50) for _ in range(31)]
    result["decorated_call_us"] = round(statistics.median(calls) * 1e6, 2)

    value = torch.ones((), device="cuda")

    def read(watched: bool) -> float:
        settle()
        with syncwatch.watch() if watched else nullcontext():
            return timed(value.item, 5, 50) * 1e6

    times = in_turns({"bare": lambda: read(False), "watched": lambda: read(True)}, 75)
    result["item_us"] = round(statistics.median(times["bare"]), 2)
    more = [watched - bare for watched, bare in zip(times["watched"], times["bare"], strict=True)]
    result["more_per_item_us"] = round(statistics.median(more), 2)
    print(json.dumps(result, indent=1))
    Path(args.out).write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()

"""Time and memory of training steps on the emulated device, relative to the plain CPU.

    python tests/bench/bench_emulator.py            both programs, paired and alternating, median of 15
    python tests/bench/bench_emulator.py --memory   peak memory of a process that runs 10 steps of each

The programs: a ResNet-18 step (batch 8, 64 pixels) and a step of 50 linear layers of 64, whose kernels are tiny.
Waits are counted meanwhile, as under `syncwatch run`.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import torch
from torch import nn

LIMITS = {"resnet18": 1.5, "tiny": 10.0}  # times the plain CPU
MEMORY_LIMIT = 1.2


class Block(nn.Module):
    """A basic block of ResNet."""

    def __init__(self, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(inner, outer, 3, stride, 1, bias=False), nn.BatchNorm2d(outer), nn.ReLU())
        self.second = nn.Sequential(nn.Conv2d(outer, outer, 3, 1, 1, bias=False), nn.BatchNorm2d(outer))
        self.short = (
            nn.Identity()
            if stride == 1 and inner == outer
            else nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer))
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.second(self.first(x)) + self.short(x))


def resnet18(device: str) -> Callable[[], None]:
    """A training step of ResNet-18."""
    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    widths = [
        (64, 64, 1),
        (64, 64, 1),
        (64, 128, 2),
        (128, 128, 1),
        (128, 256, 2),
        (256, 256, 1),
        (256, 512, 2),
        (512, 512, 1),
    ]
    model = nn.Sequential(
        *stem, *(Block(*w) for w in widths), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)
    )
    images, labels = torch.randn(8, 3, 64, 64), torch.randint(0, 1000, (8,)).to(device)
    return training_step(model.to(device), images.to(device), lambda out: nn.functional.cross_entropy(out, labels))


def tiny(device: str) -> Callable[[], None]:
    """A training step of 50 small layers."""
    model = nn.Sequential(*(layer for _ in range(50) for layer in (nn.Linear(64, 64), nn.ReLU())))
    return training_step(model.to(device), torch.randn(32, 64).to(device), lambda out: out.square().mean())


def training_step(
    model: nn.Module, x: torch.Tensor, loss: Callable[[torch.Tensor], torch.Tensor]
) -> Callable[[], None]:
    """Forward, backward and AdamW."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        loss(model(x)).backward()
        optimizer.step()

    return step


PROGRAMS = {"resnet18": resnet18, "tiny": tiny}


def compare(name: str, rounds: int = 15) -> float:
    """Median of the emulated step's time over the plain one's, run in turn."""
    from syncwatch.emulator import emulate
    from syncwatch.runtime.watch import watch

    def timed(step: Callable[[], None]) -> float:
        start = time.perf_counter()
        step()
        return time.perf_counter() - start

    plain = PROGRAMS[name]("cpu")
    with emulate():
        on_device = PROGRAMS[name]("cuda")
        on_device(), on_device()
    plain(), plain()
    ratios = []
    for _ in range(rounds):
        base = timed(plain)
        with emulate(), watch():
            ratios.append(timed(on_device) / base)
    return statistics.median(ratios)


def peak_memory(name: str, emulated: bool) -> int:
    """Peak resident bytes of a process of its own that runs ten steps."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import bench_emulator as bench\n"
        f"bench.alone({name!r}, {emulated})\n"
    )
    from pathlib import Path

    out = subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent)], capture_output=True, text=True, check=True
    )
    return int(json.loads(out.stdout.splitlines()[-1]))


def alone(name: str, emulated: bool) -> None:
    """Runs ten steps, and prints the process's peak memory beyond what importing torch takes."""
    import contextlib

    from syncwatch.emulator import emulate

    with emulate() if emulated else contextlib.nullcontext():
        step = PROGRAMS[name]("cuda" if emulated else "cpu")
        for _ in range(10):
            step()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memory", action="store_true")
    args = parser.parse_args()
    held = True
    for name, limit in LIMITS.items():
        if args.memory:
            ratio, limit = peak_memory(name, True) / peak_memory(name, False), MEMORY_LIMIT
        else:
            ratio = compare(name)
        held &= ratio <= limit
        print(f"{name}: {ratio:.2f} times the plain CPU (at most {limit})")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())

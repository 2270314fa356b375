"""Waits hidden in libraries: mixed precision and clipping.

What to look for: no line below names a value of the device, and yet the host waits in every step.
  - `scaler.step(optimizer)` reads whether a gradient overflowed, because the optimizer is not fused (scalar-read)
  - `clip_grad_norm_(..., error_if_nonfinite=True)` tests the norm on the host (scalar-read)
  - `scaler.get_scale()` for the log (scalar-read)
The report lists them under the line that calls the library.
"""

import sys
import time

import torch
from torch import nn

DEVICE = torch.device("cuda")
BATCH, WIDTH = 64, 512


def build():
    torch.manual_seed(0)
    return nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(4))).to(DEVICE)


def train(model, steps, scale):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)
    x = torch.randn(BATCH * scale, WIDTH, device=DEVICE)
    scales = []
    for _ in range(steps):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(x).square().mean()
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)  # sync: scalar-read
        scaler.step(optimizer)  # sync: scalar-read
        scaler.update()
        scales.append(scaler.get_scale())  # sync: scalar-read


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    scale = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    model = build()
    train(model, 5, scale)
    torch.cuda.synchronize()
    start = time.perf_counter()
    train(model, steps, scale)
    torch.cuda.synchronize()
    print(f"{(time.perf_counter() - start) / steps * 1e3:.3f} ms per step")


if __name__ == "__main__":
    main()

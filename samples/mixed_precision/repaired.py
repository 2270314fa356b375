"""Mixed precision and clipping without a wait: bfloat16 needs no scaler.

What to look for: no wait in a step. bfloat16 has the range of float32, so there is no loss scale to adapt and no
overflow to look for; `clip_grad_norm_` without `error_if_nonfinite` stays on the device. Where float16 is a must,
`AdamW(fused=True)` lets the scaler hand its overflow flag to the optimizer on the device.
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
    x = torch.randn(BATCH * scale, WIDTH, device=DEVICE)
    for _ in range(steps):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(x).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


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

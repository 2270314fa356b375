"""Reading in the loop: every number that is looked at costs a wait.

What to look for: the host waits four times a step, although the figures are only shown every tenth step.
  - `loss.item()` for the running mean (scalar-read)
  - `if not torch.isfinite(loss)` (scalar-read, implied by the `if`)
  - `correct.item()` for the accuracy (scalar-read)
  - the f-string that is built at every step and shown at every tenth (scalar-read)
Try: syncwatch check samples/reading/naive.py, then: syncwatch run samples/reading/naive.py
"""

import sys
import time

import torch
from torch import nn

DEVICE = torch.device("cuda")
BATCH, FEATURES, CLASSES = 256, 256, 10


def build():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(FEATURES, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, CLASSES))
    return model.to(DEVICE)


def train(model, steps, scale):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    inputs = torch.randn(8, BATCH * scale, FEATURES, device=DEVICE)
    targets = torch.randint(CLASSES, (8, BATCH * scale), device=DEVICE)
    running, right = 0.0, 0
    for step in range(steps):
        x, y = inputs[step % 8], targets[step % 8]
        logits = model(x)
        loss = nn.functional.cross_entropy(logits, y)
        if not torch.isfinite(loss):  # sync: scalar-read
            raise RuntimeError("the loss is not finite")
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        running += loss.item()  # sync: scalar-read
        correct = (logits.argmax(1) == y).sum()
        right += correct.item()  # sync: scalar-read
        message = f"step {step}: loss {loss:.4f}"  # sync: scalar-read
        if step % 10 == 0:
            print(message, "mean", running / (step + 1), "accuracy", right / (len(y) * (step + 1)))


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20
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

"""Shapes that depend on data: the host must learn the size of a result before it can go on.

What to look for: six waits a step, one of them far from its cause.
  - `scores[keep]` with a boolean mask (dynamic-shape)
  - `torch.nonzero(keep)` (dynamic-shape)
  - `torch.bincount(labels)` (dynamic-shape, two waits: it looks for negative values and for the largest)
  - `nn.functional.one_hot(labels)` without `num_classes` (scalar-read: the largest label)
  - `loss.backward()`: the backward of the mask looks for its non-zero elements once more
"""

import sys
import time

import torch
from torch import nn

DEVICE = torch.device("cuda")
BATCH, FEATURES, CLASSES = 2048, 256, 16


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(FEATURES, 256), nn.ReLU(), nn.Linear(256, CLASSES)).to(DEVICE)


def train(model, steps, scale):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    x = torch.randn(BATCH * scale, FEATURES, device=DEVICE)
    labels = torch.randint(CLASSES, (BATCH * scale,), device=DEVICE)
    seen = torch.zeros(CLASSES, device=DEVICE)
    for _ in range(steps):
        logits = model(x)
        losses = nn.functional.cross_entropy(logits, labels, reduction="none")
        keep = losses > 0.1
        hard = losses[keep].mean()  # sync: dynamic-shape
        where = torch.nonzero(keep)  # sync: dynamic-shape
        seen += torch.bincount(labels[where[:, 0]], minlength=CLASSES)  # sync: dynamic-shape
        smooth = nn.functional.one_hot(labels).float() * 0.9  # sync: scalar-read
        loss = hard + (logits.softmax(1) - smooth).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # sync: dynamic-shape
        optimizer.step()


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

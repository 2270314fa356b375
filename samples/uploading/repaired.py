"""Uploads from pinned memory: the copy is queued, and the host goes on.

What to look for: no wait in a step. The loader pins each batch (`pin_memory=True`), and both copies say
`non_blocking=True`. The loader's thread pins batch N+1 while batch N computes.
"""

import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

DEVICE = torch.device("cuda")
BATCH, SIDE = 128, 64


def make_loader(steps, scale):
    batch = BATCH * scale
    images = torch.rand(batch * 4, 3, SIDE, SIDE)
    labels = torch.randint(10, (batch * 4,))
    loader = DataLoader(TensorDataset(images, labels), batch_size=batch, pin_memory=True)
    while steps > 0:
        for rows in loader:
            steps -= 1
            if steps < 0:
                return
            yield rows


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 16, 5, stride=4), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 15 * 15, 10)).to(DEVICE)


def train(model, steps, scale):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    for images, labels in make_loader(steps, scale):
        images = images.to(DEVICE, non_blocking=True)
        labels = labels.to(DEVICE, non_blocking=True)
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    scale = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    model = build()
    train(model, 3, scale)
    torch.cuda.synchronize()
    start = time.perf_counter()
    train(model, steps, scale)
    torch.cuda.synchronize()
    print(f"{(time.perf_counter() - start) / steps * 1e3:.3f} ms per step")


if __name__ == "__main__":
    main()

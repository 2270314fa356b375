"""Made on the host and moved: tensors that could have been born on the device.

What to look for: five uploads a step, each of which waits for all queued work.
  - `torch.zeros(...).to(DEVICE)` and `torch.arange(...).to(DEVICE)` (upload)
  - `torch.tensor([...], device=DEVICE)` of Python numbers (upload)
  - a mask built on the host inside `forward` (upload)
  - `weights[0] = 0.0` writes one element from the host (upload)
"""

import sys
import time

import torch
from torch import nn

DEVICE = torch.device("cuda")
BATCH, LENGTH, WIDTH = 16, 64, 128


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, 4, batch_first=True)
        self.position = nn.Embedding(LENGTH, WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        length = x.shape[1]
        positions = torch.arange(length).to(x.device)  # sync: upload
        mask = torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1).to(x.device)  # sync: upload
        x = x + self.position(positions)
        x, _ = self.attention(x, x, x, attn_mask=mask, need_weights=False)
        return self.out(x)


def build():
    torch.manual_seed(0)
    return Block().to(DEVICE)


def train(model, steps, scale):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    data = torch.randn(BATCH * scale, LENGTH, WIDTH, device=DEVICE)
    for _ in range(steps):
        target = torch.zeros(data.shape).to(DEVICE)  # sync: upload
        mix = torch.tensor([0.5, 0.25], device=DEVICE)  # sync: upload
        weights = torch.ones(LENGTH, device=DEVICE)
        weights[0] = 0.0  # sync: upload
        error = (model(data) - target).square().mean(2) * weights
        loss = error.mean() * mix[0] + error.amax() * mix[1]
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
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

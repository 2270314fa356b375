"""A transfer stream that is waited for on the host: batch N+1 is copied beside batch N, and then everything stops.

What to look for: two waits a step.
  - `torch.cuda.synchronize()` before the batch is used (device-wait): it waits for the computation as well
  - `stream.synchronize()` after the copy was queued (stream-wait)
"""

import sys
import time

import torch
from torch import nn

DEVICE = torch.device("cuda")
BATCH, WIDTH = 512, 1024


class Prefetcher:
    def __init__(self, batches):
        self.batches = iter(batches)
        self.stream = torch.cuda.Stream()
        self.fetch()

    def fetch(self):
        host = next(self.batches, None)
        if host is None:
            self.batch = None
            return
        with torch.cuda.stream(self.stream):
            self.batch = host.to(DEVICE, non_blocking=True)
        self.stream.synchronize()  # sync: stream-wait

    def next(self):
        torch.cuda.synchronize()  # sync: device-wait
        batch = self.batch
        self.fetch()
        return batch


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)).to(DEVICE)


def train(model, steps, scale):
    host = [torch.randn(BATCH * scale, WIDTH).pin_memory() for _ in range(4)]
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    prefetcher = Prefetcher(host[step % 4] for step in range(steps))
    batch = prefetcher.next()
    while batch is not None:
        loss = model(batch).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        batch = prefetcher.next()


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

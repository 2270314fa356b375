"""A transfer stream ordered by events: batch N+1 is copied while batch N computes, and only the device waits.

What to look for: no wait of the host. The copy records an event; before the batch is used, the computing stream waits
for that event (`event.wait()`), which the host merely queues. `record_stream` tells the allocator that the batch is
used on a second stream, so that its memory is not given away too early.
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
        self.copied = torch.cuda.Event()
        self.fetch()

    def fetch(self):
        host = next(self.batches, None)
        if host is None:
            self.batch = None
            return
        with torch.cuda.stream(self.stream):
            self.batch = host.to(DEVICE, non_blocking=True)
            self.copied.record()

    def next(self):
        self.copied.wait()
        batch = self.batch
        if batch is not None:
            batch.record_stream(torch.cuda.current_stream())
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

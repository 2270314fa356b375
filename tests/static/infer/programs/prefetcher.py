import queue
import threading
import time
import copy
import torch
from torch import nn
device = "cuda"

class Prefetcher:
    def __init__(self, batches):
        self.batches = iter(batches)
        self.stream = torch.cuda.Stream()
        self.preload()
    def preload(self):
        try:
            self.next = next(self.batches)
        except StopIteration:
            self.next = None
            return
        with torch.cuda.stream(self.stream):
            self.next = self.next.to(device, non_blocking=True)
    def pop(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        batch = self.next
        if batch is not None:
            batch.record_stream(torch.cuda.current_stream())
        self.preload()
        return batch

net = nn.Linear(16, 16).to(device)
ema = copy.deepcopy(net)
pool = [torch.randn(4, 16).pin_memory() for _ in range(3)]

def update_ema(decay=0.99):
    with torch.no_grad():
        for p, q in zip(ema.parameters(), net.parameters()):
            p.mul_(decay).add_(q, alpha=1 - decay)

def step():
    pre = Prefetcher(pool)
    batch = pre.pop()
    while batch is not None:
        y = net(batch)
        update_ema()
        batch = pre.pop()
    snap = {k: v.detach().to("cpu") for k, v in net.state_dict().items()}  # sync
    t0 = time.time()
    net(torch.randn(4, 16, device=device))
    torch.cuda.synchronize()  # sync
    dt = time.time() - t0
    return snap, dt

if __name__ == "__main__":
    for _ in range(3):
        step()

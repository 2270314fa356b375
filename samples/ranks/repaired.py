"""Several ranks, repaired: collectives order the devices, and nobody's host waits.

What to look for: no wait in a step. A collective on device tensors is ordered with the work before and after it by the
streams, so no barrier is needed; the losses are collected on the device, reduced once and read once after the loop;
time is taken with events, which the device records.
Run: torchrun --nproc-per-node 2 -m syncwatch run samples/ranks/repaired.py
"""

import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

BATCH, WIDTH = 128, 512


def set_up():
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29511")
    rank, ranks = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    local = int(os.environ.get("LOCAL_RANK", "0"))
    torch.cuda.set_device(local)
    dist.init_process_group("nccl", rank=rank, world_size=ranks)
    return torch.device("cuda", local)


def build(device):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)).to(device)


def train(model, device, steps, scale):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    x = torch.randn(BATCH * scale, WIDTH, device=device)
    history = torch.zeros(steps, device=device)
    first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    first.record()
    for step in range(steps):
        loss = model(x).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()
        optimizer.step()
        history[step : step + 1].copy_(loss.detach())
    last.record()
    dist.all_reduce(history)
    return history.tolist(), first.elapsed_time(last) / steps


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    scale = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    device = set_up()
    model = build(device)
    train(model, device, 3, scale)
    torch.cuda.synchronize()
    start = time.perf_counter()
    train(model, device, steps, scale)
    torch.cuda.synchronize()
    if dist.get_rank() == 0:
        print(f"{(time.perf_counter() - start) / steps * 1e3:.3f} ms per step")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

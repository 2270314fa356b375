"""Several ranks: what one of them waits for, all of them wait for.

What to look for, on every rank and in every step:
  - `dist.barrier()` after the step (collective): with NCCL the host stands still until all ranks' devices are there
  - `loss.item()` after the reduction (scalar-read)
  - `torch.cuda.synchronize()` around the timer (device-wait)
Run: torchrun --nproc-per-node 2 -m syncwatch run samples/ranks/naive.py
Each rank writes a session of its own; `syncwatch report` shows them side by side. It also runs alone, as one rank.
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
    seconds, history = 0.0, []
    for _ in range(steps):
        start = time.perf_counter()
        loss = model(x).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()
        optimizer.step()
        torch.cuda.synchronize()  # sync: device-wait
        seconds += time.perf_counter() - start
        mean = loss.detach()
        dist.all_reduce(mean)
        history.append(mean.item())  # sync: scalar-read
        dist.barrier()  # sync: collective
    return history


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

import contextlib
import functools
import torch
from torch import nn
device = torch.device("cuda")

class Stats:
    def __init__(self):
        self.values = {}
    def __setitem__(self, k, v):
        self.values[k] = v
    def __getitem__(self, k):
        return self.values[k]
    def __contains__(self, k):
        return k in self.values
    def items(self):
        return self.values.items()

@contextlib.contextmanager
def capture(module, stats, name):
    def hook(mod, inp, out):
        stats[name] = out.detach().abs().mean()
    handle = module.register_forward_hook(hook)
    try:
        yield stats
    finally:
        handle.remove()

def retry(n):
    def deco(f):
        @functools.wraps(f)
        def inner(*a, **k):
            for _ in range(n):
                r = f(*a, **k)
                if r is not None:
                    return r
        return inner
    return deco

class Loss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.abs().sum()
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.sign()

net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1)).to(device)

@retry(2)
def run(x):
    return Loss.apply(net(x))

def select(d, *names, default=None):
    return {n: d.get(n, default) for n in names}

def step():
    stats = Stats()
    with capture(net[0], stats, "first"):
        y = run(torch.randn(2, 4, device=device))
    if "first" in stats and stats["first"] > 1e3:  # sync
        return None
    out = {k: round(v.item(), 3) for k, v in stats.items()}  # sync
    y.backward()
    picked = select({"loss": y, "n": 3}, "loss", "n")
    total = float(picked["loss"]) + picked["n"]  # sync
    grads = [p.grad for p in net.parameters()]
    flat = torch.cat([g.flatten() for g in grads])
    big = flat.abs().max() > 10
    scale = torch.where(big, 0.5, 1.0)
    for g in grads:
        g.mul_(scale)
    net.zero_grad()
    return out, total

if __name__ == "__main__":
    for _ in range(3):
        step()

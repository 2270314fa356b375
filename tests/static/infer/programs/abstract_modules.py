from __future__ import annotations
import abc
import dataclasses
import itertools
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset, IterableDataset

device = torch.device("cuda")
step_count = 0
best = None

class Base(nn.Module, abc.ABC):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.Linear(4, 4)})
        self.gains = nn.ParameterList([nn.Parameter(torch.ones(4)) for _ in range(2)])
    @abc.abstractmethod
    def head(self, x): ...
    def forward(self, x):
        for (name, blk), g in zip(self.blocks.items(), self.gains):
            x = checkpoint(blk, x, use_reentrant=False) * g
        return self.head(x)

class Child(Base):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(4, 1)
    def head(self, x):
        return self.out(x)
    def forward(self, x):
        y = super().forward(x)
        if (m := y.abs().max()) > 100:  # sync
            y = y / m
        return y

class Wrapper:
    def __init__(self, inner):
        self._inner = inner
    def __getattr__(self, name):
        return getattr(self._inner, name)
    def __call__(self, *a, **k):
        return self._inner(*a, **k)

@dataclasses.dataclass(frozen=True)
class Config:
    lr: float = 0.1
    device: str = "cuda"
    log_every: int = 10
    dtype: torch.dtype = torch.float32

cfg = dataclasses.replace(Config(), lr=0.2)
model = Wrapper(torch.compile(Child().to(cfg.device)))
opt = torch.optim.SGD(model.parameters(), lr=cfg.lr)

class Stream(IterableDataset):
    def __iter__(self):
        for _ in range(6):
            yield torch.randn(4)

def cycle(loader):
    while True:
        yield from loader

def init(mod):
    if isinstance(mod, nn.Linear):
        nn.init.zeros_(mod.bias)
model.apply(init)

loader = DataLoader(Stream(), batch_size=2, pin_memory=True)
other = DataLoader(TensorDataset(torch.randn(8, 4)), batch_size=2)

def step():
    global step_count, best
    it = iter(cycle(loader))
    for _, (y,) in zip(range(2), other):
        x = next(it)
        x = x.to(device, non_blocking=True)
        y = y.to(device)  # sync
        loss = model(x).mean() + model(y).mean()
        loss.backward()
        opt.step()
        opt.zero_grad()
        step_count += 1
        best = loss.detach() if best is None else torch.minimum(best, loss.detach())
    extra = {**{"loss": best}, "step": step_count}
    if extra["step"] > 1 and extra["loss"] < 0:  # sync
        extra["step"] = 0
    for name, p in model.named_parameters():
        if p.grad is None:
            continue
    sizes = [b.numel() for b in model.buffers()]
    names = sorted(n for n, _ in model.named_modules())
    return list(itertools.accumulate(sizes)), names

if __name__ == "__main__":
    for _ in range(3):
        step()

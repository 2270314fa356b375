import collections
import torch
from torch import nn
device = "cuda" if torch.cuda.is_available() else "cpu"

class SmoothedValue:
    def __init__(self, window=20):
        self.deque = collections.deque(maxlen=window)
        self.total, self.count = 0.0, 0
    def update(self, value, n=1):
        self.deque.append(value)
        self.count += n
        self.total += value * n
    @property
    def median(self):
        d = torch.tensor(list(self.deque))
        return d.median().item()
    @property
    def global_avg(self):
        return self.total / self.count
    def __str__(self):
        return f"{self.median:.4f} ({self.global_avg:.4f})"

class MetricLogger:
    def __init__(self):
        self.meters = collections.defaultdict(SmoothedValue)
    def update(self, **kwargs):
        for k, v in kwargs.items():
            if isinstance(v, torch.Tensor):
                v = v.item()  # sync
            assert isinstance(v, (float, int))
            self.meters[k].update(v)
    def __getattr__(self, attr):
        if attr in self.meters:
            return self.meters[attr]
        raise AttributeError(attr)
    def __str__(self):
        return "  ".join(f"{name}: {meter}" for name, meter in self.meters.items())

model = nn.Linear(4, 2).to(device)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)

def step():
    log = MetricLogger()
    for i in range(4):
        x = torch.rand(8, 4, device=device)
        loss = model(x).square().mean()
        opt.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if torch.isfinite(norm):  # sync
            opt.step()
        log.update(loss=loss, norm=norm, lr=opt.param_groups[0]["lr"])
        norms = {n: p.grad.norm().item() for n, p in model.named_parameters() if p.grad is not None}  # sync
    return str(log), norms

if __name__ == "__main__":
    for _ in range(3):
        step()

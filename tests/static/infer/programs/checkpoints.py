import io
import copy
import json
import pickle
import torch
from torch import nn
device = torch.device("cuda")
model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)).to(device)
opt = torch.optim.Adam(model.parameters())

def snapshot(m):
    return {k: v.detach().clone() for k, v in m.state_dict().items()}

def to_host(obj):
    if isinstance(obj, torch.Tensor):
        return obj.cpu()  # sync
    if isinstance(obj, dict):
        return {k: to_host(v) for k, v in obj.items()}
    if isinstance(obj, (list, tuple)):
        return type(obj)(to_host(v) for v in obj)
    return obj

class AsyncSaver:
    def __init__(self, m):
        self.host = {k: torch.empty_like(v, device="cpu").pin_memory() for k, v in m.state_dict().items()}
        self.event = torch.cuda.Event()
        self.stream = torch.cuda.Stream()
    def save(self, m):
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for k, v in m.state_dict().items():
                self.host[k].copy_(v, non_blocking=True)
            self.event.record(self.stream)
    def wait(self):
        self.event.synchronize()
        return {k: v.clone() for k, v in self.host.items()}

saver = AsyncSaver(model)

def train():
    x = torch.randn(4, 4, device=device)
    loss = model(x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.detach()

def sparsity(m):
    zeros = total = 0
    for p in m.parameters():
        zeros += (p == 0).sum()
        total += p.numel()
    return zeros / total

def step():
    loss = train()
    snap = snapshot(model)
    host = to_host({"model": model.state_dict(), "epoch": 1})
    buf = io.BytesIO()
    torch.save(host, buf)
    saver.save(model)
    text = json.dumps({"loss": round(loss.item(), 4)})  # sync
    clone = copy.deepcopy(model)
    s = sparsity(clone)
    if s > 0.5:  # sync
        model.load_state_dict(snap)
    frozen = [n for n, p in model.named_parameters() if not p.requires_grad]
    blob = pickle.dumps({"lr": opt.param_groups[0]["lr"]})
    return text, frozen, len(blob)

if __name__ == "__main__":
    for _ in range(3):
        step()

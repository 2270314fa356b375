import torch
from torch import nn
device = torch.device("cuda")

class Averager:
    def __init__(self, model, decay=0.99):
        self.decay = decay
        self.shadow = {k: v.clone().detach() for k, v in model.state_dict().items()}
        self.updates = 0
    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        d = min(self.decay, (1 + self.updates) / (10 + self.updates))
        for k, v in model.state_dict().items():
            if v.dtype.is_floating_point:
                self.shadow[k].lerp_(v, 1 - d)
            else:
                self.shadow[k].copy_(v)
    def distance(self, model):
        return sum((self.shadow[k] - v).abs().sum() for k, v in model.named_parameters()).item()  # sync

class Auroc:
    def __init__(self):
        self.preds, self.target = [], []
    def update(self, p, t):
        self.preds.append(p.detach())
        self.target.append(t)
    def compute(self):
        p, t = torch.cat(self.preds), torch.cat(self.target)
        if not t.any():  # sync
            return 0.0
        order = p.argsort()
        ranks = torch.empty_like(p)
        ranks[order] = torch.arange(1, p.numel() + 1, device=p.device, dtype=p.dtype)
        pos = t.sum()
        return ((ranks * t).sum() - pos * (pos + 1) / 2) / (pos * (t.numel() - pos))

def lr_find(losses, lrs):
    best = torch.stack(losses).argmin()
    return lrs[best]  # sync

def focal(logits, target, gamma=2.0, weight=None):
    ce = nn.functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
    pt = (-ce).exp()
    loss = (1 - pt) ** gamma * ce
    if weight is not None:
        loss = loss * weight
    n_pos = (target > 0).sum()
    if n_pos == 0:  # sync
        return loss.sum() * 0
    return loss.sum() / n_pos

net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)).to(device)
avg = Averager(net)
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

def step():
    met, losses = Auroc(), []
    lrs = [0.1, 0.01]
    for lr in lrs:
        for g in opt.param_groups:
            g["lr"] = lr
        x = torch.randn(8, 4, device=device)
        y = (torch.rand(8, device=device) > 0.5).float()
        out = net(x).squeeze(1)
        loss = focal(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        avg.update(net)
        met.update(out.sigmoid(), y)
        losses.append(loss.detach())
    found = lr_find(losses, lrs)
    d = avg.distance(net)
    score = met.compute()
    return found, d, score

if __name__ == "__main__":
    for _ in range(3):
        step()

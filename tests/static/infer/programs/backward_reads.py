"""Backward passes that wait: for an index that lies on the host, and for zeros among factors."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda")
net = nn.Linear(4, 6).to(device)
data = DataLoader(TensorDataset(torch.rand(64, 4), torch.randint(0, 6, (64,))), batch_size=8, pin_memory=True)
for x, y in data:
    x = x.to(device, non_blocking=True)
    out = net(x)
    picked = out[torch.arange(len(x)), y]  # sync
    picked.mean().backward()  # sync
    y = y.to(device, non_blocking=True)
    rows = torch.arange(len(x), device=device)
    net(x)[rows, y].mean().backward()
    target = out.detach()[torch.arange(len(x)), y]  # sync
    (net(x).mean() - target.mean()).backward()

    alpha = net(x).sigmoid()
    weights = torch.cumprod(1.0 - alpha, -1)
    weights.sum().backward()  # sync
    fixed = torch.cumprod(1.0 - net(x).detach(), -1)
    (fixed * net(x)).sum().backward()
    net(x).sigmoid().prod(dim=-1).mean().backward()  # sync

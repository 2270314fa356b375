import torch
from torch import nn
device = torch.device("cuda")

class Attn(nn.Module):
    def __init__(self, d=16, h=2, window=4):
        super().__init__()
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.h = h
        mask = torch.ones(64, 64).tril().bool()
        self.register_buffer("mask", mask, persistent=False)
        self.slopes = torch.tensor([2.0 ** -i for i in range(h)])
        self.scale = nn.Parameter(torch.ones(1))
    def bias(self, t):
        pos = torch.arange(t)
        return (pos[None] - pos[:, None])[None] * self.slopes[:, None, None]
    def forward(self, x, lens=None):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.h, -1).permute(2, 0, 3, 1, 4)
        s = q @ k.transpose(-1, -2) / d ** 0.5
        s = s + self.bias(t).to(x.device)  # sync
        s = s.masked_fill(~self.mask[:t, :t], float("-inf"))
        if lens is not None:
            pad = torch.arange(t, device=x.device)[None] >= lens[:, None]
            s = s.masked_fill(pad[:, None, None], -1e4)
            if lens.min() < t:  # sync
                s = s * 1.0
        y = s.softmax(-1) @ v
        y = self.out(y.transpose(1, 2).reshape(b, t, d))
        return y * self.scale.item()  # sync

class Model(nn.Module):
    def __init__(self, n=2):
        super().__init__()
        self.blocks = nn.ModuleList([Attn() for _ in range(n)])
        self.norm = nn.LayerNorm(16)
    def forward(self, x, lens):
        for blk in self.blocks:
            x = x + blk(self.norm(x), lens)
        return x

model = Model().to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")

def step():
    lens = torch.tensor([3, 5], device=device)  # sync
    x = torch.randn(2, 6, 16, device=device)
    with torch.autocast("cuda"):
        loss = model(x, lens).pow(2).mean()
    scaler.scale(loss).backward()
    scaler.step(opt)  # sync
    scaler.update()
    opt.zero_grad()
    return loss.detach()

if __name__ == "__main__":
    for _ in range(3):
        step()

import torch
from torch import nn
import torch.nn.functional as F
device = torch.device("cuda")

class VectorQuantizer(nn.Module):
    def __init__(self, n=16, d=4):
        super().__init__()
        self.embed = nn.Embedding(n, d)
        self.register_buffer("usage", torch.zeros(n))
        self.register_buffer("initted", torch.tensor(False))
        self.n = n
    @torch.no_grad()
    def init_once(self, x):
        if self.initted:  # sync
            return
        self.embed.weight.data.copy_(x[: self.n])
        self.initted.copy_(torch.tensor(True))  # sync
    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        self.init_once(flat)
        dist = torch.cdist(flat, self.embed.weight)
        idx = dist.argmin(1)
        onehot = F.one_hot(idx, self.n).float()
        self.usage.mul_(0.99).add_(onehot.sum(0), alpha=0.01)
        dead = self.usage < 1e-3
        if dead.any():  # sync
            rows = torch.randint(0, flat.shape[0], (int(dead.sum()),), device=x.device)  # sync
            self.embed.weight.data[dead] = flat[rows]  # sync
        q = self.embed(idx).view_as(x)
        perp = torch.exp(-(onehot.mean(0) * (onehot.mean(0) + 1e-9).log()).sum())
        return x + (q - x).detach(), F.mse_loss(q, x), perp

vq = VectorQuantizer().to(device)
opt = torch.optim.Adam(vq.parameters(), 1e-3)

def step():
    x = torch.randn(4, 8, 4, device=device)
    y, loss, perp = vq(x)
    loss.backward()
    opt.step()
    opt.zero_grad()
    return {"loss": loss.detach(), "perp": perp}

if __name__ == "__main__":
    for _ in range(3):
        step()

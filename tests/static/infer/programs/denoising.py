import torch
from torch import nn
device = torch.device("cuda")

class Schedule:
    def __init__(self, n=10):
        self.betas = torch.linspace(1e-4, 0.02, n)
        self.alphas = (1 - self.betas).cumprod(0)
        self.sigmas = self.alphas.sqrt().to(device)
        self.timesteps = torch.arange(n, device=device).flip(0)
        self.index = None
    def set_steps(self, n):
        self.timesteps = torch.linspace(9, 0, n).long().to(device)  # sync
    def lookup(self, t):
        idx = (self.timesteps == t).nonzero()  # sync
        return idx[0].item()  # sync
    def step(self, eps, t, x):
        a = self.alphas[t]  # sync
        s = self.sigmas[t]  # sync
        i = self.lookup(t)
        last = i == len(self.timesteps) - 1
        if not last:
            x = x + 0.1 * torch.randn_like(x)
        return (x - s * eps) / a.to(x.device) ** 0.5  # sync

class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Conv2d(3, 3, 3, padding=1)
        self.t = nn.Sequential(nn.Linear(1, 3), nn.SiLU())
    def forward(self, x, t):
        if not torch.is_tensor(t):
            t = torch.tensor([t], device=x.device)
        elif t.ndim == 0:
            t = t[None]
        t = t.expand(x.shape[0]).float()
        return self.net(x) + self.t(t[:, None])[:, :, None, None]

unet, sched = UNet().to(device).eval(), Schedule()

@torch.no_grad()
def sample(n=3, guidance=2.0):
    sched.set_steps(n)
    x = torch.randn(2, 3, 4, 4, device=device)
    for i, t in enumerate(sched.timesteps):
        pair = torch.cat([x, x])
        eps = unet(pair, t)
        c, u = eps.chunk(2)
        eps = u + guidance * (c - u)
        x = sched.step(eps, t, x)
    return ((x + 1) * 127.5).clamp(0, 255).to(torch.uint8).cpu().numpy()  # sync

if __name__ == "__main__":
    for _ in range(3):
        sample()

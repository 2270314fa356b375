import math
import torch
import torch.nn.functional as F
from torch import nn
device = torch.device("cuda")

class SAC:
    def __init__(self):
        self.log_alpha = torch.zeros(1, requires_grad=True, device=device)
        self.target = -2.0
        self.q = nn.Linear(4, 1).to(device)
        self.tq = nn.Linear(4, 1).to(device)
        self.tq.load_state_dict(self.q.state_dict())
        self.opt = torch.optim.Adam([self.log_alpha], lr=1e-3)
        self.info = {}
    def alpha(self):
        return self.log_alpha.exp().item()  # sync
    def soft_update(self, tau=0.005):
        for p, t in zip(self.q.parameters(), self.tq.parameters()):
            t.data.copy_(tau * p.data + (1 - tau) * t.data)
    def update(self, x):
        logp = -x.pow(2).mean(1)
        loss = -(self.log_alpha * (logp + self.target).detach()).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.soft_update()
        self.info.update(alpha=self.alpha(), q=self.q(x).mean().detach())
        return {k: v if isinstance(v, float) else v.item() for k, v in self.info.items()}  # sync

def speculative(draft, target, k=3):
    p, q = draft.softmax(-1), target.softmax(-1)
    tok = p.argmax(-1)
    ratio = q.gather(-1, tok[..., None]) / p.gather(-1, tok[..., None])
    ok = torch.rand_like(ratio) < ratio
    n = ok.squeeze(-1).long().cumprod(-1).sum(-1)
    accepted = n.min().item()  # sync
    return tok[:, :accepted], n

def beams(logp, width=2):
    b, v = logp.shape
    scores, idx = logp.view(-1).topk(width)
    parent, tok = idx // v, idx % v
    done = tok == 0
    finished = []
    for i in range(width):
        if done[i]:  # sync
            finished.append((scores[i].item(), tok[i].item()))  # sync
    return parent, tok, finished

def interpolate(pos, h, w):
    n = int(math.sqrt(pos.shape[1]))
    grid = pos.reshape(1, n, n, -1).permute(0, 3, 1, 2)
    return F.interpolate(grid, (h, w), mode="bilinear").flatten(2).transpose(1, 2)

agent = SAC()

def step():
    x = torch.randn(8, 4, device=device)
    info = agent.update(x)
    t, n = speculative(torch.randn(2, 3, 9, device=device), torch.randn(2, 3, 9, device=device))
    par, tok, fin = beams(torch.randn(2, 9, device=device).log_softmax(-1))
    pe = interpolate(torch.randn(1, 16, 8, device=device), 6, 6)
    lens = n + 1
    cu = torch.zeros(lens.numel() + 1, dtype=torch.int32, device=device)
    cu[1:] = lens.cumsum(0)
    total = cu[-1].item()  # sync
    seg = torch.repeat_interleave(torch.arange(2, device=device), lens, output_size=total)
    torch._assert_async((seg >= 0).all())
    clamp = tok.clamp(0, 5)
    temp = 1.0 / max(info["alpha"], 1e-3)
    ema = min(0.999, (1 + len(fin)) / (10 + len(fin)))
    return info, temp, ema, pe, clamp

if __name__ == "__main__":
    for _ in range(3):
        step()

import numpy as np
import torch
from torch import nn
device = torch.device("cuda", torch.cuda.current_device())

class Env:
    def __init__(self, n=4):
        self.n = n
        self.state = np.zeros((n, 3), dtype=np.float32)
    def reset(self):
        return self.state
    def step(self, a):
        self.state = self.state + a[:, None]
        done = np.random.rand(self.n) > 0.9
        return self.state, self.state.sum(1), done, {}

class GpuEnv:
    def __init__(self, n=4):
        self.n = n
        self.pos = torch.zeros(n, 3, device=device)
        self.t = torch.zeros(n, dtype=torch.long, device=device)
    def reset_done(self, done):
        ids = done.nonzero(as_tuple=True)[0]  # sync
        if len(ids):
            self.pos[ids] = 0.0  # sync
            self.t[ids] = 0  # sync
        return ids
    def reset_fixed(self, done):
        self.pos.masked_fill_(done[:, None], 0.0)
        self.t *= (~done).long()
    def step(self, a):
        self.pos = self.pos + a
        self.t += 1
        done = (self.pos.norm(dim=1) > 1) | (self.t > 10)
        return self.pos, -self.pos.norm(dim=1), done

actor = nn.Linear(3, 3).to(device)
host_env, dev_env = Env(), GpuEnv()
log = {"ret": [], "len": []}

def collect_host(n=2):
    obs = host_env.reset()
    rews = []
    for _ in range(n):
        with torch.no_grad():
            o = torch.tensor(obs, device=device)  # sync
            logits = actor(o)
            a = torch.distributions.Categorical(logits=logits, validate_args=False).sample()
        obs, r, d, _ = host_env.step(a.cpu().numpy().astype(np.float32))  # sync
        rews.append(torch.as_tensor(r, device=device))  # sync
        if d.any():
            obs = host_env.reset()
    return torch.stack(rews)

def collect_dev(n=2):
    total = torch.zeros((), device=device)
    for _ in range(n):
        obs, r, d = dev_env.step(torch.randn(4, 3, device=device))
        total += r.mean()
        ids = dev_env.reset_done(d)
        dev_env.reset_fixed(d)
        log["len"].append(dev_env.t.float().mean().item())  # sync
    return total

def gae(r, v, gamma=0.99):
    adv = torch.zeros_like(r)
    last = 0
    for t in reversed(range(len(r))):
        delta = r[t] + gamma * v[t + 1] - v[t]
        adv[t] = last = delta + gamma * last
    return adv

def step():
    r = collect_host()
    t = collect_dev()
    adv = gae(r, torch.zeros(3, 4, device=device))
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    idx = np.arange(2)
    np.random.shuffle(idx)
    mb = adv[idx]  # sync
    kl = (mb - mb.mean()).abs().mean()
    if kl > 0.02:  # sync
        mb = mb * 0.5
    log["ret"].append(float(t))  # sync
    return np.mean(log["ret"]), mb

if __name__ == "__main__":
    for _ in range(3):
        step()

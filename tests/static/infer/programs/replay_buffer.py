import numpy as np
import torch
from torch import nn
device = torch.device("cuda", 0)

class Buffer:
    def __init__(self, size, dim):
        self.obs = torch.zeros(size, dim, device=device)
        self.rew = torch.zeros(size, device=device)
        self.host = np.zeros((size, dim), dtype=np.float32)
        self.ptr, self.size = 0, size
    def add(self, o, r):
        self.obs[self.ptr] = torch.as_tensor(o, dtype=torch.float32, device=device)  # sync
        self.rew[self.ptr] = float(r)  # sync
        self.host[self.ptr] = o
        self.ptr = (self.ptr + 1) % self.size
    def sample(self, n):
        i = np.random.randint(0, self.size, n)
        return self.obs[i], self.rew[i]  # sync
    def sample_fixed(self, n):
        i = torch.randint(0, self.size, (n,), device=device)
        return self.obs[i], self.rew[i]

policy = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).to(device)
buf = Buffer(16, 4)

def act(obs):
    with torch.no_grad():
        x = torch.from_numpy(obs).float().unsqueeze(0).to(device)  # sync
        logits = policy(x)
        return logits.argmax(-1).item()  # sync

def returns(rew, gamma=0.9):
    out = torch.zeros_like(rew)
    run = 0.0
    for t in reversed(range(rew.shape[0])):
        run = rew[t] + gamma * run
        out[t] = run
    return out

def step():
    obs = np.zeros(4, dtype=np.float32)
    for _ in range(3):
        a = act(obs)
        obs = obs + a
        buf.add(obs, obs.sum())
    o, r = buf.sample(4)
    o2, r2 = buf.sample_fixed(4)
    ret = returns(r2)
    adv = (ret - ret.mean()) / (ret.std() + 1e-8)
    return adv.cpu().numpy().mean()  # sync

if __name__ == "__main__":
    for _ in range(3):
        step()

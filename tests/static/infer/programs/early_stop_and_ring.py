import torch
device = "cuda"

class Tracker:
    best = float("inf")
    def __init__(self, patience=3):
        self.patience, self.bad = patience, 0
    def update(self, value):
        if value < self.best:  # sync
            self.best = value
            self.bad = 0
        else:
            self.bad += 1
        return self.bad >= self.patience

class Ring:
    def __init__(self, n, shape):
        self.data = torch.zeros(n, *shape, device=device)
        self.pos = torch.zeros((), dtype=torch.long, device=device)
        self.n = n
    def push(self, x):
        self.data[self.pos] = x  # sync
        self.pos = (self.pos + 1) % self.n
    def push_fixed(self, x):
        self.data.index_copy_(0, self.pos.view(1), x[None])
        self.pos = (self.pos + 1) % self.n
    def last(self):
        return self.data[self.pos - 1]  # sync

def kl(p, q):
    assert p.shape == q.shape
    assert torch.all(p > 0), "bad"  # sync
    return (p * (p / q).log()).sum()

t, ring = Tracker(), Ring(4, (3,))

def step():
    x = torch.rand(3, device=device) + 0.1
    ring.push(x)
    ring.push_fixed(x)
    y = ring.last()
    d = kl(x.softmax(0), y.softmax(0))
    stop = t.update(d)
    if stop and not torch.equal(x, y):  # sync
        t.bad = 0
    lr = 0.1 * (0.5 if stop else 1.0)
    q = torch.quantile(x, 0.5)
    h = torch.histc(x, bins=4)  # sync
    e = x.new_tensor([1.0, 2.0, 3.0])  # sync
    z = torch.zeros(3, device=device).index_fill_(0, torch.zeros(1, dtype=torch.long, device=device), 1.0)
    n = x.numel() + x.shape[0] + x.ndim
    r = torch.linalg.inv(torch.eye(3, device=device))  # sync
    return lr, n

if __name__ == "__main__":
    for _ in range(3):
        step()

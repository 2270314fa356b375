import torch
device = torch.device("cuda")
flags = type("F", (), {"debug": False, "check": True})()
host = torch.arange(10)

def clip(x, lo=None, hi=None):
    if lo is not None and hi is not None:
        return x.clamp(lo, hi)
    return x

def norm(x, eps=1e-6, *, safe=True, report=None):
    n = x.norm(dim=-1, keepdim=True)
    if safe:
        n = n.clamp(min=eps)
    if report:
        report(n)
    return x / n

def schedule(t, steps=10):
    betas = torch.linspace(1e-4, 0.02, steps)
    alphas = (1 - betas).cumprod(0)
    return alphas[t]

def schedule_dev(t, table):
    return table.gather(0, t)

table = schedule(host).to(device)

def step():
    x = torch.randn(4, 8, device=device)
    t = torch.randint(0, 10, (4,), device=device)
    a = schedule_dev(t, table)
    b = schedule(t.cpu()).to(device)  # sync
    y = norm(x, report=print if flags.debug else None)
    z = clip(y, -1, 1)
    if flags.check and not flags.debug:
        pass
    w = [v.item() for v in host[:3]]
    q = host.tolist() + list(range(len(t)))
    s = {int(k): i for i, k in enumerate(host)}
    lut = {0: "a"}
    name = lut.get(int(t[0]), "b")  # sync
    u = x[:, host[:2]]  # sync
    v = x[:, host[1]]
    m = torch.tensor(len(q), device=device)  # sync
    k = torch.full((4,), len(q), device=device)
    n = x.mean(0, keepdim=True).expand_as(x)
    r = torch.stack([x[i] for i in range(x.size(0))])
    tot = sum(p.numel() for p in [x, y, z])
    return name, a + b.mean(), tot

if __name__ == "__main__":
    for _ in range(3):
        step()

import torch
import torch.distributed as dist
from torch import nn
device = torch.device("cuda")

class Clipper:
    def __init__(self, params, max_norm=1.0):
        self.params, self.max_norm = list(params), max_norm
        self.history = []
    def __call__(self):
        grads = [p.grad for p in self.params if p.grad is not None]
        total = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in grads]))
        self.history.append(total.cpu())  # sync
        if len(self.history) > 2:
            avg = sum(self.history[-3:]) / 3
            if total > 10 * avg:  # sync
                return None
        factor = self.max_norm / (total + 1e-6)
        torch._foreach_mul_(grads, factor.clamp(max=1.0))
        return total

class Lookahead(torch.optim.Optimizer):
    def __init__(self, base, k=2, alpha=0.5):
        self.base, self.k, self.alpha, self.n = base, k, alpha, 0
        self.slow = [p.detach().clone() for g in base.param_groups for p in g["params"]]
        self.param_groups = base.param_groups
    def zero_grad(self):
        self.base.zero_grad()
    @torch.no_grad()
    def step(self):
        self.base.step()
        self.n += 1
        if self.n % self.k == 0:
            fast = [p for g in self.base.param_groups for p in g["params"]]
            for s, f in zip(self.slow, fast):
                s.lerp_(f, self.alpha)
                f.copy_(s)

class Custom(torch.optim.Optimizer):
    def __init__(self, params, lr=0.1):
        super().__init__(params, dict(lr=lr))
    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if len(state) == 0:
                    state["step"] = torch.zeros((), device=p.device)
                    state["m"] = torch.zeros_like(p)
                state["step"] += 1
                state["m"].mul_(0.9).add_(p.grad, alpha=0.1)
                bias = 1 - 0.9 ** state["step"].item()  # sync
                if p.grad.norm() > 5:  # sync
                    p.add_(state["m"], alpha=-0.5 * group["lr"])
                else:
                    p.add_(state["m"] / bias, alpha=-group["lr"])

net = nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Linear(4, 1)).to(device)
look = Lookahead(torch.optim.SGD(net.parameters(), lr=0.1))
own = Custom(net.parameters())
clip = Clipper(net.parameters())

def step():
    for o in (look, own):
        loss = net(torch.randn(8, 4, device=device)).square().mean()
        o.zero_grad()
        loss.backward()
        t = clip()
        o.step()
    return t

if __name__ == "__main__":
    for _ in range(3):
        step()

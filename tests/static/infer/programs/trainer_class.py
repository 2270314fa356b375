import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau, CosineAnnealingLR
device = "cuda"

class Trainer:
    def __init__(self, model, cfg):
        self.cfg = cfg
        self.device = torch.device(cfg.get("device", "cuda"))
        self.model = model.to(self.device)
        self.opt = getattr(torch.optim, cfg["optim"])(self.model.parameters(), lr=cfg["lr"])
        self.sched = CosineAnnealingLR(self.opt, 10)
        self.plateau = ReduceLROnPlateau(self.opt)
        self.callbacks = [self.log_loss, self.check]
        self.state = {"step": 0, "losses": []}
    def log_loss(self, loss):
        self.state["losses"].append(loss.item())  # sync
    def check(self, loss):
        if loss.isnan() or loss.isinf():  # sync
            raise RuntimeError(f"bad loss {loss.item()}")
    def batch(self):
        return {"x": torch.randn(4, 8), "y": torch.randn(4, 1)}
    def to_device(self, b):
        return {k: v.to(self.device, non_blocking=self.cfg["async"]) for k, v in b.items()}  # sync
    def step(self):
        b = self.to_device(self.batch())
        loss = (self.model(b["x"]) - b["y"]).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.sched.step()
        self.state["step"] += 1
        for cb in self.callbacks:
            cb(loss)
        self.plateau.step(loss)  # sync
        return self.opt.param_groups[0]["lr"]

t = Trainer(nn.Linear(8, 1), {"optim": "SGD", "lr": 0.1, "async": False})

if __name__ == "__main__":
    for _ in range(3):
        t.step()

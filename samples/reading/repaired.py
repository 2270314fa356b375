"""Reading in the loop, repaired: the sums stay on the device, and are read every tenth step.

What to look for: no wait in an ordinary step. The loss and the number of right answers are summed on the device; one
read every tenth step fetches both, and the check for a finite loss looks at the sum.
Compare: syncwatch diff of the sessions of naive.py and repaired.py
"""

import sys
import time

import torch
from torch import nn

DEVICE = torch.device("cuda")
BATCH, FEATURES, CLASSES = 256, 256, 10


def build():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(FEATURES, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, CLASSES))
    return model.to(DEVICE)


def train(model, steps, scale):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    inputs = torch.randn(8, BATCH * scale, FEATURES, device=DEVICE)
    targets = torch.randint(CLASSES, (8, BATCH * scale), device=DEVICE)
    sums = torch.zeros(2, device=DEVICE)
    for step in range(steps):
        x, y = inputs[step % 8], targets[step % 8]
        logits = model(x)
        loss = nn.functional.cross_entropy(logits, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        correct = (logits.argmax(1) == y).sum()
        sums += torch.stack((loss.detach(), correct))
        if step % 10 == 0:
            running, right = sums.tolist()
            if running != running:
                raise RuntimeError("the loss is not finite")
            print("step", step, "mean", running / (step + 1), "accuracy", right / (len(y) * (step + 1)))


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    scale = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    model = build()
    train(model, 5, scale)
    torch.cuda.synchronize()
    start = time.perf_counter()
    train(model, steps, scale)
    torch.cuda.synchronize()
    print(f"{(time.perf_counter() - start) / steps * 1e3:.3f} ms per step")


if __name__ == "__main__":
    main()

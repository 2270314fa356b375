import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

accelerator = Accelerator(mixed_precision="bf16")

def main():
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
    opt = torch.optim.AdamW(model.parameters())
    data = TensorDataset(torch.randn(64, 8), torch.randint(0, 2, (64,)))
    loader = DataLoader(data, batch_size=8)
    model, opt, loader = accelerator.prepare(model, opt, loader)
    losses = []
    for epoch in range(2):
        model.train()
        total = 0
        for step, (x, y) in enumerate(loader):  # sync
            with accelerator.accumulate(model):
                out = model(x)
                loss = nn.functional.cross_entropy(out, y)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
                opt.zero_grad()
            total += loss.detach().float()
            losses.append(accelerator.gather(loss).mean().item())  # sync
            if step % 10 == 0:
                accelerator.print(loss.item())
        print(total.item())

if __name__ == "__main__":
    main()

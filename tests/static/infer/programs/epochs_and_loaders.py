import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

class Toy(Dataset):
    def __init__(self, n=32):
        self.x = torch.randn(n, 4)
        self.y = torch.randint(0, 3, (n,))
    def __len__(self):
        return len(self.x)
    def __getitem__(self, i):
        return self.x[i], self.y[i]

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())
        self.head = nn.Linear(8, 3)
    def forward(self, x):
        return self.head(self.body(x))

@torch.no_grad()
def evaluate(net, loader):
    net.eval()
    right = total = 0
    for x, y in loader:
        x, y = x.to(device), y.to(device)  # sync
        pred = net(x).argmax(1)
        right += (pred == y).sum().item()  # sync
        total += y.size(0)
    net.train()
    return right / total

def train(net, loader, epochs=3):
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    crit = nn.CrossEntropyLoss()
    best, history = 0.0, []
    for epoch in range(epochs):
        bar = tqdm(loader)
        run = torch.zeros((), device=device)
        for i, (x, y) in enumerate(bar):
            x = x.to(device, non_blocking=True)
            y = y.to(device, non_blocking=True)
            loss = crit(net(x), y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            run += loss.detach()
            bar.set_postfix(loss=loss.item())  # sync
            if i % 50 == 0:
                print(loss.item())
        acc = evaluate(net, loader)
        history.append(run.item() / len(loader))
        if acc > best:
            best = acc
            torch.save({"model": net.state_dict(), "epoch": epoch}, "/tmp/x.pt")
    return history

if __name__ == "__main__":
    loader = DataLoader(Toy(), batch_size=8, shuffle=True, num_workers=0)
    train(Net().to(device), loader)

"""Programs that lean on libraries: the lines marked `# waits` are those where the host is held, and no others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from syncwatch.model import Certainty
from syncwatch.static.engine import Analysis

PROGRAMS = {
    "a module's parameters and buffers move with it, a plain attribute stays": """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.register_buffer("scale", torch.ones(4))
        self.offset = torch.ones(4)
    def forward(self, x):
        y = self.fc(x) * self.scale
        return y + self.offset.to(x.device)  # waits
net = Net().to("cuda")
for step in range(10):
    net(torch.randn(2, 4, device="cuda"))
""",
    "containers of modules": """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(3)])
        self.heads = nn.ModuleDict({"a": nn.Linear(4, 2), "b": nn.Linear(4, 3)})
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return {k: head(x) for k, head in self.heads.items()}
net = Net().cuda()
for step in range(10):
    out = net(torch.randn(2, 4, device="cuda"))
    out["a"].sum().item()  # waits
    out["b"].shape[0]
""",
    "LSTM and MultiheadAttention return tuples": """
import torch
from torch import nn
lstm, attention = nn.LSTM(4, 8).cuda(), nn.MultiheadAttention(8, 2).cuda()
for step in range(10):
    y, (h, c) = lstm(torch.randn(5, 2, 4, device="cuda"))
    z, weights = attention(y, y, y)
    if h.isnan().any():  # waits
        break
    float(weights.mean())  # waits
    z.dim()
""",
    "hooks run when the module does": """
import torch
from torch import nn
net = nn.Linear(4, 4).cuda()
seen = {}
def hook(module, args, output):
    seen["norm"] = output.norm().item()  # waits
handle = net.register_forward_hook(hook)
for step in range(10):
    net(torch.randn(2, 4, device="cuda"))
handle.remove()
""",
    "batches of a loader are on the host, pinned or not": """
import torch
from torch.utils.data import DataLoader, TensorDataset
data = TensorDataset(torch.randn(64, 4), torch.randint(0, 3, (64,)))
for x, y in DataLoader(data, batch_size=8, pin_memory=True):
    x = x.to("cuda", non_blocking=True)
    y.sum().item()
    y = y.cuda()  # waits
for x, y in DataLoader(data, batch_size=8):
    x.tolist()
    x = x.to("cuda")  # waits
    x.tolist()  # waits
""",
    "a dataset of the project and its collate function": """
import torch
from torch.utils.data import DataLoader, Dataset
class Words(Dataset):
    def __len__(self):
        return 10
    def __getitem__(self, i):
        return {"ids": torch.arange(5), "label": i}
def collate(samples):
    return torch.stack([s["ids"] for s in samples]), [s["label"] for s in samples]
for batch in DataLoader(Words(), batch_size=2):
    ids, label = batch["ids"].to("cuda"), batch["label"]  # waits
    label.max().item()
    ids.max().item()  # waits
for ids, labels in DataLoader(Words(), collate_fn=collate):
    if ids.max() > 3:
        ids = ids.cuda()  # waits
""",
    "accelerate prepares models, loaders and optimizers": """
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset
accelerator = Accelerator()
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.AdamW(model.parameters())
loader = DataLoader(TensorDataset(torch.randn(8, 4), torch.randn(8, 1)))
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for x, y in loader:  # waits
    loss = (model(x) - y).square().mean()
    accelerator.backward(loss)
    optimizer.step()
    losses = accelerator.gather(loss)
    losses.mean().item()  # waits
    x.to(accelerator.device)
""",
    "Lightning's hooks see batches on the device": """
import lightning as L
import torch
class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 1)
    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = (self.fc(x) - y).mean()
        self.log("loss", loss)
        self.log("again", loss.item())  # waits
        return loss
""",
    "the Trainer's hooks see inputs on the device": """
from transformers import Trainer
class Mine(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        labels = inputs["labels"]
        count = int((labels > 0).sum())  # waits
        return count
""",
    "a tokenizer makes host tensors, which are moved": """
from transformers import AutoModelForCausalLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("gpt2")
model = AutoModelForCausalLM.from_pretrained("gpt2").to("cuda")
for text in ["a", "b"]:
    inputs = tokenizer(text, return_tensors="pt")
    inputs["input_ids"].tolist()
    inputs = inputs.to("cuda")  # waits
    out = model.generate(**inputs)  # waits
    tokenizer.decode(out[0])  # waits
""",
    "distributions check their arguments": """
import torch
from torch.distributions import Categorical, Normal
logits = torch.randn(8, 3, device="cuda")
for step in range(10):
    d = Categorical(logits=logits)  # waits
    a = d.sample()
    d.log_prob(a)  # waits
    q = Categorical(logits=logits, validate_args=False)
    q.log_prob(q.sample())
    n = Normal(logits, logits.exp(), validate_args=False)
    n.rsample()
    n.sample()  # waits
""",
    "optimizers, scalers and schedulers": """
import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau
model = torch.nn.Linear(4, 4).cuda()
plain = torch.optim.Adam(model.parameters())
fused = torch.optim.Adam(model.parameters(), fused=True)
solver = torch.optim.LBFGS(model.parameters())
scaler, other = torch.amp.GradScaler(), torch.amp.GradScaler()
plateau = ReduceLROnPlateau(plain)
for step in range(10):
    loss = model(torch.randn(2, 4, device="cuda")).mean()
    scaler.scale(loss).backward()
    scaler.step(plain)  # waits
    other.step(fused)
    plain.step()
    solver.step(lambda: loss)  # waits
    plateau.step(loss)  # waits
""",
    "the counter of an averaged model": """
import torch
from torch.optim.swa_utils import AveragedModel
model = torch.nn.Linear(4, 4).cuda()
kept = AveragedModel(model)
moved = AveragedModel(model).cuda()
for step in range(10):
    kept.update_parameters(model)  # waits
    moved.update_parameters(model)  # waits
""",
    "backward of a boolean gather, and anomaly mode": """
import torch
weight = torch.randn(8, device="cuda", requires_grad=True)
mask = torch.rand(8, device="cuda") > 0.5
for step in range(10):
    picked = weight[mask]  # waits
    picked.sum().backward()  # waits
    (weight * mask).sum().backward()
""",
    "a state that is saved or loaded": """
import torch
model, other = torch.nn.Linear(4, 4).cuda(), torch.nn.Linear(4, 4).cuda()
host = torch.nn.Linear(4, 4)
for step in range(10):
    torch.save(model.state_dict(), "a.pt")  # waits
    torch.save(host.state_dict(), "b.pt")
    model.load_state_dict(host.state_dict())  # waits
    model.load_state_dict(other.state_dict())
""",
    "TensorBoard reads what it is given": """
import torch
from torch.utils.tensorboard import SummaryWriter
writer = SummaryWriter()
for step in range(10):
    loss = torch.rand((), device="cuda")
    writer.add_scalar("loss", loss, step)  # waits
    writer.add_scalar("step", step, step)
""",
    "arrays of other libraries look alike": """
import numpy as np
import pandas as pd
import torch
x = torch.randn(8, device="cuda")
for step in range(10):
    a = np.random.rand(4)
    a.mean().item(), a.tolist(), float(a[0])
    if (a > 0.5).any():
        pd.DataFrame({"a": a}).items()
    x[np.arange(3)]  # waits
    torch.from_numpy(a).sum().item()
""",
    "packed sequences": """
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
lengths = torch.tensor([3, 5, 2])
for step in range(10):
    x = torch.randn(3, 5, 4, device="cuda")
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)  # waits
    out, sizes = pad_packed_sequence(packed, batch_first=True)  # waits
    sizes.tolist()
    out.mean().item()  # waits
""",
    "DistributedDataParallel, compile and checkpoint leave the module as it is": """
import torch
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)
    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=False)
    def inner(self, x):
        return self.fc(x).relu()
net = torch.compile(DDP(Net().cuda(), device_ids=[0]))
for step in range(10):
    out = net(torch.randn(2, 4, device="cuda"))
    net.module.fc.weight.shape
    out.max().item()  # waits
""",
    "replicas that look for unused parameters, and find some": """
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.blocks = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
    def forward(self, x, both):
        x = self.body(x)
        for block in self.blocks:
            x = block(x)
        return self.first(x) + self.second(x) if both else self.first(x)
looking = DDP(Heads().cuda(), find_unused_parameters=True)
trusting = DDP(Heads().cuda())
for step in range(10):
    x = torch.randn(2, 4, device="cuda")
    looking(x, True).mean().backward()
    looking(x, False).mean().backward()  # waits
    trusting(x, False).mean().backward()
    with looking.no_sync():
        looking(x, False).mean().backward()
    loss = looking(x, False).mean()
    loss.backward()  # waits
""",
    "autograd functions and closures of vmap": """
import torch
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
x = torch.randn(3, 4, device="cuda")
for step in range(10):
    y = Square.apply(x)
    z = torch.func.vmap(lambda row: row.sum())(y)
    z.tolist()  # waits
""",
    "einops, spawned ranks and meters": """
import torch
import torch.multiprocessing as mp
from einops import rearrange, reduce
from timm.utils import AverageMeter
meter = AverageMeter()
def worker(rank, size):
    x = torch.randn(2, 3, 4, device=rank)
    for step in range(10):
        y = rearrange(x, "b c n -> b (c n)")
        z = reduce(y, "b n -> ", "mean")
        meter.update(z, 2)
        print(meter.avg)  # waits
        range(y.shape[0])
mp.spawn(worker, args=(10,), nprocs=2)
""",
    "the environment of a torchvision program": """
import torch
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms
transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])
loader = DataLoader(datasets.MNIST(".", transform=transform), batch_size=8)
model = models.resnet18(num_classes=10).cuda()
for images, labels in loader:
    labels.sum().item()
    out = model(images.cuda())  # waits
    out.argmax(1).cpu()  # waits
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, write: Callable[[dict[str, str]], Path], check: Callable[..., Analysis]) -> None:
    text = PROGRAMS[name].lstrip()
    write({"program.py": text})
    analysis = check("program.py")
    lines = text.splitlines()
    expected = {i for i, line in enumerate(lines, 1) if line.endswith("# waits")}
    found = {
        e.site.line
        for e in analysis.events
        if e.kind.blocks and e.certainty is not Certainty.POSSIBLE and e.heat.value == "step"
    }
    assert {lines[i - 1].strip() for i in expected - found} == set(), "not seen"
    assert {lines[i - 1].strip() for i in found - expected} == set(), "does not wait"
    assert not analysis.problems
    assert not analysis.faults

"""Short passages of programs as people write them, each as text: what a line does is plain to see."""

# ruff: noqa: E501
# mypy: disable-error-code="misc, no-untyped-call, no-any-return"
from __future__ import annotations

import collections
import functools
import itertools
import math
import random
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import distributions as D
from torch import nn

from syncwatch.facts.measure.probes import Program
from syncwatch.facts.measure.witness import Action

# x, z: vectors of 64; m, w: matrices 8 × 8; img: a batch of images; y: labels; ids: tokens; keep: a mask of 64; s: a
# number; n: an integer number; all on the device. hx, hm, hy: a vector, a matrix, labels in host memory; px: pinned.
PASSAGES = """
loss = F.mse_loss(model(m), w); history = [loss.detach()]
loss = F.mse_loss(model(m), w); history = [float(loss)]
loss = F.mse_loss(model(m), w); best = min(1.0, loss)
loss = F.mse_loss(model(m), w); best = torch.minimum(loss, s)
running = 0.0; running += model(m).sum().item() / 8
running = torch.zeros((), device=dev); running += model(m).sum().detach()
metrics = {k: v.item() for k, v in {"a": s, "b": s * 2}.items()}
metrics = {k: v.detach() for k, v in {"a": s, "b": s * 2}.items()}
print_line = "step {:d} loss {:.4f}".format(3, s)
print_line = "step %d" % 3
message = f"shape {tuple(m.shape)} on {m.device}"
message = f"mean {m.mean():.2e}"
message = " ".join(str(v) for v in x[:3])
values = [v.item() for v in x[:4].unbind()]
values = x[:4].tolist()
first, *rest = m
total = sum(v for v in x[:5])
total = sum(v.item() for v in x[:5])
top = max(x[:3], key=lambda v: v.item())
top = max(x[:3])
order = sorted(range(4), key=lambda j: x[j].item())
order = x.argsort()
acc = (logits.argmax(-1) == y).float().mean()
acc = (logits.argmax(-1) == y).sum().item() / len(y)
acc = accuracy_score(y.cpu().numpy(), logits.argmax(-1).cpu().numpy())
conf = torch.zeros(10, 10, device=dev); conf.index_put_((y, logits.argmax(1)), torch.ones(8, device=dev), accumulate=True)
conf = torch.zeros(10, 10, device=dev); conf[y, logits.argmax(1)] += 1
for a, b in zip(y, logits.argmax(1)): pass
for a, b in zip(y[:3], y[3:6]): flag = bool(a == b)
hits = [j for j in range(4) if y[j] == 1]
hits = (y == 1).nonzero(as_tuple=True)[0]
hits = torch.where(y == 1, 1, 0)
only = logits[y == 1]
only = logits * (y == 1)[:, None]
logits[torch.arange(8), y] -= 1.0
logits[torch.arange(8, device=dev), y] -= 1.0
logits.scatter_(1, y[:, None], 0.0)
logits[:, 0] = -1e9
logits[0, 0] = -1e9
logits[..., 2:4] = 0
logits[y] = 0.0
logits[[0, 1]] = logits[[1, 0]]
logits[logits < 0] = 0
logits[logits < 0] *= 0.1
logits = torch.where(logits < 0, logits * 0.1, logits)
logits.masked_fill_(logits < 0, 0)
logits = logits - logits.max(dim=-1, keepdim=True).values
prob = torch.softmax(logits, -1)[0, y[0]]
prob = torch.softmax(logits, -1).gather(1, y[:, None]).squeeze(1)
one = F.one_hot(y, 10).float()
one = F.one_hot(y).float()
one = torch.eye(10, device=dev)[y]
one = torch.eye(10)[hy].to(dev)
smooth = F.cross_entropy(logits, y, label_smoothing=0.1)
weights = torch.bincount(y, minlength=10).float()
weights = torch.zeros(10, device=dev).index_add_(0, y, torch.ones(8, device=dev))
weights = 1.0 / torch.tensor([3, 4, 5], device=dev)
weights = 1.0 / torch.arange(3, 6, device=dev)
lengths = (ids != 0).sum(1); longest = lengths.max()
lengths = (ids != 0).sum(1); ids = ids[:, : lengths.max()]
lengths = (ids != 0).sum(1); mask = torch.arange(7, device=dev)[None] < lengths[:, None]
lengths = (ids != 0).sum(1).tolist(); parts = [row[:k] for row, k in zip(ids, lengths)]
mask = torch.tril(torch.ones(7, 7)).to(dev)
mask = torch.ones(7, 7, device=dev).tril()
mask = torch.triu(torch.full((7, 7), float("-inf"), device=dev), diagonal=1)
done = (ids == 2).any(dim=1); stop = bool(done.all())
done = (ids == 2).any(dim=1); ids = torch.cat([ids, ids[:, -1:].masked_fill(done[:, None], 0)], 1)
nxt = torch.multinomial(F.softmax(logits / 0.7, -1), 1)
nxt = int(torch.multinomial(F.softmax(logits[0], -1), 1))
nxt = D.Categorical(logits=logits, validate_args=False).sample()
nxt = D.Categorical(logits=logits).sample()
words = [vocabulary[t] for t in ids[0].tolist()]
words = [vocabulary[t] for t in ids[0]]
word = vocabulary[int(ids[0, 0])]
k = min(5, int(n)); top = logits.topk(k)
top = logits.topk(min(5, logits.size(-1)))
cut = x[: len(x) // 2]
cut = x[: n]
cut = x[n :]
cut = x.narrow(0, 0, 3)
parts = x.split([16, 48])
parts = x.chunk(4)
parts = torch.tensor_split(x, (10, 20))
grid = torch.stack(torch.meshgrid(torch.arange(4, device=dev), torch.arange(4, device=dev), indexing="ij"))
grid = torch.stack(torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij")).to(dev)
grid = torch.linspace(-1, 1, 16, device=dev).expand(16, -1)
freq = torch.exp(torch.arange(4, device=dev) * (-math.log(10000.0) / 4))
freq = torch.exp(torch.arange(4) * (-math.log(10000.0) / 4)).to(dev)
freq = 1.0 / (10000 ** (torch.arange(0, 8, 2).float().to(dev) / 8))
t = torch.randint(0, 100, (4,), device=dev); a = x[t % 64].view(-1, 1, 1, 1)
t = torch.full((4,), 10, device=dev, dtype=torch.long)
t = torch.tensor([10] * 4, device=dev)
t = torch.full((4,), s, device=dev)
a = alphas[10]; noisy = a.sqrt() * img + (1 - a).sqrt() * torch.randn_like(img)
a = host_alphas[10]; noisy = a.sqrt() * img + (1 - a).sqrt() * torch.randn_like(img)
a = host_alphas[10].to(dev); noisy = a * img
a = host_alphas.to(dev)[10]; noisy = a * img
img = (img - torch.tensor([0.5, 0.5, 0.5], device=dev)[:, None, None]) / 0.25
img = (img - mean) / std
img = img.clamp(0, 1).mul(255).round().to(torch.uint8)
img = img.clamp(0, 1).mul(255).round().to(torch.uint8).cpu().numpy()
img = img.clamp(s, 1.0)
img = img.clamp(min=s)
img = img.clamp(lo, hi)
img = F.interpolate(img, size=(8, 8), mode="bilinear", align_corners=False)
img = F.pad(img, (1, 1, 1, 1), mode="reflect")
img = torch.flip(img, dims=[3]) if random.random() < 0.5 else img
img = torch.where(torch.rand(4, 1, 1, 1, device=dev) < 0.5, img.flip(3), img)
img = img[torch.randperm(4)]
img = img[torch.randperm(4, device=dev)]
lam = np.random.beta(1.0, 1.0); mixed = lam * img + (1 - lam) * img.flip(0)
lam = D.Beta(torch.tensor(1.0), torch.tensor(1.0)).sample(); mixed = lam * img
lam = D.Beta(s, s).sample()
lam = torch._sample_dirichlet(torch.ones(2, device=dev))[0] * img
cx = int(np.random.randint(16)); img[:, :, cx : cx + 4, cx : cx + 4] = 0.0
box = torch.tensor([1.0, 2.0, 3.0, 4.0]).to(dev)
box = x[:4].clone(); box[2:] += box[:2]
iou = (x[:8, None] - z[None, :8]).abs(); best, where = iou.max(1)
iou = (x[:8, None] - z[None, :8]).abs(); matched = x[:8][iou.max(1).values > 0.5]
pos = iou_values > 0.5; loss = (iou_values * pos).sum() / pos.sum().clamp(min=1)
pos = iou_values > 0.5; loss = iou_values[pos].sum() / max(1, pos.sum())
pos = iou_values > 0.5; loss = iou_values[pos].mean()
if torch.isnan(x).any(): pass
if torch.isfinite(s): pass
if s.isnan().item(): pass
bad = torch.isnan(x); x = torch.nan_to_num(x)
assert not torch.isnan(x).any(), "NaN"
torch._assert_async(torch.isfinite(x).all())
ok = math.isfinite(s)
ok = s.isfinite() & (s > 0)
opt.zero_grad(set_to_none=True); model(m).sum().backward(); opt.step()
opt.zero_grad(); (model(m) ** 2).mean().backward(); norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0); opt.step()
model(m).sum().backward(); norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0).item()
model(m).sum().backward(); norm = sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5
model(m).sum().backward(); norm = sum(p.grad.norm().item() ** 2 for p in model.parameters()) ** 0.5
model(m).sum().backward(); norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
model(m).sum().backward(); norms = {k: p.grad.norm().item() for k, p in model.named_parameters()}
model(m).sum().backward(); torch._foreach_mul_([p.grad for p in model.parameters()], 0.5)
grads = torch.autograd.grad(model(m).sum(), list(model.parameters())); flat = torch.cat([g.flatten() for g in grads])
loss = model(m).sum() + 1e-4 * sum((p**2).sum() for p in model.parameters())
for p, q in zip(model.parameters(), teacher.parameters()): q.data.mul_(0.99).add_(p.data, alpha=0.01)
for p, q in zip(model.parameters(), teacher.parameters()): q.data.copy_(0.99 * q.data + 0.01 * p.data)
with torch.no_grad(): torch._foreach_lerp_(list(teacher.parameters()), list(model.parameters()), 0.01)
with torch.no_grad(): torch._foreach_lerp_(list(teacher.parameters()), list(model.parameters()), s)
teacher.load_state_dict(model.state_dict())
state = {k: v.clone() for k, v in model.state_dict().items()}
state = {k: v.cpu() for k, v in model.state_dict().items()}
state = copy_module(model)
for group in opt.param_groups: group["lr"] = 0.1 * 0.9
for group in opt.param_groups: group["lr"] = 0.1 * s.item()
size = sum(p.numel() for p in model.parameters())
size = sum(p.abs().sum() for p in model.parameters())
model.train(); out = model(m); model.eval()
with torch.inference_mode(): out = model(m).argmax(1)
with torch.autocast(kind, dtype=torch.bfloat16): out = model(m)
out = torch.func.vmap(lambda row: row @ w)(m)
out = torch.einsum("ij,jk->ik", m, w)
out = (m @ w).relu_().sum(-1)
out = torch.baddbmm(m[None], m[None], w[None])
out = m.T @ m / m.shape[0]
cov = torch.cov(m)
cov = (m - m.mean(0)).T @ (m - m.mean(0)) / 7
corr = torch.corrcoef(m)
inv = torch.linalg.inv(m @ m.T + torch.eye(8, device=dev))
inv = torch.linalg.solve(m @ m.T + torch.eye(8, device=dev), w)
low = torch.linalg.cholesky(m @ m.T + 8 * torch.eye(8, device=dev))
low, info = torch.linalg.cholesky_ex(m @ m.T + 8 * torch.eye(8, device=dev))
logdet = torch.logdet(m @ m.T + 8 * torch.eye(8, device=dev))
values, vectors = torch.linalg.eigh(m @ m.T)
u, sv, vh = torch.linalg.svd(m, full_matrices=False)
q, r = torch.linalg.qr(m)
rank = torch.linalg.matrix_rank(m)
size = torch.linalg.norm(m)
size = torch.linalg.norm(m, 2)
spec = torch.fft.rfft(x).abs()
spec = torch.stft(x, 16, window=torch.hann_window(16, device=dev), return_complex=True)
spec = torch.stft(x, 16, window=torch.hann_window(16).to(dev), return_complex=True)
spec = torch.stft(x, 16, window=torch.signal.windows.hann(16, device=dev), return_complex=True)
wave = torch.istft(torch.fft.rfft(x.view(1, 4, 16)).transpose(1, 2), 16, window=torch.ones(16, device=dev))
hist = torch.histc(x, bins=10)
hist = torch.histc(x, bins=10, min=-3, max=3)
hist = torch.bucketize(x, torch.linspace(-3, 3, 11, device=dev))
q = torch.quantile(x, 0.9)
q = torch.quantile(x, torch.tensor([0.1, 0.9], device=dev))
q = x.kthvalue(10).values
med = x.median()
u = torch.unique(y)
u, inverse = torch.unique(y, return_inverse=True); sums = torch.zeros(len(u), device=dev).index_add_(0, inverse, x[:8])
u = y.sort().values.unique_consecutive()
rep = torch.repeat_interleave(x[:8], y)
rep = torch.repeat_interleave(x[:8], 3)
rep = torch.repeat_interleave(x[:8], y, output_size=28)
deg = torch.zeros(10, device=dev).scatter_add_(0, y, torch.ones(8, device=dev)); inv = deg.pow(-0.5); inv[inv == float("inf")] = 0
deg = torch.zeros(int(y.max()) + 1, device=dev).scatter_add_(0, y, torch.ones(8, device=dev))
agg = torch.zeros(10, 8, device=dev).index_reduce_(0, y, m, "mean")
adj = torch.sparse_coo_tensor(torch.stack([y, y]), x[:8], (10, 10)); out = torch.sparse.mm(adj, torch.ones(10, 2, device=dev))
adj = torch.sparse_coo_tensor(torch.stack([y, y]), x[:8]); out = adj
adj = torch.zeros(10, 10, device=dev); adj[y, y] = x[:8]
adj = torch.zeros(10, 10, device=dev); adj[y, y] = 1.0
edges = (m > 0.5).nonzero().t()
sub = m[keep[:8]][:, keep[:8]]
sub = m.index_select(0, y.clamp(max=7))
dist = torch.cdist(m, w); near = dist.topk(3, largest=False).indices
dist = torch.cdist(m, w); near = (dist < 0.5).sum(1)
cand = (torch.cdist(m, w) < 0.5).any(1); picked = [j for j, c in enumerate(cand) if c]
pair = torch.combinations(y[:4])
tri = torch.triu_indices(8, 8, 1, device=dev); vals = m[tri[0], tri[1]]
tri = torch.triu_indices(8, 8, 1); vals = m[tri[0], tri[1]]
dot = F.normalize(m, dim=1) @ F.normalize(w, dim=1).T; nce = F.cross_entropy(dot / 0.07, torch.arange(8, device=dev))
dot = F.normalize(m, dim=1) @ F.normalize(w, dim=1).T; nce = F.cross_entropy(dot / 0.07, torch.arange(8).to(dev))
dot = m @ w.T; dot.fill_diagonal_(float("-inf"))
dot = m @ w.T; dot = dot.masked_fill(torch.eye(8, dtype=torch.bool, device=dev), -1e9)
dot = m @ w.T; dot = dot[~torch.eye(8, dtype=torch.bool, device=dev)].view(8, 7)
adv = (x - x.mean()) / (x.std() + 1e-8)
ret = torch.zeros_like(x); acc = 0.0; [acc := r + 0.9 * acc for r in x[:4]]
ratio = torch.exp(x - z); clipped = torch.clamp(ratio, 0.8, 1.2); loss = -torch.min(ratio * x, clipped * x).mean()
kl = (x - z).mean(); stop = kl > 0.01
kl = (x - z).mean(); stop = kl.item() > 0.01
eps = max(0.05, 0.9 * 0.99); act = logits.argmax(1) if random.random() > eps else torch.randint(0, 10, (8,), device=dev)
act = logits.argmax(1).cpu().numpy()
obs = torch.as_tensor(np.zeros((4, 8), dtype=np.float32), device=dev); value = obs @ m
obs = torch.from_numpy(np.zeros((4, 8), dtype=np.float32)).to(dev, non_blocking=True)
obs = torch.zeros(4, 8, pin_memory=pinning).to(dev, non_blocking=True)
dist = D.Normal(x, x.exp()); act = dist.rsample(); logp = dist.log_prob(act)
dist = D.Normal(x, x.exp(), validate_args=False); act = dist.rsample(); logp = dist.log_prob(act)
dist = D.Normal(x, x.exp(), validate_args=False); act = dist.sample()
dist = D.Bernoulli(logits=x, validate_args=False); act = dist.sample(); ent = dist.entropy()
dist = D.Independent(D.Normal(x, x.exp(), validate_args=False), 1); act = dist.rsample()
dist = D.Independent(D.Normal(x, x.exp(), validate_args=False), 1); act = dist.sample()
dist = D.MultivariateNormal(torch.zeros(8, device=dev), torch.eye(8, device=dev), validate_args=False)
mix = x + s * torch.randn_like(x)
mix = torch.normal(x, 0.1)
mix = torch.normal(x, z.abs())
prior = torch.distributions.kl_divergence(D.Normal(x, 1 + z.abs(), validate_args=False), D.Normal(torch.zeros_like(x), torch.ones_like(x), validate_args=False)).sum()
h = torch.zeros(1, 4, 8, device=dev); out, h = lstm_like(m.view(1, 8, 8), None)
packed = nn.utils.rnn.pack_padded_sequence(m.view(2, 4, 8), torch.tensor([4, 3]), batch_first=True)
packed = nn.utils.rnn.pack_padded_sequence(m.view(2, 4, 8), [3, 4], batch_first=True, enforce_sorted=False)
padded = nn.utils.rnn.pad_sequence([x[:3], x[:5]], batch_first=True)
batch = {k: v.to(dev) for k, v in {"a": hx, "b": hy}.items()}
batch = {k: v.to(dev, non_blocking=True) for k, v in {"a": x, "b": y}.items()}
batch = [t.to(dev, non_blocking=True) for t in (px, px)]
batch = torch.stack([hx, hx]).to(dev)
batch = torch.stack([x, z]).to(dev)
batch = tuple(t.pin_memory() if pinning else t for t in (hx,))
out = x.to("cpu", non_blocking=True)
out = x.to("cpu")
out = px.copy_(x, non_blocking=True)
out = px.copy_(x)
out = hx.copy_(x, non_blocking=True)
out = hx + 1; out = out.to(dev)
out = x + 1; out = out.double().float()
buffer[0] = x
buffer[3:5] = torch.stack([x, z])
buffer = torch.roll(buffer, -1, 0); buffer[-1] = x
buffer[step % 4].copy_(x)
host_buffer[0] = x
host_buffer[0].copy_(x)
arr = np.asarray(x.detach().cpu()); arr.mean()
arr = x.detach().cpu().numpy().mean()
arr = np.array([v.cpu() for v in x[:2]])
key = tuple(ids[0, :2].tolist())
key = hash(x)
same = torch.equal(x, z)
same = (x == z).all()
same = torch.allclose(x, z)
same = x is z
near = torch.isclose(x, z).all()
found = 3 in y
found = (y == 3).any()
found = torch.isin(y, torch.tensor([1, 2], device=dev))
found = torch.isin(y, y[:2])
if len(y) > 3 and y.dim() == 1: pass
if y.numel(): pass
if y.sum() > 3: pass
if x.requires_grad or x.is_cuda: pass
while s < 0: break
n_pos = int((y > 3).sum()); n_neg = len(y) - n_pos
n_pos = (y > 3).sum(); n_neg = len(y) - n_pos
count = torch.count_nonzero(y)
seeds = torch.initial_seed(); torch.manual_seed(0)
stat = SimpleNamespace(mean=x.mean(), std=x.std())
stat = SimpleNamespace(mean=x.mean().item())
window = collections.deque([s, s], maxlen=2); avg = torch.stack(list(window)).mean()
window = collections.deque([s, s], maxlen=2); avg = np.mean([v.item() for v in window])
chain = functools.reduce(torch.matmul, [m, w, m])
chain = list(itertools.accumulate([s, s, s]))
"""


def passages() -> list[str]:
    return [line for line in PASSAGES.strip().splitlines() if line]


def programs(device: str) -> Iterator[Program]:
    for text in passages():
        yield text, _maker(text, device)


def _maker(text: str, device: str) -> Any:
    code = compile(text, "<passage>", "exec")

    def make() -> Action:
        names = _names(device)
        return lambda: exec(code, names)

    return make


def _names(device: str) -> dict[str, Any]:
    """What the passages find in place."""
    pinning = torch.cuda.is_available()
    x = torch.rand(64, device=device)
    pinned = torch.zeros(64, pin_memory=pinning)
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)).to(device)
    teacher = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)).to(device)
    return {
        "torch": torch,
        "nn": nn,
        "F": F,
        "D": D,
        "np": np,
        "math": math,
        "random": random,
        "collections": collections,
        "functools": functools,
        "itertools": itertools,
        "SimpleNamespace": SimpleNamespace,
        "dev": device,
        "kind": device,
        "pinning": pinning,
        "step": 3,
        "vocabulary": [str(i) for i in range(50)],
        "x": x,
        "z": torch.rand(64, device=device),
        "keep": x > 0.5,
        "s": torch.tensor(0.5, device=device),
        "m": torch.rand(8, 8, device=device),
        "w": torch.rand(8, 8, device=device),
        "n": torch.tensor(3, device=device),
        "y": torch.arange(8, device=device),
        "img": torch.rand(4, 3, 16, 16, device=device),
        "ids": torch.arange(14, device=device).view(2, 7),
        "hx": torch.rand(64),
        "hm": torch.rand(8, 8),
        "hy": torch.arange(8),
        "px": pinned,
        "logits": torch.randn(8, 10, device=device),
        "iou_values": torch.rand(20, device=device),
        "alphas": torch.rand(100, device=device),
        "host_alphas": torch.rand(100),
        "mean": torch.rand(3, 1, 1, device=device),
        "std": torch.rand(3, 1, 1, device=device) + 1,
        "lo": torch.zeros((), device=device),
        "hi": torch.ones((), device=device),
        "buffer": torch.zeros(8, 64, device=device),
        "host_buffer": torch.zeros(8, 64),
        "model": model,
        "teacher": teacher,
        "opt": torch.optim.AdamW(model.parameters()),
        "lstm_like": nn.GRU(8, 8).to(device),
        "accuracy_score": lambda a, b: float((a == b).mean()),
        "copy_module": lambda module: {k: v.detach().clone() for k, v in module.state_dict().items()},
    }

"""Lines of training code as users write them: losses, metrics, guards, optimizers, data."""

# mypy: disable-error-code="misc, no-untyped-call, no-any-return"
from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from syncwatch.facts.measure.probes import Program, probe

Table = dict[str, tuple[Callable[[], Any], Callable[..., Any]]]


def programs(device: str) -> Iterator[Program]:
    for table in (_metrics(device), _guards(device), _steps(device), _batches(device), _masks(device)):
        for name, (setup, act) in table.items():
            yield probe(name, setup, act)


def _metrics(device: str) -> Table:
    def scores() -> tuple[torch.Tensor, torch.Tensor]:
        return torch.randn(32, 10, device=device), torch.randint(0, 10, (32,), device=device)

    def loss() -> torch.Tensor:
        return torch.rand((), device=device)

    def losses() -> list[list[torch.Tensor]]:
        return [[torch.rand((), device=device) for _ in range(4)]]

    def boxes() -> tuple[torch.Tensor, torch.Tensor]:
        corner = torch.rand(20, 2, device=device)
        return torch.cat([corner, corner + 1], 1), torch.rand(20, device=device)

    log: dict[str, list[Any]] = defaultdict(list)
    return {
        "accuracy as float": (scores, lambda x, y: (x.argmax(1) == y).float().mean().item()),
        "accuracy kept on device": (scores, lambda x, y: (x.argmax(1) == y).float().mean()),
        "correct += item": (scores, lambda x, y: 0 + (x.argmax(-1) == y).sum().item()),
        "correct += tensor": (scores, lambda x, y: torch.zeros((), device=device) + (x.argmax(-1) == y).sum()),
        "top-5": (scores, lambda x, y: x.topk(5)[1].eq(y[:, None]).any(1).sum()),
        "top-5 as percent": (scores, lambda x, y: float(x.topk(5)[1].eq(y[:, None]).any(1).sum()) / 32 * 100),
        "log loss.item()": (loss, lambda v: log["loss"].append(v.item())),
        "log loss.detach()": (loss, lambda v: log["loss"].append(v.detach())),
        "log loss.cpu().detach().numpy()": (loss, lambda v: v.cpu().detach().numpy()),
        "round(loss.item(), 4)": (loss, lambda v: round(v.item(), 4)),
        "'%.4f' % loss": (loss, lambda v: "%.4f" % v),  # noqa: UP031
        "format(loss, '.3e')": (loss, lambda v: format(v, ".3e")),
        "str of a dict of losses": (loss, lambda v: str({"loss": v})),
        "f-string of a list": (losses, lambda vs: f"{vs[0]}"),
        "sum(losses)": (losses, lambda vs: sum(vs[0])),
        "sum(l.item() for l in losses)": (losses, lambda vs: sum(v.item() for v in vs[0])),
        "torch.stack(losses).mean()": (losses, lambda vs: torch.stack(vs[0]).mean()),
        "torch.stack(losses).tolist()": (losses, lambda vs: torch.stack(vs[0]).tolist()),
        "torch.tensor(losses)": (losses, lambda vs: torch.tensor(vs[0])),
        "torch.tensor(losses, device).mean()": (losses, lambda vs: torch.tensor(vs[0], device=device).mean()),
        "min(losses)": (losses, lambda vs: min(vs[0])),
        "np.mean of items": (losses, lambda vs: np.mean([v.item() for v in vs[0]])),
        "best = max(best, loss)": (loss, lambda v: max(0.0, v)),
        "loss < best": (loss, lambda v: "better" if v < 0.5 else "worse"),
        "perplexity by math.exp": (loss, lambda v: math.exp(v)),
        "perplexity by torch.exp": (loss, lambda v: torch.exp(v)),
        "ema of loss": (loss, lambda v: 0.9 * torch.ones((), device=device) + 0.1 * v),
        "confusion by bincount": (scores, lambda x, y: torch.bincount(y * 10 + x.argmax(1), minlength=100)),
        "confusion by index_put": (
            scores,
            lambda x, y: torch.zeros(10, 10, device=device).index_put_(
                (y, x.argmax(1)), torch.ones(32, device=device), accumulate=True
            ),
        ),
        "per class by one_hot": (scores, lambda x, y: F.one_hot(y, 10).sum(0)),
        "per class by one_hot without classes": (scores, lambda x, y: F.one_hot(y).sum(0)),
        "classes present": (scores, lambda x, y: y.unique()),
        "entropy": (scores, lambda x, y: -(x.softmax(1) * x.log_softmax(1)).sum(1).mean()),
        "auc by sorting": (scores, lambda x, y: x[:, 1].sort(descending=True)[1].float().cumsum(0)),
        "iou filter": (boxes, lambda b, s: b[s > 0.5]),
        "iou by topk": (boxes, lambda b, s: b[s.topk(5)[1]]),
        "area": (boxes, lambda b, s: (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])),
        "keep = nonzero().squeeze()": (boxes, lambda b, s: (s > 0.5).nonzero().squeeze(1)),
        "scores.max().item() > t": (boxes, lambda b, s: s.max().item() > 0.3),
        "histogram to host": (boxes, lambda b, s: torch.histc(s, 10, 0, 1).cpu()),
        "quantiles": (boxes, lambda b, s: torch.quantile(s, torch.tensor([0.1, 0.9], device=device))),
        "quantiles from a list": (boxes, lambda b, s: torch.quantile(s, torch.tensor([0.1, 0.9]).to(device))),
        "correlation": (scores, lambda x, y: torch.corrcoef(x)),
        "cosine": (scores, lambda x, y: F.cosine_similarity(x[:1], x[1:])),
    }


def _guards(device: str) -> Table:
    def grads() -> torch.Tensor:
        return torch.randn(100, device=device)

    def loss() -> torch.Tensor:
        return torch.rand((), device=device)

    return {
        "if torch.isnan(loss)": (loss, lambda v: 1 if torch.isnan(v) else 0),
        "if not torch.isfinite(loss).all()": (loss, lambda v: 1 if not torch.isfinite(v).all() else 0),
        "math.isfinite(loss)": (loss, lambda v: math.isfinite(v)),
        "math.isnan(loss.item())": (loss, lambda v: math.isnan(v.item())),
        "loss.isnan() or loss.isinf()": (loss, lambda v: bool(v.isnan()) or bool(v.isinf())),
        "assert not x.isnan().any()": (grads, lambda g: not g.isnan().any()),
        "torch._assert_async": (grads, lambda g: torch._assert_async(torch.isfinite(g).all())),
        "nan_to_num_": (grads, lambda g: g.nan_to_num_(0.0)),
        "where isfinite": (grads, lambda g: torch.where(torch.isfinite(g), g, 0.0)),
        "g[g.isnan()] = 0": (grads, lambda g: g.__setitem__(g.isnan(), 0)),
        "g[~g.isfinite()] = number tensor": (
            lambda: (grads(), torch.zeros((), device=device)),
            lambda g, z: g.__setitem__(~g.isfinite(), z),
        ),
        "if g.norm() > 1": (grads, lambda g: g.div_(g.norm()) if g.norm() > 1 else g),
        "g * clamp(1 / norm)": (grads, lambda g: g * (1.0 / g.norm()).clamp(max=1.0)),
        "any of a host list": (grads, lambda g: any([g.shape[0] > 1, g.dim() == 2])),
        "x.numel() == 0": (grads, lambda g: g.numel() == 0),
        "len(x) == 0": (grads, lambda g: len(g) == 0),
        "x is None": (grads, lambda g: g is None or g.requires_grad),
        "x == y in if": (lambda: (loss(), loss()), lambda a, b: 1 if a == b else 0),
        "torch.equal of shapes": (lambda: (grads(), grads()[:4]), lambda a, b: a.shape == b.shape),
        "x.is_cuda and x.dtype": (grads, lambda g: g.is_cuda and g.dtype == torch.float32),
        "while error > eps, once": (loss, lambda e: [e := e * 0 for _ in range(1) if e > -1]),
        "mask.all()": (grads, lambda g: 1 if (g > -1e9).all() else 0),
        "mask.sum() == 0": (grads, lambda g: (g > 5).sum() == 0),
        "if mask.sum() == 0": (grads, lambda g: 1 if (g > 5).sum() == 0 else 0),
        "x.min() < 0 or x.max() > 1": (grads, lambda g: bool(g.min() < 0 or g.max() > 1)),
        "int(mask.sum())": (grads, lambda g: int((g > 0).sum())),
        "max length": (lambda: torch.tensor([3, 5], device=device), lambda n: torch.arange(n.max(), device=device)),
        "max length, host": (lambda: torch.tensor([3, 5]), lambda n: torch.arange(int(n.max()), device=device)),
        "assert_close": (grads, lambda g: torch.testing.assert_close(g, g + 0)),
        "allclose in if": (grads, lambda g: 1 if torch.allclose(g, g) else 0),
    }


def _steps(device: str) -> Table:
    def model() -> nn.Module:
        return nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 4)).to(device)

    def ready() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
        return model(), torch.randn(16, 8, device=device), torch.randint(0, 4, (16,), device=device)

    def with_grads() -> nn.Module:
        made, x, y = ready()
        F.cross_entropy(made(x), y).backward()
        return made

    def optimizing(kind: Any, **options: Any) -> Callable[[], Any]:
        def make() -> Any:
            made = with_grads()
            optimizer = kind(made.parameters(), lr=1e-3, **options)
            optimizer.step()
            return optimizer

        return make

    def train(made: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        loss = F.cross_entropy(made(x), y)
        loss.backward()
        return loss

    def autocast(made: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return F.cross_entropy(made(x), y)

    def evaluate(made: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        made.eval()
        with torch.no_grad():
            return made(x).argmax(1)

    def ema(made: nn.Module, average: nn.Module) -> None:
        with torch.no_grad():
            for a, p in zip(average.parameters(), made.parameters(), strict=True):
                a.mul_(0.99).add_(p, alpha=0.01)

    return {
        "forward and backward": (ready, train),
        "forward under autocast": (ready, autocast),
        "evaluate": (ready, evaluate),
        "label smoothing": (ready, lambda m, x, y: F.cross_entropy(m(x), y, label_smoothing=0.1)),
        "class weights from a list": (
            ready,
            lambda m, x, y: F.cross_entropy(m(x), y, weight=torch.tensor([1.0, 2, 3, 4], device=device)),
        ),
        "loss masked by multiplication": (
            ready,
            lambda m, x, y: (F.cross_entropy(m(x), y, reduction="none") * (y > 0)).mean(),
        ),
        "loss of picked rows": (ready, lambda m, x, y: F.cross_entropy(m(x)[y > 0], y[y > 0])),
        "SGD with momentum": (optimizing(torch.optim.SGD, momentum=0.9), lambda o: o.step()),
        "AdamW fused": (optimizing(torch.optim.AdamW, fused=True), lambda o: o.step()),
        "Adam amsgrad": (optimizing(torch.optim.Adam, amsgrad=True), lambda o: o.step()),
        "ASGD": (optimizing(torch.optim.ASGD), lambda o: o.step()),
        "Adafactor": (optimizing(torch.optim.Adafactor), lambda o: o.step()),
        "RMSprop": (optimizing(torch.optim.RMSprop), lambda o: o.step()),
        "zero_grad": (optimizing(torch.optim.SGD), lambda o: o.zero_grad(set_to_none=True)),
        "zero_grad, kept": (optimizing(torch.optim.SGD), lambda o: o.zero_grad(set_to_none=False)),
        "optimizer.state_dict": (optimizing(torch.optim.Adam), lambda o: o.state_dict()),
        "clip and log": (with_grads, lambda m: nn.utils.clip_grad_norm_(m.parameters(), 1.0).item()),
        "clip": (with_grads, lambda m: nn.utils.clip_grad_norm_(m.parameters(), 1.0)),
        "clip, error on nonfinite": (
            with_grads,
            lambda m: nn.utils.clip_grad_norm_(m.parameters(), 1.0, error_if_nonfinite=True),
        ),
        "norm by hand": (with_grads, lambda m: sum(p.grad.norm() ** 2 for p in m.parameters()) ** 0.5),
        "norm by hand, items": (with_grads, lambda m: sum(p.grad.norm().item() ** 2 for p in m.parameters()) ** 0.5),
        "ema of weights": (lambda: (model(), model()), ema),
        "number of parameters": (model, lambda m: sum(p.numel() for p in m.parameters())),
        "requires_grad off": (model, lambda m: m.requires_grad_(False)),
        "weight[0, 0].item()": (model, lambda m: m[0].weight[0, 0].item()),
        "checkpoint to host": (model, lambda m: {k: v.cpu() for k, v in m.state_dict().items()}),
        "checkpoint cloned": (model, lambda m: {k: v.clone() for k, v in m.state_dict().items()}),
        "load_state_dict on device": (lambda: (model(), model().state_dict()), lambda m, s: m.load_state_dict(s)),
        "model.half()": (model, lambda m: m.half()),
        "model.cuda() again": (model, lambda m: m.cuda()),
        "model to device": (lambda: nn.Linear(4, 4), lambda m: m.to(torch.device(device))),
        "model to device, bfloat16": (lambda: nn.Linear(4, 4), lambda m: m.to(device, torch.bfloat16)),
        "buffer counter += 1": (model, lambda m: m[1].num_batches_tracked.add_(1)),
        "buffer counter as int": (model, lambda m: int(m[1].num_batches_tracked)),
        "scheduler": (
            lambda: torch.optim.lr_scheduler.StepLR(optimizing(torch.optim.SGD)(), 1),
            lambda s: s.step(),
        ),
        "plateau on a float": (
            lambda: torch.optim.lr_scheduler.ReduceLROnPlateau(optimizing(torch.optim.SGD)()),
            lambda s: s.step(0.5),
        ),
        "plateau on a tensor": (
            lambda: (
                torch.optim.lr_scheduler.ReduceLROnPlateau(optimizing(torch.optim.SGD)()),
                torch.rand((), device=device),
            ),
            lambda s, v: s.step(v),
        ),
        "lr from group": (optimizing(torch.optim.SGD), lambda o: o.param_groups[0]["lr"]),
        "anomaly mode": (ready, _anomaly),
    }


def _anomaly(made: nn.Module, x: torch.Tensor, y: torch.Tensor) -> None:
    with torch.autograd.set_detect_anomaly(True):
        F.cross_entropy(made(x), y).backward()


def _batches(device: str) -> Table:
    def batch() -> dict[str, torch.Tensor]:
        return {"x": torch.randn(16, 8), "y": torch.zeros(16, dtype=torch.long)}

    def pinned() -> dict[str, torch.Tensor]:
        return {k: v.pin_memory() for k, v in batch().items()}

    def image() -> np.ndarray[Any, Any]:
        return np.zeros((8, 8, 3), dtype=np.uint8)

    return {
        "batch to device": (lambda: [batch()], lambda b: {k: v.to(device) for k, v in b[0].items()}),
        "pinned batch to device": (
            lambda: [pinned()],
            lambda b: {k: v.to(device, non_blocking=True) for k, v in b[0].items()},
        ),
        "pinned batch, blocking": (lambda: [pinned()], lambda b: {k: v.to(device) for k, v in b[0].items()}),
        "small pageable batch, non_blocking": (
            lambda: [batch()],
            lambda b: {k: v.cuda(non_blocking=True) for k, v in b[0].items()},
        ),
        "large pageable batch, non_blocking": (
            lambda: torch.zeros(5_000_000),
            lambda x: x.to(device, non_blocking=True),
        ),
        "from_numpy to device": (image, lambda a: torch.from_numpy(a).to(device)),
        "from_numpy pinned to device": (
            image,
            lambda a: torch.from_numpy(a).pin_memory().to(device, non_blocking=True),
        ),
        "image scaled on device": (image, lambda a: torch.from_numpy(a).to(device).float().div_(255).permute(2, 0, 1)),
        "as_tensor float": (image, lambda a: torch.as_tensor(a, dtype=torch.float32, device=device)),
        "pinned, scaled on host first": (
            lambda: torch.ones(8).pin_memory(),
            lambda x: (x * 2).to(device, non_blocking=True),
        ),
        "mean and std made each step": (
            lambda: torch.rand(2, 3, 4, 4, device=device),
            lambda x: (x - torch.tensor([0.5, 0.4, 0.3], device=device).view(1, 3, 1, 1)) / 0.2,
        ),
        "mean and std kept": (
            lambda: (torch.rand(2, 3, 4, 4, device=device), torch.rand(3, device=device)),
            lambda x, m: (x - m.view(1, 3, 1, 1)) / 0.2,
        ),
        "mixup": (
            lambda: torch.rand(4, 8, device=device),
            lambda x: 0.3 * x + 0.7 * x[torch.randperm(4, device=device)],
        ),
        "mixup with host permutation": (
            lambda: torch.rand(4, 8, device=device),
            lambda x: 0.3 * x + 0.7 * x[torch.randperm(4)],
        ),
        "random flip": (lambda: torch.rand(4, 8, device=device), lambda x: x.flip(-1) if np.random.rand() < 2 else x),
        "random flip by device number": (
            lambda: torch.rand(4, 8, device=device),
            lambda x: x.flip(-1) if torch.rand((), device=device) < 2 else x,
        ),
        "collate": (lambda: [[torch.rand(3), torch.rand(3)]], lambda xs: torch.stack(xs[0]).to(device)),
        "pad_sequence": (
            lambda: [[torch.rand(3, device=device), torch.rand(5, device=device)]],
            lambda xs: nn.utils.rnn.pad_sequence(xs[0], batch_first=True),
        ),
        "noise": (lambda: torch.rand(4, 8, device=device), lambda x: x + 0.1 * torch.randn_like(x)),
        "noise from host": (lambda: torch.rand(4, 8, device=device), lambda x: x + 0.1 * torch.randn(4, 8).to(device)),
        "targets one by one": (
            lambda: torch.zeros(4, device=device),
            lambda t: [t.__setitem__(i, float(i)) for i in range(3)],
        ),
        "rows one by one": (
            lambda: torch.zeros(4, 5, device=device),
            lambda t: [t.__setitem__(i, float(i)) for i in range(3)],
        ),
        "device list to tensor": (
            lambda: [[torch.rand((), device=device), 2.0]],
            lambda xs: torch.tensor(xs[0], device=device),
        ),
        "labels by list comprehension": (
            lambda: torch.arange(4, device=device),
            lambda y: [["a", "b", "c", "d"][i] for i in y],
        ),
        "labels by tolist": (
            lambda: torch.arange(4, device=device),
            lambda y: [["a", "b", "c", "d"][i] for i in y.tolist()],
        ),
    }


def _masks(device: str) -> Table:
    def x() -> torch.Tensor:
        return torch.randn(2, 6, 6, device=device)

    def lengths() -> torch.Tensor:
        return torch.tensor([3, 6], device=device)

    return {
        "causal mask on device": (x, lambda a: a.masked_fill(torch.ones(6, 6, device=device).triu(1).bool(), -1e9)),
        "causal mask from host": (x, lambda a: a.masked_fill(torch.ones(6, 6).triu(1).bool().to(device), -1e9)),
        "causal mask by tril": (x, lambda a: a.tril()),
        "additive mask": (x, lambda a: a + torch.full((6, 6), float("-inf"), device=device).triu(1)),
        "mask minimum of type": (x, lambda a: a.masked_fill(a > 0, torch.finfo(a.dtype).min)),
        "mask by tensor of -inf": (x, lambda a: a.masked_fill(a > 0, torch.tensor(-1e9, device=device))),
        "mask by where and host tensor": (x, lambda a: torch.where(a > 0, a, torch.tensor(-1e9))),
        "mask by where and filled": (x, lambda a: torch.where(a > 0, a, torch.full_like(a, -1e9))),
        "mask by in-place index": (x, lambda a: a.__setitem__(a > 0, -1e9)),
        "mask by in-place index and clone": (x, lambda a: a.__setitem__(a > 0, a[a > 0] * 2)),
        "length mask": (lengths, lambda n: torch.arange(6, device=device)[None] < n[:, None]),
        "length mask up to max": (lengths, lambda n: torch.arange(n.max().item(), device=device)[None] < n[:, None]),
        "length mask from host range": (lengths, lambda n: torch.arange(6).to(device)[None] < n[:, None]),
        "last step by gather": (
            lambda: (x(), lengths()),
            lambda a, n: a.gather(1, (n - 1)[:, None, None].expand(2, 1, 6)),
        ),
        "last step by index": (lambda: (x(), lengths()), lambda a, n: a[torch.arange(2, device=device), n - 1]),
        "last step by host range": (lambda: (x(), lengths()), lambda a, n: a[torch.arange(2), n - 1]),
        "last step by list": (lambda: (x(), lengths()), lambda a, n: a[[0, 1], n - 1]),
        "slice by device length": (lambda: (x(), lengths()), lambda a, n: a[0, : n[0]]),
        "slice by host length": (x, lambda a: a[0, :3]),
        "diagonal": (x, lambda a: torch.diagonal(a, dim1=1, dim2=2).sum(-1)),
        "upper triangle": (x, lambda a: a[:, torch.triu(torch.ones(6, 6, device=device)).bool()]),
        "upper triangle by indices": (
            x,
            lambda a: (lambda i: a[:, i[0], i[1]])(torch.triu_indices(6, 6, device=device)),
        ),
        "attention with boolean mask": (
            lambda: torch.randn(1, 2, 6, 8, device=device),
            lambda q: F.scaled_dot_product_attention(
                q, q, q, attn_mask=torch.ones(6, 6, dtype=torch.bool, device=device)
            ),
        ),
        "attention, causal": (
            lambda: torch.randn(1, 2, 6, 8, device=device),
            lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True),
        ),
    }

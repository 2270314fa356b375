"""Lines of inference, generation, detection, graph and reinforcement-learning code as users write them."""

# mypy: disable-error-code="misc, no-untyped-call, no-any-return"
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import distributions as D

from syncwatch.facts.measure.probes import Program, probe

Table = dict[str, tuple[Callable[[], Any], Callable[..., Any]]]


def programs(device: str) -> Iterator[Program]:
    for table in (_generation(device), _detection(device), _graphs(device), _control(device), _devices(device)):
        for name, (setup, act) in table.items():
            yield probe(name, setup, act)


def _generation(device: str) -> Table:
    def logits() -> torch.Tensor:
        return torch.randn(2, 50, device=device)

    def tokens() -> torch.Tensor:
        return torch.randint(0, 50, (2, 7), device=device)

    def both() -> tuple[torch.Tensor, torch.Tensor]:
        return logits(), tokens()

    def nucleus(x: torch.Tensor) -> torch.Tensor:
        sorted_logits, order = x.sort(descending=True)
        drop = sorted_logits.softmax(-1).cumsum(-1) > 0.9
        return x.masked_fill(drop.scatter(1, order, drop), float("-inf"))

    return {
        "greedy token": (logits, lambda x: x.argmax(-1, keepdim=True)),
        "greedy token as int": (logits, lambda x: x[0].argmax().item()),
        "append token": (both, lambda x, t: torch.cat([t, x.argmax(-1, keepdim=True)], 1)),
        "sample token": (logits, lambda x: torch.multinomial(x.softmax(-1), 1)),
        "sample token as list": (logits, lambda x: torch.multinomial(x.softmax(-1), 1).tolist()),
        "sample by Categorical": (logits, lambda x: D.Categorical(logits=x).sample()),
        "sample by Categorical, unchecked": (logits, lambda x: D.Categorical(logits=x, validate_args=False).sample()),
        "gumbel max": (logits, lambda x: (x - torch.rand_like(x).log().neg().log()).argmax(-1)),
        "top-k filter": (logits, lambda x: x.masked_fill(x < x.topk(5)[0][:, -1:], float("-inf"))),
        "top-k filter by index": (logits, lambda x: x.__setitem__(x < x.topk(5)[0][:, -1:], float("-inf"))),
        "nucleus filter": (logits, nucleus),
        "repetition penalty": (both, lambda x, t: x.scatter(1, t, x.gather(1, t) / 1.2)),
        "ban one token": (logits, lambda x: x.__setitem__((slice(None), 3), float("-inf"))),
        "ban one token of one row": (logits, lambda x: x.__setitem__((0, 3), float("-inf"))),
        "ban a list of tokens": (logits, lambda x: x.__setitem__((slice(None), [3, 4]), float("-inf"))),
        "all finished": (tokens, lambda t: bool((t[:, -1] == 2).all())),
        "finished, kept": (tokens, lambda t: (t == 2).any(1)),
        "any token in a list": (tokens, lambda t: t[0, -1] in [1, 2, 3]),
        "isin few stop tokens": (tokens, lambda t: torch.isin(t[:, -1], torch.tensor([1, 2], device=device))),
        "stop token by comparison": (tokens, lambda t: (t[:, -1:] == torch.arange(3, device=device)).any(1)),
        "decode": (tokens, lambda t: t[0].cpu().numpy().tolist()),
        "token ids to host": (tokens, lambda t: [int(i) for i in t[0]]),
        "first end of text": (tokens, lambda t: (t == 2).int().argmax(1)),
        "first end by nonzero": (tokens, lambda t: (t == 2).nonzero()[:1]),
        "position ids": (tokens, lambda t: torch.arange(t.shape[1], device=t.device)[None].expand_as(t)),
        "position ids from mask": (tokens, lambda t: (t != 0).long().cumsum(-1) - 1),
        "cache slice by shape": (both, lambda x, t: x[:, : t.shape[1]]),
        "cache write at host position": (
            logits,
            lambda x: x.__setitem__((slice(None), 5), torch.zeros(2, device=device)),
        ),
        "cache write at device position": (
            lambda: (logits(), torch.tensor([5], device=device)),
            lambda x, i: x.index_copy_(1, i, torch.zeros(2, 1, device=device)),
        ),
        "cache write at device number": (
            lambda: (logits(), torch.tensor(5, device=device)),
            lambda x, i: x.__setitem__((slice(None), i), torch.zeros(2, device=device)),
        ),
        "new tokens from list": (tokens, lambda t: torch.tensor([[1], [2]], device=t.device)),
        "new token from full": (tokens, lambda t: torch.full((2, 1), 1, device=t.device)),
        "new_tensor": (tokens, lambda t: t.new_tensor([1, 2])),
        "new_full": (tokens, lambda t: t.new_full((2, 1), 1)),
        "beam indices": (both, lambda x, t: t[x.topk(2)[1][:, 0] % 2]),
        "beam indices from list": (tokens, lambda t: t[torch.tensor([1, 0], device=device)]),
        "sequence lengths to host": (tokens, lambda t: (t != 0).sum(1).tolist()),
        "cumulative lengths": (tokens, lambda t: F.pad((t != 0).sum(1).cumsum(0), (1, 0))),
        "flatten padded": (both, lambda x, t: t[t != 0]),
        "embedding lookup": (tokens, lambda t: F.embedding(t, torch.randn(50, 4, device=device))),
        "temperature tensor": (lambda: (logits(), torch.tensor(0.7, device=device)), lambda x, s: x / s),
        "temperature tensor on host": (lambda: (logits(), torch.tensor(0.7)), lambda x, s: x / s),
    }


def _detection(device: str) -> Table:
    def scores() -> torch.Tensor:
        return torch.rand(50, device=device)

    def boxes() -> torch.Tensor:
        return torch.rand(50, 4, device=device)

    def both() -> tuple[torch.Tensor, torch.Tensor]:
        return boxes(), scores()

    return {
        "threshold": (both, lambda b, s: (b[s > 0.5], s[s > 0.5])),
        "threshold by where": (both, lambda b, s: torch.where(s > 0.5)[0]),
        "threshold by sorting": (both, lambda b, s: b[s.argsort(descending=True)[:10]]),
        "count kept": (scores, lambda s: (s > 0.5).sum()),
        "print count": (scores, lambda s: f"{(s > 0.5).sum()} kept"),
        "boxes to host": (boxes, lambda b: b.cpu().numpy().astype(int)),
        "boxes by row": (boxes, lambda b: [row.tolist() for row in b[:3]]),
        "box unpacked": (boxes, lambda b: tuple(b[0])),
        "box as ints": (boxes, lambda b: [int(v) for v in b[0]]),
        "clamp to image": (boxes, lambda b: b.clamp(0, 640)),
        "clamp to device size": (lambda: (boxes(), torch.tensor(640.0, device=device)), lambda b, w: b.clamp(max=w)),
        "clamp between number and device size": (
            lambda: (boxes(), torch.tensor(640.0, device=device)),
            lambda b, w: b.clamp(0, w),
        ),
        "assign by max": (boxes, lambda b: (b @ b.T).max(1)),
        "assign labels in place": (both, lambda b, s: s.__setitem__(s < 0.3, 0)),
        "assign labels from device": (both, lambda b, s: s.__setitem__(s < 0.3, b[:, 0].max())),
        "force match": (both, lambda b, s: s.__setitem__(torch.arange(5, device=device), 1.0)),
        "force match by fill": (both, lambda b, s: s.index_fill_(0, torch.arange(5, device=device), 1.0)),
        "gather classes": (both, lambda b, s: b.gather(1, (s > 0.5).long()[:, None])),
        "unique images": (scores, lambda s: (s * 5).long().unique(return_counts=True)),
        "split by counts": (both, lambda b, s: b.split([20, 30])),
        "split by device counts": (
            lambda: (boxes(), torch.tensor([20, 30], device=device)),
            lambda b, n: b.split(n.tolist()),
        ),
        "repeat by counts": (
            lambda: (boxes()[:2], torch.tensor([2, 3], device=device)),
            lambda b, n: b.repeat_interleave(n, 0),
        ),
        "repeat by counts, size known": (
            lambda: (boxes()[:2], torch.tensor([2, 3], device=device)),
            lambda b, n: b.repeat_interleave(n, 0, output_size=5),
        ),
        "masks resized": (lambda: torch.rand(1, 2, 8, 8, device=device), lambda m: F.interpolate(m, size=(16, 16))),
        "masks to device index": (lambda: torch.rand(3, 8, device=device), lambda m: m[m.sum(1).argmax()]),
        "scalar from matrix": (boxes, lambda b: b[0, 0]),
        "scalar from matrix as float": (boxes, lambda b: float(b[0, 0])),
        "image size tensor": (boxes, lambda b: b / torch.tensor([64.0, 64, 64, 64]).to(b.device)),
        "image size tensor, pinned": (
            boxes,
            lambda b: b / torch.tensor([64.0, 64, 64, 64]).pin_memory().to(b.device, non_blocking=True),
        ),
        "image size as_tensor": (boxes, lambda b: b / torch.as_tensor([64.0, 64, 64, 64], device=b.device)),
        "image size stacked": (boxes, lambda b: b * torch.full((4,), 64.0, device=b.device)),
        "grid": (
            boxes,
            lambda b: torch.meshgrid(torch.arange(4, device=device), torch.arange(4, device=device), indexing="ij"),
        ),
    }


def _graphs(device: str) -> Table:
    def edges() -> torch.Tensor:
        return torch.randint(0, 9, (2, 30), device=device)

    def nodes() -> tuple[torch.Tensor, torch.Tensor]:
        return torch.randn(9, 4, device=device), edges()

    return {
        "aggregate": (nodes, lambda x, e: torch.zeros_like(x).index_add_(0, e[1], x[e[0]])),
        "aggregate by scatter": (
            nodes,
            lambda x, e: torch.zeros(9, 4, device=device).scatter_add_(0, e[1][:, None].expand(-1, 4), x[e[0]]),
        ),
        "number of nodes": (edges, lambda e: int(e.max()) + 1),
        "degrees": (edges, lambda e: torch.bincount(e[1], minlength=9)),
        "degrees by scatter": (
            edges,
            lambda e: torch.zeros(9, device=device).scatter_add_(0, e[1], torch.ones(30, device=device)),
        ),
        "self loops removed": (edges, lambda e: e[:, e[0] != e[1]]),
        "self loops weighted": (edges, lambda e: (e[0] != e[1]).float()),
        "normalised degrees": (edges, lambda e: _inverse_root(torch.rand(9, device=device))),
        "normalised degrees by index": (edges, lambda e: _inverse_root_by_index(torch.rand(9, device=device))),
        "unique edges": (edges, lambda e: torch.unique(e, dim=1)),
        "sparse adjacency": (
            edges,
            lambda e: torch.sparse_coo_tensor(e, torch.ones(30, device=device), (9, 9)).coalesce(),
        ),
        "sparse adjacency, no size": (edges, lambda e: torch.sparse_coo_tensor(e, torch.ones(30, device=device))),
        "sparse product": (
            lambda: (torch.eye(9, device=device).to_sparse(), torch.randn(9, 4, device=device)),
            lambda a, x: torch.sparse.mm(a, x),
        ),
        "dense adjacency": (
            edges,
            lambda e: torch.zeros(9, 9, device=device).index_put_((e[0], e[1]), torch.ones(30, device=device)),
        ),
        "dense adjacency by number": (edges, lambda e: torch.zeros(9, 9, device=device).__setitem__((e[0], e[1]), 1.0)),
        "eigenvectors": (lambda: torch.eye(9, device=device), lambda a: torch.linalg.eigh(a)),
        "power iteration": (
            lambda: torch.eye(9, device=device),
            lambda a: F.normalize(a @ torch.ones(9, device=device), dim=0),
        ),
        "inverse": (lambda: torch.eye(9, device=device), lambda a: torch.linalg.inv(a)),
        "inverse, unchecked": (lambda: torch.eye(9, device=device), lambda a: torch.linalg.inv_ex(a)[0]),
        "solve": (lambda: torch.eye(9, device=device), lambda a: torch.linalg.solve(a, a)),
        "cholesky": (lambda: torch.eye(9, device=device), lambda a: torch.linalg.cholesky(a)),
        "log determinant": (lambda: torch.eye(9, device=device), lambda a: torch.logdet(a)),
    }


def _inverse_root(degrees: torch.Tensor) -> torch.Tensor:
    root = degrees.pow(-0.5)
    return root.masked_fill_(root == float("inf"), 0)


def _inverse_root_by_index(degrees: torch.Tensor) -> torch.Tensor:
    root = degrees.pow(-0.5)
    root[torch.isinf(root)] = 0
    return root


def _control(device: str) -> Table:
    def mean() -> tuple[torch.Tensor, torch.Tensor]:
        return torch.randn(4, 2, device=device), torch.rand(4, 2, device=device) + 0.1

    def normal() -> tuple[D.Normal, torch.Tensor]:
        return D.Normal(*mean()), torch.zeros(4, 2, device=device)

    return {
        "policy": (mean, lambda m, s: D.Normal(m, s)),
        "policy with number": (lambda: mean()[0], lambda m: D.Normal(m, 1.0)),
        "policy, unchecked": (mean, lambda m, s: D.Normal(m, s, validate_args=False)),
        "action": (lambda: normal()[0], lambda d: d.sample()),
        "action by rsample": (lambda: normal()[0], lambda d: d.rsample()),
        "log_prob": (normal, lambda d, a: d.log_prob(a).sum(-1)),
        "entropy": (lambda: normal()[0], lambda d: d.entropy().mean()),
        "ratio": (mean, lambda a, b: (a - b).exp().clamp(0.8, 1.2)),
        "kl to early stop": (mean, lambda a, b: 1 if (a - b).mean() > 1e9 else 0),
        "kl of normals": (lambda: (normal()[0], normal()[0]), lambda p, q: D.kl_divergence(p, q).mean()),
        "bernoulli action": (lambda: torch.rand(4, device=device), lambda p: D.Bernoulli(p).sample()),
        "bernoulli action by torch": (lambda: torch.rand(4, device=device), lambda p: torch.bernoulli(p)),
        "action to environment": (lambda: torch.randn(4, 2, device=device), lambda a: a.cpu().numpy()),
        "observation to device": (lambda: np.zeros(8, dtype=np.float32), lambda o: torch.from_numpy(o).to(device)),
        "observation as tensor": (lambda: np.zeros(8, dtype=np.float32), lambda o: torch.tensor(o, device=device)),
        "done mask": (lambda: torch.rand(4, device=device), lambda d: d * (d < 0.5)),
        "reset ids": (lambda: torch.rand(4, device=device) < 0.5, lambda d: d.nonzero(as_tuple=False).flatten()),
        "if any reset": (lambda: torch.rand(4, device=device) < 0.5, lambda d: 1 if d.any() else 0),
        "epsilon greedy": (
            lambda: torch.randn(4, 3, device=device),
            lambda q: torch.where(
                torch.rand(4, device=device) < 0.1, torch.randint(0, 3, (4,), device=device), q.argmax(1)
            ),
        ),
        "advantage normalised": (lambda: torch.randn(9, device=device), lambda a: (a - a.mean()) / (a.std() + 1e-8)),
        "dirichlet noise": (lambda: torch.ones(4, device=device), lambda a: D.Dirichlet(a).sample()),
        "replay write": (
            lambda: (torch.zeros(9, 2, device=device), torch.ones(2, device=device)),
            lambda buffer, row: buffer.__setitem__(3, row),
        ),
        "replay write from host": (
            lambda: (torch.zeros(9, 2, device=device), torch.ones(2)),
            lambda buffer, row: buffer.__setitem__(3, row),
        ),
        "replay sample": (
            lambda: torch.zeros(9, 2, device=device),
            lambda buffer: buffer[torch.randint(0, 9, (4,), device=device)],
        ),
        "replay sample by host indices": (
            lambda: torch.zeros(9, 2, device=device),
            lambda buffer: buffer[torch.randint(0, 9, (4,))],
        ),
    }


def _devices(device: str) -> Table:
    def event() -> tuple[torch.cuda.Event, torch.cuda.Event]:
        return torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def timed(start: torch.cuda.Event, end: torch.cuda.Event) -> float:
        start.record()
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end)

    def staged(x: torch.Tensor, host: torch.Tensor) -> torch.cuda.Event:
        host.copy_(x, non_blocking=True)
        done = torch.cuda.Event()
        done.record()
        return done

    def side(x: torch.Tensor) -> torch.Tensor:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            y = x * 2
        torch.cuda.current_stream().wait_stream(stream)
        y.record_stream(torch.cuda.current_stream())
        return y

    return {
        "timing with events": (event, timed),
        "copy out, staged": (lambda: (torch.rand(9, device=device), torch.empty(9).pin_memory()), staged),
        "copy out, then synchronize": (
            lambda: (torch.rand(9, device=device), torch.empty(9).pin_memory()),
            lambda x, h: staged(x, h).synchronize(),
        ),
        "copy out into pageable memory": (
            lambda: (torch.rand(9, device=device), torch.empty(9)),
            lambda x, h: h.copy_(x, non_blocking=True),
        ),
        "side stream": (lambda: torch.rand(9, device=device), side),
        "memory in gigabytes": (lambda: (), lambda: torch.cuda.max_memory_allocated() / 2**30),
        "free memory": (lambda: (), lambda: torch.cuda.mem_get_info()[0] / 2**30),
        "device of input": (lambda: torch.rand(9, device=device), lambda x: torch.zeros(3, device=x.device)),
        "zeros then to": (lambda: torch.rand(9, device=device), lambda x: torch.zeros(3).to(x)),
        "zeros_like": (lambda: torch.rand(9, device=device), lambda x: torch.zeros_like(x)),
        "stream synchronize": (lambda: (), lambda: torch.cuda.current_stream().synchronize()),
        "seed everything": (lambda: (), lambda: (torch.manual_seed(0), torch.cuda.manual_seed_all(0))),
        "generator": (
            lambda: torch.Generator(device=device).manual_seed(0),
            lambda g: torch.randn(3, generator=g, device=device),
        ),
        "host generator": (
            lambda: torch.Generator().manual_seed(0),
            lambda g: torch.randn(3, generator=g).to(device),
        ),
    }

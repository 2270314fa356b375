import torch
import torch.nn.functional as F
from torch import nn, Tensor
from typing import Optional, NamedTuple, Union
device = torch.device("cuda")

class Output(NamedTuple):
    logits: Tensor
    cache: Optional[list] = None
    loss: Optional[Tensor] = None

class Cache:
    def __init__(self, layers, batch, dim, size=16):
        self.k = [torch.zeros(batch, size, dim, device=device) for _ in range(layers)]
        self.pos = 0
        self.lens = torch.zeros(batch, dtype=torch.long, device=device)
    def update(self, layer, k):
        self.k[layer][:, self.pos : self.pos + k.shape[1]] = k
        return self.k[layer][:, : self.pos + k.shape[1]]
    def advance(self, n):
        self.pos += n
        self.lens += n
    def trim(self):
        return int(self.lens.min())  # sync
    def evict(self, keep):
        for i, k in enumerate(self.k):
            self.k[i] = k[keep]  # sync

class LM(nn.Module):
    def __init__(self, vocab=32, dim=8, layers=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(nn.Linear(dim, dim) for _ in range(layers))
        self.head = nn.Linear(dim, vocab, bias=False)
        self.head.weight = self.emb.weight
    @property
    def device(self):
        return next(self.parameters()).device
    def forward(self, ids, cache=None, labels=None) -> Output:
        h = self.emb(ids)
        for i, layer in enumerate(self.layers):
            ctx = cache.update(i, h) if cache is not None else h
            h = h + layer(ctx.mean(1, keepdim=True))
        if cache is not None:
            cache.advance(ids.shape[1])
        logits = self.head(h)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
        return Output(logits, cache, loss)
    @torch.inference_mode()
    def generate(self, ids, n=4, penalty=1.2, stop: Union[int, list, None] = None):
        cache = Cache(len(self.layers), ids.shape[0], 8)
        stops = torch.tensor([stop] if isinstance(stop, int) else stop or [], device=self.device)  # sync
        alive = ids.new_ones(ids.shape[0])
        cur = ids
        for _ in range(n):
            out = self(cur, cache=cache)
            logits = out.logits[:, -1]
            score = torch.gather(logits, 1, ids)
            score = torch.where(score < 0, score * penalty, score / penalty)
            logits = logits.scatter(1, ids, score)
            nxt = logits.argmax(-1)
            nxt = nxt * alive + (1 - alive) * 0
            alive = alive * (nxt != 2).long()
            ids = torch.cat([ids, nxt[:, None]], -1)
            cur = nxt[:, None]
            if alive.max() == 0:  # sync
                break
        cache.trim()
        cache.evict(alive > 0)
        return ids

lm = LM().to(device)

def step():
    ids = torch.randint(0, 32, (2, 4), device=lm.device)
    out = lm(ids, labels=ids)
    assert out.loss is not None
    out.loss.backward()
    gen = lm.generate(ids, stop=2)
    text = [" ".join(str(t) for t in row) for row in gen.cpu().tolist()]  # sync
    ppl = out.loss.detach().exp()
    return text, ppl

if __name__ == "__main__":
    for _ in range(3):
        step()

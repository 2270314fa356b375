from __future__ import annotations
import itertools
from typing import Iterator
import torch
from torch import Tensor, nn
device = torch.device("cuda")

class Packed:
    __slots__ = ("data", "lengths", "_max")
    def __init__(self, data: Tensor, lengths: Tensor):
        self.data, self.lengths = data, lengths
        self._max = None
    @property
    def max_len(self) -> int:
        if self._max is None:
            self._max = int(self.lengths.max())  # sync
        return self._max
    def to_padded(self):
        n = self.lengths.numel()
        out = self.data.new_zeros(n, self.max_len, self.data.shape[-1])
        pos = torch.arange(self.max_len, device=self.data.device)
        mask = pos[None, :] < self.lengths[:, None]
        out[mask] = self.data  # sync
        return out, mask
    @classmethod
    def from_list(cls, seqs):
        lens = torch.tensor([len(s) for s in seqs], device=seqs[0].device)  # sync
        return cls(torch.cat(seqs), lens)
    def __len__(self):
        return self.lengths.numel()
    def __getitem__(self, i):
        start = self.lengths[:i].sum()
        return self.data[start : start + self.lengths[i]]  # sync
    def __iter__(self) -> Iterator[Tensor]:
        for i in range(len(self)):
            yield self[i]

class Pool(nn.Module):
    def forward(self, p: Packed):
        x, mask = p.to_padded()
        return (x * mask[..., None]).sum(1) / p.lengths[:, None]

pool = Pool()

def step():
    seqs = [torch.randn(n, 4, device=device) for n in (3, 5, 2)]
    p = Packed.from_list(seqs)
    y = pool(p)
    z = torch.stack([s.mean(0) for s in p])
    w = list(itertools.chain.from_iterable(s.unbind(0) for s in seqs))
    parts = torch.split(p.data, p.lengths.tolist())  # sync
    return y, z, len(w), [q.shape for q in parts]

if __name__ == "__main__":
    for _ in range(3):
        step()

import torch
import torch.nn.functional as F
device = torch.device("cuda")

def top_p(logits, p=0.9, temperature=1.0, eos=2):
    if temperature != 1.0:
        logits = logits / temperature
    sorted_logits, idx = torch.sort(logits, descending=True)
    cum = sorted_logits.softmax(-1).cumsum(-1)
    remove = cum > p
    remove[..., 1:] = remove[..., :-1].clone()
    remove[..., 0] = 0
    mask = remove.scatter(1, idx, remove)
    logits[mask] = float("-inf")
    logits = logits.masked_fill(mask, -1e9)
    return torch.multinomial(logits.softmax(-1), 1)

class Decoder:
    def __init__(self, vocab=50, batch=2):
        self.emb = torch.randn(vocab, 16, device=device)
        self.batch = batch
        self.eos = torch.tensor([2], device=device)
    def generate(self, n):
        ids = torch.zeros(self.batch, 1, dtype=torch.long, device=device)
        done = torch.zeros(self.batch, dtype=torch.bool, device=device)
        lens = torch.ones(self.batch, dtype=torch.int32, device=device)
        for t in range(n):
            h = self.emb[ids[:, -1]]
            nxt = top_p(h @ self.emb.T)
            ids = torch.cat([ids, nxt], dim=1)
            done |= (nxt == 2).squeeze(1)
            lens += (~done).int()
            if done.all():  # sync
                break
            if nxt[0, 0].item() == 2:  # sync
                continue
            cu = F.pad(lens.cumsum(0), (1, 0)).to(torch.int32)
            longest = int(lens.max())  # sync
            att = torch.zeros(longest, device=device)
        return ids

dec = Decoder()

def step():
    out = dec.generate(4)
    return [row[: int(k)] for row, k in zip(out.tolist(), [1, 2])]  # sync

if __name__ == "__main__":
    for _ in range(3):
        step()

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
device = torch.device("cuda")

class Tagger(nn.Module):
    def __init__(self, v=20, d=8, tags=4):
        super().__init__()
        self.emb = nn.Embedding(v, d, padding_idx=0)
        self.rnn = nn.LSTM(d, d, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * d, tags)
        self.trans = nn.Parameter(torch.zeros(tags, tags))
    def forward(self, ids, lens):
        x = self.emb(ids)
        packed = pack_padded_sequence(x, lens.cpu(), batch_first=True, enforce_sorted=False)  # sync
        h, _ = self.rnn(packed)
        h, _ = pad_packed_sequence(h, batch_first=True)  # sync
        return self.out(h)
    def decode(self, scores, lens):
        best = []
        for i in range(scores.size(0)):
            n = lens[i]
            path = scores[i, :n].argmax(-1)  # sync
            best.append(path.tolist())  # sync
        return best
    def viterbi(self, scores):
        s = scores[:, 0]
        back = []
        for t in range(1, scores.size(1)):
            m, i = (s[:, :, None] + self.trans).max(1)
            s = m + scores[:, t]
            back.append(i)
        return s.max(1), back

model = Tagger().to(device)

def batch():
    seqs = [torch.randint(1, 20, (n,)) for n in (5, 3, 4)]
    lens = torch.tensor([len(s) for s in seqs])
    return pad_sequence(seqs, batch_first=True), lens

def step():
    ids, lens = batch()
    ids = ids.pin_memory().to(device, non_blocking=True)
    lens_dev = lens.to(device)  # sync
    scores = model(ids, lens_dev)
    paths = model.decode(scores, lens_dev)
    (val, tag), back = model.viterbi(scores)
    mask = ids != 0
    loss = nn.functional.cross_entropy(scores.flatten(0, 1), ids.flatten() % 4, reduction="none")
    loss = (loss * mask.flatten()).sum() / mask.sum()
    loss.backward()
    model.zero_grad()
    acc = (scores.argmax(-1) == ids)[mask].float().mean()  # sync
    return paths, acc, len(back)

if __name__ == "__main__":
    for _ in range(3):
        step()

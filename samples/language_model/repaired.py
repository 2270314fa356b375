"""The same language model without waits in its steps.

What to look for: no wait in a training step, one for a whole text written. The text lives on the device and is cut
there; loss and norm are kept on the device and read together after the loop; the generation writes into a tensor
of fixed length, remembers on the device whether the end was reached, and is read once.
"""

import math
import sys
import time

import torch
from torch import nn

DEVICE = torch.device("cuda")
VOCABULARY, WIDTH, LENGTH, BATCH, END = 256, 128, 64, 16, 0


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(LENGTH, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.ModuleList([layer, nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, 0.0, batch_first=True)])
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        length = tokens.shape[1]
        x = self.tokens(tokens) + self.positions(torch.arange(length, device=tokens.device))
        mask = torch.ones(length, length, dtype=torch.bool, device=tokens.device).triu(1)
        for block in self.blocks:
            x = block(x, src_mask=mask)
        return self.head(x)


def train(model, steps, scale):
    text = torch.tensor(list(range(1, VOCABULARY)) * 40, device=DEVICE)
    windows = text.unfold(0, LENGTH + 1, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    log = torch.zeros(steps, 2, device=DEVICE)
    for step in range(steps):
        tokens = windows[torch.randint(len(windows), (BATCH * scale,), device=DEVICE)]
        logits = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        log[step].copy_(torch.stack((loss.detach(), norm)))
    return [(f"{loss:.3f}", norm, math.exp(loss)) for loss, norm in log.tolist()]


@torch.no_grad()
def write(model, length):
    text = torch.ones(1, length, dtype=torch.long, device=DEVICE)
    ended = torch.zeros((), dtype=torch.bool, device=DEVICE)
    for position in range(1, length):
        token = model(text[:, :position])[0, -1].argmax()
        ended = ended | (token == END)
        text[:, position] = torch.where(ended, END, token)
    return text[0].tolist()


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    scale = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    torch.manual_seed(0)
    model = Model().to(DEVICE)
    train(model, 3, scale)
    torch.cuda.synchronize()
    start = time.perf_counter()
    train(model, steps, scale)
    torch.cuda.synchronize()
    print(f"{(time.perf_counter() - start) / steps * 1e3:.3f} ms per step")
    start = time.perf_counter()
    written = len(write(model.eval(), 32))
    print(f"{(time.perf_counter() - start) / max(1, written - 1) * 1e3:.3f} ms per token written")


if __name__ == "__main__":
    main()

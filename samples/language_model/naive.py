"""A small language model, trained and asked to write, with the waits that such programs usually have.

What to look for, in every training step:
  - the batch is cut out on the host and uploaded token by token list (upload)
  - `math.exp(loss)` for the perplexity and the progress line (scalar-read, twice)
  - the gradient norm is read for the log (scalar-read)
and in every step of the generation:
  - `if token == END` and `text.append(token.item())` (scalar-read)
  - `torch.tensor([text], device=DEVICE)` uploads the whole text again (upload)
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


def batches(text, steps, size):
    generator = torch.Generator().manual_seed(0)
    for _ in range(steps):
        starts = torch.randint(len(text) - LENGTH - 1, (size,), generator=generator).tolist()
        yield [text[start : start + LENGTH + 1] for start in starts]


def train(model, steps, scale):
    text = list(range(1, VOCABULARY)) * 40
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    log = []
    for rows in batches(text, steps, BATCH * scale):
        tokens = torch.tensor(rows, device=DEVICE)  # sync: upload
        logits = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        log.append((f"{loss:.3f}", norm.item(), math.exp(loss)))  # sync: scalar-read
    return log


@torch.no_grad()
def write(model, length):
    text = [1]
    while len(text) < length:
        tokens = torch.tensor([text], device=DEVICE)  # sync: upload
        token = model(tokens)[0, -1].argmax()
        if token == END:  # sync: scalar-read
            break
        text.append(token.item())  # sync: scalar-read
    return text


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

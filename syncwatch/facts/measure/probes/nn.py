"""torch.nn and torch.nn.functional."""

# mypy: disable-error-code="misc, no-untyped-call, no-any-return"
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from syncwatch.facts.measure.probes import Program, probe


def _ctc(device: str, lengths: str, targets: str, dtype: torch.dtype = torch.long) -> tuple[torch.Tensor, ...]:
    return (
        torch.randn(50, 4, 20, device=device).log_softmax(2),
        torch.randint(1, 20, (4, 10), device=targets, dtype=dtype),
        torch.full((4,), 50, device=lengths, dtype=dtype),
        torch.full((4,), 10, device=lengths, dtype=dtype),
    )


def _encoder(device: str, **options: Any) -> nn.Module:
    layer = nn.TransformerEncoderLayer(8, 2, batch_first=True)
    return nn.TransformerEncoder(layer, 2, **options).to(device)


def programs(device: str) -> Iterator[Program]:
    for side, where in (("", device), (" host", "cpu")):

        def batch(where: str = where) -> torch.Tensor:
            return torch.randn(4, 10, 8, device=where)

        yield probe(f"ctc_loss{side}", lambda w=where: _ctc(w, w, w), F.ctc_loss)
        yield probe(f"CTCLoss{side}", lambda w=where: (nn.CTCLoss(), *_ctc(w, "cpu", w)), lambda m, *inputs: m(*inputs))
        yield probe(f"gaussian_nll_loss{side}", lambda b=batch: (b(), b(), b().abs() + 1), F.gaussian_nll_loss)
        yield probe(
            f"GaussianNLLLoss{side}",
            lambda b=batch: (nn.GaussianNLLLoss(), b(), b(), b().abs() + 1),
            lambda m, x, y, v: m(x, y, v),
        )
        yield probe(
            f"AdaptiveLogSoftmaxWithLoss{side}",
            lambda w=where: (
                nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10]).to(w),
                torch.randn(6, 8, device=w),
                torch.tensor([0, 6, 12, 3, 7, 19], device=w),
            ),
            lambda m, x, y: m(x, y),
        )
        yield probe(
            f"TransformerEncoder eval padding{side}",
            lambda w=where, b=batch: (
                _encoder(w).eval(),
                b(),
                torch.zeros(4, 10, dtype=torch.bool, device=w),
            ),
            lambda m, x, k: m(x, src_key_padding_mask=k),
        )
        yield probe(
            f"pack_padded_sequence unsorted{side}",
            lambda b=batch: (b(), torch.tensor([7, 9, 8, 10])),
            lambda x, n: nn.utils.rnn.pack_padded_sequence(x, n, batch_first=True, enforce_sorted=False),
        )
        yield probe(
            f"pack_padded_sequence{side}",
            lambda b=batch: (b(), torch.tensor([10, 9, 8, 7])),
            lambda x, n: nn.utils.rnn.pack_padded_sequence(x, n, batch_first=True),
        )
        yield probe(
            f"pack_padded_sequence of a list{side}",
            batch,
            lambda x: nn.utils.rnn.pack_padded_sequence(x, [10, 9, 8, 7], batch_first=True),
        )
        yield probe(
            f"pad_packed_sequence{side}",
            lambda b=batch: [nn.utils.rnn.pack_padded_sequence(b(), torch.tensor([10, 9, 8, 7]), batch_first=True)],
            lambda p: nn.utils.rnn.pad_packed_sequence(p[0], batch_first=True),
        )
        yield probe(
            f"pad_packed_sequence unsorted{side}",
            lambda b=batch: [
                nn.utils.rnn.pack_padded_sequence(
                    b(), torch.tensor([7, 9, 8, 10]), batch_first=True, enforce_sorted=False
                )
            ],
            lambda p: nn.utils.rnn.pad_packed_sequence(p[0], batch_first=True),
        )
        yield probe(
            f"pack_sequence{side}",
            lambda w=where: [[torch.randn(4, 2, device=w), torch.randn(3, 2, device=w)]],
            lambda xs: nn.utils.rnn.pack_sequence(xs[0]),
        )
        yield probe(
            f"pad_sequence{side}",
            lambda w=where: [[torch.randn(3, device=w), torch.randn(4, device=w)]],
            lambda xs: nn.utils.rnn.pad_sequence(xs[0]),
        )
        yield probe(
            f"unpad_sequence{side}",
            lambda b=batch: (b(), torch.tensor([10, 9, 8, 7])),
            lambda x, n: nn.utils.rnn.unpad_sequence(x, n, batch_first=True),
        )
        yield probe(
            f"LSTM of packed{side}",
            lambda w=where, b=batch: (
                nn.LSTM(8, 8, batch_first=True).to(w),
                nn.utils.rnn.pack_padded_sequence(b(), torch.tensor([10, 9, 8, 7]), batch_first=True),
            ),
            lambda m, x: m(x),
        )
    yield probe("ctc_loss host lengths", lambda: _ctc(device, "cpu", device), F.ctc_loss)
    yield probe("ctc_loss host lengths and targets", lambda: _ctc(device, "cpu", "cpu"), F.ctc_loss)
    yield probe(
        "ctc_loss host int32",
        lambda: _ctc(device, "cpu", "cpu", torch.int32),
        F.ctc_loss,
    )
    yield probe(
        "ctc_loss list lengths",
        lambda: _ctc(device, "cpu", device)[:2],
        lambda x, y: F.ctc_loss(x, y, [50] * 4, [10] * 4),
    )
    x = lambda: torch.randn(4, 10, 8, device=device)  # noqa: E731
    padding = lambda: torch.zeros(4, 10, dtype=torch.bool, device=device)  # noqa: E731
    yield probe(
        "TransformerEncoder train padding",
        lambda: (_encoder(device), x(), padding()),
        lambda m, x, k: m(x, src_key_padding_mask=k),
    )
    yield probe("TransformerEncoder eval", lambda: (_encoder(device).eval(), x()), lambda m, x: m(x))
    yield probe(
        "TransformerEncoder eval mask",
        lambda: (_encoder(device).eval(), x(), nn.Transformer.generate_square_subsequent_mask(10, device=device)),
        lambda m, x, k: m(x, mask=k),
    )
    yield probe(
        "TransformerEncoder train mask",
        lambda: (_encoder(device), x(), nn.Transformer.generate_square_subsequent_mask(10, device=device)),
        lambda m, x, k: m(x, mask=k),
    )
    yield probe(
        "TransformerEncoder eval padding, no nested tensor",
        lambda: (_encoder(device, enable_nested_tensor=False).eval(), x(), padding()),
        lambda m, x, k: m(x, src_key_padding_mask=k),
    )
    yield probe(
        "TransformerEncoderLayer eval padding",
        lambda: (nn.TransformerEncoderLayer(8, 2, batch_first=True).to(device).eval(), x(), padding()),
        lambda m, x, k: m(x, src_key_padding_mask=k),
    )
    yield probe(
        "TransformerDecoder mask",
        lambda: (
            nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, batch_first=True), 1).to(device),
            x(),
            nn.Transformer.generate_square_subsequent_mask(10, device=device),
        ),
        lambda m, x, k: m(x, x, tgt_mask=k),
    )
    yield probe(
        "MultiheadAttention eval padding",
        lambda: (nn.MultiheadAttention(8, 2, batch_first=True).to(device).eval(), x(), padding()),
        lambda m, x, k: m(x, x, x, key_padding_mask=k),
    )
    yield probe("MultiheadAttention", lambda: (nn.MultiheadAttention(8, 2).to(device), x()), lambda m, x: m(x, x, x))
    yield probe("LSTM", lambda: (nn.LSTM(8, 8).to(device), x()), lambda m, x: m(x))
    yield probe("GRU", lambda: (nn.GRU(8, 8).to(device), x()), lambda m, x: m(x))
    yield probe("RNN", lambda: (nn.RNN(8, 8).to(device), x()), lambda m, x: m(x))
    yield probe("LSTMCell", lambda: (nn.LSTMCell(8, 8).to(device), x()[0]), lambda m, x: m(x))
    yield probe("BatchNorm1d train", lambda: (nn.BatchNorm1d(10).to(device), x()), lambda m, x: m(x))
    yield probe("BatchNorm1d eval", lambda: (nn.BatchNorm1d(10).to(device).eval(), x()), lambda m, x: m(x))
    yield probe(
        "Embedding",
        lambda: (nn.Embedding(9, 4).to(device), torch.zeros(3, dtype=torch.long, device=device)),
        lambda m, i: m(i),
    )
    yield probe(
        "Embedding max_norm",
        lambda: (nn.Embedding(9, 4, max_norm=1.0).to(device), torch.zeros(3, dtype=torch.long, device=device)),
        lambda m, i: m(i),
    )
    yield probe(
        "EmbeddingBag",
        lambda: (nn.EmbeddingBag(9, 4).to(device), torch.zeros(2, 3, dtype=torch.long, device=device)),
        lambda m, i: m(i),
    )
    yield probe(
        "Embedding sparse backward",
        lambda: nn.Embedding(9, 4, sparse=True).to(device)(torch.zeros(3, dtype=torch.long, device=device)).sum(),
        lambda x: x.backward(),
    )
    yield probe(
        "cross_entropy",
        lambda: (torch.randn(4, 9, device=device), torch.zeros(4, dtype=torch.long, device=device)),
        F.cross_entropy,
    )
    yield probe(
        "sdpa", lambda: torch.randn(2, 2, 8, 16, device=device), lambda q: F.scaled_dot_product_attention(q, q, q)
    )
    yield probe(
        "sdpa mask",
        lambda: (torch.randn(2, 2, 8, 16, device=device), torch.ones(8, 8, dtype=torch.bool, device=device)),
        lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m),
    )
    yield probe(
        "multilabel_margin_loss",
        lambda: (torch.randn(2, 4, device=device), torch.zeros(2, 4, dtype=torch.long, device=device)),
        F.multilabel_margin_loss,
    )
    yield probe("kl_div", lambda: (x().log_softmax(1), x().softmax(1)), F.kl_div)
    yield probe(
        "cosine_embedding_loss",
        lambda: (torch.randn(3, 4, device=device), torch.randn(3, 4, device=device), torch.ones(3, device=device)),
        F.cosine_embedding_loss,
    )
    yield probe("gumbel_softmax", x, F.gumbel_softmax)
    yield probe(
        "max_unpool2d",
        lambda: F.max_pool2d(torch.randn(1, 1, 8, 8, device=device), 2, return_indices=True),
        lambda v, i: F.max_unpool2d(v, i, 2),
    )
    yield probe(
        "fractional_max_pool2d",
        lambda: torch.randn(1, 1, 8, 8, device=device),
        lambda x: F.fractional_max_pool2d(x, 2, output_size=3),
    )
    yield probe(
        "spectral_norm",
        lambda: (nn.utils.parametrizations.spectral_norm(nn.Linear(8, 8)).to(device), x()),
        lambda m, x: m(x),
    )
    yield probe(
        "weight_norm",
        lambda: (nn.utils.parametrizations.weight_norm(nn.Linear(8, 8)).to(device), x()),
        lambda m, x: m(x),
    )
    yield probe("SyncBatchNorm eval", lambda: (nn.SyncBatchNorm(10).to(device).eval(), x()), lambda m, x: m(x))
    yield probe("init.trunc_normal_", lambda: torch.empty(8, 8, device=device), nn.init.trunc_normal_)
    yield probe("init.orthogonal_", lambda: torch.empty(8, 8, device=device), nn.init.orthogonal_)
    yield probe("init.kaiming_normal_", lambda: torch.empty(8, 8, device=device), nn.init.kaiming_normal_)

"""torch.nn and torch.nn.functional."""

from __future__ import annotations

from syncwatch.facts.conditions import (
    SEQUENCES,
    Bound,
    Condition,
    Verdict,
    all_of,
    attr,
    is_cuda,
    is_given,
    on_cuda,
    opposite,
)
from syncwatch.facts.describe import Arg
from syncwatch.facts.table import Case, fact, functional, reads, sizes_by_data, uploads
from syncwatch.model import Kind

_cuda = on_cuda("input")
_CTC = (
    "pass lengths as lists of Python numbers, which saves the reads; cuDNN's kernel waits once instead of five times: "
    "targets concatenated in one int32 tensor in host memory, every input as long as log_probs, blank=0"
)


def forward(*names: str) -> tuple[str, ...]:
    """The names under which a call of a module is known."""
    return tuple(f"torch.nn.{name}.{method}" for name in names for method in ("forward", "__call__"))


def _lengths_waits(bound: Bound) -> int | None:
    """ctc_loss: two lengths go to the host where they are on the device, and its own tables come back.

    The mean, which divides by the lengths of the targets, uploads these once more.
    """
    module = bound.get("module")
    reduction = bound.get("reduction") if module is None else module.attrs.get("reduction")
    known = _kernel_waits(bound)
    if known is None or reduction is None or reduction.value == "mean":
        return known
    return known - 1 if isinstance(reduction.value, str) else None


def _kernel_waits(bound: Bound) -> int | None:
    on_device, targets = is_cuda(bound.get("input_lengths")), bound.get("targets")
    if on_device is None or targets is None or (targets.dim == 1 and _itemsize(targets) != 8):
        return None  # cuDNN's kernel may take it: one wait, or one for each length where those are on the device
    there = is_cuda(targets)
    if there is None:
        return None
    if on_device:
        return 7 + there
    lengths = bound.get("input_lengths")
    if lengths is not None and lengths.sort in SEQUENCES:
        return 5
    return 5 + there


def _itemsize(arg: Arg) -> object:
    return arg.attrs["itemsize"].value if "itemsize" in arg.attrs else None


def _unsorted(bound: Bound) -> Verdict:
    enforce = bound.get("enforce_sorted")
    if enforce is None:
        return False
    return None if not isinstance(enforce.value, bool) else not enforce.value


def _padding_mask(bound: Bound) -> Verdict:
    return is_given(bound.get("src_key_padding_mask"))


_fast_path = (
    Condition("a padding mask is given", _padding_mask, "no padding mask is given")
    & ~attr("module", "training", True)
    & attr("module", "enable_nested_tensor", True, unknown=True)
).described(
    "in eval mode the padded batch becomes a nested tensor, whose sizes are read from the mask",
    "the module is in training mode, or has no padding mask",
)

_MODULES_SILENT = """
Linear Bilinear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d InstanceNorm1d InstanceNorm2d
InstanceNorm3d LayerNorm GroupNorm RMSNorm Embedding EmbeddingBag ReLU ReLU6 GELU SiLU Mish ELU SELU LeakyReLU PReLU
Sigmoid Tanh Softmax LogSoftmax Dropout Dropout2d Identity Flatten Unflatten MaxPool1d MaxPool2d MaxPool3d AvgPool1d
AvgPool2d AvgPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveMaxPool2d Upsample PixelShuffle MultiheadAttention
TransformerEncoderLayer TransformerDecoderLayer LSTM GRU RNN LSTMCell GRUCell RNNCell CrossEntropyLoss NLLLoss
MSELoss L1Loss SmoothL1Loss HuberLoss BCELoss BCEWithLogitsLoss KLDivLoss CosineEmbeddingLoss TripletMarginLoss
MarginRankingLoss ZeroPad2d ReflectionPad2d Unfold Fold
"""


def _no_momentum(bound: Bound) -> Verdict:
    layer = bound.get("module")
    momentum = None if layer is None else layer.attrs.get("momentum")
    return None if momentum is None else momentum.sort == "none"


# Where nothing is known of the layer's momentum it is taken to have one, as by default.
_cumulative = (
    Condition("", lambda bound: _no_momentum(bound) or False)
    & attr("module", "training", True, unknown=True)
    & attr("module", "track_running_stats", True, unknown=True)
    & on_cuda("input")
).described(
    "`momentum=None`: the average is divided by the number of batches, a counter on the GPU",
    "the layer has a momentum, or is in eval mode",
)


def _causal(mask: str, told: str, source: str) -> Condition:
    """The stack compares the mask with the causal one, to take a faster kernel."""

    def test(bound: Bound) -> Verdict:
        return all_of(
            iter((is_cuda(bound.get(source)), is_given(bound.get(mask)), opposite(is_given(bound.get(told)))))
        )

    return Condition(
        f"`{mask}` is compared with the causal mask, since `{told}` is not given",
        test,
        f"`{mask}` is not given, or `{told}` is",
    )


_lengths_needed = Case(
    Kind.UPLOAD,
    on_cuda("log_probs").described(
        "the lengths are needed on the host, and the tables of the kernel are uploaded", "log_probs is on the host"
    ),
    _lengths_waits,
)


FACTS = (
    fact(
        functional("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"),
        "input p training",
        reads(
            on_cuda("p").described(
                "the probability is a CUDA tensor, which is checked on the host", "`p` is a host number"
            ),
            waits=3,
        ),
        instead="pass a Python number",
    ),
    fact(
        forward("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"),
        "module input",
        reads(_cumulative),
        instead="give a momentum",
    ),
    fact(
        functional("ctc_loss"),
        "log_probs targets input_lengths target_lengths blank reduction",
        _lengths_needed,
        instead=_CTC,
    ),
    fact(
        forward("CTCLoss"),
        "module log_probs targets input_lengths target_lengths",
        _lengths_needed,
        instead=_CTC,
    ),
    fact(
        ("torch.nn.utils.rnn.pack_padded_sequence",),
        "input lengths batch_first enforce_sorted",
        uploads(
            _cuda
            & Condition(
                "`enforce_sorted=False`: the order of the sequences is uploaded", _unsorted, "the batch is sorted"
            )
        ),
        instead="sort the batch in the collate function",
    ),
    fact(
        functional("gaussian_nll_loss"),
        "input target var",
        reads(on_cuda("var").described("the variance is checked on the host", "the variance is in host memory")),
        instead="write the formula, and clamp the variance",
    ),
    fact(
        forward("GaussianNLLLoss"),
        "module input target var",
        reads(on_cuda("var").described("the variance is checked on the host", "the variance is in host memory")),
    ),
    fact(
        forward("AdaptiveLogSoftmaxWithLoss"),
        "module input target",
        sizes_by_data(on_cuda("input", "target"), waits=None),
        instead="a full softmax, or a sampled one of fixed shape",
    ),
    fact(
        forward("TransformerEncoder"),
        "module src mask src_key_padding_mask is_causal",
        reads(_fast_path & on_cuda("src")),
        reads(_causal("mask", "is_causal", "src")),
        instead="enable_nested_tensor=False, and say is_causal= where a mask is given",
    ),
    fact(
        forward("TransformerDecoder"),
        "module tgt memory tgt_mask memory_mask tgt_key_padding_mask memory_key_padding_mask tgt_is_causal",
        reads(_causal("tgt_mask", "tgt_is_causal", "tgt")),
        instead="say tgt_is_causal= where a mask is given",
    ),
    fact(("torch.nn.utils.rnn.pad_sequence", "torch.nn.utils.rnn.unpad_sequence"), "sequences"),
    fact(
        forward(*_MODULES_SILENT.split()),
        "module input",
    ),
)

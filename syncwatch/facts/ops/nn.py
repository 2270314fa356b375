"""torch.nn and torch.nn.functional."""

from __future__ import annotations

from syncwatch.facts.conditions import (
    Bound,
    Condition,
    Verdict,
    attr,
    is_cuda,
    is_given,
    on_cuda,
)
from syncwatch.facts.table import Case, copies_out, fact, functional, reads, sizes_by_data, uploads
from syncwatch.model import Kind

_cuda = on_cuda("input")


def forward(*names: str) -> tuple[str, ...]:
    """The names under which a call of a module is known."""
    return tuple(f"torch.nn.{name}.{method}" for name in names for method in ("forward", "__call__"))


def _lengths_waits(bound: Bound) -> int | None:
    """ctc_loss: two lengths go to the host where they are on the device, and its own tables come back."""
    on_device = is_cuda(bound.get("input_lengths"))
    return None if on_device is None else (8 if on_device else 5)


def _unsorted(bound: Bound) -> Verdict:
    enforce = bound.get("enforce_sorted")
    if enforce is None:
        return False
    return None if not isinstance(enforce.value, bool) else not enforce.value


def _padding_mask(bound: Bound) -> Verdict:
    return is_given(bound.get("src_key_padding_mask"))


_fast_path = (
    Condition("a padding mask is given", _padding_mask, "no padding mask is given") & ~attr("module", "training", True)
).described(
    "in eval mode the padded batch becomes a nested tensor, whose sizes are read from the mask",
    "the module is in training mode, or has no padding mask",
)

_FUNCTIONS_SILENT = """
relu relu_ gelu silu mish elu selu celu leaky_relu prelu rrelu glu hardtanh hardswish hardsigmoid hardshrink
softplus softsign softshrink tanh tanhshrink sigmoid logsigmoid softmax log_softmax softmin gumbel_softmax
dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout linear bilinear conv1d conv2d conv3d
conv_transpose1d conv_transpose2d conv_transpose3d unfold fold avg_pool1d avg_pool2d avg_pool3d max_pool1d
max_pool2d max_pool3d max_unpool1d max_unpool2d max_unpool3d lp_pool1d lp_pool2d adaptive_avg_pool1d
adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d batch_norm
instance_norm layer_norm group_norm rms_norm local_response_norm normalize embedding embedding_bag cross_entropy
nll_loss binary_cross_entropy binary_cross_entropy_with_logits mse_loss l1_loss smooth_l1_loss huber_loss kl_div
poisson_nll_loss cosine_embedding_loss hinge_embedding_loss margin_ranking_loss triplet_margin_loss
triplet_margin_with_distance_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss
soft_margin_loss pad interpolate upsample grid_sample affine_grid pixel_shuffle pixel_unshuffle channel_shuffle
scaled_dot_product_attention multi_head_attention_forward cosine_similarity pairwise_distance pdist threshold
relu6
"""

_MODULES_SILENT = """
Linear Bilinear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d BatchNorm1d BatchNorm2d
BatchNorm3d InstanceNorm1d InstanceNorm2d InstanceNorm3d LayerNorm GroupNorm RMSNorm Embedding EmbeddingBag ReLU
ReLU6 GELU SiLU Mish ELU SELU LeakyReLU PReLU Sigmoid Tanh Softmax LogSoftmax Dropout Dropout2d Identity Flatten
Unflatten MaxPool1d MaxPool2d MaxPool3d AvgPool1d AvgPool2d AvgPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d
AdaptiveMaxPool2d Upsample PixelShuffle MultiheadAttention TransformerEncoderLayer TransformerDecoderLayer
TransformerDecoder LSTM GRU RNN LSTMCell GRUCell RNNCell CrossEntropyLoss NLLLoss MSELoss L1Loss SmoothL1Loss
HuberLoss BCELoss BCEWithLogitsLoss KLDivLoss CosineEmbeddingLoss TripletMarginLoss MarginRankingLoss ZeroPad2d
ReflectionPad2d Unfold Fold
"""


FACTS = (
    fact(
        functional("ctc_loss"),
        "log_probs targets input_lengths target_lengths",
        Case(
            Kind.UPLOAD,
            on_cuda("log_probs").described(
                "the lengths are needed on the host, and the tables of the kernel are uploaded",
                "log_probs is on the host",
            ),
            _lengths_waits,
        ),
        instead="cuDNN's version (int32 host targets and lengths, blank=0) or a loss of fixed shape",
    ),
    fact(
        forward("CTCLoss"),
        "module log_probs targets input_lengths target_lengths",
        Case(Kind.UPLOAD, on_cuda("log_probs"), _lengths_waits),
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
        copies_out(on_cuda("lengths")),
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
        reads(_fast_path & on_cuda("src"), waits=None),
        instead="enable_nested_tensor=False",
    ),
    fact(("torch.nn.utils.rnn.pad_sequence", "torch.nn.utils.rnn.unpad_sequence"), "sequences"),
    fact(
        functional(*_FUNCTIONS_SILENT.split()),
        "input",
    ),
    fact(
        forward(*_MODULES_SILENT.split()),
        "module input",
    ),
)

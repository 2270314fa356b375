"""What torch does in Python around its operators: initialisation, pruning, masked reductions, observers, writers."""

from __future__ import annotations

from syncwatch.facts.conditions import (
    Condition,
    always,
    device_is,
    flag,
    given,
    on_cuda,
)
from syncwatch.facts.ops.scalars import host_numbers
from syncwatch.facts.table import Case, copies_out, fact, reads, sizes_by_data, uploads
from syncwatch.model import Kind

SETUP = "do it in the set-up, or with the module on the host"


def _torch(names: str, prefix: str = "", suffix: str = "") -> tuple[str, ...]:
    return tuple(f"torch.{prefix}{name}{suffix}" for name in names.split())


def _where(name: str, words: str) -> Condition:
    return on_cuda(name).described(words, "it is in host memory")


_module = _where("module", "the module is on the GPU")
_writer = "utils.tensorboard.SummaryWriter."

_INIT = """
uniform_ normal_ ones_ zeros_ eye_ constant_ xavier_uniform_ xavier_normal_ kaiming_uniform_ kaiming_normal_
trunc_normal_ orthogonal_
"""
_SILENT = """
nn.utils.prune.remove nn.utils.spectral_norm nn.utils.parametrizations.spectral_norm
nn.utils.parametrizations.weight_norm nn.utils.fuse_conv_bn_eval nn.Module.half nn.Module.float nn.Module.double
nn.Module.bfloat16 nn.Module.to_empty nn.Module.share_memory nn.Module.requires_grad_ nn.Module.train nn.Module.eval
nn.DataParallel.forward optim.Optimizer.state_dict optim.Optimizer.add_param_group optim.Muon.step
optim.swa_utils.SWALR.step optim.swa_utils.AveragedModel.forward utils.data.default_collate utils.data.default_convert
utils.tensorboard.SummaryWriter.add_text nn.attention.flex_attention.create_block_mask masked.masked_tensor
sparse.spdiags ao.quantization.MinMaxObserver.forward ao.quantization.NoopObserver.forward
ao.quantization.PlaceholderObserver.forward ao.quantization.FusedMovingAvgObsFakeQuantize.forward
signal.windows.bartlett signal.windows.cosine signal.windows.exponential signal.windows.gaussian
"""
_MASKED = """
sum mean amax amin argmax argmin cumsum cumprod logsumexp median norm prod softmax softmin log_softmax
"""
_CUDA = """
host_memory_stats memory_snapshot get_arch_list current_blas_handle get_rng_state_all set_rng_state_all set_rng_state
seed_all get_allocator_backend utilization temperature power_draw clock_rate memory_usage device_memory_used
list_gpu_processes reset_accumulated_memory_stats reset_peak_host_memory_stats graph_pool_handle
is_current_stream_capturing get_per_process_memory_fraction is_tf32_supported can_device_access_peer
caching_allocator_alloc caching_allocator_delete comm.broadcast CUDAGraph.replay
"""

_mask = (on_cuda("input") & given("mask")).described(
    "a mask is given, under which a number of the host is filled in", "no mask is given, or the tensor is on the host"
)

FACTS = (
    fact(
        _torch("sparse_", "nn.init."),
        "input sparsity std",
        uploads(_where("input", "it writes zeros through host indices, column by column"), waits=None),
        instead=SETUP,
    ),
    fact(
        _torch("dirac_", "nn.init."),
        "input groups",
        uploads(_where("input", "it writes its ones one by one"), waits=None),
        instead=SETUP,
    ),
    fact(
        _torch("hann hamming general_hamming blackman nuttall general_cosine", "signal.windows."),
        "M dtype layout device",
        uploads(device_is("device", "cuda").described("its coefficients are uploaded", "it is made on the host")),
        instead="torch.hann_window and its like fill on the device; or build it once, before the loop",
    ),
    fact(
        _torch("kaiser", "signal.windows."),
        "M beta sym dtype layout device",
        uploads(
            device_is("device", "cuda").described("its bounds are uploaded and read", "it is made on the host"), waits=3
        ),
        instead="torch.kaiser_window; or build it once, before the loop",
    ),
    fact(
        _torch("l1_unstructured random_unstructured ln_structured", "nn.utils.prune."),
        "module name amount",
        uploads(_where("module", "the mask is written at the chosen places with a number of the host")),
        instead="prune every N steps",
    ),
    fact(
        _torch("global_unstructured", "nn.utils.prune."),
        "parameters pruning_method",
        uploads(
            _where("parameters", "the masks are written at the chosen places with a number of the host"), waits=None
        ),
        instead="prune every N steps",
    ),
    fact(
        _torch("orthogonal", "nn.utils.parametrizations."),
        "module name",
        reads(_where("module", "whether the weight is orthogonal already is read on the host")),
        instead=SETUP,
    ),
    fact(
        _torch("update_bn", "optim.swa_utils."),
        "loader model device",
        reads(_where("model", "without a momentum, every batch norm reads its counter at every batch"), waits=None),
        instead="it belongs at the end of the training, not in the loop",
    ),
    fact(
        _torch("save_on_cpu", "autograd.graph."),
        "pin_memory device_type",
        copies_out(always("every tensor that is saved for the backward pass goes to the host, and back"), waits=None),
        instead="torch.utils.checkpoint computes it again instead",
        note="With pin_memory=True the way back does not wait, the way to the host does.",
    ),
    fact(
        _torch("gradcheck", "autograd."),
        "func inputs",
        reads(_where("inputs", "gradients are compared on the host"), waits=None),
        instead="a tool for tests: small inputs in host memory",
    ),
    fact(
        _torch("trace", "jit."),
        "func example_inputs check_trace",
        reads(
            (on_cuda("example_inputs") & flag("check_trace", True)).described(
                "the traced function is compared with the original", "check_trace=False, or the inputs are on the host"
            ),
            waits=None,
        ),
        instead="check_trace=False",
    ),
    fact(
        _torch("masked_select", "nested."),
        "input mask",
        sizes_by_data(_where("input", "the mask decides how many elements there are")),
        instead="keep the mask",
    ),
    fact(
        _torch("narrow", "nested."),
        "input dim start length layout",
        reads(_where("input", "starts and lengths are checked on the host"), waits=None),
        instead="torch.nested.nested_tensor_from_jagged with offsets that are on the device",
    ),
    fact(
        _torch(_MASKED, "masked."),
        "input dim keepdim dtype mask",
        uploads(_mask),
        instead="torch.where, and the plain reduction",
    ),
    fact(
        _torch("normalize", "masked."),
        "input ord dim eps dtype mask",
        uploads(_mask, waits=2),
        instead="torch.where, and the plain operation",
    ),
    fact(
        _torch("std var", "masked."),
        "input dim unbiased keepdim dtype mask",
        uploads(_mask, waits=2),
        instead="torch.where, and the plain reduction",
    ),
    fact(
        _torch("MovingAverageMinMaxObserver.forward", "ao.quantization."),
        "module input",
        reads(_module),
        instead="observe some batches only: torch.ao.quantization.disable_observer",
    ),
    fact(
        _torch("HistogramObserver.forward FakeQuantize.forward", "ao.quantization."),
        "module input",
        reads(_module, waits=None),
        instead="FusedMovingAvgObsFakeQuantize does it on the device; or observe some batches only",
    ),
    fact(
        _torch("MinMaxObserver.calculate_qparams MovingAverageMinMaxObserver.calculate_qparams", "ao.quantization."),
        "module",
        reads(_module, waits=2),
        instead="call it once, after the observed batches",
    ),
    fact(
        _torch("HistogramObserver.calculate_qparams", "ao.quantization."),
        "module",
        reads(_module, waits=None),
        instead="call it once, after the observed batches",
        note="Thousands of reads: bin by bin.",
    ),
    fact(("torch.quantize_per_tensor",), "input scale zero_point dtype", host_numbers("scale", "zero_point")),
    fact(
        ("torch.fake_quantize_per_channel_affine",),
        "input scale zero_point axis quant_min quant_max",
        reads(_where("input", "the zero points are checked against their bounds on the host"), waits=2),
    ),
    fact(
        _torch("add_scalar", _writer),
        "writer tag scalar_value global_step",
        copies_out(_where("scalar_value", "the value is read on the host")),
        instead="collect detached values and write them every N steps",
    ),
    fact(
        _torch("add_scalars", _writer),
        "writer main_tag tag_scalar_dict global_step",
        copies_out(_where("tag_scalar_dict", "the values are read on the host"), waits=None),
        instead="collect detached values and write them every N steps",
    ),
    fact(
        _torch("add_histogram", _writer),
        "writer tag values global_step",
        copies_out(_where("values", "the values are copied to the host")),
        instead="write histograms every N steps",
    ),
    fact(
        _torch("add_image", _writer),
        "writer tag img_tensor global_step",
        copies_out(_where("img_tensor", "the image is copied to the host")),
        instead="write images every N steps",
    ),
    fact(
        ("torch.cuda.graph.__enter__", "torch.cuda.graphs.graph.__enter__"),
        "graph",
        Case(
            Kind.DEVICE_WAIT,
            always("a capture begins with torch.cuda.synchronize"),
            reported=False,
        ),
        instead="capture once, before the loop, and replay",
    ),
    fact(
        ("torch.cuda.make_graphed_callables",),
        "callables sample_args",
        Case(Kind.DEVICE_WAIT, always("it captures graphs, each after torch.cuda.synchronize"), None, reported=False),
        instead="do it once, before the loop",
    ),
    fact(
        (
            *_torch(_INIT, "nn.init."),
            *_torch(_SILENT),
            *_torch(_CUDA, "cuda."),
        ),
        "input",
    ),
)

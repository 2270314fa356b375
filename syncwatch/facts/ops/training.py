"""Optimizers, gradient clipping, scaling, schedulers and the backward pass."""

from __future__ import annotations

from collections.abc import Callable

from syncwatch.facts.conditions import Bound, Condition, Verdict, all_of, attr, flag, is_cuda, is_host, on_cuda
from syncwatch.facts.describe import Arg
from syncwatch.facts.table import Case, fact, reads, uploads
from syncwatch.model import Kind


def _per_parameter(number: int) -> Callable[[Bound], int | None]:
    def waits(bound: Bound) -> int | None:
        arg = bound.get("input")
        count = arg.attrs["parameters"].value if arg is not None and "parameters" in arg.attrs else None
        return number * count if isinstance(count, int) else None

    return waits


def _asgd_waits(bound: Bound) -> int | None:
    """Five reads for each parameter in its plain loop, two in the grouped form that is the default on a GPU."""
    arg = bound.get("input")
    foreach = arg.attrs.get("foreach") if arg is not None else None
    return _per_parameter(5 if foreach is not None and foreach.value is False and _chosen(arg) else 2)(bound)


def _chosen(arg: Arg | None) -> bool:
    """Whether `foreach=False` was asked for: left out, it is None and PyTorch chooses the grouped form."""
    return arg is not None and "foreach_given" in arg.attrs


_on_gpu = on_cuda("input").described("the parameters are on the GPU", "the parameters are in host memory")
_SCALERS = ("torch.amp.GradScaler", "torch.cuda.amp.GradScaler", "torch.amp.grad_scaler.GradScaler")

_OPTIMIZERS_SILENT = """
Adadelta Adagrad Adam AdamW Adamax NAdam RAdam RMSprop Rprop
"""

_SCHEDULERS_SILENT = """
LambdaLR MultiplicativeLR StepLR MultiStepLR ConstantLR LinearLR ExponentialLR SequentialLR PolynomialLR
CosineAnnealingLR ChainedScheduler CyclicLR CosineAnnealingWarmRestarts OneCycleLR LRScheduler
"""


_scales = attr("scaler", "enabled", True, unknown=True).described(
    "the scale lives on the device", "the scaler is disabled"
)


def _device_rate(bound: Bound) -> Verdict:
    optimizer = bound.get("input")
    return is_cuda(optimizer.attrs.get("lr")) if optimizer is not None else None


def _rate_waits(bound: Bound) -> int | None:
    """Once for all parameters in the grouped form, which is the default on a GPU."""
    return None if _chosen(bound.get("input")) else 1


def _counter(on_gpu: bool) -> Condition:
    """Where an averaged model's counter of updates is; the averages are on the GPU."""

    def test(bound: Bound) -> Verdict:
        average = bound.get("average")
        counter = None if average is None else average.attrs.get("n_averaged")
        if counter is None:
            return None
        return is_cuda(counter) if on_gpu else all_of(iter((is_host(counter), is_cuda(bound.get("model")))))

    if on_gpu:
        return Condition("the counter of updates is on the GPU, and is read", test, "the counter is in host memory")
    return Condition("the counter of updates is in host memory, and is uploaded", test, "the model is in host memory")


def _average_waits(number: int) -> Callable[[Bound], int | None]:
    """With a model in host memory its parameters are uploaded as well."""
    return lambda bound: number if is_cuda(bound.get("model")) is not False else None


FACTS = (
    fact(
        ("torch.optim.swa_utils.AveragedModel.update_parameters",),
        "average model",
        reads(_counter(True), waits=_average_waits(3)),
        uploads(_counter(False), waits=_average_waits(2)),
        instead="average by hand: torch._foreach_lerp_(averages, parameters, 1 - decay)",
    ),
    fact(
        ("torch.optim.ASGD.step",),
        "input closure",
        reads(_on_gpu & ~attr("input", "capturable", False), waits=_asgd_waits),
        instead="capturable=True, or another optimizer",
    ),
    fact(
        ("torch.optim.Adafactor.step",),
        "input closure",
        reads(_on_gpu, waits=_per_parameter(2)),
        instead="another optimizer, or an implementation without host reads",
    ),
    fact(
        ("torch.optim.SGD.step",),
        "input closure",
        reads(
            (Condition("", _device_rate) & ~attr("input", "fused", False, unknown=False)).described(
                "the learning rate is a CUDA tensor, which is read", "the learning rate is a host number"
            ),
            waits=_rate_waits,
        ),
        instead="compute the learning rate on the host, from the number of the step",
    ),
    fact(
        ("torch.optim.LBFGS.step",),
        "input closure",
        reads(_on_gpu, waits=None),
        instead="its line search is host code by design",
    ),
    fact(
        ("torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad_norm"),
        "parameters max_norm norm_type error_if_nonfinite foreach",
        reads(
            on_cuda("parameters") & flag("error_if_nonfinite"),
            instead="error_if_nonfinite=False, and watch the norm every N steps",
        ),
        reads(on_cuda("max_norm"), instead="pass the norm as a Python number"),
    ),
    fact(
        ("torch.nn.utils.get_total_norm",),
        "parameters norm_type error_if_nonfinite foreach",
        reads(
            on_cuda("parameters") & flag("error_if_nonfinite"),
            instead="error_if_nonfinite=False, and watch the norm every N steps",
        ),
    ),
    fact(
        ("torch.optim.SparseAdam.step",),
        "input closure",
        Case(
            Kind.DYNAMIC_SHAPE,
            _on_gpu.described("the sparse gradients are coalesced", "the parameters are in host memory"),
            None,
            reported=False,
        ),
        instead="dense gradients: sparse=False in the embedding",
    ),
    fact(
        tuple(f"{scaler}.step" for scaler in _SCALERS),
        "scaler optimizer",
        reads(
            (~attr("optimizer", "fused", False) & attr("scaler", "enabled", True, unknown=True)).described(
                "the optimizer is not fused, so that the scaler reads whether a gradient overflowed",
                "the optimizer is fused and skips the step on the device",
            )
        ),
        instead="an optimizer with fused=True decides on the device",
    ),
    fact(
        tuple(f"{scaler}.{name}" for scaler in _SCALERS for name in ("scale", "unscale_", "update", "is_enabled")),
        "scaler outputs",
    ),
    fact(
        tuple(f"{scaler}.get_scale" for scaler in _SCALERS),
        "scaler",
        reads(_scales),
        instead="read it every N steps",
    ),
    fact(
        tuple(f"{scaler}.state_dict" for scaler in _SCALERS),
        "scaler",
        reads(_scales, waits=2),
        instead="read it every N steps",
    ),
    fact(
        ("torch.optim.lr_scheduler.ReduceLROnPlateau.step",),
        "input metrics epoch",
        reads(on_cuda("metrics")),
        instead="step it once an epoch, with a host number",
    ),
    fact(
        ("torch.autograd.detect_anomaly", "torch.autograd.anomaly_mode.detect_anomaly"),
        "check_nan",
        Case(
            Kind.SCALAR_READ,
            flag("check_nan", True).described(
                "every gradient that a backward pass computes under it is checked for NaN on the host",
                "`check_nan=False`",
            ),
            None,
        ),
        instead="switch it on only while hunting a NaN",
    ),
    fact(
        ("torch.autograd.set_detect_anomaly", "torch.autograd.anomaly_mode.set_detect_anomaly"),
        "mode check_nan",
        Case(
            Kind.SCALAR_READ,
            (flag("mode", True) & flag("check_nan", True)).described(
                "every gradient that a backward pass computes under it is checked for NaN on the host",
                "the mode is switched off",
            ),
            None,
        ),
        instead="switch it on only while hunting a NaN",
    ),
    fact(
        ("torch.Tensor.backward", "torch.autograd.backward", "torch.autograd.grad"),
        "input gradient",
        note="The backward of x[mask] counts the mask again, and that of a copy to the host is a copy from it.",
    ),
    fact(
        (
            *(f"torch.optim.{name}.step" for name in _OPTIMIZERS_SILENT.split()),
            *(f"torch.optim.lr_scheduler.{name}.step" for name in _SCHEDULERS_SILENT.split()),
            "torch.optim.Optimizer.zero_grad",
            "torch.nn.utils.clip_grad_value_",
            "torch.nn.utils.clip_grads_with_norm_",
            "torch.nn.Module.zero_grad",
            "torch.nn.Module.state_dict",
            "torch.nn.Module.parameters",
            "torch.utils.checkpoint.checkpoint",
        ),
        "input",
    ),
)

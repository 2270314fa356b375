"""What torch does in Python around its operators: initialisation, utilities, transforms, quantization."""

# mypy: disable-error-code="misc, no-untyped-call, no-any-return"
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from syncwatch.facts.measure.probes import Program, probe
from syncwatch.facts.measure.probes.tables_cuda import capture, cuda, data
from syncwatch.facts.measure.probes.tables_layouts import masked, nested, quantized

Table = dict[str, tuple[Callable[[], Any], Callable[..., Any]]]


def programs(device: str) -> Iterator[Program]:
    for side, where in (("", device), (" host", "cpu")):
        for make in (_init, _utilities, _training, _transforms, nested, masked, quantized, data):
            for name, (setup, act) in make(where).items():
                if where == device or not any(word in name for word in ("capturable", "pinned", "DataParallel")):
                    yield probe(f"{name}{side}", setup, act)
    for name, (setup, act) in cuda(device).items():
        yield probe(name, setup, act)
    if device == "cuda":
        yield "CUDAGraph capture", lambda: capture(device)
        yield probe(
            "make_graphed_callables",
            lambda: _linear(device),
            lambda m, x: torch.cuda.make_graphed_callables(m, (x,)),
        )


_WITH_RATES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Adam", {"capturable": True}),
    ("Adam", {"fused": True}),
    ("AdamW", {"foreach": False, "capturable": True}),
    ("RMSprop", {"capturable": True}),
    ("SGD", {"fused": True}),
    ("Adagrad", {"fused": True}),
)


def _linear(device: str) -> tuple[nn.Module, torch.Tensor]:
    return nn.Linear(4, 4).to(device), torch.rand(2, 4, device=device)


def _stepped(device: str, kind: str, **options: Any) -> Any:
    model, x = _linear(device)
    optimizer = getattr(torch.optim, kind)(model.parameters(), **options)
    for _ in range(2):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
    model(x).sum().backward()
    return optimizer


def _init(device: str) -> Table:
    def weight() -> torch.Tensor:
        return torch.empty(8, 8, device=device)

    names = """uniform_ normal_ ones_ zeros_ eye_ xavier_uniform_ xavier_normal_ kaiming_uniform_ kaiming_normal_
    trunc_normal_ orthogonal_"""
    table: Table = {f"init.{name}": (weight, lambda x, n=name: getattr(nn.init, n)(x)) for name in names.split()}
    table["init.constant_"] = (weight, lambda x: nn.init.constant_(x, 0.5))
    table["init.sparse_"] = (weight, lambda x: nn.init.sparse_(x, 0.5))
    table["init.dirac_"] = (lambda: torch.empty(4, 4, 3, device=device), lambda x: nn.init.dirac_(x))
    table["Linear on the device"] = (tuple, lambda: nn.Linear(4, 4, device=device))
    table["Embedding on the device"] = (tuple, lambda: nn.Embedding(4, 4, device=device))
    table["MultiheadAttention on the device"] = (tuple, lambda: nn.MultiheadAttention(4, 2, device=device))
    table["reset_parameters"] = (lambda: nn.Linear(4, 4).to(device), lambda m: m.reset_parameters())
    for name in [
        "bartlett",
        "blackman",
        "cosine",
        "exponential",
        "gaussian",
        "general_hamming",
        "hamming",
        "hann",
        "kaiser",
        "nuttall",
    ]:
        options = {"std": 1.0} if name == "gaussian" else {}
        table[f"windows.{name}"] = (
            tuple,
            lambda n=name, o=options: getattr(torch.signal.windows, n)(8, device=device, **o),
        )
    for name in ("hann_window", "hamming_window", "kaiser_window", "blackman_window", "bartlett_window"):
        table[name] = (tuple, lambda n=name: getattr(torch, n)(8, device=device))
    return table


def _utilities(device: str) -> Table:
    from torch.nn.utils import prune

    def model() -> nn.Module:
        return nn.Linear(8, 8).to(device)

    def pair() -> tuple[nn.Module, nn.Module]:
        return nn.Conv2d(3, 4, 3).to(device).eval(), nn.BatchNorm2d(4).to(device).eval()

    def pruned() -> nn.Module:
        made = model()
        prune.l1_unstructured(made, "weight", 0.5)
        return made

    def with_gradients() -> nn.Module:
        made = model()
        made(torch.rand(2, 8, device=device)).sum().backward()
        return made

    return {
        "prune.l1_unstructured": (model, lambda m: prune.l1_unstructured(m, "weight", 0.5)),
        "prune.random_unstructured": (model, lambda m: prune.random_unstructured(m, "weight", 0.5)),
        "prune.ln_structured": (model, lambda m: prune.ln_structured(m, "weight", 0.5, n=2, dim=0)),
        "prune.global_unstructured": (
            model,
            lambda m: prune.global_unstructured([(m, "weight")], prune.L1Unstructured, amount=0.5),
        ),
        "prune.remove": (pruned, lambda m: prune.remove(m, "weight")),
        "forward of a pruned module": (pruned, lambda m: m(torch.rand(2, 8, device=device))),
        "spectral_norm()": (model, lambda *given: nn.utils.spectral_norm(*given)),
        "parametrizations.orthogonal()": (model, lambda *given: nn.utils.parametrizations.orthogonal(*given)),
        "parametrizations.spectral_norm()": (model, lambda *given: nn.utils.parametrizations.spectral_norm(*given)),
        "parametrizations.weight_norm()": (model, lambda *given: nn.utils.parametrizations.weight_norm(*given)),
        "weight of an orthogonal module": (
            lambda: nn.utils.parametrizations.orthogonal(model()),
            lambda m: m.weight,
        ),
        "fuse_conv_bn_eval": (pair, lambda *given: nn.utils.fuse_conv_bn_eval(*given)),
        "parameters_to_vector": (model, lambda m: nn.utils.parameters_to_vector(m.parameters())),
        "vector_to_parameters": (
            lambda: (model(), torch.rand(72, device=device)),
            lambda m, v: nn.utils.vector_to_parameters(v, m.parameters()),
        ),
        "get_total_norm": (
            with_gradients,
            lambda m: nn.utils.get_total_norm([p.grad for p in m.parameters()]),
        ),
        "get_total_norm, error_if_nonfinite": (
            with_gradients,
            lambda m: nn.utils.get_total_norm([p.grad for p in m.parameters()], error_if_nonfinite=True),
        ),
        "clip_grads_with_norm_": (
            with_gradients,
            lambda m: nn.utils.clip_grads_with_norm_(m.parameters(), 1.0, torch.ones((), device=device)),
        ),
        "clip_grad_norm_ to a device number": (
            with_gradients,
            lambda m: nn.utils.clip_grad_norm_(m.parameters(), torch.ones((), device=device)),
        ),
        "clip_grad_norm_ of infinite order": (
            with_gradients,
            lambda m: nn.utils.clip_grad_norm_(m.parameters(), 1.0, norm_type=float("inf")),
        ),
        "clip_grad_norm_, one by one": (
            with_gradients,
            lambda m: nn.utils.clip_grad_norm_(m.parameters(), 1.0, foreach=False),
        ),
        "clip_grad_value_": (with_gradients, lambda m: nn.utils.clip_grad_value_(m.parameters(), 1.0)),
        "Module.half": (model, lambda m: m.half()),
        "Module.to_empty": (model, lambda m: m.to_empty(device=device)),
        "Module.share_memory": (model, lambda m: m.share_memory()),
        "Module.requires_grad_": (model, lambda m: m.requires_grad_(False)),
        "Module.named_parameters": (model, lambda m: list(m.named_parameters())),
        "Module.train": (model, lambda m: m.train()),
        "Module.state_dict to host": (
            model,
            lambda m: {name: value.cpu() for name, value in m.state_dict().items()},
        ),
        "load_state_dict, assigned": (
            lambda: (model(), model().state_dict()),
            lambda m, s: m.load_state_dict(s, assign=True),
        ),
        "repr of a module": (model, repr),
        "repr of a parameter list": (lambda: nn.ParameterList([torch.rand(2, device=device)]), repr),
        "DataParallel forward": (
            lambda: (nn.DataParallel(model()), torch.rand(2, 8, device=device)),
            lambda m, x: m(x),
        ),
    }


def _training(device: str) -> Table:
    swa = torch.optim.swa_utils

    def loaded(kind: str, **options: Any) -> Callable[[], Any]:
        return lambda: (lambda o: (o, o.state_dict()))(_stepped(device, kind, **options))

    def from_host() -> Any:
        optimizer = _stepped(device, "AdamW")
        state = optimizer.state_dict()
        state["state"] = {k: {n: v.cpu() for n, v in s.items()} for k, s in state["state"].items()}
        return optimizer, state

    def averaged() -> Any:
        model, _ = _linear(device)
        average = swa.AveragedModel(model)
        average.update_parameters(model)
        return average, model

    def with_batches() -> Any:
        model = nn.Sequential(nn.BatchNorm1d(4)).to(device)
        return [torch.rand(8, 4, device=device) for _ in range(3)], model

    def sparse_adam() -> Any:
        layer = nn.Embedding(9, 4, sparse=True).to(device)
        optimizer = torch.optim.SparseAdam(layer.parameters())
        for _ in range(2):
            layer(torch.zeros(3, dtype=torch.long, device=device)).sum().backward()
            optimizer.step()
        return optimizer

    def scheduled(name: str, **options: Any) -> Callable[[], Any]:
        return lambda: getattr(torch.optim.lr_scheduler, name)(_stepped(device, "SGD", lr=0.1), **options)

    def device_rate(kind: str, **options: Any) -> Callable[[], Any]:
        return lambda: _stepped(device, kind, lr=torch.tensor(0.1, device=device), **options)

    def scheduled_device_rate() -> Any:
        return torch.optim.lr_scheduler.StepLR(_stepped(device, "AdamW", lr=torch.tensor(0.1), capturable=False), 1)

    table: Table = {
        "SparseAdam.step": (sparse_adam, lambda o: o.step()),
        "Adam.state_dict": (lambda: _stepped(device, "Adam"), lambda o: o.state_dict()),
        "Adam.load_state_dict": (loaded("Adam"), lambda o, s: o.load_state_dict(s)),
        "Adam.load_state_dict, capturable": (loaded("Adam", capturable=True), lambda o, s: o.load_state_dict(s)),
        "AdamW.load_state_dict of host state": (from_host, lambda o, s: o.load_state_dict(s)),
        "SGD.load_state_dict": (loaded("SGD", lr=0.1, momentum=0.9), lambda o, s: o.load_state_dict(s)),
        "zero_grad to zeros": (lambda: _stepped(device, "AdamW"), lambda o: o.zero_grad(set_to_none=False)),
        "add_param_group": (
            lambda: _stepped(device, "AdamW"),
            lambda o: o.add_param_group({"params": [torch.rand(2, device=device, requires_grad=True)]}),
        ),
        "repr of an optimizer": (lambda: _stepped(device, "AdamW"), repr),
        "update_bn": (with_batches, lambda xs, m: swa.update_bn(xs, m, device=device)),
        "AveragedModel.forward": (lambda: (averaged()[0], torch.rand(2, 4, device=device)), lambda m, x: m(x)),
        "AveragedModel()": (lambda: _linear(device)[0], lambda m: swa.AveragedModel(m)),
        "AveragedModel of host model, moved": (
            lambda: (lambda m, x: (swa.AveragedModel(m, device=device), m))(*_linear("cpu")),
            lambda a, m: a.update_parameters(m),
        ),
        "AveragedModel with get_ema_multi_avg_fn": (
            lambda: (lambda m: (swa.AveragedModel(m, multi_avg_fn=swa.get_ema_multi_avg_fn(0.9)), m))(
                _linear(device)[0]
            ),
            lambda a, m: (a.update_parameters(m), a.update_parameters(m)),
        ),
        "SWALR.step": (
            lambda: swa.SWALR(_stepped(device, "SGD", lr=0.1), swa_lr=0.05),
            lambda s: s.step(),
        ),
        "StepLR of a host tensor rate": (scheduled_device_rate, lambda s: s.step()),
        "SequentialLR.step": (
            lambda: (
                lambda o: torch.optim.lr_scheduler.SequentialLR(
                    o,
                    [torch.optim.lr_scheduler.ConstantLR(o), torch.optim.lr_scheduler.ExponentialLR(o, 0.9)],
                    milestones=[2],
                )
            )(_stepped(device, "SGD", lr=0.1)),
            lambda s: s.step(),
        ),
        "ChainedScheduler.step": (
            lambda: torch.optim.lr_scheduler.ChainedScheduler(
                [torch.optim.lr_scheduler.ConstantLR(_stepped(device, "SGD", lr=0.1))]
            ),
            lambda s: s.step(),
        ),
        "LRScheduler.get_last_lr": (scheduled("StepLR", step_size=1), lambda s: s.get_last_lr()),
        "save_on_cpu": (
            lambda: torch.rand(64, device=device, requires_grad=True),
            lambda x: _saved_on_host(x, False),
        ),
        "save_on_cpu, pinned": (
            lambda: torch.rand(64, device=device, requires_grad=True),
            lambda x: _saved_on_host(x, True),
        ),
        "checkpoint_sequential": (
            lambda: (
                nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.Linear(4, 4)).to(device),
                torch.rand(2, 4, device=device),
            ),
            lambda m, x: torch.utils.checkpoint.checkpoint_sequential(m, 2, x, use_reentrant=False).sum().backward(),
        ),
        "checkpoint, reentrant": (
            lambda: (nn.Dropout().to(device), torch.rand(2, 4, device=device, requires_grad=True)),
            lambda m, x: torch.utils.checkpoint.checkpoint(m, x, use_reentrant=True).sum().backward(),
        ),
        "checkpoint, no random state kept": (
            lambda: (nn.Dropout().to(device), torch.rand(2, 4, device=device, requires_grad=True)),
            lambda m, x: (
                torch.utils.checkpoint.checkpoint(m, x, use_reentrant=False, preserve_rng_state=False).sum().backward()
            ),
        ),
        "autograd.grad": (
            lambda: torch.rand(3, device=device, requires_grad=True),
            lambda x: torch.autograd.grad(x.sum(), x),
        ),
        "backward twice": (
            lambda: torch.rand(3, device=device, requires_grad=True),
            lambda x: torch.autograd.grad(torch.autograd.grad((x**3).sum(), x, create_graph=True)[0].sum(), x),
        ),
        "gradcheck": (
            lambda: torch.rand(2, device=device, dtype=torch.double, requires_grad=True),
            lambda x: torch.autograd.gradcheck(torch.sin, (x,)),
        ),
        "autocast forward": (lambda: _linear(device), lambda m, x: _autocast(device, m, x)),
        "record_function": (lambda: torch.rand(3, device=device), _recorded),
    }
    for kind, options in _WITH_RATES:
        shown = ", ".join(f"{key}={value}" for key, value in options.items())
        table[f"{kind}(lr=device tensor, {shown}).step"] = (device_rate(kind, **options), lambda o: o.step())
        table[f"{kind}(lr=number, {shown}).step"] = (
            lambda k=kind, o=options: _stepped(device, k, lr=0.1, **o),
            lambda o: o.step(),
        )
    if hasattr(torch.optim, "Muon"):

        def muon() -> Any:
            weight = torch.rand(4, 4, device=device, requires_grad=True)
            optimizer = torch.optim.Muon([weight])
            for _ in range(2):
                weight.square().sum().backward()
                optimizer.step()
            return optimizer

        table["Muon.step"] = (muon, lambda o: o.step())
    return table


def _saved_on_host(x: torch.Tensor, pinned: bool) -> None:
    with torch.autograd.graph.save_on_cpu(pin_memory=pinned):
        y = (x * x).sum()
    y.backward()


def _autocast(device: str, model: nn.Module, x: torch.Tensor) -> Any:
    with torch.autocast(device, dtype=torch.bfloat16):
        return model(x)


def _recorded(x: torch.Tensor) -> Any:
    with torch.profiler.record_function("part"):
        return x + 1


def _transforms(device: str) -> Table:
    func = torch.func

    def vector() -> torch.Tensor:
        return torch.rand(4, device=device)

    def square(x: torch.Tensor) -> torch.Tensor:
        return (x * x).sum()

    def modules() -> Any:
        return [nn.Linear(4, 4).to(device) for _ in range(2)]

    return {
        "func.grad": (vector, lambda x: func.grad(square)(x)),
        "func.vjp": (vector, lambda x: func.vjp(square, x)),
        "func.jvp": (vector, lambda x: func.jvp(square, (x,), (x,))),
        "func.jacrev": (vector, lambda x: func.jacrev(torch.sin)(x)),
        "func.jacfwd": (vector, lambda x: func.jacfwd(torch.sin)(x)),
        "func.hessian": (vector, lambda x: func.hessian(square)(x)),
        "func.vmap": (lambda: torch.rand(3, 4, device=device), lambda x: func.vmap(square)(x)),
        "vmap with randomness": (
            lambda: torch.rand(3, 4, device=device),
            lambda x: func.vmap(lambda y: y + torch.rand_like(y), randomness="different")(x),
        ),
        "func.functional_call": (
            lambda: _linear(device),
            lambda m, x: func.functional_call(m, dict(m.named_parameters()), (x,)),
        ),
        "func.stack_module_state": (lambda: [modules()], lambda ms: func.stack_module_state(ms[0])),
        "autograd.functional.jacobian": (vector, lambda x: torch.autograd.functional.jacobian(torch.sin, x)),
        "autograd.functional.hessian": (vector, lambda x: torch.autograd.functional.hessian(square, x)),
        "autograd.functional.hvp": (vector, lambda x: torch.autograd.functional.hvp(square, x, x)),
        "jit.trace": (lambda: _linear(device), lambda m, x: torch.jit.trace(m, x)),
        "jit.trace, unchecked": (lambda: _linear(device), lambda m, x: torch.jit.trace(m, x, check_trace=False)),
        "create_block_mask": (tuple, lambda: _block_mask(device)),
    }


def _block_mask(device: str) -> Any:
    from torch.nn.attention.flex_attention import create_block_mask

    return create_block_mask(lambda b, h, q, k: q >= k, 1, 1, 256, 256, device=device)

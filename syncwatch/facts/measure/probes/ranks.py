"""torch.distributed in a process group of one rank: what the host does is the same as in a large one."""

# mypy: disable-error-code="misc, no-untyped-call, no-any-return"
from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import distributed, nn

from syncwatch.facts.measure.probes import Program, probe
from syncwatch.facts.measure.witness import Action


def programs(device: str) -> Iterator[Program]:
    if not distributed.is_available():
        return
    for backend in ("nccl", "gloo") if device == "cuda" else ("gloo",):
        yield from _collectives(device, backend)
        yield from _replicas(device, backend)
    yield from _sharded(device)
    yield from _optimizers(device)


@cache
def _group(device: str, backend: str) -> Any:
    """The process group of a backend: the default one is the device's."""
    default = "nccl" if device == "cuda" else "gloo"
    if not distributed.is_initialized():
        store = distributed.FileStore(tempfile.mktemp(), 1)
        options: dict[str, Any] = {"device_id": torch.device(device, 0)} if device == "cuda" else {}
        distributed.init_process_group(default, store=store, rank=0, world_size=1, **options)
    return distributed.group.WORLD if backend == default else distributed.new_group([0], backend=backend)


def _collectives(device: str, backend: str) -> Iterator[Program]:
    def vector() -> torch.Tensor:
        return torch.rand(12, device=device)

    def pair() -> tuple[torch.Tensor, torch.Tensor]:
        return vector(), vector()

    def on(name: str, setup: Callable[[], Any], act: Callable[..., Any]) -> Program:
        def make() -> Action:
            group = _group(device, backend)
            inputs = setup()
            arguments = inputs if isinstance(inputs, tuple) else (inputs,)
            return lambda: act(*arguments, group=group)

        return f"{name}, {backend}", make

    d = distributed
    yield on("barrier", tuple, lambda group: d.barrier(group=group))
    yield on("barrier async", tuple, lambda group: d.barrier(group=group, async_op=True))
    yield on("all_reduce", vector, lambda x, group: d.all_reduce(x, group=group))
    yield on("all_reduce of host data", lambda: torch.rand(4), lambda x, group: d.all_reduce(x, group=group))
    yield on("all_reduce async", vector, lambda x, group: d.all_reduce(x, group=group, async_op=True))
    yield on("all_reduce async, waited", vector, lambda x, group: d.all_reduce(x, group=group, async_op=True).wait())
    yield on("broadcast", vector, lambda x, group: d.broadcast(x, 0, group=group))
    yield on("reduce", vector, lambda x, group: d.reduce(x, 0, group=group))
    yield on("all_gather", pair, lambda x, y, group: d.all_gather([y], x, group=group))
    yield on("all_gather_into_tensor", pair, lambda x, y, group: d.all_gather_into_tensor(y, x, group=group))
    yield on("reduce_scatter_tensor", pair, lambda x, y, group: d.reduce_scatter_tensor(y, x, group=group))
    yield on("reduce_scatter", pair, lambda x, y, group: d.reduce_scatter(y, [x], group=group))
    yield on("all_to_all_single", pair, lambda x, y, group: d.all_to_all_single(y, x, group=group))
    yield on("all_to_all_single, sizes", pair, lambda x, y, group: d.all_to_all_single(y, x, [12], [12], group=group))
    yield on("all_to_all", pair, lambda x, y, group: d.all_to_all([y], [x], group=group))
    yield on("gather", pair, lambda x, y, group: d.gather(x, [y], 0, group=group))
    yield on("scatter", pair, lambda x, y, group: d.scatter(y, [x], 0, group=group))
    yield on("all_gather_object", tuple, lambda group: d.all_gather_object([None], {"a": 1}, group=group))
    yield on("broadcast_object_list", tuple, lambda group: d.broadcast_object_list([{"a": 1}], 0, group=group))
    yield on("gather_object", tuple, lambda group: d.gather_object({"a": 1}, [None], 0, group=group))
    yield on("scatter_object_list", tuple, lambda group: d.scatter_object_list([None], [{"a": 1}], 0, group=group))
    yield on("monitored_barrier", tuple, lambda group: d.monitored_barrier(group=group))
    yield on("get_rank", tuple, lambda group: (d.get_rank(group), d.get_world_size(group)))
    yield on("nn.all_reduce", vector, lambda x, group: _autograd().all_reduce(x, group=group))
    yield on("new_group", tuple, lambda group: d.new_group([0], backend=backend))


def _autograd() -> Any:
    import torch.distributed.nn

    return torch.distributed.nn


class _TwoPaths(nn.Module):
    """The second layer has a part in the result only on request."""

    def __init__(self, norm: bool = False) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4) if norm else nn.Identity()

    def forward(self, x: torch.Tensor, both: bool) -> torch.Tensor:
        y = self.norm(self.first(x))
        return self.second(y) if both else y


def _replicas(device: str, backend: str) -> Iterator[Program]:
    """DistributedDataParallel: `passes` went before the measured one."""

    def ready(both: bool, passes: int, norm: bool = False, **options: Any) -> tuple[Any, torch.Tensor]:
        group = _group(device, backend)
        model = nn.parallel.DistributedDataParallel(_TwoPaths(norm).to(device), process_group=group, **options)
        batch = torch.rand(8, 4, device=device)
        for _ in range(passes):
            model(batch, both).sum().backward()
        return model, batch

    def full(name: str, both: bool, passes: int = 3, norm: bool = False, **options: Any) -> Program:
        return probe(
            f"DDP {name}, {backend}",
            lambda: ready(both, passes, norm, **options),
            lambda m, x: m(x, both).sum().backward(),
        )

    yield full("all used", True)
    yield full("looked for, all used", True, find_unused_parameters=True)
    yield full("looked for, one unused", False, find_unused_parameters=True)
    yield full("first pass", True, 0)
    yield full("second pass", True, 1)
    yield full("looked for, one unused, first pass", False, 0, find_unused_parameters=True)
    yield full("static graph", True, static_graph=True)
    yield full("static graph, one unused", False, static_graph=True)
    yield full("static graph, first pass", True, 0, static_graph=True)
    yield full("static graph, one unused, first pass", False, 0, static_graph=True)
    yield full("bucket views", True, gradient_as_bucket_view=True)
    yield full("bucket views, looked for, one unused", False, gradient_as_bucket_view=True, find_unused_parameters=True)
    yield full("buffers", True, norm=True)
    yield full("buffers not broadcast", True, norm=True, broadcast_buffers=False)
    yield probe(f"DDP forward, {backend}", lambda: ready(True, 3), lambda m, x: m(x, True))
    yield probe(
        f"DDP forward, looked for, {backend}",
        lambda: ready(False, 3, find_unused_parameters=True),
        lambda m, x: m(x, False),
    )
    yield probe(
        f"DDP backward, looked for, one unused, {backend}",
        lambda: _forwarded(*ready(False, 3, find_unused_parameters=True)),
        lambda m, loss: loss.backward(),
    )
    yield probe(
        f"DDP no_sync, {backend}",
        lambda: ready(False, 3, find_unused_parameters=True),
        _without_sync,
    )
    yield probe(
        f"DDP(), {backend}",
        lambda: (_TwoPaths().to(device), _group(device, backend)),
        lambda m, group: nn.parallel.DistributedDataParallel(m, process_group=group),
    )
    yield probe(
        f"DDP clip_grad_norm_, {backend}",
        lambda: ready(True, 3)[0],
        lambda m: nn.utils.clip_grad_norm_(m.parameters(), 1.0),
    )
    yield probe(f"DDP join, {backend}", lambda: ready(True, 3), _joined)


def _forwarded(model: Any, batch: torch.Tensor) -> tuple[Any, torch.Tensor]:
    return model, model(batch, False).sum()


def _without_sync(model: Any, batch: torch.Tensor) -> None:
    with model.no_sync():
        model(batch, False).sum().backward()


def _joined(model: Any, batch: torch.Tensor) -> None:
    with distributed.algorithms.join.Join([model]):
        model(batch, True).sum().backward()


def _sharded(device: str) -> Iterator[Program]:
    """FullyShardedDataParallel, fully_shard, distributed tensors and checkpoints."""
    if device != "cuda":
        return

    def wrapped(passes: int = 2, **options: Any) -> tuple[Any, torch.Tensor]:
        from torch.distributed.fsdp import FullyShardedDataParallel

        _group(device, "nccl")
        model = FullyShardedDataParallel(_TwoPaths().to(device), use_orig_params=True, **options)
        batch = torch.rand(8, 4, device=device)
        for _ in range(passes):
            model(batch, True).sum().backward()
        return model, batch

    def split(passes: int = 2) -> tuple[Any, torch.Tensor]:
        from torch.distributed.fsdp import fully_shard

        _group(device, "nccl")
        model = fully_shard(_TwoPaths().to(device))
        batch = torch.rand(8, 4, device=device)
        for _ in range(passes):
            model(batch, True).sum().backward()
        return model, batch

    def tensor() -> Any:
        from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh

        _group(device, "nccl")
        return distribute_tensor(torch.rand(8, 4, device=device), init_device_mesh("cuda", (1,)), [Shard(0)])

    yield probe("FSDP forward", wrapped, lambda m, x: m(x, True))
    yield probe("FSDP forward and backward", wrapped, lambda m, x: m(x, True).sum().backward())
    yield probe("FSDP first pass", lambda: wrapped(0), lambda m, x: m(x, True).sum().backward())
    yield probe("FSDP clip_grad_norm_", wrapped, lambda m, x: m.clip_grad_norm_(1.0))
    yield probe("FSDP state_dict", wrapped, lambda m, x: m.state_dict())
    yield probe("fully_shard forward", split, lambda m, x: m(x, True))
    yield probe("fully_shard forward and backward", split, lambda m, x: m(x, True).sum().backward())
    yield probe("fully_shard first pass", lambda: split(0), lambda m, x: m(x, True).sum().backward())
    yield probe("fully_shard clip_grad_norm_", split, lambda m, x: nn.utils.clip_grad_norm_(m.parameters(), 1.0))
    yield probe("fully_shard state_dict", split, lambda m, x: m.state_dict())
    yield probe("DTensor full_tensor", tensor, lambda x: x.full_tensor())
    yield probe("DTensor to_local", tensor, lambda x: x.to_local())
    yield probe("DTensor item", tensor, lambda x: x.sum().item())
    yield probe("model state dict to host", split, lambda m, x: _model_state(m, cpu_offload=True))
    yield probe("model state dict", split, lambda m, x: _model_state(m))
    yield probe("checkpoint.save", lambda: split()[0], _save)


def _model_state(model: nn.Module, **options: Any) -> Any:
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

    return get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, **options))


def _save(model: nn.Module) -> None:
    import torch.distributed.checkpoint as checkpoint

    with tempfile.TemporaryDirectory() as folder:
        checkpoint.save(model.state_dict(), checkpoint_id=str(Path(folder) / "state"))


def _optimizers(device: str) -> Iterator[Program]:
    def redundant() -> Any:
        from torch.distributed.optim import ZeroRedundancyOptimizer

        _group(device, "nccl" if device == "cuda" else "gloo")
        model = nn.Linear(4, 4).to(device)
        optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=0.1)
        for _ in range(2):
            model(torch.rand(2, 4, device=device)).sum().backward()
            optimizer.step()
        return optimizer

    yield probe("ZeroRedundancyOptimizer.step", redundant, lambda o: o.step())
    yield probe("ZeroRedundancyOptimizer.consolidate_state_dict", redundant, lambda o: o.consolidate_state_dict())

"""Two ranks of a program that asks for NCCL: collectives in groups, sharded models, tensors over a mesh."""

from __future__ import annotations

from pathlib import Path

import pytest

TIMEOUT = 180
PROLOGUE = """
import sys, torch, torch.distributed as dist
from torch import nn
import syncwatch
rank = int(sys.argv[2])
with syncwatch.emulate(devices=2):
    torch.cuda.set_device(rank)
    device = torch.device("cuda", rank)
    dist.init_process_group("nccl", init_method=f"file://{sys.argv[1]}/meeting", rank=rank, world_size=2)
    torch.manual_seed(0)
"""


@pytest.fixture
def ranks(tmp_path: Path, on_two_ranks):
    """Runs a program on two ranks; each must print `done`."""

    def ranks(code: str) -> None:
        path = tmp_path / "train.py"
        body = "".join(f"    {line}\n" for line in code.splitlines())
        path.write_text(PROLOGUE + body + "    dist.barrier()\nprint('done', flush=True)\nimport os; os._exit(0)\n")
        for out, err in on_two_ranks(path, TIMEOUT):
            assert "done" in out, err[-3000:]

    return ranks


def test_collectives_gathered_into_one(ranks):
    ranks(
        "gathered = [torch.ones(2, device=device) for _ in range(2)]\n"
        "with dist._coalescing_manager(device=device, async_ops=True) as together:\n"
        "    for tensor in gathered:\n"
        "        dist.all_reduce(tensor)\n"
        "together.wait()\n"
        "assert [tensor.tolist() for tensor in gathered] == [[2, 2], [2, 2]]\n"
    )


def test_functional_collectives_are_waited_for_through_views(ranks):
    ranks(
        "import torch.distributed._functional_collectives as functional\n"
        "for _ in range(20):\n"
        "    summed = functional.all_reduce(torch.ones(1000, device=device), 'sum', dist.group.WORLD)\n"
        "    assert summed.view(10, 100).sum().item() == 2000\n"
    )


def test_batch_normalization_over_ranks_is_that_of_the_whole_batch(ranks):
    ranks(
        "x = torch.randn(8, 3)\n"
        "whole, mine = nn.BatchNorm1d(3), nn.BatchNorm1d(3).to(device)\n"
        "synced = nn.parallel.DistributedDataParallel(nn.SyncBatchNorm.convert_sync_batchnorm(mine), [rank])\n"
        "full, part = x.clone().requires_grad_(), x[rank * 4 : rank * 4 + 4].to(device).requires_grad_()\n"
        "whole(full).square().sum().backward()\n"
        "out = synced(part)\n"
        "out.square().sum().backward()\n"
        "close = torch.testing.assert_close\n"
        "close(out.detach().cpu(), whole(x)[rank * 4 : rank * 4 + 4].detach())\n"
        "close(part.grad.cpu(), full.grad[rank * 4 : rank * 4 + 4], rtol=1e-3, atol=1e-4)\n"
        "close(mine.weight.grad.cpu() * 2, whole.weight.grad)\n"
        "close(mine.running_var.cpu(), torch.var(x, 0) * 0.1 + 0.9)\n"
    )


def test_sharded_models_train_like_whole_ones(ranks):
    ranks(
        "import copy\n"
        "from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard\n"
        "whole = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4)).to(device)\n"
        "sharded, older = copy.deepcopy(whole), copy.deepcopy(whole)\n"
        "for layer in (sharded[0], sharded[2], sharded):\n"
        "    fully_shard(layer)\n"
        "older = FullyShardedDataParallel(older, device_id=rank, use_orig_params=True)\n"
        "x = torch.randn(2, 4, device=device)\n"
        "models = (whole, sharded, older)\n"
        "optimizers = [torch.optim.AdamW(model.parameters(), lr=0.1) for model in models]\n"
        "for _ in range(2):\n"
        "    for model, optimizer in zip(models, optimizers):\n"
        "        optimizer.zero_grad()\n"
        "        model(x).square().mean().backward()\n"
        "        if model is older:\n"
        "            model.clip_grad_norm_(0.1)\n"
        "        else:\n"
        "            nn.utils.clip_grad_norm_(model.parameters(), 0.1)\n"
        "        optimizer.step()\n"
        "for model in models[1:]:\n"
        "    torch.testing.assert_close(model(x), whole(x))\n"
    )


def test_tensors_and_layers_over_a_mesh(ranks):
    ranks(
        "from torch.distributed.device_mesh import init_device_mesh\n"
        "from torch.distributed.tensor import Shard, distribute_tensor\n"
        "from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module\n"
        "mesh = init_device_mesh('cuda', (2,))\n"
        "x = torch.arange(8.0, device=device).view(4, 2)\n"
        "spread = distribute_tensor(x, mesh, [Shard(0)])\n"
        "assert (spread.device, spread.to_local().shape) == (device, (2, 2))\n"
        "assert (spread * 2).full_tensor().tolist() == (x * 2).tolist()\n"
        "model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4)).to(device)\n"
        "batch = torch.randn(2, 4, device=device)\n"
        "expected = model(batch)\n"
        "split = parallelize_module(model, mesh, {'0': ColwiseParallel(), '2': RowwiseParallel()})\n"
        "out = split(batch)\n"
        "torch.testing.assert_close(out + 0, expected)\n"
        "out.sum().backward()\n"
        "assert model[0].weight.grad.device == device\n"
    )

"""Where devices come from, what tests say about them, and what only looks like a wait."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    "device",
    [
        '"cuda"',
        'torch.device("cuda", 0)',
        '"cuda" if torch.cuda.is_available() else "cpu"',
        'torch.device(f"cuda:{rank}")',
        "torch.accelerator.current_accelerator()",
        "torch.rand(1).cuda().device",
        "torch.nn.Linear(1, 1).cuda().weight.device",
        "next(torch.nn.Linear(1, 1).to('cuda').parameters()).device",
        "args.device",
        "config['device']",
        "rank",
    ],
)
def test_device_expressions(check, device):
    check(
        f"""
        import argparse
        import json
        import os
        import torch

        parser = argparse.ArgumentParser()
        parser.add_argument("--device", default="cuda:0")
        args = parser.parse_args()
        config = json.load(open("config.json"))
        rank = int(os.environ["LOCAL_RANK"])
        device = {device}
        for step in range(3):
            torch.rand(3, device=device).sum().item()  # sync
            torch.rand(3).sum().item()
        """
    )


@pytest.mark.parametrize(
    "expression",
    ["torch.zeros_like(x)", "x.new_zeros(3)", "torch.full_like(x, 2)", "x * h0", "torch.where(x > 0, x, 0)", "x[0]"],
)
def test_results_follow_their_operands(check, expression):
    check(
        f"""
        import torch
        x = torch.rand(3, device="cuda")
        h = torch.rand(3)
        h0 = torch.ones(())
        for step in range(3):
            y = {expression}
            y.sum().item()  # sync
            (h * h0).sum().item()
        """
    )


def test_default_device_and_device_context(check):
    check(
        """
        import torch
        with torch.device("cuda"):
            a = torch.rand(3)
        b = torch.rand(3)
        torch.set_default_device("cuda")
        c = torch.rand(3)
        for step in range(3):
            a.sum().item()  # sync
            b.sum().item()
            c.sum().item()  # sync
        """
    )


def test_modules_parameters_and_buffers(check):
    check(
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))
                self.register_buffer("count", torch.zeros(()))
                self.plain = torch.zeros(())

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x).relu()
                if self.count > 10:  # sync
                    x = x * 0
                if self.plain > 10:
                    x = x * 0
                self.count += 1
                return x

        net = Net().to("cuda")
        for step in range(3):
            out = net(torch.rand(2, 4, device="cuda"))
            out.mean().item()  # sync
        """
    )


def test_forward_of_a_class_that_nobody_makes(check):
    check(
        """
        import torch
        from torch import nn

        class Head(nn.Module):
            def __init__(self, dim, dropout=0.0):
                super().__init__()
                self.proj = nn.Linear(dim, dim)
                self.register_buffer("steps", torch.zeros((), dtype=torch.long))

            def forward(self, x, mask=None):
                x = self.proj(x)
                if mask is not None and mask.any():  # sync
                    x = x.masked_fill(mask, 0.0)
                return x[x > 0]  # sync
        """
    )


def test_narrowing(check):
    check(
        """
        import torch
        from typing import TYPE_CHECKING

        def read(t, flag=None):
            if not isinstance(t, torch.Tensor):
                return float(t)
            if t.is_cuda:
                return t.item()  # sync
            return t.item()

        def by_type(t):
            if t.device.type == "cpu":
                return t.tolist()
            return t.sum().tolist()  # sync

        def maybe(t=None):
            if t is None:
                return 0
            return int(t)  # sync

        if TYPE_CHECKING:
            torch.rand(3, device="cuda").tolist()
        x = torch.rand((), device="cuda")
        for step in range(3):
            read(x), read(torch.rand(())), read(2)
            by_type(x), by_type(torch.rand(3))
            maybe(), maybe(x)
        """
    )


def test_look_alikes_stay_silent(check):
    check(
        """
        import logging
        import numpy as np
        import torch

        x = torch.rand(8, 4, device="cuda")
        mask = x > 0.5
        log = logging.getLogger("train")
        rows = {"a": 1}
        for step in range(3):
            np.arange(3).sum().item()
            np.float64(3.0).item()
            rows.items()
            x.to(torch.float16)
            x.shape[0], x.numel(), x.dtype, len(x), x.dim(), x.size(1), x.is_cuda
            x[mask] = 0
            torch.where(mask, x, 0.0)
            torch.nonzero_static(mask, size=4)
            torch.nn.functional.one_hot(torch.zeros(3, dtype=torch.long, device="cuda"), 5)
            log.debug("loss %s", x.mean())
            f"{x.shape} {x.device}"
            if x is not None and isinstance(x, torch.Tensor):
                pass
            x.mean().detach()
            torch.stack([x, x]).max()
        """
    )


def test_implicit_reads(check):
    check(
        """
        import math
        import torch

        x = torch.rand(8, device="cuda")
        total = x.sum()
        for step in range(3):
            if total > 0:  # sync
                pass
            while x.min() > 2:  # sync
                break
            assert (x >= 0).all()  # sync
            flag = total > 0 and total < 9  # sync
            none = not total  # sync
            pick = 1 if total else 2  # sync
            big = max(total, total * 2)  # sync
            order = sorted([x[0], x[1]])  # sync
            some = any(v > 0 for v in x)  # sync
            kept = [v for v in x if v > 0]  # sync
            inside = 0.5 in x  # sync
            between = 0 < total < 5  # sync
            for i in range(total.long()):  # sync
                break
            row = [1, 2, 3][x.argmax()]  # sync
            math.sqrt(total)  # sync
            print(total)  # sync
            f"{total:.2f}"  # sync
            "%d" % total  # sync
            "{}".format(total)  # sync
            str(x)  # sync
            torch.zeros(total.long())  # sync
        """
    )


def test_shape_from_data(check):
    check(
        """
        import torch

        x = torch.rand(8, 4, device="cuda")
        ids = torch.randint(0, 5, (8,), device="cuda")
        for step in range(3):
            x[x > 0.5]  # sync
            torch.nonzero(x)  # sync
            torch.where(x > 0)  # sync
            torch.unique(ids)  # sync
            torch.bincount(ids)  # sync
            torch.repeat_interleave(x, ids, dim=0)  # sync
            torch.repeat_interleave(x, 2, dim=0)
            torch.masked_select(x, x > 0)  # sync
            x[ids]
            x[[0, 1]]  # sync
            x[0] = 1.0
            x[0, 0] = 1.0  # sync
        """
    )


def test_hooks_of_frameworks(check):
    check(
        """
        import torch
        import lightning as L

        class Model(L.LightningModule):
            def __init__(self):
                super().__init__()
                self.net = torch.nn.Linear(4, 2)

            def training_step(self, batch, batch_idx):
                x, y = batch
                loss = torch.nn.functional.cross_entropy(self.net(x), y)
                self.log("loss", loss)
                self.history = loss.item()  # sync
                return loss

            def configure_optimizers(self):
                return torch.optim.AdamW(self.parameters())
        """
    )

"""Hazards that wait too little or prepare too little."""

from __future__ import annotations

from syncwatch.model import Kind


def hazards(events):
    return {(e.site.line, e.kind, e.via) for e in events if not e.kind.blocks}


def test_an_asynchronous_read_back_is_read_too_early(infer):
    events = infer(
        """import torch
done = torch.cuda.Event()
host = torch.empty(3, pin_memory=True)
for step in range(3):
    x = torch.rand(3, device="cuda")
    early = x.to("cpu", non_blocking=True)
    early.numpy()
    late = x.to("cpu", non_blocking=True)
    host.copy_(x, non_blocking=True)
    view = host[:2]
    done.record()
    done.synchronize()
    late.numpy()
    view.sum()
"""
    )
    assert hazards(events) == {(7, Kind.EARLY_READ, "call")}


def test_a_pinned_buffer_is_filled_again_while_its_upload_may_run(infer):
    events = infer(
        """import torch
staging = torch.empty(4, pin_memory=True)
for step in range(3):
    staging.copy_(torch.rand(4))
    x = staging.to("cuda", non_blocking=True)
"""
    )
    assert hazards(events) == {(4, Kind.EARLY_READ, "reuse")}


def test_the_loader_that_does_not_pin(infer):
    events = infer(
        """import torch
from torch.utils.data import DataLoader, TensorDataset
data = TensorDataset(torch.rand(8, 2), torch.rand(8))
loader = DataLoader(data, batch_size=4)
pinned = DataLoader(data, batch_size=4, pin_memory=True)
for x, y in loader:
    x = x.cuda()
for x, y in pinned:
    x = x.cuda(non_blocking=True)
"""
    )
    assert hazards(events) == {(4, Kind.UNPINNED_LOADER, "call")}


def test_streams_without_an_order(infer):
    events = infer(
        """import torch
side = torch.cuda.Stream()
w = torch.rand(4, 4, device="cuda")
x = torch.rand(4, 4, device="cuda")
for step in range(3):
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = x @ w
        z = y * 2
    a = z.sum()
    torch.cuda.current_stream().wait_stream(side)
    b = y.sum()
"""
    )
    assert hazards(events) == {(10, Kind.UNORDERED_STREAMS, "call")}


def test_a_clock_around_device_work(infer):
    events = infer(
        """import time
import torch
x = torch.rand(64, 64, device="cuda")
for step in range(3):
    begin = time.perf_counter()
    x = x @ x
    wrong = time.perf_counter() - begin
    begin = time.perf_counter()
    x = x @ x
    torch.cuda.synchronize()
    right = time.perf_counter() - begin
    begin = time.perf_counter()
    y = sum(range(100))
    host = time.perf_counter() - begin
"""
    )
    assert hazards(events) == {(7, Kind.EARLY_READ, "operator")}


def test_round_trips_and_host_made_tensors_are_told_apart(infer):
    events = infer(
        """import torch
import numpy as np
for step in range(3):
    a = torch.zeros(3).to("cuda")
    b = a.cpu().numpy()
    c = torch.from_numpy(np.sort(b)).to("cuda")
"""
    )
    vias = {(e.site.line, e.via) for e in events if e.kind is Kind.UPLOAD}
    assert vias == {(4, "host-created"), (6, "round-trip")}


def test_a_process_group_needs_a_device_of_its_own(infer):
    program = """import torch
import torch.distributed as dist
dist.init_process_group({backend})
{after}
x = torch.rand(3, device="cuda")
"""
    missing = {(3, Kind.DEFAULT_DEVICE, "call")}
    assert hazards(infer(program.format(backend='"nccl"', after="pass"))) == missing
    assert hazards(infer(program.format(backend='"nccl"', after="torch.cuda.set_device(1)"))) == set()
    assert hazards(infer(program.format(backend='"gloo"', after="pass"))) == set()
    assert hazards(infer(program.format(backend="unknown()", after="pass"))) == set()

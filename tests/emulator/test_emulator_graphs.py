"""CUDA graphs on the emulated device: captured once, replayed on the same tensors."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

pytestmark = pytest.mark.usefixtures("device")


def test_a_replay_works_on_the_tensors_that_were_captured():
    graph, layer, x = torch.cuda.CUDAGraph(), nn.Linear(4, 4).cuda(), torch.zeros(2, 4, device="cuda")
    with torch.no_grad():
        with torch.cuda.graph(graph):
            y = layer(x) * 2
            seen = y.view(8)
        x.fill_(3)
        graph.replay()
        assert torch.equal(y, layer(x) * 2)
        assert torch.equal(seen, y.view(8))


def test_a_whole_step_is_captured_and_capturing_it_changes_nothing():
    def step(model: nn.Module, optimizer: torch.optim.Optimizer) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(model(x), target)
        loss.backward()
        optimizer.step()
        return loss

    x, target = torch.randn(8, 4, device="cuda"), torch.randn(8, 1, device="cuda")
    captured = nn.Linear(4, 1).cuda()
    eager = copy.deepcopy(captured)
    optimizers = [torch.optim.Adam(model.parameters(), lr=0.1, capturable=True) for model in (captured, eager)]
    for _ in range(3):
        step(captured, optimizers[0])
        step(eager, optimizers[1])
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step(captured, optimizers[0])
    assert torch.equal(captured.weight, eager.weight)
    for _ in range(4):
        graph.replay()
        expected = step(eager, optimizers[1])
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(captured.weight, eager.weight)


def test_random_numbers_are_drawn_anew_at_each_replay():
    graph, x = torch.cuda.CUDAGraph(), torch.ones(1000, device="cuda")
    with torch.cuda.graph(graph):
        dropped = nn.functional.dropout(x)
    graph.replay()
    first = dropped.clone()
    graph.replay()
    assert not torch.equal(first, dropped)


def test_what_waits_cannot_be_captured():
    x = torch.ones(3, device="cuda")
    for wait in (lambda: x.sum().item(), torch.cuda.synchronize, lambda: x.nonzero(), lambda: x.cpu()):
        refused = pytest.raises(RuntimeError, match="not permitted when stream is capturing")
        with refused, torch.cuda.graph(torch.cuda.CUDAGraph()):
            wait()
    assert not torch.cuda.is_current_stream_capturing()
    assert x.sum().item() == 3


def test_graphed_callables_train_like_what_they_were_made_of():
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4)).cuda()
    x = torch.randn(2, 4, device="cuda", requires_grad=True)
    plain = model(x)
    plain.sum().backward()
    expected = model[0].weight.grad.clone()
    model.zero_grad()
    graphed = torch.cuda.make_graphed_callables(model, (x,))
    out = graphed(x)
    out.sum().backward()
    torch.testing.assert_close(out, plain)
    torch.testing.assert_close(model[0].weight.grad, expected)

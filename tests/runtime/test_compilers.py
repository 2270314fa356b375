"""torch.compile and torch.jit.script beside a watch: neither sees the wrappers, and the compiler's waits are apart."""

from __future__ import annotations

import warnings

import pytest

import syncwatch
from syncwatch.runtime import source as sources
from syncwatch.runtime.recorder import RECORDER

torch = pytest.importorskip("torch")


def test_a_wait_of_the_compiler_is_listed_apart(cuda, blocking):
    from torch._guards import CompileContext, compile_context

    blocking(torch.Tensor, "item")
    value = torch.tensor(2.0)
    with syncwatch.watch(max_syncs=1) as report:
        value.item()
        with compile_context(CompileContext(None)):
            value.item()
    assert report.count == 1
    assert [site.reason for site in report.allowed] == ["while torch.compile was compiling"]


def test_torch_compile_sees_through_the_wrappers():
    from syncwatch.runtime.cuda.clocks import ClockHook, Marks
    from syncwatch.runtime.cuda.copies import PageableCopyHook
    from syncwatch.runtime.cuda.device import clocked_ops

    x = torch.ones(3)

    def function(x):
        y = x.to("cpu", non_blocking=True)[0:2] + torch.where(x > 0, x, x)[0:2]
        return torch.linalg.inv(y.reshape(2, 1) @ y.reshape(1, 2) + torch.eye(2))

    hooks = [ClockHook(clocked_ops(), lambda: 0.0), PageableCopyHook(lambda: 0.0, Marks())]
    for hook in hooks:
        hook.install(None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            explained = torch._dynamo.explain(function)(x)
    finally:
        for hook in reversed(hooks):
            hook.uninstall()
        torch._dynamo.reset()
    assert (explained.graph_count, explained.graph_break_count) == (1, 0)


def test_a_compiled_function_is_not_compiled_again_for_a_watch(cuda, monkeypatch):
    from torch._dynamo.testing import CompileCounter

    counter = CompileCounter()

    def function(x):
        picked = x.reshape(-1)[2:5].to(torch.float16, non_blocking=True)
        return torch.where(picked > 0, picked, -picked).sum()

    compiled = torch.compile(function, backend=counter, fullgraph=True)
    x = torch.rand(8)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)  # what torch.compile asks itself
    armed_source = sources.current_source()
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    compiled(x)
    armed_source.install(RECORDER)
    armed_source._arm(RECORDER)
    try:
        compiled(x)
    finally:
        armed_source.uninstall()
    compiled(x)
    torch._dynamo.reset()
    assert counter.frame_count == 1


def test_torch_jit_script_sees_through_the_wrappers():
    from syncwatch.runtime.cuda.clocks import ClockHook

    known = dict(torch.jit._builtins._get_builtin_table())
    hook = ClockHook(["torch.nonzero", "torch.Tensor.item"], lambda: 0.0)
    hook.install(None)
    try:

        class Picks(torch.nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return torch.nonzero(x)

        scripted = torch.jit.script(Picks())
    finally:
        hook.uninstall()
    assert torch.jit._builtins._get_builtin_table() == known
    assert scripted(torch.tensor([0, 1])).tolist() == [[1]]


def test_what_runs_in_every_step_is_left_alone(cuda):
    """A wrapper would be felt in each step, and torch.compile guards the identity of what a graph holds."""
    functional = torch.nn.functional

    def hot():
        by_name = [torch.add, torch.sub, torch.mul, torch.matmul, torch.bmm, torch.where, torch.sum, torch.unbind]
        by_name += [functional.scaled_dot_product_attention, functional.dropout, functional.linear, functional.softmax]
        methods = [vars(torch.Tensor).get(name) for name in ("add_", "mul", "__matmul__", "__getitem__", "view")]
        return [*by_name, *methods]

    before = hot()
    with syncwatch.watch():
        assert hot() == before
        assert torch.Tensor.item is not torch._C.TensorBase.item

"""The waits that a program would have on a GPU: kind, operation, site and count."""

from __future__ import annotations

import pytest

SETUP = """
import torch
x = torch.arange(8.0, device="cuda")
mask = x > 3
s = x.sum()
"""

# the numbers are those of a real GPU
CASES = [
    ("s.item()", "scalar-read", "torch.Tensor.item", 1),
    ("if s > 0: pass", "scalar-read", "torch.Tensor.__bool__", 1),
    ("float(s) + int(s)", "scalar-read", None, 2),
    ("[v.item() for v in x[:3]]", "scalar-read", "torch.Tensor.item", 3),
    ("f'{s}'", "scalar-read", "torch.Tensor.__format__", 1),
    ("x.tolist()", "tensor-read", "torch.Tensor.tolist", 1),
    ("x.cpu().numpy()", "tensor-read", "torch.Tensor.cpu", 1),
    ("x.to('cpu', non_blocking=True)", None, None, 0),
    ("x[mask]", "dynamic-shape", "torch.Tensor.__getitem__", 1),
    ("x[mask] = 0", None, None, 0),
    ("x[0] = 1.0", "upload", "torch.Tensor.__setitem__", 1),
    ("x[torch.tensor([1, 2], device='cpu')]", "upload", "torch.Tensor.__getitem__", 1),
    ("x[[1, 2]] = 0", "upload", "torch.Tensor.__setitem__", 2),
    ("torch.nonzero(x)", "dynamic-shape", "torch.nonzero", 1),
    ("torch.unique(x)", "dynamic-shape", "torch.unique", None),
    ("torch.ones(3).to('cuda')", "upload", "torch.Tensor.to", 1),
    ("torch.ones(3).pin_memory().to('cuda', non_blocking=True)", None, None, 0),
    ("torch.ones(10, 10).pin_memory()[:, ::2].to('cuda', non_blocking=True)", None, None, 0),
    ("torch.tensor([1.0, 2.0], device='cuda')", "upload", "torch.tensor", 1),
    ("torch.zeros(3, device='cuda')", None, None, 0),
    ("torch.cuda.synchronize()", "device-wait", "torch.cuda.synchronize", 1),
    ("torch.cuda.current_stream().synchronize()", "stream-wait", "torch.cuda.Stream.synchronize", 1),
    ("e = torch.cuda.Event(); e.record(); e.synchronize()", "event-wait", "torch.cuda.Event.synchronize", 1),
    ("torch.equal(x, x + 1)", "scalar-read", "torch.equal", 1),
    ("torch.linalg.inv(torch.eye(3, device='cuda'))", "solver", "torch.linalg.inv", 1),
    ("torch.linalg.inv_ex(torch.eye(3, device='cuda'))", None, None, 0),
    ("torch.repeat_interleave(x, (x > 4).long())", "dynamic-shape", "torch.repeat_interleave", 2),
    ("torch.where(mask, x, torch.tensor(0.0))", "upload", "torch.where", 1),
    ("torch.tensor([s, s])", "scalar-read", "torch.tensor", 2),
    ("x.clone().add_(1).mul(2).sum()", None, None, 0),
]


@pytest.mark.parametrize(("line", "kind", "op", "count"), CASES, ids=[case[0] for case in CASES])
def test_a_line_waits_as_on_a_gpu(waits, line, kind, op, count):
    found = waits(SETUP + line)
    if kind is None and op is None and count == 0:
        assert found == []
        return
    assert {wait[0] for wait in found} == {kind}
    if op is not None:
        assert {wait[1] for wait in found} == {op}
    if count is not None:
        assert sum(wait[2] for wait in found) == count


def test_waits_of_backward_belong_to_the_line_that_calls_it(run):
    names, sites = run(
        """
        import torch
        x = torch.randn(10, device="cuda", requires_grad=True)
        picked = x[x.detach() > 0]
        loss = picked.sum()
        loss.backward()
        line = 6
        """
    )
    assert [(site.line, site.kind.value, site.count) for site in sites if site.line == 6] == [
        (6, "dynamic-shape", 1)
    ] or [site.line for site in sites].count(6) == 1
    assert names["x"].grad.sum().item() == (names["x"] > 0).sum().item()


def test_the_innermost_line_of_the_program_is_the_site(run):
    _, sites = run(
        """
        import torch

        def read(v):
            return v.item()

        total = 0.0
        for step in range(4):
            total += read(torch.ones((), device="cuda"))
        """
    )
    assert [(site.line, site.function, site.count) for site in sites] == [(5, "read", 4)]


def test_a_gradient_scaler_reads_once_a_step(waits):
    found = waits(
        """
        import torch
        model = torch.nn.Linear(4, 4, device="cuda")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cuda")
        x = torch.randn(2, 4, device="cuda")
        for _ in range(3):
            optimizer.zero_grad()
            scaler.scale(model(x).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
        """
    )
    assert [(kind, count) for kind, op, count in found if "GradScaler" in op] == [("scalar-read", 3)]


def test_optimizer_steps_delimit(run):
    from syncwatch.emulator.counting import shared
    from syncwatch.runtime.session import Recording
    from syncwatch.runtime.source import use_source

    with use_source(shared()):
        recording = Recording(["test"])
        recording.start()
        run(
            """
            import torch
            model = torch.nn.Linear(2, 2, device="cuda")
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(5):
                model(torch.ones(1, 2, device="cuda")).sum().backward()
                optimizer.step()
            """
        )
        recording.stop()
    session = recording.session()
    assert (session.device, session.device_name, session.steps) == ("emulated", "emulated CUDA device", 5)
    assert any("emulated" in sentence for sentence in session.limits)

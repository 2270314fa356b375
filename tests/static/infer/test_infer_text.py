"""The source text that messages show."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    "text",
    [
        "((y - 1.0).abs() > 0.2).float().mean()",
        "x[y > 0]",
        "-x.sum()",
        "model(x, lr=2)",
        "x.T[0].data",
        "(x * y).sum()",
    ],
)
def test_an_expression_is_shown_as_it_is_written(infer, text):
    program = f"""import torch
x = y = torch.rand(3, device="cuda")
model = torch.nn.Linear(3, 3).cuda()
torch.Tensor.item({text})
torch.rand(3, device="cuda")[{text}].item()
(torch.rand(3, device="cuda") + {text}).item()
"""
    subjects = {e.subject for e in infer(program) if e.op == "torch.Tensor.item"}
    assert any(text in s for s in subjects)


def test_long_text_ends_in_an_ellipsis(infer):
    name = "x" * 80
    events = infer(f'import torch\n{name} = torch.rand((), device="cuda")\n{name}.item()\n')
    assert [e.subject for e in events] == ["x" * 59 + "…"]

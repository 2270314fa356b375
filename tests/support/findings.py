"""Makes findings for tests that need no engine."""

from __future__ import annotations

from syncwatch.model import Certainty, Finding, Heat, Kind


def finding(
    path: str = "train.py",
    line: int = 1,
    column: int = 1,
    *,
    end_line: int = 0,
    end_column: int = 0,
    rule: str = "SW101",
    name: str = "scalar-read",
    kind: Kind = Kind.SCALAR_READ,
    op: str = "torch.Tensor.item",
    message: str = "Tensor.item reads one value of `loss` on the host",
    certainty: Certainty = Certainty.CERTAIN,
    heat: Heat = Heat.STEP,
    function: str = "fit",
) -> Finding:
    """A finding in which everything but what the test is about has a value already."""
    return Finding(
        path=path,
        line=line,
        column=column,
        end_line=end_line or line,
        end_column=end_column or column + 5,
        rule=rule,
        name=name,
        kind=kind,
        op=op,
        message=message,
        certainty=certainty,
        heat=heat,
        function=function,
    )

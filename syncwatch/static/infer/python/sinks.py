"""Where programs send their figures: progress bars and experiment loggers, which turn device values into host ones."""

from __future__ import annotations

from typing import Any

from syncwatch.static.infer.formatting import format_value
from syncwatch.static.library.protocol import ALIASES, BASES, LibCall, model
from syncwatch.static.values import INT, NONE, REST, UNKNOWN, Iter, Lib, Obj, Tensor, Value, members

BAR = "tqdm.tqdm"
BASES[BAR] = ()
for _path in ("tqdm.auto", "tqdm.notebook", "tqdm.std", "tqdm.rich", "tqdm.autonotebook"):
    ALIASES[f"{_path}.tqdm"] = BAR
    ALIASES[f"{_path}.trange"] = "tqdm.trange"
_LOGGER = "experiment-logger"


def _read(m: Any, v: Value, depth: int = 0) -> None:
    """The logger stores the values of all tensors inside."""
    for x in members(v):
        if type(x) is Tensor:
            m.ask("torch.Tensor.item" if x.dim == 0 else "torch.Tensor.cpu", [x], via=_LOGGER)
        elif type(x) is Obj and depth < 3:
            for key, inner in list(x.slots.items()):
                if type(key) is tuple or key == REST:
                    _read(m, inner, depth + 1)


@model(
    "wandb.log",
    "wandb.run.log",
    "wandb.Run.log",
    "mlflow.log_metric",
    "mlflow.log_metrics",
    "neptune.log_metric",
    "trackio.log",
    "swanlab.log",
)
def _log(m: Any, c: LibCall) -> Value:
    for a in (*c.args, *c.kwargs.values()):
        _read(m, a)
    return NONE


@model("wandb.init")
def _run(m: Any, c: LibCall) -> Value:
    return m.new("wandb.Run")


@model(f"{BAR}.__init__")
def _bar(m: Any, c: LibCall) -> Value:
    m.setattr(c.self, "<iterable>", c.arg(0, "iterable", NONE))
    return NONE


@model("tqdm.trange")
def _trange(m: Any, c: LibCall) -> Value:
    bar = m.new(BAR)
    m.setattr(bar, "<iterable>", m.call(Lib("builtins.range"), c.args))
    return bar


@model(f"{BAR}.__iter__")
def _over(m: Any, c: LibCall) -> Value:
    held = c.self.slots.get("<iterable>", NONE) if type(c.self) is Obj else NONE
    return m.iterate(held) if held != NONE else Iter(None, UNKNOWN)


@model(f"{BAR}.__enter__")
def _enter(m: Any, c: LibCall) -> Value:
    return c.self


@model(f"{BAR}.set_postfix", f"{BAR}.set_postfix_str", f"{BAR}.set_description", f"{BAR}.set_description_str")
def _shown(m: Any, c: LibCall) -> Value:
    for a in (*c.args, *c.kwargs.values()):
        format_value(m, a, "progress-bar", whole=True)
    return NONE


@model(f"{BAR}.write", f"{BAR}.update", f"{BAR}.close", f"{BAR}.refresh")
def _quiet(m: Any, c: LibCall) -> Value:
    if c.name.endswith("write"):
        for a in c.args:
            format_value(m, a, "print", whole=True)
    return NONE


@model("csv.writer", "csv.DictWriter")
def _csv(m: Any, c: LibCall) -> Value:
    return m.new(c.name)


@model(*(f"csv.{name}.{verb}" for name in ("writer", "DictWriter") for verb in ("writerow", "writerows")))
def _row(m: Any, c: LibCall) -> Value:
    """Every field of a row is turned into text."""
    format_value(m, c.arg(0, None, UNKNOWN), "format", whole=True)
    return INT


__all__ = ["BAR"]

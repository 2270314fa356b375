"""Where a training step ends, and which thread a backward call works for. Serves every source."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from syncwatch.runtime import scope
from syncwatch.runtime.patching import Patches
from syncwatch.runtime.source import Sink


class StepHook:
    """Reports the end of each optimizer step."""

    def __init__(self) -> None:
        self._handle: Any = None

    def install(self, sink: Sink) -> None:
        """See `Source.install`."""
        from torch.optim import optimizer

        def after_step(optimizer: torch.optim.Optimizer, *_: Any) -> None:
            sink.step_ended(optimizer)

        register = getattr(optimizer, "register_optimizer_step_post_hook", None)
        if register is None:
            sink.limit("this torch has no optimizer step hooks: steps are not counted")
        else:
            self._handle = register(after_step)

    def uninstall(self) -> None:
        """See `Source.uninstall`."""
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.remove()


class BackwardHook:
    """Lets waits on autograd's own threads find the backward call that they belong to."""

    def __init__(self) -> None:
        self._patches = Patches()

    def install(self, sink: Sink) -> None:
        """See `Source.install`."""

        def noted(original: Callable[..., Any]) -> Callable[..., Any]:
            def engine_run_backward(*args: Any, **kwargs: Any) -> Any:
                with scope.backward_call(sys._getframe(1)):
                    return original(*args, **kwargs)

            return engine_run_backward

        wrap_backward(self._patches, noted)

    def uninstall(self) -> None:
        """See `Source.uninstall`."""
        self._patches.undo()


def wrap_backward(patches: Patches, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replaces by `make(original)` what Tensor.backward, autograd.backward and autograd.grad all go through."""
    from torch.autograd import graph

    original = getattr(graph, "_engine_run_backward", None)
    if original is None:
        return
    wrapper = make(original)
    for name in ("torch.autograd.graph", "torch.autograd", "torch._tensor"):
        module = sys.modules.get(name)
        if getattr(module, "_engine_run_backward", None) is original:
            patches.set(module, "_engine_run_backward", wrapper)

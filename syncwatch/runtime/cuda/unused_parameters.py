"""DistributedDataParallel reads back which parameters were used, once in a backward pass that leaves some out.

The reducer does so in a C++ thread, and torch prints what the sync debug mode says of it to stderr. But replicas that
look for unused parameters (and those of a static graph, in their first pass) have a node at the end of their graph
whose backward is Python code; from there the graph tells which parameters the pass will reach. Measured: one wait
where one of them is not reached, none where all are.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from torch.nn.parallel import distributed

from syncwatch.model import Kind
from syncwatch.runtime.patching import Patches
from syncwatch.runtime.source import Sink

_OP = "torch.Tensor.backward"


class UnusedParametersHook:
    """Reports the backward passes of DistributedDataParallel that do not reach all parameters."""

    def __init__(self) -> None:
        self._patches = Patches()
        # identities of the parameters that passes without synchronisation (`no_sync`) have reached since the last with
        self._reached: weakref.WeakKeyDictionary[Any, set[int]] = weakref.WeakKeyDictionary()
        self._done: weakref.WeakSet[Any] = weakref.WeakSet()  # passes over a graph that was kept: the reducer sits out

    def install(self, sink: Sink) -> None:
        """See `Hook.install`."""
        node = getattr(distributed, "_DDPSink", None)
        if node is None:
            return
        original = node.backward

        def backward(ctx: Any, *gradients: Any) -> Any:
            if self._waits(ctx):
                sink.occurred(Kind.TENSOR_READ, _OP)
            return original(ctx, *gradients)

        self._patches.set(node, "backward", staticmethod(backward))

    def uninstall(self) -> None:
        """See `Hook.uninstall`."""
        self._patches.undo()

    def _waits(self, ctx: Any) -> bool:
        module = ctx.ddp_weakref()
        if module is None or module.device_type != "cuda" or ctx in self._done:
            return False
        self._done.add(ctx)
        reached = self._reached.setdefault(module, set())
        reached.update(id(parameter) for parameter in reached_from(ctx))
        if not module.require_backward_grad_sync:
            return False
        del self._reached[module]
        return any(id(parameter) not in reached for parameter in module._module_parameters if parameter.requires_grad)


def reached_from(node: Any) -> Iterator[Any]:
    """The parameters that a backward pass from this node of the graph accumulates gradients in."""
    seen, pending = {node}, [node]
    while pending:
        node = pending.pop()
        variable = getattr(node, "variable", None)
        if variable is not None:
            yield variable
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                pending.append(following)

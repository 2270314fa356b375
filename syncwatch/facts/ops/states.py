"""Saved states that are loaded, and storages."""

from __future__ import annotations

from collections.abc import Callable

from syncwatch.facts.conditions import Bound, Condition, Verdict, all_of, device_named, flag, is_cuda
from syncwatch.facts.describe import Arg
from syncwatch.facts.ops.transfers import ASYNC_OUT
from syncwatch.facts.table import copies_out, fact, reads, uploads


def _holds_host_tensors(arg: Arg | None) -> int:
    """How many tensors of a saved state are in host memory. (An optimizer's counters of steps stay there.)"""
    if arg is None:
        return 0
    if arg.sort == "tensor":
        return int(arg.device == "cpu")
    return sum(map(_holds_host_tensors, arg.items or ()))


def _optimizer_state(arg: Arg | None) -> int:
    if arg is None:
        return 0
    if arg.sort == "tensor":
        return int(arg.device == "cpu" and arg.dim != 0)
    return sum(map(_optimizer_state, arg.items or ()))


def _from_host(owner: str, count: Callable[[Arg | None], int], described: str, otherwise: str) -> Condition:
    """A state that holds tensors in host memory, loaded into an object on the GPU."""

    def test(bound: Bound) -> Verdict:
        state = bound.get("state")
        return all_of(iter((is_cuda(bound.get(owner)), None if _opaque(state) else count(state) > 0)))

    return Condition(described, test, otherwise)


def _opaque(arg: Arg | None) -> bool:
    return arg is None or arg.sort != "mapping" or arg.items is None


_saved_on_host = _from_host(
    "module",
    _holds_host_tensors,
    "a state in host memory is loaded into a module on the GPU",
    "the state is on the device, or the module on the host",
)
_optimizer_saved_on_host = _from_host(
    "optimizer",
    _optimizer_state,
    "a state in host memory is loaded for parameters on the GPU",
    "the state is on the device, or the parameters on the host",
)


def _loaded_to(bound: Bound) -> Verdict:
    """Where torch.load puts tensors; left out, they go where they were saved from."""
    where = bound.get("map_location")
    if where is None or where.sort == "none":
        return None
    named = device_named(where)
    return None if named is None else named == "cuda"


_cuda_storage = Condition("the storage is on the GPU", lambda bound: is_cuda(bound.get("input")), "it is on the host")

FACTS = (
    fact(
        ("torch.nn.Module.load_state_dict",),
        "module state strict assign",
        uploads(
            _saved_on_host & ~flag("assign"),
            waits=lambda bound: _holds_host_tensors(bound.get("state")),
        ),
        instead="load it before the module goes to the device",
    ),
    fact(
        ("torch.optim.Optimizer.load_state_dict",),
        "optimizer state",
        uploads(_optimizer_saved_on_host, waits=lambda bound: _optimizer_state(bound.get("state"))),
        instead='torch.load(…, map_location="cuda") once, in the set-up',
    ),
    fact(
        ("torch.load",),
        "f map_location",
        uploads(
            Condition(
                "the tensors go to the GPU: `map_location` says so, or they were saved from there",
                _loaded_to,
                "`map_location` names the host",
            ),
            waits=None,
        ),
        instead="load before the loop",
    ),
    fact(
        ("torch.UntypedStorage.cpu", "torch.TypedStorage.cpu"),
        "input",
        copies_out(_cuda_storage, explicit=True),
        instead=ASYNC_OUT,
    ),
    fact(
        ("torch.TypedStorage.tolist",),
        "input",
        reads(_cuda_storage, waits=None, explicit=True),
        instead="copy the tensor once: x.cpu()",
        note="Every element is read on its own.",
    ),
)

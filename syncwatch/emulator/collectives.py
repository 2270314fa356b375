"""torch.distributed between ranks that each have an emulated GPU: gloo carries the values.

A program that asks for NCCL gets a gloo group that says it is NCCL; what is special about NCCL on the host (barriers
that wait, objects that travel through device memory) stays as it is.
"""

from __future__ import annotations

import ctypes
import sys
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import torch

from syncwatch.emulator import parallel
from syncwatch.emulator.events import EVENTS
from syncwatch.emulator.patching import Patches
from syncwatch.emulator.values import value_of

_COLLECTIVES = [
    "allreduce_",
    "allreduce_coalesced_",
    "broadcast_",
    "reduce_",
    "allgather_",
    "_allgather_base_",
    "allgather_coalesced_",
    "allgather_into_tensor_coalesced_",
    "gather_",
    "scatter_",
    "reduce_scatter_",
    "_reduce_scatter_base_",
    "reduce_scatter_tensor_coalesced_",
    "alltoall_",
    "alltoall_base_",
    "barrier",
    "send",
    "recv_",
    "recv_any_source_",
]

_ON_DEVICE_ONLY = (
    "all_reduce",
    "all_gather",
    "all_gather_into_tensor",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "irecv",
    "isend",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "send",
)

_Group: Any = getattr(torch.distributed, "ProcessGroup", ())
_library: list[torch.library.Library] = []
_strict: weakref.WeakSet[Any] = weakref.WeakSet()  # groups that have no other backend than NCCL
_nccl: weakref.WeakSet[Any] = weakref.WeakSet()  # groups that the program believes to be NCCL's


def register() -> None:
    """Gives the collectives kernels that run on the values."""
    if not torch.distributed.is_available():
        return
    library = torch.library.Library("c10d", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own kernels for this key ask for a backend in C++
        for name in _COLLECTIVES:
            op = getattr(getattr(torch.ops.c10d, name, None), "default", None)
            if op is not None:
                library.impl(name, _on_values(op), "PrivateUse1", allow_override=True)
    _library.append(library)
    # these keep, by its memory, what is under way with a tensor; only values share theirs with their views
    functional = torch.library.Library("_c10d_functional", "IMPL")
    for name in torch._C._dispatch_get_all_op_names():
        namespace, _, op_name = name.partition("::")
        if namespace == "_c10d_functional":
            packet, _, overload = op_name.partition(".")
            functional.impl(op_name, _Functional(packet, overload or "default"), "PrivateUse1", allow_override=True)
    _library.append(functional)


class _Functional:
    """A kernel of `torch.distributed._functional_collectives`, made at its first call."""

    def __init__(self, packet: str, overload: str) -> None:
        self._packet, self._overload = packet, overload

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from syncwatch.emulator.kernels import kernel_of

        return kernel_of(getattr(getattr(torch.ops._c10d_functional, self._packet), self._overload))(*args, **kwargs)


def _on_values(op: Any) -> Callable[..., Any]:
    returns_tensors = "Tensor" in str(op._schema.returns[0].type)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        out = op(*(_values(arg) for arg in args), **{name: _values(arg) for name, arg in kwargs.items()})
        if _gathered.works is not None:
            _gathered.works.append(out[1] if returns_tensors else out)
        if not returns_tensors:
            return out
        return args[0], _work_on_device(out[1], args[0])  # the tensors that were written to, and the work

    return kernel


def _work_on_device(boxed: Any, tensors: Any) -> Any:
    """The same work, whose result are the device tensors: DistributedDataParallel takes gradients from there."""
    from torch._C._distributed_c10d import _create_work_from_future  # type: ignore[attr-defined]
    from torch.distributed import Work

    try:
        future = Work.unbox(boxed).get_future()
    except RuntimeError:  # a backend without futures
        return boxed
    results = [tensors] if isinstance(tensors, torch.Tensor) else tensors
    return _create_work_from_future(future.then(lambda done: _finished(done, results))).boxed()


def _finished(done: Any, results: Any) -> Any:
    done.wait()  # raises what went wrong
    return results


def _values(arg: Any) -> Any:
    if isinstance(arg, torch.Tensor):
        value = value_of(arg)
        return arg if value is None else value
    if isinstance(arg, (list, tuple)):
        return [_values(item) for item in arg]
    return arg


def _refuse_host(args: Any, kwargs: dict[str, Any]) -> None:
    """Raises what torch raises where a tensor on the host is given to a group that has NCCL alone."""
    for arg in (*args, *kwargs.values()):
        for tensor in arg if isinstance(arg, (list, tuple)) else (arg,):
            if isinstance(tensor, torch.Tensor) and tensor.device.type == "cpu":
                raise RuntimeError("No backend type associated with device type cpu")


def _believe_nccl(group: Any, *, alone: bool) -> None:
    """Lets the program take `group` for one of NCCL's, which end in peace.

    A gloo group that Python's garbage collector destroys waits, with the interpreter held, for its worker threads; one
    that has just finished a collective may wait for the interpreter, to let go of a tensor. So it is never destroyed.
    """
    _nccl.add(group)
    if alone:
        _strict.add(group)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(group))


def _install_coalescing(patches: Patches, is_nccl: Callable[[Any], bool]) -> None:
    """NCCL's groups can gather several collectives into one; here each has been issued when they end."""
    group_class = torch.distributed.ProcessGroup

    def start(original: Any) -> Any:
        def begin(self: Any, device: torch.device) -> None:
            if not is_nccl(self):
                original(self, device)
            _gathered.works = []

        return begin

    def end(original: Any) -> Any:
        def finish(self: Any, device: torch.device) -> Any:
            works, _gathered.works = _gathered.works or [], None
            return _Together(works) if is_nccl(self) else original(self, device)

        return finish

    patches.wrap(group_class, "_start_coalescing", start)
    patches.wrap(group_class, "_end_coalescing", end)


class _Gathered:
    """The works of the collectives since a group began to gather them."""

    works: list[Any] | None = None


_gathered = _Gathered()


class _Together:
    """Several works as one."""

    def __init__(self, works: list[Any]) -> None:
        self._works = [torch.distributed.Work.unbox(work) for work in works]

    def wait(self, *args: Any) -> bool:
        for work in self._works:
            work.wait(*args)
        return True

    def is_completed(self) -> bool:
        return all(work.is_completed() for work in self._works)

    synchronize = block_current_stream = wait


def _wants_nccl(backend: Any) -> bool:
    return backend is not None and "nccl" in str(backend).lower()


def install(patches: Patches) -> None:
    """Lets the program ask for NCCL."""
    if not torch.distributed.is_available():
        return
    from torch.distributed import distributed_c10d as c10d

    owners = [owner for owner in (torch.distributed, c10d) if owner is not None]

    def everywhere(name: str, make: Callable[[Any], Any]) -> None:
        for owner in owners:
            patches.wrap(owner, name, make)

    def init_process_group(original: Any) -> Any:
        def init(backend: Any = None, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("device_id", None)
            nccl = backend is None or _wants_nccl(backend)
            original("gloo" if nccl else backend, *args, **kwargs)
            if nccl:
                _believe_nccl(c10d.GroupMember.WORLD, alone=str(backend).lower() == "nccl")

        return init

    def new_group(original: Any) -> Any:
        def group(ranks: Any = None, timeout: Any = None, backend: Any = None, *args: Any, **kwargs: Any) -> Any:
            kwargs.pop("device_id", None)
            nccl = _wants_nccl(backend) or (backend is None and c10d.GroupMember.WORLD in _nccl)
            made = original(ranks, timeout, "gloo" if _wants_nccl(backend) else backend, *args, **kwargs)
            if nccl and made is not c10d.GroupMember.NON_GROUP_MEMBER:
                alone = c10d.GroupMember.WORLD in _strict if backend is None else str(backend).lower() == "nccl"
                _believe_nccl(made, alone=alone)
            return made

        return group

    def refuses_host(original: Any) -> Any:
        def collective(*args: Any, **kwargs: Any) -> Any:
            if _strict:
                group = kwargs.get("group", next((arg for arg in args if isinstance(arg, _Group)), None))
                if (c10d.GroupMember.WORLD if group is None else group) in _strict:
                    _refuse_host(args, kwargs)
            return original(*args, **kwargs)

        return collective

    def is_nccl(group: Any) -> bool:
        found = group if group is not None else c10d.GroupMember.WORLD
        return found is not None and found in _nccl

    def get_backend(original: Any) -> Any:
        return lambda group=None: "nccl" if is_nccl(group) else original(group)

    def object_device(original: Any) -> Any:
        return lambda group=None: "cuda" if is_nccl(group) else original(group)

    def default_device(original: Any) -> Any:
        return lambda group=None: torch.device("cuda") if is_nccl(group) else original(group)

    def barrier(original: Any) -> Any:
        def wait(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Any:
            if is_nccl(group) and not async_op:
                EVENTS.collective("torch.distributed.barrier", sys._getframe(1))
            return original(group, async_op)

        return wait

    def destroy_process_group(original: Any) -> Any:
        def destroy(group: Any = None) -> None:
            if is_nccl(group):
                EVENTS.collective("torch.distributed.destroy_process_group", sys._getframe(1))
            original(group)

        return destroy

    _install_coalescing(patches, is_nccl)
    for name in _ON_DEVICE_ONLY:
        everywhere(name, refuses_host)
    everywhere("init_process_group", init_process_group)
    everywhere("destroy_process_group", destroy_process_group)
    everywhere("new_group", new_group)
    everywhere("get_backend", get_backend)
    everywhere("barrier", barrier)
    everywhere("is_nccl_available", lambda original: lambda: True)
    patches.wrap(c10d, "_get_object_coll_device", object_device)
    patches.wrap(c10d, "_get_pg_default_device", default_device)
    parallel.install(patches)

"""The CUDA source: checks that this torch can be watched, and arms the hooks when the device is set up."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import torch

from syncwatch.facts import table
from syncwatch.runtime.cuda.allocator import AllocatorHook
from syncwatch.runtime.cuda.clocks import Clock, ClockHook, Marks
from syncwatch.runtime.cuda.copies import PageableCopyHook
from syncwatch.runtime.cuda.debug_mode import DebugModeHook
from syncwatch.runtime.cuda.lingering import Lingering
from syncwatch.runtime.cuda.parallel import DataParallelHook
from syncwatch.runtime.cuda.unreported import UnreportedHook
from syncwatch.runtime.cuda.unused_parameters import UnusedParametersHook
from syncwatch.runtime.cuda.waits import WaitHook
from syncwatch.runtime.frames import Frames
from syncwatch.runtime.source import Sink, Unsupported
from syncwatch.runtime.steps import BackwardHook, StepHook

_OLDEST = (2, 4)

BLOCKING_LIMIT = (
    "CUDA_LAUNCH_BLOCKING is set: the host waits for every kernel that it launches, which is not counted; "
    "unset it to see the program's own waits"
)

# other hooks have these, or their duration is not that of a wait
_NO_CLOCK_IN = (
    *("torch.cuda.", "torch.accelerator.", "torch.distributed.", "torch.autograd.", "torch.optim.", "torch.testing."),
    *("torch.Tensor.backward", "torch.Tensor.__str__", "torch._tensor_str.", "torch.save", "torch.load", "torch.jit."),
)
# These wait only in rare cases (for a scalar on the device among their arguments, between two sparse tensors), and run
# in every step: a wrapper would cost more than it tells. Waits that torch reports are counted all the same.
_HOT_NAMES = (
    "add add_ sub sub_ subtract subtract_ rsub clamp clamp_ clip clip_ masked_fill masked_fill_ index_fill "
    "index_fill_ view reshape expand repeat tile resize_ narrow split chunk zeros ones empty rand randn arange "
    "range linspace logspace full full_like new_full new_zeros new_ones new_empty eye scalar_tensor type normal "
    "mul mul_ multiply div div_ divide matmul __matmul__ mm bmm mv addmm baddbmm linear einsum tensordot sum mean "
    "unbind index_select gather embedding softmax log_softmax scaled_dot_product_attention"
)
# A class with __getitem__ of its own makes its objects sequences for C (PySequence_Check): torch.tensor([x, y]) would
# then ask 0-d tensors for their length.
_TOO_HOT = frozenset(_HOT_NAMES.split()) | {"__getitem__"}
# elsewhere the same names are those of other functions: torch.sparse.sum, torch.masked.mean
_HOT_OWNERS = frozenset({"torch", "torch.Tensor", "torch.nn.functional", "torch.special", "torch.linalg"})

# Compiled graphs hold these often, and torch.compile guards the identity of a function: a wrapper would make it
# compile once more when a watch opens. They are counted (torch.where with one argument), and have no time.
_DROPOUTS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")
_IN_GRAPHS = frozenset({"torch.where", "torch.Tensor.where", *(f"torch.nn.functional.{name}" for name in _DROPOUTS)})


class CudaSource:
    """Watches torch.cuda through its hooks.

    Nothing is replaced before the program sets its device up (`torch.cuda.init`, or the first tensor on the device):
    until then nothing can wait, and child processes can still be forked.
    """

    device = "cuda"

    def __init__(self, frames: Frames | None = None, clock: Clock = time.perf_counter, binding: Any = torch._C) -> None:
        from syncwatch.runtime.recorder import RECORDER

        marks = Marks()
        self._warnings = DebugModeHook(frames or RECORDER.frames, clock, marks, binding)
        # later ones wrap what earlier ones have put there, and come off first
        self._wrappers = Lingering(
            [
                ClockHook((op for op in clocked_ops() if op not in _IN_GRAPHS), clock),
                UnreportedHook(unreported_ops(), clock, marks),
                PageableCopyHook(clock, marks),
                WaitHook(clock, marks, self._warnings.paused),
                DataParallelHook(clock, marks, self._warnings.paused),
                UnusedParametersHook(),
                AllocatorHook(clock, marks),
                self._warnings,
            ]
        )
        # these are of use before the device is set up
        self._always = Lingering([StepHook(), BackwardHook()])
        self._lock = threading.Lock()
        self._sink: Sink | None = None
        self._armed = False
        self._checked = False
        self._launches_block: bool | None = None
        self.present = True  # whether there is a device at all; known after `install`
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._wrappers.uninstall_in_child)
            os.register_at_fork(after_in_child=self._always.uninstall_in_child)

    @property
    def device_name(self) -> str:
        """Of the current device, such as "NVIDIA H200"; "" before the device is set up."""
        return torch.cuda.get_device_name() if torch.cuda.is_initialized() else ""

    def install(self, sink: Sink) -> None:
        """See `Source.install`. Raises Unsupported where this torch cannot be watched."""
        if not self._checked:
            check_torch(torch)
            self._checked = True
        self._sink = sink
        self._always.install(sink)
        initialized = torch.cuda.is_initialized()
        self.present = initialized or has_cuda()
        if initialized:
            self._arm(sink)
        elif self.present:
            # runs while torch sets the device up; by then the program has imported what it imports
            torch.cuda._lazy_call(lambda: self._arm(sink))
        else:
            sink.limit("no CUDA device was found here: there was nothing to wait for")

    def _arm(self, sink: Sink) -> None:
        with self._lock:
            if self._sink is not sink or self._armed:
                return  # disarmed again before the device was set up
            self._armed = True
            if self._launches_block is None:  # CUDA looks there once
                self._launches_block = os.environ.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0")
            if self._launches_block:
                sink.limit(BLOCKING_LIMIT)
            self._wrappers.install(sink)
            self._warnings.wake(sink)

    def uninstall(self, *, again: bool = False) -> None:
        """See `Source.uninstall`."""
        with self._lock:
            self._sink = None
            if self._armed:
                self._armed = False
                unused = self._warnings.rest()
                self._wrappers.uninstall(again=again and unused)
        self._always.uninstall(again=again)


def has_cuda() -> bool:
    """Whether this torch can use a GPU here. Asks without setting CUDA up: that would keep the program from forking."""
    if not torch.backends.cuda.is_built():
        return False
    count = getattr(torch.cuda, "_device_count_nvml", lambda: -1)()
    return bool(torch.cuda.is_available()) if count < 0 else count > 0


def check_torch(module: Any) -> None:
    """Raises Unsupported where the recorder cannot work with this torch."""
    version = str(module.__version__)
    numbers = tuple(int(part) for part in version.split("+")[0].split(".")[:2])
    if numbers < _OLDEST:
        raise Unsupported(f"torch {version} is too old to be watched: install torch 2.4 or newer")
    if getattr(module.version, "hip", None):
        raise Unsupported(
            f"torch {version} is a ROCm build, whose waits torch does not report: "
            "use `--device emulated`, or a CUDA build"
        )
    if module.cuda.is_available() and not hasattr(module._C, "_cuda_set_sync_debug_mode"):
        raise Unsupported(f"torch {version} has no sync debug mode: install an official CUDA build of torch")


def clocked_ops() -> Iterator[str]:
    """Operations that can wait, according to the facts, and are called as functions or as methods of a tensor."""
    for name, fact in table().public.items():
        if name.startswith(_NO_CLOCK_IN) or _hot(name):
            continue
        if any(case.kind is not None and not case.silent and case.reported for case in fact.cases):
            yield name


def unreported_ops() -> Iterator[str]:
    """Operations with waits that the sync debug mode does not report, and no other hook watches."""
    own = {"torch.Tensor.to", "torch.Tensor.cuda", "torch.Tensor.copy_"}
    for name, fact in table().public.items():
        if name.startswith(_NO_CLOCK_IN) or name in own or _hot(name):
            continue
        if any(case.kind is not None and not case.silent and not case.reported for case in fact.cases):
            yield name


def _hot(op: str) -> bool:
    """Whether a wrapper around it would be felt in every step."""
    owner, _, name = op.rpartition(".")
    return name in _TOO_HOT and owner in _HOT_OWNERS

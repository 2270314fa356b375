"""CUDA graphs: while one is captured, every operation on the device is noted with its values; a replay runs them again.

The noted operations write to the tensors that they wrote to, and results that were new are copied into the tensors
that stood for them, so that a replay changes the very tensors that the program holds, as a graph's replay does. CUDA
does nothing of the kind while it captures; here the operations run, and what they wrote over is put back at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._C import TensorBase

from syncwatch.emulator import placement
from syncwatch.emulator.gpus import GPUS
from syncwatch.emulator.random import GENERATORS

_storage_of = TensorBase.untyped_storage
REFUSED = (
    "CUDA error: operation not permitted when stream is capturing\n"
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
    "incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1"
)


class Recording:
    """The operations of one graph, in order."""

    def __init__(self) -> None:
        self._steps: list[tuple[Callable[[], Any], tuple[tuple[int, torch.Tensor], ...]]] = []
        self._known: dict[int, torch.UntypedStorage] = {}  # memory made or saved since the capture began
        self._before: list[tuple[torch.UntypedStorage, torch.UntypedStorage]] = []  # memory, and what it held

    def run(self, step: Callable[[], Any], arguments: Any, written: Any) -> Any:
        """Runs `step` and notes it; `arguments` are the values that it works on, `written` those it writes to."""
        for value in _tensors(written):
            self._save(value)
        out = step()
        given = {_storage_of(value)._cdata for value in _tensors(arguments)}
        fresh = tuple(
            (position, value)
            for position, value in enumerate(_tensors(out))
            if value.layout is not torch.strided or _storage_of(value)._cdata not in given
        )
        for _, value in fresh:
            if value.layout is torch.strided:
                self._known.setdefault(_storage_of(value)._cdata, _storage_of(value))
        self._steps.append((step, fresh))
        return out

    def _save(self, value: torch.Tensor) -> None:
        if value.layout is torch.strided and _storage_of(value)._cdata not in self._known:
            memory = _storage_of(value)
            self._known[memory._cdata] = memory
            self._before.append((memory, torch.UntypedStorage(memory.nbytes()).copy_(memory)))

    def restore(self) -> None:
        """Puts back what the operations wrote over while they were captured."""
        for memory, held in self._before:
            memory.copy_(held)
        self._before.clear()
        self._known.clear()

    def replay(self) -> None:
        """Runs everything again."""
        with torch.no_grad():
            for step, fresh in self._steps:
                out = list(_tensors(step()))
                for position, value in fresh:
                    value.copy_(out[position])


def _tensors(thing: Any) -> Iterator[torch.Tensor]:
    if isinstance(thing, torch.Tensor):
        yield thing
    elif isinstance(thing, (list, tuple)):
        for item in thing:
            yield from _tensors(item)
    elif isinstance(thing, dict):
        yield from _tensors(list(thing.values()))


class _Capture:
    """The graph that is being captured, if one is."""

    recording: Recording | None = None
    _random: dict[int, torch.Tensor]

    def begin(self) -> Recording:
        """Starts a graph. Raises where one has begun."""
        if self.recording is not None:
            raise RuntimeError("CUDA graphs: a capture is under way already; captures cannot be nested")
        self.recording = Recording()
        self._random = {index: GENERATORS.of(index).get_state() for index in range(GPUS.count)}
        placement.noted = True
        return self.recording

    def end(self) -> None:
        """Ends the graph that `begin` started."""
        recording, self.recording = self.recording, None
        placement.noted = False
        if recording is not None:
            recording.restore()
            for index, state in self._random.items():
                GENERATORS.of(index).set_state(state)

    def refuse_waits(self) -> None:
        """The program is about to wait for the device. Raises what CUDA raises while a graph is captured."""
        if self.recording is not None:
            error = getattr(torch, "AcceleratorError", RuntimeError)
            raise error(REFUSED)


CAPTURE = _Capture()

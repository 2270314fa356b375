"""The witnesses of one call: is the host held until a sleep of the GPU has ended, and who noticed?

blocked: behind a GPU sleep of known length the call came back only when the sleep had ended. waits: callbacks of
PyTorch's GPU trace just before a wait of a stream, an event or the device. warnings: the sync debug mode's. cupti: CUDA
runtime calls that copy, wait or free, as CUPTI saw them.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Action = Callable[[], Any]
Maker = Callable[[], Action]  # prepares fresh inputs and returns the call to measure


class NoGpu(RuntimeError):
    """There is no CUDA device to measure on."""


class DeviceLost(RuntimeError):
    """A probe broke the CUDA context: nothing more can be measured in this process."""


@dataclass(slots=True)
class Outcome:
    """What the witnesses say. `host_ms` is the time from the call to its return behind the sleep."""

    blocked: bool
    waits: int
    warnings: int
    host_ms: float
    cupti: dict[str, int] = field(default_factory=dict)


class Bench:
    """Holds the calibrated GPU sleep and the hooks. Raises NoGpu where there is no CUDA device."""

    def __init__(self, sleep_ms: float = 8.0) -> None:
        import torch

        if not torch.cuda.is_available():
            raise NoGpu("measuring needs an NVIDIA GPU and a CUDA build of PyTorch; this machine has none")
        self.torch = torch
        self.sleep_ms = sleep_ms
        self._cycles_per_ms = self._calibrate()
        self._waits = 0
        # the profiler waits for the device itself when it stops
        self._profiler_own: Counter[str] = Counter()
        self._profiler_own = Counter(self.cuda_calls(lambda: None))
        self._arm_trace()

    def _calibrate(self) -> float:
        torch = self.torch
        torch.cuda._sleep(1000)
        torch.cuda.synchronize()
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        torch.cuda._sleep(50_000_000)
        end.record()
        torch.cuda.synchronize()
        return float(50_000_000 / start.elapsed_time(end))

    def _arm_trace(self) -> None:
        from torch.cuda import _gpu_trace

        def count(*_: object) -> None:
            self._waits += 1

        _gpu_trace.register_callback_for_stream_synchronization(count)
        _gpu_trace.register_callback_for_device_synchronization(count)
        _gpu_trace.register_callback_for_event_synchronization(count)
        self.torch._C._activate_gpu_trace()

    def settle(self) -> None:
        """Waits for the device. Raises DeviceLost where the context is broken."""
        try:
            self.torch.cuda.synchronize()
        except RuntimeError as error:
            raise DeviceLost(str(error)) from error

    def behind_sleep(self, action: Action, sleep_ms: float | None = None) -> tuple[bool, float, int, int]:
        """(blocked, host_ms, waits, warnings) of one call behind a GPU sleep."""
        torch = self.torch
        length = sleep_ms or self.sleep_ms
        self.settle()
        done = torch.cuda.Event()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.cuda._sleep(int(self._cycles_per_ms * length))
            done.record()
            self._waits = 0
            torch.cuda.set_sync_debug_mode("warn")
            start = time.perf_counter()
            try:
                action()
            finally:
                host_ms = (time.perf_counter() - start) * 1e3
                torch.cuda.set_sync_debug_mode("default")
            ended = done.query()
            waits = self._waits
        warned = sum("synchronizing CUDA operation" in str(warning.message) for warning in caught)
        self.settle()
        return bool(ended and host_ms > 0.6 * length), host_ms, waits, warned

    def once(self, action: Action, sleep_ms: float | None = None) -> Outcome:
        """One call behind one sleep, repeated behind a longer sleep where only the clock says that it blocked."""
        blocked, host_ms, waits, warned = self.behind_sleep(action, sleep_ms)
        if blocked and not (waits or warned):
            blocked, host_ms, waits, warned = self.behind_sleep(action, 5 * (sleep_ms or self.sleep_ms) + 3 * host_ms)
        return Outcome(blocked, waits, warned, round(host_ms, 3))

    def measure(self, make: Maker, *, cupti: bool = True) -> Outcome:
        """Warm-up, two calls behind a sleep and a third where they differ, then one under the profiler."""
        make()()
        results = [self.behind_sleep(make()) for _ in range(2)]
        if results[0][0] is not results[1][0]:
            results.append(self.behind_sleep(make()))
        results.sort(key=lambda result: result[1])
        blocked, host_ms, waits, warned = results[len(results) // 2]
        if blocked and not (waits or warned):
            # only the clock says so: was it slow host work? A sleep longer than that work tells.
            blocked, host_ms, waits, warned = self.behind_sleep(make(), 4 * self.sleep_ms + 3 * host_ms)
        outcome = Outcome(blocked, waits, warned, round(host_ms, 3))
        if cupti and blocked:  # the profiler takes its time, and a call that returned at once has nothing to show
            outcome.cupti = self.cuda_calls(make())
        return outcome

    def cuda_calls(self, action: Action) -> dict[str, int]:
        """The CUDA runtime calls that copy, wait, allocate or free."""
        from torch.profiler import ProfilerActivity, profile

        self.settle()
        with profile(activities=[ProfilerActivity.CUDA]) as profiled:
            action()
        calls: Counter[str] = Counter()
        for event in profiled.events():
            name = event.name
            if name.startswith("cuda") and ("Synchronize" in name or "Memcpy" in name or name in _ALLOCATOR):
                calls[name] += 1
        return dict(calls - self._profiler_own)


_ALLOCATOR = frozenset({"cudaFree", "cudaMalloc", "cudaHostAlloc", "cudaFreeHost"})

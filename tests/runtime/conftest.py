"""A device that is not there: a source whose waits the tests make, and torch.cuda as far as the hooks touch it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")

from syncwatch.model import Kind  # noqa: E402
from syncwatch.runtime import source as sources  # noqa: E402
from syncwatch.runtime.frames import Owner  # noqa: E402
from syncwatch.runtime.recorder import RECORDER  # noqa: E402


class FakeSource:
    """Reports what the test tells it to."""

    device = "emulated"
    device_name = "fake device"

    def __init__(self) -> None:
        self.sink = None
        self.installs = 0

    def install(self, sink) -> None:
        self.sink = sink
        self.installs += 1

    def uninstall(self, *, again: bool = False) -> None:
        self.sink = None

    def item(self, wait_ms: float | None = 1.0) -> None:
        """The host reads a scalar."""
        self._happens(Kind.SCALAR_READ, "torch.Tensor.item", True, wait_ms)

    def nonzero(self, wait_ms: float | None = 2.0) -> None:
        """The host waits for the size of a result."""
        self._happens(Kind.DYNAMIC_SHAPE, "torch.nonzero", False, wait_ms)

    def _happens(self, kind, op, explicit, wait_ms) -> None:
        if self.sink is not None:
            self.sink.occurred(kind, op, explicit=explicit, wait_ms=wait_ms, frame=sys._getframe(2))

    def step(self, optimizer: object) -> None:
        if self.sink is not None:
            self.sink.step_ended(optimizer)


@pytest.fixture
def device() -> Iterator[FakeSource]:
    fake = FakeSource()
    with sources.use_source(fake):
        yield fake
    assert fake.sink is None, "something was left armed"
    assert RECORDER.source is None


class FakeClock:
    """Seconds that pass only when the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class FakeCuda:
    """torch.cuda as the hooks see it, on a machine without one: `wait` is what happens inside a blocking call."""

    TEXT = "called a synchronizing CUDA operation (Triggered internally at /pytorch/c10/cuda/CUDAFunctions.cpp:132.)"

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.mode = 0
        self.initialized = True
        self.shown: dict = {}  # what Python remembers to have shown

    def _cuda_set_sync_debug_mode(self, mode: int) -> None:
        warnings.warn("Synchronization debug mode is a prototype feature and does not yet detect all", stacklevel=2)
        self.mode = mode

    def _cuda_get_sync_debug_mode(self) -> int:
        return self.mode

    def wrapper(self, ms: float, times: int = 1) -> None:
        """The device is busy for `ms`; the debug mode then speaks `times` times, with the caller's frame on top."""
        self.clock.now += ms / 1e3
        for _ in range(times):
            if self.mode:
                # C++ warns without a frame of its own
                warnings.warn_explicit(self.TEXT, UserWarning, "anywhere.py", 1, registry=self.shown)

    wait = wrapper  # frames of this name only pass a call on


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def cuda(clock, monkeypatch) -> Iterator[FakeCuda]:
    from syncwatch.runtime.cuda import CudaSource

    fake = FakeCuda(clock)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr("syncwatch.runtime.cuda.device.has_cuda", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: fake.initialized)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda *_: "NVIDIA H200")
    monkeypatch.setattr(torch._C, "_cuda_set_sync_debug_mode", fake._cuda_set_sync_debug_mode, raising=False)
    monkeypatch.setattr(torch._C, "_cuda_synchronize", lambda: setattr(clock, "now", clock.now + 0.005), raising=False)
    # what this file does is torch's doing
    monkeypatch.setitem(RECORDER.frames._owners, __file__, Owner.TORCH)
    monkeypatch.setattr(RECORDER.frames, "user_files", RECORDER.frames.user_files - {__file__})
    source = CudaSource(clock=clock, binding=fake)
    with sources.use_source(source):
        yield fake
    source.uninstall()  # what may linger: the next test has a source of its own
    assert RECORDER.source is None
    assert fake.mode == 0


@pytest.fixture
def blocking(cuda, monkeypatch):
    """Makes a method or function of torch wait for the fake device."""

    def block(owner, name, ms=20.0, times=1):
        original = getattr(owner, name)

        def wrapper(*args, **kwargs):
            result = original(*args, **kwargs)
            cuda.wait(ms, times)
            return result

        monkeypatch.setattr(owner, name, wrapper)

    return block

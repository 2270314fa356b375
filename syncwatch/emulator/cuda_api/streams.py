"""Streams and events. Work is done when it is issued, so that they order nothing; what they would wait for counts."""

from __future__ import annotations

import itertools
import time
from types import TracebackType
from typing import Any

import torch

from syncwatch.emulator.capture import CAPTURE
from syncwatch.emulator.events import EVENTS
from syncwatch.emulator.patching import Patches, named_like
from syncwatch.emulator.placement import CURRENT
from syncwatch.emulator.tensor_api import number

_ids = itertools.count(1)
_defaults: dict[int, Stream] = {}
_current: dict[int, Stream] = {}
_PUBLIC = ("torch.cuda.streams", "torch.cuda")


class Stream:
    """`torch.cuda.Stream`."""

    _generic = False

    def __new__(cls, device: Any = None, priority: int = 0, **kwargs: Any) -> Stream:
        made = super().__new__(cls)
        made._index = kwargs.get("device_index", number(device))
        made.priority = priority
        made.stream_id = kwargs.get("stream_id") or next(_ids)
        return made

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None: ...

    _index: int
    priority: int
    stream_id: int

    @property
    def device(self) -> torch.device:
        return torch.device("cuda", self._index)

    @property
    def device_index(self) -> int:
        return self._index

    @property
    def device_type(self) -> int:
        return 1

    @property
    def cuda_stream(self) -> int:
        return 0 if self is _defaults.get(self._index) else self.stream_id << 4

    @property
    def native_handle(self) -> int:
        return self.cuda_stream

    _as_parameter_ = property(lambda self: self.cuda_stream)

    def synchronize(self) -> None:
        CAPTURE.refuse_waits()
        EVENTS.api("torch.cuda.Stream.synchronize", self)

    def query(self) -> bool:
        return True

    def wait_event(self, event: Any) -> None: ...

    def wait_stream(self, stream: Any) -> None: ...

    def record_event(self, event: Any = None) -> Any:
        event = torch.cuda.Event() if event is None else event
        event.record(self)
        return event

    def is_capturing(self) -> bool:
        return CAPTURE.recording is not None

    @staticmethod
    def priority_range() -> tuple[int, int]:
        return (0, -5)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.cuda_stream == self.cuda_stream and other._index == self._index

    def __hash__(self) -> int:
        return hash((self._index, self.cuda_stream))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"

    def __enter__(self) -> Stream:
        self._outer = StreamContext(self)
        self._outer.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._outer.__exit__(*error)


class Event:
    """`torch.cuda.Event`. Times are those of the host, which does the work."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Event:
        return super().__new__(cls)

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
        *,
        device: Any = None,
    ) -> None:
        self._timed = bool(enable_timing)
        self._index = number(device)
        self._at: float | None = None

    @property
    def device(self) -> torch.device:
        return torch.device("cuda", self._index)

    @property
    def cuda_event(self) -> int:
        return id(self)

    event_id = cuda_event

    def record(self, stream: Any = None) -> None:
        self._at = time.perf_counter()

    def wait(self, stream: Any = None) -> None: ...

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        CAPTURE.refuse_waits()
        if self._at is not None:
            EVENTS.api("torch.cuda.Event.synchronize", self)

    def elapsed_time(self, end_event: Event) -> float:
        if not (self._timed and end_event._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._at is None or end_event._at is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end_event._at - self._at) * 1e3

    def ipc_handle(self) -> bytes:
        raise RuntimeError("syncwatch: the emulated device has no memory to share between processes")

    def __repr__(self) -> str:
        return f"<torch.cuda.Event {'uninitialized' if self._at is None else hex(id(self))}>"


def current_stream(device: Any = None) -> Stream:
    index = number(device)
    return _current.get(index) or default_stream(index)


def default_stream(device: Any = None) -> Stream:
    index = number(device)
    found = _defaults.get(index)
    if found is None:
        found = _defaults[index] = torch.cuda.Stream(index)
    return found


def set_stream(stream: Stream | None) -> None:
    if stream is not None:
        CURRENT.index = stream._index
        _current[stream._index] = stream


class StreamContext:
    """`with torch.cuda.stream(s):`"""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self._device = CURRENT.index
            self._before = current_stream(self.stream._index)
            set_stream(self.stream)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.stream is not None:
            _current[self.stream._index] = self._before
            CURRENT.index = self._device


def stream(stream: Stream | None) -> StreamContext:
    return StreamContext(stream)


def record_stream(self: torch.Tensor, stream: Any) -> None:
    """`Tensor.record_stream`: the allocator has nothing to remember."""


def install(patches: Patches) -> None:
    from torch.cuda import streams

    _defaults.clear()
    _current.clear()
    for made in (Stream, Event):
        public = named_like(type(made.__name__, (made,), {}), getattr(torch.cuda, made.__name__))
        for owner in (torch.cuda, streams):
            patches.set(owner, made.__name__, public)
    for owner in (torch.cuda, streams):
        patches.set(owner, "ExternalStream", torch.cuda.Stream)
    for function in (current_stream, default_stream, set_stream, stream):
        patches.replace(torch.cuda, function.__name__, function)
    patches.set(torch.cuda, "StreamContext", StreamContext)
    patches.replace(torch.Tensor, "record_stream", record_stream)
    for name, made in (("Stream", Stream), ("Event", Event)):
        patches.set(torch, name, _generic(getattr(torch, name), made))


def _generic(original: Any, made: type[Any]) -> Any:
    """`torch.Stream` and `torch.Event`, which serve every kind of device."""

    class Meta(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, (original, made))

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            device = kwargs.get("device", args[0] if args and made is Stream else None)
            if device is None or str(device).startswith("cuda") or isinstance(device, int):
                return made(*args, **kwargs)
            return original(*args, **kwargs)

    return named_like(Meta(original.__name__, (), {}), original)

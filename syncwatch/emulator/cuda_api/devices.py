"""Which GPUs there are, and which is the current one."""

from __future__ import annotations

from typing import Any

import torch

from syncwatch.emulator.capture import CAPTURE
from syncwatch.emulator.events import EVENTS
from syncwatch.emulator.gpus import GPUS, Properties, check_number
from syncwatch.emulator.patching import Patches
from syncwatch.emulator.placement import CURRENT
from syncwatch.emulator.tensor_api import number
from syncwatch.emulator.values import value_of


def is_available() -> bool:
    return GPUS.count > 0


def device_count() -> int:
    return GPUS.count


def current_device() -> int:
    return CURRENT.index


def set_device(device: Any) -> None:
    index = number(device)
    if index >= 0:
        check_number(index)
        GPUS.use()
        CURRENT.index = index


def exchange_device(device: int) -> int:
    before = CURRENT.index
    if device >= 0:
        check_number(device)
        CURRENT.index = device
    return before


def get_device_properties(device: Any = None) -> Properties:
    GPUS.use()
    index = number(device)
    if not 0 <= index < GPUS.count:
        raise AssertionError("Invalid device id")
    return GPUS.properties(index)


def get_device_name(device: Any = None) -> str:
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    found = get_device_properties(device)
    return found.major, found.minor


def synchronize(device: Any = None) -> None:
    GPUS.use()
    CAPTURE.refuse_waits()
    EVENTS.api("torch.cuda.synchronize")


def install(patches: Patches) -> None:
    cuda = torch.cuda
    for function in (
        is_available,
        device_count,
        current_device,
        set_device,
        get_device_properties,
        get_device_name,
        get_device_capability,
        synchronize,
    ):
        patches.replace(cuda, function.__name__, function)
    answers: dict[str, Any] = {
        "_lazy_init": GPUS.use,
        "init": GPUS.use,
        "is_initialized": lambda: GPUS.in_use and not GPUS.lost,
        "_is_in_bad_fork": lambda: GPUS.lost,
        "_exchange_device": exchange_device,
        "_maybe_exchange_device": exchange_device,
        "_lazy_call": lambda callable, **kwargs: callable(),
        "can_device_access_peer": lambda device, peer_device: True,
        "is_bf16_supported": lambda including_emulation=True: True,
        "is_tf32_supported": lambda: True,
        "get_arch_list": lambda: ["sm_90"],
        "get_gencode_flags": lambda: "-gencode compute=compute_90,code=sm_90",
        "ipc_collect": lambda: None,
        "_sleep": lambda cycles: None,
        "utilization": lambda device=None: 0,
        "memory_usage": lambda device=None: 0,
        "temperature": lambda device=None: 40,
        "power_draw": lambda device=None: 100_000,
        "clock_rate": lambda device=None: 1980,
    }
    for name, answer in answers.items():
        if hasattr(cuda, name):
            patches.replace(cuda, name, answer)
    patches.set(cuda, "_initialized", True)  # torch itself keeps the states of the device's generators just then
    if not torch.backends.cuda.is_built():
        patches.set(torch.backends.cuda, "cufft_plan_cache", _PlanCaches())
    patches.set(torch.backends.cuda, "is_built", lambda: True)
    # a CUDA build has cuDNN, which knows nothing of our tensors; a CPU build warns of its absence
    patches.wrap(torch.backends.cudnn, "is_acceptable", _acceptable)
    if not torch.backends.cudnn.is_available():
        patches.replace(torch.backends.cudnn, "is_available", lambda: True)
        patches.replace(torch.backends.cudnn, "version", lambda: 91900)  # of torch 2.11 for CUDA 13
    patches.replace(torch._C, "_cuda_getDeviceCount", device_count)
    patches.set(torch._C, "_cuda_getDevice", current_device)
    patches.set(torch._C, "_cuda_setDevice", set_device)
    if torch.version.cuda is None:
        patches.set(torch.version, "cuda", "12.8")
    _install_profilers(patches)


class _PlanCache:
    """`torch.backends.cuda.cufft_plan_cache[0]`: no plan is ever made."""

    size = 0
    max_size = 4096

    def clear(self) -> None: ...


class _PlanCaches(_PlanCache):
    """The caches of all GPUs; used as one, that of the current GPU."""

    def __init__(self) -> None:
        self._made: dict[int, _PlanCache] = {}

    def __getitem__(self, device: Any) -> _PlanCache:
        index = number(device)
        check_number(index)
        return self._made.setdefault(index, _PlanCache())


def _acceptable(original: Any) -> Any:
    return lambda tensor: value_of(tensor) is None and bool(original(tensor))


def _install_profilers(patches: Patches) -> None:
    """torch's profiler finds no work of the device; NVTX has markers for a profiler that is not there."""
    from torch.autograd import profiler
    from torch.cuda import nvtx

    def supported(original: Any) -> Any:
        return lambda: {*original(), profiler.ProfilerActivity.CUDA}

    def start(original: Any) -> Any:
        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **{**kwargs, "use_kineto": True})  # the other way records events in C++

        return init

    patches.wrap(profiler.profile, "__init__", start)
    patches.wrap(torch.autograd, "_supported_activities", supported)
    patches.wrap(profiler, "_supported_activities", supported)

    class Markers:
        def __getattr__(self, name: str) -> Any:
            return lambda *args, **kwargs: 0

    patches.set(nvtx, "_nvtx", Markers())
    emit = torch.autograd.profiler.emit_nvtx
    patches.replace(emit, "__enter__", lambda self: self)
    patches.replace(emit, "__exit__", lambda self, *error: False)

"""What torch's Python code asks of its CUDA half in C++, `torch._C._cuda_…`: settings kept, and plain answers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from syncwatch.emulator.cuda_api import streams
from syncwatch.emulator.patching import Patches
from syncwatch.emulator.placement import CURRENT

NCCL_VERSION = (2, 28, 9)  # what torch 2.11 for CUDA 13 is built with
WORKSPACE = 32 << 20  # of cuBLAS on a GPU of compute capability 9.0


class _Setting:
    """A value that a function of torch sets and another one gets."""

    def __init__(self, value: Any) -> None:
        self.initial = self.value = value

    def get(self, *args: Any) -> Any:
        return self.value

    def set(self, value: Any = None, *args: Any) -> None:
        self.value = value

    def reset(self, *args: Any) -> None:
        self.value = self.initial


class _Blocks:
    """Memory that the program takes from the allocator by address."""

    def __init__(self) -> None:
        self._held: dict[int, torch.UntypedStorage] = {}

    def allocate(self, size: int, stream: int) -> int:
        block = torch.UntypedStorage(size)
        address: int = block.data_ptr()
        self._held[address] = block
        return address

    def free(self, address: int) -> None:
        self._held.pop(address, None)


class Cudart:
    """`torch.cuda.cudart()`: the calls that programs make succeed and do nothing."""

    cudaError = SimpleNamespace(success=0)

    def cudaMemGetInfo(self, device: int) -> tuple[int, int]:
        return torch.cuda.mem_get_info(device)  # type: ignore[no-any-return]

    def cudaGetErrorString(self, code: int) -> str:
        return "no error" if code == 0 else f"error {code}"

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cuda"):
            raise AttributeError(name)
        return lambda *args: 0


def _pairs() -> list[tuple[str, str | None, str | None, Any]]:
    """(getter, setter, resetter, first value) of each setting."""
    tunable = "_cuda_tunableop_"
    return [
        ("_cuda_getCublasWorkspaceSize", "_cuda_setCublasWorkspaceSize", "_cuda_resetCublasWorkspaceSize", WORKSPACE),
        (
            "_cuda_getCublasLtWorkspaceSize",
            "_cuda_setCublasLtWorkspaceSize",
            "_cuda_resetCublasLtWorkspaceSize",
            WORKSPACE,
        ),
        ("_cuda_record_untuned_is_enabled", "_cuda_record_untuned_enable", None, False),
        (tunable + "is_enabled", tunable + "enable", None, False),
        (tunable + "tuning_is_enabled", tunable + "tuning_enable", None, True),
        (tunable + "get_filename", tunable + "set_filename", None, "tunableop_results.csv"),
        (tunable + "get_max_tuning_duration", tunable + "set_max_tuning_duration", None, 30),
        (tunable + "get_max_tuning_iterations", tunable + "set_max_tuning_iterations", None, 100),
        (tunable + "get_rotating_buffer_size", tunable + "set_rotating_buffer_size", None, 0),
        ("_cuda_get_cudnn_benchmark_limit", "_cuda_set_cudnn_benchmark_limit", None, 10),
        ("_cuda_get_conv_benchmark_empty_cache", "_cudnn_set_conv_benchmark_empty_cache", None, True),
        ("_get_linalg_preferred_backend", "_set_linalg_preferred_backend", None, torch._C._LinalgBackend.Default),
        ("_cuda_get_sync_debug_mode", "_cuda_set_sync_debug_mode", None, 0),
        ("_cuda_getMemoryMetadata", "_cuda_setMemoryMetadata", None, ""),
    ]


def _answers() -> dict[str, Any]:
    blocks = _Blocks()
    version = (NCCL_VERSION[0] << 32) | (NCCL_VERSION[1] << 16) | NCCL_VERSION[2]
    return {
        "_nccl_version": lambda: version,
        "_nccl_version_suffix": lambda: b"",
        "_cuda_tunableop_get_results": lambda: (),
        "_cuda_tunableop_get_validators": lambda: (("PT_VERSION", torch.__version__.partition("+")[0]),),
        "_cuda_tunableop_read_file": lambda filename: False,
        "_cuda_tunableop_write_file": lambda filename=None: True,
        "_cuda_tunableop_write_file_on_exit": lambda val: None,
        "_cuda_tunableop_set_numerical_check_tolerances": lambda enable, atol=1e-5, rtol=1e-5: None,
        "_cuda_getAllocatorBackend": lambda: "native",
        "_cuda_getCurrentBlasHandle": lambda: 1,
        "_cuda_getCurrentSolverHandle": lambda: 1,
        "_cuda_clearCublasWorkspaces": lambda: None,
        "_cuda_getCurrentRawStream": lambda device: streams.current_stream(device).cuda_stream,
        "_cuda_getCompiledVersion": lambda: 12080,
        "_cuda_getArchFlags": lambda: "sm_90",
        "_cuda_hasPrimaryContext": lambda device: device == CURRENT.index,
        "_cuda_hostMemoryStats": dict,
        "_cuda_resetPeakHostMemoryStats": lambda: None,
        "_cuda_resetAccumulatedHostMemoryStats": lambda: None,
        "_cuda_cudaCachingAllocator_raw_alloc": blocks.allocate,
        "_cuda_cudaCachingAllocator_raw_delete": blocks.free,
        "_host_emptyCache": lambda: None,
        "_cuda_attach_out_of_memory_observer": lambda observer: None,
        "_cuda_isHistoryEnabled": lambda: False,
        "_cuda_cudaCachingAllocator_enable": lambda value=True: None,
        "_cuda_cudaCachingAllocator_is_enabled": lambda: True,
    }


def install(patches: Patches) -> None:
    """Gives the answers of a build with CUDA, which need no device."""
    for getter, setter, resetter, first in _pairs():
        setting = _Setting(first)
        for name, function in ((getter, setting.get), (setter, setting.set), (resetter, setting.reset)):
            if name is not None:
                patches.set(torch._C, name, function)
    for name, answer in _answers().items():
        patches.set(torch._C, name, answer)
    patches.set(torch.cuda, "_cudart", Cudart())
    patches.set(torch._C, "_cuda_CUDAAllocator_AllocatorState", type("AllocatorState", (), {}))
    if not hasattr(torch._C, "_cuda_beginAllocateCurrentThreadToPool"):
        for name in (
            "_cuda_beginAllocateCurrentThreadToPool",
            "_cuda_beginAllocateToPool",
            "_cuda_endAllocateToPool",
            "_cuda_endAllocateCurrentStreamToPool",
            "_cuda_releasePool",
        ):
            patches.set(torch._C, name, lambda *args: None)

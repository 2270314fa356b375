"""Registers the emulated device with torch, once for each process.

torch lets one backend outside its own tree be written in Python (PrivateUse1). Its tensors are ordinary tensors of
type `torch.Tensor`; what they hold is in `values`, what operations do to them in `kernels`.
"""

from __future__ import annotations

from typing import Any

import torch

from syncwatch.emulator.values import BACKEND

DEVICE_TYPE = "privateuseone"
TOO_LATE = (
    "syncwatch: this process ran backward() before the emulated device was set up, and torch fixes its devices at the "
    "first backward; enter syncwatch.emulate() before that, or start the program with `syncwatch run`"
)
UNSUPPORTED = (
    "syncwatch: the emulated device needs torch 2.11 or newer (it builds on torch's Python backends); this is torch {}"
)


class EmulationUnavailable(RuntimeError):
    """The emulated device cannot be set up in this process; the message says why and what helps."""


class _Module:
    """What torch asks of a device module (`torch.<backend>`), answered like an idle device."""

    def is_initialized(self) -> bool:
        return True

    def is_available(self) -> bool:
        return True

    def current_device(self) -> int:
        return 0

    def device_count(self) -> int:
        return 1

    def _is_in_bad_fork(self) -> bool:
        return False

    def manual_seed_all(self, seed: int) -> None:
        from syncwatch.emulator.random import GENERATORS

        GENERATORS.seed_all(seed)

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.float16, torch.bfloat16]

    def get_rng_state(self, device: object = 0) -> torch.Tensor:
        from syncwatch.emulator.random import GENERATORS

        return GENERATORS.of(0).get_state()

    def set_rng_state(self, state: torch.Tensor, device: object = 0) -> None:
        from syncwatch.emulator.random import GENERATORS

        GENERATORS.of(0).set_state(state)

    def __getattr__(self, name: str) -> Any:
        # torch looks for optional parts of a backend by name: they are those of torch.cuda, which is emulated
        return getattr(torch.cuda, name)


_keep: list[object] = []  # torch holds no reference to what is registered from Python
_registered = False


def registered() -> bool:
    """Whether this process has the emulated device."""
    return _registered


def register() -> None:
    """Makes the device known to torch. Does nothing the second time.

    Raises EmulationUnavailable where torch is too old, or where the process has run a backward pass already.
    """
    global _registered
    if _registered:
        _probe()
        return
    parts = getattr(torch._C, "_acc", None)
    if parts is None or not hasattr(parts, "create_empty_tensor"):
        raise EmulationUnavailable(UNSUPPORTED.format(torch.__version__))

    class Hooks(parts.PrivateUse1Hooks):  # type: ignore[misc,name-defined]
        def is_available(self) -> bool:
            from syncwatch.emulator.device import active

            return active() or not _probed  # torch must not find an accelerator while none is emulated

        def has_primary_context(self, device: int) -> bool:
            return True

        def is_built(self) -> bool:
            return True

    class Guard(parts.DeviceGuard):  # type: ignore[misc,name-defined]
        def type_(self) -> Any:
            return torch._C._autograd.DeviceType.PrivateUse1

    taken = torch._C._get_privateuse1_backend_name()
    if taken not in (DEVICE_TYPE, BACKEND):
        raise EmulationUnavailable(
            f"syncwatch: the device {taken!r} has taken torch's one place for a backend outside its tree, so that the "
            "emulated device has none; run the program without that extension"
        )
    torch.utils.rename_privateuse1_backend(BACKEND)
    module, hooks, guard = _Module(), Hooks(), Guard()
    _keep.extend((module, hooks, guard))
    torch._register_device_module(BACKEND, module)
    parts.register_python_privateuseone_hook(hooks)
    parts.register_python_privateuseone_device_guard(guard)

    from syncwatch.emulator import autocast, collectives, kernels

    kernels.register()
    autocast.register()
    collectives.register()
    _registered = True
    _probe()


_probed = False


def _probe() -> None:
    """Runs the smallest backward pass, which fails where the autograd engine knew its devices before ours came."""
    global _probed
    if _probed:
        return
    from syncwatch.emulator.values import ALLOCATED, emulated

    with torch.enable_grad():
        leaf = emulated(torch.zeros(())).requires_grad_()
        try:
            torch.autograd.grad(leaf * 2, leaf)
        except RuntimeError as error:
            if "device_ready_queues" in str(error):
                raise EmulationUnavailable(TOO_LATE) from None
            raise
    _probed = True
    ALLOCATED.any = False

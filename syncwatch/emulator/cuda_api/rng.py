"""Seeds and generator states of the device."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch._C import Generator as NativeGenerator

from syncwatch.emulator.gpus import GPUS, check_number
from syncwatch.emulator.patching import Patches, named_like
from syncwatch.emulator.random import GENERATORS, DeviceGenerator
from syncwatch.emulator.tensor_api import number


def manual_seed(seed: int) -> None:
    GENERATORS.of(number(None)).manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    for index in range(GPUS.count):
        GENERATORS.of(index).manual_seed(int(seed))


def seed() -> None:
    GENERATORS.of(number(None)).seed()


def seed_all() -> None:
    first = GENERATORS.of(0).seed()
    manual_seed_all(first)


def initial_seed() -> int:
    return int(GENERATORS.of(number(None)).initial_seed())


def get_rng_state(device: Any = "cuda") -> torch.Tensor:
    return GENERATORS.of(number(device)).get_state()


def get_rng_state_all() -> list[torch.Tensor]:
    return [get_rng_state(index) for index in range(GPUS.count)]


def set_rng_state(new_state: torch.Tensor, device: Any = "cuda") -> None:
    GENERATORS.of(number(device)).set_state(new_state)


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


class _GeneratorMeta(type):
    """`torch.Generator`: the host's own, or one that draws for the emulated device."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, NativeGenerator)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, NativeGenerator)

    def __call__(cls, device: Any = None) -> Any:
        named = torch.device("cpu") if device is None else torch.device(device)
        if named.type != "cuda":
            return NativeGenerator(device=named)
        index = number(named)
        check_number(index)
        made = DeviceGenerator()
        made.device_index = index
        return made


def install(patches: Patches) -> None:
    from torch.cuda import random

    for function in (
        manual_seed,
        manual_seed_all,
        seed,
        seed_all,
        initial_seed,
        get_rng_state,
        get_rng_state_all,
        set_rng_state,
        set_rng_state_all,
    ):
        for owner in (torch.cuda, random):
            patches.replace(owner, function.__name__, function)
    public = named_like(_GeneratorMeta("Generator", (), {}), NativeGenerator)
    public.__module__ = "torch"  # where pickle finds it
    patches.set(torch, "Generator", public)

    class Defaults:
        def __getitem__(self, index: int) -> torch.Generator:
            return GENERATORS.of(index)

        def __len__(self) -> int:
            return GPUS.count

    patches.set(torch.cuda, "default_generators", Defaults())

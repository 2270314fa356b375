"""Random numbers of the device: generators of their own, so that drawing on the device leaves the host's alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch._C import Generator as NativeGenerator

if TYPE_CHECKING:
    from syncwatch.emulator.kernels import Shape


class Generators:
    """The default generator of each emulated GPU."""

    def __init__(self) -> None:
        self._made: dict[int, torch.Generator] = {}

    def of(self, index: int) -> torch.Generator:
        """The default generator of GPU `index`, seeded as the host's was when first asked for."""
        found = self._made.get(index)
        if found is None:
            found = self._made[index] = NativeGenerator()
            found.manual_seed(torch.initial_seed())
        return found

    def seed_all(self, seed: int) -> None:
        """What `torch.manual_seed` does to every GPU."""
        for index in {0, *self._made}:
            self.of(index).manual_seed(seed)


GENERATORS = Generators()


class DeviceGenerator(NativeGenerator):
    """A `torch.Generator(device="cuda")`: draws on the host, and says that it is on the device."""

    device_index = 0

    @property
    def device(self) -> torch.device:
        return torch.device("cuda", self.device_index)


def run_seeded(shape: Shape, run: Callable[..., Any], values: list[Any], named: dict[str, Any], index: int) -> Any:
    """Runs an operation that draws numbers, from the generator given or from the device's own."""
    own = GENERATORS.of(index)
    if shape.generator:
        position = shape.order.get("generator")
        if position is not None and position < len(values):
            values[position] = own if values[position] is None else values[position]
        elif named.get("generator") is None:
            named["generator"] = own
        return run(*values, **named)
    # no parameter for it: lend the device's state to the host's generator
    host = torch.default_generator
    before = host.get_state()
    host.set_state(own.get_state())
    try:
        return run(*values, **named)
    finally:
        own.set_state(host.get_state())
        host.set_state(before)

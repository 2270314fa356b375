"""Recurrent layers: what cuDNN waits for when one of them drops units for the first time on a GPU."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from syncwatch.emulator.events import EVENTS
from syncwatch.emulator.patching import Patches
from syncwatch.emulator.values import index_of, value_of
from syncwatch.model import Kind

_LAYERS = ("lstm", "gru", "rnn_tanh", "rnn_relu")


STATES: set[int] = set()  # the GPUs for which cuDNN has made, in this process, the state of its random numbers


def _noted(original: Callable[..., Any]) -> Callable[..., Any]:
    def layer(*args: Any) -> Any:
        data = args[0]
        # how much is dropped is the one number with a point; whether the layer is in training comes next
        at = next((i for i, arg in enumerate(args) if type(arg) is float), None)
        if at is not None and args[at] and args[at + 1] and value_of(data) is not None:
            index = index_of(data)
            if index not in STATES:
                STATES.add(index)
                EVENTS.report(sys._getframe(0), 1, Kind.STREAM_WAIT)
        return original(*args)

    return layer


def install(patches: Patches) -> None:
    """Replaces the layers' functions."""
    for name in _LAYERS:
        patches.wrap(torch._VF, name, _noted)

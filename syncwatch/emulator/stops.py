"""Where emulation cannot go on."""

from __future__ import annotations

import re
import sys
from types import FrameType
from typing import Any


class EmulationStopped(RuntimeError):
    """An operation that only a real device can run; the message names it and the line."""


def explained(op: Any, error: RuntimeError) -> Exception:
    """What to raise where `op` failed on the values: what CUDA says where memory runs out, which operation cannot run
    where the values' own device has no kernel for it; other errors are the program's business."""
    if "DefaultCPUAllocator: can't allocate memory" in str(error):
        return _out_of_memory(str(error))
    if not isinstance(error, NotImplementedError) or "Could not run" not in str(error):
        return error
    frame = caller()
    where = f" at {frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""
    name = str(op).removesuffix(".default").replace(".", "::", 1)
    return EmulationStopped(
        f"syncwatch: {name} has no CPU kernel, so that it cannot run on the emulated device{where}; run this program "
        "on a GPU (syncwatch run --device cuda), or leave the operation out"
    )


def _out_of_memory(said: str) -> Exception:
    import torch

    found = re.search(r"you tried to allocate (\d+) bytes", said)
    wanted = int(found.group(1)) if found else 0
    gib = wanted / 2**30
    size = f"{gib:.2f} GiB" if gib >= 1 else f"{wanted / 2**20:.2f} MiB"
    made: Exception = torch.OutOfMemoryError(
        f"CUDA out of memory. Tried to allocate {size}: more than the memory of this machine, which the emulated "
        "device uses."
    )
    return made


def caller() -> FrameType | None:
    """The innermost frame that is neither torch's nor ours."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.partition(".")[0] not in ("torch", "syncwatch"):
            return frame
        frame = frame.f_back
    return None

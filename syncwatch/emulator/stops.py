"""Where emulation cannot go on."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any


class EmulationStopped(RuntimeError):
    """An operation that only a real device can run; the message names it and the line."""


def cannot_run(op: Any, error: NotImplementedError) -> Exception:
    """What to raise where the values' own device has no kernel for `op`; other errors are the program's business."""
    if "Could not run" not in str(error):
        return error
    frame = caller()
    where = f" at {frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""
    name = str(op).removesuffix(".default").replace(".", "::", 1)
    return EmulationStopped(
        f"syncwatch: {name} has no CPU kernel, so that it cannot run on the emulated device{where}; run this program "
        "on a GPU (syncwatch run --device cuda), or leave the operation out"
    )


def caller() -> FrameType | None:
    """The innermost frame that is neither torch's nor ours."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.partition(".")[0] not in ("torch", "syncwatch"):
            return frame
        frame = frame.f_back
    return None

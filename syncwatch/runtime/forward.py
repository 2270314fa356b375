"""The line of the forward pass that an autograd node comes from, where torch has kept it.

It keeps it in anomaly mode (`torch.autograd.set_detect_anomaly(True, check_nan=False)` keeps it without waits of its
own), and tells it while Python code of the node runs: a `Function.backward`, or a hook of a tensor.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Any

from syncwatch.runtime.frames import Frames, Owner

_FRAME = re.compile(r'\s*File "(?P<path>.+)", line (?P<line>\d+), in (?P<name>.+)')


def forward_site(frames: Frames) -> str | None:
    """`path:line function (forward)` for the node that this thread works on; None where torch does not tell."""
    torch: Any = sys.modules.get("torch")
    current = getattr(getattr(torch, "_C", None), "_current_autograd_node", None)
    node = None if current is None else current()
    kept: Iterable[str] = (getattr(node, "metadata", None) or {}).get("traceback_") or ()
    for entry in reversed(list(kept)):
        found = _FRAME.match(entry)
        if found is not None and frames.owner_of(found["path"]) is Owner.USER:
            return f"{frames.shown_path(found['path'])}:{found['line']} {found['name']} (forward)"
    return None
